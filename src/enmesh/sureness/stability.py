"""Would each link be found again? Data are cut into two halves, and the links that both show are counted.

A link that chance made with p = .001 in all data stands in every third half, but seldom in both halves of a cut, for
what chance put into one half is missing in the other (docs/sureness.md has the probabilities).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from math import comb
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.draw.shown import Reported
from enmesh.errors import InputError, hazard
from enmesh.inference.infer import infer
from enmesh.inference.store import described
from enmesh.inference.workers import in_order
from enmesh.model.power import Power, power
from enmesh.network.network import Network
from enmesh.options import describe, whole
from enmesh.sureness.units import Units, frame, units_of

if TYPE_CHECKING:
    import pandas as pd

FORMAT = 2  # raised whenever the same seed draws other halves, so that stored networks are not reused
FEW_CUTS = 20  # ways to halve the data under which shares are said to be coarse

Edges = list[list[str]]


@dataclass(frozen=True)
class Stability(Reported):
    """How often each link was found again.

    Attributes
    ----------
    frequency
        DataFrame, row drives column: share of the cuts in whose two halves the link was found; no diagonal.
    n, networks
        Networks that were asked for, and that were inferred: two for each cut.
    block
        Length of the blocks that were taken or left, in samples; None where whole trials were.
    power
        Which links a half could show; None where a score or an estimator was given.
    """

    frequency: "pd.DataFrame"
    n: int
    networks: int
    block: int | None
    power: Power | None = None

    def on(self, network: Network) -> Network:
        """Return a network with the share of each link in ``network.edges["stability"]``."""
        found, nodes = self.frequency.to_numpy(), enumerate(self.frequency.columns)
        shares = {f"{s}>{t}": float(found[i, j]) for (i, s), (j, t) in permutations(nodes, 2)}
        return replace(network, stability=shares, options={**network.options, "bootstrap": self.networks})

    def __repr__(self) -> str:
        units = "trials" if self.block is None else f"blocks of {self.block} samples"
        return f"Stability({self.networks} networks from halves of the data, {units})"


def stability(
    series: Any,
    n: int = 100,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    block: int | None = None,
    **options: Any,
) -> Stability:
    """Cut the data into two random halves, infer a network from each, and count how often both have a link.

    The recording is cut into contiguous blocks, or into its trials where there are at least ten; one network is
    inferred from one half of them, the next one from the other half (complementary pairs). Each half has half the
    samples to show a link: a share is rather too low than too high.

    Parameters
    ----------
    n, seed
        Number of networks, two for each cut (an odd number is rounded up); seed of the halves, and of `infer`.
    store
        Path of a file that keeps the links of each finished network, so that a stopped run resumes.
    block
        Length of a block in samples, in place of the one chosen from the data.
    n_jobs, progress, options
        Of `infer`, such as ``score=`` or ``acyclic=``. What is left open is chosen anew in each half.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, seed=0)
    >>> found = em.stability(series, n=4, score=em.TEA(embedding=em.Embedding()))  # 100 for real use
    >>> float(found.frequency.loc["a", "b"])
    1.0

    References
    ----------
    Politis, D. N., Romano, J. P. and Wolf, M. (1999). Subsampling. Springer.
    Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 55.
    """
    series, wanted = Series.of(series), whole("n", n, 1, limit="bootstrap")
    whole("seed", seed)
    n = wanted + wanted % 2
    units = units_of(series, block, options)
    ways = comb(m := len(units), m // 2) // (1 + (m + 1) % 2)
    if ways < FEW_CUTS:
        hazard(f"the data make {m} units that can be halved in {ways} ways: shares are coarse; record longer")
    score = {"type": "bootstrap", "block": units.block, "seed": seed, "options": describe(dict(options))}
    how: dict[str, Any] = {"n_jobs": n_jobs, "progress": progress, "store": store}
    given = [(units, seed, i, options) for i in range(n)]
    edges = in_order(half_network, given, description=described(series, score, FORMAT), **how)
    known = None if {"score", "estimator", "embedding"} & set(options) else _power_of_half(series, options)
    return Stability(frequency_of(series.names, edges), wanted, n, units.block, known)


def _power_of_half(series: Series, options: Mapping[str, Any]) -> Power | None:
    try:
        found = power(series, options.get("level"), max_lag=options.get("max_lag"))
    except InputError:  # of states and measurements together
        return None
    return replace(found, samples=len(series) // 2)


def half_network(units: Units, seed: int, i: int, options: Mapping[str, Any]) -> Edges:
    """Return the links inferred from the i-th half; an odd one is what the even one before it left."""
    order = np.random.default_rng([seed, i // 2]).permutation(len(units))
    middle = len(units) // 2
    chosen = order[middle:] if i % 2 else order[:middle]
    try:
        network = infer(units.take(chosen.tolist()), seed=seed, n_jobs=1, progress=False, **options)
    except InputError as error:
        raise InputError(f"in one half of the data: {error}") from None
    return [list(edge) for edge in network]


def frequency_of(names: tuple[str, ...], edges: Sequence[Edges]) -> "pd.DataFrame":
    """Return the share of cuts, networks 0 and 1, 2 and 3 and so on, in which both have a link."""
    counts = np.zeros((len(names), len(names)))
    for i in range(0, len(edges), 2):
        for source, target in set(map(tuple, edges[i])) & set(map(tuple, edges[i + 1])):
            counts[names.index(source), names.index(target)] += 1
    shares = counts / (len(edges) // 2)
    np.fill_diagonal(shares, np.nan)
    return frame(names, shares)
