"""Arrays as tables: parquet, npy, npz and mat. Nothing in a file is ever executed: pickled objects are refused."""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from enmesh.data.columns import INTEGER, TEXT
from enmesh.data.objects import turned
from enmesh.data.rules import Rules
from enmesh.data.sources import LARGE, MOST_BYTES, MOST_RATIO, Source
from enmesh.data.table import Table, default_names, listed, refuse_unknown
from enmesh.data.text_tables import transposed
from enmesh.errors import InputError

# Bytes from which an array is mapped: whoever changes the file meanwhile changes the recording.
MAPPED = 2**28
PICKLED = "holds pickled Python objects, which are never loaded; save plain arrays of numbers"


def read_parquet(source: Source, rules: Rules) -> Table:
    """Read the columns and the index of a parquet file."""
    import pandas as pd

    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise InputError(
            f"{source.name}: reading parquet needs pyarrow; pip install 'enmesh[parquet]'"
        ) from None
    about = parquet.ParquetFile(source.file)
    cells, size = about.metadata.num_rows * about.metadata.num_columns, source.file.seek(0, 2)
    source.file.seek(0)
    if 8 * cells > MOST_BYTES or (8 * cells > LARGE and 8 * cells > MOST_RATIO**2 * size):
        raise InputError(f"{source.name} says that it holds {cells} values in {size} bytes; read it in parts")
    frame = _plain_parquet(about)
    frame = pd.read_parquet(source.file, engine="pyarrow") if frame is None else frame
    if not frame.shape[1]:
        raise InputError(f"{source.name} has no column")
    frame.columns = [str(name) for name in frame.columns]
    table = Table(file=source.name, frame=frame, numbers=range(1, len(frame) + 1))
    return transposed(table) if rules.transpose else table


def _plain_parquet(about: Any) -> Any:
    """Return a file of floating-point columns without index, read piece by piece into one array; None for any other."""
    import pandas as pd

    schema = about.schema_arrow
    written = (schema.metadata or {}).get(b"pandas", b'"kind": "range"')
    if not len(schema) or b'"kind": "range"' not in written:
        return None
    if not all(str(kind) in ("double", "float") for kind in schema.types):
        return None
    values, at = np.empty((about.metadata.num_rows, len(schema)), order="F"), 0
    for batch in about.iter_batches(batch_size=1 << 20):
        for i, column in enumerate(batch.columns):
            values[at : at + len(batch), i] = column.to_numpy(zero_copy_only=False)
        at += len(batch)
    return pd.DataFrame(values, columns=schema.names, copy=False)


def read_npy(source: Source, rules: Rules) -> Table:
    """Read one array; a large file is mapped, not copied."""
    with _no_pickle(source.name):
        values: np.ndarray
        if source.path is not None and source.path.stat().st_size > MAPPED:
            values = np.lib.format.open_memmap(source.path, mode="r")
        else:
            values = np.lib.format.read_array(source.file, allow_pickle=False)
        return _array_table(source.name, values, rules)


def read_npz(source: Source, rules: Rules) -> Table:
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
    if rules.variable is not None:
        refuse_unknown(name, str(rules.variable), files)
    if rules.variable not in {None, *arrays} or (files and not arrays):
        raise InputError(f"{name} {PICKLED}")
    return _chosen_table(name, {one: a for one, a in arrays.items() if isinstance(a, np.ndarray)}, rules)


def read_mat(source: Source, rules: Rules) -> Table:
    """Read one array of a MATLAB file; fields of structures are variables too, as ``eeg.data``."""
    from scipy.io import loadmat

    first = source.file.read(128)
    source.file.seek(0)
    if first[:4] == b"\x89HDF" or first[124:126] in (b"\x00\x02", b"\x02\x00"):
        found = _hdf5(source)
    else:
        found = loadmat(
            source.file, squeeze_me=False, struct_as_record=False, verify_compressed_data_integrity=False
        )
    arrays: dict[str, np.ndarray] = {}
    for name, value in found.items():
        if not name.startswith("__"):
            _flatten(name, value, arrays)
    if rules.variable is not None:
        refuse_unknown(source.name, str(rules.variable), list(arrays))
    return _chosen_table(source.name, arrays, rules)


def _flatten(name: str, value: Any, into: dict[str, np.ndarray], depth: int = 0) -> None:
    """Put arrays into a mapping by name, and those in structures by ``structure.field``."""
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype == object and depth < 6:
        value = value.flat[0]
    if hasattr(value, "_fieldnames") and depth < 6:
        for field in value._fieldnames:
            _flatten(f"{name}.{field}", getattr(value, field), into, depth + 1)
    elif isinstance(value, np.ndarray):
        into[name] = _text_cells(value) if value.dtype == object else value


def _text_cells(cells: np.ndarray) -> np.ndarray:
    """Return a cell array of words as words."""
    words = [np.ravel(cell) for cell in cells.ravel()]
    plain = all(len(word) == 1 and word.dtype.kind == "U" for word in words)
    return np.array([word[0] for word in words]) if words and plain else cells


def _hdf5(source: Source) -> dict[str, np.ndarray]:
    """Return the arrays of a MATLAB 7.3 file, which lie the other way round."""
    try:
        import h5py
    except ImportError:
        raise InputError(
            f"{source.name} is a MATLAB 7.3 file, which needs h5py; pip install 'enmesh[matlab]', or save it with -v7"
        ) from None
    found: dict[str, np.ndarray] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf" and not name.startswith("#refs#"):
            if item.size * 8 > MOST_BYTES:
                raise InputError(f"{source.name}: {name} holds {item.size} values, more than fit")
            found[name.replace("/", ".")] = item[()].T

    with h5py.File(source.file, "r") as book:
        book.visititems(note)
    return found


def _chosen_table(file: str, arrays: Mapping[str, np.ndarray], rules: Rules) -> Table:
    """Return the table of one array, with the names and the sampling rate that stand beside it."""
    kinds = {one: (array.shape, array.dtype.kind) for one, array in arrays.items()}
    name = _choose(file, kinds, None if rules.variable is None else str(rules.variable))
    family = name.rpartition(".")[0]
    mates = [one for one in arrays if one.rpartition(".")[0] == family]
    beside = {one.rpartition(".")[2].lower(): arrays[one] for one in mates}
    return _array_table(file, arrays[name], rules, beside)


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
        if "allow_pickle" not in str(error) and "Python objects" not in str(error):
            raise
        if not skip:
            raise InputError(f"{file} {PICKLED}") from None


def _array_table(
    file: str, values: np.ndarray, rules: Rules, beside: Mapping[str, np.ndarray] | None = None
) -> Table:
    """Return an array as a table; ``beside`` it may stand names, dt, kinds and labels, as `write_series` puts them."""
    import pandas as pd

    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or not values.size:
        raise InputError(
            f"{file} holds an array of {values.dtype} with shape {values.shape}; "
            "numbers as (time, node) or (trial, time, node) are needed"
        )
    try:
        values = turned(values, rules.transpose)
    except InputError as error:
        raise InputError(f"{file}: {error}") from None
    *several, length, width = values.shape
    names = _words_beside(beside, ("names", "labels", "label", "channels", "chanlocs", "ch_names"), width)
    native = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    columns = default_names(width) if names is None else names
    frame = pd.DataFrame(native.reshape(-1, width), columns=columns, copy=False)
    kinds = _words_beside(beside, ("kinds",), width)
    if beside is not None and kinds is not None:
        frame = _with_kinds(frame, kinds, beside.get("labels"))
    count = several[0] if several else 1
    trials = np.repeat(np.arange(count), length) if several else None
    rows: Sequence[int] = (
        np.tile(np.arange(1, length + 1), count).tolist() if several else range(1, length + 1)
    )
    return Table(file=file, frame=frame, numbers=rows, trials=trials, dt=_step_beside(beside))


def _step_beside(beside: Mapping[str, np.ndarray] | None) -> float | None:
    """Return the sampling step that stands beside an array: dt, or one over the sampling frequency."""
    for name in ("dt", "fs", "fsample", "srate", "sfreq", "samplingrate", "sampling_rate"):
        found = None if beside is None else beside.get(name)
        if found is not None and found.size == 1 and found.dtype.kind in "iuf" and float(found.flat[0]) > 0:
            return float(found.flat[0]) if name == "dt" else 1 / float(found.flat[0])
    return None


def _words_beside(
    beside: Mapping[str, np.ndarray] | None, names: Sequence[str], width: int
) -> list[str] | None:
    for name in names:
        found = None if beside is None else beside.get(name)
        if found is not None and found.size == width and found.dtype.kind in "US":
            return [str(word).strip() for word in found.astype(str).ravel()]
    return None


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
