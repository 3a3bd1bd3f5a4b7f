"""Every information-theoretic quantity of the paper, in nats, as a choice of blocks for I(x ; y | z).

In the notation of the paper Y^i_{n+1} is a target's next value, Y^{i,(kappa^i)}_n its own past, and Y^{ij} its parents.
"""

import copy
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property, lru_cache, partial
from typing import Any

import numpy as np

from enmesh import late
from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.embedding import Blocks, Embedding, Lagged, Pasts, checked_pasts
from enmesh.errors import InputError, refuse_if
from enmesh.estimators import KSG, Estimator, Prepared
from enmesh.events.events import Events
from enmesh.methods import resolve
from enmesh.options import one_of, switch

KEPT = 4  # prepared (target, given) pairs kept for further questions; a nearest-neighbour index can be large

Node = str | int
Nodes = Node | Sequence[Node]
AnyEstimator = Estimator | str | None
AnyPasts = Pasts | None
Indices = Sequence[int]
Variables = Sequence[Lagged]
Question = tuple[list[Lagged], Lagged, list[Lagged]]  # x, y and z of I(x ; y | z)


class Transfers:
    """Transfer entropies between the nodes of one series: prepared once per (y, z), asked many times.

    Everything is I(x ; y | z) of lagged variables: x the pasts of sources, y the target's next value, z what is
    conditioned on (`variables`).
    """

    def __init__(
        self, series: Series, estimator: Estimator | str, embedding: Pasts, family: Collection[int] | None = None
    ):
        self.series, self.estimator = series, resolve(Estimator, estimator)
        embedding = checked_pasts(embedding)
        estimator = self.estimator
        self.blocks = Blocks(series, embedding, estimator.condition, estimator.reaches_back, family)
        self._kept = lru_cache(KEPT)(partial(_prepared, estimator, self.blocks))

    @cached_property
    def joint(self) -> Any:
        """What the estimator keeps of all lagged variables, if it can answer from that."""
        return self.estimator.joint(self.blocks)

    @classmethod
    def of(cls, series: Any, estimator: AnyEstimator, embedding: AnyPasts) -> "Transfers":
        """Return those of data as a user gives them, by default with `KSG` and kappa 1, tau 1."""
        estimator = KSG() if estimator is None else estimator
        return cls(Series.of(series).in_order(), estimator, Embedding() if embedding is None else embedding)

    def variables(self, sources: Iterable[int], target: int, given: Iterable[int] = ()) -> Question:
        """Return x, y and z of T_{sources -> target | given}, nodes in ascending order."""
        past = self.blocks.past
        z = past([target], target) + past(sorted(given), target)
        return past(sorted(sources), target), Lagged(target, 0), z

    def value(self, sources: Indices, target: int, given: Indices = (), *, pointwise: bool = False) -> Any:
        """Return T_{sources -> target | given}, eq. te."""
        if not len(sources):
            return np.zeros(self.blocks.n) if pointwise else 0.0
        return self.cmi(*self.variables(sources, target, given), pointwise=pointwise)

    def cmi(self, x: Variables, y: Lagged, z: Variables, *, pointwise: bool = False) -> Any:
        """Return I(x ; y | z) of lagged variables, from one pass over the data where the estimator can do that."""
        if self.joint is not None and not pointwise:
            value = self.joint.cmi(x, y, z)
            if value is not None:
                return value
        return self.prepared(y, z).cmi(self.blocks.take(x), local=pointwise)

    def each(self, candidates: Sequence[Lagged], y: Lagged, z: Sequence[Lagged]) -> np.ndarray:
        """Return I(x ; y | z) of every lagged variable x among the candidates: one batch on one prepared (y, z)."""
        if self.joint is not None:
            return np.array([self.cmi([x], y, z) for x in candidates])
        return self.prepared(y, z).each(self.blocks.take(candidates))

    def strongest(self, source: int, target: int, given: Sequence[int] = ()) -> Lagged:
        """Return the lagged variable of a source that says most given its others and the given nodes."""
        x, y, z = self.variables([source], target, given)
        return max(x, key=lambda v: (self.cmi([v], y, [*z, *(w for w in x if w != v)]), -v.lag))

    def conditional_entropy(self, target: int, given: Sequence[int] = ()) -> float:
        """Return H(y | own past, given) as H(y) - I(y ; z): entropies of different dimension are never subtracted."""
        past = self.blocks.past([target, *given], target)
        known = self.prepared(Lagged(target, 0), []).cmi(self.blocks.take(past))
        return self.estimator.entropy(self.series.values[self.blocks.rows, target][:, None]) - known

    def dof(self, x: Sequence[Lagged], y: Lagged, z: Sequence[Lagged]) -> int:
        """Return the degrees of freedom of 2 N I(x ; y | z) under independence."""
        arities = self.blocks.arities
        return self.estimator.dof(arities([y]), arities(x), arities(z))

    def effective_samples(self, x: Sequence[Lagged], y: Lagged, z: Sequence[Lagged]) -> float:
        """Return the samples N of which 2 N I(x ; y | z) follows chi-square under independence."""
        arities = self.blocks.arities
        return self.estimator.effective_samples(self.blocks.n, arities([y]), arities(x), arities(z))

    def prepared(self, y: Lagged, z: Sequence[Lagged]) -> Prepared:
        """Return y given z, ready for any x; the last few are kept."""
        return self._kept(y, tuple(z))

    def twin(self) -> "Transfers":
        """Return the same transfers for another thread: the same data, prepared objects of its own."""
        twin = copy.copy(self)
        twin._kept = lru_cache(KEPT)(self._kept.__wrapped__)
        return twin


def _prepared(estimator: Estimator, blocks: Blocks, y: Lagged, z: tuple[Lagged, ...]) -> Prepared:
    return estimator.prepare(blocks.take([y]), blocks.take(z), times=blocks.times)


def cmi(x: Any, y: Any, z: Any = None, *, estimator: AnyEstimator = None, local: bool = False) -> Any:
    """Conditional mutual information I(x ; y | z) of plain arrays ``(n, d)``, in nats; ``z`` may be None.

    Columns are scaled, ranked or coded as the estimator asks (`Estimator.condition`).

    >>> import numpy as np
    >>> from enmesh import Discrete
    >>> round(cmi([0, 1, 0, 1], [0, 1, 0, 1], estimator=Discrete()), 4)
    0.6931
    """
    estimator = resolve(Estimator, KSG() if estimator is None else estimator)
    switch("local", local)
    blocks: dict[str, np.ndarray] = {}
    index = 0
    for name, block in {"x": x, "y": y, **({} if z is None else {"z": z})}.items():
        try:
            block = np.asarray(block)
        except ValueError:
            raise InputError(f"{name} has rows of different lengths; give (n, d)") from None
        block = block[:, None] if block.ndim == 1 else block
        refuse_if(block.ndim != 2 or not block.size, f"{name} has shape {block.shape}; give (n, d)")
        if block.dtype.kind == "f" and not np.isfinite(block).all():
            raise InputError(f"{name} has missing or infinite values; remove them first")
        columns = [estimator.condition(c, index + i, f"{name}[{i}]") for i, c in enumerate(block.T)]
        blocks[name] = np.stack(columns, axis=1)
        index += len(columns)
    return estimator.prepare(blocks["y"], blocks.get("z")).cmi(blocks["x"], local=local)


def transfer_entropy(
    series: Series | Events,
    source: Nodes,
    target: Node,
    *,
    given: Nodes = (),
    estimator: AnyEstimator = None,
    embedding: AnyPasts = None,
    local: bool = False,
) -> Any:
    """Transfer entropy T_{source -> target} (eq. te): collective for several sources, conditional on ``given``.

    T = I( Y^{source} pasts ; Y^target_{n+1} | own past, pasts of given )

    Parameters
    ----------
    series
        The data: a `Series`, or `Events`, of which the result is a rate, in nats per unit of time.
    source, target, given
        Node names; ``source`` and ``given`` may be lists.
    estimator, embedding
        By default the measure, the lags and the own past of `infer`, so that a link has the value that it has in a
        network with the same other sources. With one of them given, ``KSG()`` and ``Embedding()`` (kappa 1, tau 1) for
        the other; of events ``PointProcess()``.
    local
        Return one value per embedded sample; their mean is the transfer entropy. Of events: one per target event, whose
        sum over the duration it is.

    Returns
    -------
    float, or ``(n,)`` array if ``local``; nats. An estimate can be negative (KSG) where the true value is near zero.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.transfer_entropy(series, "a", "b", estimator=em.Gaussian()), 2)
    0.07
    >>> round(em.transfer_entropy(series, "a", "c", given="b", estimator=em.Gaussian()), 2)
    0.0
    """
    switch("local", local)
    if isinstance(series, Events):
        transfers: Any = late.lazy_import("events").prepared(series, estimator, embedding=embedding)
    elif estimator is None and embedding is None:
        plan, series = late.lazy_import("plan"), Series.of(series).in_order()
        ends, scorer = link(series, source, target, given), plan.default_scorer(series)
        return scorer.local(*ends)[0] if local else scorer.asked(*ends).value
    else:
        transfers = Transfers.of(series, estimator, embedding)
    return transfers.value(*link(transfers.series, source, target, given), pointwise=local)


def link(series: Series, source: Nodes, target: Node, given: Nodes) -> tuple[Indices, int, Indices]:
    """Return positions of sources, target and given, or say why they make no link."""
    sources, end, rest = series.indices(source), series.index(target), series.indices(given)
    refuse_if(not sources, "no source is named; give at least one")
    if end in sources or end in rest:
        own = "its own past is always conditioned on, do not name it again"
        raise InputError(f"{series.names[end]} is the target; {own}")
    if both := set(sources) & set(rest):
        raise InputError(f"{series.names[min(both)]} is both source and given; name it once")
    return sources, end, rest


def active_information(
    series: Series, target: Node, *, estimator: AnyEstimator = None, embedding: AnyPasts = None, local: bool = False
) -> Any:
    """Active information storage I( own past ; Y_{n+1} ): the information in a node's own past about its next value.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.active_information(series, "a", estimator=em.Gaussian()), 2)
    0.16
    """
    switch("local", local)
    transfers = Transfers.of(series, estimator, embedding)
    past, following, _ = transfers.variables([end := transfers.series.index(target)], end)
    return transfers.prepared(following, []).cmi(transfers.blocks.take(past), local=local)


def conditional_entropy(
    series: Series, target: Node, given: Nodes = (), *, estimator: AnyEstimator = None, embedding: AnyPasts = None
) -> float:
    """Entropy of a node's next value given its own past and others', H(Y^i_{n+1} | own past, given) (eq. cond-entropy).

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.conditional_entropy(series, "b", "a", estimator=em.Gaussian()), 2)
    1.45
    """
    transfers = Transfers.of(series, estimator, embedding)
    return transfers.conditional_entropy(transfers.series.index(target), transfers.series.indices(given))


def stochastic_interaction(series: Series, *, estimator: AnyEstimator = None, embedding: AnyPasts = None) -> float:
    """Stochastic interaction S_Y (eq. stochastic-interaction): how much more the whole predicts than its parts.

    S_Y = sum_i H(Y^i_{n+1} | own past) - H(Y_{n+1} | all pasts)
        = TC(Y_{n+1} | all pasts) + sum_i I(Y^i_{n+1} ; other pasts | own past)

    It is the KL divergence of the graph without links.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.stochastic_interaction(series, estimator=em.Gaussian()), 2)
    0.17
    """
    return kl_divergence(series, {}, estimator=estimator, embedding=embedding)


def kl_divergence(
    series: Series, graph: Any, *, estimator: AnyEstimator = None, embedding: AnyPasts = None, form: str = "direct"
) -> float:
    """KL divergence of a graph's factorised distribution from the joint one, D_KL(p_D || p_B), in nats.

    ``form="direct"`` (eq. kl-div), as two terms that are each >= 0 in truth,

        TC(Y_{n+1} | all pasts) + sum_i I(Y^i_{n+1} ; non-parents' pasts | own past, parents)

    ``form="decomposed"`` (Theorem 1, eq. kl-te): S_Y - sum_i T_{parents -> i}. The two are equal for Gaussian,
    Regression and Discrete; for KSG and Kernel, whose estimates do not obey the chain rule, they agree up to
    estimation error.

    Parameters
    ----------
    graph
        ``{target: parents}``, a networkx DiGraph, an edge list or ``"a>b, b>c"``; nodes not named have no parents.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> [round(em.kl_divergence(series, graph, estimator=em.Gaussian()), 2) for graph in ("a>b, b>c", "a>b, c")]
    [0.01, 0.1]
    """
    one_of("form", form, ("direct", "decomposed"))
    transfers = Transfers.of(series, estimator, embedding)
    everything, total = transfers.blocks.everything(), _total_correlation(transfers)
    for i, parents in enumerate(parent_indices(transfers.series, graph)):
        _, following, known = transfers.variables([], i, parents if form == "direct" else ())
        rest = transfers.blocks.take(variable for variable in everything if variable not in known)
        total += transfers.prepared(following, known).cmi(rest)
        if form == "decomposed":
            total -= transfers.value(parents, i)
    return total


def _total_correlation(transfers: Transfers) -> float:
    """TC(Y_{n+1} | all pasts) = sum_i I(Y^i ; Y^1 .. Y^{i-1} | all pasts), by the chain rule."""
    blocks = transfers.blocks
    everything, following = blocks.everything(), [Lagged(i, 0) for i in range(blocks.n_nodes)]
    later = enumerate(following[1:], 1)
    return sum(transfers.prepared(y, everything).cmi(blocks.take(following[:i])) for i, y in later)


def instantaneous_dependence(series: Series, *, estimator: AnyEstimator = None, embedding: AnyPasts = None) -> float:
    """The part of the KL divergence that no graph removes: TC(Y_{n+1} | all pasts), the instantaneous dependence.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> round(em.instantaneous_dependence(series, estimator=em.Gaussian()), 2)
    0.0
    """
    return _total_correlation(Transfers.of(series, estimator, embedding))


def log_likelihood(series: Series, graph: Any, *, estimator: AnyEstimator = None, embedding: AnyPasts = None) -> float:
    """Maximised log-likelihood of a graph (eq. log-ll-cond-entropy) as far as observed variables go, in nats.

    ell = - N sum_i H(Y^i_{n+1} | own past, parents)

    The constant N H(X_n | all pasts) of the paper is dropped: it involves hidden states and is the same for all graphs.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> true, false = (em.log_likelihood(series, g, estimator=em.Gaussian()) for g in ("a>b, b>c", "b>a, c>b"))
    >>> true > false
    True
    """
    transfers = Transfers.of(series, estimator, embedding)
    families = enumerate(parent_indices(transfers.series, graph))
    return -transfers.blocks.n * float(sum(transfers.conditional_entropy(*family) for family in families))


def parent_indices(series: Series, graph: Any) -> tuple[tuple[int, ...], ...]:
    """Return for each node of the series the ascending positions of its parents in ``graph``."""
    parents: Mapping[str, tuple[str, ...]] = parents_of(graph, names=series.given_names)
    return tuple(tuple(sorted(series.index(p) for p in parents.get(name, ()))) for name in series.names)
