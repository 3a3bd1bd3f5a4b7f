"""Delay embedding: the blocks of the paper's y^{i,(kappa)}_n (eq. lags) on one common window for all nodes.

Every measure asks about three kinds of block: the target's next value y^i_{n+1}, its own past y^{i,(kappa^i)}_n and
the pasts of source nodes. All of them live on the same samples, so that entropies of different parent sets can be
compared and the stochastic interaction is constant (Corollary 1). Lags go backward and never cross a trial.
"""

import warnings
from collections.abc import Callable, Iterable, Mapping

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import HazardWarning, InputError
from enmesh.options import option

PerNode = int | Mapping[str, int]
Column = tuple[int, int]  # (node, lag behind the predicted sample)


@option
class Embedding:
    """Embedding dimension kappa, delay tau and source lag, one value for all nodes or one per node by name.

    The past of node j as a source is ``y^j_{n+1-lag}, y^j_{n+1-lag-tau}, ...`` (kappa values); a node's own past
    always starts at n.

    >>> Embedding(dim={"a": 3, "b": 2}).per_node(("a", "b"))["dim"]
    (3, 2)
    """

    dim: PerNode = 1
    delay: PerNode = 1
    lag: PerNode = 1

    def __post_init__(self):
        for field in ("dim", "delay", "lag"):
            value = getattr(self, field)
            pairs = _pairs(value)
            for number in [value] if pairs is None else [number for _, number in pairs]:
                if isinstance(number, bool) or not isinstance(number, (int, np.integer)) or number < 1:
                    raise InputError(f"{field}={number!r} is not possible; give a whole number of at least 1")
            object.__setattr__(
                self, field, int(value) if pairs is None else tuple((n, int(v)) for n, v in pairs)
            )

    def per_node(self, names: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Return dim, delay and lag as tuples in the order of ``names``."""
        return {field: _resolve(field, getattr(self, field), names) for field in ("dim", "delay", "lag")}

    def span(self, names: tuple[str, ...]) -> int:
        """Samples before the first predicted one: the largest ``(kappa-1) tau + lag`` over all nodes."""
        per = self.per_node(names)
        return max((k - 1) * t + lag for k, t, lag in zip(per["dim"], per["delay"], per["lag"]))


def _pairs(value):
    if isinstance(value, Mapping):
        return sorted((str(name), number) for name, number in value.items())
    if isinstance(value, (tuple, list)):
        return sorted((str(name), number) for name, number in value)
    return None


def _resolve(field, value, names):
    if isinstance(value, int):
        return (value,) * len(names)
    given = dict(value)
    absent = [name for name in names if name not in given]
    unknown = [name for name in given if name not in names]
    if absent or unknown:
        said = (
            f"lacks {', '.join(absent)}"
            if absent
            else f"names {', '.join(unknown)}, which the series does not have"
        )
        raise InputError(f"the embedding's {field} {said}; give one number or one per node")
    return tuple(given[name] for name in names)


class Blocks:
    """The embedded samples of a series.

    A column is a node at a lag; ``own(i)``, ``source(j)`` name columns and ``take`` returns their samples.

    Attributes
    ----------
    n
        Number of embedded samples, over all trials.
    times
        ``(n,)`` sample times; trials lie further apart than any window, for Theiler exclusion.
    starts
        Row at which each trial starts, and ``n`` at the end.
    arity
        Per node the number of states, 0 for a continuous one.
    values, rows
        Conditioned values ``(node, total time)`` and the positions in them of the predicted samples.
    """

    def __init__(
        self, series: Series, embedding: Embedding, condition: Callable[[np.ndarray, int, str], np.ndarray]
    ):
        per = embedding.per_node(series.names)
        self.names, self.dim, self.delay, self.lag = series.names, per["dim"], per["delay"], per["lag"]
        self.span = embedding.span(series.names)
        self._series = series
        self.values = series.transform(condition)
        offsets = np.concatenate([[0], np.cumsum(series.lengths)])
        times = [np.arange(self.span, length) for length in series.lengths]
        times = times if series.missing is None else self._without_missing(times)
        self.rows = np.concatenate([offset + t for offset, t in zip(offsets, times)])
        self.n = len(self.rows)
        self._require(series)
        self.starts = np.concatenate([[0], np.cumsum([len(t) for t in times])])
        gap = 2 * max(series.lengths) + 1
        self.times = np.concatenate([t + trial * gap for trial, t in enumerate(times)])
        states = self.values.dtype.kind == "i"
        self.arity = tuple(int(row.max()) + 1 for row in self.values) if states else (0,) * series.n_nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes, M."""
        return len(self.names)

    def next(self, i: int) -> np.ndarray:
        """Y^i_{n+1}, ``(n, 1)``."""
        return self.take([(i, 0)])

    def raw_next(self, i: int) -> np.ndarray:
        """Y^i_{n+1} in the data's own units, as entropies need it, ``(n, 1)``."""
        return self._series.values[self.rows, i][:, None]

    def own(self, i: int) -> list[Column]:
        """Columns of Y^{i,(kappa^i)}_n, the target's own past."""
        return self._past(i, 1)

    def source(self, j: int) -> list[Column]:
        """Columns of node j's past as a source: the same, starting at its lag."""
        return self._past(j, self.lag[j])

    def sources(self, nodes: Iterable[int]) -> list[Column]:
        """Columns of several sources, node by node."""
        return [column for j in nodes for column in self.source(j)]

    def everything(self) -> list[Column]:
        """Columns of all pasts, as target's own or as source."""
        return sorted({column for i in range(self.n_nodes) for column in self.own(i) + self.source(i)})

    def take(self, columns: Iterable[Column]) -> np.ndarray:
        """Return the samples of the given columns, ``(n, number of columns)``, each column contiguous."""
        columns = list(columns)
        samples = np.empty((len(columns), self.n), self.values.dtype)
        first, last = int(self.rows[0]), int(self.rows[-1])
        for sample, (node, lag) in zip(samples, columns):
            if last - first + 1 == self.n:  # one run of samples: copying a slice is faster
                sample[:] = self.values[node, first - lag : last - lag + 1]
            else:
                self.values[node].take(self.rows - lag, out=sample)
        return samples.T

    def arities(self, columns: Iterable[Column]) -> tuple[int, ...]:
        """Return the number of states of each column (0 = continuous)."""
        return tuple(self.arity[node] for node, _ in columns)

    def _past(self, node, first):
        return [(node, first + m * self.delay[node]) for m in range(self.dim[node])]

    def _without_missing(self, times):
        """Leave out every window that touches a missing value."""
        kept = []
        for t, mask in zip(times, self._series.missing):
            bad = np.zeros(len(t), bool)
            for node in range(self.n_nodes):
                for _, lag in {(node, 0), *self.own(node), *self.source(node)}:
                    bad |= mask[t - lag, node]
            kept.append(t[~bad])
        used, total = sum(map(len, kept)), sum(map(len, times))
        warnings.warn(
            f"missing='drop': {used} of {total} windows have no missing value and are used",
            HazardWarning,
            stacklevel=4,
        )
        return kept

    def _require(self, series):
        """Refuse fewer samples than the smallest question (own past and one source) has unknowns."""
        needed = 2 * max(self.dim) + 3
        if self.n < needed:
            raise InputError(
                f"too few samples: {max(series.lengths)} in the longest trial leave {self.n} embedded ones; "
                f"this embedding needs at least {self.span + needed}"
            )
