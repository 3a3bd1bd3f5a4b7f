"""Transfer entropy at every lag, beside what chance gives at each lag and at the best of them (Wibral et al. 2013).

The lag with the largest transfer entropy is where the source acts. It is chosen from the data, so its test makes the
same choice: each surrogate of the source, one shift for all lags, is taken at its own best lag.

Wibral, M., Pampu, N., Priesemann, V. et al. (2013). Measuring Information-Transfer Delays. PLoS ONE 8, e55809.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import late, significance
from enmesh.data.series import Series
from enmesh.draw.shown import Shown
from enmesh.embedding import Lagged, Lags, Pasts, checked_pasts
from enmesh.errors import InputError, refuse_if
from enmesh.estimators import KSG, Estimator
from enmesh.measures import Node, Transfers, link
from enmesh.options import whole
from enmesh.significance import Sampling, Significance
from enmesh.surrogates import CircularShift, Surrogate

if TYPE_CHECKING:
    import pandas as pd

LEVEL = 0.05  # of the band and the threshold


@dataclass(frozen=True)
class LagProfile(Shown):
    """Transfer entropy over the source's lag.

    Attributes
    ----------
    source, target, given
        Names of the nodes.
    lags, te
        Lags in samples, and the transfer entropy at each in nats.
    best
        The lag with the largest value.
    tested, value, p_value
        Lags that were tested together, their transfer entropy, and the probability of a value as large where the source
        says nothing of the target, lags being chosen alike: those of the link in a network, or the best alone.
    low, high
        Band at each lag alone: chance is below ``low`` with probability .05, above ``high`` with .05.
    threshold
        Chance at the best lag is above this with probability .05: what is over it, at any lag, is significant
        though all lags were looked at.
    null
        ``(surrogate, lag)`` values of the surrogates; no rows for an analytic test.
    """

    source: str
    target: str
    given: tuple[str, ...]
    lags: tuple[int, ...]
    te: np.ndarray
    best: int
    tested: tuple[int, ...]
    value: float
    p_value: float
    low: np.ndarray
    high: np.ndarray
    threshold: float
    null: np.ndarray

    @property
    def table(self) -> "pd.DataFrame":
        """DataFrame with a row per lag: te, low, high and whether te is over the threshold for all lags."""
        import pandas as pd

        columns = {"te": self.te, "low": self.low, "high": self.high, "significant": self.te > self.threshold}
        return pd.DataFrame(columns, index=pd.Index(self.lags, name="lag"))

    def __repr__(self) -> str:
        tested = f"{len(self.null)} surrogates" if len(self.null) else "analytic"
        shown = f"best={self.best}, te={self.te.max():.6g}, p_value={self.p_value:.4g}"
        return f"LagProfile({self.source} > {self.target}, lags 1 to {self.lags[-1]}, {shown}, {tested})"


def lag_profile(
    series: Series,
    source: Node,
    target: Node,
    *,
    max_lag: int | None = None,
    given: Node | Sequence[Node] = (),
    estimator: Estimator | str | None = None,
    embedding: Pasts | None = None,
    surrogate: Surrogate | None = None,
    n_surrogates: int | None = None,
    seed: int = 0,
) -> LagProfile:
    """Measure transfer entropy at every lag of the source from 1 to ``max_lag``, with what chance gives.

    All lags are measured on the same samples, given the same own past of the target and the same pasts of ``given``.
    Without an embedding and surrogates the question is that of `infer`: estimator, pasts and largest lag that are left
    open are chosen as there, and the link is tested as there, so that ``.value .p_value .tested`` are those of a
    network in which the target has the other parents ``given``.

    Parameters
    ----------
    source, target, given
        Node names; ``given`` may be a list.
    max_lag
        Largest lag.
    estimator, embedding
        The embedding says the own past of the target and the pasts of ``given``. Where surrogates are asked for, by
        default ``KSG()`` and ``Embedding()``.
    surrogate, n_surrogates, seed
        How chance is sampled: ``CircularShift()`` and 199 by default, one shift for all lags, and the best lag is
        tested. 0 surrogates take the analytic null distribution, which Gaussian, Regression and Discrete have; the
        level of the threshold is then divided by the number of lags, and the p-value multiplied by it, so that both
        are on the safe side.

    Examples
    --------
    >>> from enmesh import Gaussian
    >>> from enmesh.simulate import var
    >>> series = var({"b": ["a"]}, n=500, lags={("a", "b"): 4})
    >>> lag_profile(series, "a", "b", max_lag=8, estimator=Gaussian(), n_surrogates=0).best
    4
    """
    series = Series.of(series).in_order()
    whole("seed", seed)
    (start, *more), end, rest = link(series, source, target, given)
    refuse_if(more, "a profile is of one source; name one")
    if n_surrogates is None and surrogate is None and embedding is None:
        return _as_inferred(series, estimator, max_lag, seed, (start, end, rest))
    count = significance.USUAL if n_surrogates is None else whole("n_surrogates", n_surrogates)
    if 0 < count < (least := significance.least_surrogates(1 - LEVEL)):
        raise InputError(f"{count} surrogates are too few for a band; give at least {least}, or 0")
    refuse_if(max_lag is None, "give max_lag=, the largest lag of the profile")
    pasts = Lags.of(checked_pasts(embedding), series.names, searched=whole("max_lag", max_lag, 1))
    transfers = Transfers(series, KSG() if estimator is None else estimator, pasts)
    sampling = Sampling(CircularShift() if surrogate is None else surrogate, count, seed)
    return _profile(transfers, (start, end, rest), sampling)


def _as_inferred(
    series: Series, estimator: Any, max_lag: int | None, seed: int, ends: tuple[int, int, Any]
) -> LagProfile:
    """Return the profile of a link by the score that `infer` has for its target, with the test of the link there."""
    max_lag = None if max_lag is None else whole("max_lag", max_lag, 1)
    plan, (source, target, given) = late.lazy_import("plan"), ends
    wanted = plan.Request(estimator=estimator, max_lag=max_lag, seed=seed)
    score = plan.planned(series, wanted)[0].score
    test = plan.asked(series, wanted, [source], target, given)
    if wanted.by_link_test:
        return _by_link_test(plan.scorer_of(series, score), ends, test)
    scorer = score.bind(series)
    transfers = scorer.transfers
    far = transfers.blocks.searched or max(transfers.blocks.lags(source, target))
    if not transfers.blocks.searched:
        transfers = Transfers(series, score.estimator, Lags.of(score.embedding, series.names, searched=far))
    sampling = Sampling(getattr(score, "surrogate", CircularShift()), score.n_surrogates, seed)
    return _profile(transfers, ends, sampling, test)


def _by_link_test(scorer: Any, ends: tuple[int, int, Any], test: Significance) -> LagProfile:
    """Return the profile by the rung of the default test that tells most."""
    from scipy.special import chdtri

    source, target, given = ends
    values, degrees, wider = scorer.profile(source, target, given)
    n, names = scorer.samples.length, scorer.series.names
    low, high, threshold = (
        wider * float(chdtri(degrees, above)) / (2 * n) for above in (1 - LEVEL, LEVEL, LEVEL / len(values))
    )
    return LagProfile(
        source=names[source], target=names[target], given=tuple(names[k] for k in given),
        lags=tuple(range(1, len(values) + 1)), te=values, best=test.lag or 1 + int(values.argmax()),
        tested=tuple(sorted({*scorer.acts_at(source, target), test.lag or 1})), value=test.value, p_value=test.p_value,
        low=np.full(len(values), low), high=np.full(len(values), high), threshold=threshold,
        null=np.empty((0, len(values))),
    )  # fmt: skip


def _profile(
    transfers: Transfers, ends: tuple[int, int, Any], sampling: Sampling, test: Significance | None = None
) -> LagProfile:
    """Return the profile of a link; ``test`` is that of the lags of its pasts, by default the best lag is tested."""
    source, target, given = ends
    _, y, z = transfers.variables([], target, given)
    values, null = significance.every_lag(transfers, source, target, given, sampling)
    best, size = 1 + int(values.argmax()), len(values)
    tested = (best,) if test is None else transfers.blocks.lags(source, target)
    if len(null):
        each = [[significance.order_statistic(one, q) for one in null.T] for q in (LEVEL, 1 - LEVEL)]
        (low, high), threshold = np.array(each), significance.order_statistic(null.max(axis=1), 1 - LEVEL)
    else:  # chi-square / (2 N), the same at every lag
        from scipy.special import chdtri

        asked = [Lagged(source, 1)], y, z
        dof, n = transfers.dof(*asked), transfers.effective_samples(*asked)
        low, high = (np.full(size, chdtri(dof, above) / (2 * n)) for above in (1 - LEVEL, LEVEL))
        threshold = float(chdtri(dof, LEVEL / size)) / (2 * n)
        if test is not None:  # as much wider as the null distribution of the test is
            dof = transfers.dof(*transfers.variables([source], target, given))
            wider = test.null_mean * 2 * n / dof
            low, high, threshold = wider * low, wider * high, wider * threshold
    test = test or significance.best_of(transfers, source, y, z, values, null)
    names = transfers.series.names
    return LagProfile(
        source=names[source], target=names[target], given=tuple(names[k] for k in given),
        lags=tuple(range(1, size + 1)), te=values, best=best, tested=tested,
        value=test.value, p_value=test.p_value, low=low, high=high, threshold=threshold, null=null,
    )  # fmt: skip
