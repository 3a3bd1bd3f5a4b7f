"""Columns and their kinds: measurements ("float"), whole numbers ("integer") and words for states ("text").

A column keeps its kind on the way from a file or an object to a `Series`, so that no estimator takes the codes of
words for numbers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.data.numbers import MISSING, as_numbers, bare, marks_of
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, shown, visible
from enmesh.data.times import Time
from enmesh.errors import InputError

FLOAT, INTEGER, TEXT = "float", "integer", "text"


@dataclass(frozen=True, kw_only=True)
class Column:
    """One node's samples in one trial.

    ``values`` are float64 (NaN is missing), int64, or for text an array of objects (None is missing). Integers of
    which some are missing are float64 too.
    """

    kind: str
    values: np.ndarray


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What one file or object holds: trials of the chosen nodes, their names, step and time where they are known."""

    file: str
    trials: list[list[Column]]
    names: tuple[str, ...]
    dt: float | None = None
    time: Time | None = None


@dataclass(frozen=True, kw_only=True)
class Values:
    """Trials as arrays ``(time, node)``, the kind of every column, and the words behind the codes of text."""

    trials: tuple[np.ndarray, ...]
    kinds: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]


def assemble(trials: Sequence[Sequence[Column]], names: Sequence[str], share: bool = False) -> Values:
    """Return int64 arrays where every column is whole and nothing is missing, float64 arrays otherwise.

    ``share`` takes columns of one array as they are, without a copy: nobody else may hold that array.
    """
    kinds, columns, labels = [], [], {}
    for i, name in enumerate(names):
        parts = [trial[i] for trial in trials]
        kind = _common_kind(name, {part.kind for part in parts})
        pooled = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
        if kind == TEXT:
            labels[name], pooled = _coded(pooled)
        kinds.append(kind)
        columns.append(pooled.astype(np.float64, copy=False) if kind == FLOAT else pooled)
    stacked = _stacked(columns) if share else np.column_stack(columns)
    lengths = [len(trial[0].values) for trial in trials]
    parts_of = tuple(np.split(stacked, np.cumsum(lengths)[:-1]))
    return Values(trials=parts_of, kinds=tuple(kinds), labels=labels)


def _stacked(columns: list[np.ndarray]) -> np.ndarray:
    """Return columns side by side, without a copy where they are those of one array already."""
    base = columns[0].base
    if base is not None and base.dtype == np.float64 and base.shape == (len(columns[0]), len(columns)):
        places = [one.__array_interface__["data"][0] - base.__array_interface__["data"][0] for one in columns]
        if places == [i * base.strides[1] for i in range(len(columns))]:
            return base
    return np.column_stack(columns)


def _common_kind(name: str, kinds: set[str]) -> str:
    if len(kinds) == 1:
        return kinds.pop()
    if TEXT in kinds:
        raise InputError(
            f"column {visible(name)} is text in one trial and numbers in another; make it one or the other"
        )
    return FLOAT


def _coded(words: np.ndarray) -> tuple[tuple[str, ...], np.ndarray]:
    """Return the words in order, and their positions; NaN for missing ones."""
    absent = np.array([word is None for word in words], bool)
    found, codes = np.unique(words[~absent].astype(str), return_inverse=True)
    if not absent.any():
        return tuple(found.tolist()), codes.astype(np.int64)
    placed = np.full(len(words), np.nan)
    placed[~absent] = codes
    return tuple(found.tolist()), placed


def spread_out(column: Column, places: np.ndarray, length: int) -> Column:
    """Return a column with its samples at the given places of a longer trial, and the others missing."""
    if column.kind == TEXT:
        values = np.full(length, None, object)
    else:
        values = np.full(length, np.nan)
    values[places] = column.values
    return Column(kind=column.kind, values=values)


# --- from pandas -------------------------------------------------------------------------------------------


def column_of(table: Table, name: Any, column: Any, rules: Rules) -> Column:
    """Return a pandas column with its kind; refuse what is neither numbers nor words that repeat.

    What is named in ``rules.states`` is taken for words, whatever it holds; what is in ``rules.na`` is missing.
    """
    import pandas as pd

    column = _without(column, rules.na) if rules.na else column
    if str(name) in rules.states or isinstance(column.dtype, pd.CategoricalDtype):
        return _words(column)
    kind = getattr(column.dtype, "kind", "O")
    if kind in "biu":
        return _whole(table, name, column)
    if kind == "f":
        return Column(kind=FLOAT, values=column.to_numpy(dtype=np.float64, na_value=np.nan))
    if kind in "Mm":
        raise InputError(table.said(f"column {visible(name)} holds times; leave it out"))
    if kind == "c":
        raise InputError(table.said(COMPLEX.format(name=visible(name))))
    return _objects(table, name, column)


def _without(column: Any, words: tuple[str, ...]) -> Any:
    """Return a column in which some words, or the numbers they say, are missing; whole numbers stay whole."""
    kind = getattr(column.dtype, "kind", "O")
    if kind not in "iuf":
        return column.mask(column.astype(str).str.strip().isin(words))
    numbers = [float(word) for word in words if not np.isnan(as_number(word))]
    absent = column.isin(numbers)
    if not absent.any():
        return column
    return column.astype("Int64").mask(absent) if kind in "iu" else column.mask(absent)


def as_number(word: str) -> float:
    """Return a word as a number, NaN if it is none."""
    try:
        return float(word)
    except ValueError:
        return float("nan")


COMPLEX = "column {name} holds complex numbers; take their real part, absolute value or angle"


def _whole(table: Table, name: Any, column: Any) -> Column:
    if column.isna().any():
        return Column(kind=INTEGER, values=column.to_numpy(dtype=np.float64, na_value=np.nan))
    values = column.to_numpy()
    if values.dtype.kind == "u" and len(values) and values.max() > np.iinfo(np.int64).max:
        raise InputError(
            table.said(f"column {visible(name)} holds {values.max()}, too large for a whole number")
        )
    return Column(kind=INTEGER, values=values.astype(np.int64))


def _objects(table: Table, name: Any, column: Any) -> Column:
    """Return a column of Python objects or of text as numbers if all of them are, else as words."""
    import pandas as pd

    decoded = [cell.decode("utf-8", "replace") if isinstance(cell, bytes) else cell for cell in column]
    cells = pd.Series(decoded, dtype=object)
    if any(isinstance(cell, (complex, np.complexfloating)) for cell in decoded):
        raise InputError(table.said(COMPLEX.format(name=visible(name))))
    is_text = pd.Series([isinstance(cell, str) for cell in decoded], dtype=bool)
    word = pd.Series(
        [cell.strip().lower() if isinstance(cell, str) else "-" for cell in decoded], dtype=object
    )
    empty = cells.isna() | (word == "")
    absent = empty | word.isin(MISSING)
    marks = table.marks or _marks(table, name, cells[is_text & ~absent])
    number = pd.Series(as_numbers(cells.where(~absent), *marks))
    if (~absent).any() and number[~absent].isna().all() and is_text[~empty].all():
        _refuse_unlike_states(table, name, cells, empty)
        return _words(cells.where(~empty))
    wrong = number.isna() & ~absent
    if wrong.any():
        row = int(wrong.to_numpy().argmax())
        known = f"; if it stands for a missing value, pass na={str(cells.iloc[row]).strip()!r}"
        said = f"{shown(cells.iloc[row])} is not a number{known if len(str(cells.iloc[row])) < 9 else ''}"
        raise InputError(f"{table.at(row, name)}: {said}")
    values = number.to_numpy(dtype=np.float64, na_value=np.nan)
    whole = all(not _has_fraction(cell, marks[1]) for cell in cells[~absent])
    if not whole or not (~absent).any():
        return Column(kind=FLOAT, values=values)
    return Column(kind=INTEGER, values=values if absent.any() else _as_int64(table, name, cells, marks[1]))


def _marks(table: Table, name: Any, cells: Any) -> tuple[str, str | None]:
    """Return the decimal and thousands marks that a column of text shows."""
    try:
        return marks_of(cells)
    except InputError as error:
        raise InputError(table.said(f"column {visible(name)}: {error}")) from None


def _has_fraction(cell: object, thousands: str | None) -> bool:
    """Say whether a cell is written as a number with a fraction: 2.0 is, 2 is not."""
    if isinstance(cell, str):
        plain = bare(cell).lstrip("+-")
        return not (plain.replace(thousands, "") if thousands else plain).isdigit()
    return not isinstance(cell, (bool, int, np.bool_, np.integer))


def _as_int64(table: Table, name: Any, cells: Any, thousands: str | None) -> np.ndarray:
    limits = np.iinfo(np.int64)
    plain = [bare(cell).replace(thousands or " ", "") if isinstance(cell, str) else cell for cell in cells]
    whole = [int(cell) for cell in plain]
    for row, number in enumerate(whole):
        if not limits.min <= number <= limits.max:
            raise InputError(
                f"{table.at(row, name)}: {shown(cells.iloc[row])} is too large for a whole number"
            )
    return np.array(whole, np.int64)


def _refuse_unlike_states(table: Table, name: Any, cells: Any, empty: Any) -> None:
    """Refuse words that look like numbers gone wrong, and words that hardly repeat."""
    first = int((~empty).to_numpy().argmax())
    at, cell = table.at(first, name), str(cells.iloc[first]).strip()
    if all(str(one).strip().lstrip("+-.,")[:1].isdigit() for one in cells[~empty]):
        raise InputError(
            f"{at}: {shown(cell)} is not a number; say how numbers are written with decimal= and thousands="
        )
    different, rows = cells[~empty].nunique(), int((~empty).sum())
    if different > max(2, rows / 2):
        raise InputError(
            f"{at}: {shown(cell)} is not a number, and text is taken for states only where it repeats "
            f"({different} different in {rows} rows); leave the column out"
        )


def _words(column: Any) -> Column:
    values = np.array(
        [None if absent else _word(cell) for cell, absent in zip(column, column.isna())], dtype=object
    )
    return Column(kind=TEXT, values=values)


def _word(cell: object) -> str:
    if isinstance(cell, (float, np.floating)):
        return f"{cell:.17g}"
    return cell.decode("utf-8", "replace") if isinstance(cell, bytes) else str(cell).strip()


# --- several recordings as trials of one -------------------------------------------------------------------


def matched(recordings: Sequence[Recording], dt: float | None, jitter: float) -> Recording:
    """Return all trials of several recordings as one; columns are matched by name, in the order of the first."""
    first = recordings[0]
    trials = list(first.trials)
    for other in recordings[1:]:
        _refuse_unlike(first, other, dt, jitter)
        order = [other.names.index(name) for name in first.names]
        trials += [[trial[i] for i in order] for trial in other.trials]
    return Recording(file=first.file, trials=trials, names=first.names, dt=first.dt, time=first.time)


def _refuse_unlike(first: Recording, other: Recording, dt: float | None, jitter: float) -> None:
    if sorted(other.names) != sorted(first.names):
        raise InputError(
            f"{other.file} has the columns {listed(other.names)} but {first.file} has {listed(first.names)}; "
            "trials need the same columns"
        )
    if dt is not None or first.dt is None or other.dt is None:
        return
    if abs(other.dt - first.dt) > jitter * first.dt:
        raise InputError(f"{other.file} has a time step of {other.dt:g} but {first.file} of {first.dt:g}")


def missing_mask(trials: Sequence[np.ndarray]) -> tuple[np.ndarray, ...] | None:
    """Return which samples of each trial are missing; None where none is."""
    masks = tuple(
        np.isnan(trial) if trial.dtype.kind == "f" else np.zeros(trial.shape, bool) for trial in trials
    )
    return masks if any(mask.any() for mask in masks) else None
