"""Choosing the embedding from the data: kappa and tau of each node, from the node's own series alone.

The choice is made once per node and holds for all candidate parents, or Corollary 1 would not hold. More is not better:
by the bundle theorem a long past reconstructs the state of whatever drives the node as well, and then transfer entropy
from the driver vanishes. The criteria take the smallest kappa that is as good as the best.
"""

from collections.abc import Sequence
from dataclasses import replace

from enmesh.data.series import Series
from enmesh.embedding import base
from enmesh.embedding.base import EmbeddingMethod, EmbeddingTable, SelfPrediction
from enmesh.embedding.lagged import Embedding, Pasts, PerNode
from enmesh.embedding.ragwitz import Ragwitz
from enmesh.embedding.storage import ActiveStorage
from enmesh.errors import InputError, hazard
from enmesh.estimators import Estimator

METHODS = "Ragwitz(), ActiveStorage(), Cao(), SmallTse()"


def choose_embedding(
    series: Series,
    method: EmbeddingMethod | None = None,
    *,
    state_dim: PerNode | None = None,
    driver_dim: PerNode | None = None,
) -> Pasts:
    """Choose kappa and tau of every node from its own series.

    Parameters
    ----------
    method
        `Ragwitz` (default), `ActiveStorage`, `Cao` or `SmallTse`, which give an `Embedding`; `NonUniform`, which gives
        `Lags`.
    state_dim, driver_dim
        Dimension d of each node's own state and e of what drives it, where they are known; then a
        `HazardWarning` says where the choice misses the bounds of the embedding theorems (`embedding_bounds`).

    Examples
    --------
    >>> from enmesh import Gaussian
    >>> from enmesh.simulate import var
    >>> series = var(coefficients=[[[0.5]], [[0.3]]], n=2000, names=["a"])
    >>> choose_embedding(series, ActiveStorage(estimator=Gaussian())).dim
    (('a', 2),)
    """
    series = Series.of(series)
    method = fitting(Ragwitz(), series) if method is None else method
    if not isinstance(method, EmbeddingMethod):
        raise InputError(f"method={method!r} is not known; use {METHODS} or NonUniform()")
    pasts = method.choose(series)
    if isinstance(pasts, Embedding):
        for note in embedding_bounds(pasts, series.names, state_dim=state_dim, driver_dim=driver_dim):
            hazard(note)
    return pasts


def embedding_method(estimator: Estimator, series: Series) -> SelfPrediction:
    """Return the method that suits an estimator and a series when the user names none."""
    # Few dimensions are tried: a long past hides drivers, and every dimension costs samples.
    if estimator.analytic or estimator.takes_labels:
        delay = 1 if estimator.takes_labels else 3
        return fitting(ActiveStorage(estimator=estimator, max_dim=3, max_delay=delay), series)
    return fitting(Ragwitz(max_dim=3, max_delay=4, theiler=getattr(estimator, "theiler", 0), parsimony=2.0), series)


def fitting(method: Ragwitz | ActiveStorage, series: Series) -> Ragwitz | ActiveStorage:
    """Return a method that a user did not name with dimensions and delays that the longest trial has room for.

    >>> fitting(Ragwitz(), Series([[0.0, 1.0], [1.0, 0.0], [0.5, 0.2]] * 10)).max_delay
    2
    """
    while base.least_samples(method.max_dim, method.max_delay) > max(series.lengths) and method.max_dim > 1:
        if method.max_delay > 1:
            method = replace(method, max_delay=method.max_delay - 1)
        else:
            method = replace(method, max_dim=method.max_dim - 1)
    return method


def embedding_criteria(series: Series, method: SelfPrediction | None = None) -> dict[str, EmbeddingTable]:
    """Return the table of the criterion for every node, ``{name: EmbeddingTable}``.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.embedding_criteria(series, em.Ragwitz(max_dim=3, max_delay=1))["a"].best
    (1, 1)
    """
    series = Series.of(series)
    method = fitting(Ragwitz(), series) if method is None else method
    if not isinstance(method, SelfPrediction):
        raise InputError(f"method={method!r} has no criterion per node; use {METHODS}")
    return method.tables(series)


def embedding_bounds(
    embedding: Embedding, names: Sequence[str], *, state_dim: PerNode | None = None, driver_dim: PerNode | None = None
) -> tuple[str, ...]:
    """Say where an embedding misses the bounds of the theorems, for states of known dimension.

    Takens: kappa >= 2 d + 1 for a node's own state of dimension d. Bundle (Stark): kappa >= 2 (d + e) + 1 for
    a node driven by a state of dimension e. Multivariate (Deyle and Sugihara): sum of kappa >= 2 d + 1, d of
    the whole.

    >>> embedding_bounds(Embedding(dim=4), ("a", "b"), state_dim={"a": 1, "b": 3})[1]
    "b: kappa 4 is under 7 = 2d+1, Takens' bound for a state of dimension 3"
    """
    if state_dim is None:
        return ()
    names = tuple(names)
    dims, states = (one.per_node(names)["dim"] for one in (embedding, Embedding(dim=state_dim)))
    drivers = (0,) * len(names) if driver_dim is None else Embedding(dim=driver_dim).per_node(names)["dim"]
    notes = []
    for name, kappa, state, driver in zip(names, dims, states, drivers):
        takens, bundle, length = 2 * state + 1, 2 * (state + driver) + 1, f"{name}: kappa {kappa} is"
        if kappa < takens:
            notes.append(f"{length} under {takens} = 2d+1, Takens' bound for a state of dimension {state}")
        elif kappa < bundle:
            bound = f"{bundle} = 2(d+e)+1, the bundle bound for a state of dimension {state}"
            notes.append(f"{length} under {bound} driven by one of dimension {driver}")
        if kappa > takens:
            hidden = "also reconstructs the state of the drivers and hides them when there is little noise"
            notes.append(f"{length} over {takens} = 2d+1; so long a past {hidden}")
    if sum(dims) < 2 * sum(states) + 1:
        bound = f"{2 * sum(states) + 1} = 2d+1, the multivariate bound for a joint state of dimension {sum(states)}"
        notes.append(f"the kappas add up to {sum(dims)}, under {bound}")
    return tuple(notes)
