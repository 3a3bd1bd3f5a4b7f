"""What a method that chooses an embedding is, the table of its criterion, and local prediction from neighbours."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.blocks import Blocks
from enmesh.embedding.lagged import Embedding, Lagged, Pasts
from enmesh.errors import InputError, aggregated_warnings, hazard
from enmesh.estimators.base import numeric
from enmesh.estimators.scaling import tie_noise, zscore
from enmesh.methods import Method

if TYPE_CHECKING:
    import pandas as pd

# Standard errors within which a shorter past counts as good as the best: more than a test of two would need, since the
# best of many is best by chance as well.
PARSIMONY = 2.5
TIE_NOISE = 1e-8  # breaks ties between neighbours, far below any measurement, as the KSG estimator does
TIED = 4  # further neighbours that are looked at so that a tie for the last place falls to the earlier one


@dataclass(frozen=True, kw_only=True)
class EmbeddingTable:
    """One node's criterion over dimension and delay, and the choice made by it; further curves over ``dims``."""

    method: str
    dims: tuple[int, ...]
    delays: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]  # a row for each of the dims, a column for each of the delays
    best: tuple[int, int]
    further: Mapping[str, tuple[float, ...]] = field(default_factory=dict)

    @property
    def table(self) -> "pd.DataFrame":
        """DataFrame of the criterion: a row per dimension, a column per delay."""
        import pandas as pd

        index = pd.Index(self.dims, name="dim")
        return pd.DataFrame(self.values, index=index, columns=pd.Index(self.delays, name="delay"))

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, as `Network.criteria` holds it."""
        plain = {"method": self.method, "dims": list(self.dims), "delays": list(self.delays)}
        values = {"values": [list(row) for row in self.values], "best": list(self.best)}
        return plain | values | {name: list(curve) for name, curve in self.further.items()}


class EmbeddingMethod(Method, ABC):
    """Chooses the lags of pasts from the data."""

    @abstractmethod
    def choose(self, series: Series) -> Pasts:
        """Return the pasts of every node."""


class SelfPrediction(EmbeddingMethod):
    """Judges each node's kappa and tau by its own series alone, all on the samples on which the largest is defined."""

    criterion = "value"  # what the numbers of its tables are

    @abstractmethod
    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return the table of the criterion for one node."""

    def tables(self, series: Series) -> dict[str, EmbeddingTable]:
        """Return the table of every node."""
        with aggregated_warnings():
            return {name: self.judge(series, name) for name in series.names}

    def choose(self, series: Series) -> Embedding:
        """Return each node's best dimension and delay; warn of dimensions beyond which none was tried."""
        tables = self.tables(series)
        with aggregated_warnings():
            for name, table in tables.items():
                if 1 < table.dims[-1] == table.best[0]:
                    advice = "is the largest that was tried; raise max_dim to test larger ones"
                    hazard(advice, f"{name}: kappa {table.best[0]}")
        return chosen_embedding(tables)


def chosen_embedding(tables: Mapping[str, EmbeddingTable]) -> Embedding:
    """Return the `Embedding` of each node's best dimension and delay."""
    return Embedding(
        dim={name: table.best[0] for name, table in tables.items()},
        delay={name: table.best[1] for name, table in tables.items()},
    )


def windows(
    series: Series, name: str, span: int, condition: Any, near: int = 0, lower: str = "max_dim or max_delay"
) -> Blocks:
    """Return one node's samples at all lags up to ``span``; too few, with so many ``near``, are refused."""
    _require_samples(max(series.lengths), least_samples(span), lower)
    blocks = Blocks(series.select([name]), Embedding(dim=span), condition)
    _require_samples(blocks.n, near + 2, f"{lower}, or ask for fewer neighbours")
    return blocks


def least_samples(max_dim: int, max_delay: int = 1) -> int:
    """Return how many samples in a row the largest past needs that is tried."""
    return 3 * ((max_dim - 1) * max_delay + 1) + 3


def _require_samples(given: int, needed: int, lower: str) -> None:
    if given < needed:
        raise InputError(f"too few samples: {given} where {needed} are needed; lower {lower}, or record more")


def past(blocks: Blocks, dim: int, delay: int) -> np.ndarray:
    """Return a node's samples at ``dim`` lags, ``delay`` apart."""
    return blocks.take([Lagged(0, 1 + m * delay) for m in range(dim)])


def past_errors(method: Any, blocks: Blocks, dim: int, delay: int = 1) -> np.ndarray:
    """Return the squared errors of predicting a node from the k nearest neighbours of such a past."""
    after = blocks.take([Lagged(0, 0)])[:, 0]
    return prediction_errors(past(blocks, dim, delay), after, blocks.times, method.k, method.theiler)


def criterion_table(
    method: Any, loss: Callable[[int, int], np.ndarray], max_dim: int, max_delay: int, sign: int = 1
) -> EmbeddingTable:
    """Judge every (dim, delay) by the mean of its losses ``(n,)``; the table shows it times ``sign``."""
    dims, delays = tuple(range(1, max_dim + 1)), tuple(range(1, max_delay + 1))
    first = loss(1, 1)  # one value has no delay
    losses = {(dim, delay): first if dim == 1 else loss(dim, delay) for dim in dims for delay in delays}
    means = {key: float(each.mean()) for key, each in losses.items()}
    ranked = sorted(means, key=lambda key: (means[key], key))
    for dim in dims:  # the first, at its best delay, whose loss is as good as the least (`Ragwitz.parsimony`)
        best = next(key for key in ranked if key[0] == dim)
        excess = losses[best] - losses[ranked[0]]
        if excess.mean() <= method.parsimony * excess.std(ddof=1) / np.sqrt(len(excess)):
            break  # at the least at the latest
    values = tuple(tuple(sign * means[dim, delay] for delay in delays) for dim in dims)
    name = type(method).__name__
    return EmbeddingTable(method=name, dims=dims, delays=delays, values=values, best=best)


def require_positive(field: str, value: Any) -> None:
    """Refuse a number below 0."""
    if not (isinstance(value, (int, float)) and np.isfinite(value) and value >= 0):
        raise InputError(f"{field}={value!r} is not possible; give a number of at least 0")


def prediction_errors(past: Any, after: Any, times: Any, k: int = 4, theiler: int = 0, m: Any = None) -> Any:
    """Return the squared errors, all ``(n,)`` or the first m, of predicting by the mean over the k nearest."""
    near, _ = nearest(past, times, k, theiler, m)
    return (after[:m] - after[near].mean(axis=1)) ** 2


def nearest(points: Any, times: Any, k: int, theiler: int = 0, m: Any = None) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and max-norm distances of the k nearest of all points, or the first m, none within ``theiler``."""
    # The earlier of two equally near points comes first: overlapping windows share pairs of values, so that ties are
    # common, between the windows just before and just after a point above all.
    from scipy.spatial import cKDTree

    asked = min(k + 2 * theiler + 1 + TIED, len(points))
    index = cKDTree(points, balanced_tree=False, compact_nodes=False)  # which is quicker to make
    distance, rows = index.query(points[:m], asked, p=np.inf)
    refused = np.abs(times[rows] - times[:m, None]) <= theiler
    order = np.lexsort((rows, distance, refused), axis=1)[:, :k]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(distance, order, 1)


def scaled(column: np.ndarray, index: int, name: str) -> np.ndarray:
    """Z-score a column and break its ties."""
    column = standardised(column, index, name)
    return column + tie_noise(TIE_NOISE, index, len(column))


def standardised(column: np.ndarray, index: int, name: str) -> np.ndarray:
    """Z-score a column of numbers."""
    return zscore(numeric(column, name, "a neighbour method"))
