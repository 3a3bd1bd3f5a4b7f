"""Columns and their kinds: measurements ("float"), whole numbers ("integer") and words for states ("text").

A column keeps its kind on the way from a file or an object to a `Series`, so that no estimator takes the codes of
words for numbers. On that way it is a pandas column of float64, of int64 (Int64 where some are missing), or of objects
that are words or None.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data.numbers import MISSING, as_number, marks_of
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, shown, visible
from enmesh.data.times import JITTER, Time
from enmesh.data.values import FLOAT, INTEGER, TEXT, Values
from enmesh.errors import InputError

KINDS = {"f": FLOAT, "i": INTEGER}
# Bytes from which an array that nobody else holds is taken without a copy.
LARGE = 2**28
COMPLEX = "column {name} holds complex numbers; take their real part, absolute value or angle"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The chosen nodes of one file or object: all trials below one another, their lengths, step and time if known."""

    file: str
    frame: Any
    lengths: list[int]
    dt: float | None = None
    time: Time | None = None


def assembled(recordings: Sequence[Recording], dt: float | None, own: bool) -> Values:
    """Return several recordings as trials of one: int64 where all is whole and nothing is missing, else float64.

    Columns are matched by name, in the order of the first. ``own`` says that nobody else holds the values.
    """
    first = recordings[0]
    names = list(first.frame.columns)
    for other in recordings[1:]:
        if sorted(other.frame.columns) != sorted(names):
            both = f"{other.file} has the columns {listed(other.frame.columns)} but {first.file} has {listed(names)}"
            raise InputError(f"{both}; trials need the same columns")
        steps = (first.dt or 0.0, other.dt or 0.0) if dt is None else (0.0, 0.0)
        if all(steps) and abs(steps[1] - steps[0]) > JITTER * steps[0]:
            raise InputError(f"{other.file} has a time step of {other.dt:g} but {first.file} of {first.dt:g}")
    frames = [first.frame, *(other.frame[names] for other in recordings[1:])]
    kinds: list[str] = []
    for name in names:
        held = {KINDS.get(one[name].dtype.kind, TEXT) for one in frames}
        if TEXT in held and len(held) > 1:
            raise InputError(
                f"column {visible(name)} is text in one trial and numbers in another; make it one"
            )
        kinds.append(held.pop() if len(held) == 1 else FLOAT)
    frame = pd.concat(frames, ignore_index=True) if len(frames) > 1 else first.frame
    labels: dict[str, tuple[str, ...]] = {}
    if set(kinds) == {FLOAT}:
        values = frame.to_numpy(dtype=np.float64)
        values = values if own and values.nbytes > LARGE else np.array(values, order="C")
    else:
        columns = [_coded(name, frame[name], kind, labels) for name, kind in zip(names, kinds)]
        values = np.column_stack(columns)
    lengths = [length for one in recordings for length in one.lengths]
    trials = tuple(np.split(values, np.cumsum(lengths)[:-1]))
    file = first.file + (f" and {len(recordings) - 1} more" if len(recordings) > 1 else "")
    return Values(tuple(names), trials, tuple(kinds), labels, first.dt, first.time, file)


def _coded(name: str, column: Any, kind: str, labels: dict[str, tuple[str, ...]]) -> np.ndarray:
    """Return a column as numbers, NaN for missing ones; words as their positions among the labels."""
    if kind == TEXT:
        codes, words = pd.factorize(column.to_numpy(object), sort=True)
        labels[name] = tuple(words.tolist())
        return np.where(codes < 0, np.nan, codes) if (codes < 0).any() else codes.astype(np.int64)
    if kind == FLOAT or column.isna().any():
        return np.asarray(column.to_numpy(dtype=np.float64, na_value=np.nan))
    return np.asarray(column.to_numpy(dtype=np.int64))


def chosen(table: Table, nodes: Sequence[Any], rules: Rules) -> Any:
    """Return the columns of the nodes with their kinds; what is named in ``rules.states`` is taken for words."""
    frame, names = table.frame, [str(name) for name in nodes]
    frame = frame if list(frame.columns) == list(nodes) else frame[list(nodes)]
    if (frame.dtypes == np.float64).all() and not rules.na and not {*rules.states} & {*names}:
        return frame.set_axis(names, axis=1)
    columns = {name: _column(table, name, frame[node], rules) for name, node in zip(names, nodes)}
    return pd.DataFrame(columns)


def _column(table: Table, name: str, column: Any, rules: Rules) -> Any:
    """Return a column as an array of its kind; refuse what is neither numbers nor words that repeat."""
    column = _without(column, rules.na) if rules.na else column
    kind = column.dtype.kind
    if name in rules.states or isinstance(column.dtype, pd.CategoricalDtype):
        return _words(column)
    if kind == "f":
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    if kind in "biu":
        if kind == "u" and len(column) and (most := column.max()) > np.iinfo(np.int64).max:
            raise table.error(f"column {visible(name)} holds {most}, too large for a whole number")
        return column.astype("Int64").array if column.isna().any() else column.to_numpy(dtype=np.int64)
    if kind in "Mm":
        raise table.error(f"column {visible(name)} holds times; leave it out")
    if kind == "c":
        raise table.error(COMPLEX.format(name=visible(name)))
    return _from_objects(table, name, column)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    """Return a column in which some words, or the numbers they say, are missing; whole numbers stay whole."""
    kind = column.dtype.kind
    if kind not in "iuf":
        return column.mask(column.astype(str).str.strip().isin(words))
    absent = column.isin([number for word in words if (number := as_number(word)) is not None])
    if not absent.any():
        return column
    return column.astype("Int64").mask(absent) if kind in "iu" else column.mask(absent)


def _from_objects(table: Table, name: str, column: Any) -> Any:
    """Return Python objects or text as numbers if all of them are, else as words."""
    rows = zip(range(len(column)), column, column.notna())
    cells = {row: _decoded(cell) for row, cell, known in rows if known}
    if any(isinstance(cell, (complex, np.complexfloating)) for cell in cells.values()):
        raise table.error(COMPLEX.format(name=visible(name)))
    text = {row: cell.strip() for row, cell in cells.items() if isinstance(cell, str)}
    there = {row: cell for row, cell in cells.items() if text.get(row, "-").lower() not in MISSING}
    try:
        marks = table.marks or marks_of(text[row] for row in there if row in text)
    except InputError as error:
        raise table.error(f"column {visible(name)}: {error}") from None
    numbers: dict[int, Any] = {row: as_number(cell, *marks) for row, cell in there.items()}
    wrong = [row for row, number in numbers.items() if number is None]
    if wrong and len(wrong) == len(there) and len(text) == len(cells):
        words = {row: cell for row, cell in text.items() if cell}
        _refuse_unlike_states(table, name, words)
        return np.array([words.get(row) for row in range(len(column))], dtype=object)
    if wrong:
        cell = str(cells[wrong[0]])
        known = f"; if it stands for a missing value, pass na={cell.strip()!r}" if len(cell) < 9 else ""
        raise table.error(f"{shown(cell)} is not a number{known}", wrong[0], name)
    if not numbers or any(isinstance(number, float) for number in numbers.values()):
        return np.array([numbers.get(row, np.nan) for row in range(len(column))], dtype=np.float64)
    for row, number in numbers.items():
        if not -(2**63) <= number < 2**63:
            raise table.error(f"{shown(cells[row])} is too large for a whole number", row, name)
    exact = pd.Series(numbers, dtype="Int64").reindex(range(len(column)))
    return exact.array if exact.isna().any() else exact.to_numpy(dtype=np.int64)


def _refuse_unlike_states(table: Table, name: str, words: dict[int, str]) -> None:
    """Refuse words that look like numbers gone wrong, and words that hardly repeat."""
    (row, cell), different = next(iter(words.items())), len(set(words.values()))
    if all(word.lstrip("+-.,")[:1].isdigit() for word in words.values()):
        told = "is not a number; say how numbers are written with decimal= and thousands="
        raise table.error(f"{shown(cell)} {told}", row, name)
    if different > max(2, len(words) / 2):
        told = f"{shown(cell)} is not a number, and text is taken for states only where it repeats"
        count = f"({different} different in {len(words)} rows)"
        raise table.error(f"{told} {count}; leave the column out", row, name)


def _decoded(cell: Any) -> Any:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell


def _words(column: Any) -> np.ndarray:
    exact = [f"{cell:.17g}" if isinstance(cell, (float, np.floating)) else _decoded(cell) for cell in column]
    cells = [None if absent else str(cell).strip() for cell, absent in zip(exact, column.isna())]
    return np.array(cells, dtype=object)
