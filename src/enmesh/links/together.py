"""Sources that act only together: products of two lagged variables of different nodes.

Two sources can act by their product, or by its sign, while neither predicts anything alone (x' = a b). Up to `MOST`
lagged variables, one matrix product correlates the residual of the target with all their products, of normal scores and
of signs. The best pair is tested exactly, and by circular shifts of the product, at a tenth of the level. Both sources
are then added, and each must pass the test of a link given the other. Its features contain their product.
"""

from collections.abc import Sequence

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.estimators.wilks import SMALLEST
from enmesh.links.horizon import TENTH
from enmesh.links.known import Known
from enmesh.links.ladder import LOOK, by_line, shifted, turns_of
from enmesh.links.samples import Samples

MOST = 300  # lagged variables of which all pairs are formed: 45,000 products


def acting_together(known: Known, sources: Sequence[int], level: float) -> list[Lagged]:
    """Return the two lagged variables whose product predicts the residual best, if significantly; else none."""
    samples, n = known.samples, known.n
    if len(sources) < 2 or len(sources) * samples.max_lag > MOST or not len(known.responses):
        return []
    variables = [Lagged(j, lag) for j in sources for lag in range(1, samples.max_lag + 1)]
    nodes = np.array([v.node for v in variables])
    different = np.triu(nodes[:, None] != nodes, 1)
    score = samples.take(samples.functions[0], variables, known.rows)
    best: tuple[float, np.ndarray, int, int] | None = None
    for x in (score, np.sign(score)):
        told = (x * known.weighted(known.views[0].responses[0])) @ x.T
        size = (x * x) @ (x * x).T - (x @ x.T) ** 2 / n
        share = np.where(different & (size > 1e-6 * n), told**2 / np.maximum(size, 1e-6 * n), 0)
        i, j = map(int, np.unravel_index(int(share.argmax()), share.shape))
        if best is None or share[i, j] > best[0]:
            best = float(share[i, j]), x[i] * x[j], i, j
    assert best is not None
    _, product, i, j = best
    tests = different.sum()  # two kinds, and two links of a false pair
    level = TENTH * level / tests
    shares = _explained(known, product[None])
    if _p_value(shares, known)[0] > min(level, LOOK):
        return []
    null = _explained(known, shifted(product, turns_of(known, product[None])))
    rest = known.n - known.rank - 1
    wider = max(1.0, float((null / (1 - null)).mean() * rest))
    return [variables[i], variables[j]] if _p_value(shares, known, wider)[0] <= level else []


def partners(
    samples: Samples, target: int, own: Sequence[Lagged], given: Sequence[Lagged], clock: int, level: float
) -> tuple[tuple[int, int], ...]:
    """Return the pairs of given sources that act by their product, and of which neither has a linear link."""
    found: list[tuple[int, int]] = []
    nodes = sorted({v.node for v in given})
    for place, one in enumerate(nodes):
        for other in nodes[place + 1 :]:
            rest = [v for v in given if v.node not in (one, other)]
            known = Known(samples, target, [*own, *rest], clock, bases=1)
            if min(by_line(known, [one, other])[1]) > level and acting_together(known, [one, other], level):
                found.append((one, other))
    return tuple(found)


def _explained(known: Known, products: np.ndarray) -> np.ndarray:
    """Return the share of the residual's variance that each product explains, given what is known."""
    products = known.weighted(products)
    basis, (response,) = known.views[0]
    left = products - (products @ basis.T) @ basis
    size = np.einsum("ij,ij->i", left, left)
    return np.minimum((left @ response) ** 2 / np.maximum(size, 1e-9 * known.n), 1 - 1e-12)


def _p_value(shares: np.ndarray, known: Known, wider: float = 1.0) -> np.ndarray:
    from scipy.special import fdtrc

    rest = known.n - known.rank - 1
    return np.maximum(fdtrc(1, rest, shares / (1 - shares) * rest / wider), SMALLEST)
