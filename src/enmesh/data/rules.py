"""How a recording is to be taken: the words that `enmesh.read`, `enmesh.Series` and the command line share."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from enmesh.errors import InputError, refuse_if
from enmesh.options import switch, whole

MODES = ("sort", "ignore")
# Axes of an array, and what else they may be called.
AXES = {
    "trial": ("trial", "trials", "epoch", "epochs", "run", "runs", "realisation", "realization", "subject"),
    "time": ("time", "times", "t", "date", "datetime", "timestamp", "sample", "samples"),
    "node": ("node", "nodes", "channel", "channels", "variable", "variables", "unit", "sensor", "ch"),
}


class Reading(TypedDict, total=False):
    """The words, with their types."""

    time: str | bool | Sequence[str | bool] | None
    columns: str | Sequence[str] | None
    trials: str | Sequence[str] | bool | None
    trial: str | Sequence[str] | bool | None
    rows: str | slice | None
    states: str | Sequence[str] | None
    missing: str
    header: bool | None
    variable: str | None
    sheet: str | int | None
    decimal: str | None
    thousands: str | None
    na: str | Sequence[str] | None
    skip: int
    units: bool | None
    date_format: str | None
    encoding: str | None
    pivot: str | Sequence[str] | None
    transpose: bool | None
    dims: str | Sequence[str] | None
    drop_constant: bool | None
    resample: float | bool | None
    sfreq: float | None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The words, checked.

    ``time`` is the named column of times, False for none, None to look for it; ``modes`` are of sort and ignore;
    ``longest`` is the longest gap that is interpolated before others are dropped; ``counters`` keeps columns that only
    count or repeat the calendar; ``given`` are the words that were used.
    """

    time: str | bool | None = None
    modes: frozenset[str] = frozenset()
    columns: tuple[str, ...] | None = None
    trials: tuple[str, ...] | bool | None = None
    rows: slice | None = None
    states: tuple[str, ...] = ()
    missing: str = "raise"
    longest: int = 0
    header: bool | None = None
    variable: str | int | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] = ()
    skip: int = 0
    units: bool | None = None
    date_format: str | None = None
    encoding: str | None = None
    pivot: tuple[str, ...] | None = None
    transpose: bool | None = None
    dims: tuple[str, ...] | None = None
    drop_constant: bool = False
    resample: float | bool | None = None
    sfreq: float | None = None
    counters: bool = False
    given: frozenset[str] = frozenset()


def rules_of(words: Mapping[str, Any], *, counters: bool = False) -> Rules:
    """Return the rules that the words of a call say; None is a word that was not said."""
    unknown = sorted(words.keys() - Reading.__annotations__.keys())
    if unknown:
        known = ", ".join(Reading.__annotations__)
        raise TypeError(f"unexpected keyword argument {unknown[0]!r}; the words are {known}")
    given = {name: value for name, value in words.items() if value is not None}
    for one, other in ALIASES.items():
        if one in given and given.setdefault(other, given[one]) != given[one]:
            raise InputError(f"{one}= and {other}= mean the same; give one of them")
    said = {name: value for name, value in given.items() if name not in ALIASES}
    checked = {name: CHECKS[name](name, value) if name in CHECKS else value for name, value in said.items()}
    checked |= _missing(given.get("missing", "raise")) | _time(given.get("time")) | _marks(given)
    if {"dims", "transpose"} <= given.keys():
        raise InputError("dims= and transpose= both say what the axes are; give one of them")
    return Rules(**checked, counters=counters, given=frozenset(given))


def _refused(word: str, value: object, advice: str, fault: str = "is not possible") -> InputError:
    return InputError(f"{word}={value!r} {fault}; {advice}")


def _time(time: Any) -> dict[str, Any]:
    """Words of ``time`` that are no mode name a column."""
    words: list[Any] = list(time) if isinstance(time, (list, tuple, set)) else [time]
    names = [word for word in words if word not in MODES]
    if len(names) > 1:
        raise _refused("time", time, "name one, and 'sort' or 'ignore' beside it", "names several columns")
    name = names[0] if names and names[0] is not True else None
    return {"time": name, "modes": frozenset(words) & frozenset(MODES)}


def _missing(missing: Any) -> dict[str, Any]:
    """Return raise or drop, and the longest gap that is interpolated before."""
    word, _, length = str(missing).partition(":")
    if word == "interpolate" and length.strip().isdigit() and int(length):
        return {"missing": "drop", "longest": int(length)}
    if word == "interpolate":
        advice = "give missing='interpolate:5' for up to 5 samples"
        raise _refused("missing", missing, advice, "does not say how long a gap may be")
    if missing not in ("raise", "drop"):
        raise _refused("missing", missing, "use 'raise', 'drop' or 'interpolate:5'", "is not an option")
    return {"missing": word}


def _marks(given: Mapping[str, Any]) -> dict[str, Any]:
    decimal, thousands = given.get("decimal"), given.get("thousands")
    if decimal not in (None, ".", ","):
        raise _refused("decimal", decimal, "use '.' or ','")
    if thousands not in (None, ".", ",", " ", "'", "_"):
        raise _refused("thousands", thousands, "use '.', ',', ' ', \"'\" or '_'")
    if decimal is not None and decimal == thousands:
        raise InputError(f"decimal and thousands are both {decimal!r}; give two different marks")
    if decimal is None and thousands is not None:
        decimal = "," if thousands == "." else "."
    return {"decimal": decimal, "thousands": thousands}


def _names(word: str, given: Any) -> tuple[str, ...]:
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise _refused(word, given, "give names of columns")
    return tuple(names)


def _rows(word: str, rows: Any) -> slice:
    """Read ``101:500``, counted from 1 with both ends; a slice is as in Python."""
    if isinstance(rows, slice):
        return rows
    ends = [end.strip() for end in str(rows).split(":")]
    if len(ends) != 2 or not all(end == "" or (end.isdigit() and int(end)) for end in ends):
        raise _refused(word, rows, "give FROM:TO, counted from 1, such as '101:500'")
    return slice(int(ends[0] or 1) - 1, int(ends[1]) if ends[1] else None)


def _encoding(word: str, encoding: Any) -> str:
    with suppress(LookupError, TypeError):
        "".encode(encoding)
        return str(encoding)
    raise _refused(word, encoding, "use utf-8, utf-16, latin-1, cp1252 or the like", "is not known")


def _pivot(word: str, pivot: Any) -> tuple[str, ...]:
    names = pivot.split(",") if isinstance(pivot, str) else pivot
    if not isinstance(names, Sequence) or len(names) != 3:
        raise _refused(word, pivot, "name three columns: time, variable and value")
    return tuple(str(name).strip() for name in names)


def dims_of(word: str, dims: Any) -> tuple[str, ...]:
    """Return the axes of an array in the order given, by their usual names."""
    names = re.split(r"[\s,]+", dims.strip()) if isinstance(dims, str) else np.atleast_1d(dims)
    called = {name: axis for axis, names in AXES.items() for name in names}
    axes = tuple(called.get(str(name).strip().lower(), "") for name in names)
    if not all(axes) or len(set(axes)) < len(axes) or len(axes) not in (2, 3) or "time" not in axes:
        raise _refused(word, dims, "name each axis once, such as dims=('trial', 'node', 'time')")
    return axes


def _resample(word: str, step: Any) -> float | bool:
    if step is True or (isinstance(step, (int, float, np.number)) and not isinstance(step, bool) and 0 < step < np.inf):
        return step if step is True else float(step)
    raise _refused(word, step, "give the step, such as 0.5, or True for the usual one")


def _sfreq(word: str, sfreq: Any) -> float:
    with suppress(TypeError, ValueError):
        if 0 < float(sfreq) < np.inf:
            return float(sfreq)
    raise _refused(word, sfreq, "give samples per unit of time, such as 250", "is not a sampling frequency")


ALIASES = {"trial": "trials", "sheet": "variable"}
CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "columns": _names,
    "states": _names,
    "trials": lambda _, names: names if isinstance(names, bool) else tuple(map(str, np.atleast_1d(names))),
    "rows": _rows,
    "na": lambda _, na: tuple(map(str, np.atleast_1d(np.asarray(na, object)))),
    "skip": whole,
    "encoding": _encoding,
    "pivot": _pivot,
    "dims": dims_of,
    "header": switch,
    "units": switch,
    "transpose": switch,
    "drop_constant": switch,
    "resample": _resample,
    "sfreq": _sfreq,
}


def step_of(dt: Any, rules: Rules, found: float | None = None) -> Any:
    """Return the sampling step: as given, or as found; None where neither is known."""
    refuse_if(dt is not None and rules.sfreq is not None, "dt= and sfreq= say the same; give one of them")
    return dt if dt is not None else 1 / rules.sfreq if rules.sfreq is not None else found
