"""When the rows of a table were recorded: reading times and dates, their order, their step and their gaps.

Time is never guessed. Rows that do not follow one another by one even step are refused, and the message says the word
that helps: ``time="sort"``, ``time="ignore"`` or ``missing="drop"``.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.data.table import Table
from enmesh.errors import InputError, hazard

# Steps up to this many times the usual one are jitter (months differ by a tenth); longer ones are gaps.
GAP = 1.5
# Jitter beyond this share of the step is worth a word.
JITTER = 0.01
DAY = 86400.0
SATURDAY = 5
LONG = ((7 * DAY, "week"), (DAY, "day"), (3600.0, "h"), (60.0, "min"))
# A column of one of these names, with a unit or without, holds times.
TIME_NAME = re.compile(
    r"(t|time|date|datetime|timestamp)(\s*[(\[][^)\]]*[)\]])?|time_(s|ms|us|sec|seconds|min|minutes|h|hours|days)",
    re.IGNORECASE,
)
# A column of one of these names holds times if it never falls, or never rises, but for restarts.
LIKELY_NAME = re.compile(
    r"(times?|ts|epoch|unix_?time|unix|datum|zeit|uhrzeit|zeitstempel|fecha|tijd|doy|day_?of_?year|elapsed|seconds?|secs?"
    r"|msec|millis(econds)?|дата|время|日期|时间|時間)(\W.*)?"
    r"|(\w+[ _.])?(time|date|datetime|timestamp|ts|epoch)"
    r"([ _.]?(s|ms|us|ns|sec|secs|seconds|utc|gmt|local|stamp|index))?",
    re.IGNORECASE,
)
# A column of one of these names says to which trial a row belongs.
TRIAL_NAMES = {
    "trial",
    "trials",
    "subject",
    "subj",
    "participant",
    "patient",
    "animal",
    "session",
    "run",
    "block",
}
TRIAL_NAMES |= {"epoch", "country", "region", "site", "station", "subject_id", "participant_id", "patient_id"}
EVEN = "pass time='ignore' to take the rows as equally spaced"


@dataclass(frozen=True, kw_only=True)
class Time:
    """The axis of a recording: ``start``, when its first sample was taken, and the unit that it and ``dt`` are in.

    For dates ``start`` is text in ISO form and the unit is ``"s"``; for numbers ``start`` is a number and the unit what
    the name of the column says in brackets (empty where it says nothing).
    """

    start: str | float
    unit: str

    def later(self, by: float) -> "Time":
        """Return the axis that begins ``by`` units later."""
        if not isinstance(self.start, str):
            return Time(start=self.start + by, unit=self.unit)
        if self.unit == "month":
            month = np.datetime64(self.start, "M") + np.timedelta64(round(by), "M")
            return Time(start=str(month), unit=self.unit)
        moved = np.datetime64(self.start.removesuffix("+00:00"), "us") + np.timedelta64(round(by * 1e6), "us")
        zone = "+00:00" if self.start.endswith("+00:00") else ""
        return Time(start=f"{moved.astype('datetime64[us]').item().isoformat()}{zone}", unit=self.unit)


def step_in_words(dt: float, unit: str) -> str:
    """Say a sampling step: ``step_in_words(86400, "s")`` is one day.

    >>> step_in_words(86400, "s"), step_in_words(3, "month"), step_in_words(0.05, "s")
    ('1 day', '3 months', '0.05 s')
    """
    if unit == "s":
        size, unit = next(((n, name) for n, name in LONG if dt >= n and dt % n == 0), (1.0, "s"))
        dt /= size
    several = "s" if dt != 1 and unit in ("day", "month", "year", "week") else ""
    return f"{dt:g} {unit}{several}".rstrip()


@dataclass(frozen=True, kw_only=True)
class Stamps:
    """The time of each row: ``values`` in ``unit``; dates also as pandas timestamps."""

    name: str
    values: np.ndarray
    unit: str
    dates: Any = None

    def start(self, row: int) -> str | float:
        """Say when a row was recorded."""
        if self.unit == "month" and self.dates is None and np.isfinite(self.values[row]):
            return str(np.datetime64("0000-01", "M") + np.timedelta64(int(self.values[row]), "M"))
        return float(self.values[row]) if self.dates is None else self.dates.iloc[row].isoformat()


@dataclass(frozen=True, kw_only=True)
class Grid:
    """Rows of each trial in the order of time; where there are gaps, their places on an even grid; the step."""

    groups: list[np.ndarray]
    places: list[np.ndarray] | None = None
    step: float | None = None
    time: Time | None = None
    in_order: bool = True


def even_share(steps: np.ndarray) -> float:
    """Return the share of steps that are the usual one, but for jitter."""
    if not len(steps):
        return 0.0
    usual = np.median(steps)
    return float(np.mean(np.abs(steps - usual) <= JITTER * abs(usual))) if usual else 0.0


def restarts(values: np.ndarray) -> np.ndarray | None:
    """Return where a clock begins again: its steps are even but for those that go back; None if it does not.

    >>> restarts(np.array([0.0, 1, 2, 3, 0, 1, 2, 3, 0, 1, 2])).tolist()
    [4, 8]
    """
    steps = np.diff(values)
    if len(steps) and np.median(steps) < 0:
        steps = -steps
    back = steps <= 0
    on = steps[~back]
    if not back.any() or 3 * back.sum() > len(steps) or even_share(on) < 1:
        return None
    return np.flatnonzero(back) + 1


# --- order, step and gaps ----------------------------------------------------------------------------------


def on_grid(
    table: Table, stamps: Stamps, groups: Sequence[np.ndarray], modes: frozenset[str], missing: str
) -> Grid:
    """Order the rows of each trial as asked, and find the step of the times and the places of gaps."""
    rows = list(groups)
    if "sort" in modes:
        rows = [some[np.argsort(stamps.values[some], kind="stable")] for some in rows]
    steps = [np.diff(stamps.values[some]) for some in rows]
    pooled = np.concatenate(steps)
    _refuse_newest_first(table, stamps, rows, pooled, modes)
    plain = "sort" not in modes
    if "ignore" in modes:
        return Grid(groups=rows, in_order=plain)
    for some, step in zip(rows, steps):
        _refuse_disorder(table, stamps, some, step)
    time = Time(start=stamps.start(int(rows[0][0])), unit=stamps.unit)
    if not len(pooled):
        return Grid(groups=rows, time=time, in_order=plain)
    usual = float(f"{np.median(pooled):.9g}")
    places = None
    if pooled.max() > GAP * usual:
        places = [_places(table, stamps, some, step / usual, missing) for some, step in zip(rows, steps)]
    elif max(pooled.max() - usual, usual - pooled.min()) > JITTER * usual:
        said = f"the times step by {pooled.min():g} to {pooled.max():g}; taken as even steps of {usual:g}"
        hazard(table.said(said))
    return Grid(groups=rows, places=places, step=usual, time=time, in_order=plain)


def _refuse_newest_first(
    table: Table, stamps: Stamps, rows: list[np.ndarray], steps: np.ndarray, modes: frozenset[str]
) -> None:
    """Refuse times that fall: taken as they stand, every cause would follow its effect."""
    known = steps[np.isfinite(steps)]
    if not len(known) or (known >= 0).any():
        return
    help_word = "time=('sort', 'ignore')" if "ignore" in modes else "time='sort'"
    known = stamps.name == "index" or TIME_NAME.fullmatch(stamps.name) or LIKELY_NAME.fullmatch(stamps.name)
    other = "" if known else f", or name the nodes with columns= if {stamps.name} is one of them"
    raise InputError(
        f"{table.at(rows[0][min(1, len(rows[0]) - 1)], stamps.name)}: the times fall, the newest row is the first; "
        f"pass {help_word} to put the oldest first{other}"
    )


def _refuse_disorder(table: Table, stamps: Stamps, rows: np.ndarray, steps: np.ndarray) -> None:
    back = np.flatnonzero(~(steps > 0))
    if not len(back):
        return
    at = table.at(int(rows[back[0] + 1]), stamps.name)
    if (steps >= 0).all():
        raise InputError(
            f"{at}: the time does not increase, {_when(stamps, rows[back[0]])} comes twice; name the column of "
            f"trials, keep one row of each time, or {EVEN}"
        )
    raise InputError(
        f"{at}: the time does not increase; pass time='sort' to put the rows in order, "
        "or name the column of trials"
    )


def _when(stamps: Stamps, row: int) -> str:
    start = stamps.start(int(row))
    return start if isinstance(start, str) else f"{start:g}"


def _places(table: Table, stamps: Stamps, rows: np.ndarray, steps: np.ndarray, missing: str) -> np.ndarray:
    """Return the place of each row on an even grid, if gaps are to be missing samples."""
    wide = np.flatnonzero(steps > GAP)
    if not len(wide):
        return np.arange(len(rows))
    at = table.at(int(rows[wide[0] + 1]), stamps.name)
    jump = f"the time jumps by {steps[wide[0]]:g} steps"
    if _is_business(stamps, rows):
        business = f"{jump}, over a weekend: the rows are business days"
        if missing == "raise":
            raise InputError(f"{at}: {business}; {EVEN}")
        hazard(f"{at}: {business}, so windows longer than a week are all left out; {EVEN}")
    elif missing == "raise":
        raise InputError(
            f"{at}: {jump}; resample, or pass missing='drop' to leave out what touches a gap, or {EVEN}"
        )
    whole = np.rint(steps)
    if (np.abs(steps - whole) > 0.25).any():
        raise InputError(f"{at}: the times follow no even grid; resample the recording first, or {EVEN}")
    return np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)


def _is_business(stamps: Stamps, rows: np.ndarray) -> bool:
    """Say whether the rows are days from Monday to Friday."""
    if stamps.dates is None:
        return False
    steps = np.diff(stamps.values[rows])
    days = stamps.dates.iloc[rows].dt.day_of_week.to_numpy()
    return bool((days < SATURDAY).all() and np.median(steps) == DAY and (steps % DAY == 0).all())
