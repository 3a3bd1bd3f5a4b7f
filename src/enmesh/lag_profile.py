"""Transfer entropy at every lag, beside what chance gives at each lag and at the best of them (Wibral et al. 2013).

The lag with the largest transfer entropy is where the source acts. It is chosen from the data, so its test makes the
same choice: each surrogate of the source, one shift for all lags, is taken at its own best lag.

Wibral, M., Pampu, N., Priesemann, V. et al. (2013). Measuring Information-Transfer Delays. PLoS ONE 8, e55809.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lags, Pasts
from enmesh.errors import InputError
from enmesh.estimators import KSG, Estimator
from enmesh.measures import Node, Transfers, link
from enmesh.options import whole
from enmesh.significance import (
    Sampling,
    analytic_quantile,
    best_of,
    every_lag,
    least_surrogates,
    order_statistic,
)
from enmesh.surrogates import CircularShift, Surrogate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

LEVEL = 0.05  # of the band and the threshold


@dataclass(frozen=True)
class LagProfile:
    """Transfer entropy over the source's lag.

    Attributes
    ----------
    source, target, given
        Names of the nodes.
    lags, te
        Lags in samples, and the transfer entropy at each in nats.
    best, p_value
        The lag with the largest value, and the probability that the best of as many lags of a source that says
        nothing of the target has a value as large.
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

    def plot(self, path: str | Path | None = None, **options: Any) -> "Axes":
        """Draw the profile with its band; save it to ``path`` if one is given (``.png``, ``.svg``, ``.pdf``)."""
        from enmesh.draw import curves

        given = f" given {', '.join(self.given)}" if self.given else ""
        title, p_value = f"{self.source} → {self.target}{given}", self.p_value if len(self.null) else None
        if p_value is None:
            title += f"; p = {self.p_value:.2g} (chi-square, times {len(self.lags)} lags)"
        drawn: dict[str, Any] = {"low": self.low, "high": self.high, "best": self.best, "p_value": p_value}
        return curves.lag_profile(self.lags, self.te, **(drawn | {"title": title, "path": path} | options))

    def _repr_html_(self) -> str:
        from enmesh.draw.report.faces import lag_profile_html

        given = f" given {', '.join(self.given)}" if self.given else ""
        said = f"{self.source} → {self.target}{given}: strongest at lag {self.best}, p = {self.p_value:.3g}"
        return lag_profile_html(said, self.lags, self.te, self.high, self.best)

    def __repr__(self) -> str:
        tested = f"{len(self.null)} surrogates" if len(self.null) else "analytic"
        shown = f"best={self.best}, te={self.te.max():.6g}, p_value={self.p_value:.4g}"
        return f"LagProfile({self.source} > {self.target}, lags 1 to {self.lags[-1]}, {shown}, {tested})"


def lag_profile(
    series: Series,
    source: Node,
    target: Node,
    *,
    max_lag: int,
    given: Node | Sequence[Node] = (),
    estimator: Estimator | str | None = None,
    embedding: Pasts | None = None,
    surrogate: Surrogate | None = None,
    n_surrogates: int = 199,
    seed: int = 0,
) -> LagProfile:
    """Measure transfer entropy at every lag of the source from 1 to ``max_lag``, with what chance gives.

    All lags are measured on the same samples, given the same own past of the target and the same pasts of ``given``.

    Parameters
    ----------
    source, target, given
        Node names; ``given`` may be a list.
    max_lag
        Largest lag.
    estimator, embedding
        By default ``KSG()`` and ``Embedding()``; the embedding says the own past of the target and the pasts of
        ``given``.
    surrogate, n_surrogates, seed
        How chance is sampled: ``CircularShift()`` by default, one shift for all lags. 0 surrogates take the analytic
        null distribution, which Gaussian, Regression and Discrete have; the level of the threshold is then divided by
        the number of lags, and the p-value multiplied by it, so that both are on the safe side.

    Examples
    --------
    >>> from enmesh import Gaussian
    >>> from enmesh.simulate import var
    >>> series = var({"b": ["a"]}, n=500, lags={("a", "b"): 4})
    >>> lag_profile(series, "a", "b", max_lag=8, estimator=Gaussian(), n_surrogates=0).best
    4
    """
    series = Series.of(series)
    whole("n_surrogates", n_surrogates)
    if 0 < n_surrogates < (least := least_surrogates(1 - LEVEL)):
        raise InputError(f"{n_surrogates} surrogates are too few for a band; give at least {least}, or 0")
    (start, *more), end, rest = link(series, source, target, given)
    if more:
        raise InputError("a profile is of one source; name one")
    pasts = Lags.of(embedding or Embedding(), series.names, searched=whole("max_lag", max_lag, 1))
    transfers = Transfers(series, estimator or KSG(), pasts)
    return _profile(transfers, start, end, rest, Sampling(surrogate or CircularShift(), n_surrogates, seed))


def _profile(
    transfers: Transfers, source: int, target: int, given: Sequence[int], sampling: Sampling
) -> LagProfile:
    _, y, z = transfers.variables([], target, given)
    if transfers.prepared(y, z).in_one_piece:
        raise InputError("a profile shows the values of one estimator; give one member of Combined")
    found = every_lag(transfers, source, target, given, sampling)
    size = len(found.variables)
    if len(found.null):
        low, high = (np.array([order_statistic(one, q) for one in found.null.T]) for q in (LEVEL, 1 - LEVEL))
        threshold = order_statistic(found.null.max(axis=1), 1 - LEVEL)
    else:  # chi-square / (2 N), the same at every lag
        dof, n = transfers.dof(found.variables[:1], y, z), transfers.blocks.n
        low, high = (np.full(size, analytic_quantile(dof, n, above)) for above in (1 - LEVEL, LEVEL))
        threshold = analytic_quantile(dof, n, LEVEL / size)
    names = transfers.series.names
    return LagProfile(
        source=names[source],
        target=names[target],
        given=tuple(names[k] for k in given),
        lags=tuple(variable.lag for variable in found.variables),
        te=found.values,
        best=found.variables[found.best].lag,
        p_value=best_of(transfers, found, y, z).p_value,
        low=low,
        high=high,
        threshold=threshold,
        null=found.null,
    )
