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

from enmesh.data.numbers import MISSING, as_numbers, bare, marks_of
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
    absent = column.isin([number for word in words if not np.isnan(number := as_number(word))])
    if not absent.any():
        return column
    return column.astype("Int64").mask(absent) if kind in "iu" else column.mask(absent)


def as_number(word: str) -> float:
    """Return a word as a number, NaN if it is none."""
    try:
        return float(word)
    except ValueError:
        return float("nan")


def _from_objects(table: Table, name: str, column: Any) -> Any:
    """Return Python objects or text as numbers if all of them are, else as words."""
    cells = pd.Series([_decoded(cell) for cell in column], dtype=object)
    if any(isinstance(cell, (complex, np.complexfloating)) for cell in cells):
        raise table.error(COMPLEX.format(name=visible(name)))
    is_text = pd.Series([isinstance(cell, str) for cell in cells], dtype=bool)
    words = cells.where(is_text, "-").astype(object).str.strip().str.lower()
    empty = cells.isna() | (words == "")
    there = ~(empty | words.isin(MISSING))
    try:
        marks = table.marks or marks_of(cells[is_text & there])
    except InputError as error:
        raise table.error(f"column {visible(name)}: {error}") from None
    numbers = as_numbers(cells.where(there), *marks)
    if there.any() and numbers[there].isna().all() and is_text[~empty].all():
        _refuse_unlike_states(table, name, cells[~empty])
        return _words(cells.where(~empty))
    wrong = np.flatnonzero(numbers.isna() & there)
    if len(wrong):
        cell = str(cells[wrong[0]])
        known = f"; if it stands for a missing value, pass na={cell.strip()!r}" if len(cell) < 9 else ""
        raise table.error(f"{shown(cell)} is not a number{known}", wrong[0], name)
    whole = {int(row): _whole(cells[row], marks[1]) for row in np.flatnonzero(there)}
    if not whole or None in whole.values():
        return numbers.to_numpy()
    limits = np.iinfo(np.int64)
    for row, number in whole.items():
        if not limits.min <= number <= limits.max:
            raise table.error(f"{shown(cells[row])} is too large for a whole number", row, name)
    exact = pd.Series(whole, dtype="Int64").reindex(cells.index)
    return exact.array if exact.isna().any() else exact.to_numpy(dtype=np.int64)


def _whole(cell: Any, thousands: str | None) -> Any:
    """Return a whole number; None for what is written with a fraction: 2.0 is, 2 is not."""
    if isinstance(cell, str):
        plain = bare(cell).replace(thousands or " ", "")
        return int(plain) if plain.lstrip("+-").isdigit() else None
    return int(cell) if isinstance(cell, (bool, int, np.bool_, np.integer)) else None


def _refuse_unlike_states(table: Table, name: str, cells: Any) -> None:
    """Refuse words that look like numbers gone wrong, and words that hardly repeat."""
    row, cell = cells.index[0], str(cells.iloc[0]).strip()
    if all(str(one).strip().lstrip("+-.,")[:1].isdigit() for one in cells):
        told = "is not a number; say how numbers are written with decimal= and thousands="
        raise table.error(f"{shown(cell)} {told}", row, name)
    if cells.nunique() > max(2, len(cells) / 2):
        told = f"{shown(cell)} is not a number, and text is taken for states only where it repeats"
        count = f"({cells.nunique()} different in {len(cells)} rows)"
        raise table.error(f"{told} {count}; leave the column out", row, name)


def _decoded(cell: Any) -> Any:
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell


def _words(column: Any) -> np.ndarray:
    exact = [f"{cell:.17g}" if isinstance(cell, (float, np.floating)) else _decoded(cell) for cell in column]
    cells = [None if absent else str(cell).strip() for cell, absent in zip(exact, column.isna())]
    return np.array(cells, dtype=object)
