"""Cao (1997): the smallest dimension beyond which neighbours stay neighbours."""

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.base import EmbeddingTable, SelfPrediction, nearest, standardised, windows
from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Lagged
from enmesh.errors import InputError, hazard
from enmesh.options import option, whole_fields
from enmesh.surrogates import decorrelation_time

CAO_NEIGHBOURS = 8  # neighbours among which Cao's method looks for the nearest at a distance over zero


@option
class Cao(SelfPrediction):
    """Smallest dimension beyond which neighbours stay neighbours (Cao 1997).

    E(d) is the mean, over all samples, of how many times further apart nearest neighbours in dimension d are
    in dimension d + 1; E1(d) = E(d + 1) / E(d) reaches 1 where a further coordinate tells nothing new. E2(d) =
    E*(d + 1) / E*(d) is the same for how far apart the new coordinate of neighbours is: 1 at every d for noise.

    The smallest d is taken at which E1 has reached 1, or from which on E2 is nowhere under 1, where a further
    coordinate does not make the one to come better known (E1 of a first-order process with noise has no plateau).

    Parameters
    ----------
    max_dim
        Largest kappa that is tried.
    max_delay
        Largest tau that is taken.
    delay
        tau; None takes the time at which the autocorrelation falls below 1/e, at most ``max_delay``.
    tolerance
        E1 counts as 1 from ``1 - tolerance`` on; E2 counts as 1 within it.
    theiler
        Samples within this time of one another are not neighbours; None takes ``delay - 1``.

    Examples
    --------
    >>> import enmesh as em
    >>> flow = em.simulate.coupled_flow("a>b", n=1000, dt=0.1, seed=0)
    >>> em.choose_embedding(flow, em.Cao(max_dim=6, max_delay=3)).per_node(flow.names)["dim"]
    (3, 3)
    """

    cli_name = "cao"
    cli_options = ("max_dim", "max_delay")
    summary = "smallest dimension in which neighbours stay neighbours"
    phrase = "the method of Cao (1997)"
    criterion = "E1"
    references = (
        "Cao, L. (1997). Practical Method for Determining the Minimum Embedding Dimension of a Scalar Time "
        "Series. Physica D 110, 43.",
    )

    max_dim: int = 8
    delay: int | None = None
    max_delay: int = 5
    tolerance: float = 0.1
    theiler: int | None = None

    def __post_init__(self) -> None:
        given = {"delay": 1, "theiler": 0}
        known = {field: least for field, least in given.items() if getattr(self, field) is not None}
        whole_fields(self, max_dim=1, max_delay=1, **known)
        if not 0 < self.tolerance < 1:
            raise InputError(f"tolerance={self.tolerance!r} is not possible; give a number between 0 and 1")

    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return E1 of one node, with E2 beside it."""
        delay = self.delay
        if delay is None:
            shortest = windows(series, name, 1, standardised)
            memory = decorrelation_time(shortest.take([Lagged(0, 0)]), shortest.starts)
            delay = min(max(memory, 1), self.max_delay)
        theiler = delay - 1 if self.theiler is None else self.theiler
        span, neighbours = (self.max_dim + 1) * delay, CAO_NEIGHBOURS + 2 * theiler
        blocks = windows(series, name, span, standardised, neighbours, lower="max_dim or delay")
        e1, e2 = self._curves(blocks, delay, theiler)
        one, noisy = 1 - self.tolerance, np.abs(e2 - 1).max()
        stays = np.logical_and.accumulate((e2 >= one)[::-1])[::-1]  # E2 is at 1 or over from there on
        enough = 1 + np.flatnonzero((e1 >= one) | stays)
        if not len(enough):
            advice = f"at most up to kappa {self.max_dim}; raise max_dim"
            hazard(advice, f"{name}: Cao's E1 reaches {max(e1):.2f}")
        if noisy <= self.tolerance:
            hazard("of 1 at every kappa, as noise is", f"{name}: Cao's E2 is within {noisy:.2f}")
        return EmbeddingTable(
            method="Cao",
            dims=tuple(range(1, self.max_dim + 1)),
            delays=(delay,),
            values=tuple((float(value),) for value in e1),
            best=(int(enough[0]) if len(enough) else self.max_dim, delay),
            further={"e2": tuple(map(float, e2))},
        )

    def _curves(self, blocks: Blocks, delay: int, theiler: int) -> tuple[np.ndarray, np.ndarray]:
        """Return E1 and E2 for d = 1 .. max_dim. Coordinates go forward: a map may not be invertible."""
        forward = blocks.take([Lagged(0, blocks.span - m * delay) for m in range(self.max_dim + 2)])
        growths, jumps = [], []
        for dim in range(1, self.max_dim + 2):
            near, distance = nearest(forward[:, :dim], blocks.times, CAO_NEIGHBOURS, theiler)
            apart = (distance > 0).argmax(1)[:, None]
            distance, partner = (np.take_along_axis(each, apart, 1)[:, 0] for each in (distance, near))
            new, known = np.abs(forward[:, dim] - forward[partner, dim]), distance > 0
            if not known.any():
                told = f"{blocks.names[0]} repeats few values"
                raise InputError(f"{told}; Cao needs continuous data: choose another method")
            growths.append((np.maximum(distance, new)[known] / distance[known]).mean())
            jumps.append(new[known].mean())
        growth, jump = np.array(growths), np.array(jumps)
        return growth[1:] / growth[:-1], jump[1:] / jump[:-1]
