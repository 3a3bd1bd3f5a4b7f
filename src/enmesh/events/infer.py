"""infer of events: the search, tests, store and workers of `enmesh.inference`, with histories in place of lags."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.events.events import Events
from enmesh.events.point_process import GREEDY, PointProcess
from enmesh.events.transfers import FEW, with_histories
from enmesh.inference.network import Network
from enmesh.inference.plan import Plan
from enmesh.inference.rules import THRESHOLDS
from enmesh.inference.run import Run
from enmesh.inference.wanted import Choices
from enmesh.methods import resolve
from enmesh.scores import TEE
from enmesh.significance import least_surrogates
from enmesh.surrogates import Surrogate
from enmesh.tasks import single_thread

SURROGATES = 199
SHOWN = 60  # events of the busiest node in the page's raster
OF_THE_SCORE = ("score", "estimator", "alpha", "surrogate", "n_surrogates")


def infer_events(events: Events, given: Mapping[str, Any]) -> Network:
    """Infer which node's events drive which; ``given`` is what `infer` was given."""
    options = {name: value for name, value in given.items() if name not in OF_THE_SCORE}
    run = Run(events, **options)  # type: ignore[arg-type]
    with run.progress, collected_hazards() as run.hazards, single_thread():
        plan = Plan(_score(events, given, run.choices))
        _say_few(events)
        return _as_events(run.network(plan), events)


def _score(events: Events, given: Mapping[str, Any], choices: Choices) -> TEE:
    """Return the score that was given, or the default: sequential TEE by histories at near random times."""
    score, estimator, alpha, surrogate, count = (given[name] for name in OF_THE_SCORE)
    if isinstance(score, TEE):
        for name in OF_THE_SCORE[1:]:
            if given[name] is not None:
                raise InputError(f"a score has its {name} already; give {name}= or a score")
        return replace(score, estimator=_histories(events, score.estimator, choices))
    if score not in (None, "tee"):
        raise InputError(f"score={score!r} is not made for events; use TEE(estimator=PointProcess())")
    if estimator is None:
        estimator = choices.add("estimator", PointProcess(), "events in continuous time")
    if alpha is None:
        alpha = max(THRESHOLDS.alpha, round(1 - 1 / (events.n_nodes * (events.n_nodes - 1)), 6))
    count = count or max(SURROGATES, least_surrogates(alpha))
    choices.add("score", f"TEE, alpha {alpha:g}", f"no known null distribution: {count} surrogates")
    found = _histories(events, estimator, choices)
    kind = found.usual_surrogate if surrogate is None else resolve(Surrogate, surrogate)
    return TEE(estimator=found, surrogate=kind, alpha=alpha, n_surrogates=count, seed=given["seed"])


def _histories(events: Events, estimator: Any, choices: Choices) -> PointProcess:
    if not isinstance(estimator, PointProcess):
        named = estimator if isinstance(estimator, str) else type(estimator).__name__
        raise InputError(f"{named} takes samples, not events; use PointProcess()")
    if estimator.target_history != GREEDY:
        return estimator
    found = with_histories(events, estimator)
    lengths = ", ".join(f"{name}: {length}" for name, length in found.target_history)
    choices.add("histories", lengths, "intervals were added as long as the next one was significant")
    return found


def _say_few(events: Events) -> None:
    few = [f"{name} ({count})" for name, count in events.counts.items() if count < FEW]
    if few:
        hazard(f"few events: {', '.join(few)}; links of such nodes are easily missed")
    if events.guessed:
        hazard(
            f"no duration is given: observed is taken from the first to the last event, {events.duration:g} in all; "
            "pass duration= or windows="
        )
    if events.resolution is not None:
        hazard(
            f"times are multiples of {events.resolution:g}: events were spread evenly over such a step, and who was "
            "first within one is not known"
        )


def _as_events(network: Network, events: Events) -> Network:
    """Return the network with what the page says of events, and a raster in place of recordings."""
    start, stop, times = events.excerpt(SHOWN)
    known = {
        name: value for name, value in network.provenance.items() if name not in ("samples", "dt", "every")
    }
    more = {"events": len(events), "duration": events.duration, "shown": [start, stop]}
    preview = {name: tuple(map(float, t)) for name, t in zip(events.names, times)}
    return replace(network, provenance=known | more, preview=preview)
