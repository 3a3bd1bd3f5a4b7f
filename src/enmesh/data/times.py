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
from enmesh.errors import hazard

# Steps up to this many times the usual one are jitter (months differ by a tenth); longer ones are gaps.
GAP = 1.5
# Jitter beyond this share of the step is worth a word.
JITTER = 0.01
MOST_LOOKED_AT = 1000  # times of which the digits are counted
STRONG_JITTER = 0.1
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
TRIAL_NAMES = {"trial", "trials", "subject", "subj", "participant", "patient", "animal", "session", "run"}
TRIAL_NAMES |= {"block", "epoch", "country", "region", "site", "station"}
TRIAL_NAMES |= {"subject_id", "participant_id", "patient_id"}
Groups = Sequence[np.ndarray]
"""The rows of each trial."""
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
        date, zone, _ = self.start.partition("+00:00")
        month = self.unit == "month"
        moved: Any = np.datetime64(date, "M" if month else "us")
        moved += np.timedelta64(round(by), "M") if month else np.timedelta64(round(by * 1e6), "us")
        return Time(start=str(moved) if month else f"{moved.item().isoformat()}{zone}", unit=self.unit)


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


Grid = tuple[list[np.ndarray], list[np.ndarray] | None, float | None, Time | None]
"""Rows of each trial in the order of time; where there are gaps, their places on an even grid; the step; the axis."""


def steps_of(values: np.ndarray, groups: Groups) -> np.ndarray:
    """Return the steps from row to row within each group of rows, one group after the other."""
    return np.concatenate([np.diff(values[rows]) for rows in groups])


def one_way(steps: np.ndarray) -> bool:
    """Say whether every step goes up, or every step goes down."""
    return bool((steps > 0).all() or (steps < 0).all())


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


def on_grid(table: Table, stamps: Stamps, groups: Groups, modes: frozenset[str], missing: str) -> Grid:
    """Order the rows of each trial as asked, and find the step of the times and the places of gaps."""
    rows = list(groups)
    if "sort" in modes:
        rows = [one[np.argsort(stamps.values[one], kind="stable")] for one in rows]
    pooled = steps_of(stamps.values, rows)
    _refuse_newest_first(table, stamps, rows[0], pooled, modes)
    if "ignore" in modes:
        return rows, None, None, None
    for one in rows:
        _refuse_disorder(table, stamps, one)
    time = Time(start=stamps.start(int(rows[0][0])), unit=stamps.unit)
    if not len(pooled):
        return rows, None, None, time
    if (exact := _rounded_step(stamps.values, pooled)) is not None:
        return rows, None, exact, time
    usual, least, most = float(f"{np.median(pooled):.9g}"), pooled.min(), pooled.max()
    places = None
    if most > GAP * usual:
        places = [_places(table, stamps, one, usual, missing) for one in rows]
    elif max(most - usual, usual - least) > JITTER * usual:
        told = f"the times step by {least:g} to {most:g}; taken as even steps of {usual:g}"
        strong = max(most - usual, usual - least) > STRONG_JITTER * usual
        hazard(table.message(f"{told}{'; resample=True interpolates them instead' if strong else ''}"))
    return rows, places, usual, time


def _rounded_step(values: np.ndarray, steps: np.ndarray) -> float | None:
    """Return the step of times that were rounded, such as .33, .67, 1.0: of 1/3; None for other times."""
    texts = [f"{value:.12g}" for value in values[:MOST_LOOKED_AT]]
    digits = max(len(text.partition(".")[2]) for text in texts)
    unit, least, most = 10.0**-digits, float(steps.min()), float(steps.max())
    if "e" in "".join(texts) or not 0.5 * unit < most - least < 1.5 * unit or least <= unit or digits > 6:
        return None
    mean = float(steps.mean())
    near = unit / len(steps)
    per_unit = 1 / round(1 / mean) if mean < 1 else mean
    if abs(per_unit - mean) <= near:
        return per_unit
    return next((step for d in range(1, 13) if abs((step := float(f"{mean:.{d}g}")) - mean) <= near), mean)


def _refuse_newest_first(table: Table, stamps: Stamps, rows: Any, steps: Any, modes: frozenset[str]) -> None:
    """Refuse times that fall: taken as they stand, every cause would follow its effect."""
    known = steps[np.isfinite(steps)]
    if not len(known) or (known >= 0).any():
        return
    word = "time=('sort', 'ignore')" if "ignore" in modes else "time='sort'"
    clock = stamps.name == "index" or TIME_NAME.fullmatch(stamps.name) or LIKELY_NAME.fullmatch(stamps.name)
    other = "" if clock else f", or name the nodes with columns= if {stamps.name} is one of them"
    text = f"the times fall, the newest row is the first; pass {word} to put the oldest first{other}"
    raise table.error(text, rows[min(1, len(rows) - 1)], stamps.name)


def _refuse_disorder(table: Table, stamps: Stamps, rows: np.ndarray) -> None:
    steps = np.diff(stamps.values[rows])
    back = np.flatnonzero(~(steps > 0))
    if not len(back):
        return
    told = "; pass time='sort' to put the rows in order, or name the column of trials"
    if (steps >= 0).all():
        start = stamps.start(int(rows[back[0]]))
        when = start if isinstance(start, str) else f"{start:g}"
        told = f", {when} comes twice; name the column of trials, keep one row of each time, or {EVEN}"
    raise table.error(f"the time does not increase{told}", rows[back[0] + 1], stamps.name)


def _places(table: Table, stamps: Stamps, rows: np.ndarray, usual: float, missing: str) -> np.ndarray:
    """Return the place of each row on an even grid, if gaps are to be missing samples."""
    steps = np.diff(stamps.values[rows]) / usual
    wide = np.flatnonzero(steps > GAP)
    if not len(wide):
        return np.arange(len(rows))
    cell = rows[wide[0] + 1], stamps.name
    jump = f"the time jumps by {steps[wide[0]]:g} steps"
    days = None if stamps.dates is None else stamps.dates.iloc[rows].dt.day_of_week.to_numpy()
    if days is not None and (days < SATURDAY).all() and usual == DAY and (steps % 1 == 0).all():
        jump += ", over a weekend: the rows are business days"
        if missing == "raise":
            raise table.error(f"{jump}; {EVEN}", *cell)
        hazard(table.message(f"{jump}, so windows longer than a week are all left out; {EVEN}", *cell))
    elif missing == "raise":
        advice = f"pass missing='drop' to leave out the samples next to a gap, or {EVEN}"
        raise table.error(f"{jump}; {advice}", *cell)
    whole = np.rint(steps)
    if (np.abs(steps - whole) > 0.25).any():
        raise table.error(f"the times follow no even grid; pass resample=True, or {EVEN}", *cell)
    return np.concatenate([[0], np.cumsum(whole)]).astype(np.int64)
