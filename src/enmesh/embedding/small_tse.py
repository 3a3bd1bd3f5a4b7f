"""Small and Tse (2004): the window whose local model, with what it cannot predict, takes the fewest nats to write."""

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import base
from enmesh.options import option, whole_fields


@option
class SmallTse(base.SelfPrediction):
    """Embedding window of smallest description length (Small and Tse 2004); kappa is the window, tau is 1.

    To write down a series of N values one writes its first w values as they are, then what a local model on
    windows of w values leaves of the others, each as a normal variable:

        DL(w) = w/2 ln s^2 + (N - w)/2 ln e^2(w) + w

    in nats, less what is the same for all w. s^2 is the variance of the series (1, of z-scored data) and e^2(w) the
    mean squared error of predicting by the mean of what followed the k nearest windows, in the max norm. A longer
    window must predict better by more than its first values cost, which every trial has of its own.

    Parameters
    ----------
    max_window
        Longest window that is tried.
    k
        Number of neighbours. Few follow the finest structure; more tell windows apart that predict nearly alike.
    theiler
        Samples within this time of one another are not neighbours.
    parsimony
        The shortest window is taken whose description length is within this many standard errors (of the paired
        differences over samples) of the least. 0 takes the least itself.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, seed=0)
    >>> em.choose_embedding(series, em.SmallTse(max_window=5)).dim
    (('a', 1), ('b', 1))
    """

    cli_name = "small-tse"
    cli_options = ("max_window",)
    summary = "the window whose local model has the smallest description length"
    phrase = "the description length of a local model (Small and Tse 2004)"
    criterion = "description length (nats)"
    references = (
        "Small, M. and Tse, C. K. (2004). Optimal Embedding Parameters: A Modelling Paradigm. Physica D 194, 283.",
    )

    max_window: int = 20
    k: int = 16
    theiler: int = 0
    parsimony: float = 1.5

    def __post_init__(self) -> None:
        whole_fields(self, max_window=1, k=1, theiler=0)
        base.require_positive("parsimony", self.parsimony)

    def judge(self, series: Series, name: str) -> base.EmbeddingTable:
        """Return the description length of every window for one node."""
        neighbours = self.k + 2 * self.theiler
        blocks = base.windows(series, name, self.max_window, base.scaled, neighbours, lower="max_window")
        trials = len(blocks.starts) - 1
        samples = blocks.n + trials * blocks.span

        def length(window: int, _: int) -> np.ndarray:
            errors, first = base.past_errors(self, blocks, window), trials * window
            whole = (samples - first) / 2 * np.log(errors.mean()) + first
            # By sample: N/2 ln e^2 varies with the data as N/2 times the mean of the squared errors over e^2 does.
            return whole + blocks.n / 2 * (errors / errors.mean() - 1)

        return base.criterion_table(self, length, self.max_window, 1)
