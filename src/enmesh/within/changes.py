"""Whether the links of a network change along a record, and when: partial sums of the test's statistic.

What is left of a target, given its sources, is multiplied by each lagged variable. If nothing changes, the partial sums
of these products, tied at both ends, are a Brownian bridge whose clock is the sum of their squares, so that a change of
variance alone moves nothing. The largest distance from 0 along the record has the distribution of Kolmogorov: the
search for the time is counted. P-values over lags and functions, and then over pairs, are combined (Cauchy).

The time is then the one at which two regressions, before and after, have the largest likelihood for the targets that
change.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.links.known import Known
from enmesh.links.ladder import combined
from enmesh.links.samples import Samples
from enmesh.significance import q_values

# q-value of a pair up to which it takes part in finding the time of a change that is known. (Switching systems of
# within.py, seeds 100 to 119: with .01, .05 and .2 the median distance is 9, 7.5 and 6.5 samples.)
CALM = 0.05
PLACES = 400  # times that are compared at most
FUNCTIONS = 2  # of a lagged variable: its values, and the first function that bends


class Change(NamedTuple):
    """P-value of any change and of each pair, sums of each pair ``(source, target, row)``, the rows, and a limit.

    A pair without a change exceeds the limit in at most 5 % (Bonferroni over lags and functions).
    """

    p_value: float
    pairs: np.ndarray
    sums: np.ndarray
    rows: np.ndarray
    limit: float


def bridges(products: np.ndarray) -> np.ndarray:
    """Return partial sums of products ``(..., n)``, tied at both ends, over their standard deviation at the end."""
    total = np.cumsum(products, axis=-1)
    clock = np.cumsum(products**2, axis=-1)
    end = np.maximum(clock[..., -1:], 1e-300)
    return (total - clock / end * total[..., -1:]) / np.sqrt(end)


def memory(products: np.ndarray) -> np.ndarray:
    """Return by how much the variance of sums exceeds that of independent products, at least 1 (Bartlett's weights)."""
    n = products.shape[-1]
    centred = products - products.mean(axis=-1, keepdims=True)
    variance = np.maximum((centred**2).sum(axis=-1), 1e-300)
    lags, more = round(n ** (1 / 3)), np.zeros(products.shape[:-1])
    for lag in range(1, lags + 1):
        more += 2 * (1 - lag / (lags + 1)) * (centred[..., lag:] * centred[..., :-lag]).sum(axis=-1) / variance
    return np.maximum(1.0, 1 + more)


def sums_of(samples: Samples, known: Known, variables: Sequence[Lagged], rows: np.ndarray) -> np.ndarray:
    """Return the sums of products of the residual with lagged variables, ``(variable, function, row)``."""
    x = np.stack([samples.take(one, variables, rows) for one in samples.functions[:FUNCTIONS]], axis=1)
    product = x * known.weighted(known.views[0].responses[0])[np.searchsorted(known.rows, rows)]
    return bridges(product) / np.sqrt(memory(product))[..., None]


def without_change(sums: np.ndarray) -> np.ndarray:
    """Return the p-value of each largest distance from 0 along the last axis (Kolmogorov)."""
    from scipy.special import kolmogorov

    return np.maximum(kolmogorov(np.abs(sums).max(axis=-1)), 1e-300)


def changing_links(known: Sequence[Known], sources: Sequence[Sequence[int]]) -> list[tuple[float, int, int]]:
    """Test whether the links of a network change: p-value, source and target of each; ``sources[i]`` drive node i."""
    found = []
    for one, some in zip(known, sources):
        for j in some if len(one.responses) else ():
            p = without_change(sums_of(one.samples, one, [v for v in one.variables if v.node == j], one.rows)).ravel()
            found.append((float(combined(p, np.ones(len(p)))), j, one.target))
    return found


def change_of(samples: Samples, lagged: Sequence[Sequence[Lagged]], clocks: Sequence[int]) -> Change:
    """Test whether any link changes along the record; ``lagged[i]`` are the own past and the sources of node i."""
    from scipy.special import kolmogi

    nodes, lags = samples.nodes, samples.max_lag
    every = [Lagged(j, lag) for j in range(nodes) for lag in range(1, lags + 1)]
    rows = samples.complete([*every, *(Lagged(i, 0) for i in range(nodes))])
    p = np.ones((nodes, nodes))
    sums = np.zeros((nodes, nodes, len(rows)), np.float32)
    for i in range(nodes):
        known = Known(samples, i, lagged[i], clocks[i])
        if not len(known.responses):
            continue
        moved = sums_of(samples, known, every, rows).reshape(nodes, -1, len(rows))
        each = without_change(moved)
        p[:, i] = combined(each, np.ones(each.shape[1]))
        sums[:, i] = moved[range(nodes), each.argmin(axis=1)]
        sums[i, i] = 0
    off = ~np.eye(nodes, dtype=bool)
    whole = float(combined(p[off], np.ones(off.sum())))
    p[~off] = np.nan
    return Change(whole, p, sums, rows, float(kolmogi(0.05 / (lags * FUNCTIONS))))


def time_of(samples: Samples, lagged: Sequence[Sequence[Lagged]], change: Change, shortest: int) -> int:
    """Return the row after which links change: where two regressions for the changing targets fit best."""
    rows = change.rows
    pairs, q = np.nan_to_num(change.pairs, nan=1.0), np.ones(change.pairs.shape)
    off = ~np.eye(len(pairs), dtype=bool)
    q[off] = q_values(pairs[off])
    limit = float(pairs[q <= max(CALM, float(q.min()))].max())
    targets = np.flatnonzero(pairs.min(axis=0) <= limit).tolist()
    places = np.unique(np.linspace(shortest, len(rows) - shortest, PLACES).astype(int))
    total = np.zeros(len(places))
    for i in targets:
        sources = np.flatnonzero(pairs[:, i] <= limit)
        variables = {*lagged[i], *(Lagged(int(j), lag) for j in sources for lag in range(1, samples.max_lag + 1))}
        x = samples.take(samples.functions[0], sorted(variables), rows)
        bent = samples.take(samples.functions[1], sorted(variables), rows)
        (y,) = samples.take(samples.functions[0], [Lagged(i, 0)], rows)
        total += split_likelihood(np.vstack([np.ones((1, len(rows))), x, bent]), y, places)
    return int(places[total.argmax()])


def split_likelihood(x: np.ndarray, y: np.ndarray, places: np.ndarray) -> np.ndarray:
    """Return the Gaussian log-likelihood, but for a constant, of two regressions of y, before and after each place."""
    both = np.vstack([x, y])
    pieces = np.split(both, places, axis=1)
    grams = np.cumsum([piece @ piece.T for piece in pieces], axis=0)
    found = np.zeros(len(places))
    for gram, count in ((grams[:-1], places), (grams[-1] - grams[:-1], x.shape[1] - places)):
        size = np.einsum("pii->pi", gram)[:, :-1]
        left = gram[:, :-1, :-1] + 1e-8 * np.eye(len(x)) * (size.mean(axis=1) + 1e-12)[:, None, None]
        beta = np.linalg.solve(left, gram[:, :-1, -1:])[..., 0]
        rest = gram[:, -1, -1] - np.einsum("pi,pi->p", beta, gram[:, :-1, -1])
        found -= 0.5 * count * np.log(np.maximum(rest, 1e-9 * count) / count)
    return found
