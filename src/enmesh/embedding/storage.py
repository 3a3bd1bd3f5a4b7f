"""Active information storage (Lizier et al. 2012): the own past that says most of the next value."""

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import base
from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Lagged
from enmesh.estimators import KSG, Estimator, Prepared
from enmesh.options import option, whole_fields
from enmesh.surrogates import Permute, Surrogate, batches, stream_of


@option
class ActiveStorage(base.SelfPrediction):
    """Largest active information storage I(y^{(kappa)}_n ; y_{n+1}), corrected for bias, in nats.

    An estimate grows with kappa even where the further past says nothing. What it would be for an unrelated
    past is subtracted: dof / (2 N) where the estimator knows it (Gaussian, Regression, Discrete), else the mean over
    surrogates.

    Parameters
    ----------
    estimator
        Any; with the one used for transfer entropy the choice suits it.
    max_dim, max_delay
        Largest kappa and tau that are tried.
    parsimony
        The smallest kappa is taken whose value is within this many standard errors (of the paired differences
        over samples) of the maximum. 0 takes the maximum itself, mostly too long a past.
    surrogate, n_surrogates, seed
        How the unrelated past is made, where it is needed.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.choose_embedding(series, em.ActiveStorage(max_dim=3, max_delay=1)).dim
    (('a', 1), ('b', 1), ('c', 1))
    """

    cli_name = "storage"
    cli_options = ("max_dim", "max_delay")
    summary = "largest active information storage, corrected for bias"
    phrase = "the active information storage (Lizier et al. 2012)"
    criterion = "storage (nats)"
    references = (
        "Lizier, J. T., Prokopenko, M. and Zomaya, A. Y. (2012). Local Measures of Information Storage in "
        "Complex Distributed Computation. Information Sciences 208, 39.",
    )

    estimator: Estimator = KSG()
    max_dim: int = 5
    max_delay: int = 5
    parsimony: float = base.PARSIMONY
    surrogate: Surrogate = Permute()
    n_surrogates: int = 5
    seed: int = 0

    def __post_init__(self) -> None:
        whole_fields(self, max_dim=1, max_delay=1, n_surrogates=1, seed=0)
        base.require_positive("parsimony", self.parsimony)

    def judge(self, series: Series, name: str) -> base.EmbeddingTable:
        """Return the table of bias-corrected storage of one node."""
        span = (self.max_dim - 1) * self.max_delay + 1
        blocks = base.windows(series, name, span, self.estimator.condition)
        prepared = self.estimator.prepare(blocks.take([Lagged(0, 0)]), times=blocks.times)

        def loss(dim: int, delay: int) -> np.ndarray:
            lagged = base.past(blocks, dim, delay)
            bias = self._bias(blocks, prepared, lagged, (self.seed, name, dim, delay))
            return bias - prepared.cmi(lagged, local=True)

        return base.criterion_table(self, loss, self.max_dim, self.max_delay, sign=-1)

    def _bias(self, blocks: Blocks, prepared: Prepared, lagged: np.ndarray, key: tuple[object, ...]) -> float:
        if self.estimator.analytic:
            y, x = blocks.arity, blocks.arity * lagged.shape[1]
            return self.estimator.dof(y, x, ()) / (2 * self.estimator.effective_samples(blocks.n, y, x, ()))
        draw = self.surrogate.plan(lagged, lagged[:, :0], starts=blocks.starts, span=blocks.span)
        values = [prepared.cmi(batch) for batch in batches(draw, lagged, stream_of(*key), self.n_surrogates)]
        return float(np.concatenate(values).mean())
