"""The largest lag at which sources are tested: 5, or a longer one that a linear scan finds.

The scan correlates the residuals of linear autoregressions of all pairs, at lags up to a tenth of the record
(prewhitening, Box and Jenkins 1970: without it, memory would make a short lag look long). If the strongest
correlation of a pair has a longer lag than the usual ones, and is significant among all pairs and lags at a tenth of
the level, the largest lag is raised to it.
"""

import numpy as np

from enmesh.data.series import Series
from enmesh.links.functions import rank_functions
from enmesh.links.samples import LEAST

USUAL = 5  # lags that are looked at without being asked for (a convention)
TENTH = 0.1  # share of the level for long lags and for products, and of the record
ALONE = 1.25  # times the correlation at all other lags that a far one must have: a shared period has many such peaks
MOST = 3e7  # values of the spectra of all pairs up to which the scan is made at once


def horizon(series: Series, level: float) -> tuple[int, str]:
    """Return the largest lag at which sources are tested, and the reason in words."""
    samples = max(series.lengths)
    usual = max(1, min(USUAL, sum(series.lengths) // LEAST, samples - 2))
    far = int(TENTH * samples)
    bearable = sum(series.lengths) // LEAST
    if far <= usual:
        return usual, "default; the recording is too short for a scan of longer lags"
    lag = _scanned(series, usual, far, level)
    if lag is None:
        return (usual, "default; the recording is too large for a scan of longer lags, or its trials are too short")
    if lag <= usual:
        return usual, f"default; a linear scan of lags {usual + 1} to {far} found nothing"
    if lag <= bearable:
        return lag, f"a linear scan of lags {usual + 1} to {far} found a source at lag {lag}"
    return usual, f"default; a linear scan found a source at lag {lag}; max_lag={lag} tests it"


def _scanned(series: Series, usual: int, far: int, level: float) -> int | None:
    """Return the largest lag, above ``usual``, that is both the strongest of a pair and significant.

    0 if there is none, None if no scan was made.
    """
    from scipy.special import ndtri

    innovations = [_innovations(trial, usual) for trial in series.trials if len(trial) > far + 2 * usual + 2]
    nodes = series.n_nodes
    if not innovations or nodes * nodes * 2 * max(map(len, innovations)) > MOST:
        return None
    total = np.zeros((far + 1, nodes, nodes))
    for one in innovations:
        spectrum = np.fft.rfft(one, 2 * len(one), axis=0)
        for j in range(nodes):  # [lag, source j, target]
            both = np.fft.irfft(spectrum * spectrum[:, [j]].conj(), axis=0)
            total[:, j] += both[: far + 1]
    n = sum(map(len, innovations))
    skewness = sum((one**3).sum(axis=0) for one in innovations) / n
    size = np.abs(_normal(total / np.sqrt(n), np.outer(skewness, skewness) / np.sqrt(n)))
    size[:, range(nodes), range(nodes)] = 0
    tests = max(nodes * (nodes - 1), 1) * far
    threshold = -ndtri(TENTH * level / 2 / tests)
    lags = size[1:].argmax(axis=0) + 1
    near = np.abs(np.arange(1, far + 1)[:, None, None] - lags) <= usual
    second = np.where(near, 0, size[1:]).max(axis=0)
    clear = (size[1:].max(axis=0) > np.maximum(threshold, ALONE * second)) & (lags > usual)
    return int(lags[clear].max(initial=0))


def _normal(size: np.ndarray, skewness: np.ndarray) -> np.ndarray:
    """Return normal scores of standardised means whose distribution has a skewness (Wilson and Hilferty 1931).

    Two nodes that are 0 most of the time have few coincidences. Their number is not normal.
    """
    skewness = np.where(np.abs(skewness) < 1e-3, 1e-3, skewness)
    return 6 / skewness * (np.cbrt(skewness * size / 2 + 1) - 1) + skewness / 6


def _innovations(trial: np.ndarray, order: int) -> np.ndarray:
    """Return the standardised residuals of a linear autoregression of each node's normal scores on ``order`` lags."""
    found = []
    for column in trial.astype(float).T:
        there = np.isfinite(column)
        score = np.zeros(len(column))
        score[there] = rank_functions(column[there], 1)[0]
        past = np.stack([score[order - lag : len(score) - lag] for lag in range(order + 1)], axis=1)
        y, x = past[:, 0], np.column_stack([np.ones(len(past)), past[:, 1:]])
        left = y - x @ np.linalg.lstsq(x, y, rcond=None)[0]
        found.append(left / max(float(left.std()), 1e-12))
    return np.stack(found, axis=1)
