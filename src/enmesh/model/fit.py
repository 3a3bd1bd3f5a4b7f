"""Fit: for each node its distribution given its parents at their lags and its own past.

The own past is chosen by the Bayesian information criterion, for each basis by itself. A richer basis is taken where it
predicts better, out of sample: where squared leave-one-out errors are smaller, by some standard errors of that.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed, visible
from enmesh.data.values import FLOAT, TEXT
from enmesh.errors import InputError, refuse_if
from enmesh.explain import long_run_variance
from enmesh.model.bases import KINDS, KNOTS, Basis, LeastSquares, nothing
from enmesh.model.nodes import BOUNDS, Curve, Node, Table, Term, inputs, spread_features, spread_of
from enmesh.options import one_of, whole

MOST_STATES = 10  # different whole numbers up to which an integer node is states, and not a measurement
LONGEST_OWN, LONGEST_TABLE = 12, 3  # own past among which is chosen: of measurements, of states
# Standard errors by which a curve must predict better than a line, and than another curve. (Systems of effects.py, 40
# recordings each from 95000: with 1, 2 and 3 for lines 2, 0 and 0 of 240 linear nodes get a curve. Errors of effects
# differ by less than .001, also with .25 to 1 for curves.)
SURE, SURE_OF_CURVES = 2.0, 0.5
QUANTILES = 200
CLASSES, RANKS, LEAST, RARE = 16, 4, 50, 1e-3  # of means and of residuals; samples in a class; p-value
MOST_CELLS = 2**20
RICHER = {"linear": "quadratic", "quadratic": "spline", "cubic": "spline"} | dict.fromkeys(KNOTS, "fine spline")
PATIENCE = 2  # longer own pasts that are tried after the criterion has stopped falling

Links = Mapping[int, tuple[tuple[int, int], ...]]  # target: (source, lag), ...


@dataclass(frozen=True)
class Data:
    """Samples as numbers: states by their positions in ``states[node]``, measurements as they are, gaps as NaN."""

    names: tuple[str, ...]
    trials: tuple[np.ndarray, ...]
    states: Mapping[int, tuple[Any, ...]]

    @classmethod
    def of(cls, series: Series, states: Mapping[int, tuple[Any, ...]] | None = None) -> "Data":
        """Return the samples of a series, with the states of a model that is asked about it, or its own."""
        states = _states(series) if states is None else states
        values = np.array(series.values, float)
        for i, known in states.items():
            column = series[series.names[i]]
            place = {state: number for number, state in enumerate(known)}
            there = ~np.isnan(values[:, i])
            found = [place.get(state) for state in column[there].tolist()]
            if None in found:
                odd = column[there].tolist()[found.index(None)]
                told = f"{series.names[i]} is in the state {odd!r}, which the fitted data do not have"
                raise InputError(f"{told}; call fit again with all data")
            values[there, i] = found
        return cls(series.names, tuple(np.split(values, np.cumsum(series.lengths)[:-1])), states)

    @cached_property
    def values(self) -> np.ndarray:
        """All trials, one below the other."""
        return np.concatenate(self.trials)

    def rows(self, span: int) -> np.ndarray:
        """Return the positions of samples that have ``span`` samples of the same trial before them."""
        lengths = np.array([len(trial) for trial in self.trials])
        firsts = np.cumsum(lengths) - lengths
        parts = [np.arange(first + span, first + n) for first, n in zip(firsts, lengths) if n > span]
        return np.concatenate(parts) if parts else np.empty(0, np.int64)

    def histories(self, rows: np.ndarray, span: int) -> np.ndarray:
        """Return samples up to and with those at rows: ``(rows, span, node)``."""
        return self.values[rows[:, None] + np.arange(1 - span, 1)]

    def complete(self, rows: np.ndarray, span: int) -> np.ndarray:
        """Return the rows whose histories have no gap."""
        gap = np.concatenate([[0], np.isnan(self.values).any(axis=1).cumsum()])
        return rows[gap[rows + 1] == gap[rows + 1 - span]]


def _states(series: Series) -> dict[int, tuple[Any, ...]]:
    """Return the states of nodes that are text or few whole numbers."""
    found: dict[int, tuple[Any, ...]] = {}
    for i, (name, kind) in enumerate(zip(series.names, series.kinds)):
        if kind == TEXT:
            found[i] = tuple(series.labels[name])
        elif kind != FLOAT:
            seen = np.unique(series.values[:, i])
            seen = seen[~np.isnan(seen)] if seen.dtype.kind == "f" else seen
            if len(seen) <= MOST_STATES:
                found[i] = tuple(int(value) for value in seen)
    return found


def links_of(
    names: Sequence[str], parents: Mapping[str, Sequence[str]], lags: Mapping[tuple[str, str], Any] | None
) -> dict[int, tuple[tuple[int, int], ...]]:
    """Return the links of a graph by position; lags of ``(source, target)`` that are not named are 1."""
    at = {name: i for i, name in enumerate(names)}
    unknown = {*parents, *(p for each in parents.values() for p in each)} - {*names}
    if unknown:
        raise InputError(f"the series has no node {listed(map(visible, sorted(unknown)))}; leave it out")
    made = {}
    for target in names:
        pairs = []
        for source in parents.get(target, ()):
            found = (lags or {}).get((source, target), (1,))
            found = found if isinstance(found, (tuple, list)) else (found,)
            pairs += [(at[source], whole("lag", lag, 0)) for lag in found]
        made[at[target]] = tuple(pairs)
    return made


def fitted(
    data: Data,
    links: Links,
    *,
    part: slice = slice(None),
    own_past: int | None = None,
    basis: str | None = None,
    only: Sequence[int] | None = None,
) -> dict[int, Node]:
    """Return the distribution of every node, from a part of the rows of the data.

    ``own_past`` and ``basis`` take the place of what is chosen; ``only`` these targets are fitted.
    """
    one_of("basis", basis, (None, *KINDS))
    longest = max((lag for pairs in links.values() for _, lag in pairs), default=1)
    samples = len(data.values)
    own = whole("own_past", own_past, 0) if own_past is not None else None
    most = own if own is not None else max(1, min(LONGEST_OWN, samples // 25))
    rows = data.rows(max(longest, most))[part]
    nodes: dict[int, Node] = {}
    for target in links if only is None else only:
        fit = _fit_table if target in data.states else _fit_curve
        terms = _terms(data, links[target], target in data.states)
        needed = [(target, lag) for lag in range(most + 1)] + [(node, lag) for node, lag, _ in terms]
        there = np.ones(len(rows), bool)
        for node, lag in needed:
            there &= ~np.isnan(data.values[rows - lag, node])
        used = rows[there]
        refuse_if(
            len(used) < 2 * (len(terms) + 2) + 10,
            f"too few samples to fit {data.names[target]}: {len(used)} for {len(terms)} inputs; give more samples",
        )
        nodes[target] = fit(data, target, terms, used, own, most, basis)
    return nodes


def richer(data: Data, links: Links, nodes: Mapping[int, Node], own_past: Any, basis: Any) -> dict[int, Node]:
    """Return each node with a basis that sees what the chosen one misses, and one more own lag; what was given stays.

    What a chosen basis leaves out shows in the difference to this fit. A node that has no richer fit is left out.
    """
    made: dict[int, Node] = {}
    for i, node in nodes.items() if own_past is None or basis is None else ():
        kind = "" if isinstance(node, Table) else node.basis.kind
        after = RICHER.get(kind)
        how: dict[str, Any] = {"own_past": node.own + (own_past is None), "basis": after if basis is None else basis}
        try:
            made |= fitted(data, links, only=[i], **how)
        except InputError:  # too few samples, or too many situations
            continue
    return made


def _terms(data: Data, pairs: Sequence[tuple[int, int]], table: bool) -> tuple[Term, ...]:
    """Return the inputs from parents; for a regression a state is one column for each but the first."""
    made = []
    for source, lag in pairs:
        states = range(1, len(data.states[source])) if source in data.states and not table else (-1,)
        made += [Term(source, lag, state) for state in states]
    return tuple(made)


def _fit_curve(
    data: Data, target: int, terms: tuple[Term, ...], rows: np.ndarray, own: int | None, most: int, basis: str | None
) -> Curve:
    y = data.values[rows, target]
    refuse_if(np.ptp(y) == 0, f"{data.names[target]} does not change; leave it out")
    best, errors = None, np.empty(0)
    for kind in KINDS if basis is None else (basis,):
        found = _best_own_past(data, target, terms, rows, kind, range(most + 1) if own is None else (own,))
        if found is None:
            continue
        loss = found[2].left_out ** 2
        if best is None or _predicts_better(errors, loss, SURE if best[1].kind == "linear" else SURE_OF_CURVES):
            best, errors = found, loss
    if best is None:
        raise InputError(f"too few samples to fit {data.names[target]} by the {basis} basis; use a simpler one")
    return _with_spread(data, target, rows, *best)


def _predicts_better(before: np.ndarray, after: np.ndarray, sure: float) -> bool:
    """Say whether squared errors fall by more than so many standard errors of the difference."""
    gain = before - after
    error = np.sqrt(long_run_variance(gain, np.array([0, len(gain)])) / len(gain))
    return bool(gain.mean() > sure * error)


def _best_own_past(
    data: Data, target: int, terms: tuple[Term, ...], rows: np.ndarray, kind: str, tried: Sequence[int]
) -> tuple[tuple[Term, ...], Basis, LeastSquares, int] | None:
    """Return the fit of a kind with the own past of the smallest Bayesian information criterion."""
    y, best, least, waited = data.values[rows, target], None, np.inf, 0
    for own in tried:
        every = (*terms, *(Term(target, lag) for lag in range(1, own + 1)))
        x = inputs(data.values, rows, every)
        base = Basis.of(kind, x)
        features = base(x)
        if features.shape[1] * 3 > len(y) and kind != "linear":
            break
        if features.shape[1] * 2 > len(y):
            break
        fit = LeastSquares.of(features, y)
        error = max(float(fit.residuals @ fit.residuals), 1e-300)
        criterion = len(y) * np.log(error / len(y)) + len(fit.beta) * np.log(len(y))
        if criterion < least:
            best, least, waited = (every, base, fit, own), criterion, 0
        else:
            waited += 1
        if kind != "linear" and waited > PATIENCE:
            break
    return best


def _with_spread(
    data: Data, target: int, rows: np.ndarray, terms: tuple[Term, ...], base: Basis, fit: LeastSquares, own: int
) -> Curve:
    """Return the node with a spread that depends on inputs where it does, and its coefficients weighted by that."""
    y, x = data.values[rows, target], inputs(data.values, rows, terms)
    left = fit.residuals / np.sqrt(1 - fit.leverage)
    gamma, weights = _spread(spread_features(base, x), left), None
    features = base(x)
    if len(gamma):
        weights = 1 / spread_of(spread_features(base, x) @ gamma)
        fit = LeastSquares.of(features, y, weights)
        left = fit.residuals * np.sqrt(weights / (1 - fit.leverage))
    influence = fit.influence(weights)
    value, vector = np.linalg.eigh(influence.T @ influence)
    sigma = float(left.std()) or 1e-12 * float(np.abs(y).max())
    means = features[:, fit.kept] @ fit.beta
    at, quantiles = _shapes(means, left / sigma)
    kept = tuple(fit.kept.tolist())
    return Curve(
        terms=terms,
        basis=Basis(**{**vars(base), "kept": kept}),
        beta=fit.beta,
        root=vector * np.sqrt(np.maximum(value, 0)),
        sigma=sigma,
        gamma=gamma,
        quantiles=quantiles,
        at=at,
        own=own,
        n=len(y),
        r2=1 - float(np.mean(fit.left_out**2) / y.var()),
        limits=(float(means.min()), float(means.max())) if base.kind != "linear" else (-np.inf, np.inf),
        rows=rows,
        influence=influence,
    )


def _shapes(means: np.ndarray, left: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return quantiles of standardised residuals; a row for each of some means, if their shape depends on the mean.

    It does where a table of classes of means and of residuals is no chance (likelihood ratio, p below `RARE`).
    """
    from scipy.special import chdtrc

    n, classes = len(left), len(left) // LEAST
    shares = (np.arange(QUANTILES) + 0.5) / QUANTILES
    shape = np.quantile(left, shares)
    shape = (shape - shape.mean()) / (shape.std() or 1.0)
    classes = min(classes, CLASSES)
    if classes < 2 or np.ptp(means) == 0:
        return nothing(), shape
    row = means.argsort(kind="stable").argsort(kind="stable") * classes // n
    column = left.argsort(kind="stable").argsort(kind="stable") * RANKS // n
    table = np.bincount(row * RANKS + column, minlength=classes * RANKS).reshape(classes, RANKS)
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / n
    gain = 2 * float(np.sum(table * np.log(np.maximum(table, 1e-9) / expected)))
    if chdtrc((classes - 1) * (RANKS - 1), gain) > RARE:
        return nothing(), shape
    shapes = np.array([np.quantile(left[row == one], shares) for one in range(classes)])
    at = np.array([means[row == one].mean() for one in range(classes)])
    return at, shapes - shapes.mean(axis=1, keepdims=True)


def _spread(features: np.ndarray, left: np.ndarray) -> np.ndarray:
    """Return how the logarithm of the variance depends on features; empty where that does not pay.

    A gamma regression of squared residuals; its gain in likelihood is divided by what tails add to it.
    """
    squares = (left / (left.std() or 1.0)) ** 2
    gamma = np.zeros(features.shape[1])
    if features.shape[1] * 5 > len(left) or squares.mean() <= 0:
        return gamma[:0]
    solve = np.linalg.pinv(features)

    def cost(some: np.ndarray) -> float:
        variance = spread_of(features @ some)
        return float(np.sum(np.log(variance) + squares / variance))

    now = cost(gamma)
    for _ in range(50):
        step = solve @ (np.minimum(squares / spread_of(features @ gamma), BOUNDS) - 1)
        size = 1.0
        while size > 1e-3 and cost(gamma + size * step) > now:
            size /= 2
        gamma, before = gamma + size * step * (size > 1e-3), now
        now = cost(gamma)
        if before - now < 1e-6 * len(left):
            break
    tails = max(1.0, float(squares.var()) / 2)
    start = float(np.sum(squares) + 0.0)
    gain = (start - now) / tails
    dof = int(np.linalg.matrix_rank(features)) - 1
    return gamma if gain > dof * np.log(len(left)) and dof > 0 else gamma[:0]


def _fit_table(
    data: Data, target: int, terms: tuple[Term, ...], rows: np.ndarray, own: int | None, most: int, basis: str | None
) -> Table:
    tried = range(min(most, LONGEST_TABLE) + 1) if own is None else (own,)
    y, r = data.values[rows, target].astype(np.int64), len(data.states[target])
    best, least = None, np.inf
    for past in tried:
        every = (*terms, *(Term(target, lag) for lag in range(1, past + 1)))
        x = inputs(data.values, rows, every)
        cuts = tuple(
            () if node in data.states else tuple(np.quantile(column, (1 / 3, 2 / 3)).tolist())
            for (node, _, _), column in zip(every, x.T)
        )
        sizes = tuple(len(data.states.get(node, ())) or 3 for node, _, _ in every)
        cells = float(np.prod(np.array(sizes, float)))
        if cells * r > MOST_CELLS:
            if best is not None:
                break
            advice = "choose fewer parents or states"
            raise InputError(f"{data.names[target]} has {cells:.3g} situations of its parents; {advice}")
        shape = (int(cells), r)
        made = Table(terms=every, cuts=cuts, sizes=sizes, counts=np.zeros(shape), own=past, n=len(y), r2=np.nan)
        codes = made.situations(x) * r + y
        made.counts[:] = np.bincount(codes, minlength=made.counts.size).reshape(shape)
        made.__dict__.update(rows=rows, seen=codes)
        seen = made.counts[made.counts.sum(axis=1) > 0]
        fit = float(np.sum(seen * np.log(np.maximum(seen, 1e-300) / seen.sum(axis=1, keepdims=True))))
        criterion = -2 * fit + len(seen) * (r - 1) * np.log(len(y))
        if criterion < least:
            best, least = (made, fit), criterion
    table, fit = best  # type: ignore[misc]
    shares = table.counts.sum(axis=0) / len(y)
    usual = float(np.sum(table.counts.sum(axis=0) * np.log(np.maximum(shares, 1e-300))))
    return Table(**{**vars(table), "r2": 1 - fit / usual if usual else 0.0})
