"""Table: the columns of one file or DataFrame as they stand, and the words in which its cells are named."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.errors import InputError, first_few

# A spreadsheet takes a cell that begins with one of these for a formula; it is written with a quote in front.
FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, kw_only=True)
class Table:
    """The columns of one file, or of one object that has columns, as they stand.

    ``numbers[i]`` is the 1-based line (text) or row of row i, called ``unit`` in messages; None counts the rows.
    ``trials``, the trial of each row, and ``dt``, the sampling step, are there where the format says them; ``marks``
    are those of decimals and thousands, where they are known; ``notes`` say what was taken for granted.
    """

    frame: Any
    file: str = ""
    numbers: Sequence[int] | None = None
    unit: str = "row"
    trials: np.ndarray | None = None
    dt: float | None = None
    marks: tuple[str, str | None] | None = None
    notes: tuple[str, ...] = ()

    def message(self, text: str, row: int | None = None, column: object = "") -> str:
        """Return a message with the file, where there is one, and the place of a cell in front."""
        place = self.file
        if row is not None:
            number = row + 1 if self.numbers is None else self.numbers[row]
            place = f"{place}{', ' if place else ''}{self.unit} {number}, column {visible(column)}"
        return f"{place}: {text}" if place else text

    def error(self, text: str, row: int | None = None, column: object = "") -> InputError:
        """Return the error that says a message."""
        return InputError(self.message(text, row, column))


def listed(names: Iterable[object]) -> str:
    """Return names with commas; a long list is cut."""
    return first_few([visible(name) for name in names], 12)


def shown(cell: object) -> str:
    """Return a cell in quotes on one line, cut to a readable length."""
    text = f"'{visible(cell)}'"
    return text if len(text) <= 42 else f"{text[:38]}...'"


def visible(name: object) -> str:
    """Return a name with everything that cannot be seen written as an escape: controls, zero widths, directions.

    >>> visible("a\\x1b[31m\\u200b\\n")
    'a\\\\x1b[31m\\\\u200b\\\\n'
    """
    text = str(name)
    if text.isascii() and text.isprintable():
        return text
    return "".join(mark if _is_seen(mark) else ascii(mark)[1:-1] for mark in text)


def can_be_seen(name: str) -> bool:
    """Say whether a name has at least one mark that can be seen."""
    return any(not mark.isspace() and _is_seen(mark) for mark in name)


def _is_seen(mark: str) -> bool:
    return mark == " " or unicodedata.category(mark) not in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def default_names(width: int) -> list[str]:
    """Return ``x0, x1, ...``."""
    return [f"x{i}" for i in range(width)]


def guarded(name: str) -> str:
    """Return a name that no spreadsheet takes for a formula."""
    return f"'{name}" if name.startswith(FORMULA) else name


def unguarded(name: str) -> str:
    """Return a name without the quote that keeps a spreadsheet from taking it for a formula."""
    return name[1:] if name.startswith("'") and name[1:].startswith(FORMULA) else name
