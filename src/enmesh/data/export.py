"""Series to files. Each file is written beside its place and moved there when it is whole."""

import os
from collections.abc import Callable
from pathlib import Path

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import InputError


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
