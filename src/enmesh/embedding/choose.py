"""Choosing the embedding from the data: kappa and tau of each node, from the node's own series alone.

Every candidate (kappa, tau) is judged on the same samples, those on which the largest of them is defined, so
that the judgements can be compared. The choice is made once per node and holds for all candidate parents:
otherwise the stochastic interaction would not be constant and Corollary 1 would not hold.

More is not better. Takens' theorem asks for kappa >= 2 d + 1 to reconstruct a node's own d-dimensional state;
by the bundle theorem a longer past reconstructs the state of whatever drives the node as well, and then
transfer entropy from the driver vanishes (`embedding_notes`).

References: Ragwitz and Kantz, Phys. Rev. E 65, 056201 (2002); Lizier et al., Inf. Sci. 208, 39 (2012) (active
information storage); Cao, Physica D 110, 43 (1997); Takens (1981); Stark (1999); Deyle and Sugihara (2011).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Blocks, Embedding, Lagged, PerNode
from enmesh.errors import InputError, hazard
from enmesh.estimators import KSG, Estimator
from enmesh.estimators.base import numeric
from enmesh.estimators.kernel import zscore
from enmesh.options import option
from enmesh.surrogates import Permute, Surrogate, batches, decorrelation_time, stream_of

# Breaks ties between neighbours, far below any measurement, as the KSG estimator does.
TIE_NOISE = 1e-8
# Further neighbours that are looked at so that a tie for the last place falls to the earlier one.
TIED = 4
# Neighbours among which Cao's method looks for the nearest at a distance over zero.
CAO_NEIGHBOURS = 8


@dataclass(frozen=True, kw_only=True)
class EmbeddingTable:
    """One node's criterion over dimension and delay, and the choice made by it.

    ``values[i][j]`` belongs to ``dims[i]`` and ``delays[j]``; ``further`` holds other curves over ``dims`` by
    name.
    """

    method: str
    dims: tuple[int, ...]
    delays: tuple[int, ...]
    values: tuple[tuple[float, ...], ...]
    best: tuple[int, int]
    further: Mapping[str, tuple[float, ...]]

    @property
    def table(self):
        """DataFrame of the criterion: a row per dimension, a column per delay."""
        import pandas as pd

        index = pd.Index(self.dims, name="dim")
        return pd.DataFrame(self.values, index=index, columns=pd.Index(self.delays, name="delay"))

    def to_dict(self) -> dict:
        """Return plain data, as `Network.criteria` holds it."""
        plain = {"method": self.method, "dims": list(self.dims), "delays": list(self.delays)}
        values = {"values": [list(row) for row in self.values], "best": list(self.best)}
        return plain | values | {name: list(curve) for name, curve in self.further.items()}


@option
class Ragwitz:
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
        0 takes the minimum. A larger number takes the smallest kappa whose error is within that many standard
        errors of the minimum.
    """

    max_dim: int = 5
    max_delay: int = 5
    k: int = 4
    theiler: int = 0
    parsimony: float = 0.0

    def __post_init__(self):
        _require_whole(self, max_dim=1, max_delay=1, k=1, theiler=0)
        _require_positive("parsimony", self.parsimony)

    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return the table of errors of one node."""
        blocks = _windows(series, name, (self.max_dim - 1) * self.max_delay + 1, scaled)
        _require_samples(blocks.n, self.k + 2 * self.theiler + 2, "k, theiler, max_dim or max_delay")
        after = blocks.take([Lagged(0, 0)])[:, 0]

        def loss(dim, delay):
            return prediction_errors(_past(blocks, dim, delay), after, blocks.times, self.k, self.theiler)

        return _table(self, loss, sign=1)


@option
class ActiveStorage:
    """Largest active information storage I(y^{(kappa)}_n ; y_{n+1}), corrected for bias, in nats.

    An estimate grows with kappa even where the further past says nothing. What it would be for an unrelated
    past is subtracted: dof / (2 N) where the estimator knows it (Gaussian, Discrete), else the mean over
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
    """

    estimator: Estimator = KSG()
    max_dim: int = 5
    max_delay: int = 5
    parsimony: float = 1.5
    surrogate: Surrogate = Permute()
    n_surrogates: int = 5
    seed: int = 0

    def __post_init__(self):
        _require_whole(self, max_dim=1, max_delay=1, n_surrogates=1, seed=0)
        _require_positive("parsimony", self.parsimony)
        if not isinstance(self.estimator, Estimator):
            raise InputError(f"estimator={self.estimator!r} is not an estimator; give Gaussian(), KSG() ...")

    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return the table of bias-corrected storage of one node."""
        span = (self.max_dim - 1) * self.max_delay + 1
        blocks = _windows(series, name, span, self.estimator.condition)
        prepared = self.estimator.prepare(blocks.take([Lagged(0, 0)]), times=blocks.times)

        def loss(dim, delay):
            past = _past(blocks, dim, delay)
            bias = self._bias(blocks, prepared, past, (self.seed, name, dim, delay))
            return bias - prepared.cmi(past, local=True)

        return _table(self, loss, sign=-1)

    def _bias(self, blocks, prepared, past, key) -> float:
        if self.estimator.analytic:
            arity = blocks.arity
            return self.estimator.dof(arity, arity * past.shape[1], ()) / (2 * blocks.n)
        draw = self.surrogate.plan(past, past[:, :0], starts=blocks.starts, span=blocks.span)
        values = [prepared.cmi(batch) for batch in batches(draw, past, stream_of(*key), self.n_surrogates)]
        return float(np.concatenate(values).mean())


@option
class Cao:
    """Smallest dimension beyond which neighbours stay neighbours (Cao 1997).

    E(d) is the mean, over all samples, of how many times further apart nearest neighbours in dimension d are
    in dimension d + 1; E1(d) = E(d + 1) / E(d) reaches 1 where a further coordinate tells nothing new. E2,
    the same for the new coordinate alone, is 1 at every d for noise, and differs from 1 at some d for a
    deterministic series.

    Parameters
    ----------
    max_dim
        Largest kappa that is tried.
    delay
        tau; None takes the time at which the autocorrelation falls below 1/e, at most ``max_delay``.
    tolerance
        E1 counts as 1 from ``1 - tolerance`` on; E2 counts as 1 within it.
    theiler
        Samples within this time of one another are not neighbours.
    """

    max_dim: int = 8
    delay: int | None = None
    max_delay: int = 5
    tolerance: float = 0.1
    theiler: int = 0

    def __post_init__(self):
        _require_whole(self, max_dim=1, max_delay=1, theiler=0)
        if self.delay is not None:
            _require_whole(self, delay=1)
        if not 0 < self.tolerance < 1:
            raise InputError(f"tolerance={self.tolerance!r} is not possible; give a number between 0 and 1")

    def judge(self, series: Series, name: str) -> EmbeddingTable:
        """Return E1 of one node, with E2 beside it."""
        delay = self.delay or self._decorrelated(series, name)
        blocks = _windows(series, name, (self.max_dim + 1) * delay, _standardised)
        _require_samples(blocks.n, CAO_NEIGHBOURS + 2 * self.theiler + 2, "max_dim, delay or theiler")
        e1, e2 = self._curves(blocks, delay)
        dims = tuple(range(1, self.max_dim + 1))
        enough = [dim for dim, value in zip(dims, e1) if value >= 1 - self.tolerance]
        if not enough:
            hazard(
                f"{name}: Cao's E1 reaches {max(e1):.2f} at most up to kappa {self.max_dim}; raise max_dim"
            )
        if np.abs(e2 - 1).max() <= self.tolerance:
            hazard(f"{name}: Cao's E2 is within {np.abs(e2 - 1).max():.2f} of 1 at every kappa, as noise is")
        return EmbeddingTable(
            method="Cao",
            dims=dims,
            delays=(delay,),
            values=tuple((float(value),) for value in e1),
            best=(min(enough, default=self.max_dim), delay),
            further={"e2": tuple(map(float, e2))},
        )

    def _decorrelated(self, series, name):
        blocks = _windows(series, name, 1, _standardised)
        return min(max(decorrelation_time(blocks.take([Lagged(0, 0)]), blocks.starts), 1), self.max_delay)

    def _curves(self, blocks, delay):
        """Return E1 and E2 for d = 1 .. max_dim. Coordinates go forward: a map may not be invertible."""
        forward = blocks.take([Lagged(0, blocks.span - m * delay) for m in range(self.max_dim + 2)])
        growth, jump = [], []
        for dim in range(1, self.max_dim + 2):
            near, distance = nearest(forward[:, :dim], blocks.times, CAO_NEIGHBOURS, self.theiler)
            apart = (distance > 0).argmax(1)[:, None]
            distance = np.take_along_axis(distance, apart, 1)[:, 0]
            partner = np.take_along_axis(near, apart, 1)[:, 0]
            new = np.abs(forward[:, dim] - forward[partner, dim])
            known = distance > 0
            if not known.any():
                raise InputError(f"{blocks.names[0]} repeats few values; Cao needs continuous data")
            growth.append((np.maximum(distance, new)[known] / distance[known]).mean())
            jump.append(new[known].mean())
        growth, jump = np.array(growth), np.array(jump)
        return growth[1:] / growth[:-1], jump[1:] / jump[:-1]


Method = Ragwitz | ActiveStorage | Cao


def choose_embedding(
    series: Series,
    method: Method | None = None,
    *,
    state_dim: PerNode | None = None,
    driver_dim: PerNode | None = None,
) -> Embedding:
    """Choose kappa and tau of every node from its own series.

    Parameters
    ----------
    series
        The data.
    method
        `Ragwitz` (default), `ActiveStorage` or `Cao`.
    state_dim, driver_dim
        Dimension d of each node's own state and e of what drives it, where they are known; then a
        `HazardWarning` says where the choice misses the bounds of the embedding theorems (`embedding_notes`).

    Examples
    --------
    >>> from enmesh import Gaussian
    >>> from enmesh.simulate import var
    >>> series = var(coefficients=[[[0.5]], [[0.3]]], n=2000, names=["a"])
    >>> choose_embedding(series, ActiveStorage(estimator=Gaussian())).dim
    (('a', 2),)
    """
    tables = embedding_criteria(series, method)
    for name, table in tables.items():
        if 1 < table.dims[-1] == table.best[0]:
            hazard(
                f"{name}: kappa {table.best[0]} is the largest that was tried; raise max_dim to see further"
            )
    embedding = chosen_embedding(tables)
    for note in embedding_notes(embedding, series.names, state_dim=state_dim, driver_dim=driver_dim):
        hazard(note)
    return embedding


def embedding_method(estimator: Estimator) -> Method:
    """Return the method that suits an estimator when the user names none.

    Few dimensions are tried: over-embedding hides drivers, and every dimension costs samples.
    """
    if estimator.analytic:
        return ActiveStorage(estimator=estimator, max_dim=3, max_delay=1 if estimator.discrete else 3)
    return Ragwitz(max_dim=3, max_delay=4, theiler=getattr(estimator, "theiler", 0), parsimony=2.0)


def embedding_criteria(series: Series, method: Method | None = None) -> dict[str, EmbeddingTable]:
    """Return the table of the criterion for every node, ``{name: EmbeddingTable}``."""
    method = method or Ragwitz()
    if not hasattr(method, "judge"):
        raise InputError(f"method={method!r} is not known; use Ragwitz(), ActiveStorage() or Cao()")
    return {name: method.judge(series, name) for name in series.names}


def chosen_embedding(tables: Mapping[str, EmbeddingTable]) -> Embedding:
    """Return the `Embedding` of each node's best dimension and delay."""
    return Embedding(
        dim={name: table.best[0] for name, table in tables.items()},
        delay={name: table.best[1] for name, table in tables.items()},
    )


def embedding_notes(
    embedding: Embedding,
    names: Sequence[str],
    *,
    state_dim: PerNode | None = None,
    driver_dim: PerNode | None = None,
) -> tuple[str, ...]:
    """Say where an embedding misses the bounds of the theorems, for states of known dimension.

    Takens: kappa >= 2 d + 1 for a node's own state of dimension d. Bundle (Stark): kappa >= 2 (d + e) + 1 for
    a node driven by a state of dimension e. Multivariate (Deyle and Sugihara): sum of kappa >= 2 d + 1, d of
    the whole.

    >>> embedding_notes(Embedding(dim=4), ("a", "b"), state_dim={"a": 1, "b": 3})[1]
    "b: kappa 4 is under 7 = 2d+1, Takens' bound for a state of dimension 3"
    """
    if state_dim is None:
        return ()
    names = tuple(names)
    dims = embedding.per_node(names)["dim"]
    states = Embedding(dim=state_dim).per_node(names)["dim"]
    drivers = (0,) * len(names) if driver_dim is None else Embedding(dim=driver_dim).per_node(names)["dim"]
    notes = [note for row in zip(names, dims, states, drivers) for note in _bounds(*row)]
    bound = 2 * sum(states) + 1
    if sum(dims) < bound:
        notes.append(
            f"the kappas add up to {sum(dims)}, under {bound} = 2d+1, the multivariate bound for a joint "
            f"state of dimension {sum(states)}"
        )
    return tuple(notes)


def _bounds(name, kappa, state, driver):
    own, bundle = 2 * state + 1, 2 * (state + driver) + 1
    if kappa < own:
        yield f"{name}: kappa {kappa} is under {own} = 2d+1, Takens' bound for a state of dimension {state}"
    elif driver and kappa < bundle:
        yield (
            f"{name}: kappa {kappa} is under {bundle} = 2(d+e)+1, the bundle bound for a state of dimension "
            f"{state} driven by one of dimension {driver}"
        )
    if kappa > own:
        yield (
            f"{name}: kappa {kappa} is over {own} = 2d+1; so long a past also reconstructs the state of the "
            "drivers and hides them when there is little noise"
        )


def prediction_errors(
    past: np.ndarray, after: np.ndarray, times: np.ndarray, k: int = 4, theiler: int = 0
) -> np.ndarray:
    """Return the squared errors ``(n,)`` of predicting ``after`` by the mean over the past's k neighbours."""
    near, _ = nearest(past, times, k, theiler)
    return (after - after[near].mean(axis=1)) ** 2


def nearest(points: np.ndarray, times: np.ndarray, k: int, theiler: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Return rows and max-norm distances of the k nearest other points, none within ``theiler`` in time.

    The earlier of two equally near points comes first: overlapping windows share pairs of values, so that
    ties are common, between the windows just before and just after a point above all.
    """
    from scipy.spatial import cKDTree

    asked = min(k + 2 * theiler + 1 + TIED, len(points))
    distance, rows = cKDTree(points).query(points, asked, p=np.inf)
    refused = np.abs(times[rows] - times[:, None]) <= theiler
    order = np.lexsort((rows, distance, refused), axis=1)[:, :k]
    return np.take_along_axis(rows, order, 1), np.take_along_axis(distance, order, 1)


def scaled(column: np.ndarray, index: int, name: str) -> np.ndarray:
    """Z-score a column and break its ties."""
    column = _standardised(column, index, name)
    return column + TIE_NOISE * np.random.default_rng([0x5EED, index]).standard_normal(len(column))


def _standardised(column, index, name):
    return zscore(numeric(column, name, "a neighbour method"))


def _windows(series, name, span, condition) -> Blocks:
    """Return one node's samples on the window that reaches ``span`` back, at all lags up to it."""
    longest = max(series.lengths)
    _require_samples(longest, 3 * span + 3, "max_dim or max_delay")
    return Blocks(series.select([name]), Embedding(dim=span), condition)


def _past(blocks, dim, delay):
    return blocks.take([Lagged(0, 1 + m * delay) for m in range(dim)])


def _table(method, loss, sign) -> EmbeddingTable:
    """Judge every (dim, delay) by the mean of its losses ``(n,)``; the table shows it times ``sign``."""
    dims, delays = tuple(range(1, method.max_dim + 1)), tuple(range(1, method.max_delay + 1))
    losses = {}
    for dim in dims:
        for delay in delays:
            first = dim == 1 and delay > 1  # one value has no delay
            losses[dim, delay] = losses[1, 1] if first else loss(dim, delay)
    values = tuple(tuple(sign * float(losses[dim, delay].mean()) for delay in delays) for dim in dims)
    best = _smallest_good(losses, dims, delays, method.parsimony)
    name = type(method).__name__
    return EmbeddingTable(method=name, dims=dims, delays=delays, values=values, best=best, further={})


def _smallest_good(losses, dims, delays, parsimony) -> tuple[int, int]:
    """Return the first dim, at its best delay, whose loss is as good as the least (`Ragwitz.parsimony`)."""
    means = {key: float(loss.mean()) for key, loss in losses.items()}
    least = min(means, key=lambda key: (means[key], key))
    for dim in dims:
        key = min(((dim, delay) for delay in delays), key=lambda key: (means[key], key))
        excess = losses[key] - losses[least]
        if excess.mean() <= parsimony * excess.std(ddof=1) / np.sqrt(len(excess)):
            return key
    return least


def _require_whole(method, **lowest):
    for field, low in lowest.items():
        value = getattr(method, field)
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < low:
            raise InputError(f"{field}={value!r} is not possible; give a whole number of at least {low}")


def _require_positive(field, value):
    if not (np.isscalar(value) and np.isfinite(value) and value >= 0):
        raise InputError(f"{field}={value!r} is not possible; give a number of at least 0")


def _require_samples(given, needed, what):
    if given < needed:
        raise InputError(
            f"too few samples: {given} where {needed} are needed; lower {what}, or record longer"
        )
