"""A network as a folder of results: JSON, edge table, pictures, page and further formats."""

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np

from enmesh.data.export import write_whole
from enmesh.errors import InputError
from enmesh.inference.network import Network

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
