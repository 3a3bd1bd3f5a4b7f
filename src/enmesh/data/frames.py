"""From the table of any format, and from any DataFrame, to values: one set of rules picks time, trials and nodes.

A column keeps its kind on the way, measurements ("float"), whole numbers ("integer") or words for states ("text"), so
that no estimator takes the codes of words for numbers: it is a pandas column of float64, of int64 (Int64 where some are
missing), or of objects that are words or None.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data import roles
from enmesh.data.numbers import MISSING, as_number, marks_of
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, shown, visible
from enmesh.data.times import GAP, JITTER, Groups, Stamps, Time, on_grid, steps_of
from enmesh.data.values import FLOAT, INTEGER, TEXT, Values
from enmesh.errors import InputError, hazard

KINDS = {"f": FLOAT, "i": INTEGER}
MOST_SAMPLES = 10**8  # of a recording that is resampled
# Bytes from which an array that nobody else holds is taken without a copy.
LARGE = 2**28
DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2\d{4}")
COMPLEX = "column {name} holds complex numbers; take their real part, absolute value or angle"


@dataclass(frozen=True, kw_only=True)
class Recording:
    """The chosen nodes of one file or object: all trials below one another, their lengths, step and time if known."""

    file: str
    frame: Any
    lengths: list[int]
    dt: float | None = None
    time: Time | None = None


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
    if rules.resample is not None:
        if notes:
            hazard(table.message("; ".join(notes)))
        return _resampled(table, rules, stamps, groups, nodes)
    if stamps is not None:
        try:
            groups, places, step, time = on_grid(table, stamps, groups, rules.modes, rules.missing)
        except InputError as error:
            if len(nodes) != 1 or table.frame[nodes[0]].dtype.kind == "f":
                raise
            raise InputError(f"{error}; if each row is an event of one node, read it with em.Events") from None
    elif "sort" in rules.modes:
        raise table.error("time='sort' needs times; name their column too")
    if len(trial) == 1 and not named and len(nodes) == 1:
        clock, label, node = str(taken[0]) if taken else "time", str(trial[0]), str(nodes[0])
        told = f"it looks like a long table: {visible(node)} of every {visible(label)} at each time"
        other = f"trials={label!r} if {visible(label)} tells trials of one node"
        raise table.error(f"{told}; pass pivot=({clock!r}, {label!r}, {node!r}), or {other}")
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


def _resampled(table: Table, rules: Rules, stamps: Stamps | None, groups: Groups, nodes: Sequence[Any]) -> Recording:
    """Return the nodes at even times, on straight lines between samples; nothing is made up within gaps."""
    if stamps is None:
        raise table.error("resample= needs times; name their column as time=")
    rows = [one[np.argsort(stamps.values[one], kind="stable")] for one in groups] if "sort" in rules.modes else groups
    steps = steps_of(stamps.values, rows)
    if not len(steps) or not (steps > 0).all():
        raise table.error("resample= needs times that increase; pass time='sort', or name the column of trials")
    usual = float(np.median(steps))
    step, frame = float(usual if rules.resample is True else rules.resample or 0), chosen(table, nodes, rules)
    words = [name for name in frame.columns if KINDS.get(frame[name].dtype.kind, TEXT) == TEXT]
    if words:
        raise table.error(f"{listed(words)} is text, which cannot be resampled; leave it out with columns=")
    spans = [float(np.ptp(stamps.values[one])) for one in rows]
    if sum(spans) / step > MOST_SAMPLES:
        told = f"resample={step:g} makes {sum(spans) / step:.3g} samples"
        raise table.error(f"{told}; give a larger step, the usual one is {usual:g}")
    cells, parts = frame.to_numpy(dtype=float, na_value=np.nan), []
    for one, span in zip(rows, spans):
        times = stamps.values[one] - stamps.values[one[0]]
        grid = step * np.arange(int(span / step * (1 + 1e-9)) + 1)
        after = np.clip(np.searchsorted(times, grid), 1, len(times) - 1)
        gap = (times[after] - times[after - 1] > GAP * max(usual, step)) & (np.abs(times[after] - grid) > 1e-9 * step)
        parts.append(np.column_stack([np.interp(grid, times, column) for column in cells[one].T]))
        parts[-1][gap & (np.abs(times[after - 1] - grid) > 1e-9 * step)] = np.nan
    slowest = 2 * max(step, float(steps[steps <= GAP * usual].max()))
    told = f"resampled to steps of {step:g} by straight lines, the times stepped by {steps.min():g} to {steps.max():g}"
    hazard(table.message(f"{told}: variation with a period under about {slowest:g} is weakened or lost"))
    made = pd.DataFrame(np.concatenate(parts), columns=frame.columns)
    time = Time(start=stamps.start(int(rows[0][0])), unit=stamps.unit)
    return Recording(file=table.file, frame=made, lengths=[len(part) for part in parts], dt=step, time=time)


def _arranged(table: Table, rules: Rules) -> Table:
    """Return the table with named levels of its index as columns, pivoted and cut as asked."""
    frame = table.frame
    if isinstance(frame.index, pd.MultiIndex):
        if None in frame.index.names:
            raise table.error("the index has levels without a name; name them, as (trial, time)")
        frame = frame.reset_index()
    if not len(frame):
        raise table.error("there are no rows of numbers; give at least 3")
    if not isinstance(frame.columns, pd.MultiIndex) and (nameless := np.flatnonzero(frame.columns.isna())).size:
        raise table.error(f"column {nameless[0] + 1} has no name; give it one")
    if not frame.columns.is_unique:
        name = frame.columns[frame.columns.duplicated()][0]
        first, second = np.flatnonzero(frame.columns == name)[:2] + 1
        raise table.error(f"columns {first} and {second} are both called {visible(name)}; rename one")
    table = _pivoted(replace(table, frame=frame), rules)
    if rules.decimal is not None:
        table = replace(table, marks=(rules.decimal, rules.thousands))
    if rules.rows is None:
        return table
    at = np.arange(len(table.frame))[rules.rows]
    if not len(at):
        raise table.error(f"rows= selects none of {len(table.frame)} rows; count from 1, the smaller number first")
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
            raise table.error(f"column {visible(twice[0])} is asked for twice, as node, time or trial; name it once")
    else:
        nodes = [name for name in frame.columns if name not in taken]
    if rules.columns is None and not rules.counters and rules.time is not False:
        counting = roles.counting_columns(frame, groups, nodes)
        left = [name for name in counting if str(name) not in rules.states]
        left += [name for name in nodes if name not in left and roles.steps_evenly(frame[name], groups)]
        if left:
            counts = "a column that only counts the rows or repeats the calendar"
            notes.append(f"left out {listed(left)}: {counts} is no node, unless columns= names it")
        rest = [name for name in nodes if name not in left and frame[name].dtype.kind != "f"]
        labels = rest if len(groups) > 1 else []
        for rows in groups:  # the same throughout each of several trials
            labels = [name for name in labels if (frame[name].iloc[rows] == frame[name].iloc[rows[0]]).all()]
        if labels:
            notes.append(f"left out {listed(labels)}: constant in each trial")
        nodes = [name for name in nodes if name not in left and name not in labels]
    if not nodes:
        raise table.error(f"no column remains for nodes; name them with columns=, it has {listed(frame.columns)}")
    return nodes


def assembled(recordings: Sequence[Recording], dt: float | None, own: bool) -> Values:
    """Return several recordings as trials of one: int64 where all is whole and nothing is missing, else float64.

    Columns are matched by name, in the order of the first. ``own`` says that nobody else holds the values.
    """
    first = recordings[0]
    names = list(first.frame.columns)
    for other in recordings[1:]:
        if sorted(other.frame.columns) != sorted(names):
            both = f"{other.file} has the columns {listed(other.frame.columns)} but {first.file} has {listed(names)}"
            raise InputError(f"{both}; choose columns that all have with columns=")
        steps = (first.dt or 0.0, other.dt or 0.0) if dt is None else (0.0, 0.0)
        if all(steps) and abs(steps[1] - steps[0]) > JITTER * steps[0]:
            raise InputError(
                f"{other.file} has a time step of {other.dt:g} but {first.file} of {first.dt:g}; resample one of them"
            )
    frames = [first.frame, *(other.frame[names] for other in recordings[1:])]
    kinds: list[str] = []
    for name in names:
        held = {KINDS.get(one[name].dtype.kind, TEXT) for one in frames}
        if TEXT in held and len(held) > 1:
            held_as = "is text in one trial and numbers in another"
            raise InputError(f"column {visible(name)} {held_as}; make it one")
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
            raise table.error(
                f"column {visible(name)} holds {most}, too large for a whole number; write it as a decimal number"
            )
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
    if not wrong:
        _check_signs(table, name, {row: text[row] for row in there if row in text}, len(there))
    if wrong and len(wrong) == len(there) and len(text) == len(cells):
        words = {row: cell for row, cell in text.items() if cell}
        _refuse_unlike_states(table, name, words)
        return np.array([words.get(row) for row in range(len(column))], dtype=object)
    if wrong:
        cell = str(cells[wrong[0]])
        raise table.error(f"{shown(cell)} is not a number; {_advice(cell.strip(), name)}", wrong[0], name)
    if not numbers or any(isinstance(number, float) for number in numbers.values()):
        return np.array([numbers.get(row, np.nan) for row in range(len(column))], dtype=np.float64)
    for row, number in numbers.items():
        if not -(2**63) <= number < 2**63:
            raise table.error(
                f"{shown(cells[row])} is too large for a whole number; write it as a decimal number", row, name
            )
    exact = pd.Series(numbers, dtype="Int64").reindex(range(len(column)))
    return exact.array if exact.isna().any() else exact.to_numpy(dtype=np.int64)


def _check_signs(table: Table, name: str, numbers: dict[int, str], count: int) -> None:
    """Refuse numbers some of which are per cent; say it of those in parentheses, which are negative."""
    percent = [row for row, cell in numbers.items() if "%" in cell]
    if percent and len(percent) < count:
        told = f"{shown(numbers[percent[0]])} is per cent and other numbers of column {visible(name)} are not"
        raise table.error(f"{told}; write all of them on one scale", percent[0], name)
    negative = [cell for cell in numbers.values() if cell.startswith("(")]
    if negative:
        hazard(
            table.message(f"numbers in parentheses are negative, as {shown(negative[0])}", None), f"{visible(name)}:"
        )


def _advice(cell: str, name: str) -> str:
    """Return what to do about a cell that is no number."""
    if cell == name:
        return "the names are repeated here: leave that row out"
    if re.fullmatch(r"[\d.,]+\s*[-\u2212]", cell):
        return "write the minus before the number"
    if re.fullmatch(r"[-+(]?[\d.,]+\s*[^\d\s.,()/:]+\.?", cell):
        return "write the number without its unit"
    if any(mark.isdigit() for mark in cell):
        return "write it as a decimal number, or leave the column out"
    missing = f"if it stands for a missing value, pass na={cell!r}"
    if not any(mark.isalpha() for mark in cell):
        return missing
    return f"{f'{missing}, else ' if len(cell) < 9 else ''}correct it or leave that row out"


def _refuse_unlike_states(table: Table, name: str, words: dict[int, str]) -> None:
    """Refuse words that look like numbers gone wrong, and words that hardly repeat."""
    (row, cell), different = next(iter(words.items())), len(set(words.values()))
    if all(word.lstrip("+-.,")[:1].isdigit() for word in words.values()):
        marks = re.fullmatch(r"[-+\d.,'\u2019\s_%$€£¥]+", cell)
        told = "say how numbers are written with decimal= and thousands=" if marks else _advice(cell, name)
        if DATE.fullmatch(cell):
            told = f"it is a date: name the column with time={name!r}, or leave it out of columns="
        raise table.error(f"{shown(cell)} is not a number; {told}", row, name)
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
