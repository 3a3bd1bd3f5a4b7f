"""Dependence of pairs of nodes within one sample, given all lagged parents: the test of a link between residuals.

Each node is regressed on its own past and its sources (`links.known`). A few functions of its residual are kept:
location, spread, shape. Two nodes depend on each other within one sample if these functions are correlated. The rungs
are those of the test of a link (`links.ladder`): a line; all functions of one node against the location of the other;
spread against location and spread; all against all. Their p-values, both ways, are combined (Cauchy). If a residual is
independent of everything else at the same sample, the p-value is uniform even where only one of the two regressions is
right (Shah and Peters 2020). Circular shifts of one node widen the statistic where chance gives more than the formula.

All pairs are one product of matrices, so that the number of nodes hardly matters.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.estimators.wilks import wilks_p
from enmesh.links.functions import FUNCTIONS
from enmesh.links.known import Known
from enmesh.links.ladder import LOOK, WEIGHTS, combined, shifted, turns_of
from enmesh.links.samples import Samples
from enmesh.significance import q_values

FEW = 5000  # pairs up to which each with a small p-value is widened by shifts, else those with a small q-value
BLOCK = 4096  # pairs that are tested in one go


class Pair(NamedTuple):
    """Two nodes, first and second, the value of the strongest rung in nats, p-value and q-value."""

    first: int
    second: int
    value: float
    p_value: float
    q_value: float


def given_lagged(samples: Samples, lagged: Sequence[Sequence[Lagged]], clocks: Sequence[int]) -> list[Known]:
    """Return every node given its own past and its sources; ``lagged[i]`` are these of node i."""
    return [Known(samples, i, variables, clock) for i, (variables, clock) in enumerate(zip(lagged, clocks))]


def dependent_pairs(known: Sequence[Known]) -> list[Pair]:
    """Test all pairs of nodes but those without remainder; ``known[i]`` is node i given its lagged parents."""
    if not known:
        return []
    responses, rows = _aligned(known)
    sizes = np.array([len(one.responses) for one in known])
    ends = np.array([(i, j) for i in range(len(known)) for j in range(i) if sizes[i] and sizes[j]], int).reshape(-1, 2)
    if not len(ends):
        return []
    parts = [_tested(known, responses, rows, ends[at : at + BLOCK]) for at in range(0, len(ends), BLOCK)]
    value, p = (np.concatenate(part) for part in zip(*parts))
    q = q_values(p)
    for row in np.flatnonzero((p <= LOOK) if len(ends) <= FEW else (q <= LOOK)):
        value[row], p[row] = _widened(known, responses, rows, tuple(ends[row].tolist()))
    q = q_values(p)
    return [Pair(int(j), int(i), *map(float, one)) for (i, j), *one in zip(ends, value, p, q)]


def _aligned(known: Sequence[Known]) -> tuple[np.ndarray, np.ndarray]:
    """Return responses of variance 1 ``(node, FUNCTIONS, row)``, 0 where one is missing, and which are there."""
    every = np.unique(np.concatenate([one.rows for one in known]))
    responses, there = np.zeros((len(known), FUNCTIONS, len(every))), np.zeros((len(known), len(every)))
    for i, one in enumerate(known):
        at = np.searchsorted(every, one.rows)
        there[i, at] = 1
        if len(one.responses):
            responses[i, : len(one.responses), at] = (one.responses * np.sqrt(one.n)).T
    return responses, there


def _tested(
    known: Sequence[Known], responses: np.ndarray, there: np.ndarray, ends: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return value and p-value of some pairs by formula."""
    (one, first), (other, second) = (np.unique(column, return_inverse=True) for column in ends.T)
    rows = responses.shape[2]
    cross = responses[one].reshape(-1, rows) @ responses[other].reshape(-1, rows).T
    cross = cross.reshape(len(one), FUNCTIONS, len(other), FUNCTIONS)
    count = (there[one] @ there[other].T)[first, second]
    cross = cross[first, :, second] / np.maximum(count, 1)[:, None, None]
    ranks = np.array([node.rank for node in known])
    rest = count - ranks[ends].max(axis=1)
    return _combined(known, ends, _ratios(cross), rest)


def _ratios(cross: np.ndarray) -> np.ndarray:
    """Return -ln of Wilks' lambda of every rung from correlations ``(..., FUNCTIONS, FUNCTIONS)``: rungs last."""
    whole = cross @ np.swapaxes(cross, -1, -2)
    line = cross[..., 0, 0] ** 2
    other = (cross[..., :2, 1] ** 2).sum(-1), (cross[..., 1, :2] ** 2).sum(-1)
    one = (cross[..., :, 0] ** 2).sum(-1), (cross[..., 0, :] ** 2).sum(-1)
    single = np.stack([line, *one, *other], -1)
    left = np.linalg.slogdet(np.eye(FUNCTIONS) - whole + 1e-12 * np.eye(FUNCTIONS))[1]
    return np.concatenate([-np.log(np.maximum(1 - single, 1e-26)), np.minimum(-left, 60.0)[..., None]], axis=-1)


def _freedom(known: Sequence[Known], ends: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features, responses and weight of every rung of some pairs, ``(pair, rung)``."""
    sizes = np.array([len(one.responses) for one in known])
    a, b = sizes[ends].T
    one, two = np.ones_like(a), np.minimum(2, [a, b])
    features = np.stack([one, a, b, two[0] * (b > 1), two[1] * (a > 1), np.maximum(a, b)], axis=1)
    responses = np.stack([one, one, one, one, one, np.minimum(a, b)], axis=1)
    linear = np.array([one.linear for one in known])[ends].all(axis=1)
    line, curve, spread, *every = np.where(linear[:, None], WEIGHTS[True], WEIGHTS[False]).T
    weights = np.stack([line, curve / 2, curve / 2, spread / 2, spread / 2, sum(every)], axis=1)
    weights[:, 1:] *= ((a > 1) | (b > 1))[:, None]
    return features, responses, weights


def _combined(
    known: Sequence[Known], ends: np.ndarray, ratios: np.ndarray, rest: np.ndarray, wider: np.ndarray | float = 1.0
) -> tuple[np.ndarray, np.ndarray]:
    """Return value and combined p-value of pairs from the ratios of their rungs, which are ``wider`` by chance."""
    features, responses, weights = _freedom(known, ends)
    degrees: Any = (features, responses, rest[:, None])
    p = wilks_p(ratios / wider, *degrees)
    weights = np.where(features > 0, weights, 0)
    best = np.where(weights > 0, p / np.maximum(weights, 1e-12), np.inf).argmin(axis=1)
    return np.take_along_axis(ratios, best[:, None], 1)[:, 0] / 2, combined(p, weights)


def _widened(
    known: Sequence[Known], responses: np.ndarray, there: np.ndarray, ends: tuple[int, int]
) -> tuple[float, float]:
    """Return value and p-value of a pair, of statistics divided by their means over circular shifts where larger."""
    i, j = ends
    both = np.flatnonzero(there[i] * there[j])
    one, other = responses[i][:, both], responses[j][:, both]
    rest = np.array([len(both) - max(known[i].rank, known[j].rank)])
    moved = shifted(other, turns_of(known[i], other[:1]))
    null = _ratios(one @ np.swapaxes(moved, 1, 2) / len(both))
    pair = np.array([ends])
    features, count, _ = _freedom(known, pair)
    expected = np.maximum(features * count, 1)[0]
    size = (rest - features - (count - features + 1) / 2)[0] * null.mean(axis=0) / expected
    ratios = _ratios(one @ other.T / len(both))[None]
    value, p = _combined(known, pair, ratios, rest, np.maximum(1.0, size))
    return float(value[0]), float(p[0])
