"""Which columns tell the time, and which the trials: by their names, by what they hold, or as parts of the calendar."""

import re
from collections.abc import Sequence
from itertools import takewhile
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data import dates, times
from enmesh.data.calendar_words import is_weekday, month_number, part_of_calendar
from enmesh.data.dates import looks_like_clock, looks_like_dates, numbers_of, read_stamps, seconds_since
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, shown, visible
from enmesh.data.times import EVEN, LIKELY_NAME, TIME_NAME, TRIAL_NAMES, Groups, Stamps

# Lowest and highest value of each part of the calendar, by the name of its column without case, spaces and marks.
YEAR, OF_YEAR, OF_WEEK = (1000, 3000), (1, 366), (0, 7)
PARTS = {"year": YEAR, "yr": YEAR, "month": (1, 12), "quarter": (1, 4), "week": (0, 53), "day": (1, 31)}
PARTS |= {"dayofyear": OF_YEAR, "doy": OF_YEAR, "weekday": OF_WEEK, "dayofweek": OF_WEEK, "dow": OF_WEEK}
PARTS |= {"isweekend": (0, 1), "weekend": (0, 1), "isweekday": (0, 1)}
PARTS |= {"hour": (0, 24), "minute": (0, 59), "second": (0, 60)}
# Parts that must also move as a calendar does; of the others the name is enough.
MOVING, MOVES = ("week", "day", "hour", "minute", "second"), 0.8
COUNTERS = {"index", "id", "row", "rowid", "rownumber", "rownum", "rownr", "unnamed:0", "n", "no", "nr"}
COUNTERS |= {"obs", "observation", "sample", "frame", "step", "record", "recnum", "recno"}
# A column of any name that counts from 0 or 1 through at least this many rows is a counter.
MANY = 20
# Share of equal steps from which a column that never falls is more likely a clock than a measurement.
MOSTLY = 0.5
# Seconds since 1970 (of 1973 to 2065), and thousandths, millionths and billionths of them.
UNIX = [(1e8 * 10**power, 3e9 * 10**power) for power in (0, 3, 6, 9)]
PEOPLE = ("subject", "subj", "participant", "patient", "animal")
Times = tuple[Stamps | None, tuple[Any, ...]]
"""The times of the rows, and the columns they come from."""
Trials = tuple[tuple[Any, ...], list[np.ndarray]]
"""Columns of trials, and the rows of each trial."""


def known_column(table: Table, name: object, what: str) -> Any:
    """Return the column of a name; names of a DataFrame may be no text."""
    for column in table.frame.columns:
        if column == name or str(column) == name:
            return column
    raise table.error(f"there is no {what} column {visible(name)}; it has {listed(table.frame.columns)}")


def found_times(table: Table, rules: Rules, trial: Sequence[Any], groups: Groups, notes: list[str]) -> Times:
    """Return the times of the rows: as named, found by name or dates, of the index or calendar, or of any clock."""
    if rules.time is False:
        return None, ()
    strict, frame = "ignore" not in rules.modes, table.frame
    free = [one for one in frame.columns if one not in trial and str(one) not in (rules.columns or ())]
    found: tuple[Any, ...] = ()
    if rules.time is None:
        pivot = rules.pivot and (known_column(table, rules.pivot[0], "time"),)
        found = pivot or _time_columns(table, free, groups)
    elif rules.time != frame.index.name:
        found = (known_column(table, rules.time, "time"),)
    whole_date = _with_year(table, rules, found, free, groups)
    if whole_date is not None:
        notes.append(f"{listed(whole_date[1])} together are taken for the time")
        return whole_date
    if found:
        column = frame[found[0]]
        if len(found) == 2:  # a date and a time of the day
            days = column.dt.strftime("%Y-%m-%d") if column.dtype.kind == "M" else column.astype(str)
            column = days.str.strip() + " " + frame[found[1]].astype(str).str.strip()
        return read_stamps(table, str(found[0]), column, groups, strict, rules.date_format), found
    index = _index(table, strict)
    parts = [] if rules.counters or rules.time else counting_columns(frame, groups, free)
    others = [name for name in free if name not in parts]
    whole = index is not None and index.dtype.kind in "iu"
    counted = index is None or (whole and np.array_equal(np.sort(index), range(len(index))))
    calendar, taken = _calendar(table, groups, parts, others)
    if calendar is not None and counted:
        return calendar, taken
    if index is not None:
        return read_stamps(table, str(index.name), index, groups, strict, rules.date_format), ()
    if rules.date_format is not None:
        raise table.error("date_format needs a column of times; name it as time=")
    if rules.counters:
        return None, ()
    if strict:
        _refuse_falling(table, groups, parts)
    counters = [name for name in parts if _is_counter(frame[name], name, groups)]
    down = [name for name in counters if frame[name].iloc[1] < frame[name].iloc[0]]
    clock = down[0] if down else _any_clock(table, others, not trial, groups, rules)
    if clock is None:
        return None, ()
    if not down:
        notes.append(f"{visible(clock)} steps evenly and is taken for the time, unless columns= names it")
    return read_stamps(table, str(clock), frame[clock], groups, strict), (clock,)


def _with_year(table: Table, rules: Rules, found: tuple[Any, ...], free: Sequence[Any], groups: Groups) -> Times | None:
    """Return the calendar that a column named as time, such as month, is a part of; None if it is no such part."""
    if len(found) != 1 or rules.time is None or _plain(found[0]) not in PARTS or _plain(found[0]) in ("year", "yr"):
        return None
    parts = [name for name in free if _is_part(table.frame[name], name)]
    calendar, taken = _calendar(table, groups, parts, [name for name in free if name not in parts])
    return (calendar, taken) if calendar is not None and found[0] in taken else None


def _time_columns(table: Table, free: Sequence[Any], groups: Groups) -> tuple[Any, ...]:
    """Return the column whose name says time, or a date and a time of the day, or the only one that holds dates."""
    frame = table.frame
    found = [name for name in free if TIME_NAME.fullmatch(str(name))]
    # A single letter may well be a quantity; it is a time only if it behaves like one.
    found = [name for name in found if len(str(name)) > 1 or _runs(frame[name], groups)]
    if len(found) == 2:
        day, clock = sorted(found, key=lambda name: not looks_like_dates(frame[name]))
        if looks_like_dates(frame[day]) and looks_like_clock(frame[clock]):
            return day, clock
    if len(found) > 1:
        raise table.error(f"{listed(found)} all look like times; name one as time, and the nodes as columns")
    for looks in (looks_like_dates, looks_like_clock):
        found = found or [name for name in free if looks(frame[name])]
        if len(found) == 1:
            return tuple(found)
        found = []
    years = any(_plain(name) in ("year", "yr") for name in free)
    for name in free:
        column = frame[name]
        if LIKELY_NAME.fullmatch(str(name)) and _runs(column, groups):
            part = _plain(name) in PARTS and (years or not _runs(column, groups, again=False))
            if not part and not (str(name).lower() in TRIAL_NAMES and _in_blocks(column)):
                return (name,)
    return ()


def _runs(column: Any, groups: Groups, again: bool = True) -> bool:
    """Say whether numbers rise or fall throughout, or by even steps but for restarts, as times do; dates always do."""
    values = numbers_of(column)
    if values is None:
        return looks_like_dates(column) or looks_like_clock(column)
    steps = times.steps_of(values, groups)
    rising = (steps >= 0).all() and times.even_share(steps[steps > 0]) == 1
    return times.one_way(steps) or (again and (bool(rising) or times.restarts(values) is not None))


def _any_clock(table: Table, free: Sequence[Any], alone: bool, groups: Groups, rules: Rules) -> Any:
    """Return a column of any name that steps evenly, as a clock does; one that mostly does may be either: refused.

    Where the nodes are named, or the rows are said to be in order, one that mostly rises is neither node nor time.
    """
    named = rules.columns is not None or "ignore" in rules.modes
    for name in free if len(table.frame) >= MANY else ():
        values = numbers_of(table.frame[name])
        if values is None:
            continue
        steps = times.steps_of(values, groups)
        unix = any(low < values.min() <= values.max() < high for low, high in UNIX)
        if times.one_way(steps) and (times.even_share(steps) == 1 or unix):
            return name
        again = times.restarts(values) if alone and len(groups) == 1 else None
        mostly = times.one_way(steps) and times.even_share(steps) >= MOSTLY
        if mostly or (again is not None and 8 * len(again) <= len(values)):
            rises = np.median(steps) > 0
            if "ignore" in rules.modes or (named and rises):
                continue
            way, also = "rises" if rises else "falls", ""
            if again is not None:
                also = f", and begins again {len(again)} times"
            told = f"{visible(name)} {way} from row to row, mostly by {abs(np.median(steps)):g}{also}"
            node = EVEN if named else "if it is a node, name the nodes with columns="
            raise table.error(f"{told}: if it is the time, pass time={str(name)!r}; {node}")
    return None


def _index(table: Table, strict: bool) -> Any:
    """Return the index as a column if it says when the rows were recorded; None for numbers 0, 1, 2, ... and labels."""
    index = table.frame.index
    column = pd.Series(index, name="index" if index.name is None else index.name)
    kind = column.dtype.kind
    if isinstance(index, pd.RangeIndex) and index.step == 1:
        return None
    if kind in "iuf":
        return None if kind != "f" and np.array_equal(index, range(len(index))) else column
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    looks = (looks_like_dates, looks_like_clock, dates.looks_like_labels_in_time)
    if kind == "m" or any(look(column) for look in looks) or numbers_of(column) is not None:
        return column
    if strict and dates.looks_like_unordered_times(column):
        told = f"{shown(column.iloc[0])} in the index looks like a time or a count that cannot be read"
        advice = "give dates or numbers, or pass time='ignore' if the oldest row is the first"
        raise table.error(f"{told}; {advice}", 0, column.name)
    numbers = column.astype(str).str.extract(r"(\d{1,15})")[0].astype(float)
    if len(numbers) > 2 and (np.diff(numbers) < 0).all() and strict:
        advice = "the newest row may be the first; sort the rows, or pass time='ignore' if they are in order"
        raise table.error(f"the numbers in the index fall, {advice}", 0, column.name)
    return None


def _plain(name: object) -> str:
    """Return a name without case, spaces and marks; a part of the calendar in English."""
    return part_of_calendar(re.sub("[ _.-]", "", str(name).lower()))


def _whole_values(column: Any) -> np.ndarray | None:
    numbers = column.astype(int) if column.dtype == bool else column
    values = numbers_of(numbers) if numbers.dtype.kind in "iuf" and len(column) else None
    if values is None and column.dtype.kind not in "iufbcmM" and len(column):
        values = _month_numbers(column)
    return values if values is not None and (values == np.rint(values)).all() else None


def _month_numbers(column: Any) -> np.ndarray | None:
    """Return the numbers of months that are named; None where a cell is no name of a month."""
    numbers = {cell: month_number(cell) if isinstance(cell, str) else None for cell in column.unique()}
    if None in numbers.values():
        return None
    return np.array([numbers[cell] for cell in column], dtype=float)


def _names_weekdays(column: Any) -> bool:
    if column.dtype.kind in "iufbcmM" or not 1 < column.nunique() <= 7:
        return False
    return all(isinstance(cell, str) and is_weekday(cell) for cell in column.unique())


def counting_columns(frame: Any, groups: Groups, names: Sequence[Any]) -> list[Any]:
    """Return those columns that only count or repeat the calendar."""
    return [name for name in names if _is_part(frame[name], name) or _is_counter(frame[name], name, groups)]


def _is_part(column: Any, name: object) -> bool:
    part = _plain(name)
    if _names_weekdays(column):
        return True
    values = _whole_values(column) if part in PARTS else None
    if values is None or values.min() < PARTS[part][0] or values.max() > PARTS[part][1]:
        return False
    return part not in MOVING or bool(np.mean(np.abs(np.diff(values)) <= 1) >= MOVES)


def _is_counter(column: Any, name: object, groups: Groups) -> bool:
    """Say whether a column counts the rows, over all rows or within each trial; down only if its name says so."""
    values, named = _whole_values(column), _plain(name) in COUNTERS
    if values is None or (not named and (len(values) < MANY or values[0] not in (0, 1))):
        return False
    ways = (np.diff(values), times.steps_of(values, groups))
    return any(len(steps) and ((steps == 1).all() or (named and (steps == -1).all())) for steps in ways)


def steps_evenly(column: Any, groups: Groups) -> bool:
    """Say whether a column rises, or falls, by one even step: a clock, whatever else tells the time."""
    values = numbers_of(column) if len(column) >= MANY else None
    steps = np.empty(0) if values is None else times.steps_of(values, groups)
    return times.one_way(steps) and times.even_share(steps) == 1


def _refuse_falling(table: Table, groups: Groups, names: Sequence[Any]) -> None:
    """Refuse rows that step back in the calendar where nothing else tells their order: the newest row may be first."""
    for name in (name for name in names if _plain(name) in PARTS):
        steps = times.steps_of(table.frame[name].to_numpy(dtype=float), groups)
        if np.sum(steps == -1) > np.sum(steps == 1) + 1:
            told = f"{name} steps back from row to row, the newest row seems to be first"
            advice = "sort the rows by time, or pass time='ignore' if they are in order"
            raise table.error(f"{told}; {advice}", 0, name)


def _calendar(table: Table, groups: Groups, names: Sequence[Any], others: Sequence[Any]) -> Times:
    """Return the times that the columns year, month, day, hour, minute and second tell together, and the columns.

    They may do so together with a column of trials. Rows that fall from year to year are refused even where the columns
    are too coarse to tell every row's time.
    """
    found = {_plain(name): name for name in names}
    year, of_year = found.get("year", found.get("yr")), found.get("dayofyear", found.get("doy"))
    if year is None:
        return None, ()
    smaller = list(takewhile(found.__contains__, ("month", "day", "hour", "minute", "second")))
    parts = [year, *(found[part] for part in smaller)] if of_year is None else [year, of_year]
    coarse = next((part for part in ("quarter", "week") if part in found), "") if not smaller else ""
    if coarse and of_year is None:
        parts.append(found[coarse])
        stamps = _of_year(table, year, found[coarse], coarse)
    else:
        stamps = _joined(table, parts, of_year is not None)
    values = stamps.values
    unique = all(len(np.unique(values[rows])) == len(rows) for rows in groups)
    again = any(_tells_trials(table, name, stamps, True) for name in others)
    again |= times.restarts(values) is not None
    if unique or (len(groups) == 1 and again):
        return stamps, tuple(parts)
    steps = times.steps_of(values, groups)
    if len(steps) and (steps <= 0).all() and (steps < 0).any():
        raise table.error("the times fall, the newest row is the first; sort the rows by time", 0, parts[-1])
    return None, ()


def _of_year(table: Table, year: Any, part: Any, kind: str) -> Stamps:
    """Return the times that a year tells together with a quarter or a week (of ISO 8601)."""
    years, parts = (table.frame[name].to_numpy(dtype=float) for name in (year, part))
    if kind == "quarter":
        return Stamps(name=str(part), values=12 * years + 3 * (parts - 1), unit="month")
    text = pd.Series([f"{int(y)}-W{int(w):02d}-1" for y, w in zip(years, parts)])
    days = pd.to_datetime(text, format="%G-W%V-%u", errors="coerce")
    values = seconds_since(days) if days.notna().all() else 52 * years + parts  # some weeks are counted otherwise
    dated = days if days.notna().all() else None
    return Stamps(name=str(part), values=values, unit="s" if dated is not None else "week", dates=dated)


def _joined(table: Table, parts: Sequence[Any], of_year: bool) -> Stamps:
    columns_of = [_whole_values(table.frame[part]) for part in parts]
    name, numbers = str(parts[-1]), [np.asarray(column, dtype=float) for column in columns_of]
    if len(numbers) == 1:
        return Stamps(name=name, values=numbers[0], unit="year")
    if len(numbers) == 2 and not of_year:
        return Stamps(name=name, values=12 * numbers[0] + numbers[1] - 1, unit="month")
    keys = ("year", "month", "day", "hour", "minute", "second")
    columns = {"year": numbers[0], "month": 1.0, "day": 1.0} if of_year else dict(zip(keys, numbers))
    days = pd.to_datetime(pd.DataFrame(columns), errors="coerce")
    days = days + pd.to_timedelta(numbers[1] - 1, unit="D") if of_year else days
    return Stamps(name=name, values=seconds_since(days), unit="s", dates=days)


def trials_by(table: Table, columns: Sequence[Any]) -> Trials:
    """Return the rows of each trial that columns tell, in order of appearance; without columns those of the table."""
    which = np.zeros(len(table.frame), int) if table.trials is None else table.trials
    if columns:
        labels = table.frame[list(columns)].reset_index(drop=True)
        which = labels.groupby(list(columns), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    counts = np.unique(which, return_counts=True)[1]
    return tuple(columns), np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])


def found_trials(table: Table, rules: Rules, stamps: Any, taken: Sequence[Any], notes: list[str]) -> Trials:
    """Look for trials where none are named.

    Their column is called trial, or has a likely name and comes in blocks, or the time restarts where it changes. A
    clock that restarts by itself means trials too.
    """
    frame, sort = table.frame, "sort" in rules.modes
    free = [name for name in frame.columns if name not in taken and str(name) not in (rules.columns or ())]
    likely = [name for name in free if str(name).lower() in TRIAL_NAMES and str(name) not in rules.states]
    called = [name for name in likely if str(name).lower() == "trial"]
    if stamps is None or _is_ordered(stamps.values, sort):
        named = [name for name in likely if str(name).lower().removesuffix("_id") in PEOPLE]
        people = [name for name in named if stamps is None and _few_labels(frame[name])]
        found = called or [name for name in likely if _in_blocks(frame[name]) or name in people][:1]
        if found and not called:
            notes.append(f"each {visible(found[0])} is taken for a trial (trials=False: one recording)")
        return trials_by(table, found)
    found = _telling(table, stamps, sort, free, likely)
    if found and found != called:
        notes.append(f"the time restarts where {listed(found)} changes: each is taken for a trial")
    again = None if found or called or sort else times.restarts(stamps.values)
    if again is None or np.ptp(stamps.values[[0, *again]]) > 0:
        return trials_by(table, found or called)
    told = "each stretch is taken for a trial (trials=False: refuse)"
    notes.append(f"the time begins again {len(again)} times: {told}")
    return (), np.split(np.arange(len(frame)), again)


def _telling(table: Table, stamps: Stamps, sort: bool, free: list[Any], likely: list[Any]) -> list[Any]:
    """Return the column within whose labels the times are in order, or several that do so together."""
    able = [name for name in free if _tells_trials(table, name, stamps, sort)]
    found = [name for name in able if name in likely] or able
    if not found and len(likely) > 1:
        return likely if _orders(table, likely, stamps, sort) else []
    if len({table.frame[name].factorize()[0].tobytes() for name in found}) > 1:
        raise table.error(f"the time restarts, and {listed(found)} may tell the trials; name one as trials=")
    return found[:1]


def _is_ordered(values: np.ndarray, sort: bool) -> bool:
    """Say whether times rise throughout, or fall; with ``sort``, whether none comes twice."""
    known = values[np.isfinite(values)]
    return times.one_way(np.diff(np.sort(known) if sort else known))


def _orders(table: Table, names: list[Any], stamps: Stamps, sort: bool) -> bool:
    return all(_is_ordered(stamps.values[rows], sort) for rows in trials_by(table, names)[1])


def _are_labels(column: Any) -> bool:
    return column.dtype.kind in "biuOUS" and len(column) > 0 and not column.isna().any()


def _in_blocks(column: Any) -> bool:
    """Say whether each of at least two labels stands in one block of at least three rows."""
    if not _are_labels(column):
        return False
    changes = int((column != column.shift()).sum())
    return 1 < changes == column.nunique() and column.value_counts().min() >= 3


def _few_labels(column: Any) -> bool:
    return _are_labels(column) and 1 < column.nunique() <= len(column) / 3


def _tells_trials(table: Table, name: Any, stamps: Stamps, sort: bool) -> bool:
    """Say whether the times are in order within each label of a column that is no measurement."""
    return _few_labels(table.frame[name]) and _orders(table, [name], stamps, sort)
