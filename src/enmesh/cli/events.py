"""``--events``: recordings of events instead of samples, for infer and te."""

from collections.abc import Mapping
from functools import partial
from typing import Annotated, Any

from typer import Option

from enmesh.cli import arguments as a
from enmesh.cli import build, show
from enmesh.errors import InputError
from enmesh.events.events import MEND, Events
from enmesh.events.point_process import GREEDY, PointProcess

Given = Mapping[str, Any]
# Options that say how samples are read, prepared or embedded, and those of other scores.
OF_SAMPLES = (
    "estimator", "dim", "delay", "lag", "max_lag", "bootstrap", "difference", "detrend", "season", "mask",
    "standardise", "bins", "states", "missing", "variable", "dt", "header",
)  # fmt: skip


def options() -> a.Group:
    """Return ``--events`` and the options of events."""
    mend = a.choice("MendName", MEND)
    option = partial(Option, rich_help_panel="Events", show_default=False)

    def number(flag: str, metavar: str, told: str, kind: Any = str) -> tuple[Any, Any]:
        return Annotated[kind | None, option(flag, metavar=metavar, help=told)], None

    return {
        "events": (
            Annotated[
                bool, option("--events", help="Rows are events (columns node, time; trial), not samples.")
            ],
            False,
        ),
        "duration": number("--duration", "X", "Observed from 0 to X; else from first to last event.", float),
        "mend": (
            Annotated[
                a.several(mend) | None,
                option("--mend", help="Put right instead of refuse: times out of order, equal, or outside."),
            ],
            None,
        ),
        "target_history": number(
            "--target-history", "N", f"Values of the target's own history, or {GREEDY}; 2."
        ),
        "source_history": number("--source-history", "N", "Values of a source's history; 1.", int),
    }


def read(given: Given) -> Events:
    """Read the events of a table."""
    idle = [a.flag_of(name) for name in OF_SAMPLES if given.get(name)]
    if idle:
        raise InputError(f"{idle[0]} has no effect on events; leave it out")
    paths = given["data"] if isinstance(given["data"], (list, tuple)) else [given["data"]]
    if len(paths) > 1:
        raise InputError("--events takes one file; put the trials into a column trial")
    time = build.names(given.get("time"))
    return Events(
        str(paths[0]),
        given["duration"],
        names=build.names(given.get("columns")) or None,
        mend=given["mend"] or (),
        time=time[0] if time else None,
        trial=given.get("trial"),
    )


def estimator(given: Given) -> PointProcess:
    """Return the estimator with the options that were given."""
    own = given["target_history"]
    if own is not None and own != GREEDY:
        try:
            own = int(own)
        except ValueError:
            raise InputError(f"--target-history {own} is no number of values; give 2, or {GREEDY}") from None
    fields = {"k": given.get("k"), "target_history": own, "source_history": given["source_history"]}
    return PointProcess(**{name: value for name, value in fields.items() if value is not None})


def score(given: Given) -> dict[str, Any]:
    """Return what `infer` is told of the score: what was given."""
    if given.get("score") not in (None, "tee"):
        raise InputError(f"--score {given['score']} is not made for events; use tee")
    named = any(given.get(name) is not None for name in ("k", "target_history", "source_history"))
    wanted = build.present(given, ("alpha", "n_surrogates", "surrogate"))
    return wanted | {"estimator": estimator(given) if named else None}


def te(given: Given, source: str, target: str, conditions: list[str] | None, json: bool) -> None:
    """Measure and test one transfer entropy of events."""
    from enmesh.significance import significance

    events, how = read(given), estimator(given)
    sources, rest = build.names([source]), build.names(conditions)
    count = 199 if given["n_surrogates"] is None else given["n_surrogates"]
    test = significance(
        events,
        sources,
        target,
        given=rest,
        estimator=how,
        surrogate=build.surrogate(given),
        n_surrogates=count,
        seed=given["seed"],
    )
    numbers = {
        "te": test.value,
        "p_value": test.p_value,
        "corrected": test.corrected,
        "surrogates": len(test.null),
    }
    if json:
        show.as_json({"source": sources, "target": target, "given": rest, **numbers, "estimator": str(how)})
        return
    print(f"transfer entropy {', '.join(sources)} > {target}{f' given {chr(44).join(rest)}' if rest else ''}")
    print(f"  measured   {test.value:.6f} {how.unit}")
    print(f"  corrected  {test.corrected:.6f} {how.unit}")
    print(f"  p-value    {test.p_value:.4g} ({len(test.null)} surrogates)")
    print(f"  events     {events}")
