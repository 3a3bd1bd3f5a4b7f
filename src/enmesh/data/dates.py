"""Reading times: numbers, dates as text in many forms, months, quarters, weeks and times of the day."""

import datetime
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data.calendar_words import NAMED_MONTH, in_english, month_number
from enmesh.data.table import Table, shown
from enmesh.data.times import DAY, EVEN, GAP, Groups, Stamps
from enmesh.errors import InputError

HOUR, MONTH = 3600.0, 27 * DAY
# A date that begins with day or month, in this or that order; the year has four digits.
DAY_OR_MONTH_FIRST = r"\s*(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})(.*)"
CLOCK = r"\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s*[aApP]\.?[mM]\.?)?\s*"
ISO = r"\s*\d{4}([-/.])\d{1,2}(?:\1\d{1,2}.*)?"
# Months, quarters and weeks, by the year and its part.
PARTS_OF_YEAR = (
    r"(?P<year>\d{4})m?(?P<month>\d{2})",
    r"(?P<year>\d{4})[-./ ]*(?:m|[-./ ])(?P<month>\d{1,2})",
    r"(?P<month>\d{1,2})[-./ ](?P<year>\d{4})",
    rf"(?P<name>{NAMED_MONTH})[-./, ]*(?P<year>\d{{4}}|\d{{2}})",
    rf"(?P<year>\d{{4}})[-./, ]*(?P<name>{NAMED_MONTH})",
    r"(?P<year>\d{4})[-./: ]*q(?P<quarter>[1-4])",
    r"q(?P<quarter>[1-4])[-./: ]*(?P<year>\d{4}|\d{2})",
    r"(?P<quarter>[1-4])\.?[-./ ]*(?:q|quartal|quarter|trimestre)[-./: ]*(?P<year>\d{4}|\d{2})",
    r"w(?:eek|oche)?[-./ ]*(?P<week>\d{1,2})[-./, ]+(?P<year>\d{4})",
    r"(?P<year>\d{4})[-./ ]*w(?P<week>\d{1,2})",
)
# Whatever else is written like a time, but cannot be read without its format.
LIKE_DATES = (
    rf"(?i:.*\b{NAMED_MONTH}\b.*\d{{4}}.*|{'|'.join(re.sub('[?]P<[a-z]+>', '?:', one) for one in PARTS_OF_YEAR)})"
    r"|\s*\d{1,2}[/.\-]\d{1,2}[/.\-]\d{2}(?:\s.*)?|\s*(?:19|20)\d{4}(?:\d\d){0,4}|\s*\d{1,4}[/.\-]\d{1,2}[/.\-]\d{1,4}\b.*"
)
DATE_TEXT = f"{ISO}|{DAY_OR_MONTH_FIRST}|{LIKE_DATES}"
COMPACT = {6: "%Y%m", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
UNIT = re.compile(r".*[(\[]\s*([^)\]]*?)\s*[)\]]\s*|(?:time|timestamp|ts|t)_(\w+)", re.IGNORECASE)
# Marks of the longest text that is taken for a time.
LONGEST = 60
BY_FORMAT = "say how it is written with date_format='%d.%m.%y' (as in strptime)"


def read_stamps(
    table: Table, name: str, column: Any, groups: Groups, strict: bool = True, date_format: str | None = None
) -> Stamps:
    """Return the times of a column: numbers as they are, months and years counted, dates as seconds from the earliest.

    ``strict`` refuses a cell that is no time; without it the cell is NaN.
    """
    named, dates, text, kind = UNIT.fullmatch(name), None, _compact(column), column.dtype.kind
    unit = (named[1] or named[2] or "") if named else ""
    if date_format is not None:
        dates = _formatted(column, date_format)
    elif kind in "iuf" and text is None:
        values = column.to_numpy(dtype=float, na_value=np.nan)
    elif looks_like_clock(column):
        values, unit = _past_midnight(_seconds_of_day(column), groups), "s"
    elif kind == "m":
        values, unit = column.dt.total_seconds().to_numpy(), "s"
    elif kind != "M" and (part := _part_of_year(column if text is None else text)) is not None:
        values, unit = part
    elif text is None and (numbers := numbers_of(column)) is not None:
        values = numbers
    else:
        dates = _dates(table, name, column if text is None else text, groups)
    if dates is not None:
        values, unit, dates = _counted(dates)
    bad = np.flatnonzero(~np.isfinite(values))
    if strict and len(bad):
        advice = f"correct it (as 2020-01-31) or leave the row out, or {BY_FORMAT}, or {EVEN}"
        fault = f"written as date_format={date_format!r}" if date_format else f"a time or date; {advice}"
        raise table.error(f"{shown(column.iloc[bad[0]])} is not {fault}", bad[0], name)
    return Stamps(name=name, values=values, unit=unit, dates=dates)


def numbers_of(column: Any) -> np.ndarray | None:
    """Return finite numbers, or text that is such numbers, as float64; None for anything else."""
    if column.dtype.kind == "O" and all(isinstance(cell, str) for cell in column):
        column = pd.to_numeric(column, errors="coerce")
    if column.dtype.kind not in "iuf":
        return None
    values = column.to_numpy(dtype=float, na_value=np.nan)
    return values if np.isfinite(values).all() else None


def _formatted(column: Any, date_format: str) -> Any:
    text = column.astype(str).str.strip().str.replace(r"\.0$", "", regex=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dates = pd.to_datetime(text, format=date_format, errors="coerce")
    except ValueError as error:
        raise InputError(
            f"date_format={date_format!r} is not a format of strptime ({error}); write it as '%d.%m.%Y %H:%M'"
        ) from None
    return _without_zone(dates)


def _part_of_year(column: Any) -> tuple[np.ndarray, str] | None:
    """Return months since year 0, or seconds for weeks, of 1990M01, Dec-99, 01/1990, 1990Q1 or 1990W01."""
    text = column.astype(str).str.strip().str.lower()
    if not len(text) or (text.str.len() > LONGEST).any():
        return None
    for pattern in PARTS_OF_YEAR:
        found = text.str.extract(f"^{pattern}$")
        if found["year"].isna().any():
            continue
        year = found["year"].astype(int)
        year = year.where(found["year"].str.len() == 4, year + np.where(year < 69, 2000, 1900))
        if "week" in found:
            days = year.astype(str) + "-W" + found["week"] + "-1"
            monday = pd.to_datetime(days, format="%G-W%V-%u", errors="coerce")
            return (monday - pd.Timestamp(0)).dt.total_seconds().to_numpy(dtype=float), "s"
        if "name" in found:
            month = found["name"].map(month_number).astype(int)
        else:
            month = 3 * found["quarter"].astype(int) - 2 if "quarter" in found else found["month"].astype(int)
        if month.between(1, 12).all():
            return (12 * year + month - 1).to_numpy(dtype=float), "month"
    return None


def _counted(dates: Any) -> tuple[np.ndarray, str, Any]:
    """Return dates as seconds since the earliest; as months or years where they are one or more whole months apart."""
    seconds = seconds_since(dates)
    if len(dates) < 3 or dates.isna().any() or np.median(np.abs(np.diff(seconds))) < MONTH:
        return seconds, "s", dates
    months = (12 * dates.dt.year + dates.dt.month - 1).to_numpy(dtype=float)
    steps = np.abs(np.diff(np.sort(months)))
    same_day = dates.dt.day.nunique() == 1 or dates.dt.is_month_end.all()
    if steps.min() < 1 or not (same_day or (steps == steps[0]).all()):
        return seconds, "s", dates
    if (steps % 12 == 0).all():
        return dates.dt.year.to_numpy(dtype=float), "year", None
    return months, "month", None


def seconds_since(dates: Any) -> np.ndarray:
    """Return the seconds from the earliest of the dates to each."""
    return np.asarray((dates - dates.min()).dt.total_seconds().to_numpy(dtype=float))


def _past_midnight(seconds: np.ndarray, groups: Groups) -> np.ndarray:
    """Return times of the day that go on past midnight: one that follows 23:59 by the usual step is on the next day.

    Of a clock of twelve hours without am and pm, 1:00 follows 12:59.
    """
    moved, twelve = seconds.copy(), bool(HOUR <= seconds.min() <= seconds.max() < 13 * HOUR)
    for rows in groups:
        falls = len(rows) > 1 and np.median(np.diff(seconds[rows])) < 0
        order = rows[::-1] if falls else rows
        steps = np.diff(seconds[order])
        usual = np.median(steps) if len(steps) else 0.0
        for turn in (DAY, DAY / 2)[: 1 + twelve]:
            turns = (steps < 0) & (np.abs(steps % turn - usual) <= usual / 2)
            if turns.any() and (steps < 0).sum() == turns.sum():
                moved[order[1:]] += turn * np.cumsum(turns)
                break
    return moved


def _seconds_of_day(column: Any) -> np.ndarray:
    clock = column.astype(str).str.strip().str.replace(",", ".")
    if clock.str.contains("m", case=False).any():
        full = "2000-01-01 " + clock.str.replace(r"\.(?=[mM]|$)", "", regex=True)
        passed = pd.to_datetime(full, errors="coerce", format="mixed") - pd.Timestamp("2000-01-01")
    else:
        passed = pd.to_timedelta(clock.where(clock.str.count(":") != 1, clock + ":00"), errors="coerce")
    return passed.dt.total_seconds().to_numpy(dtype=float)


def _year_first(column: Any) -> Any:
    """Return months such as 12.1990 as 1990.12; None for other numbers."""
    month, year = np.divmod((10_000 * column).round(), 10_000)
    exact = (10_000 * column - 10_000 * month - year).abs().max() < 1e-3
    fits = exact and month.between(1, 12).all() and year.between(1700, 2199).all()
    return year + month / 100 if fits else None


def _compact(column: Any) -> Any:
    """Return numbers such as 20200131, 199001, 1990.01 or 1.1990 as text if all are dates; None if not."""
    kind = column.dtype.kind
    if not len(column) or column.isna().any():
        return None
    if kind == "f" and (turned := _year_first(column)) is not None:
        column = turned
    if column.dtype.kind == "f" and 1700 < column.min() <= column.max() < 2200:
        hundred = 100 * column
        kind = "i" if (hundred - hundred.round()).abs().max() < 1e-6 else "f"
        column = hundred.round().astype(int)
    text = column.astype(str).str.strip()
    length = len(text.iloc[0]) if kind in "iuO" else 0
    if length not in COMPACT or not text.str.fullmatch(rf"\d{{{length}}}").all():
        return None
    years = pd.to_datetime(text, format=COMPACT[length], errors="coerce").dt.year
    several = length > 6 or years.nunique() > 1
    return text if several and years.notna().all() and years.between(1700, 2200).all() else None


def _dates(table: Table, name: str, column: Any, groups: Groups) -> Any:
    """Return pandas timestamps; NaT for what is no date."""
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if column.dtype.kind == "M":
        return _without_zone(column)
    text = column.astype(str).where(~column.isna())
    text = text.where(text.str.len() <= LONGEST)
    known = text[text.notna()].str.strip()
    if len(known) and known.str.fullmatch(r"\d{8}(\d{4}(\d{2})?)?").all():
        return pd.to_datetime(text.str.strip(), format=COMPACT[len(known.iloc[0])], errors="coerce")
    if len(known) and known.str.contains(NAMED_MONTH, case=False, regex=True).any():
        text = text.map(in_english, na_action="ignore")
    text = text.str.replace(r"^\s*(\d{4})[./](\d{1,2})[./](\d{1,2})", r"\1-\2-\3", regex=True)
    if 2 * known.str.fullmatch(DAY_OR_MONTH_FIRST).sum() > len(known):
        return _day_or_month_first(table, name, text, groups)
    return _parsed(text)


def _without_zone(column: Any) -> Any:
    """Return times as the clock on the wall showed them if that makes even steps (days), else in UTC."""
    if column.dt.tz is None:
        return column
    wall = column.dt.tz_localize(None)
    return wall if wall.diff().nunique() == 1 else column.dt.tz_convert("UTC")


def _parsed(text: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a format that is not the same in all rows is read row by row
        iso = pd.to_datetime(text, errors="coerce", utc=True, format="ISO8601")
        other = pd.to_datetime(text, errors="coerce", utc=True, format="mixed")
    # A cell that only the looser reader takes is a date in words; "7" or "noon" it takes too, and they are none.
    written = text.astype(object).map(lambda cell: isinstance(cell, str) and bool(re.search(r"\d{4}", cell)))
    return iso.where(iso.notna() | ~written.astype(bool), other)


def _day_or_month_first(table: Table, name: str, text: Any, groups: Groups) -> Any:
    """Read 31/01/2020 or 01/31/2020: the order in which all dates exist, or else the one that makes even steps."""
    parts = text.astype(object).str.extract(f"^{DAY_OR_MONTH_FIRST}$")
    first, second = parts[0].str.zfill(2), parts[1].str.zfill(2)
    orders, clock = ((first, second), (second, first)), parts[3].fillna("")
    found = [_parsed(parts[2] + "-" + month + "-" + day + clock) for day, month in orders]
    wrong = [int(dates.isna().sum()) for dates in found]
    if wrong[0] != wrong[1]:
        return found[int(np.argmin(wrong))]
    even = []
    for seconds in map(seconds_since, found):
        steps = np.concatenate([np.diff(np.sort(seconds[rows])) for rows in groups])
        even.append(bool(len(steps) and steps.min() > 0 and steps.max() <= GAP * np.median(steps)))
    if even[0] == even[1] and not wrong[0]:
        told = "may begin with the day or with the month; say which with date_format='%d/%m/%Y' or '%m/%d/%Y'"
        raise table.error(f"{shown(text.iloc[0])} {told}", 0, name)
    return found[0] if even[0] else found[1]


def looks_like_dates(column: Any) -> bool:
    """Say whether a column holds dates, or text most of which is written like dates."""
    kind = column.dtype.kind
    if kind == "M" or isinstance(column.dtype, pd.PeriodDtype):
        return True
    if kind in "biufcm" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return _share(column, DATE_TEXT, datetime.date) > 0.5


def looks_like_clock(column: Any) -> bool:
    """Say whether a column holds times of the day."""
    return column.dtype.kind not in "biufcmM" and _share(column, CLOCK, datetime.time) > 0.5


def looks_like_labels_in_time(column: Any) -> bool:
    """Say whether every row has its own label with a year in it: written like a time, though nobody can read it."""
    year = re.compile(r"(?<!\d)(1[5-9]|2[01])\d\d(?!\d)")
    dated = [isinstance(cell, str) and year.search(cell) is not None for cell in column]
    return bool(dated and np.mean(dated) > 0.9 and column.is_unique)


def looks_like_unordered_times(column: Any) -> bool:
    """Say whether every row has its own label with a number in it, but no plain count: 3 days ago, wave 2 of 5."""
    texts = [cell for cell in column if isinstance(cell, str)]
    counted = [re.search(r"\d", cell) is not None and not re.fullmatch(r"\D*\d{1,15}", cell) for cell in texts]
    return bool(len(texts) == len(column) > 2 and np.mean(counted) > 0.9 and column.is_unique)


def _share(column: Any, pattern: str, kind: type) -> float:
    """Return the share of cells that are of a kind, or text that is written like it."""
    written = re.compile(pattern)
    texts = [cell for cell in column if isinstance(cell, str) and len(cell) <= LONGEST]
    alike = sum(written.fullmatch(cell) is not None for cell in texts)
    return (alike + sum(isinstance(cell, kind) for cell in column)) / max(len(column), 1)
