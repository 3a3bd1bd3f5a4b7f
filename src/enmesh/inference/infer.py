"""infer: from a series to a network, with a reported default for every choice.

The steps are those of the paper: embed each node, score families (target, parents), search for the graph with the best
total, then test every candidate edge given the target's other parents.
"""

import logging
import time
import warnings
from collections.abc import Iterable
from contextlib import contextmanager
from math import comb

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import HazardWarning, InputError, hazard
from enmesh.inference.defaults import Choices, default_score, default_search, embedded, parent_limit
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.network import Candidate, Network
from enmesh.inference.screen import screen as preselect
from enmesh.options import describe
from enmesh.scores import Link, Score
from enmesh.search.base import Problem
from enmesh.significance import q_values, warn_if_too_few

log = logging.getLogger("enmesh")

# Minutes beyond which a job is announced.
LONG = 1.0
# False discovery rate that q-values are usually held against; edges that too few surrogates keep above are warned of.
LEVEL = 0.05
# Samples of the series kept for pictures.
PREVIEW = 400

Edges = Iterable[tuple[str, str]]


def infer(
    series: Series,
    *,
    score: Score | None = None,
    search=None,
    max_parents: int | None = None,
    acyclic: bool = True,
    required: Edges = (),
    forbidden: Edges = (),
    screen: bool | int | None = None,
    n_jobs: int | None = None,
    store=None,
    progress=False,
    memory: int | None = None,
    seed: int = 0,
) -> Network:
    """Infer which node drives which.

    Parameters
    ----------
    series
        The data: a `Series`, or anything `Series` takes.
    score
        Such as ``TEE(estimator=KSG(), alpha=0.99)``. By default TEE with KSG for small continuous data, TEA with
        Gaussian for large, TEA with Discrete for states. An embedding that is not given is chosen from the data.
    search
        ``Exact()`` by default, which proves its optimum; ``Independent()`` when cycles are allowed.
    max_parents
        Largest number of parents of a node; by default what the sample size bears.
    acyclic
        Whether the graph must have no cycles (the paper's class). The score lost to this is `Network.gap`.
    required, forbidden
        Edges ``(source, target)`` the graph must have, or must not have.
    screen
        Preselect candidate parents by pairwise and conditional tests: None when the number of families calls for it,
        True always, False never, a number for that many candidates per node.
    n_jobs
        Workers; -1 for all cores. None is 1, or what a surrounding `joblib.parallel_config` says. Results do not
        depend on it.
    store
        Path of a file that keeps every finished score, so that a stopped run resumes.
    progress
        True shows progress on a terminal; or a callback.
    memory
        Bytes the workers may use together; fewer are used if more would need more.
    seed
        Seed of the default score's surrogates and of searches that draw at random.

    Returns
    -------
    Network
        Every choice that was made is in its ``choices``, every hazard in its ``warnings``.
    """
    series = series if isinstance(series, Series) else Series(series)
    if series.n_nodes < 2:
        raise InputError("a network needs at least 2 nodes; the series has 1")
    required, forbidden = list(required), list(forbidden)
    choices, hazards = Choices(), []
    with _hazards(hazards):
        score = score or default_score(series, seed, choices)
        score, criteria = embedded(series, score, choices)
        search = search or default_search(acyclic, choices)
        limit = parent_limit(series, score, max_parents, choices)
        _diagnose(series, score, limit)
    with _hazards(hazards):
        wanted, unwanted = _edges(series, required), _edges(series, forbidden)
        with Evaluator(
            score, series, n_jobs=n_jobs, store=store, progress=progress, memory=memory
        ) as evaluator:
            allowed, screening = preselect(
                evaluator,
                _allowed(series, unwanted),
                required=wanted,
                max_parents=limit,
                wanted=screen,
                choices=choices,
            )
            problem = Problem(
                n_nodes=series.n_nodes,
                max_parents=limit,
                acyclic=acyclic,
                required=wanted,
                forbidden=unwanted,
                candidates=allowed,
                bounds=evaluator.scorer.bounds(allowed),
                seed=seed,
                names=series.names,
            )
            _announce(evaluator, allowed, limit)
            found = search.run(evaluator, problem)
            tests = _edge_tests(series, evaluator, found.parents, allowed)
    options = {
        "score": describe(score),
        "search": describe(search),
        "max_parents": limit,
        "acyclic": acyclic,
        "required": sorted(map(list, required)),
        "forbidden": sorted(map(list, forbidden)),
        "screening": screening,
        "seed": seed,
    }
    return _network(
        series, found, candidates=tests, options=options, choices=choices, hazards=hazards, criteria=criteria
    )


# --- search ----------------------------------------------------------------------------------------------------------


def _allowed(series, forbidden) -> tuple[tuple[int, ...], ...]:
    """Return for each target the sources it may have."""
    nodes = range(series.n_nodes)
    return tuple(tuple(j for j in nodes if j != i and (j, i) not in forbidden) for i in nodes)


def _announce(evaluator, allowed, limit):
    """Say beforehand that a job will take long: the questions there are times the cost of a few, measured."""
    target = max(range(len(allowed)), key=lambda i: len(allowed[i]))
    sample = [(target, (j,)) for j in allowed[target][:20]]
    counts = [len(some) for some in allowed]
    if evaluator.scorer.tests(target, allowed[target][:1]):  # made of tests: each source given fewer others
        questions = sum(c * comb(c - 1, size) for c in counts for size in range(limit) if c)
    else:
        questions = sum(comb(c, size) for c in counts for size in range(1, limit + 1))
    if questions < 100 or len(sample) < 2:
        return
    evaluator(sample[:1])  # the first pays for compiling and preparing
    began = time.perf_counter()
    evaluator(sample[1:])
    minutes = (time.perf_counter() - began) / (len(sample) - 1) * questions / 60
    if minutes > LONG:
        log.warning("up to %d tests to make: about %.0f minutes on one core", questions, minutes)


def _edge_tests(series, evaluator, parents, allowed) -> tuple[Candidate, ...]:
    """Test every candidate edge given the target's other parents; q-values count the screened-out ones as tests."""
    links = [
        Link(j, i, tuple(p for p in parents[i] if p != j)) for i, some in enumerate(allowed) for j in some
    ]
    tests = evaluator.edges(links)
    dropped = series.n_nodes * (series.n_nodes - 1) - len(links)
    q = q_values(np.array([test.p_value for test in tests] + [1.0] * dropped))
    chosen = [row for row, (j, i, _) in enumerate(links) if j in parents[i]]
    count = max((len(tests[row].null) for row in chosen), default=0)
    at_floor = [row for row in chosen if count and tests[row].p_value * (1 + count) <= 1 and q[row] > LEVEL]
    if at_floor:
        warn_if_too_few(count, len(q), LEVEL)
    return tuple(
        Candidate(
            source=series.names[j],
            target=series.names[i],
            te=float(test.value),
            p_value=float(test.p_value),
            q_value=float(q[row]),
            lag=evaluator.scorer.lags(j, i)[0],
            lags=evaluator.scorer.lags(j, i),
            selected=j in parents[i],
            null=tuple(map(float, test.null)),
        )
        for row, ((j, i, _), test) in enumerate(zip(links, tests))
    )


# --- bookkeeping -----------------------------------------------------------------------------------------------------


@contextmanager
def _hazards(kept: list[str]):
    """Keep the messages of hazards; each is shown once, at the end of the block, if the user's filters let it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield
        finally:
            pending = list(caught)
    for one in pending:
        message = str(one.message)
        if not issubclass(one.category, HazardWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
        elif message not in kept:
            kept.append(message)
            hazard(message)


def _diagnose(series, score, max_parents):
    """Warn of the hazards in the data; a joint space that is too wide troubles neighbours and kernels alone."""
    from enmesh.inference.diagnostics import diagnose

    for finding in diagnose(series, score.embedding, max_parents=max_parents):
        if finding.kind != "dimension" or not score.estimator.analytic:
            hazard(finding.message)


def _edges(series, edges: Edges) -> frozenset[tuple[int, int]]:
    found = set()
    for edge in edges:
        if isinstance(edge, str) or len(edge) != 2:
            raise InputError(f"{edge!r} is not an edge; give (source, target)")
        found.add((series.index(edge[0]), series.index(edge[1])))
    return frozenset(found)


def _network(series, found, *, candidates, options, choices, hazards, criteria) -> Network:
    names = series.names
    return Network(
        names=names,
        parents={names[i]: tuple(names[j] for j in some) for i, some in enumerate(found.parents)},
        local=dict(zip(names, found.local)),
        optimal=found.optimal,
        bound=found.bound,
        gap=found.gap,
        removed=tuple((names[source], names[target]) for source, target in found.removed),
        evaluated=found.evaluated,
        candidates=candidates,
        options=options,
        provenance=_provenance(series),
        choices=tuple(choices.entries),
        warnings=tuple(hazards),
        preview=_preview(series),
        criteria=criteria,
    )


def _provenance(series):
    from enmesh import __version__

    return {
        "enmesh": __version__,
        "data": series.digest,
        "nodes": series.n_nodes,
        "trials": len(series.lengths),
        "samples": int(sum(series.lengths)),
        "dt": series.dt,
    }


def _preview(series):
    trial = series.trials[0]
    step = max(1, len(trial) // PREVIEW)
    return {name: tuple(map(float, column[::step][:PREVIEW])) for name, column in zip(series.names, trial.T)}
