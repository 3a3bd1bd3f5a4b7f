"""infer: from a series to a network, with a reported default for every choice.

The steps are those of the paper: fix the pasts of each node, score families (target, parents), search for the graph
with the best total, then test every candidate edge given the target's other parents.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from typing import Any

from enmesh import late
from enmesh.data.series import Series
from enmesh.diagnostics import hazards_of_data
from enmesh.embedding import Pasts
from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.estimators import Estimator
from enmesh.events.events import Events
from enmesh.inference.run import Run
from enmesh.inference.wanted import Edges, Request
from enmesh.inference.workers import check_jobs
from enmesh.network.network import Network
from enmesh.options import names_in, switch, whole
from enmesh.scores import Score
from enmesh.scores.base import check_alpha
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate
from enmesh.tasks import single_thread
from enmesh.within.network import with_within

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
    """Infer which node drives which. Without options, every possible link is tested by regression (`LinkTest`).

    Parameters
    ----------
    series
        A `Series`, anything `Series` takes (table, array, path), or `Events`, whose lags are times.
    score, estimator
        Another method: a score such as ``TEE(estimator=KSG())``, an estimator, or a name on the command line.
    search
        How the best graph is found: by default `Exact`, which proves that it is the best.
    embedding
        Past of every node, such as ``Embedding(dim=2)`` or ``Lags(...)``; by default selected from the data.
    level, fdr
        Error rate of a link, by default 0.01, lower in large networks (one false link); or a false discovery rate.
    context
        Nodes that every test is conditioned on and that are never driven, such as a temperature.
    alpha, surrogate, n_surrogates
        Of a score or estimator: its confidence level, 1 - ``level``, and how its surrogates are made.
    max_lag, max_parents
        Largest lag, by default 5 or what a linear scan of longer lags finds; largest number of parents of a node.
    acyclic, within_sample
        Allow no feedback (the score lost is `Network.gap`); add edges of lag 0 where they can be oriented.
    required, forbidden, tiers, candidates
        Edges ``(source, target)`` that must or must not be there; groups of nodes in order, with no edge from a later
        to an earlier group; ``{target: sources}``, the only sources that a target may have.
    screen
        Preselect sources for a score: None if there are many, True, False, or a number of sources per node.
    n_jobs, memory
        Workers, -1 for all cores, and bytes that they may use together. Results do not depend on them.
    store, progress, seed
        File that keeps finished scores, so that a stopped run resumes; True, False or ``f(done, total, what=phase)``,
        by default shown after two seconds; seed of everything random.
    bootstrap
        Number of halves of the data to infer again; ``edges["stability"]`` is the share of cuts with the link.

    Returns
    -------
    Network
        Its ``choices`` say what was chosen and why, its ``warnings`` what could mislead.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series).parents
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
    given["context"] = (
        (context,) if isinstance(context, str) else tuple(() if context is None else names_in("context", context))
    )
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
    within_sample = switch("within_sample", within_sample)
    if within_sample and not wanted.by_link_test:
        raise InputError("within_sample belongs to the default test; leave score, estimator and embedding out")
    if within_sample and acyclic:
        raise InputError(
            "within_sample=True and acyclic=True cannot be combined: edges within one sample are found with "
            "feedback over time allowed; leave one of them out"
        )
    return within_sample


def check_numbers(**given: Any) -> None:
    """Refuse numbers that `infer` cannot use, before anything is computed or written."""
    check_jobs(given.get("n_jobs"))
    if given.get("alpha") is not None:
        check_alpha(given["alpha"], warn=False)  # the score that has it warns
    for name in ("level", "fdr"):
        value = given.get(name)
        if value is not None and not (isinstance(value, Real) and 0 < float(value) < 1):
            raise InputError(f"{name}={value!r} is not possible; give an error rate such as 0.05")
    switch("acyclic", given.get("acyclic", False))
    for name, least in (("max_lag", 1), ("max_parents", 0), ("bootstrap", 0), ("seed", 0), ("n_surrogates", 0)):
        if given.get(name) is not None:
            whole(name, given[name], least)
    screen = given.get("screen")
    if not (screen is None or screen is False or (isinstance(screen, Integral) and int(screen) >= 1)):
        raise InputError(f"screen={screen!r} is not possible; give True, False or a number of candidates")
