"""Which rows belong to which trial: said by a column, or seen where the time restarts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.data.rules import Rules
from enmesh.data.table import Table, listed, visible
from enmesh.data.times import TRIAL_NAMES, Stamps, restarts
from enmesh.errors import InputError

Found = tuple[tuple[Any, ...], list[np.ndarray], list[str]]
"""Columns of trials, the rows of each trial, and what is to be said of them."""


def groups_of(labels: np.ndarray | None, length: int) -> list[np.ndarray]:
    """Return the rows of each trial, in order of appearance."""
    if labels is None:
        return [np.arange(length)]
    _, first, which = np.unique(labels.astype(str), return_index=True, return_inverse=True)
    order = np.argsort(which, kind="stable")
    parts = np.split(order, np.cumsum(np.bincount(which))[:-1])
    return [parts[label] for label in np.argsort(first)]


def labels_of(table: Table, columns: Sequence[Any]) -> np.ndarray:
    """Return the label of each row: one column, or several together."""
    if len(columns) == 1:
        return np.asarray(table.frame[columns[0]].to_numpy())
    return np.asarray(table.frame[list(columns)].astype(str).agg(" / ".join, axis=1).to_numpy())


def found_trials(table: Table, rules: Rules, stamps: Stamps | None, taken: Sequence[Any]) -> Found:
    """Look for trials where none are named.

    Their column is called trial, or has a likely name and comes in blocks, or the time restarts where it changes. A
    clock that restarts by itself means trials too.
    """
    frame, sort = table.frame, "sort" in rules.modes
    free = [name for name in frame.columns if name not in taken and str(name) not in (rules.columns or ())]
    likely = [name for name in free if str(name).lower() in TRIAL_NAMES and str(name) not in rules.states]
    called = [name for name in likely if str(name).lower() == "trial"]
    if stamps is None or _is_ordered(stamps.values, sort):
        blocks = [
            name for name in likely if in_blocks(frame[name]) or (stamps is None and _is_people(frame[name]))
        ][:1]
        told = [f"each {visible(name)} is taken for a trial (trials=False: one recording)" for name in blocks]
        return _trials(table, called, []) if called else _trials(table, blocks, told)
    found = _telling(table, stamps, sort, free, likely)
    if found:
        told = [f"the time restarts where {listed(found)} changes: each is taken for a trial"]
        return _trials(table, found, [] if found == called else told)
    again = None if called else restarts(stamps.values)
    if again is None or sort or np.ptp(stamps.values[[0, *again]]) > 0:
        return _trials(table, called, [])
    told = [
        f"the time begins again {len(again)} times: each stretch is taken for a trial (trials=False: refuse)"
    ]
    return (), np.split(np.arange(len(frame)), again), told


def _trials(table: Table, columns: Sequence[Any], told: list[str]) -> Found:
    labels = labels_of(table, columns) if columns else None
    return tuple(columns), groups_of(labels, len(table.frame)), told


def _telling(table: Table, stamps: Stamps, sort: bool, free: list[Any], likely: list[Any]) -> list[Any]:
    """Return the column within whose labels the times are in order, or several that do so together."""
    able = [name for name in free if tells_trials(table.frame[name], stamps, sort)]
    found = [name for name in able if name in likely] or able
    if not found and len(likely) > 1:
        together = groups_of(labels_of(table, likely), len(table.frame))
        return likely if _orders(together, stamps, sort) else []
    if len({table.frame[name].factorize()[0].tobytes() for name in found}) > 1:
        said = f"the time restarts, and {listed(found)} may each tell the trials; name one as trials="
        raise InputError(table.said(said))
    return found[:1]


def _is_ordered(values: np.ndarray, sort: bool) -> bool:
    """Say whether times rise throughout, or fall; with ``sort``, whether none comes twice."""
    known = values[np.isfinite(values)]
    steps = np.diff(np.sort(known) if sort else known)
    return bool((steps > 0).all() or (steps < 0).all())


def _orders(groups: list[np.ndarray], stamps: Stamps, sort: bool) -> bool:
    return all(_is_ordered(stamps.values[rows], sort) for rows in groups)


def in_blocks(column: Any) -> bool:
    """Say whether each of at least two labels stands in one block of at least three rows."""
    if getattr(column.dtype, "kind", "O") not in "biuOUS" or column.isna().any() or not len(column):
        return False
    changes = int((column != column.shift()).sum())
    return 1 < changes == column.nunique() and column.value_counts().min() >= 3


def _is_people(column: Any) -> bool:
    """Say whether a column tells who is recorded, in any order of rows."""
    named = str(column.name).lower().removesuffix("_id") in (
        "subject",
        "subj",
        "participant",
        "patient",
        "animal",
    )
    labels = getattr(column.dtype, "kind", "O") in "biuOUS" and not column.isna().any()
    return named and labels and 1 < column.nunique() <= len(column) / 3


def tells_trials(column: Any, stamps: Stamps, sort: bool) -> bool:
    """Say whether the times are in order within each label of a column that is no measurement."""
    if getattr(column.dtype, "kind", "O") not in "biuOUS" or column.isna().any():
        return False
    if not 1 < column.nunique() <= len(column) / 3:
        return False
    return _orders(groups_of(column.to_numpy(), len(column)), stamps, sort)
