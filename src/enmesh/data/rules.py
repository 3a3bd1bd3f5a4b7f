"""How a recording is to be taken: the words that `enmesh.read`, `enmesh.Series` and the command line share."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypedDict

import numpy as np

from enmesh.errors import InputError
from enmesh.options import whole

MODES = ("sort", "ignore")
TimeRule = str | bool | Sequence[str | bool] | None


class Reading(TypedDict, total=False):
    """The words, with their types."""

    time: TimeRule
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
    sfreq: float | None


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The words, checked.

    ``time_name`` is the named column of times, False for none, None to look for it; ``modes`` are of sort and ignore;
    ``longest`` is the longest gap that is interpolated; ``counters`` keeps columns that only count or repeat the
    calendar; ``given`` are the words that were used.
    """

    time_name: str | bool | None = None
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
    sfreq: float | None = None
    counters: bool = False
    given: frozenset[str] = field(default=frozenset())

    @property
    def step(self) -> float | None:
        """The sampling step that ``sfreq`` says."""
        return None if self.sfreq is None else 1 / self.sfreq


def rules_of(words: Mapping[str, Any], *, counters: bool = False) -> Rules:
    """Return the rules that the words of a call say; None is a word that was not said."""
    unknown = sorted(words.keys() - Reading.__annotations__.keys())
    if unknown:
        raise TypeError(
            f"unexpected keyword argument {unknown[0]!r}; the words are {', '.join(Reading.__annotations__)}"
        )
    said = {name: value for name, value in words.items() if value is not None}
    for one, other in (("trial", "trials"), ("sheet", "variable")):
        if one in said and said.setdefault(other, said[one]) != said[one]:
            raise InputError(f"{one}= and {other}= are one and the same; give one of them")
    time_name, modes = _time(said.get("time"))
    missing, longest = _missing(said.get("missing", "raise"))
    return Rules(
        time_name=time_name,
        modes=modes,
        columns=_names(said, "columns"),
        trials=_trials(said.get("trials")),
        rows=_rows(said.get("rows")),
        states=_names(said, "states") or (),
        missing=missing,
        longest=longest,
        header=said.get("header"),
        variable=said.get("variable"),
        **_marks(said),
        na=tuple(map(str, np.atleast_1d(np.asarray(said.get("na", ()), object)))),
        skip=whole("skip", said.get("skip", 0)),
        units=said.get("units"),
        date_format=said.get("date_format"),
        encoding=_encoding(said.get("encoding")),
        pivot=_pivot(said),
        transpose=said.get("transpose"),
        sfreq=_sfreq(said.get("sfreq")),
        counters=counters,
        given=frozenset(said),
    )


def _time(time: Any) -> tuple[str | bool | None, frozenset[str]]:
    """Words of ``time`` that are no mode name a column."""
    words: list[Any] = list(time) if isinstance(time, (list, tuple, set)) else [time]
    names = [word for word in words if word not in MODES]
    if len(names) > 1:
        raise InputError(f"time={time!r} names several columns; name one, and 'sort' or 'ignore' beside it")
    chosen = names[0] if names else None
    return None if chosen is True else chosen, frozenset(word for word in words if word in MODES)


def _missing(missing: Any) -> tuple[str, int]:
    """Return raise, drop or interpolate, and the longest gap that is interpolated."""
    word, _, length = str(missing).partition(":")
    if word == "interpolate" and length.strip().isdigit() and int(length):
        return word, int(length)
    if word == "interpolate":
        raise InputError(
            f"missing={missing!r} does not say how long a gap may be; give missing='interpolate:5' for up to 5 samples"
        )
    if missing not in ("raise", "drop"):
        raise InputError(f"missing={missing!r} is not an option; use 'raise', 'drop' or 'interpolate:5'")
    return word, 0


def _trials(trials: Any) -> tuple[str, ...] | bool | None:
    if trials is None or isinstance(trials, bool):
        return trials or (None if trials is None else False)
    return tuple(map(str, [trials] if isinstance(trials, (str, int)) else trials))


def _names(said: Mapping[str, Any], what: str) -> tuple[str, ...] | None:
    given = said.get(what)
    if given is None:
        return None
    names = (given,) if isinstance(given, str) else tuple(given)
    if not all(isinstance(name, str) for name in names):
        raise InputError(f"{what}={given!r} is not possible; give names of columns")
    return names


def _rows(rows: Any) -> slice | None:
    """Read ``101:500``, counted from 1 with both ends; a slice is as in Python."""
    if rows is None or isinstance(rows, slice):
        return rows
    ends = str(rows).split(":")
    numbers = [int(end) if end.strip().isdigit() else None for end in ends]
    if len(ends) != 2 or any(end.strip() and not number for end, number in zip(ends, numbers)):
        raise InputError(f"rows={rows!r} is not possible; give FROM:TO, counted from 1, such as '101:500'")
    return slice(None if numbers[0] is None else numbers[0] - 1, numbers[1])


def _marks(said: Mapping[str, Any]) -> dict[str, str | None]:
    decimal, thousands = said.get("decimal"), said.get("thousands")
    if decimal not in (None, ".", ","):
        raise InputError(f"decimal={decimal!r} is not possible; use '.' or ','")
    if thousands not in (None, ".", ",", " ", "'", "_"):
        raise InputError(f"thousands={thousands!r} is not possible; use '.', ',', ' ', \"'\" or '_'")
    if decimal is not None and decimal == thousands:
        raise InputError(f"decimal and thousands are both {decimal!r}; they must differ")
    if decimal is None and thousands is not None:
        decimal = "," if thousands == "." else "."
    return {"decimal": decimal, "thousands": thousands}


def _encoding(encoding: Any) -> str | None:
    import codecs

    if encoding is not None:
        try:
            codecs.lookup(encoding)
            "".encode(encoding)
        except (LookupError, TypeError):
            raise InputError(
                f"encoding={encoding!r} is not known; use utf-8, utf-16, latin-1, cp1252 or the like"
            ) from None
    return encoding


def _pivot(said: Mapping[str, Any]) -> tuple[str, ...] | None:
    pivot = said.get("pivot")
    if pivot is None:
        return None
    names = tuple(str(name).strip() for name in (pivot.split(",") if isinstance(pivot, str) else pivot))
    if len(names) != 3:
        raise InputError(f"pivot={pivot!r} is not possible; name three columns: time, variable and value")
    return names


def _sfreq(sfreq: Any) -> float | None:
    if sfreq is None:
        return None
    try:
        number = float(sfreq)
    except (TypeError, ValueError):
        number = float("nan")
    if not 0 < number < float("inf"):
        raise InputError(
            f"sfreq={sfreq!r} is not a sampling frequency; give samples per unit of time, such as 250"
        )
    return number


def step_of(dt: Any, rules: Rules, found: float | None) -> Any:
    """Return the sampling step: as given, or as found, or 1."""
    if dt is not None and rules.step is not None:
        raise InputError("dt= and sfreq= say the same; give one of them")
    return next((one for one in (dt, rules.step, found) if one is not None), 1.0)
