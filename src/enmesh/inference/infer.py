"""infer: from a series to a network, with a reported default for every choice.

The steps are those of the paper: fix the pasts of each node, score families (target, parents), search for the graph
with the best total, then test every candidate edge given the target's other parents.
"""

from collections.abc import Mapping, Sequence
from numbers import Integral
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
from enmesh.options import error_rate, names_in, switch, whole
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
    """Infer which node drives which.

    Most calls need ``series`` alone. docs/defaults.md explains the test that is then used.

    Parameters
    ----------
    series
        A `Series`, or what `Series` takes: a table, an array, a path. `Events` have times for lags.
    level, fdr
        Error rate of a link: 0.01, lower in large networks (about one false link in all). ``fdr``
        keeps links by a false discovery rate instead; given both, a link must pass both.
    max_lag, max_parents
        Largest lag: 5, or more if a linear scan finds a longer one. Largest number of parents.
    context
        Nodes that every test is conditioned on and that nothing drives, such as a temperature.
    acyclic, within_sample
        Exclude cycles, as the paper does. Add edges of lag 0 where the data show their direction.
    required, forbidden, candidates
        Edges ``(source, target)`` that must be there, or must not. ``candidates`` has the only
        sources that a target may have: ``{target: sources}``.
    tiers
        Groups of nodes in order. No edge goes from a later group to an earlier one.
    bootstrap
        Number of halves of the data to infer again, for ``edges["stability"]``.
    n_jobs, memory, seed
        Number of workers (-1: all cores). Bytes that they may use together. Neither changes a
        result. Seed of random numbers.
    store, progress
        File that keeps finished scores: a stopped run goes on from there. ``progress`` is True,
        False or a function ``f(done, total, what=phase)``.
    score, estimator, search
        Another method than the default test, such as ``TEE(estimator=KSG())`` or ``"ksg"``. Another
        search than `Exact`, which proves that no other graph is better.
    embedding, alpha, surrogate, n_surrogates, screen
        Options of such a method: past of every node, such as ``Embedding(dim=2)``; confidence
        level; kind and number of surrogates; whether sources are preselected, or how many.

    Returns
    -------
    Network
        ``edges`` has the links, ``pairs`` every tested pair. ``choices`` says what was chosen and
        why, ``warnings`` what could mislead. ``plot()`` draws the network, ``report("page.html")``
        writes a page, ``fit()`` makes a model that predicts.

    See Also
    --------
    inspect : what infer would do with a recording, and what to do first.
    significance, lag_profile : one link.
    stability, interval, windows : how sure the links are.
    Series : how to read and prepare a recording.

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
        for name in [name for name in ("embedding", "max_lag") if given[name] is not None] + ["bootstrap"] * bool(
            bootstrap
        ):
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
    within = check_within(given.pop("within_sample"), wanted)
    run = Run(series, context=wanted.context, **given)
    if isinstance(series, Events):
        from enmesh.events.infer import infer_events

        return infer_events(series, wanted, run)
    with run.progress, collected_hazards() as run.hazards, single_thread():
        with run.progress.phase("looking at the data"):
            for finding in hazards_of_data(run.series):
                hazard(finding.message)
        return with_within(run.network(run.plan(wanted)), run.series, run.problem if within else None)


def check_within(within_sample: bool, wanted: Request) -> bool:
    """Return whether edges within one sample are asked for; refuse where they cannot be."""
    within_sample = switch("within_sample", within_sample)
    if within_sample and not wanted.by_link_test:
        raise InputError("within_sample belongs to the default test; leave score, estimator and embedding out")
    return within_sample


def check_numbers(**given: Any) -> None:
    """Refuse numbers that `infer` cannot use, before anything is computed or written."""
    check_jobs(given.get("n_jobs"))
    if given.get("alpha") is not None:
        check_alpha(given["alpha"], warn=False)  # the score that has it warns
    for name in ("level", "fdr"):
        if given.get(name) is not None:
            error_rate(name, given[name])
    switch("acyclic", given.get("acyclic", False))
    for name, least in (("max_lag", 1), ("max_parents", 0), ("bootstrap", 0), ("seed", 0), ("n_surrogates", 0)):
        if given.get(name) is not None:
            whole(name, given[name], least)
    screen = given.get("screen")
    if not (screen is None or screen is False or (isinstance(screen, Integral) and int(screen) >= 1)):
        raise InputError(f"screen={screen!r} is not possible; give True, False or a number of candidates")
