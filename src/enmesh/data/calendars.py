"""Columns that only count the rows or repeat the calendar: year, month, hour, row number. They are no nodes."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from enmesh.data.table import Table
from enmesh.data.times import DAY, Stamps, restarts
from enmesh.errors import InputError

# Lowest and highest value of each part of the calendar, by the name of its column without case, spaces and marks.
PARTS = {
    "year": (1000, 3000),
    "yr": (1000, 3000),
    "month": (1, 12),
    "quarter": (1, 4),
    "week": (0, 53),
    "day": (1, 31),
    "dayofyear": (1, 366),
    "doy": (1, 366),
    "weekday": (0, 7),
    "dayofweek": (0, 7),
    "hour": (0, 24),
    "minute": (0, 59),
    "second": (0, 60),
}
# Parts whose name is enough; the others must also move as a calendar does.
PLAIN = ("year", "yr", "month", "quarter", "dayofyear", "doy", "dayofweek", "weekday")
MOVES = 0.8
COUNTERS = {"index", "id", "row", "rowid", "rownumber", "rownum", "rownr", "unnamed:0"}
COUNTERS |= {"n", "no", "nr", "obs", "observation", "sample", "frame", "step"}
# A column of any name that counts from 0 or 1 through at least this many rows is a counter.
MANY = 20


def plain_name(name: object) -> str:
    """Return a name without case, spaces and marks."""
    return "".join(mark for mark in str(name).lower() if mark not in " _-.")


def refuse_falling(table: Table, groups: Sequence[np.ndarray], names: Sequence[Any]) -> None:
    """Refuse rows that step back in the calendar where nothing else tells their order: the newest row may be first."""
    for name in names:
        if plain_name(name) not in PARTS:
            continue
        values = table.frame[name].to_numpy(dtype=float)
        steps = np.concatenate([np.diff(values[rows]) for rows in groups])
        if np.sum(steps == -1) > np.sum(steps == 1) + 1:
            at = table.at(0, name)
            raise InputError(
                f"{at}: {name} steps back from row to row, the newest row seems to be first; sort the rows by time, "
                "or pass time='ignore' if they are in order"
            )


def counting_columns(frame: Any, groups: Sequence[np.ndarray], names: Sequence[Any]) -> list[Any]:
    """Return those columns that only count or repeat the calendar."""
    return [name for name in names if _is_part(frame[name], name) or is_counter(frame[name], name, groups)]


def _whole_values(column: Any) -> np.ndarray | None:
    kind = getattr(column.dtype, "kind", "O")
    if kind not in "iuf" or column.isna().any() or not len(column):
        return None
    values = column.to_numpy(dtype=float)
    return values if np.isfinite(values).all() and (values == np.rint(values)).all() else None


def _is_part(column: Any, name: object) -> bool:
    part = plain_name(name)
    values = _whole_values(column) if part in PARTS else None
    if values is None:
        return False
    low, high = PARTS[part]
    if values.min() < low or values.max() > high:
        return False
    return part in PLAIN or bool(np.mean(np.abs(np.diff(values)) <= 1) >= MOVES)


def is_counter(column: Any, name: object, groups: Sequence[np.ndarray]) -> bool:
    """Say whether a column counts the rows, over all rows or within each trial.

    A column whose name says so may also count down.
    """
    if not _starts_counting(column):
        return False
    values = _whole_values(column)
    if values is None:
        return False
    named = plain_name(name) in COUNTERS
    if not named and (len(values) < MANY or values[0] not in (0, 1)):
        return False
    for runs in ([values], [values[rows] for rows in groups]):
        steps = np.concatenate([np.diff(run) for run in runs])
        if len(steps) and ((steps == 1).all() or (named and (steps == -1).all())):
            return True
    return False


def _starts_counting(column: Any) -> bool:
    """Say whether the first two values are one apart: a look that is enough for most columns."""
    first = column.to_numpy()[:2]
    return len(first) == 2 and first.dtype.kind in "iuf" and abs(float(first[0]) - float(first[1])) == 1


def calendar_stamps(
    table: Table, groups: Sequence[np.ndarray], names: Sequence[Any], told: Callable[[Stamps], bool]
) -> tuple[Stamps | None, tuple[Any, ...]]:
    """Return the times that the columns year, month, day, hour, minute and second tell together, and the columns.

    Rows that fall from year to year are refused even where the columns are too coarse to tell every row's time.
    """
    found = {plain_name(name): name for name in names}
    year = found.get("year", found.get("yr"))
    if year is None:
        return None, ()
    of_year = found.get("dayofyear", found.get("doy"))
    parts = [year]
    for part in ("month", "day", "hour", "minute", "second"):
        if part not in found or of_year is not None:
            break
        parts.append(found[part])
    parts += [] if of_year is None else [of_year]
    numbers = [table.frame[part].to_numpy(dtype=float) for part in parts]
    stamps = _joined(str(parts[-1]), numbers, of_year is not None)
    steps = np.concatenate([np.diff(stamps.values[rows]) for rows in groups])
    unique = all(len(np.unique(stamps.values[rows])) == len(rows) for rows in groups)
    if unique or (len(groups) == 1 and (restarts(stamps.values) is not None or told(stamps))):
        return stamps, tuple(parts)
    if len(steps) and (steps <= 0).all() and (steps < 0).any():
        at = table.at(0, parts[-1])
        raise InputError(f"{at}: the times fall, the newest row is the first; sort the rows by time")
    return None, ()


def _joined(name: str, numbers: list[np.ndarray], of_year: bool) -> Stamps:
    import pandas as pd

    if of_year:
        days = (
            np.array(numbers[0] - 1970, "datetime64[Y]").astype("datetime64[D]").astype(float)
            + numbers[1]
            - 1
        )
        dates = pd.Series(pd.to_datetime(days, unit="D"))
        return Stamps(name=name, values=DAY * (days - days.min()), unit="s", dates=dates)
    if len(numbers) == 1:
        return Stamps(name=name, values=numbers[0], unit="year")
    if len(numbers) == 2:
        return Stamps(name=name, values=12 * numbers[0] + numbers[1] - 1, unit="month")
    keys = ("year", "month", "day", "hour", "minute", "second")
    dates = pd.to_datetime(pd.DataFrame(dict(zip(keys, numbers))), errors="coerce")
    seconds = (dates - dates.min()).dt.total_seconds().to_numpy(dtype=float)
    return Stamps(name=name, values=seconds, unit="s", dates=dates)
