"""Values: the samples of all trials, how they are checked, and how a trial is prepared; NaN is missing and stays so."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enmesh.data.rules import Rules
from enmesh.data.table import can_be_seen, listed, visible
from enmesh.data.times import Time
from enmesh.errors import InputError, refuse_if

FLOAT, INTEGER, TEXT = "float", "integer", "text"
# More nodes than this many times the samples: no estimate can tell them apart.
MOST_NODES = 10
# As many nodes as this in the last axis of (trial, time, node): as trials they would be hardly any.
FEW_NODES = 4
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


def turned(array: Any, rules: Rules, names: int = 0) -> Any:
    """Return an array as (time, node) or (trial, time, node); refuse axes that can be read two ways and are not named.

    ``names`` is the number of names of nodes that stand beside the array, 0 for none: an axis of that length tells.
    """
    if array.ndim not in (2, 3):
        return array
    if rules.dims is not None:
        return _in_order(array, rules.dims)
    if rules.transpose:
        return np.swapaxes(array, -1, -2)
    fits = [axis for axis in range(array.ndim) if array.shape[axis] == names]
    if rules.transpose is None and fits != [array.ndim - 1]:
        _refuse_two_readings(array.shape)
    return array


def listed_trials(trials: Sequence[Any], rules: Rules, names: int = 0) -> list[Any]:
    """Return a list of two-dimensional trials as (time, node) each; their lengths may tell which axis is time."""
    if rules.dims is not None:
        inner = rules.dims[1:] if len(rules.dims) == 3 and rules.dims[0] == "trial" else rules.dims
        return [_in_order(trial, inner) for trial in trials]
    if rules.transpose:
        return [trial.T for trial in trials]
    lengths, widths = ({trial.shape[axis] for trial in trials} for axis in (0, 1))
    told = rules.transpose is False or (len(widths) == 1 and (len(lengths) > 1 or widths == {names} != lengths))
    if not told and len(lengths) == len(widths) == 1 and len(trials) > 1:
        _refuse_two_readings((len(trials), *trials[0].shape), cube=False)
    return list(trials)


def _in_order(array: Any, dims: tuple[str, ...]) -> Any:
    if len(dims) != array.ndim:
        told = f"dims={dims} names {len(dims)} axes and the array has {array.ndim} (shape {array.shape})"
        raise InputError(f"{told}; name each axis once")
    order = [dims.index(axis) for axis in ("trial", "time", "node") if axis in dims]
    array = array.transpose(order)
    return array if "node" in dims else array[..., None]


def _refuse_two_readings(shape: tuple[int, ...], cube: bool = True) -> None:
    """Refuse a shape that may be read in another order of axes as well, with both readings.

    The first axis of what is not a ``cube`` but a list of arrays is that of trials.
    """
    *several, length, width = shape
    trials = f"{several[0]} trials of " if several else ""
    wide = length < width and (several or width < MOST_NODES * length)
    if wide or (several and width > FEW_NODES and length < 2 * width):
        held = f"{trials}{length} samples of {width} nodes"
        advice = "pass transpose=True if the last axis is time, transpose=False if it is not"
        raise InputError(f"shape {shape} would be {held}; {advice}")
    if cube and several and width > FEW_NODES and 1 < several[0] <= length / 2:
        other = f"{width} trials of {length} samples of {several[0]} nodes"
        told = f"shape {shape} can be read as {trials}{length} samples of {width} nodes, or as {other}"
        ways = "dims=('trial', 'time', 'node') or dims=('node', 'time', 'trial')"
        raise InputError(f"{told}; say which with {ways}")


def without_constant(values: Values) -> tuple[Values, tuple[str, ...]]:
    """Return values without the nodes that are constant or have no value at all, and the names of those."""
    pooled = np.concatenate(values.trials)
    moves = (np.fmax.reduce(pooled) > np.fmin.reduce(pooled)) & ~_still(values)
    keep = np.flatnonzero(moves)
    names = tuple(values.names[i] for i in keep)
    labels = {name: values.labels[name] for name in names if name in values.labels}
    trials = tuple(trial[:, keep] for trial in values.trials)
    kinds = tuple(values.kinds[i] for i in keep)
    dropped = tuple(name for name, kept in zip(values.names, moves) if not kept)
    if not names:
        raise InputError("every column is constant; give at least one that changes")
    return replace(values, names=names, trials=trials, kinds=kinds, labels=labels), dropped


def _still(values: Values) -> np.ndarray:
    """Say of each column whether it holds measurements that never change within a trial; states may be so by chance."""
    measured = np.array([kind == FLOAT for kind in values.kinds])
    if len(values.trials) == 1 or not measured.any():
        return np.zeros(len(measured), bool)
    changes = [np.fmax.reduce(trial) > np.fmin.reduce(trial) for trial in values.trials if len(trial)]
    return measured & ~np.any(changes, axis=0)


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
        which = "the record"
        if max(map(len, trials)) >= MIN_LENGTH:
            which, turn = f"trial {[*map(len, trials)].index(short) + 1}", "; leave it out"
        raise InputError(f"{which} has {short} sample{'s' * (short != 1)}; at least {MIN_LENGTH} are needed{turn}")

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
        refuse(nans.all(0), "no value at all in column", "leave it out (drop_constant=True)")
    low, high = np.nanmin(pooled, 0), np.nanmax(pooled, 0)
    refuse(low == high, "constant column:", "it carries no information, leave it out (drop_constant=True)")
    refuse(
        _still(values),
        "constant within every trial: column",
        "it carries no information about what follows, leave it out (drop_constant=True)",
    )
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
    again: dict[bytes, int] = {}
    for number, trial in (
        enumerate(trials, 1) if duplicates == "raise" and len(trials) > 1 and FLOAT in values.kinds else ()
    ):
        earlier = again.setdefault(hashlib.sha256(np.ascontiguousarray(trial).data).digest(), number)
        refuse_if(earlier != number, f"trials {earlier} and {number} are identical; leave one out")


def check_names(names: Sequence[Any], n_nodes: int) -> tuple[str, ...]:
    """Return one name for every node, or say what is wrong with those given."""
    chosen = tuple(str(name) for name in names)
    refuse_if(len(chosen) != n_nodes, f"{len(chosen)} names for {n_nodes} columns; give one name per column")
    twice = sorted(name for name, count in Counter(chosen).items() if count > 1)
    refuse_if(twice, f"duplicate name: {listed(twice)}; names must differ")
    for number, name in enumerate(chosen, 1):
        if not can_be_seen(name):
            raise InputError(f"column {number} has no visible name ({name!a}); rename it")
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
        needs = f"it needs two periods, {2 * period}: give at most {len(values) // 2}"
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
