"""One set of rules picks time, trials and nodes from the table of any format and from any DataFrame."""

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data import roles
from enmesh.data.columns import Recording, chosen
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, visible
from enmesh.data.times import Groups, on_grid
from enmesh.errors import hazard


def pick(table: Table, rules: Rules) -> Recording:
    """Return trials of the nodes that the rules choose from a table."""
    table = _arranged(table, rules)
    named = _named_trials(table, rules)
    trial, groups = roles.trials_by(table, named)
    notes = list(table.notes)
    stamps, taken = roles.found_times(table, rules, named, groups, notes)
    if not named and table.trials is None and rules.trials is not False:
        trial, groups = roles.found_trials(table, rules, stamps, taken, notes)
    nodes = _nodes(table, rules, {*taken, *trial}, groups, notes)
    places, step, time = None, table.dt, None
    if stamps is not None:
        groups, places, step, time = on_grid(table, stamps, groups, rules.modes, rules.missing)
    elif "sort" in rules.modes:
        raise table.error("time='sort' needs times; name their column too")
    if len(trial) == 1 and not named and len(nodes) == 1:
        clock, label, node = str(taken[0]) if taken else "time", str(trial[0]), str(nodes[0])
        raise table.error(
            f"it looks like a long table: {visible(node)} of every {visible(label)} at each time; pass "
            f"pivot=({clock!r}, {label!r}, {node!r}), or trials={label!r} if {visible(label)} tells trials of one node"
        )
    if notes:
        hazard(table.message("; ".join(notes)))
    frame, rows = chosen(table, nodes, rules), np.concatenate(groups)
    if len(rows) < len(frame) or (np.diff(rows) != 1).any():
        frame = frame.iloc[rows]
    lengths = [len(rows) for rows in groups]
    if places is not None:  # gaps are filled by rows that are missing
        lengths = [int(own[-1]) + 1 for own in places]
        at = np.concatenate([start + own for start, own in zip(np.cumsum([0, *lengths]), places)])
        whole = {name: "Int64" for name in frame.columns if frame[name].dtype.kind == "i"}
        frame = frame.astype(whole).set_axis(at, axis=0).reindex(range(sum(lengths)))
    return Recording(file=table.file, frame=frame, lengths=lengths, dt=step, time=time)


def _arranged(table: Table, rules: Rules) -> Table:
    """Return the table with named levels of its index as columns, pivoted and cut as asked."""
    frame = table.frame
    if isinstance(frame.index, pd.MultiIndex):
        if None in frame.index.names:
            raise table.error("the index has levels without a name; name them, as (trial, time)")
        frame = frame.reset_index()
    if not len(frame):
        raise table.error("there are no rows of numbers")
    if not frame.columns.is_unique:
        name = frame.columns[frame.columns.duplicated()][0]
        first, second = np.flatnonzero(frame.columns == name)[:2] + 1
        raise table.error(f"columns {first} and {second} are both called {visible(name)}; names must differ")
    table = _pivoted(replace(table, frame=frame), rules)
    if rules.decimal is not None:
        table = replace(table, marks=(rules.decimal, rules.thousands))
    if rules.rows is None:
        return table
    at = np.arange(len(table.frame))[rules.rows]
    if not len(at):
        raise table.error(f"rows leave nothing of {len(table.frame)} rows; count from 1, FROM first")
    numbers = [int(row) + 1 if table.numbers is None else table.numbers[row] for row in at]
    trials = None if table.trials is None else table.trials[at]
    return replace(table, frame=table.frame.iloc[rules.rows], numbers=numbers, trials=trials)


def _pivoted(table: Table, rules: Rules) -> Table:
    """Return a long table (time, variable, value) as one with a column for each variable."""
    if rules.pivot is None:
        return table
    named = zip(rules.pivot, ("time", "variable", "value"))
    time, variable, value = (roles.known_column(table, name, what) for name, what in named)
    beside, frame = _named_trials(table, rules), table.frame
    keys = [*beside, time]
    twice = np.flatnonzero(frame.duplicated([*keys, variable]))
    if len(twice):
        also = "" if beside else ", or name the column of trials"
        text = f"a second value of the same variable at the same time; keep one{also}"
        raise table.error(text, twice[0], value)
    wide = frame.pivot(index=keys, columns=variable, values=value)[list(dict.fromkeys(frame[variable]))]
    wide = wide.loc[frame.drop_duplicates(keys).set_index(keys).index].reset_index().rename_axis(columns=None)
    return replace(table, frame=wide, numbers=None, unit="row")


def _named_trials(table: Table, rules: Rules) -> list[Any]:
    named = rules.trials if isinstance(rules.trials, tuple) else ()
    return [roles.known_column(table, name, "trial") for name in named]


def _nodes(table: Table, rules: Rules, taken: set[Any], groups: Groups, notes: list[str]) -> list[Any]:
    """Return the nodes: as named, or all columns but those that only count, repeat the calendar or label trials."""
    frame = table.frame
    if rules.columns is not None:
        nodes = [roles.known_column(table, name, "node") for name in rules.columns]
        twice = [name for name in nodes if nodes.count(name) > 1 or name in taken]
        if twice:
            raise table.error(f"column {visible(twice[0])} is asked for twice, as node, time or trial")
    else:
        nodes = [name for name in frame.columns if name not in taken]
    if rules.columns is None and not rules.counters and rules.time is not False:
        left = [
            name for name in roles.counting_columns(frame, groups, nodes) if str(name) not in rules.states
        ]
        left += [name for name in nodes if name not in left and roles.steps_evenly(frame[name], groups)]
        if left:
            notes.append(
                f"left out {listed(left)}: a column that only counts the rows or repeats the calendar is no node, "
                "unless columns= names it"
            )
        labels = [name for name in nodes if name not in left and _is_label(frame[name], groups)]
        if labels:
            notes.append(f"left out {listed(labels)}, the same throughout each trial")
        nodes = [name for name in nodes if name not in left and name not in labels]
    if not nodes:
        raise table.error(f"no column is left for nodes; it has {listed(frame.columns)}")
    return nodes


def _is_label(column: Any, groups: Groups) -> bool:
    """Say whether a column is the same throughout each of several trials."""
    values, able = column.to_numpy(), column.dtype.kind != "f" and len(groups) > 1
    return able and all((values[rows] == values[rows[0]]).all() for rows in groups)
