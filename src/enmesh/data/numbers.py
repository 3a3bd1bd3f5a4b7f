"""Numbers as people write them: decimal and thousands marks, per cent and currency signs, words for missing.

>>> marks_of(["981", "1,020", "0.27"])
('.', ',')
>>> marks_of(["1.257,30", "12,5"])
(',', '.')
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from enmesh.errors import InputError

# Words that stand for a missing number.
MISSING = {"", "na", "n/a", "nan", "-nan", "null", "none", "<na>"}
MISSING |= {"#n/a", "#na", "#div/0!", "#value!", "#ref!", "#num!"}
# Signs around a number that are not part of it.
SIGNS = "%$€£¥"
# A number in parentheses is negative, as accountants write it.
NEGATIVE = re.compile(r"\(\s*[$€£¥]?\s*(\d[\d.,'\u2019 \u00a0\u202f]*?)\s*(%?)\s*\)(%?)")
# Marks of the longest number that is looked at closely.
LONGEST = 60
# Marks between thousands that can be nothing else: spaces of all widths and apostrophes; and Fortran's exponents.
BETWEEN = re.compile(r"(?<=\d)['\u2019 \u00a0\u202f\u2009](?=\d{3}(?!\d))")
EXPONENT = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d{1,3}$)")
# A number with marks of one kind between groups of three digits: thousands, or a decimal mark before three digits.
GROUPED = re.compile(r"[+-]?[1-9]\d{0,2}([.,])\d{3}(?:\1\d{3})*")
MARKED = re.compile(r"[+-]?[\d.,]*\d[\d.,]*(?:[eE][+-]?\d+)?")
ARABIC = {0x66B: ".", 0x66C: ""}  # decimal and thousands marks
WHOLE = re.compile(r"[+-]?\d+")
OTHER = {".": ",", ",": "."}


def bare(cell: str) -> str:
    """Return a number without the signs and spaces around it, without sure thousands marks and with a plain minus.

    >>> bare(" 1'257.30 EUR".replace("EUR", "\u20ac"))
    '1257.30'
    """
    cell = cell.strip()
    if not cell.isascii() and len(cell) <= LONGEST:  # digits of other scripts
        cell = "".join(str(unicodedata.decimal(mark, mark)) for mark in cell).translate(ARABIC)
    if cell[:1] == "(" and len(cell) <= LONGEST and (found := NEGATIVE.fullmatch(cell)):
        cell = f"-{found[1]}"
    cell = cell.strip(SIGNS).strip().replace("\u2212", "-")
    return EXPONENT.sub("e", BETWEEN.sub("", cell)) if len(cell) <= LONGEST else cell


def marks_of(cells: Iterable[str]) -> tuple[str, str | None]:
    """Return the decimal mark and the thousands mark in which all the numbers can be read.

    A mark that stands before other than three digits, or after a leading zero, is decimal; one that comes twice in a
    number, or before the other mark, is for thousands. Where neither tells, there are two readings: refused.
    """
    decimal: set[str] = set()
    thousands: set[str] = set()
    either: dict[str, str] = {}  # marks that may be both, each with an example
    for number in map(bare, cells):
        found = [mark for mark in ".," if mark in number]
        if not found or len(number) > LONGEST or not MARKED.fullmatch(number):
            continue
        last = max(found, key=number.rindex)
        if len(found) == 2:
            decimal.add(last)
            thousands.add(OTHER[last])
        elif number.count(last) > 1:
            thousands |= {last} if GROUPED.fullmatch(number) else set()  # 31.01.2020 is no number
        elif GROUPED.fullmatch(number):
            either.setdefault(last, number)
        else:
            decimal.add(last)
    if decimal & thousands or len(decimal) > 1 or len(thousands) > 1:
        told = "decimal points and decimal commas are mixed"
        raise InputError(f"{told}; say which with decimal= and thousands=")
    if not decimal and not thousands and "," in either:
        raise _two_readings(either[","], ",")
    mark = next(iter(decimal or {OTHER[one] for one in thousands} or {"."}))
    return mark, OTHER[mark] if thousands or OTHER[mark] in either else None


def _two_readings(number: str, mark: str) -> InputError:
    readings = sorted({number.replace(mark, ""), number.replace(mark, ".")}, key=len, reverse=mark == ".")
    told = f"'{number}' has two readings, {' and '.join(readings)}"
    return InputError(f"{told}; say which with decimal='{mark}' or thousands='{mark}'")


def refuse_dotted(columns: Iterable[Sequence[str]]) -> None:
    """Refuse 981 above 1.020 beside semicolons, which may be a thousand, unless a point is surely decimal elsewhere."""
    doubtful = ""
    for column in columns:
        cells = [cell for cell in map(bare, column) if cell.lower() not in MISSING]
        dotted = [cell for cell in cells if "." in cell]
        if any(MARKED.fullmatch(cell) and not GROUPED.fullmatch(cell) for cell in dotted):
            return
        plain = [cell.lstrip("+-") for cell in cells if "." not in cell]
        if dotted and plain and all(cell.isdigit() and len(cell) < 4 for cell in plain):
            doubtful = dotted[0]
    if doubtful:
        raise _two_readings(doubtful, ".")


def as_number(cell: Any, decimal: str = ".", thousands: str | None = None) -> int | float | None:
    """Return a cell as a number, whole if it is written so; None for what is no number.

    >>> as_number("1.257", ",", "."), as_number("2.0"), as_number("two")
    (1257, 2.0, None)
    """
    if isinstance(cell, str):
        cell = bare(cell)
        if thousands is not None:
            cell = re.sub(rf"(?<=\d){re.escape(thousands)}(?=\d{{3}}(?!\d))", "", cell)
        cell = cell.replace(".", "\0").replace(",", ".") if decimal == "," else cell
        if not cell.isascii() or "_" in cell:  # which Python would take
            return None
    text = isinstance(cell, str)
    whole = WHOLE.fullmatch(cell) if text else isinstance(cell, (bool, int, np.bool_, np.integer))
    try:
        number = int(cell) if whole else float(cell)
    except (TypeError, ValueError, OverflowError):
        return None
    return None if number != number else number
