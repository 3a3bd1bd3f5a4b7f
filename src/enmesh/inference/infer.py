"""infer: from a series to a network, with a reported default for every choice.

The steps are those of the paper: fix the pasts of each node, score families (target, parents), search for the graph
with the best total, then test every candidate edge given the target's other parents.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Embedding, Pasts
from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.explain import with_effects
from enmesh.inference.constraints import Constraints, Edges
from enmesh.inference.diagnostics import hazards_of_data
from enmesh.inference.network import Network
from enmesh.inference.run import Run, instantaneous_of, warn_of_loops
from enmesh.inference.wanted import wanted_of
from enmesh.inference.workers import check_jobs
from enmesh.methods import resolve
from enmesh.options import describe, whole
from enmesh.scores import Score
from enmesh.scores.base import possible_alpha
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate
from enmesh.tasks import single_thread


def infer(
    series: Any,
    *,
    score: Score | str | None = None,
    estimator: Estimator | str | None = None,
    search: Search | str | None = None,
    embedding: Pasts | None = None,
    alpha: float | None = None,
    surrogate: Surrogate | str | None = None,
    n_surrogates: int | None = None,
    max_lag: int | None = None,
    max_parents: int | None = None,
    acyclic: bool = True,
    required: Edges = (),
    forbidden: Edges = (),
    tiers: Sequence[Sequence[str]] | None = None,
    candidates: Mapping[str, Sequence[str]] | None = None,
    screen: bool | int | None = None,
    n_jobs: int | None = None,
    store: Any = None,
    progress: Any = None,
    memory: int | None = None,
    seed: int = 0,
    bootstrap: int = 0,
) -> Network:
    """Infer which node drives which.

    Parameters
    ----------
    series
        The data: a `Series`, or anything `Series` takes; or `Events`, whose lags are times and whose values are rates.
    score
        Such as ``TEE(estimator=KSG(), alpha=0.99)``, or a name as on the command line. By default chosen from the data:
        counting for states; lines, curves and nearest neighbours for numbers, target by target. An embedding that is
        not given is found from the data.
    estimator
        Such as ``KSG()``, or its name; the score that suits it is taken. Not together with a ``score`` that has one.
    embedding
        Pasts of every node, such as ``Embedding(dim=2)`` or ``Lags(...)``; by default found from the data.
    alpha
        Confidence level of the default score, or of one that is named; by default 0.99, or more in large networks, so
        that about one false link is let in.
    surrogate, n_surrogates
        How tests by surrogates are made; by default circular shifts, 199 or as many as alpha needs.
    search
        ``Exact()`` by default, which proves its optimum; ``Independent()`` when cycles are allowed; or a name.
    max_lag
        Largest lag at which sources are looked for; by default chosen from the data. 1 is the paper's procedure: each
        node's embedding from its own series, sources at lag 1.
    max_parents
        Largest number of parents of a node; by default 3, and more where the data call for them and bear them.
    acyclic
        Whether the graph must have no cycles (the paper's class). The score lost to this is `Network.gap`.
    required, forbidden
        Edges ``(source, target)`` the graph must have, or must not have.
    tiers
        Groups of nodes in order, such as ``[["a"], ["b", "c"]]``: no edge goes from a later group to an earlier one.
    candidates
        ``{target: sources}``: the only sources that a target may have; targets that are not named may have any.
    screen
        Preselect candidate parents by pairwise and conditional tests: None when the number of families calls for it,
        True always, False never, a number for that many candidates per node.
    n_jobs
        Workers; -1 for all cores. None is 1, or what a surrounding `joblib.parallel_config` says. Results do not
        depend on it.
    store
        Path of a file that keeps every finished score, so that a stopped run resumes.
    progress
        None shows progress in a notebook, True on a terminal too, False nowhere. A callback is called as
        ``progress(done, total, what=phase)`` when a phase begins and whenever more of it is done: ``done`` never falls
        within a phase, and ``total`` is None as long as it is not known.
    memory
        Bytes the workers may use together; fewer are used if more would need more.
    seed
        Seed of the default score's surrogates and of searches that draw at random.
    bootstrap
        Repeat the inference on so many random halves of the data; ``edges["stability"]`` is the share of cuts
        into two of them in which both have the edge (see `stability`).

    Returns
    -------
    Network
        Every choice that was made is in its ``choices``, every hazard in its ``warnings``.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> net = em.infer(series)
    >>> net.parents
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """
    given = {name: value for name, value in locals().items() if name != "series"}
    check_numbers(**given)
    if isinstance(series, Events):
        from enmesh.events.infer import infer_events

        for name in ("embedding", "max_lag", "bootstrap"):
            if given.pop(name):
                raise InputError(
                    f"{name} belongs to samples; events have histories (PointProcess) and no {name}"
                )
        return infer_events(series, given)
    series = Series.of(series)
    if given.pop("bootstrap"):
        network = infer(series, **given)
        return late.room("stability")(series=series, n=bootstrap, **given).on(network)
    if series.n_nodes < 2:
        raise InputError("a network needs at least 2 nodes; the series has 1")
    run = Run(series, seed, acyclic, n_jobs, store, progress, memory)
    rules = Constraints.of(series, required, forbidden, tiers, candidates)
    wanted = wanted_of(
        score,
        estimator,
        embedding=embedding,
        alpha=alpha,
        surrogate=surrogate,
        n_surrogates=n_surrogates,
        max_lag=max_lag,
        seed=seed,
    )
    with run.progress, collected_hazards() as run.hazards, single_thread():
        with run.progress.phase("reading the evidence"):
            for finding in hazards_of_data(series, run.evidence):
                hazard(finding.message)
        plan = run.plan(replace(wanted, candidates=rules.named_candidates))
        chosen = resolve(Search, search) if search is not None else run.default_search()
        with run.evaluator(plan.score) as evaluator:
            evaluator.add_nulls(plan.nulls)
            allowed, screening = run.preselected(evaluator, plan, rules, screen, max_parents)
            limit, found, tests = run.searched(
                evaluator, chosen, rules, allowed, max_parents, plan.candidates is not None
            )
            run.warn_of_pasts(plan, found)
            instantaneous = instantaneous_of(series, plan.score.embedding or Embedding(), found.parents)
            warn_of_loops(series, found, tests)
            blocks_of = lambda i: evaluator.scorer.of_target(i).transfers.blocks  # noqa: E731
            tests = with_effects(tests, series, blocks_of, found.parents)
    options = {
        "score": describe(plan.score),
        "search": describe(chosen),
        "max_parents": limit,
        "acyclic": acyclic,
        **rules.described(allowed),
        "screening": screening,
        "seed": seed,
    }
    return run.network(found, tests, options, plan.criteria, instantaneous)


def check_numbers(**given: Any) -> None:
    """Refuse numbers that `infer` cannot use, before anything is computed or written."""
    check_jobs(given.get("n_jobs"))
    if given.get("alpha") is not None:
        possible_alpha(given["alpha"])
    for name, least in (("max_lag", 1), ("max_parents", 0), ("bootstrap", 0)):
        if given.get(name) is not None:
            whole(name, given[name], least)
    screen = given.get("screen")
    number = isinstance(screen, Integral) and int(screen) >= 1
    if not (number or screen is None or screen is False):
        raise InputError(f"screen={screen!r} is not possible; give True, False or a number of candidates")
