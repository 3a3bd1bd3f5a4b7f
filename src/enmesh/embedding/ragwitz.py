"""Ragwitz and Kantz (2002): the embedding with the smallest error of local prediction."""

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.base import (
    PARSIMONY,
    EmbeddingTable,
    SelfPrediction,
    criterion_table,
    past,
    require_positive,
    require_samples,
    windows,
)
from enmesh.embedding.lagged import Lagged
from enmesh.embedding.prediction import prediction_errors, scaled
from enmesh.options import option, whole_fields


@option
class Ragwitz(SelfPrediction):
    """Smallest error of local constant prediction (Ragwitz and Kantz 2002), in units of the variance.

    e(kappa, tau) = < (y_{n+1} - mean of y_{m+1} over the k nearest neighbours m of y^{(kappa)}_n)^2 >

    Neighbours are found in the max norm on z-scored data.

    Parameters
    ----------
    max_dim, max_delay
        Largest kappa and tau that are tried.
    k
        Number of neighbours.
    theiler
        Samples within this time of one another are not neighbours.
    parsimony
        The smallest kappa is taken whose error is within this many standard errors (of the paired differences
        over samples) of the minimum. 0 takes the minimum itself, mostly too long a past.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.choose_embedding(series, em.Ragwitz(max_dim=3, max_delay=1)).per_node(series.names)["dim"]
    (1, 1, 1)
    """

    cli_name = "ragwitz"
    cli_options = ("max_dim", "max_delay")
    summary = "smallest error of predicting the next value from neighbours in the own past"
    criterion = "error"
    references = (
        "Ragwitz, M. and Kantz, H. (2002). Markov Models from Data by Simple Nonlinear Time Series Predictors in "
        "Delay Embedding Spaces. Physical Review E 65, 056201.",
    )

    max_dim: int = 5
    max_delay: int = 5
    k: int = 4
    theiler: int = 0
    parsimony: float = PARSIMONY

    def __post_init__(self) -> None:
        whole_fields(self, max_dim=1, max_delay=1, k=1, theiler=0)
        require_positive("parsimony", self.parsimony)

    def sentence(self) -> str:
        """Name the criterion."""
        return "the criterion of Ragwitz and Kantz (2002)"

    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return the table of errors of one node."""
        blocks = windows(series, name, (self.max_dim - 1) * self.max_delay + 1, scaled)
        require_samples(blocks.n, self.k + 2 * self.theiler + 2, "k, theiler, max_dim or max_delay")
        after = blocks.take([Lagged(0, 0)])[:, 0]

        def loss(dim: int, delay: int) -> np.ndarray:
            return prediction_errors(past(blocks, dim, delay), after, blocks.times, self.k, self.theiler)

        return criterion_table(self, loss, sign=1)
