"""Values: the samples of all trials, how they are checked, and how a trial is prepared; NaN is missing and stays so."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enmesh.data.table import can_be_seen, listed, visible
from enmesh.data.times import Time
from enmesh.errors import InputError, refuse_if

FLOAT, INTEGER, TEXT = "float", "integer", "text"
# More nodes than this many times the samples: no estimate can tell them apart.
MOST_NODES = 10
# A transition needs a past and a next value, and a constant cannot be told from so few.
MIN_LENGTH = 3
# Beyond these the squares of values overflow, or those of their differences vanish.
LARGEST, SMALLEST = 1e150, 1e-150


@dataclass(frozen=True)
class Values:
    """Trials as arrays ``(time, node)``, names and kinds of columns, words behind codes; the rest where it is known."""

    names: tuple[str, ...]
    trials: tuple[np.ndarray, ...]
    kinds: tuple[str, ...]
    labels: dict[str, tuple[str, ...]]
    dt: float | None = None
    time: Time | None = None
    file: str = ""


def turned(array: np.ndarray, transpose: bool | None) -> np.ndarray:
    """Return an array with times before nodes; refuse one that may be either way, unless that is said."""
    if array.ndim not in (2, 3):
        return array
    if transpose:
        return np.swapaxes(array, -1, -2)
    *several, length, width = array.shape
    if transpose is None and length < width and (several or width < MOST_NODES * length):
        held = f"{f'{several[0]} trials of ' if several else ''}{length} samples of {width} nodes"
        advice = "pass transpose=True if the last axis is time, transpose=False if it is not"
        raise InputError(f"shape {array.shape} would be {held}; {advice}")
    return array


def validate(values: Values, missing: str, duplicates: str) -> None:
    """Refuse values that nothing can be computed from, with the column named."""
    names, trials = values.names, values.trials
    pooled = trials[0] if len(trials) == 1 else np.concatenate(trials)
    if len(names) >= MOST_NODES * len(pooled) > 0:
        told = f"{len(pooled)} samples of {len(names)} nodes are too few to tell the nodes apart"
        raise InputError(f"{told}; pass transpose=True if rows are nodes, or choose columns")
    short = min(map(len, trials))
    if short < MIN_LENGTH:
        turn = "; pass transpose=True if rows are nodes" if len(names) > short else ""
        raise InputError(f"a trial has {short} samples; at least {MIN_LENGTH} are needed{turn}")

    def refuse(columns: np.ndarray, before: str, after: str) -> None:
        """Refuse the columns that are marked, each with its count where there is one."""
        if columns.any():
            counts = [f" ({count})" if columns.dtype != bool else "" for count in columns]
            found = [f"{name}{count}" for name, count, bad in zip(names, counts, columns) if bad]
            raise InputError(f"{before} {listed(found)}; {after}")

    if pooled.dtype.kind == "f":
        refuse(np.isinf(pooled).sum(0), "infinite values in column", "replace or cut them")
        nans = np.isnan(pooled)
        if missing == "raise":
            advice = "fill or cut them, or pass missing='drop'"
            refuse(nans.sum(0), "missing (NaN) values in column", advice)
        refuse(nans.all(0), "no value at all in column", "leave it out")
    low, high = np.nanmin(pooled, 0), np.nanmax(pooled, 0)
    refuse(low == high, "constant column:", "it carries no information, leave it out")
    if pooled.dtype.kind == "f":
        where, by = "to compute with, in column", "by a power of ten"
        large = f"values over {LARGEST:g} are too large"
        little = f"differences under {SMALLEST:g} are too little"
        refuse(np.fmax(-low, high) > LARGEST, f"{large} {where}", f"divide it {by}")
        refuse(high - low < SMALLEST, f"{little} {where}", f"multiply it {by}")
    seen: dict[bytes, str] = {}
    for name, column in zip(names, pooled.T) if duplicates == "raise" else ():
        first = seen.setdefault(hashlib.sha256(np.ascontiguousarray(column).data).digest(), name)
        refuse_if(first != name, f"columns {visible(first)} and {visible(name)} are identical; leave one out")


def check_names(names: Sequence[Any], n_nodes: int) -> tuple[str, ...]:
    """Return one name for every node, or say what is wrong with those given."""
    chosen = tuple(str(name) for name in names)
    refuse_if(len(chosen) != n_nodes, f"{len(chosen)} names for {n_nodes} columns; give one name per column")
    twice = sorted(name for name, count in Counter(chosen).items() if count > 1)
    refuse_if(twice, f"duplicate name: {listed(twice)}; names must differ")
    for number, name in enumerate(chosen, 1):
        if not can_be_seen(name):
            raise InputError(f"the name of column {number} cannot be seen ({name!a}); give it another")
    return chosen


def interpolated(values: Values, longest: int) -> tuple[Values, int]:
    """Fill gaps of up to ``longest`` measurements, but at the ends of trials, by straight lines; return how many."""
    trials, count = tuple(map(np.array, values.trials)), 0
    for column, kind in ((trial[:, i], kind) for trial in trials for i, kind in enumerate(values.kinds)):
        known = np.flatnonzero(~np.isnan(column))
        gaps = np.diff(known) - 1
        for at in np.flatnonzero((gaps > 0) & (gaps <= longest)) if kind == FLOAT else ():
            fill, ends = np.arange(known[at] + 1, known[at + 1]), known[at : at + 2]
            column[fill] = np.interp(fill, ends, column[ends])
            count += len(fill)
    return replace(values, trials=trials), count


def detrended(values: np.ndarray) -> np.ndarray:
    """Subtract the straight line that fits best (least squares) over the samples that are there."""
    time = np.where(np.isnan(values), np.nan, np.arange(len(values))[:, None])
    time, rest = time - np.nanmean(time, 0), values - np.nanmean(values, 0)
    spread = np.nansum(time**2, 0)
    return rest - time * np.nansum(time * rest, 0) / np.where(spread > 0, spread, 1)


def deseasoned(values: np.ndarray, period: Any) -> np.ndarray:
    """Subtract from each sample the mean of its phase: of all samples a whole number of periods away."""
    if isinstance(period, bool) or not isinstance(period, (int, np.integer)) or period < 2:
        raise InputError(f"period={period!r} is not possible; give a whole number of samples, at least 2")
    if len(values) < 2 * period:
        needs = f"it needs two periods, {2 * period}"
        raise InputError(f"period={period} is too long for a trial of {len(values)} samples; {needs}")
    result = np.array(values, dtype=np.float64)
    for phase in range(period):
        part = result[phase::period]
        part -= np.nansum(part, 0) / np.maximum(np.isfinite(part).sum(0), 1)
    return result


def standardised(values: np.ndarray) -> np.ndarray:
    """Subtract the mean and divide by the standard deviation (ddof 1)."""
    centred = values - np.nanmean(values, axis=0)
    scale = np.nanstd(centred, axis=0, ddof=1)
    return centred / np.where(scale > 0, scale, 1)
