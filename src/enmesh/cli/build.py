"""From the words of a command line to values; an option that would have no effect is refused.

A name is mapped to its class by `enmesh.methods`; None is what was not given.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from enmesh.cli import arguments as a
from enmesh.data.files import read
from enmesh.data.rules import Reading
from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.embedding.base import EmbeddingMethod
from enmesh.embedding.choose import embedding_method
from enmesh.errors import InputError, refuse_if
from enmesh.estimators import Estimator
from enmesh.events.events import MEND, READING, Events
from enmesh.events.point_process import GREEDY, PointProcess
from enmesh.inference.wanted import Choices, Request, Scores
from enmesh.methods import Method, by_name, from_name, members
from enmesh.options import whole
from enmesh.scores import Score

# What changes a recording, in this order, and methods of other names; the option's value is the argument, if any.
PREPARING = ("detrend", "season", "difference", "standardise", "bins")
METHODS = {"season": "deseason", "bins": "discretise"}
EVENTS = a.group(
    "Events",
    events=(bool, None, "Rows are events (columns node, time; trial), not samples."),
    node=(str, "NAME", "Column that tells the node; by default node, unit, neuron or the like."),
    duration=(float, "X", "Observed from 0 to X; else from first to last event."),
    mend=(a.choice("MendName", MEND, True), None, "Put right: times out of order, equal, or outside."),
    target_history=(str, "N", f"Values of the target's own history, or {GREEDY}; 2."),
    source_history=(int, "N", "Values of a source's history; 1."),
)
EVENT_FIELDS = ("k", "device", "target_history", "source_history")  # of PointProcess
# Options that have no effect on events: how samples are read, prepared or embedded, and those of other scores.
OF_SAMPLES = (
    "estimator", "dim", "delay", "lag", "max_lag", "bootstrap", *PREPARING, "mask", "states", "missing", "variable",
    "dt", "header", "rows", "pivot", "transpose", "dims", "drop_constant", "resample", "sfreq",
)  # fmt: skip
OF_EVENTS = ("node", "duration", "mend", "target_history", "source_history")


def recording(given: a.Given) -> Any:
    """Read the recording, and prepare it: a `Series`, or `Events` where they are asked for."""
    for name in ("n_surrogates", "seed"):  # before anything is read or computed
        if given.get(name) is not None:
            whole(name, given[name])
    paths: list[Path] = given["data"] if isinstance(given["data"], list) else [given["data"]]
    if given.get("events"):
        return _events(given, paths)
    for name in present(given, OF_EVENTS):
        raise InputError(f"{a.flag_of(name)} goes with --events; add that, or leave it out")
    series = read(paths, dt=given.get("dt"), **reading(given))
    for change, value in preparing(given, len(series)):
        series = getattr(series, change)(*value)
    return series


def reading(given: a.Given) -> dict[str, Any]:
    """Return the words of `enmesh.read` that were given, but for ``dt``."""
    said = {word: given[word] for word in Reading.__annotations__ if given.get(word) not in (None, [])}
    if not said.get("drop_constant", True):  # a switch that is off says nothing
        del said["drop_constant"]
    said |= {name: names(said[name]) for name in ("columns", "states", "na", "time") if name in said}
    if "time" in said:
        said["time"] = [False if word == "none" else word for word in said["time"]]
    if "trials" in said:
        said["trials"] = said["trials"] != "none" and names([said["trials"]])
    return said


def preparing(given: a.Given, samples: int) -> list[tuple[str, tuple[Any, ...]]]:
    """Return the methods of `Series` that prepare a recording as it was asked for, in order, with their arguments."""
    changes: list[tuple[str, tuple[Any, ...]]] = []
    if given.get("mask"):
        changes.append(("mask", (_masked(given["mask"], samples),)))
    for option in PREPARING:
        value = given.get(option)
        if value is not None and value is not False:
            changes.append((METHODS.get(option, option), () if value is True else (value,)))
    return changes


def _events(given: a.Given, paths: list[Path]) -> Events:
    idle = [a.flag_of(name) for name in OF_SAMPLES if given.get(name)]
    if idle:
        raise InputError(f"{idle[0]} has no effect on events; leave it out")
    refuse_if(len(paths) > 1, "--events takes one file; put the trials into a column trial")
    return Events(str(paths[0]), **reading_of_events(given))


def reading_of_events(given: a.Given) -> dict[str, Any]:
    """Return the words of `enmesh.Events` that were given."""
    said = {
        "duration": given["duration"], "names": names(given.get("columns")), "mend": given["mend"],
        "node": given.get("node"), "time": next(iter(names(given.get("time"))), None), "trial": given.get("trials"),
    }  # fmt: skip
    return {name: value for name, value in said.items() if value not in (None, [], ())} | present(given, READING)


def events_estimator(given: a.Given) -> PointProcess:
    """Return the estimator for events with the options that were given."""
    fields = present(given, EVENT_FIELDS)
    if fields.get("target_history", GREEDY) != GREEDY:
        try:
            fields["target_history"] = int(fields["target_history"])
        except ValueError:
            told = f"--target-history {fields['target_history']} is no number of values"
            raise InputError(f"{told}; give 2, or {GREEDY}") from None
    return PointProcess(**fields)


def _masked(windows: Iterable[str], samples: int) -> list[int]:
    """Read windows of samples, ``101:150``, counted from 1, both ends included."""
    rows: list[int] = []
    for window in windows:
        ends = window.split(":")
        if len(ends) != 2 or not all(end.strip().isdigit() for end in ends):
            raise InputError(f"--mask {window} is not a window of samples; give FROM:TO, such as 101:150")
        first, last = int(ends[0]), int(ends[1])
        if not 1 <= first <= last <= samples:
            told = f"--mask {window} is not in the recording of {samples} samples"
            raise InputError(f"{told}; count from 1, the smaller number first")
        rows += range(first - 1, last)
    return rows


def names(words: Iterable[str] | None) -> list[str]:
    """Return the names in words that may hold several with commas."""
    return [name.strip() for word in words or () for name in word.split(",") if name.strip()]


def edges(option: str, words: Iterable[str] | None) -> list[tuple[str, str]]:
    """Read ``a:b`` as the edge from a to b."""
    found = []
    for word in words or ():
        ends = [end.strip() for end in word.split(":")]
        if len(ends) != 2 or not all(ends):
            raise InputError(f"--{option} {word} is not an edge; write SOURCE:TARGET, as in a:b")
        found.append((ends[0], ends[1]))
    return found


def _numbers(option: str, word: str, example: str) -> int | dict[str, int]:
    """Read ``3``, or numbers by name as in ``a=3,b=2``."""
    try:
        pairs = [part.rsplit("=", 1) for part in word.split(",")]
        return {name.strip(): int(number) for name, number in pairs} if "=" in word else int(word)
    except ValueError:
        raise InputError(f"--{option} {word} cannot be read; give a number, or {example}") from None


def link_lags(word: str) -> int | dict[tuple[str, str], int]:
    """Read ``3`` or ``a:b=3,b:c=2``."""
    found = _numbers("lags", word, "one per link as in a:b=3,b:c=2")
    return found if isinstance(found, int) else dict(zip(edges("lags", found), found.values()))


def embedding(given: a.Given) -> Embedding | None:
    """Return the embedding that is given; None leaves the choice to the data."""
    wanted = present(given, ("dim", "delay", "lag"))
    numbers = {field: _numbers(field, word, "one per node as in a=3,b=2") for field, word in wanted.items()}
    return Embedding(**numbers) if numbers else None


def estimator(given: a.Given) -> Estimator | None:
    """Return the estimator that is named or meant by its options; None leaves the choice to the data."""
    name, known = given.get("estimator"), members(Estimator)
    wanted = present(given, _fields(known))
    if name is None:
        if not wanted:
            return None
        first = {"ksg": known["ksg"], **known}  # the first that takes all that are given is meant
        name = next((one for one, cls in first.items() if set(wanted) <= set(cls.cli_options)), "ksg")
    refuse_idle(wanted, known[name].cli_options, f"the estimator {name}")
    return from_name(Estimator, name, **wanted)


def asked(given: a.Given) -> dict[str, Any]:
    """Return what was given of score, estimator, pasts and tests, as `infer` takes it; None leaves it to the data."""
    alpha, name = given.get("alpha"), given.get("score")
    if given.get("events"):
        refuse_if(name not in (None, "tee"), f"--score {name} is not made for events; use tee")
        estimate = events_estimator(given) if present(given, EVENT_FIELDS) else None
        return present(given, ("alpha", "n_surrogates", "surrogate")) | {"estimator": estimate}
    if alpha is not None and 0 < alpha < 0.5:
        told, instead = f"--alpha {alpha:g} is a confidence level", f"--alpha {1 - alpha:g}"
        instead = f"--level {alpha:g}" if "level" in given else instead
        raise InputError(f"{told}; for a {alpha:g} test write {instead}")
    how = {"estimator": estimator(given), "embedding": embedding(given), "alpha": alpha}
    if name is not None:
        cls = by_name(Score)[name]
        fields = present(given, _fields(members(Score)) - {"seed"})
        refuse_idle(fields, cls.cli_options, f"the score {name}")
        if how["embedding"] is not None and "embedding" not in cls.__dataclass_fields__:  # type: ignore[attr-defined]
            told = f"--dim, --delay and --lag have no effect on the score {name}"
            raise InputError(f"{told}, which takes single samples; leave them out")
        further = {key: fields[key] for key in fields.keys() - {"alpha", "surrogate", "n_surrogates"}}
        if further:  # fields that only this score has: it is made here, with all that was given
            made = from_name(Score, name, **present(how, how) | further)
            return {"score": made, "max_lag": given.get("max_lag"), "estimator": None}
    tests = {option: given.get(option) for option in ("surrogate", "n_surrogates")}
    return {"score": name, "max_lag": given.get("max_lag"), **how, **tests}


def method(given: a.Given, data: Series) -> EmbeddingMethod:
    """Return the method that chooses an embedding: the named one, or that of `infer`."""
    name, known = given.get("method"), members(EmbeddingMethod)
    wanted, estimate = present(given, _fields(known)), estimator(given)
    usual = estimate or Scores(data, Request(), Choices()).estimator()
    way = embedding_method(usual, data) if name is None else known[name]
    refuse_idle(wanted, way.cli_options, f"the method {way.cli_name}")
    if isinstance(way, EmbeddingMethod):
        return replace(way, **wanted)  # type: ignore[type-var]
    if "estimator" in way.__dataclass_fields__:  # type: ignore[attr-defined]
        wanted["estimator"] = usual
    elif estimate is not None:
        raise InputError(f"--estimator has no effect on --method {name}; leave it out, or take storage or nonuniform")
    return way(**wanted)


def present(given: a.Given, options: Iterable[str]) -> dict[str, Any]:
    """Return those of the options that were given."""
    return {name: given[name] for name in options if given.get(name) is not None}


def _fields(known: Mapping[str, type[Method]]) -> set[str]:
    return {field for cls in known.values() for field in cls.cli_options}


def refuse_idle(wanted: Iterable[str], taken: Iterable[str], what: str) -> None:
    """Refuse options that would have no effect."""
    idle = sorted(a.flag_of(name) for name in wanted if name not in taken)
    refuse_if(idle, f"{', '.join(idle)} has no effect on {what}; leave it out")
