"""inspect: what a recording holds, what `infer` would do with it, what that costs, and what to do first."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from types import SimpleNamespace
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.diagnostics import hazards_of_data
from enmesh.draw import cautions
from enmesh.errors import InputError, collected_hazards
from enmesh.events.events import Events
from enmesh.inference.infer import check_numbers, infer
from enmesh.inference.plan import Planner
from enmesh.inference.wanted import Choices, Request
from enmesh.network.json_shape import FLAG, MAYBE, NUMBER, TEXT, WHOLE, listed, parts, row
from enmesh.options import plain

FORMAT = "enmesh inspection 1"
# Of the part of a recording that is inferred to see what all of it costs.
PART_SAMPLES, PART_EVENTS, PART_NODES = 400, 100, 4
# Options of a link between nodes, which a part of the recording may not have.
OF_NAMED_NODES = ("required", "forbidden", "tiers", "candidates", "context", "bootstrap", "store", "progress", "n_jobs")
RUN = "Infer the network."

INSPECTION = parts(
    {
        "data": parts(
            {"names": listed(TEXT), "kinds": listed(TEXT), "nodes": WHOLE, "samples": WHOLE, "lengths": listed(WHOLE)}
            | {"dt": MAYBE, "every": TEXT, "start": TEXT, "missing": WHOLE, "prepared": listed(TEXT), "digest": TEXT}
        ),
        "hazards": listed(parts({"kind": TEXT, "nodes": listed(TEXT), "value": MAYBE, "message": TEXT})),
        "plan": listed(row(TEXT, TEXT, TEXT)),
        "cost": parts({"pairs": WHOLE, "seconds": NUMBER, "measured_on": TEXT}),
        "steps": listed(parts({"advice": TEXT, "command": TEXT, "message": TEXT})),
        "ready": FLAG,
    }
)


@dataclass(frozen=True, kw_only=True)
class Inspection:
    """What a recording holds and what would be done with it.

    Attributes
    ----------
    data
        Names and kinds of nodes, numbers of nodes, samples and missing values, step, what was prepared, digest.
    hazards
        What could mislead: kind, nodes, the number that shows it, and a sentence.
    plan
        ``(what, value, reason)`` of every choice that `infer` makes before it looks for links.
    cost
        Number of possible links, and seconds that `infer` is expected to take on one core; right within a factor of a
        few. They are measured on a part of the recording.
    steps
        What to do, first first: advice, the command for it, and the hazard that it answers. The last is the inference.
    ready
        Whether the first step is the inference.
    """

    data: Mapping[str, Any]
    hazards: tuple[Mapping[str, Any], ...]
    plan: tuple[tuple[str, str, str], ...]
    cost: Mapping[str, Any]
    steps: tuple[Mapping[str, str], ...]

    @property
    def ready(self) -> bool:
        """Whether nothing is to be done before the inference."""
        return len(self.steps) == 1

    def to_dict(self) -> dict[str, Any]:
        """Return it as plain data, as the published schema says."""
        held = {one.name: getattr(self, one.name) for one in fields(self)}
        made: dict[str, Any] = plain({"format": FORMAT, **held, "ready": self.ready})
        return made

    def to_json(self) -> str:
        """Return it as JSON."""
        return json.dumps(self.to_dict(), indent=1, allow_nan=False)

    def __repr__(self) -> str:
        return "\n".join(self.sentences())

    def sentences(self) -> list[str]:
        """Return it in words."""
        data, cost = self.data, self.cost
        gaps = f", {data['missing']} missing values" if data["missing"] else ""
        trials = f", {len(data['lengths'])} trials" if len(data["lengths"]) > 1 else ""
        said = [f"Data: {data['nodes']} nodes, {data['samples']} samples{trials}{gaps}."]
        said += [f"Hazard ({one['kind']}): {one['message']}." for one in self.hazards]
        said += [f"Plan: {what} {value} ({reason})." for what, value, reason in self.plan]
        said += [f"Cost: about {cost['seconds']:.2g} s on one core, for {cost['pairs']} possible links."]
        first = self.steps[0]
        return [*said, f"First step: {first['advice']}", *([f"  {first['command']}"] if first["command"] else [])]


def inspect(series: Any, *, command: str = "", **options: Any) -> Inspection:
    """Say what a recording holds, what `infer` would do with it, what that costs, and what to do first.

    No link of the whole recording is tested.

    Parameters
    ----------
    series
        The data: a `Series`, or anything `Series` takes.
    command
        The command line that infers the network, to which the steps add options; by default steps are in Python.
    options
        Of `infer`.

    Examples
    --------
    >>> import enmesh as em
    >>> found = em.inspect(em.simulate.var("a>b", n=500, seed=0))
    >>> found.data["samples"], found.hazards, found.ready
    (500, (), True)
    >>> found.plan[0][:2]
    ('max_lag', '5')
    """
    if isinstance(series, Events):
        raise InputError("inspect reads samples, not events; call em.infer(events)")
    check_numbers(**options)
    with collected_hazards(show=False) as noted:
        series = Series.of(series)
        found = hazards_of_data(series)
        plan = _plan(series, options)
    hazards = [vars(one) for one in found]
    told = [one.message for one in found]
    hazards += [{"kind": "reading", "nodes": (), "value": None, "message": one} for one in noted if one not in told]
    seconds, part = seconds_of(series, options)
    pairs = series.n_nodes * (series.n_nodes - 1)
    return Inspection(
        data=_data(series),
        hazards=tuple(hazards),
        plan=tuple(plan),
        cost={"pairs": pairs, "seconds": plain(seconds, 3), "measured_on": part},
        steps=tuple(_steps(series, [one["message"] for one in hazards], command)),
    )


def _data(series: Series) -> dict[str, Any]:
    gone = int(np.isnan(series.values.astype(float)).sum())
    start = "" if series.time is None else str(series.time.start)
    return {
        "names": series.names, "kinds": series.kinds, "nodes": series.n_nodes, "samples": len(series),
        "lengths": series.lengths, "dt": series.dt, "every": series.every or "", "start": start, "missing": gone,
        "prepared": series.prepared, "digest": series.digest,
    }  # fmt: skip


def _plan(series: Series, options: Mapping[str, Any]) -> Choices:
    """Return the choices of the test, without a look for links."""
    known = {name: value for name, value in options.items() if name in Request.__dataclass_fields__}
    context = known.get("context", ())
    known["context"] = (context,) if isinstance(context, str) else tuple(context)
    planner = Planner(series, Request(**known).at_level(), choices := Choices())
    planner.link_test() if planner.wanted.by_link_test else planner.one()
    return choices


def _steps(series: Series, messages: Sequence[str], command: str) -> list[dict[str, str]]:
    """Return the remedies of hazards, the most important first, and then the inference."""
    subject = SimpleNamespace(names=series.names, warnings=messages, provenance={"command": command}, series=series)
    advised = [one for one in cautions.plan(subject) if one.advice]
    steps = [{"advice": one.advice, "command": one.command, "message": one.message} for one in advised]
    return [*steps, {"advice": RUN, "command": command or "em.infer(series)", "message": ""}]


def _part(series: Series | Events) -> Any:
    """Return a part of a recording: the first nodes, and the begin."""
    first = series.select(series.names[:PART_NODES])
    if isinstance(first, Events):
        start, stop, times = first.excerpt(PART_EVENTS)
        return Events(dict(zip(first.names, times)), windows=[(start, stop)])
    return first.with_trials([first.trials[0][: min(PART_SAMPLES, max(len(series) // 2, 1))]])


def seconds_of(
    series: Series | Events, options: Mapping[str, Any], tell: Callable[..., Any] = lambda: None
) -> tuple[float, str]:
    """Return how long `infer` will take: a part of the recording is inferred, and its time scaled to the whole.

    Time is taken to grow with the samples and with the number of possible links, which holds within a factor of a few.
    """
    part = _part(series)
    nodes, what = part.n_nodes, "events" if isinstance(series, Events) else "samples"
    how = {key: value for key, value in options.items() if key not in OF_NAMED_NODES}
    taken = []
    with collected_hazards(show=False):
        for _ in range(2):  # the first also loads what is compiled
            began = time.monotonic()
            infer(part, **how, progress=lambda done, total, what: tell())
            taken.append(time.monotonic() - began)
            if taken[0] < 0.2:
                break
    links, of_part = (n * (n - 1) for n in (series.n_nodes, nodes))
    repeats = 1 + int(options.get("bootstrap") or 0)
    times = max(len(series) / len(part), 1) * max(links / max(of_part, 1), 1) * repeats
    return min(taken) * times, f"{nodes} nodes and {len(part)} {what}, {min(taken):.2g} s"
