"""Preparing one trial, ``(time, node)`` of floats: differences, trend, season, scale. NaN is missing and stays so."""

from dataclasses import replace
from typing import Any

import numpy as np

from enmesh.data.columns import FLOAT, Values
from enmesh.errors import InputError


def interpolated(values: Values, longest: int) -> tuple[Values, int]:
    """Fill gaps of up to ``longest`` samples of measurements by straight lines; return how many values were filled.

    A gap at the end of a trial, or a longer one, stays.
    """
    trials, count = [], 0
    for trial in map(np.array, values.trials):
        for i in (i for i, kind in enumerate(values.kinds) if kind == FLOAT):
            known = np.flatnonzero(~np.isnan(trial[:, i]))
            if len(known) > 1:
                after = np.searchsorted(known, np.arange(known[0], known[-1]), side="right")
                short = known[after] - known[after - 1] <= longest + 1
                fill = known[0] + np.flatnonzero(short & np.isnan(trial[known[0] : known[-1], i]))
                trial[fill, i] = np.interp(fill, known, trial[known, i])
                count += len(fill)
        trials.append(trial)
    return replace(values, trials=tuple(trials)), count


def differenced(values: np.ndarray) -> np.ndarray:
    """``x[t + 1] - x[t]``: one sample fewer."""
    return np.diff(values, axis=0)


def detrended(values: np.ndarray) -> np.ndarray:
    """Subtract the straight line that fits best (least squares) over the samples that are there."""
    time = np.arange(len(values), dtype=np.float64)[:, None]
    there = np.isfinite(values)
    count = there.sum(0)
    time_mean = np.where(there, time, 0).sum(0) / count
    mean = np.where(there, values, 0).sum(0) / count
    centred = np.where(there, time - time_mean, 0)
    rest = np.where(there, values - mean, 0)
    spread = (centred**2).sum(0)
    slope = (centred * rest).sum(0) / np.where(spread > 0, spread, 1)
    return values - mean - slope * (time - time_mean)


def deseasoned(values: np.ndarray, period: int) -> np.ndarray:
    """Subtract from each sample the mean of its phase: of all samples a whole number of periods away."""
    result = np.array(values, dtype=np.float64)
    for phase in range(period):
        part = result[phase::period]
        there = np.isfinite(part)
        part -= np.where(there, part, 0).sum(0) / np.maximum(there.sum(0), 1)
    return result


def standardised(values: np.ndarray) -> np.ndarray:
    """Subtract the mean and divide by the standard deviation (ddof 1)."""
    centred = values - np.nanmean(values, axis=0)
    scale = np.nanstd(centred, axis=0, ddof=1)
    return centred / np.where(scale > 0, scale, 1)


def checked_period(period: object, shortest: int) -> int:
    """Return a period as a whole number of samples, or say why it cannot be one."""
    if isinstance(period, bool) or not isinstance(period, (int, np.integer)) or period < 2:
        raise InputError(f"period={period!r} is not possible; give a whole number of samples, at least 2")
    if shortest < 2 * period:
        raise InputError(
            f"period={period} is too long for a trial of {shortest} samples; it needs two periods, {2 * period}"
        )
    return int(period)


def refuse_nothing_left(before: np.ndarray, after: np.ndarray, names: list[str], what: str) -> None:
    """Refuse columns of which rounding errors alone are left."""
    scale = np.nanmax(np.abs(before), axis=0)
    left = np.nanmax(after, axis=0) - np.nanmin(after, axis=0)
    gone = [name for name, size, rest in zip(names, scale, left) if not rest > 1e-12 * size]
    if gone:
        raise InputError(f"nothing is left of column {', '.join(gone)} when it is {what}; leave it out")


def rows_to_mask(rows: Any, length: int) -> np.ndarray:
    """Return which of so many samples are meant by positions, a slice, or True for each."""
    chosen = np.zeros(length, bool)
    picked = rows if isinstance(rows, slice) else np.asarray(rows)
    if isinstance(picked, np.ndarray) and not picked.size:
        picked = picked.astype(np.int64)
    try:
        chosen[picked] = True
    except IndexError as error:
        raise InputError(f"cannot mask these rows of {length}: {error}") from None
    if not chosen.any():
        raise InputError("no row is masked; name at least one, or use the series as it is")
    return chosen
