"""Which rows belong to which trial: said by a column, or seen where the time restarts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.data.dates import kind_of
from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, visible
from enmesh.data.times import TRIAL_NAMES, Stamps, one_way, restarts

PEOPLE = ("subject", "subj", "participant", "patient", "animal")
Found = tuple[tuple[Any, ...], list[np.ndarray]]
"""Columns of trials, and the rows of each trial."""


def trials_by(table: Table, columns: Sequence[Any]) -> Found:
    """Return the rows of each trial that columns tell, in order of appearance; without columns those of the table."""
    which = np.zeros(len(table.frame), int) if table.trials is None else table.trials
    if columns:
        labels = table.frame[list(columns)].reset_index(drop=True)
        which = labels.groupby(list(columns), sort=False, dropna=False, observed=True).ngroup().to_numpy()
    counts = np.unique(which, return_counts=True)[1]
    return tuple(columns), np.split(np.argsort(which, kind="stable"), np.cumsum(counts)[:-1])


def found_trials(
    table: Table, rules: Rules, stamps: Stamps | None, taken: Sequence[Any], notes: list[str]
) -> Found:
    """Look for trials where none are named.

    Their column is called trial, or has a likely name and comes in blocks, or the time restarts where it changes. A
    clock that restarts by itself means trials too.
    """
    frame, sort = table.frame, "sort" in rules.modes
    free = [name for name in frame.columns if name not in taken and str(name) not in (rules.columns or ())]
    likely = [name for name in free if str(name).lower() in TRIAL_NAMES and str(name) not in rules.states]
    called = [name for name in likely if str(name).lower() == "trial"]
    if stamps is None or _is_ordered(stamps.values, sort):
        people = [name for name in likely if stamps is None and _is_people(frame[name])]
        found = called or [name for name in likely if in_blocks(frame[name]) or name in people][:1]
        if found and not called:
            notes.append(f"each {visible(found[0])} is taken for a trial (trials=False: one recording)")
        return trials_by(table, found)
    found = _telling(table, stamps, sort, free, likely)
    if found and found != called:
        notes.append(f"the time restarts where {listed(found)} changes: each is taken for a trial")
    again = None if found or called or sort else restarts(stamps.values)
    if again is None or np.ptp(stamps.values[[0, *again]]) > 0:
        return trials_by(table, found or called)
    notes.append(
        f"the time begins again {len(again)} times: each stretch is taken for a trial (trials=False: refuse)"
    )
    return (), np.split(np.arange(len(frame)), again)


def _telling(table: Table, stamps: Stamps, sort: bool, free: list[Any], likely: list[Any]) -> list[Any]:
    """Return the column within whose labels the times are in order, or several that do so together."""
    able = [name for name in free if tells_trials(table, name, stamps, sort)]
    found = [name for name in able if name in likely] or able
    if not found and len(likely) > 1:
        return likely if _orders(table, likely, stamps, sort) else []
    if len({table.frame[name].factorize()[0].tobytes() for name in found}) > 1:
        raise table.error(
            f"the time restarts, and {listed(found)} may each tell the trials; name one as trials="
        )
    return found[:1]


def _is_ordered(values: np.ndarray, sort: bool) -> bool:
    """Say whether times rise throughout, or fall; with ``sort``, whether none comes twice."""
    known = values[np.isfinite(values)]
    return one_way(np.diff(np.sort(known) if sort else known))


def _orders(table: Table, names: list[Any], stamps: Stamps, sort: bool) -> bool:
    return all(_is_ordered(stamps.values[rows], sort) for rows in trials_by(table, names)[1])


def _are_labels(column: Any) -> bool:
    return kind_of(column) in "biuOUS" and len(column) > 0 and not column.isna().any()


def in_blocks(column: Any) -> bool:
    """Say whether each of at least two labels stands in one block of at least three rows."""
    if not _are_labels(column):
        return False
    changes = int((column != column.shift()).sum())
    return 1 < changes == column.nunique() and column.value_counts().min() >= 3


def _is_people(column: Any) -> bool:
    """Say whether a column tells who is recorded, in any order of rows."""
    named = str(column.name).lower().removesuffix("_id") in PEOPLE
    return named and _are_labels(column) and 1 < column.nunique() <= len(column) / 3


def tells_trials(table: Table, name: Any, stamps: Stamps, sort: bool) -> bool:
    """Say whether the times are in order within each label of a column that is no measurement."""
    column = table.frame[name]
    few = _are_labels(column) and 1 < column.nunique() <= len(column) / 3
    return few and _orders(table, [name], stamps, sort)
