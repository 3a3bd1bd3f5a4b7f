"""``--events``: recordings of events instead of samples, for infer and te."""

from collections.abc import Mapping
from typing import Any

from enmesh.cli import arguments as a
from enmesh.cli import build
from enmesh.errors import InputError
from enmesh.events.events import MEND, Events
from enmesh.events.point_process import GREEDY, PointProcess

Given = Mapping[str, Any]
# Options that say how samples are read, prepared or embedded, and those of other scores.
OF_SAMPLES = (
    "estimator", "dim", "delay", "lag", "max_lag", "bootstrap", "difference", "detrend", "season", "mask",
    "standardise", "bins", "states", "missing", "variable", "dt", "header",
)  # fmt: skip
FIELDS = ("k", "device", "target_history", "source_history")  # of PointProcess

OPTIONS = a.group(
    "Events",
    {
        "events": (bool, None, "Rows are events (columns node, time; trial), not samples."),
        "duration": (float, "X", "Observed from 0 to X; else from first to last event."),
        "mend": (a.choice("MendName", MEND, True), None, "Put right: times out of order, equal, or outside."),
        "target_history": (str, "N", f"Values of the target's own history, or {GREEDY}; 2."),
        "source_history": (int, "N", "Values of a source's history; 1."),
    },
)


def read(given: Given) -> Events:
    """Read the events of a table."""
    idle = [a.flag_of(name) for name in OF_SAMPLES if given.get(name)]
    if idle:
        raise InputError(f"{idle[0]} has no effect on events; leave it out")
    paths = build.paths(given)
    if len(paths) > 1:
        raise InputError("--events takes one file; put the trials into a column trial")
    return Events(
        str(paths[0]),
        given["duration"],
        names=build.names(given.get("columns")) or None,
        mend=given["mend"] or (),
        time=next(iter(build.names(given.get("time"))), None),
        trial=given.get("trials"),
    )


def estimator(given: Given) -> PointProcess:
    """Return the estimator with the options that were given."""
    fields = build.present(given, FIELDS)
    own = fields.get("target_history", GREEDY)
    if own != GREEDY:
        try:
            fields["target_history"] = int(own)
        except ValueError:
            raise InputError(f"--target-history {own} is no number of values; give 2, or {GREEDY}") from None
    return PointProcess(**fields)


def score(given: Given) -> dict[str, Any]:
    """Return what `infer` is told of the score: what was given."""
    if given.get("score") not in (None, "tee"):
        raise InputError(f"--score {given['score']} is not made for events; use tee")
    named = build.present(given, FIELDS)
    wanted = build.present(given, ("alpha", "n_surrogates", "surrogate"))
    return wanted | {"estimator": estimator(given) if named else None}
