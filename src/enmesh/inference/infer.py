"""infer: from a series to a network, with a reported default for every choice.

The steps are those of the paper: fix the pasts of each node, score families (target, parents), search for the graph
with the best total, then test every candidate edge given the target's other parents.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

import numpy as np

from enmesh import late
from enmesh.data.series import Series
from enmesh.embedding import Pasts
from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.inference.diagnostics import hazards_of_data
from enmesh.inference.network import Network
from enmesh.inference.run import Run
from enmesh.inference.wanted import Edges, Request
from enmesh.inference.within import with_within
from enmesh.inference.workers import check_jobs
from enmesh.options import whole
from enmesh.scores import Score
from enmesh.scores.base import check_alpha
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate
from enmesh.tasks import single_thread

# What says how links are tested, and where; the rest says which are possible, and who computes.
WANTED = ("score", "estimator", "embedding", "alpha", "level", "fdr", "context", "surrogate", "n_surrogates", "max_lag")


def infer(
    series: Any,
    *,
    score: Score | str | None = None,
    estimator: Estimator | str | None = None,
    search: Search | str | None = None,
    embedding: Pasts | None = None,
    level: float | None = None,
    fdr: float | None = None,
    context: str | Sequence[str] = (),
    alpha: float | None = None,
    surrogate: Surrogate | str | None = None,
    n_surrogates: int | None = None,
    max_lag: int | None = None,
    max_parents: int | None = None,
    acyclic: bool = False,
    within_sample: bool = False,
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
    score, estimator
        Such as ``TEE(estimator=KSG(), alpha=0.99)``, or a name as on the command line; or an estimator, whose score is
        then the one that suits it. By default one test of every link by regression (`LinkTest`).
    embedding
        Pasts of every node, such as ``Embedding(dim=2)`` or ``Lags(...)``; by default found from the data.
    level
        Error rate of a link: the probability that one that is not there is found. By default 0.01, or in large
        networks less, so that about one false link is expected.
    fdr
        Keep links by their false discovery rate instead, such as 0.05.
    context
        Nodes that are always known, and never driven, such as a temperature.
    alpha
        Confidence level of a score that is named or of the score of an estimator: 1 - level. Of the default test it is
        deprecated; give ``level``.
    surrogate, n_surrogates
        How tests by surrogates are made; by default circular shifts, 199 or as many as alpha needs.
    search
        ``Exact()`` by default for acyclic graphs, which proves its optimum; or a name.
    max_lag
        Largest lag at which sources are looked for; by default 5, or what a linear scan of longer lags asks for. With
        a score or estimator, 1 is the paper's procedure: each node's embedding from its own series, sources at lag 1.
    max_parents
        Largest number of parents of a node; by default as many as pass the test.
    acyclic
        Whether the graph must have no cycles (the paper's class). The score lost to this is `Network.gap`.
    within_sample
        Add edges of lag 0 where they can be oriented, and test lagged links given them (`Network.within`).
    required, forbidden
        Edges ``(source, target)`` the graph must have, or must not have.
    tiers
        Groups of nodes in order, such as ``[["a"], ["b", "c"]]``: no edge goes from a later group to an earlier one.
    candidates
        ``{target: sources}``: the only sources that a target may have; targets that are not named may have any.
    screen
        Preselect candidate parents by pairwise and conditional tests: None when the number of families calls for it,
        True always, False never, a number for that many candidates per node.
    n_jobs, memory
        Workers, -1 for all cores, and the bytes that they may use together. None is 1 worker, or what a surrounding
        `joblib.parallel_config` says. Results do not depend on it.
    store
        Path of a file that keeps every finished score, so that a stopped run resumes.
    progress
        None shows progress after two seconds, True at once, False nowhere. A callback is called as
        ``progress(done, total, what=phase)`` when a phase begins and whenever more of it is done: ``done`` never falls
        within a phase, and ``total`` is None as long as it is not known.
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
        for name in filter(given.get, ("embedding", "max_lag", "bootstrap")):
            told = f"{name} belongs to samples and events have histories"
            raise InputError(f"{told}; leave it out, or give PointProcess(source_history=2)")
    series = series if isinstance(series, Events) else Series.of(series)
    if given.pop("bootstrap"):
        network = infer(series, **given)
        return late.lazy_import("stability")(series=series, n=bootstrap, **given).on(network)
    given["context"] = (context,) if isinstance(context, str) else tuple(context)
    wanted = Request(**{name: given.pop(name) for name in WANTED}, seed=seed, events=isinstance(series, Events))
    wanted = wanted.at_level()
    within = check_within(given.pop("within_sample"), wanted, acyclic)
    run = Run(series, context=wanted.context, **given)
    if isinstance(series, Events):
        from enmesh.events.infer import infer_events

        return infer_events(series, wanted, run)
    with run.progress, collected_hazards() as run.hazards, single_thread():
        with run.progress.phase("looking at the data"):
            for finding in hazards_of_data(run.series):
                hazard(finding.message)
        return with_within(run.network(run.plan(wanted)), run.series, run.problem if within else None)


def check_within(within_sample: bool, wanted: Request, acyclic: bool) -> bool:
    """Return whether edges within one sample are asked for; refuse where they cannot be."""
    if not isinstance(within_sample, (bool, np.bool_)):
        raise InputError(f"within_sample={within_sample!r} is not possible; give True or False")
    if within_sample and not wanted.by_link_test:
        raise InputError("within_sample belongs to the default test; leave score, estimator and embedding out")
    if within_sample and acyclic:
        raise InputError(
            "within_sample=True and acyclic=True cannot be combined: edges within one sample are found with "
            "feedback over time allowed; leave one of them out"
        )
    return bool(within_sample)


def check_numbers(**given: Any) -> None:
    """Refuse numbers that `infer` cannot use, before anything is computed or written."""
    check_jobs(given.get("n_jobs"))
    if given.get("alpha") is not None:
        check_alpha(given["alpha"], warn=False)  # the score that has it warns
    for name in ("level", "fdr"):
        value = given.get(name)
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < 1):
            raise InputError(f"{name}={value!r} is not possible; give an error rate such as 0.05")
    if not isinstance(given.get("acyclic", False), (bool, np.bool_)):
        raise InputError(f"acyclic={given['acyclic']!r} is not possible; give True or False")
    for name, least in (("max_lag", 1), ("max_parents", 0), ("bootstrap", 0), ("seed", 0), ("n_surrogates", 0)):
        if given.get(name) is not None:
            whole(name, given[name], least)
    screen = given.get("screen")
    if not (screen is None or screen is False or (isinstance(screen, Integral) and int(screen) >= 1)):
        raise InputError(f"screen={screen!r} is not possible; give True, False or a number of candidates")
