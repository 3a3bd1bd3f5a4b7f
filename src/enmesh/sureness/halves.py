"""Would each link be found again? Data are cut into two halves, and the links that both show are counted.

Halves of one recording share its accidents: a link that chance made with p = .001 in all data stands in every third
half. It seldom stands in both halves of a cut, for what chance put into one half is missing in the other. With z the
size of a link in all data in units of its scatter, halves have (z + w) / sqrt 2 and (z - w) / sqrt 2, w standard
normal; both exceed the critical value c of a test with probability P(|w| < z - sqrt 2 c), one of them with
P(w > sqrt 2 c - z). At the level of .01 a share of .1 needs z = 3.8 by pairs (one absent link in 6000) and z = 2.4 by
single halves (one in 50); a share of .9 needs z = 5.3 and 4.9.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import InputError, hazard
from enmesh.inference.network import Network
from enmesh.inference.workers import resumed
from enmesh.options import describe, whole
from enmesh.sureness.units import Units, units_of

if TYPE_CHECKING:
    import pandas as pd

# Raised whenever the same seed draws other halves, so that stored networks are not reused.
FORMAT = 2
# Ways to halve the data under which shares are said to be coarse.
FEW_CUTS = 20

Edges = list[list[str]]
Infer = Callable[..., Network]


@dataclass(frozen=True)
class Stability:
    """How often each link was found again.

    Attributes
    ----------
    frequency
        DataFrame, row drives column: share of the cuts into two halves in which both networks have the link; the
        diagonal is missing.
    n, networks
        Networks that were asked for, and that were inferred: two for each cut.
    block
        Length of the blocks that were taken or left, in samples; None where whole trials were.
    """

    frequency: "pd.DataFrame"
    n: int
    networks: int
    block: int | None

    def on(self, network: Network) -> Network:
        """Return a network with the share of each link in ``network.edges["stability"]``."""
        names, shares_of = list(self.frequency.columns), self.frequency.to_numpy()
        shares = {
            f"{source}>{target}": float(shares_of[i, j])
            for i, source in enumerate(names)
            for j, target in enumerate(names)
            if i != j
        }
        options = {**network.options, "bootstrap": self.networks}
        return replace(network, stability=shares, options=options)

    def plot(self, path: str | Path | None = None, *, network: Network | None = None, **how: Any) -> Any:
        """Draw the shares as a matrix, links of ``network`` framed; ``ax`` and ``theme`` as in `Network.plot`."""
        from enmesh.draw.curves import stability

        selected = None if network is None else network.adjacency
        return stability(list(self.frequency.columns), self.frequency, selected=selected, path=path, **how)

    def _repr_html_(self) -> str:
        from enmesh.draw.report.more import shares_map
        from enmesh.draw.report.notebook import face

        names, share = list(self.frequency.columns), self.frequency.to_numpy(float)
        title = "Stability: share of cuts into halves in which both show the link, row drives column"
        picture = shares_map(names, share, np.full(share.shape, np.nan), "cuts")
        return face(f"{title} ({self.networks} networks)", picture)

    def __repr__(self) -> str:
        units = "trials" if self.block is None else f"blocks of {self.block} samples"
        return f"Stability({self.networks} networks from halves of the data, {units})"


def count_links(
    infer: Infer,
    series: Any,
    n: int,
    seed: int,
    *,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    block: int | None = None,
    **options: Any,
) -> Stability:
    """Repeat an inference on halves of the data: `bootstrap`, for any function that returns a network."""
    series = Series.of(series)
    wanted = whole("n", n, 1)
    n = wanted + wanted % 2
    units = units_of(series, block, options)
    ways = comb(len(units), len(units) // 2) // (1 + (len(units) + 1) % 2)
    if ways < FEW_CUTS:
        hazard(
            f"the data make {len(units)} units that can be halved in {ways} ways: shares are coarse; record longer"
        )
    given = [(infer, units, seed, i, options) for i in range(n)]
    how = {"n_jobs": n_jobs, "progress": progress, "store": store}
    edges = resumed(half_network, given, range(n), description=_identity(units, seed, options), **how)
    return Stability(frequency_of(series.names, edges), wanted, n, units.block)


def half_network(infer: Infer, units: Units, seed: int, i: int, options: Mapping[str, Any]) -> Edges:
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
    import pandas as pd

    counts = np.zeros((len(names), len(names)))
    for i in range(0, len(edges), 2):
        for source, target in set(map(tuple, edges[i])) & set(map(tuple, edges[i + 1])):
            counts[names.index(source), names.index(target)] += 1
    shares = counts / (len(edges) // 2)
    np.fill_diagonal(shares, np.nan)
    return pd.DataFrame(shares, list(names), list(names))


def _identity(units: Units, seed: int, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the networks depend on."""
    from enmesh import __version__

    return {
        "data": units.series.digest,
        "names": list(units.series.names),
        "score": {
            "type": "bootstrap",
            "block": units.block,
            "seed": seed,
            "options": describe(dict(options)),
        },
        "code": f"{__version__}/{FORMAT}",
    }
