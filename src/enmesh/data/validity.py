"""What is wrong with values that were given: said once, with the column named."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.objects import MOST_NODES
from enmesh.data.table import can_be_seen, listed, visible
from enmesh.errors import InputError

if TYPE_CHECKING:
    from enmesh.data.series import Series

# A transition needs a past and a next value, and a constant cannot be told from so few.
MIN_LENGTH = 3
# Beyond these the squares of values overflow, or those of their differences vanish.
LARGEST, SMALLEST = 1e150, 1e-150


def validate(series: "Series", missing: str, duplicates: str) -> None:
    """Refuse values that nothing can be computed from, with the column named."""
    if series.n_nodes >= MOST_NODES * len(series) > 0:
        raise InputError(
            f"{len(series)} samples of {series.n_nodes} nodes are too few to tell the nodes apart; pass "
            "transpose=True if rows are nodes, or choose columns"
        )
    short = min(series.lengths)
    if short < MIN_LENGTH:
        turn = "; pass transpose=True if rows are nodes" if series.n_nodes > short else ""
        raise InputError(f"a trial has {short} samples; at least {MIN_LENGTH} are needed{turn}")
    pooled = series.values
    if pooled.dtype.kind == "f":
        _refuse(series, "infinite", np.isinf(pooled).sum(0), "replace or cut them")
        nans = np.isnan(pooled)
        if missing == "raise":
            _refuse(series, "missing (NaN)", nans.sum(0), "fill or cut them, or pass missing='drop'")
        empty = [name for name, gone in zip(series.names, nans.all(0)) if gone]
        if empty:
            raise InputError(f"no value at all in column {listed(empty)}; leave it out")
        low, high = np.nanmin(pooled, 0), np.nanmax(pooled, 0)
    else:
        low, high = pooled.min(0), pooled.max(0)
    constant = [name for name, same in zip(series.names, low == high) if same]
    if constant:
        raise InputError(f"constant column: {listed(constant)}; it carries no information, leave it out")
    if pooled.dtype.kind == "f":
        _refuse_extreme(series, low, high)
    if duplicates == "raise":
        _refuse_identical(series, pooled)


def _refuse_extreme(series: "Series", low: np.ndarray, high: np.ndarray) -> None:
    """Refuse numbers whose squares are beyond what a computer can hold."""
    for name, least, most in zip(series.names, low, high):
        size = max(abs(least), abs(most))
        if size > LARGEST:
            raise InputError(
                f"values up to {size:.3g} in column {visible(name)} are too large to compute with "
                f"(over {LARGEST:g}); divide the column by a power of ten"
            )
        if most - least < SMALLEST:
            raise InputError(
                f"values in column {visible(name)} differ by no more than {most - least:.3g}, too little to "
                "compute with; multiply the column by a power of ten"
            )


def _refuse(series: "Series", what: str, counts: np.ndarray, advice: str) -> None:
    if counts.any():
        found = [f"{name} ({count})" for name, count in zip(series.names, counts) if count]
        raise InputError(f"{what} values in column {listed(found)}; {advice}")


def _refuse_identical(series: "Series", pooled: np.ndarray) -> None:
    seen: dict[bytes, str] = {}
    for i, name in enumerate(series.names):
        column = np.ascontiguousarray(pooled[:, i])
        first = seen.setdefault(hashlib.sha256(column.data).digest(), name)
        if first != name:
            raise InputError(f"columns {visible(first)} and {visible(name)} are identical; leave one out")


def check_names(names: Sequence[Any] | None, n_nodes: int) -> tuple[str, ...]:
    """Return one name for every node, or say what is wrong with those given."""
    chosen = tuple(f"x{i}" for i in range(n_nodes)) if names is None else tuple(str(name) for name in names)
    if len(chosen) != n_nodes:
        raise InputError(f"{len(chosen)} names for {n_nodes} columns; give one name per column")
    twice = sorted(name for name, count in Counter(chosen).items() if count > 1)
    if twice:
        raise InputError(f"duplicate name: {listed(twice)}; names must differ")
    unseen = next((i for i, name in enumerate(chosen) if not can_be_seen(name)), None)
    if unseen is not None:
        given = ascii(chosen[unseen])
        raise InputError(f"the name of column {unseen + 1} cannot be seen ({given}); give it another")
    return chosen
