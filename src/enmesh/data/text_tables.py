"""Text and workbooks as tables: csv, tsv, txt and xlsx become columns with names and rows with numbers."""

import csv
import io
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from enmesh.data.dates import CLOCK, DATE_TEXT, looks_like_dates
from enmesh.data.numbers import MISSING, bare, marks_of, refuse_dotted
from enmesh.data.rules import Rules
from enmesh.data.sources import Source
from enmesh.data.table import Table, default_names, listed, refuse_unknown, shown
from enmesh.data.times import TIME_NAME, TRIAL_NAMES
from enmesh.errors import InputError

# A spreadsheet takes a cell that begins with one of these for a formula; it is written with a quote in front.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What pandas calls a column without a name, when somebody wrote an index with it.
UNNAMED = ("", "Unnamed: 0")
# Lines from which the delimiter, the header and units are told.
FEW = 20
BYTE_ORDER_MARKS = {b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}
Line = tuple[int, str]


def read_text(source: Source, rules: Rules) -> Table:
    """Read delimited text; the delimiter, the header, a row of units and decimal marks are recognised."""
    comments, lines = _lines(source, rules)
    delimiter = _delimiter(source.suffix, lines)
    split = _splitter(delimiter, any('"' in line for _, line in lines))
    near = [[cell.strip() for cell in split(line)] for _, line in lines[: FEW + 2]]
    _refuse_preamble(source.name, lines, near)
    names = _names_of(source.name, lines[0][0], near, rules)
    body = lines if names is None else lines[1:]
    assumed: tuple[str, ...] = ()
    if names is not None and _has_units(near, rules):
        assumed = () if rules.units else (f"line {body[0][0]} ({listed(near[1])}) holds units",)
        body = body[1:]
    if not body:
        raise InputError(f"{source.name} has names but no rows of numbers")
    if names is None and rules.header is None and comments and not rules.transpose:
        names = _names_in_comment(comments[-1][1], len(near[0]), split)
    elif names is not None and len(split(body[0][1])) == len(names) + 1:
        names = ["", *names]  # as R writes row names
    width = len(near[0]) if names is None else len(names)
    _refuse_ragged(source.name, body, split, width)
    marks = _marks(source.name, body, delimiter, split, rules)
    frame = _parsed(body, delimiter, split, width, marks[0])
    frame.columns = default_names(width) if names is None else [_unguarded(name) for name in names]
    numbers = [number for number, _ in body]
    table = Table(file=source.name, frame=frame, numbers=numbers, unit="line", marks=marks, assumed=assumed)
    return transposed(table) if rules.transpose else _with_unnamed_index(table)


def transposed(table: Table) -> Table:
    """Return a table whose rows were nodes; their names may stand in the first column, and times in the first row."""
    frame = table.frame
    named = frame.iloc[:, 0].dtype.kind not in "biufc" and frame.iloc[:, 0].is_unique
    names = frame.iloc[:, 0].astype(str).tolist() if named else default_names(len(frame))
    turned = frame.iloc[:, int(named) :].T.reset_index(drop=True).set_axis(names, axis=1).infer_objects()
    first = [str(cell).removesuffix(".0") for cell in turned.iloc[:, 0]]
    if named and len(names) > 1 and _counts(first):
        turned = turned.set_axis([int(cell) for cell in first], axis=0).iloc[:, 1:]
    return replace(table, frame=turned, numbers=range(1, len(turned) + 1), unit="column")


def _marks(
    file: str, body: list[Line], delimiter: str | None, split: Callable[[str], list[str]], rules: Rules
) -> tuple[str, str | None]:
    """Return the decimal and the thousands mark: as said, or as the numbers tell."""
    if rules.decimal is not None:
        return rules.decimal, rules.thousands
    if not any("," in line for _, line in body) or (
        delimiter == "," and not any('"' in line for _, line in body)
    ):
        if delimiter == ";":
            refuse_dotted(file, zip(*(split(line) for _, line in body)))
        return ".", rules.thousands
    try:
        return marks_of(cell for _, line in body for cell in split(line))
    except InputError as error:
        raise InputError(f"{file}: {error}") from None


def _parsed(
    body: list[Line], delimiter: str | None, split: Callable[[str], list[str]], width: int, decimal: str
) -> Any:
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
        decimal=decimal,
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


def _lines(source: Source, rules: Rules) -> tuple[list[Line], list[Line]]:
    """Return the comments (# or %) at the top, and the numbered lines after them without blank ones."""
    data = source.file.read()
    sniffed = BYTE_ORDER_MARKS.get(data[:2], "utf-8-sig")
    try:
        text = data.decode(rules.encoding or sniffed).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        meant = f"text in {rules.encoding or 'UTF-8'}"
        raise InputError(
            f"{source.name}, line {line}: not {meant}; say what it is, as encoding='latin-1', or save it as UTF-8"
        ) from None
    if "\0" in text:
        raise InputError(f"{source.name} holds binary data, not text")
    numbered = list(enumerate(re.split("\r\n|\n|\r", text), 1))[rules.skip :]
    if numbered and re.fullmatch(r'"?sep=."?', numbered[0][1].strip()):
        del numbered[0]  # as Excel writes it
    lines = [(number, line) for number, line in _whole_lines(source.name, numbered) if line.strip()]
    start = next((i for i, (_, line) in enumerate(lines) if line.lstrip()[0] not in "#%"), len(lines))
    if start == len(lines):
        skipped = f" after the {rules.skip} lines that are skipped" if rules.skip else ""
        raise InputError(f"{source.name} is empty{skipped}")
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
    """Return the mark that cuts the first lines alike; None is whitespace."""
    if suffix == ".tsv":
        return "\t"
    near = [re.sub(r'"(?:[^"]|"")*"', "", line) for _, line in lines[:FEW]]
    rows = near[len(near) // 2 :]  # above them there may be names, units and other lines
    found = [mark for mark in ";\t|," if mark in rows[-1]]
    even = [mark for mark in found if len({line.count(mark) for line in rows}) == 1]
    chosen = next(iter(even or found), None)
    inner = [cell.strip() for line in rows for cell in line.split(",")] if chosen == "," else []
    if suffix != ".csv" and any(re.search(r"[\d.]\s+[-+\d.]", cell) for cell in inner):
        return None  # 1,5 2,5: the comma is decimal, and whitespace cuts
    return "," if chosen is None and suffix == ".csv" and not _spaced(near) else chosen


def _spaced(near: list[str]) -> bool:
    """Say whether whitespace alone cuts all lines into the same number of cells, numbers below the first."""
    counts = {len(line.split()) for line in near}
    return len(near) > 1 and len(counts) == 1 and counts != {1} and all(map(_is_number, near[-1].split()))


def _splitter(delimiter: str | None, quoted: bool) -> Callable[[str], list[str]]:
    if delimiter is None:
        words = re.compile(r'"((?:[^"]|"")*)"|(\S+)')
        return (lambda line: [one or other for one, other in words.findall(line)]) if quoted else str.split
    if quoted:
        return lambda line: next(csv.reader([line], delimiter=delimiter, skipinitialspace=True))
    return lambda line: line.split(delimiter)


def _names_of(file: str, number: int, near: Sequence[list[str]], rules: Rules) -> list[str] | None:
    """Return the first line if it holds names. Text beside numbers is refused, unless it says time."""
    cells = near[0]
    if rules.header is not None or rules.transpose:
        return cells if rules.header else None
    text = [cell for cell in cells if not _is_number(cell) and cell.lower() not in MISSING]
    numbers = [cell for cell in cells if _is_number(cell)]
    if not text:
        return cells if _numeric_names(file, number, near) else None
    if all(_is_time(cell) for cell in text) and all(map(_alike, cells, near[1] if len(near) > 1 else [])):
        return None
    counted = _counts(numbers) and not _is_number(cells[0])
    if (
        numbers
        and not counted
        and not all(TIME_NAME.fullmatch(cell) or cell.lower() in TRIAL_NAMES for cell in text)
    ):
        raise InputError(
            f"{file}, line {number}, column {cells.index(text[0]) + 1}: {shown(text[0])} is not a number; "
            "if this line holds names, say so with header=True"
        )
    return cells


def _is_time(cell: str) -> bool:
    return bool(re.fullmatch(f"{DATE_TEXT}|{CLOCK}", cell))


def _alike(cell: str, below: str) -> bool:
    return _is_time(cell) == _is_time(below)


def _numeric_names(file: str, number: int, near: Sequence[list[str]]) -> bool:
    """Say whether a first line of numbers alone holds names, as 0,1,2 above measurements; refuse to guess."""
    cells, below = near[0], near[1:]
    inner = cells[1:] if cells[0] == "" else cells
    if not _counts(inner) or not below:
        return False
    if cells[0] == "":
        return True
    fractions = [
        any(cell for cell in column if not bare(cell).lstrip("+-").isdigit()) for column in zip(*below)
    ]
    if all(fractions):
        return True
    raise InputError(
        f"{file}, line {number}: {listed(cells)} may be names or the first row of numbers; say so with header=True "
        "or header=False"
    )


def _counts(cells: Sequence[str]) -> bool:
    """Say whether cells are whole numbers that rise by one even step: 0,1,2 or 2019,2020."""
    if len(cells) < 2 or not all(cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(cells)}
    return len(steps) == 1 and (steps == {1} or (len(cells) > 2 and min(steps) > 0))


def _has_units(near: Sequence[list[str]], rules: Rules) -> bool:
    """Say whether the second line holds units: as told, or text above numbers in a line without any number."""
    if rules.units is not None or len(near) < 3:
        return bool(rules.units)
    if any(map(_is_number, near[1])) or not any(near[1]):
        return False
    below = [cells for cells in near[2:] if len(cells) == len(near[1])]
    changes = [unit and all(_is_number(cells[i]) for cells in below) for i, unit in enumerate(near[1])]
    return bool(below) and any(changes)


def _refuse_preamble(file: str, lines: Sequence[Line], near: Sequence[list[str]]) -> None:
    """Refuse lines above the table that are no part of it, and say how many they are."""
    counts = [len(cells) for cells in near]
    usual = counts[-1]
    first = next(i for i in range(len(counts)) if set(counts[i:]) == {usual})
    as_in_r = first == 1 and counts[0] == usual - 1
    if not first or as_in_r or len(counts) - first < 2 or usual in counts[:first]:
        return
    raise InputError(
        f"{file}: line {lines[0][0]} has {_cells(counts[0])} and those from line {lines[first][0]} on have {usual}; "
        f"pass skip={lines[first][0] - 1} to leave out what stands above the table"
    )


def _cells(count: int) -> str:
    return "1 cell" if count == 1 else f"{count} cells"


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
    if cell.lower() in MISSING:
        return False
    try:
        float(bare(cell).replace(",", "").replace(".", "", cell.count(".") - 1).replace(" ", ""))
    except ValueError:
        return False
    return True


def _refuse_ragged(file: str, body: list[Line], split: Callable[[str], list[str]], width: int) -> None:
    for number, line in body:
        count = len(split(line))
        if count != width:
            raise InputError(
                f"{file}, line {number}, column {min(count, width) + 1}: {_cells(count)}, not {width}"
            )


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


def read_excel(source: Source, rules: Rules) -> Table:
    """Read one sheet: the first, or the one that is named."""
    import pandas as pd

    try:
        import openpyxl  # noqa: F401
    except ImportError:
        raise InputError(f"{source.name}: reading xlsx needs openpyxl; pip install 'enmesh[excel]'") from None
    with pd.ExcelFile(source.file, engine="openpyxl") as book:
        sheets = [str(sheet) for sheet in book.sheet_names]
        if isinstance(rules.variable, str):
            refuse_unknown(source.name, rules.variable, sheets, "sheet")
        elif rules.variable is not None and not 0 <= rules.variable < len(sheets):
            raise InputError(f"{source.name}: there is no sheet {rules.variable}; it has {listed(sheets)}")
        raw = pd.read_excel(book, sheet_name=rules.variable or 0, header=None, dtype=object)
    raw = raw.iloc[rules.skip :].dropna(how="all").dropna(how="all", axis=1)
    if not raw.size:
        raise InputError(f"{source.name} is empty")
    rows = (raw.index + 1).tolist()
    near = [
        ["" if pd.isna(cell) else str(cell).strip() for cell in raw.iloc[i]]
        for i in range(min(len(raw), FEW))
    ]
    _refuse_merged(source.name, rows[0], near, rules)
    names = _names_of(source.name, rows[0], near, rules)
    above = int(names is not None)
    assumed: tuple[str, ...] = ()
    if names is not None and _has_units(near, rules):
        above, assumed = 2, () if rules.units else (f"row {rows[1]} ({listed(near[1])}) holds units",)
    frame = raw.iloc[above:].reset_index(drop=True).infer_objects()
    if not len(frame):
        raise InputError(f"{source.name} has names but no rows of numbers")
    frame.columns = default_names(len(near[0])) if names is None else [_unguarded(name) for name in names]
    marks = (rules.decimal, rules.thousands) if rules.decimal is not None else None
    table = Table(file=source.name, frame=frame, numbers=rows[above:], marks=marks, assumed=assumed)
    return transposed(table) if rules.transpose else _with_unnamed_index(table)


def _refuse_merged(file: str, row: int, near: Sequence[list[str]], rules: Rules) -> None:
    """Refuse a first row with merged cells above the row of names."""
    if rules.header is not None or len(near) < 2 or "" not in near[0][1:] or not any(near[0]):
        return
    if all(cell and not _is_number(cell) for cell in near[1][1:]):
        raise InputError(
            f"{file}, row {row}: cells are merged or empty above a row of names; pass skip={rules.skip + 1} to leave "
            "that row out"
        )
