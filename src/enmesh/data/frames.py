"""One set of rules picks time, trials and nodes from the table of any format and from any DataFrame."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from enmesh.data.calendars import (
    MANY,
    PARTS,
    calendar_stamps,
    counting_columns,
    is_counter,
    plain_name,
    refuse_falling,
)
from enmesh.data.columns import Recording, column_of, spread_out
from enmesh.data.dates import (
    all_numbers,
    date_and_clock,
    looks_like_clock,
    looks_like_dates,
    looks_like_labels_in_time,
    read_stamps,
)
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, visible
from enmesh.data.times import LIKELY_NAME, TIME_NAME, TRIAL_NAMES, Grid, Stamps, even_share, on_grid, restarts
from enmesh.data.trials import found_trials, groups_of, in_blocks, labels_of, tells_trials
from enmesh.errors import InputError, hazard

# Share of equal steps from which a column that never falls is more likely a clock than a measurement.
MOSTLY = 0.5
# Seconds since 1970 (of 1973 to 2065), and thousandths, millionths and billionths of them.
UNIX = [(1e8 * 10**power, 3e9 * 10**power) for power in (0, 3, 6, 9)]


def pick(table: Table, rules: Rules) -> Recording:
    """Return trials of the nodes that the rules choose from a table."""
    table = _with_named_index(table)
    _refuse_doubled(table)
    table = _cut(_pivoted(table, rules), rules)
    if rules.decimal is not None:
        table = replace(table, marks=(rules.decimal, rules.thousands))
    named = _named_trials(table, rules)
    groups = groups_of(labels_of(table, named) if named else table.trials, len(table.frame))
    trial, said = named, list(table.assumed)
    stamps, taken = _stamps(table, rules, named, groups, said)
    if not named and table.trials is None and rules.trials is not False:
        trial, groups, more = found_trials(table, rules, stamps, taken)
        said += more
    nodes = _node_columns(table, rules, {*taken, *trial}, groups, said)
    if stamps is None:
        if "sort" in rules.modes:
            raise InputError(table.said("time='sort' needs times; name their column too"))
        grid = Grid(groups=groups, step=table.dt)
    else:
        grid = on_grid(table, stamps, groups, rules.modes, "drop" if rules.longest else rules.missing)
    _refuse_long(table, trial, named, nodes, taken)
    if said:
        hazard(table.said("; ".join(said)))
    columns = [column_of(table, name, table.frame[name], rules) for name in nodes]
    trials = []
    for number, rows in enumerate(grid.groups):
        whole = len(grid.groups) == 1 and len(rows) == len(table.frame) and grid.in_order
        trial_columns = columns if whole else [replace(one, values=one.values[rows]) for one in columns]
        if grid.places is not None:
            places = grid.places[number]
            trial_columns = [spread_out(one, places, int(places[-1]) + 1) for one in trial_columns]
        trials.append(trial_columns)
    names = tuple(str(name) for name in nodes)
    return Recording(file=table.file, trials=trials, names=names, dt=grid.step, time=grid.time)


# --- the table before anything is picked -------------------------------------------------------------------


def _cut(table: Table, rules: Rules) -> Table:
    """Return the rows that are asked for."""
    if rules.rows is None:
        return table
    frame = table.frame.iloc[rules.rows]
    if len(frame) < 1:
        raise InputError(
            table.said(f"rows leave nothing of {len(table.frame)} rows; count from 1, FROM first")
        )
    numbers = list(table.numbers)[rules.rows]
    trials = None if table.trials is None else table.trials[rules.rows]
    return replace(table, frame=frame, numbers=numbers, trials=trials)


def _pivoted(table: Table, rules: Rules) -> Table:
    """Return a long table (time, variable, value) as one with a column for each variable."""
    if rules.pivot is None:
        return table
    time, variable, value = (
        _known(table, name, what) for name, what in zip(rules.pivot, ("time", "variable", "value"))
    )
    beside = list(_named_trials(table, rules))
    keys = [*beside, time]
    twice = table.frame.duplicated([*keys, variable])
    if twice.any():
        at = table.at(int(twice.to_numpy().argmax()), value)
        also = "" if beside else ", or name the column of trials"
        raise InputError(f"{at}: a second value of the same variable at the same time; keep one{also}")
    order = list(dict.fromkeys(table.frame[variable]))
    wide = table.frame.pivot(index=keys, columns=variable, values=value)[order]
    first = table.frame.drop_duplicates(keys).set_index(keys).index
    wide = wide.loc[first].reset_index().rename_axis(columns=None)
    return replace(table, frame=wide, numbers=range(1, len(wide) + 1), unit="row")


def _refuse_long(
    table: Table, trial: Sequence[Any], named: Sequence[Any], nodes: Sequence[Any], taken: Sequence[Any]
) -> None:
    """Refuse a long table of several variables, which is not one node in several trials."""
    if len(trial) != 1 or named or len(nodes) > 1:
        return
    time, label, node = str(taken[0]) if taken else "time", str(trial[0]), str(nodes[0])
    raise InputError(
        table.said(
            f"it looks like a long table: {visible(node)} of every {visible(label)} at each time; pass "
            f"pivot=({time!r}, {label!r}, {node!r}), or trials={label!r} if {visible(label)} tells trials of one node"
        )
    )


def _named_trials(table: Table, rules: Rules) -> tuple[Any, ...]:
    if not isinstance(rules.trials, tuple):
        return ()
    return tuple(_known(table, name, "trial") for name in rules.trials)


def _with_named_index(table: Table) -> Table:
    """Turn an index of several named levels into columns."""
    import pandas as pd

    if not isinstance(table.frame.index, pd.MultiIndex):
        return table
    if None in table.frame.index.names:
        raise InputError(
            table.said("the index has levels without a name; name them (trial, time) or use reset_index()")
        )
    return replace(table, frame=table.frame.reset_index())


def _refuse_doubled(table: Table) -> None:
    seen: dict[Any, int] = {}
    for position, name in enumerate(table.frame.columns, 1):
        first = seen.setdefault(name, position)
        if first != position:
            said = f"columns {first} and {position} are both called {visible(name)}; names must differ"
            raise InputError(table.said(said))


def _known(table: Table, name: object, what: str) -> Any:
    """Return the column of a name; names of a DataFrame may be no text."""
    for column in table.frame.columns:
        if column == name or str(column) == name:
            return column
    said = f"there is no {what} column {visible(name)}; it has {listed(table.frame.columns)}"
    raise InputError(table.said(said))


# --- times -------------------------------------------------------------------------------------------------


def _stamps(
    table: Table, rules: Rules, trial: Sequence[Any], groups: list[np.ndarray], said: list[str]
) -> tuple[Stamps | None, tuple[Any, ...]]:
    """Return the times of the rows, and the columns they come from: named, found by name or dates, or the index."""
    if rules.time_name is False:
        return None, ()
    strict = "ignore" not in rules.modes
    if rules.time_name is not None and rules.time_name == table.frame.index.name:
        found: tuple[Any, ...] = ()
    elif rules.time_name is not None:
        found = (_known(table, rules.time_name, "time"),)
    else:
        found = () if rules.pivot is None else (_known(table, rules.pivot[0], "time"),)
    asked = rules.columns or ()
    free = [one for one in table.frame.columns if one not in trial and str(one) not in asked]
    if rules.time_name is None:
        found = found or _time_columns(table, rules, trial, groups)
    if found:
        column = table.frame[found[0]]
        column = date_and_clock(column, table.frame[found[1]]) if len(found) == 2 else column
        return read_stamps(table, str(found[0]), column, groups, strict, rules.date_format), found
    index = _index(table, not strict)
    parts = [] if rules.counters or rules.time_name else counting_columns(table.frame, groups, free)
    calendar, taken = _calendar(table, groups, parts, free)
    if calendar is not None and (index is None or _numbers_rows(index)):
        return calendar, taken
    if index is not None:
        return read_stamps(table, str(index.name), index, groups, strict, rules.date_format), ()
    if rules.date_format is not None:
        raise InputError(table.said("date_format needs a column of times; name it as time="))
    if rules.counters:
        return None, ()
    if strict:
        refuse_falling(table, groups, parts)
    down = [name for name in parts if _counts_down(table, name, groups)]
    clock = (
        down[0] if down else _any_clock(table, [name for name in free if name not in parts], trial, groups)
    )
    if clock is None:
        return None, ()
    if not down:
        said.append(f"{visible(clock)} steps evenly and is taken for the time, unless columns= names it")
    return read_stamps(table, str(clock), table.frame[clock], groups, strict), (clock,)


def _calendar(
    table: Table, groups: list[np.ndarray], parts: Sequence[Any], free: Sequence[Any]
) -> tuple[Stamps | None, tuple[Any, ...]]:
    """Return the times that year, month and day tell, also where they do so only together with a column of trials."""

    def told(stamps: Stamps) -> bool:
        others = [name for name in free if name not in parts]
        return any(tells_trials(table.frame[name], stamps, True) for name in others)

    return calendar_stamps(table, groups, parts, told)


def _numbers_rows(index: Any) -> bool:
    """Say whether an index holds the numbers of the rows, in whatever order."""
    return index.dtype.kind in "iu" and bool(np.array_equal(np.sort(index.to_numpy()), np.arange(len(index))))


def _counts_down(table: Table, name: Any, groups: list[np.ndarray]) -> bool:
    column = table.frame[name]
    return is_counter(column, name, groups) and len(column) > 1 and bool(column.iloc[1] < column.iloc[0])


def _any_clock(table: Table, free: Sequence[Any], trial: Sequence[Any], groups: list[np.ndarray]) -> Any:
    """Return a column of any name that does what a clock does: it rises (or falls) by one even step.

    One that never falls and mostly rises by the same step may be either: refused.
    """
    for name in free:
        column = table.frame[name]
        values = _numeric(column) if len(column) >= MANY else None
        if values is None or not np.isfinite(values).all():
            continue
        steps = np.concatenate([np.diff(values[rows]) for rows in groups])
        one_way = bool((steps > 0).all() or (steps < 0).all())
        if one_way and (even_share(steps) == 1 or _is_unix(values)):
            return name
        again = restarts(values) if not trial and len(groups) == 1 else None
        mostly = one_way and even_share(steps) >= MOSTLY
        if mostly or (again is not None and 8 * len(again) <= len(values)):
            way = "rises" if np.median(steps) > 0 else "falls"
            also = "" if again is None else f", and begins again {len(again)} times"
            raise InputError(
                table.said(
                    f"{visible(name)} {way} from row to row, mostly by {abs(np.median(steps)):g}{also}: if it is the "
                    f"time, pass time={str(name)!r}; if it is a node, name the nodes with columns="
                )
            )
    return None


def _numeric(column: Any) -> np.ndarray | None:
    """Return numbers, or text that is numbers, as float64."""
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        return np.asarray(column.to_numpy(dtype=float, na_value=np.nan))
    return column.astype(float).to_numpy() if kind == "O" and all_numbers(column) else None


def _is_unix(values: np.ndarray) -> bool:
    return any(low < values.min() <= values.max() < high for low, high in UNIX)


def _time_columns(
    table: Table, rules: Rules, trial: Sequence[Any], groups: list[np.ndarray]
) -> tuple[Any, ...]:
    """Return the column whose name says time, or a date and a time of the day, or the only one that holds dates."""
    asked = rules.columns or ()
    free = [name for name in table.frame.columns if name not in trial and str(name) not in asked]
    found = [name for name in free if TIME_NAME.fullmatch(str(name))]
    # A single letter may well be a quantity; it is a time only if it behaves like one.
    found = [name for name in found if len(str(name)) > 1 or _runs(table.frame[name], groups)]
    dates = [name for name in found if looks_like_dates(table.frame[name])]
    if len(found) == 2 and len(dates) == 1:
        (other,) = (name for name in found if name not in dates)
        if looks_like_clock(table.frame[other]):
            return dates[0], other
    if len(found) > 1:
        said = f"{listed(found)} all look like times; name one as time, and the nodes as columns"
        raise InputError(table.said(said))
    if found:
        return tuple(found)
    dated = [name for name in free if looks_like_dates(table.frame[name])]
    if len(dated) == 1:
        return tuple(dated)
    clocks = [name for name in free if looks_like_clock(table.frame[name])]
    likely = [name for name in free if LIKELY_NAME.fullmatch(str(name)) and _runs(table.frame[name], groups)]
    years = any(plain_name(name) in ("year", "yr") for name in free)
    for name in list(likely):
        part = plain_name(name) in PARTS and (years or not _runs(table.frame[name], groups, False))
        if part or (str(name).lower() in TRIAL_NAMES and in_blocks(table.frame[name])):
            likely.remove(name)
    return tuple(clocks[:1] if len(clocks) == 1 else likely[:1])


def _runs(column: Any, groups: list[np.ndarray], again: bool = True) -> bool:
    """Say whether numbers rise or fall throughout, or by even steps but for restarts, as times do; dates always do."""
    values = _numeric(column)
    if values is None:
        return looks_like_dates(column) or looks_like_clock(column)
    if not np.isfinite(values).all():
        return False
    steps = np.concatenate([np.diff(values[rows]) for rows in groups])
    if bool((steps > 0).all() or (steps < 0).all()):
        return True
    rising = bool((steps >= 0).all() and even_share(steps[steps > 0]) == 1)
    return again and (rising or restarts(values) is not None)


def _index(table: Table, ignored: bool) -> Any:
    """Return the index as a column if it says when the rows were recorded; None for numbers 0, 1, 2, ... and labels."""
    import pandas as pd

    index = table.frame.index
    name = "index" if index.name is None else index.name
    column = pd.Series(index, name=name)
    if isinstance(index, pd.RangeIndex) and index.step == 1:
        return None
    kind = getattr(column.dtype, "kind", "O")
    if kind in "iuf":
        plain = kind != "f" and np.array_equal(column.to_numpy(), np.arange(len(column)))
        return None if plain else column
    if isinstance(column.dtype, pd.CategoricalDtype):
        column = column.astype(object)
    told = (
        kind == "m"
        or looks_like_dates(column)
        or looks_like_clock(column)
        or looks_like_labels_in_time(column)
    )
    if told or (kind == "O" and all_numbers(column)):
        return column
    numbers = column.astype(str).str.extract(r"(\d{1,15})")[0].astype(float)
    if len(numbers) > 2 and (np.diff(numbers) < 0).all() and not ignored:
        raise InputError(
            f"{table.at(0, name)}: the numbers in the index fall, the newest row may be the first; sort the rows, or "
            "pass time='ignore' if they are in order"
        )
    return None


# --- nodes -------------------------------------------------------------------------------------------------


def _node_columns(
    table: Table, rules: Rules, taken: set[Any], groups: list[np.ndarray], said: list[str]
) -> list[Any]:
    if rules.columns is None:
        free = [one for one in table.frame.columns if one not in taken]
        nodes = _without_counters(table, rules, free, groups, said)
    else:
        nodes = [_known(table, name, "node") for name in rules.columns]
        twice = [name for name in nodes if nodes.count(name) > 1 or name in taken]
        if twice:
            said_twice = f"column {visible(twice[0])} is asked for twice, as node, time or trial"
            raise InputError(table.said(said_twice))
    if not nodes:
        raise InputError(table.said(f"no column is left for nodes; it has {listed(table.frame.columns)}"))
    return nodes


def _without_counters(
    table: Table, rules: Rules, nodes: list[Any], groups: list[np.ndarray], said: list[str]
) -> list[Any]:
    """Leave out columns that only count, repeat the calendar or label the trials, and say so."""
    if rules.counters or rules.time_name is False:
        return nodes
    left = [name for name in counting_columns(table.frame, groups, nodes) if str(name) not in rules.states]
    left += [name for name in nodes if name not in left and _steps_evenly(table.frame[name], groups)]
    if left:
        said.append(
            f"left out {listed(left)}: a column that only counts the rows or repeats the calendar is no node, unless "
            "columns= names it"
        )
    labels = [name for name in nodes if name not in left and _labels(table.frame[name], groups)]
    if labels:
        said.append(f"left out {listed(labels)}, the same throughout each trial")
    return [name for name in nodes if name not in left and name not in labels]


def _steps_evenly(column: Any, groups: list[np.ndarray]) -> bool:
    """Say whether a column rises, or falls, by one even step: a clock, whatever else tells the time."""
    few = column.iloc[:3]
    if len(column) < MANY or getattr(few.dtype, "kind", "O") not in "iufO":
        return False
    first = few.to_numpy(dtype=float, na_value=np.nan) if few.dtype.kind != "O" else np.arange(3.0)
    if not np.isfinite(first).all() or even_share(np.diff(first)) < 1:
        return False  # a look that is enough for most columns
    values = _numeric(column)
    if values is None:
        return False
    if not np.isfinite(values).all():
        return False
    steps = np.concatenate([np.diff(values[rows]) for rows in groups])
    return bool((steps > 0).all() or (steps < 0).all()) and even_share(steps) == 1


def _labels(column: Any, groups: list[np.ndarray]) -> bool:
    if len(groups) < 2 or getattr(column.dtype, "kind", "O") == "f":
        return False
    values = column.to_numpy()
    return all((values[rows] == values[rows[0]]).all() for rows in groups)
