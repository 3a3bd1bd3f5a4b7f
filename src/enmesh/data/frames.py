"""One set of rules picks time, trials and nodes from the table of any format and from any DataFrame."""

import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.data.calendars import calendar_stamps, counting_columns, is_counter
from enmesh.data.columns import Recording, column_of, spread_out
from enmesh.data.table import Table, listed, visible
from enmesh.data.times import (
    Grid,
    Stamps,
    date_and_clock,
    looks_like_clock,
    looks_like_dates,
    on_grid,
    read_stamps,
)
from enmesh.errors import HazardWarning, InputError

# A column of one of these names, with a unit or without, holds times.
TIME_NAME = re.compile(
    r"(t|time|date|datetime|timestamp)(\s*[(\[][^)\]]*[)\]])?|time_(s|ms|us|sec|seconds|min|minutes|h|hours|days)",
    re.IGNORECASE,
)
TRIAL_NAME = "trial"
MODES = ("sort", "ignore")

TimeRule = str | bool | Sequence[str | bool] | None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """How a user wants a table taken: the arguments of `enmesh.read`.

    ``time_name`` is the named column of times, False for none, None to look for it; ``modes`` are of sort and ignore.
    ``counters`` keeps columns that only count or repeat the calendar.
    """

    time_name: str | bool | None = None
    modes: frozenset[str] = frozenset()
    columns: tuple[str, ...] | None = None
    trial: str | bool | None = None
    missing: str = "raise"
    states: tuple[str, ...] = ()
    counters: bool = False


def rules_of(
    time: TimeRule,
    columns: Sequence[str] | None,
    trial: str | bool | None,
    missing: str,
    states: Sequence[str] | str | None,
    counters: bool = False,
) -> Rules:
    """Return the rules; words of ``time`` that are no mode name a column."""
    if missing not in ("raise", "drop"):
        raise InputError(f"missing={missing!r} is not an option; use 'raise' or 'drop'")
    words: list[Any] = list(time) if isinstance(time, (list, tuple, set)) else [time]
    modes = [word for word in words if word in MODES]
    names = [word for word in words if word not in MODES]
    if len(names) > 1:
        raise InputError(f"time={time!r} names several columns; name one, and 'sort' or 'ignore' beside it")
    for what, given in (("columns", columns), ("states", states)):
        if (
            given is not None
            and not isinstance(given, str)
            and not all(isinstance(name, str) for name in given)
        ):
            raise InputError(f"{what}={given!r} is not possible; give names of columns")
    chosen = names[0] if names else None
    return Rules(
        time_name=None if chosen is True else chosen,
        modes=frozenset(modes),
        columns=None if columns is None else tuple([columns] if isinstance(columns, str) else columns),
        trial=trial,
        missing=missing,
        states=tuple([states] if isinstance(states, str) else states or ()),
        counters=counters,
    )


def pick(table: Table, rules: Rules) -> Recording:
    """Return trials of the nodes that the rules choose from a table."""
    table = _with_named_index(table)
    _refuse_doubled(table)
    trial = _trial_column(table, rules.trial)
    labels = table.trials if trial is None else table.frame[trial].to_numpy()
    groups = _groups(labels, len(table.frame))
    stamps, taken = _stamps(table, rules, trial, groups)
    nodes = _node_columns(table, rules, {*taken, trial}, groups)
    if stamps is None:
        if "sort" in rules.modes:
            raise InputError(table.said("time='sort' needs times; name their column too"))
        grid = Grid(groups=groups, step=table.dt)
    else:
        grid = on_grid(table, stamps, groups, rules.modes, rules.missing)
    columns = [column_of(table, name, table.frame[name], str(name) in rules.states) for name in nodes]
    trials = []
    for number, rows in enumerate(grid.groups):
        trial_columns = [type(one)(kind=one.kind, values=one.values[rows]) for one in columns]
        if grid.places is not None:
            places = grid.places[number]
            trial_columns = [spread_out(one, places, int(places[-1]) + 1) for one in trial_columns]
        trials.append(trial_columns)
    names = tuple(str(name) for name in nodes)
    return Recording(file=table.file, trials=trials, names=names, dt=grid.step, time=grid.time)


def _with_named_index(table: Table) -> Table:
    """Turn an index of several named levels into columns."""
    import pandas as pd

    if not isinstance(table.frame.index, pd.MultiIndex):
        return table
    if None in table.frame.index.names:
        raise InputError(
            table.said("the index has levels without a name; name them (trial, time) or use reset_index()")
        )
    frame = table.frame.reset_index()
    return Table(file=table.file, frame=frame, numbers=table.numbers, unit=table.unit)


def _refuse_doubled(table: Table) -> None:
    seen: dict[Any, int] = {}
    for position, name in enumerate(table.frame.columns, 1):
        first = seen.setdefault(name, position)
        if first != position:
            said = f"columns {first} and {position} are both called {visible(name)}; names must differ"
            raise InputError(table.said(said))


def _trial_column(table: Table, trial: str | bool | None) -> Any:
    if trial is None or trial is True:
        return TRIAL_NAME if TRIAL_NAME in table.frame.columns else None
    return _known(table, trial, "trial") if trial is not False else None


def _known(table: Table, name: object, what: str) -> Any:
    """Return the column of a name; names of a DataFrame may be no text."""
    for column in table.frame.columns:
        if column == name or str(column) == name:
            return column
    said = f"there is no {what} column {visible(name)}; it has {listed(table.frame.columns)}"
    raise InputError(table.said(said))


def _groups(labels: np.ndarray | None, length: int) -> list[np.ndarray]:
    """Return the rows of each trial, in order of appearance."""
    if labels is None:
        return [np.arange(length)]
    _, first, which = np.unique(labels.astype(str), return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(which))[:-1])
    return [parts[label] for label in np.argsort(first)]


# --- times -------------------------------------------------------------------------------------------------


def _stamps(
    table: Table, rules: Rules, trial: Any, groups: list[np.ndarray]
) -> tuple[Stamps | None, tuple[Any, ...]]:
    """Return the times of the rows, and the column they come from: named, found by name or dates, or the index."""
    if rules.time_name is False:
        return None, ()
    strict = "ignore" not in rules.modes
    wanted = None if rules.time_name is None else _known(table, rules.time_name, "time")
    found = (wanted,) if wanted is not None else _time_columns(table, rules, trial, groups)
    if len(found) == 2:
        joined = date_and_clock(*(table.frame[name] for name in found))
        return read_stamps(table, str(found[0]), joined, groups, strict), found
    if found:
        return read_stamps(table, str(found[0]), table.frame[found[0]], groups, strict), found
    index = _index(table)
    if index is not None:
        return read_stamps(table, str(index.name), index, groups, strict), ()
    if rules.counters:
        return None, ()
    asked = rules.columns or ()
    free = [one for one in table.frame.columns if one != trial and str(one) not in asked]
    calendar, parts = calendar_stamps(table, groups, counting_columns(table.frame, groups, free))
    if calendar is not None:
        return calendar, parts
    counter = next((one for one in free if _counts_down(table, one, groups)), None)
    return (
        (None, ())
        if counter is None
        else (
            read_stamps(table, str(counter), table.frame[counter], groups, strict),
            (counter,),
        )
    )


def _counts_down(table: Table, name: Any, groups: list[np.ndarray]) -> bool:
    column = table.frame[name]
    return is_counter(column, name, groups) and len(column) > 1 and bool(column.iloc[1] < column.iloc[0])


def _time_columns(table: Table, rules: Rules, trial: Any, groups: list[np.ndarray]) -> tuple[Any, ...]:
    """Return the column whose name says time, or a date and a time of the day, or the only one that holds dates."""
    asked = rules.columns or ()
    free = [name for name in table.frame.columns if name != trial and str(name) not in asked]
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
    dated = [name for name in free if looks_like_dates(table.frame[name])] if not found else []
    return tuple(found) or (tuple(dated) if len(dated) == 1 else ())


def _runs(column: Any, groups: list[np.ndarray]) -> bool:
    """Say whether numbers rise throughout, or fall by even steps, as a time does; dates always do."""
    if getattr(column.dtype, "kind", "O") not in "if":
        return looks_like_dates(column)
    steps = np.concatenate([np.diff(column.to_numpy()[rows]) for rows in groups])
    return bool((steps > 0).all() or ((steps < 0).all() and np.allclose(steps, steps[0], rtol=0.01)))


def _index(table: Table) -> Any:
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
    return column if kind == "m" or looks_like_dates(column) else None


# --- nodes -------------------------------------------------------------------------------------------------


def _node_columns(table: Table, rules: Rules, taken: set[Any], groups: list[np.ndarray]) -> list[Any]:
    if rules.columns is None:
        nodes = _without_counters(
            table, rules, [one for one in table.frame.columns if one not in taken], groups
        )
    else:
        nodes = [_known(table, name, "node") for name in rules.columns]
        twice = [name for name in nodes if nodes.count(name) > 1 or name in taken]
        if twice:
            said = f"column {visible(twice[0])} is asked for twice, as node, time or trial"
            raise InputError(table.said(said))
    if not nodes:
        raise InputError(table.said(f"no column is left for nodes; it has {listed(table.frame.columns)}"))
    return nodes


def _without_counters(table: Table, rules: Rules, nodes: list[Any], groups: list[np.ndarray]) -> list[Any]:
    """Leave out columns that only count or repeat the calendar, and say so."""
    if rules.counters or rules.time_name is False:
        return nodes
    left_out = [
        name for name in counting_columns(table.frame, groups, nodes) if str(name) not in rules.states
    ]
    if left_out:
        said = (
            f"left out {listed(left_out)}: a column that only counts the rows or repeats the calendar is no node, "
            "unless columns= names it"
        )
        warnings.warn(table.said(said), HazardWarning, stacklevel=5)
    return [name for name in nodes if name not in left_out]
