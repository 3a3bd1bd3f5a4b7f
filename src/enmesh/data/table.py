"""Table: the columns of one file or DataFrame as they stand, and the words in which its cells are named."""

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.errors import InputError


@dataclass(frozen=True, kw_only=True)
class Table:
    """The columns of one file, or of one object that has columns, as they stand.

    ``numbers[i]`` is the 1-based line (text) or row (arrays) of row i, called ``unit`` in messages. ``trials``, the
    trial of each row, and ``dt``, the sampling step, are there where the format says them. ``file`` is empty for
    what does not come from a file. ``marks`` are those of decimals and thousands, where they are known; ``assumed``
    what was taken for granted, in words.
    """

    file: str
    frame: Any
    numbers: Sequence[int]
    unit: str = "row"
    trials: np.ndarray | None = None
    dt: float | None = None
    marks: tuple[str, str | None] | None = None
    assumed: tuple[str, ...] = ()

    def at(self, row: int, column: object) -> str:
        """Say where a cell is: file, row and column."""
        place = f"{self.unit} {self.numbers[row]}, column {visible(column)}"
        return f"{self.file}, {place}" if self.file else place

    def said(self, text: str) -> str:
        """Return a message with the name of the file in front, where there is one."""
        return f"{self.file}: {text}" if self.file else text


def listed(names: Iterable[object]) -> str:
    """Return names with commas; a long list is cut."""
    shown_names = [visible(name) for name in names]
    count = len(shown_names)
    return ", ".join(shown_names if count <= 12 else [*shown_names[:10], f"... ({count} in all)"])


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


def refuse_unknown(file: str, name: str, known: Sequence[str], what: str = "variable") -> None:
    """Refuse the name of an array or sheet that a file does not have."""
    if name not in known:
        raise InputError(f"{file}: there is no {what} {name}; it has {listed(known)}")
