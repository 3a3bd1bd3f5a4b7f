"""Results and series to files. Each is written beside its place and moved there, so none is ever half."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from enmesh.errors import InputError
from enmesh.network import Network
from enmesh.series import Series

FORMATS = ("graphml", "dot")


def results_folder(path: str | os.PathLike) -> Path:
    """Make a folder if it is not there, and see to it that it can be written to."""
    folder = Path(path)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f".enmesh-{os.getpid()}"
        probe.touch()
        probe.unlink()
    except OSError as error:
        reason = "it is a file" if folder.is_file() else error.strerror or error
        raise InputError(f"cannot write to the folder {folder}: {reason}") from None
    return folder


def write_results(network: Network, path: str | os.PathLike, formats: Iterable[str] = ()) -> list[Path]:
    """Write a network into a folder: network.json, edges.csv, network.png and .svg, report.html.

    ``formats`` adds ``"graphml"`` and ``"dot"``. Returns the paths, in the order of writing.
    """
    folder = results_folder(path)
    writers: dict[str, Callable[[Path], object]] = {
        "network.json": network.to_json,
        "edges.csv": lambda file: network.edges.to_csv(file, index=False),
        "network.png": network.plot,
        "network.svg": network.plot,
        "report.html": network.report,
    }
    for name in formats:
        if name not in FORMATS:
            raise InputError(f"format {name!r} is not known; use {' or '.join(FORMATS)}")
        writers[f"network.{name}"] = {"graphml": _graphml, "dot": _dot}[name](network)
    return [write_whole(folder / name, write) for name, write in writers.items()]


def write_whole(path: str | os.PathLike, write: Callable[[Path], object]) -> Path:
    """Let ``write`` make a file beside ``path`` and move it there when it is whole."""
    path = Path(path)
    partial = path.with_name(f".{os.getpid()}-{path.name}")
    try:
        write(partial)
        partial.replace(path)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
    except InputError as error:
        raise InputError(str(error).replace(str(partial), str(path))) from None
    finally:
        partial.unlink(missing_ok=True)
    return path


def _graphml(network):
    def write(file):
        import networkx as nx

        nx.write_graphml(network.to_networkx(), file)

    return write


def _dot(network):
    """Return a writer of Graphviz text; the width of an arrow grows with its transfer entropy."""

    def write(file):
        edges = network.edges
        strongest = max([te for te in edges.te if te > 0], default=1.0)
        lines = ["digraph enmesh {", *(f"  {_quoted(name)};" for name in network.names)]
        for row in edges.itertuples():
            width = 1 + 3 * max(row.te, 0) / strongest if np.isfinite(row.te) else 1
            about = f'label="{row.te:.3g}", penwidth={width:.2f}, q_value="{row.q_value:.3g}", lag={row.lag}'
            lines.append(f"  {_quoted(row.source)} -> {_quoted(row.target)} [{about}];")
        file.write_text("\n".join([*lines, "}"]) + "\n", encoding="utf-8")

    return write


def _quoted(name):
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def write_series(series: Series, path: str | os.PathLike) -> Path:
    """Write a series as csv, npz or parquet, by suffix, so that `enmesh.read` gives it back.

    A sampling step other than 1 becomes a column ``time``, several trials a column ``trial``; npz holds
    ``values (trial, time, node)``, ``names`` and ``dt``.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in WRITERS:
        raise InputError(f"cannot write {path}: its name must end in {', '.join(WRITERS)}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
    return write_whole(path, lambda file: WRITERS[suffix](series, file))


def series_table(series: Series):
    """Return a series as a DataFrame, with columns ``trial`` and ``time`` where they say something."""
    frame = series.to_dataframe()
    if series.dt != 1:
        time = np.concatenate([np.arange(length) * series.dt for length in series.lengths])
        frame.insert(len(frame.columns) - series.n_nodes, "time", time.round(12))
    return frame


def _write_csv(series, file):
    series_table(series).to_csv(file, index=False)


def _write_npz(series, file):
    if len(set(series.lengths)) > 1:
        raise InputError("trials of different lengths do not fit into npz; write csv or parquet")
    values = np.stack(series.trials) if len(series.trials) > 1 else series.values
    with file.open("wb") as target:
        np.savez_compressed(target, values=values, names=np.array(series.names), dt=series.dt)


def _write_parquet(series, file):
    try:
        series_table(series).to_parquet(file, index=False, engine="pyarrow")
    except ImportError:
        raise InputError("writing parquet needs pyarrow; pip install 'enmesh[parquet]'") from None


WRITERS = {".csv": _write_csv, ".npz": _write_npz, ".parquet": _write_parquet}
