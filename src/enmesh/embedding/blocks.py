"""The embedded samples of a series: every lagged variable on one common window for all nodes.

All of them live on the same samples, so that entropies of different parent sets can be compared and the stochastic
interaction is constant (Corollary 1). Lags go backward and never cross a trial.
"""

from collections.abc import Callable, Collection, Iterable
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.lagged import Lagged, Pasts, reach
from enmesh.errors import InputError, aggregated_warnings, hazard

# Conditioned values of series that are in use, by the option that conditions them: one inference asks for them often.
conditioned_before: "WeakKeyDictionary[Series, dict[Any, np.ndarray]]" = WeakKeyDictionary()
KEPT = 4


def _conditioned(series: Series, condition: Callable[..., np.ndarray]) -> np.ndarray:
    """Return ``series.transform(condition)``; that of an option's method is kept, and not to be written to."""
    method = getattr(condition, "__self__", None)
    kept = conditioned_before.setdefault(series, {})
    if method is None:
        return series.transform(condition)
    values = kept.get(method)
    if values is None:
        for old in list(kept)[: len(kept) - KEPT + 1]:
            kept.pop(old, None)
        values = kept[method] = series.transform(condition)
        values.flags.writeable = False
    return values


class Blocks:
    """The embedded samples of a series: ``past(nodes, target)`` lists lagged variables, ``take`` returns their samples.

    There are ``n`` of them in all trials, each of which reaches ``span`` samples back; lags were chosen from the data
    up to ``searched``, 0 if they were not. Windows are complete for the nodes of a ``family``, if one is given.
    ``times (n,)`` puts trials further apart than any window, ``starts`` has the row at which each trial starts, and n;
    ``arity`` the number of states of each node, 0 for a continuous one; ``values (node, total time)`` are conditioned,
    and ``rows`` the positions in them of the predicted samples.
    """

    def __init__(
        self, series: Series, pasts: Pasts, condition: Callable[..., np.ndarray], reaches_back: int = 0,
        family: Collection[int] | None = None,
    ):  # fmt: skip
        self.names = series.names
        self._table = pasts.table(series.names)
        self.span, self.searched = reach(pasts, series.names), pasts.searched
        self._series = series
        with aggregated_warnings():
            in_runs = reaches_back > 0
            self.values = series.transform(condition, True) if in_runs else _conditioned(series, condition)
        lengths = np.array(series.lengths)
        times = np.concatenate([np.arange(self.span, length) for length in lengths])
        trial = np.repeat(np.arange(len(lengths)), np.maximum(0, lengths - self.span))
        self.rows = times + (np.cumsum(lengths) - lengths)[trial]
        if series.missing is not None or reaches_back:
            complete = self._complete(family)
            self.rows, times, trial = self.rows[complete], times[complete], trial[complete]
        self.n = len(self.rows)
        needed = 2 * self.widest + 3  # unknowns of the smallest question: own past and one source
        if self.n < needed:
            left = f"{max(series.lengths)} in the longest trial leave {self.n} embedded ones"
            advice = "give a shorter past, or a longer record"
            if series.missing is not None:
                advice = "fill short gaps with missing='interpolate:5', or leave out a node with many missing values"
            raise InputError(f"too few samples: {left}; this embedding needs at least {self.span + needed}: {advice}")
        self.starts = np.searchsorted(trial, np.arange(len(lengths) + 1))
        self.times = times + trial * (2 * lengths.max() + 1)
        states = self.values.dtype.kind == "i"
        self.arity = tuple(int(row.max()) + 1 for row in self.values) if states else (0,) * series.n_nodes

    @property
    def n_nodes(self) -> int:
        """Number of nodes, M."""
        return len(self.names)

    @property
    def widest(self) -> int:
        """Number of lagged variables in the longest past of a pair."""
        return max(len(lags) for _, lags in self._table.different())

    def widths(self) -> np.ndarray:
        """Return the number of lags of every pair, ``(target, source)``."""
        widths = np.ones((self.n_nodes, self.n_nodes), dtype=int)
        for (source, target), lags in self._table.items():
            widths[target, source] = len(lags)
        return widths

    def lags(self, source: int, target: int) -> tuple[int, ...]:
        """Return the lags of a source for a target; those of the own past if they are the same node."""
        return self._table[source, target]

    def past(self, nodes: Iterable[int], target: int) -> list[Lagged]:
        """Return the pasts of nodes as a target sees them, node by node; of the target its own past."""
        return [Lagged(j, lag) for j in nodes for lag in self._table[j, target]]

    def choices(self, source: int) -> list[Lagged]:
        """Return a source at every lag among which its lags were chosen from the data."""
        return [Lagged(source, lag) for lag in range(1, self.searched + 1)]

    def everything(self) -> list[Lagged]:
        """Return all lagged variables of all pasts, each once, in order."""
        return sorted({Lagged(j, lag) for j, lags in self._table.different() for lag in lags})

    def askable(self) -> list[Lagged]:
        """Return all lagged variables of all pasts, and those among which lags are chosen."""
        return sorted({*self.everything(), *(v for i in range(self.n_nodes) for v in self.choices(i))})

    def take(self, variables: Iterable[Lagged], part: slice = slice(None)) -> np.ndarray:
        """Return the samples ``(n, number of variables)``, or a part of the n rows; each column is contiguous."""
        variables, rows = list(variables), self.rows[part]
        samples = np.empty((len(variables), len(rows)), self.values.dtype)
        first, last = int(rows[0]), int(rows[-1])
        for sample, (node, lag) in zip(samples, variables):
            if last - first + 1 == len(rows):  # one run of samples: copying a slice is faster
                sample[:] = self.values[node, first - lag : last - lag + 1]
            else:
                self.values[node].take(rows - lag, out=sample)
        return samples.T

    def arities(self, variables: Iterable[Lagged]) -> tuple[int, ...]:
        """Return the number of states of each lagged variable (0 = continuous)."""
        return tuple(self.arity[node] for node, _ in variables)

    def states(self, source: int, target: int) -> int:
        """Return the number of joint states of a source's past; its width if it is continuous."""
        width = len(self._table[source, target])
        return self.arity[source] ** width if self.arity[source] else width

    def _complete(self, family: Collection[int] | None) -> np.ndarray:
        """Return which windows touch no missing value, of some nodes, and none that cannot be made (a code of -1)."""
        absent = self.values.T < 0 if self.values.dtype.kind == "i" else np.zeros(self.values.T.shape, bool)
        if self._series.missing is not None:
            absent = absent | np.concatenate(self._series.missing)
        complete = np.ones(len(self.rows), bool)
        lagged = self.askable()
        if family is not None:
            lagged = [v for i in family for v in self.past(family, i)]
        for node, lag in {*(Lagged(i, 0) for i in family or range(self.n_nodes)), *lagged}:
            complete &= ~absent[self.rows - lag, node]
        if family is None and self._series.missing is not None:
            hazard(f"missing or masked values: {complete.sum()} of {len(complete)} windows have none and are used")
        return complete
