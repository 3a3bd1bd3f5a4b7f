"""Text and workbooks as tables: csv, tsv, txt and xlsx become columns with names and rows with numbers."""

import csv
import io
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import islice, pairwise
from typing import Any

import pandas as pd

from enmesh.data.dates import CLOCK, DATE_TEXT, looks_like_dates
from enmesh.data.numbers import MISSING, as_number, bare, marks_of, refuse_dotted
from enmesh.data.rules import Rules
from enmesh.data.sources import Source, library
from enmesh.data.table import Table, default_names, listed, shown, unguarded
from enmesh.data.times import TIME_NAME, TRIAL_NAMES
from enmesh.errors import InputError, hazard, refuse_if

# What pandas calls a column without a name, when somebody wrote an index with it.
UNNAMED = ("", "Unnamed: 0")
# Lines from which the delimiter, the header and units are told.
FEW = 20
MOST_UNITS = 2
LOGGER = re.compile(r'"?TO[AB]\d"?,')  # the first line of Campbell's loggers
WORDS = re.compile(r'"(?:[^"]|"")*"|\S+')
TIME_TEXT = re.compile(f"{DATE_TEXT}|{CLOCK}")
EMPTY = re.compile("|".join(re.escape(word) for word in MISSING if word.startswith("#")))
OPENED = r'(?:^|(?<=[,;|\t ]))\s*"'
Lines = list[tuple[int, str]]


def read_text(source: Source, rules: Rules) -> Table:
    """Read delimited text; the delimiter, the header, a row of units and decimal marks are recognised."""
    comments, lines = _lines(source, rules)
    delimiter = _delimiter(source.suffix, lines)
    if delimiter is None:
        lines = [(number, "\t".join(WORDS.findall(line))) for number, line in lines]
    mark = delimiter or "\t"
    first = list(islice(_rows(lines, mark), FEW + 2))
    numbers, near = [lines[at][0] for at, _ in first], [[cell.strip() for cell in row] for _, row in first]
    _refuse_preamble(numbers, near)
    names, above, notes = _heading("line", numbers, near, rules)
    if names is None and rules.header is None and comments and not rules.transpose:
        names = _names_in_comment(comments[-1][1], len(near[0]), delimiter)
    elif names is not None and len(near[above]) == len(names) + 1:
        names = ["", *names]  # as R writes row names
    width = len(near[0]) if names is None else len(names)
    body, numbers = lines[first[above][0] :], []
    for at, row in _rows(body, mark):
        numbers.append(body[at][0])
        if len(row) != width:
            place = f"line {numbers[-1]}, column {min(len(row), width) + 1}"
            raise InputError(f"{place}: {len(row)} cell{'s' * (len(row) != 1)}, not {width}; correct that line")
    marks = _marks(body, mark, rules)
    frame = _parsed(body, mark, width, marks[0])
    table = Table(file=source.name, frame=frame, numbers=numbers, unit="line", marks=marks, notes=notes)
    return _named(table, names, rules)


def _lines(source: Source, rules: Rules) -> tuple[Lines, Lines]:
    """Return the comments (# or %) at the top, and the numbered lines after them without blank ones."""
    data = source.file.read()
    sniffed = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    try:
        text = data.decode(rules.encoding or sniffed).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        advice = "say what it is, as encoding='latin-1', or save it as UTF-8"
        raise InputError(f"line {line}: not text in {rules.encoding or 'UTF-8'}; {advice}") from None
    refuse_if("\0" in text, "holds binary data, not text; say its format by its suffix, or save it as csv")
    numbered = list(enumerate(re.split("\r\n|\n|\r", text), 1))[rules.skip :]
    if numbered and re.fullmatch(r'"?sep=."?', numbered[0][1].strip()):
        del numbered[0]  # as Excel writes it
    if numbered and LOGGER.match(numbered[0][1]):
        del numbered[0]
    lines = [(number, line) for number, line in numbered if line.strip()]
    start = next((i for i, (_, line) in enumerate(lines) if line.lstrip()[0] not in "#%"), len(lines))
    if start == len(lines):
        skipped = f" after the {rules.skip} lines that are skipped" if rules.skip else ""
        raise InputError(f"is empty{skipped}; give at least 3 rows of numbers")
    body = lines[start:]
    remarks = [one for one in body if one[1].lstrip()[0] == "#" and not EMPTY.match(one[1].lstrip().lower())]
    if remarks and len(remarks) < len(body):
        hazard(f"{source.name}: {len(remarks)} lines that begin with # are left out, the first is line {remarks[0][0]}")
        body = [one for one in body if one not in remarks]
    return lines[:start], body


def _delimiter(suffix: str, lines: Lines) -> str | None:
    """Return the mark that cuts the first lines alike; None is whitespace."""
    if suffix == ".tsv":
        return "\t"
    text = "\n".join(line for _, line in lines[: 2 * FEW])
    near = re.sub(rf'{OPENED}(?:[^"]|"")*"', "", text, flags=re.MULTILINE).split("\n")[:FEW]
    rows = near[len(near) // 2 :]  # above them there may be names, units and other lines
    found = [mark for mark in ";\t|," if mark in rows[-1]]
    even = [mark for mark in found if len({line.count(mark) for line in rows}) == 1]
    chosen = next(iter(even or found), None)
    inner = [cell.strip() for line in rows for cell in line.split(",")] if chosen == "," else []
    if suffix != ".csv" and any(re.search(r"[\d.]\s+[-+\d.]", cell) for cell in inner):
        return None  # 1,5 2,5: the comma is decimal, and whitespace cuts
    if chosen is not None or suffix != ".csv":
        return chosen
    counts = {len(line.split()) for line in near}  # whitespace may cut all alike, numbers below the first
    spaced = len(near) > 1 and len(counts) == 1 and counts != {1} and all(map(_is_number, near[-1].split()))
    return None if spaced else ","


def _rows(lines: Lines, delimiter: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the cells of each row, and the line it begins with; a quoted cell may spread over lines."""
    reader = csv.reader((f"{line}\n" for _, line in lines), delimiter=delimiter, skipinitialspace=True)
    at = 0
    for cells in reader:
        if reader.line_num == len(lines):
            left = "\n".join(line for _, line in lines[at:])
            if left.count('"') % 2 and re.search(OPENED, left):
                raise InputError(f"line {lines[at][0]}: a quote is opened and never closed; close or remove it")
        yield at, cells
        at = reader.line_num


def _marks(body: Lines, delimiter: str, rules: Rules) -> tuple[str, str | None]:
    """Return the decimal and the thousands mark: as said, or as the numbers tell."""
    if rules.decimal is not None:
        return rules.decimal, rules.thousands
    commas, quotes = (any(mark in line for _, line in body) for mark in ',"')
    if commas and (delimiter != "," or quotes):
        return marks_of(cell for _, cells in _rows(body, delimiter) for cell in cells)
    if delimiter == ";":
        refuse_dotted(zip(*(cells for _, cells in _rows(body, delimiter))))
    return ".", rules.thousands


def _parsed(body: Lines, delimiter: str, width: int, decimal: str) -> Any:
    how: Any = {"sep": delimiter, "decimal": decimal, "skipinitialspace": True, "low_memory": False}
    if int(pd.__version__.split(".")[0]) < 3:  # from version 3 on pandas keeps every digit by default
        how["float_precision"] = "round_trip"
    text = io.StringIO("\n".join(line for _, line in body))
    frame = pd.read_csv(text, header=None, names=range(width), index_col=False, **how)
    for column in frame.columns[(frame.dtypes == "float64") & frame.isna().any()]:
        cells = (cells[column].strip() for _, cells in _rows(body, delimiter))
        known = [cell for cell in cells if cell.lower() not in MISSING]
        if known and all(cell.lstrip("+-").isdecimal() and len(cell) < 16 for cell in known):
            frame[column] = frame[column].astype("Int64")  # 2 is whole, 2.0 is not
    return frame


def read_excel(source: Source, rules: Rules) -> Table:
    """Read one sheet: the first, or the one that is named."""
    library("openpyxl", "reading xlsx", "excel")
    with pd.ExcelFile(source.file, engine="openpyxl") as book:
        sheets = [str(sheet) for sheet in book.sheet_names]
        shown_sheets = [one for one in sheets if book.book[one].sheet_state == "visible"]
        sheet = (shown_sheets or sheets)[0] if rules.variable is None else rules.variable
        if sheet not in (*sheets, *range(len(sheets))):
            raise InputError(f"there is no sheet {sheet}; it has {listed(sheets)}")
        hidden = sheets[: sheets.index(str(sheet))] if rules.variable is None else []
        raw = pd.read_excel(book, sheet_name=sheet, header=None, dtype=object)
    raw = raw.iloc[rules.skip :].dropna(how="all").dropna(how="all", axis=1)
    refuse_if(not raw.size, "is empty; give at least 3 rows of numbers")
    rows = (raw.index + 1).tolist()
    near = [["" if pd.isna(cell) else str(cell).strip() for cell in cells] for cells in raw[:FEW].to_numpy()]
    merged = len(near) > 1 and "" in near[0][1:] and any(near[0])
    if rules.header is None and merged and all(cell and not _is_number(cell) for cell in near[1][1:]):
        advice = f"pass skip={rules.skip + 1} to leave that row out"
        raise InputError(f"row {rows[0]}: cells are merged or empty above a row of names; {advice}")
    names, above, notes = _heading("row", rows, near, rules)
    notes += (f"sheet {sheet} is read; {listed(hidden)} before it is hidden",) if hidden else ()
    frame = raw.iloc[above:].reset_index(drop=True).infer_objects()
    marks = None if rules.decimal is None else (rules.decimal, rules.thousands)
    table = Table(file=source.name, frame=frame, numbers=rows[above:], marks=marks, notes=notes)
    return _named(table, names, rules)


def _heading(
    unit: str, numbers: Sequence[int], near: Sequence[list[str]], rules: Rules
) -> tuple[list[str] | None, int, tuple[str, ...]]:
    """Return the names above a table, the number of rows above it, and what was taken for granted.

    Below the names there are units if that is told, or if there is text above numbers in a line without any number.
    """
    names, units, notes = _names_of(numbers[0], near, rules), rules.units, tuple[str, ...]()
    above = 0 if names is None else 2 if units else 1
    if units is None and names is not None:
        above += _rows_of_units(near)
        told = [f"{unit} {numbers[at]} ({listed(near[at])})" for at in range(1, above)]
        notes = (f"{' and '.join(told)} hold{'s' * (len(told) == 1)} units",) if told else ()
    refuse_if(above >= len(near), "has names but no rows of numbers; give at least 3")
    return names, above, notes


def _rows_of_units(near: Sequence[list[str]]) -> int:
    """Return how many rows under the names, up to two as loggers write them, hold text above columns of numbers."""
    first = next((at for at in range(1, len(near)) if any(map(_is_number, near[at]))), 0)
    rows, below = near[1:first], [cells for cells in near[first:] if len(cells) == len(near[0])]
    if not below or not 0 < len(rows) <= MOST_UNITS:
        return 0
    columns = [i for i in range(len(near[0])) if all(_is_number(cells[i]) for cells in below)]
    return len(rows) if any(cells[i] for cells in rows for i in columns if i < len(cells)) else 0


def _named(table: Table, names: list[str] | None, rules: Rules) -> Table:
    """Give the columns their names; make an index of a first column without one, or turn the table round."""
    frame = table.frame
    frame.columns = default_names(frame.shape[1]) if names is None else [unguarded(name) for name in names]
    if rules.transpose:
        return transposed(table)
    if frame.columns[-1] == "" and frame.iloc[:, -1].isna().all():
        frame = frame.iloc[:, :-1]  # after a trailing delimiter
    first, kind = frame.iloc[:, 0], frame.iloc[:, 0].dtype.kind
    if len(frame.columns) > 1 and frame.columns[0] in UNNAMED:
        steady = kind != "f" or first.is_monotonic_increasing or first.is_monotonic_decreasing
        if looks_like_dates(first) or (first.is_unique and kind not in "buc" and steady):
            frame = frame.iloc[:, 1:].set_axis(first.to_numpy(), axis=0)
    if "" in frame.columns:
        raise InputError(f"column {list(frame.columns).index('') + 1} has no name; give it one")
    return replace(table, frame=frame)


def transposed(table: Table) -> Table:
    """Return a table whose rows were nodes; their names may stand in the first column, and times in the first row."""
    frame = table.frame
    named = frame.iloc[:, 0].dtype.kind not in "biufc" and frame.iloc[:, 0].is_unique
    names = frame.iloc[:, 0].astype(str).tolist() if named else default_names(len(frame))
    turned = frame.iloc[:, int(named) :].T.reset_index(drop=True).set_axis(names, axis=1).infer_objects()
    first = [str(cell).removesuffix(".0") for cell in turned.iloc[:, 0]]
    if named and len(names) > 1 and _counts(first):
        turned = turned.set_axis([int(cell) for cell in first], axis=0).iloc[:, 1:]
    return replace(table, frame=turned, numbers=None, unit="column")


def _names_of(number: int, near: Sequence[list[str]], rules: Rules) -> list[str] | None:
    """Return the first line if it holds names. Text beside numbers is refused, unless it says time."""
    cells = near[0]
    if rules.header is not None or rules.transpose:
        return cells if rules.header else None
    numbers = [cell for cell in cells if _is_number(cell)]
    text = [cell for cell in cells if cell not in numbers and cell.lower() not in MISSING]
    if not text:
        return cells if _are_names(number, near) else None
    below = near[1] if len(near) > 1 else []
    times = [[bool(TIME_TEXT.fullmatch(cell)) for cell in row] for row in (text, cells, below)]
    if all(times[0]) and all(one == other for one, other in zip(*times[1:])):
        return None
    counted = not numbers or (_counts(numbers) and not _is_number(cells[0]))
    if not counted and not all(TIME_NAME.fullmatch(cell) or cell.lower() in TRIAL_NAMES for cell in text):
        at = f"line {number}, column {cells.index(text[0]) + 1}"
        advice = "if this line holds names, say so with header=True"
        raise InputError(f"{at}: {shown(text[0])} is not a number; {advice}")
    return cells


def _are_names(number: int, near: Sequence[list[str]]) -> bool:
    """Say whether a first line of numbers alone holds names, as 0,1,2 above measurements; refuse to guess."""
    cells, below = near[0], near[1:]
    if not below or not _counts(cells[1:] if cells[0] == "" else cells):
        return False
    columns = [[bare(cell).lstrip("+-") for cell in column if cell] for column in zip(*below)]
    if cells[0] == "" or not any(all(cell.isdigit() for cell in column) for column in columns):
        return True
    advice = "say so with header=True or header=False"
    raise InputError(f"line {number}: {listed(cells)} may be names or the first row of numbers; {advice}")


def _counts(cells: Sequence[str]) -> bool:
    """Say whether cells are whole numbers that rise by one even step: 0,1,2 or 2019,2020."""
    if len(cells) < 2 or not all(cell.isdigit() and len(cell) < 10 for cell in cells):
        return False
    steps = {int(after) - int(before) for before, after in pairwise(cells)}
    return len(steps) == 1 and (steps == {1} or (len(cells) > 2 and min(steps) > 0))


def _refuse_preamble(numbers: Sequence[int], near: Sequence[list[str]]) -> None:
    """Refuse lines above the table that are no part of it, and say how many they are."""
    counts = [len(cells) for cells in near]
    usual = counts[-1]
    first = next(i for i in range(len(counts)) if set(counts[i:]) == {usual})
    as_in_r = first == 1 and counts[0] == usual - 1
    if first and not as_in_r and len(counts) - first > 1 and usual not in counts[:first]:
        held = f"{counts[0]} cell{'s' * (counts[0] != 1)}"
        told = f"line {numbers[0]} has {held} and those from line {numbers[first]} on have {usual}"
        raise InputError(f"{told}; pass skip={numbers[first] - 1} to leave out what stands above the table")


def _names_in_comment(line: str, width: int, delimiter: str | None) -> list[str] | None:
    """Return the names in a comment right above the numbers, if it has one for each column.

    A mark that belongs to the first name stays: ``%CPU,%MEM``; one that makes the line a comment goes: ``# a,b``.
    """
    line = line.strip()
    line = line if line[0] == "%" and line[1:2].isalnum() else line.lstrip("#%").strip()
    words = WORDS.findall(line) if delimiter is None else next(csv.reader([line], delimiter=delimiter), [])
    cells = [cell.strip() for cell in words]
    fits = len(cells) == len(set(cells)) == width and all(cell and not _is_number(cell) for cell in cells)
    return cells if fits else None


def _is_number(cell: str) -> bool:
    """Say whether a cell is a number, whatever its marks of thousands and decimals are."""
    plain = bare(cell).replace(",", "").replace(".", "", cell.count(".") - 1).replace(" ", "")
    return cell.lower() not in MISSING and as_number(plain) is not None
