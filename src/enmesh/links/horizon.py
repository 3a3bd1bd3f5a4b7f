"""How far back sources are looked for: a few lags, or as many as a linear look at a tenth of the record asks for.

Innovations of every node (the residuals of a linear autoregression) are correlated at lags up to a tenth of the record.
A pair whose strongest correlation lies beyond the usual lags, and is significant among all pairs and lags at a tenth of
the level, moves the horizon to it. Both ends are innovations, since memory would carry a near lag far (prewhitening:
Box and Jenkins 1970).
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
    """Return the largest lag at which sources are looked for, and the reason in words."""
    samples = max(series.lengths)
    usual = max(1, min(USUAL, sum(series.lengths) // LEAST, samples - 2))
    far = int(TENTH * samples)
    bearable = sum(series.lengths) // LEAST
    if far <= usual:
        return usual, "default; the record is too short for a look at longer lags"
    lag = _scanned(series, usual, far, level)
    if lag is None:
        return (usual, "default; the recording is too large for a scan of longer lags, or its trials are too short")
    if lag <= usual:
        return usual, f"default; a linear scan of lags {usual + 1} to {far} found nothing"
    if lag <= bearable:
        return lag, f"a linear scan of lags {usual + 1} to {far} found a source at lag {lag}"
    return usual, f"default; a linear scan found a source at lag {lag}: max_lag={lag} looks there"


def _scanned(series: Series, usual: int, far: int, level: float) -> int | None:
    """Return the largest lag beyond the usual ones at which a pair depends most, and significantly.

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
    size = np.abs(total) / np.sqrt(n)
    size[:, range(nodes), range(nodes)] = 0
    tests = nodes * (nodes - 1) * far
    threshold = -ndtri(TENTH * level / 2 / tests)
    lags = size[1:].argmax(axis=0) + 1
    near = np.abs(np.arange(1, far + 1)[:, None, None] - lags) <= usual
    second = np.where(near, 0, size[1:]).max(axis=0)
    clear = (size[1:].max(axis=0) > np.maximum(threshold, ALONE * second)) & (lags > usual)
    return int(lags[clear].max(initial=0))


def _innovations(trial: np.ndarray, order: int) -> np.ndarray:
    """Return what a line through ``order`` own lags leaves of the normal scores of each node, standardised."""
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
