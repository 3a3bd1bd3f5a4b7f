"""Files as tables: csv, tsv, txt, parquet, npy, npz and mat become columns with names and rows with numbers.

Nothing in a file is ever executed: pickled objects are refused. Damage is said in one line, with the file.
"""

import csv
import io
import re
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from enmesh.errors import HazardWarning, InputError

# A column of one of these names, with a unit or without, holds times.
TIME_NAME = re.compile(
    r"(t|time|date|datetime|timestamp)(\s*[(\[][^)\]]*[)\]])?|time_(s|ms|us|sec|seconds|min|minutes|h|hours|days)",
    re.IGNORECASE,
)
TRIAL_NAME = "trial"
PICKLED = "holds pickled Python objects, which are never loaded; save plain arrays of numbers"
MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "<na>"}


@dataclass(frozen=True, kw_only=True)
class Table:
    """The columns of one file as they stand.

    ``numbers[i]`` is the 1-based line (text) or row (arrays) of row i, called ``unit`` in messages.
    ``trials``, the trial of each row, and ``dt``, the sampling step, are there where the format says them.
    """

    file: str
    frame: Any
    numbers: Sequence[int]
    unit: str = "row"
    trials: np.ndarray | None = None
    dt: float | None = None

    def at(self, row: int, column) -> str:
        """Say where a cell is: file, row and column."""
        return f"{self.file}, {self.unit} {self.numbers[row]}, column {column}"


def read_table(
    path: Path, header: bool | None = None, names: Sequence[str] | None = None, variable: str | None = None
) -> Table:
    """Read one file as a table; the arguments are those of `enmesh.read`."""
    suffix = path.suffix.lower()
    if path.is_dir():
        raise InputError(f"{path} is a folder; name the files in it")
    if not path.exists():
        raise InputError(f"there is no file {path}")
    if suffix not in READERS:
        raise InputError(f"{path}: cannot read {suffix or 'a file without suffix'}; use {', '.join(READERS)}")
    if path.is_file() and not path.stat().st_size:
        raise InputError(f"{path} is empty")
    if variable is not None and suffix not in (".npz", ".mat"):
        raise InputError(f"{path} has no variables to choose from; that is for npz and mat files")
    with _readable(path):
        table = READERS[suffix](path, header=header, variable=variable)
    if names is not None:
        if len(names) != table.frame.shape[1]:
            raise InputError(f"{path} has {table.frame.shape[1]} columns but {len(names)} names are given")
        table.frame.columns = [str(name) for name in names]
    return table


@contextmanager
def _readable(path) -> Iterator[None]:
    """Turn whatever a damaged file provokes in its reader, which may be anything, into one line."""
    try:
        yield
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"{path} does not fit into memory") from None
    except Exception as error:
        reason = getattr(error, "strerror", None) or _one_line(error)
        raise InputError(f"{path} cannot be read as {path.suffix.lower()[1:]}: {reason}") from None


def _read_text(path, header, variable) -> Table:
    """Read delimited text; the delimiter, the header and a decimal comma are recognised."""
    import pandas as pd

    lines = _lines(path)
    delimiter = _delimiter(path.suffix.lower(), lines[0][1])
    split = _splitter(delimiter, any('"' in line for _, line in lines))
    first = [cell.strip() for cell in split(lines[0][1])]
    names = first if (_is_header(path, lines[0][0], first) if header is None else header) else None
    body = lines if names is None else lines[1:]
    if not body:
        raise InputError(f"{path} has names but no rows of numbers")
    _refuse_ragged(path, body, split, len(first))
    # From version 3 on pandas keeps every digit by default.
    exact = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
    frame = pd.read_csv(
        io.StringIO("\n".join(line for _, line in body)),
        sep=r"\s+" if delimiter is None else delimiter,
        header=None,
        names=range(len(first)),
        index_col=False,
        decimal="," if delimiter == ";" and any("," in line for _, line in body) else ".",
        skipinitialspace=True,
        **exact,
        low_memory=False,
    )
    frame.columns = _default_names(len(first)) if names is None else names
    return _without_unnamed(Table(file=str(path), frame=frame, numbers=[n for n, _ in body], unit="line"))


def _lines(path) -> list[tuple[int, str]]:
    """Return numbered lines without blank ones and without comments (# or %) at the top."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{path}, line {line}: not text in UTF-8; save it as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{path} holds binary data, not text")
    lines = [(number, line) for number, line in enumerate(re.split("\r\n|\n|\r", text), 1) if line.strip()]
    start = next((i for i, (_, line) in enumerate(lines) if line.lstrip()[0] not in "#%"), len(lines))
    if start == len(lines):
        raise InputError(f"{path} is empty")
    return lines[start:]


def _delimiter(suffix, line) -> str | None:
    """Return the delimiter; None is any whitespace."""
    if suffix == ".tsv":
        return "\t"
    whole = "," if suffix == ".csv" else None
    return next((mark for mark in (";,\t" if whole else ";,") if mark in line), whole)


def _splitter(delimiter, quoted) -> Callable[[str], list[str]]:
    if delimiter is None:
        return str.split
    if quoted:
        return lambda line: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return lambda line: line.split(delimiter)


def _is_header(path, number, cells) -> bool:
    """Say whether the first line holds names. Text beside numbers is refused, unless it says time."""
    text = [cell for cell in cells if not _is_number(cell) and cell.lower() not in MISSING]
    some_numbers = any(_is_number(cell) for cell in cells)
    if some_numbers and not all(TIME_NAME.fullmatch(cell) or cell == TRIAL_NAME for cell in text):
        raise InputError(
            f"{path}, line {number}, column {cells.index(text[0]) + 1}: {shown(text[0])} is not a number; "
            "if this line holds names, say so with header=True"
        )
    return bool(text)


def _is_number(cell):
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return cell.lower() not in MISSING


def _refuse_ragged(path, body, split, width):
    for number, line in body:
        count = len(split(line))
        if count != width:
            cells = "1 cell" if count == 1 else f"{count} cells"
            raise InputError(f"{path}, line {number}, column {min(count, width) + 1}: {cells}, not {width}")


def _without_unnamed(table) -> Table:
    """Drop an index that was written without a name, and the empty column after a trailing delimiter."""
    frame = table.frame
    for position in (len(frame.columns) - 1, 0):
        column = frame.iloc[:, position]
        index = column.dtype.kind == "i" and (np.diff(column.to_numpy()) == 1).all()
        if frame.columns[position] == "" and (index if position == 0 else column.isna().all()):
            frame = frame.drop(columns="")
    if "" in frame.columns:
        raise InputError(f"{table.file}: column {list(frame.columns).index('') + 1} has no name; give it one")
    return replace(table, frame=frame)


def _read_parquet(path, header, variable) -> Table:
    import pandas as pd

    try:
        import pyarrow.parquet  # noqa: F401
    except ImportError:
        raise InputError(f"{path}: reading parquet needs pyarrow; pip install 'enmesh[parquet]'") from None
    frame = pd.read_parquet(path, engine="pyarrow")
    if frame.index.name is not None or not isinstance(frame.index, pd.RangeIndex):
        frame = frame.reset_index()
    frame.columns = [str(name) for name in frame.columns]
    return Table(file=str(path), frame=frame, numbers=range(1, len(frame) + 1))


def _read_npy(path, header, variable) -> Table:
    with path.open("rb") as file, _no_pickle(path):
        return _array_table(path, np.lib.format.read_array(file, allow_pickle=False))


def _read_npz(path, header, variable) -> Table:
    import zipfile

    if not zipfile.is_zipfile(path):
        raise InputError(f"{path} cannot be read as npz: it is not an archive of arrays")
    arrays = {}
    with np.load(path, allow_pickle=False) as archive:
        files = archive.files
        for name in files:
            with _no_pickle(path, skip=True):
                arrays[name] = archive[name]
    if variable is not None:
        _refuse_unknown(path, variable, files)
    if variable not in {None, *arrays} or (files and not arrays):
        raise InputError(f"{path} {PICKLED}")
    chosen = _choose(
        path, {name: (array.shape, array.dtype.kind) for name, array in arrays.items()}, variable
    )
    return _array_table(path, arrays[chosen], arrays.get("names"), arrays.get("dt"))


def _read_mat(path, header, variable) -> Table:
    from scipy.io import loadmat, whosmat

    with path.open("rb") as file:
        try:
            kinds = {name: (shape, _mat_kind(kind)) for name, shape, kind in whosmat(file)}
            if variable is not None:
                _refuse_unknown(path, variable, list(kinds))
            chosen = _choose(path, kinds, variable)
            file.seek(0)
            return _array_table(path, loadmat(file, variable_names=[chosen])[chosen])
        except NotImplementedError:
            raise InputError(f"{path} is a MATLAB 7.3 file; save it again with -v7") from None


def _mat_kind(kind):
    return "f" if kind in ("double", "single", "logical") or kind.startswith(("int", "uint")) else "O"


def _refuse_unknown(path, name, known):
    if name not in known:
        raise InputError(f"{path}: there is no variable {name}; it has {listed(known)}")


def _choose(path, kinds, wanted) -> str:
    """Return the variable that was asked for, or the only one that can be a recording."""
    if wanted is not None:
        return wanted
    fitting = [name for name, (shape, kind) in kinds.items() if kind in "biuf" and len(shape) in (2, 3)]
    wide = [name for name in fitting if min(kinds[name][0]) > 1]
    found = wide or fitting
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(f"{path} holds the arrays {listed(found)}; say which with variable=")
    raise InputError(f"{path} holds no array of numbers (time, node) or (trial, time, node)")


@contextmanager
def _no_pickle(path, skip=False) -> Iterator[None]:
    """Name pickled objects for what they are, or pass over them where another array may do."""
    try:
        yield
    except ValueError as error:
        if "allow_pickle" not in str(error):
            raise
        if not skip:
            raise InputError(f"{path} {PICKLED}") from None


def _array_table(path, values, names=None, dt=None) -> Table:
    import pandas as pd

    if values.dtype.kind not in "biuf" or values.ndim not in (2, 3) or not values.size:
        raise InputError(
            f"{path} holds an array of {values.dtype} with shape {values.shape}; "
            "numbers as (time, node) or (trial, time, node) are needed"
        )
    *several, length, width = values.shape
    if length < width:
        warnings.warn(
            f"{path}: {length} samples of {width} nodes; rows are times, transpose the array if not",
            HazardWarning,
            stacklevel=5,
        )
    named = names is not None and names.shape == (width,) and names.dtype.kind in "US"
    frame = pd.DataFrame(
        values.reshape(-1, width), columns=names.astype(str) if named else _default_names(width)
    )
    count = several[0] if several else 1
    rows = np.tile(np.arange(1, length + 1), count)
    trials = np.repeat(np.arange(count), length) if several else None
    step = float(dt) if dt is not None and dt.shape == () and dt.dtype.kind in "iuf" else None
    return Table(file=str(path), frame=frame, numbers=rows, trials=trials, dt=step)


READERS: dict[str, Callable[..., Table]] = {
    ".csv": _read_text,
    ".tsv": _read_text,
    ".txt": _read_text,
    ".parquet": _read_parquet,
    ".npy": _read_npy,
    ".npz": _read_npz,
    ".mat": _read_mat,
}


def _default_names(width):
    return [f"x{i}" for i in range(width)]


def listed(names) -> str:
    """Return names with commas; a long list is cut."""
    names = [str(name) for name in names]
    return ", ".join(names if len(names) <= 12 else [*names[:10], f"... ({len(names)} in all)"])


def shown(cell) -> str:
    """Return a cell in quotes on one line, cut to a readable length."""
    text = repr(str(cell))
    return text if len(text) <= 42 else f"{text[:38]}...'"


def _one_line(error):
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
