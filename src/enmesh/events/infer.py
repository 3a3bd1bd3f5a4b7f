"""infer of events: the search, tests, store and workers of `enmesh.inference`, with histories in place of lags."""

from dataclasses import replace
from typing import Any

from enmesh.errors import InputError, collected_hazards, first_few, hazard
from enmesh.events.events import Events
from enmesh.events.point_process import PointProcess
from enmesh.events.question import FEW
from enmesh.events.transfers import older_events, with_histories
from enmesh.inference.plan import Plan
from enmesh.inference.run import Run
from enmesh.inference.wanted import Choices, Request, Scores
from enmesh.network.network import Network
from enmesh.scores import TEE
from enmesh.tasks import single_thread

SHOWN = 60  # events of the busiest node in the page's raster


def infer_events(events: Events, wanted: Request, run: Run) -> Network:
    """Infer which node's events drive which; see `infer`."""
    with run.progress, collected_hazards() as run.hazards, single_thread():
        plan = Plan(_score(events, wanted, run))
        _say_few(events)
        network = run.network(plan)
        _say_older(events, network, plan.score.estimator)
        return _as_events(replace(network, warnings=tuple(run.hazards)), events)


def _score(events: Events, wanted: Request, run: Run) -> TEE:
    """Return the score that was given, or the default: sequential TEE by histories at near random times."""
    choices = run.choices
    if isinstance(wanted.score, TEE):
        return replace(wanted.score, estimator=_histories(events, wanted.score.estimator, choices))
    if wanted.score not in (None, "tee"):
        raise InputError(f"score={wanted.score!r} is not made for events; use TEE(estimator=PointProcess())")
    usual = "events in continuous time"
    estimator = wanted.estimator or choices.add("estimator", PointProcess(), usual)
    scores = Scores(events, wanted, choices)  # type: ignore[arg-type]
    count = scores.count(scores.alpha)
    choices.add("score", f"TEE, alpha {scores.alpha:g}", f"no known null distribution: {count} surrogates")
    return scores.sampled(_histories(events, estimator, choices), scores.alpha)


def _histories(events: Events, estimator: Any, choices: Choices) -> PointProcess:
    found = with_histories(events, estimator)
    if found is not estimator:
        lengths = ", ".join(f"{name}: {length}" for name, length in found.target_history)
        choices.add("histories", lengths, "intervals were added as long as the next one was significant")
    return found


def _say_few(events: Events) -> None:
    few = [f"{name} ({count})" for name, count in events.counts.items() if count < FEW]
    if few:
        hazard(f"few events: {', '.join(few)}; links of such nodes are easily missed")
    if events.guessed:
        hazard(
            "no duration is given: the observed time is taken from the first to the last event, "
            f"{events.duration:g} in all; pass duration= or windows="
        )
    if events.resolution is not None:
        hazard(
            f"times are multiples of {events.resolution:g}: the order of events within a step is not known, and they "
            "were spread evenly over it"
        )


def _say_older(events: Events, network: Network, how: Any) -> None:
    links = older_events(events, how, network.parents) if events.n_nodes > 2 else []
    if links:
        named = first_few([f"{source} -> {target}" for source, target in links])
        longer = max(how.history("condition", source) for source, _ in links) + 1
        hazard(
            f"short histories: in {named} events of the source before its last one also count, so links to the same "
            f"target may be false; compare with estimator=PointProcess(condition_history={longer})"
        )


def _as_events(network: Network, events: Events) -> Network:
    """Return the network with what the page says of events, and a raster in place of recordings."""
    start, stop, times = events.excerpt(SHOWN)
    gone = ("samples", "dt", "every")
    known = {name: value for name, value in network.provenance.items() if name not in gone}
    more = {"events": len(events), "duration": events.duration, "shown": [start, stop]}
    preview = {name: tuple(map(float, t)) for name, t in zip(events.names, times)}
    return replace(network, provenance=known | more, preview=preview)
