"""Preparing one trial, ``(time, node)`` of floats: differences, trend, season, scale. NaN is missing and stays so."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.columns import FLOAT, TEXT, Values
from enmesh.data.table import listed
from enmesh.errors import InputError

if TYPE_CHECKING:
    from enmesh.data.series import Series


def interpolated(found: Values, longest: int) -> tuple[Values, int]:
    """Fill gaps of up to ``longest`` samples of measurements by straight lines; return how many values were filled.

    A gap at the end of a trial, or a longer one, stays.
    """
    columns = [i for i, kind in enumerate(found.kinds) if kind == FLOAT]
    trials, count = [], 0
    for trial in found.trials:
        trial = np.array(trial)
        for i in columns:
            absent = np.isnan(trial[:, i])
            known = np.flatnonzero(~absent)
            if not absent.any() or len(known) < 2:
                continue
            wide = np.diff(known) - 1
            fill = np.zeros(len(trial), bool)
            for start, width in zip(
                known[:-1][(wide > 0) & (wide <= longest)], wide[(wide > 0) & (wide <= longest)]
            ):
                fill[start + 1 : start + 1 + width] = True
            trial[fill, i] = np.interp(np.flatnonzero(fill), known, trial[known, i])
            count += int(fill.sum())
        trials.append(trial)
    return replace(found, trials=tuple(trials)), count


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


def nodes_to_change(
    series: "Series", nodes: Sequence[str] | None, what: str, keep: tuple[str, ...]
) -> list[int]:
    """Return the positions of the nodes to change: the named ones, or all but the kinds to keep."""
    if nodes is None:
        picked = [i for i, kind in enumerate(series.kinds) if kind not in keep]
        if not picked:
            held = "text" if keep == (TEXT,) else "whole numbers or text"
            raise InputError(f"every node is {held}, which stands for states; name the nodes to be {what}")
        return picked
    picked = list(series.indices(nodes))
    words = [series.names[i] for i in picked if series.kinds[i] == TEXT]
    if words:
        raise InputError(f"{listed(words)} is text and cannot be {what}; leave it out")
    return picked


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
