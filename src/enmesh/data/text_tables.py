"""Text and workbooks as tables: csv, tsv, txt and xlsx become columns with names and rows with numbers."""

import csv
import io
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from enmesh.data.columns import MISSING
from enmesh.data.frames import TIME_NAME, TRIAL_NAME
from enmesh.data.sources import Source
from enmesh.data.table import Table, default_names, refuse_unknown, shown
from enmesh.data.times import looks_like_dates
from enmesh.errors import InputError

# A spreadsheet takes a cell that begins with one of these for a formula; it is written with a quote in front.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What pandas calls a column without a name, when somebody wrote an index with it.
UNNAMED = ("", "Unnamed: 0")
Line = tuple[int, str]


def read_text(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read delimited text; the delimiter, the header and a decimal comma are recognised."""
    comments, lines = _lines(source)
    delimiter = _delimiter(source.suffix, lines)
    split = _splitter(delimiter, any('"' in line for _, line in lines))
    first = [cell.strip() for cell in split(lines[0][1])]
    if header is None:
        names = first if _is_header(source.name, lines[0][0], first) else None
    else:
        names = first if header else None
    body = lines if names is None else lines[1:]
    if not body:
        raise InputError(f"{source.name} has names but no rows of numbers")
    if names is None and header is None and comments:
        names = _names_in_comment(comments[-1][1], len(first), split)
    elif names is not None and len(split(body[0][1])) == len(names) + 1:
        names = ["", *names]  # as R writes row names
    width = len(first) if names is None else len(names)
    _refuse_ragged(source.name, body, split, width)
    frame = _parsed(body, delimiter, split, width)
    frame.columns = default_names(width) if names is None else [_unguarded(name) for name in names]
    numbers = [number for number, _ in body]
    return _with_unnamed_index(Table(file=source.name, frame=frame, numbers=numbers, unit="line"))


def _parsed(body: list[Line], delimiter: str | None, split: Callable[[str], list[str]], width: int) -> Any:
    import pandas as pd

    # From version 3 on pandas keeps every digit by default.
    exact: dict[str, Any] = (
        {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}
    )
    frame = pd.read_csv(
        io.StringIO("\n".join(line for _, line in body)),
        sep=r"\s+" if delimiter is None else delimiter,
        header=None,
        names=range(width),
        index_col=False,
        decimal="," if delimiter == ";" and any("," in line for _, line in body) else ".",
        skipinitialspace=True,
        **exact,
        low_memory=False,
    )
    holes = frame.select_dtypes(float).columns[frame.select_dtypes(float).isna().any()]
    for column in holes:
        if _written_whole(split(line)[column] for _, line in body):
            frame[column] = frame[column].astype("Int64")
    return frame


def _written_whole(cells: Iterator[str]) -> bool:
    """Say whether cells are whole numbers or missing: 2 is whole, 2.0 is not."""
    known = [cell.strip() for cell in cells if cell.strip().lower() not in MISSING]
    return bool(known) and all(cell.lstrip("+-").isdecimal() and len(cell) < 16 for cell in known)


def _lines(source: Source) -> tuple[list[Line], list[Line]]:
    """Return the comments (# or %) at the top, and the numbered lines after them without blank ones."""
    data = source.file.read()
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise InputError(f"{source.name}, line {line}: not text in UTF-8; save it as UTF-8") from None
    if "\0" in text:
        raise InputError(f"{source.name} holds binary data, not text")
    lines = _whole_lines(source.name, list(enumerate(re.split("\r\n|\n|\r", text), 1)))
    lines = [(number, line) for number, line in lines if line.strip()]
    start = next((i for i, (_, line) in enumerate(lines) if line.lstrip()[0] not in "#%"), len(lines))
    if start == len(lines):
        raise InputError(f"{source.name} is empty")
    return lines[:start], lines[start:]


def _whole_lines(name: str, lines: list[Line]) -> list[Line]:
    """Join lines that a quoted cell spreads over."""
    joined: list[Line] = []
    opened: Line | None = None
    for number, line in lines:
        if opened is not None:
            line = f"{opened[1]}\n{line}"
            number = opened[0]
        if line.count('"') % 2 and re.search(r'(^|[,;\t ])\s*"', line) and line.lstrip()[0] not in "#%":
            opened = (number, line)
            continue
        joined.append((number, line))
        opened = None
    if opened is not None:
        raise InputError(f"{name}, line {opened[0]}: a quote is opened and never closed")
    return joined


def _delimiter(suffix: str, lines: list[Line]) -> str | None:
    """Return the mark that cuts both of the first lines alike, or else the first there is; None is whitespace."""
    if suffix == ".tsv":
        return "\t"
    whole: str | None = "," if suffix == ".csv" else None
    bare = [re.sub(r'"(?:[^"]|"")*"', "", line) for _, line in lines[:2]]
    found = [mark for mark in (";,\t" if whole else ";,") if mark in bare[0]]
    even = [mark for mark in found if len({line.count(mark) for line in bare}) == 1]
    found = even or found
    return found[0] if found else whole


def _splitter(delimiter: str | None, quoted: bool) -> Callable[[str], list[str]]:
    if delimiter is None:
        return str.split
    if quoted:
        return lambda line: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return lambda line: line.split(delimiter)


def _is_header(file: str, number: int, cells: list[str]) -> bool:
    """Say whether the first line holds names. Text beside numbers is refused, unless it says time."""
    text = [cell for cell in cells if not _is_number(cell) and cell.lower() not in MISSING]
    some_numbers = any(_is_number(cell) for cell in cells)
    if some_numbers and not all(TIME_NAME.fullmatch(cell) or cell == TRIAL_NAME for cell in text):
        raise InputError(
            f"{file}, line {number}, column {cells.index(text[0]) + 1}: {shown(text[0])} is not a number; "
            "if this line holds names, say so with header=True"
        )
    return bool(text)


def _names_in_comment(line: str, width: int, split: Callable[[str], list[str]]) -> list[str] | None:
    """Return the names in a comment right above the numbers, if it has one for each column.

    A mark that belongs to the first name stays: ``%CPU,%MEM``; one that makes the line a comment goes: ``# a,b``.
    """
    line = line.strip()
    bare = line.lstrip("#%").strip()
    own = line[0] == "%" and line[1:2].isalnum()
    cells = [cell.strip() for cell in split(line if own else bare)]
    names = len(cells) == width and all(cell and not _is_number(cell) for cell in cells)
    return cells if names and len(set(cells)) == width else None


def _is_number(cell: str) -> bool:
    try:
        float(cell.replace(",", "."))
    except ValueError:
        return False
    return cell.lower() not in MISSING


def _refuse_ragged(file: str, body: list[Line], split: Callable[[str], list[str]], width: int) -> None:
    for number, line in body:
        count = len(split(line))
        if count != width:
            cells = "1 cell" if count == 1 else f"{count} cells"
            raise InputError(f"{file}, line {number}, column {min(count, width) + 1}: {cells}, not {width}")


def _unguarded(name: str) -> str:
    """Return a name without the quote that keeps a spreadsheet from taking it for a formula."""
    return name[1:] if name.startswith("'") and name[1:].startswith(FORMULA) else name


def guarded(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(FORMULA) else name


def _with_unnamed_index(table: Table) -> Table:
    """Make an index of a first column without a name, and drop the empty column after a trailing delimiter."""
    frame = table.frame
    if frame.columns[-1] == "" and frame.iloc[:, -1].isna().all():
        frame = frame.iloc[:, :-1]
    if len(frame.columns) > 1 and frame.columns[0] in UNNAMED and _is_index(frame.iloc[:, 0]):
        index = frame.iloc[:, 0].to_numpy()
        frame = frame.iloc[:, 1:].set_axis(index, axis=0)
    if "" in frame.columns:
        raise InputError(f"{table.file}: column {list(frame.columns).index('') + 1} has no name; give it one")
    return replace(table, frame=frame)


def _is_index(column: Any) -> bool:
    """Say whether a column numbers, dates or names its rows."""
    whole = column.dtype.kind == "i" and column.is_unique
    steady = column.dtype.kind == "f" and (column.is_monotonic_increasing or column.is_monotonic_decreasing)
    words = column.dtype.kind not in "biufc" and column.is_unique
    return bool(whole or (steady and column.is_unique) or words or looks_like_dates(column))


def read_excel(source: Source, header: bool | None, variable: str | None) -> Table:
    """Read one sheet: the first, or the one that is named."""
    import pandas as pd

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise InputError(f"{source.name}: reading xlsx needs openpyxl; pip install 'enmesh[excel]'") from None
    with pd.ExcelFile(source.file, engine="openpyxl") as book:
        if variable is not None:
            refuse_unknown(source.name, variable, [str(sheet) for sheet in book.sheet_names])
        raw = book.parse(variable if variable is not None else 0, header=None, dtype=object)
    raw = raw.dropna(how="all").dropna(how="all", axis=1)
    if not raw.size:
        raise InputError(f"{source.name} is empty")
    rows = (raw.index + 1).tolist()
    first = ["" if pd.isna(cell) else str(cell).strip() for cell in raw.iloc[0]]
    named = _is_header(source.name, rows[0], first) if header is None else header
    frame = (raw.iloc[1:] if named else raw).reset_index(drop=True).infer_objects()
    if not len(frame):
        raise InputError(f"{source.name} has names but no rows of numbers")
    frame.columns = [_unguarded(name) for name in first] if named else default_names(len(first))
    return _with_unnamed_index(Table(file=source.name, frame=frame, numbers=rows[1:] if named else rows))
