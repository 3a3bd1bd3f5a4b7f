"""Ragwitz and Kantz (2002): the embedding with the smallest error of local prediction."""

from functools import partial

from enmesh.data.series import Series
from enmesh.embedding import base
from enmesh.options import option, whole_fields


@option
class Ragwitz(base.SelfPrediction):
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
    phrase = "the criterion of Ragwitz and Kantz (2002)"
    criterion = "error"
    references = (
        "Ragwitz, M. and Kantz, H. (2002). Markov Models from Data by Simple Nonlinear Time Series Predictors in "
        "Delay Embedding Spaces. Physical Review E 65, 056201.",
    )

    max_dim: int = 5
    max_delay: int = 5
    k: int = 4
    theiler: int = 0
    parsimony: float = base.PARSIMONY

    def __post_init__(self) -> None:
        whole_fields(self, max_dim=1, max_delay=1, k=1, theiler=0)
        base.require_positive("parsimony", self.parsimony)

    def judge(self, series: Series, name: str) -> base.EmbeddingTable:
        """Return the table of errors of one node."""
        span, neighbours = (self.max_dim - 1) * self.max_delay + 1, self.k + 2 * self.theiler
        blocks = base.windows(series, name, span, base.scaled, neighbours)
        loss = partial(base.past_errors, self, blocks)
        return base.criterion_table(self, loss, self.max_dim, self.max_delay)
