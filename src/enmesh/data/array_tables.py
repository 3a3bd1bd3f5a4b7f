"""Arrays as tables: parquet, npy, npz and mat. Nothing in a file is ever executed: pickled objects are refused."""

import json
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from enmesh.data.columns import INTEGER, TEXT
from enmesh.data.matlab import NewFormat, read_matlab
from enmesh.data.sources import Source
from enmesh.data.table import Table, default_names, listed, refuse_unknown
from enmesh.errors import HazardWarning, InputError

PICKLED = "holds pickled Python objects, which are never loaded; save plain arrays of numbers"


def read_parquet(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read the columns and the index of a parquet file."""
    import pandas as pd

    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(
            f"{source.name}: reading parquet needs pyarrow; pip install 'enmesh[parquet]'"
        ) from None
    frame = pd.read_parquet(source.file, engine="pyarrow")
    if not frame.shape[1]:
        raise InputError(f"{source.name} has no column")
    frame.columns = [str(name) for name in frame.columns]
    return Table(file=source.name, frame=frame, numbers=range(1, len(frame) + 1))


def read_npy(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read one array."""
    with _no_pickle(source.name):
        return _array_table(source.name, np.lib.format.read_array(source.file, allow_pickle=False))


def read_npz(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read one array of an archive, and what `write_series` puts beside it."""
    import zipfile

    name = source.name
    if not zipfile.is_zipfile(source.file):
        raise InputError(f"{name} cannot be read as npz: it is not an archive of arrays")
    source.file.seek(0)
    arrays = {}
    with np.load(source.file, allow_pickle=False) as archive:
        files = archive.files
        for member in files:
            with _no_pickle(name, skip=True):
                arrays[member] = archive[member]
    if variable is not None:
        refuse_unknown(name, variable, files)
    if variable not in {None, *arrays} or (files and not arrays):
        raise InputError(f"{name} {PICKLED}")
    kinds = {
        one: (array.shape, array.dtype.kind) for one, array in arrays.items() if isinstance(array, np.ndarray)
    }
    return _array_table(name, arrays[_choose(name, kinds, variable)], arrays)


def read_mat(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read one array of a MATLAB file."""
    try:
        found = read_matlab(source.file.read())
    except NewFormat:
        raise InputError(f"{source.name} is a MATLAB 7.3 file; save it again with -v7") from None
    if variable is not None:
        refuse_unknown(source.name, variable, list(found))
    kinds = {
        name: ((), "O") if array is None else (array.shape, array.dtype.kind) for name, array in found.items()
    }
    values = found[_choose(source.name, kinds, variable)]
    if values is None:
        raise InputError(f"{source.name}: the variable {variable} holds no numbers")
    return _array_table(source.name, values)


def _choose(file: str, kinds: Mapping[str, tuple[tuple[int, ...], str]], wanted: str | None) -> str:
    """Return the variable that was asked for, or the only one that can be a recording."""
    if wanted is not None:
        return wanted
    fitting = [name for name, (shape, kind) in kinds.items() if kind in "biuf" and len(shape) in (2, 3)]
    wide = [name for name in fitting if min(kinds[name][0]) > 1]
    found = wide or fitting
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{file} holds the arrays {listed(found)}; say which with variable=")
    raise InputError(f"{file} holds no array of numbers (time, node) or (trial, time, node)")


@contextmanager
def _no_pickle(file: str, skip: bool = False) -> Iterator[None]:
    """Name pickled objects for what they are, or pass over them where another array may do."""
    try:
        yield
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        if not skip:
            raise InputError(f"{file} {PICKLED}") from None


def _array_table(file: str, values: np.ndarray, beside: Mapping[str, np.ndarray] | None = None) -> Table:
    """Return an array as a table; ``beside`` it may stand names, dt, kinds and labels, as `write_series` puts them."""
    import pandas as pd

    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or not values.size:
        raise InputError(
            f"{file} holds an array of {values.dtype} with shape {values.shape}; "
            "numbers as (time, node) or (trial, time, node) are needed"
        )
    *several, length, width = values.shape
    if several and length < width:
        raise InputError(
            f"{file}: shape {values.shape} would be {several[0]} trials of {length} samples of {width} nodes; if the "
            "axes are (trial, channel, time), save it as (trial, time, node)"
        )
    if length < width:
        warnings.warn(
            f"{file}: {length} samples of {width} nodes; rows are times, transpose the array if not",
            HazardWarning,
            stacklevel=5,
        )
    names = _words_beside(beside, "names", width)
    frame = pd.DataFrame(values.reshape(-1, width), columns=default_names(width) if names is None else names)
    kinds = _words_beside(beside, "kinds", width)
    if beside is not None and kinds is not None:
        frame = _with_kinds(frame, kinds, beside.get("labels"))
    count = several[0] if several else 1
    rows = np.tile(np.arange(1, length + 1), count)
    trials = np.repeat(np.arange(count), length) if several else None
    dt = None if beside is None else beside.get("dt")
    step = float(dt) if dt is not None and dt.shape == () and dt.dtype.kind in "iuf" else None
    return Table(file=file, frame=frame, numbers=rows.tolist(), trials=trials, dt=step)


def _words_beside(beside: Mapping[str, np.ndarray] | None, name: str, width: int) -> list[str] | None:
    found = None if beside is None else beside.get(name)
    if found is None or found.shape != (width,) or found.dtype.kind not in "US":
        return None
    return [str(word) for word in found.astype(str)]


def _with_kinds(frame: Any, kinds: list[str], labels: np.ndarray | None) -> Any:
    """Return columns as they were before they became numbers."""
    import pandas as pd

    words = json.loads(str(labels)) if labels is not None else {}
    columns = {}
    for name, kind in zip(frame.columns, kinds):
        column = frame[name]
        if kind == TEXT:
            codes = column.fillna(-1).astype(np.int64)
            column = pd.Series(pd.Categorical.from_codes(codes, categories=words[name]))
        elif kind == INTEGER:
            column = column.astype("Int64")
        columns[name] = column
    return pd.DataFrame(columns)
