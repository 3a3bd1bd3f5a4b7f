"""Reading times: numbers, dates as text in many forms, months, quarters, weeks and times of the day."""

import datetime
import re
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.data.table import Table, shown
from enmesh.data.times import DAY, EVEN, GAP, Stamps
from enmesh.errors import InputError

MONTH = 27 * DAY
# A date that begins with day or month, in this or that order; the year has four digits.
DAY_OR_MONTH_FIRST = r"\s*(\d{1,2})[/.\-](\d{1,2})[/.\-](\d{4})(.*)"
CLOCK = r"\s*\d{1,2}:\d{2}(:\d{2}([.,]\d+)?)?(\s*[aApP]\.?[mM]\.?)?\s*"
ISO = r"\s*\d{4}([-/.])\d{1,2}(?:\1\d{1,2}.*)?"
MONTHS = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"]
NAMED_MONTH = rf"(?:{'|'.join(MONTHS)})[a-z]*"
# Months, quarters and weeks, by the year and its part.
PARTS_OF_YEAR = (
    (r"(?P<year>\d{4})m?(?P<month>\d{2})", "month"),
    (r"(?P<year>\d{4})[-./ ]*(?:m|[-./ ])(?P<month>\d{1,2})", "month"),
    (r"(?P<month>\d{1,2})[-./ ](?P<year>\d{4})", "month"),
    (rf"(?P<name>{NAMED_MONTH})[-./, ]*(?P<year>\d{{4}}|\d{{2}})", "month"),
    (rf"(?P<year>\d{{4}})[-./, ]*(?P<name>{NAMED_MONTH})", "month"),
    (r"(?P<year>\d{4})[-./: ]*q(?P<quarter>[1-4])", "month"),
    (r"q(?P<quarter>[1-4])[-./: ]*(?P<year>\d{4}|\d{2})", "month"),
    (r"(?P<year>\d{4})[-./ ]*w(?P<week>\d{1,2})", "week"),
)
# Whatever else is written like a time, but cannot be read without its format.
LIKE_DATES = (
    rf"(?i:.*\b{NAMED_MONTH}\b.*\d{{4}}.*|{'|'.join(re.sub('[?]P<[a-z]+>', '?:', one) for one, _ in PARTS_OF_YEAR)})"
    r"|\s*\d{1,2}[/.\-]\d{1,2}[/.\-]\d{2}(?:\s.*)?|\s*(?:19|20)\d{4}(?:\d\d){0,4}|\s*\d{1,4}[/.\-]\d{1,2}[/.\-]\d{1,4}\b.*"
)
DATE_TEXT = f"{ISO}|{DAY_OR_MONTH_FIRST}|{LIKE_DATES}"
COMPACT = {6: "%Y%m", 8: "%Y%m%d", 12: "%Y%m%d%H%M", 14: "%Y%m%d%H%M%S"}
UNIT = re.compile(r".*[(\[]\s*([^)\]]*?)\s*[)\]]\s*|(?:time|timestamp|ts|t)_(\w+)", re.IGNORECASE)
# Marks of the longest text that is taken for a time.
LONGEST = 60
BY_FORMAT = "say how it is written with date_format='%d.%m.%y' (as in strptime)"


def read_stamps(
    table: Table,
    name: str,
    column: Any,
    groups: Sequence[np.ndarray],
    strict: bool = True,
    date_format: str | None = None,
) -> Stamps:
    """Return the times of a column: numbers as they are, months and years counted, dates as seconds from the earliest.

    ``strict`` refuses a cell that is no time; without it the cell is NaN.
    """
    kind = getattr(column.dtype, "kind", "O")
    unit, dates = _unit(name), None
    compact = _compact(column)
    if date_format is not None:
        dates = _formatted(table, name, column, date_format)
    elif kind in "iuf" and compact is None:
        values = column.to_numpy(dtype=float, na_value=np.nan)
    elif looks_like_clock(column):
        values, unit = _past_midnight(_seconds_of_day(column), groups), "s"
    elif kind == "m":
        values, unit = column.dt.total_seconds().to_numpy(), "s"
    elif kind != "M" and (part := _part_of_year(column if compact is None else compact)) is not None:
        values, unit = part
    elif compact is None and kind == "O" and all_numbers(column):
        values = column.astype(float).to_numpy()
    else:
        dates = _dates(table, name, column if compact is None else compact, groups)
    if dates is not None:
        values, unit, dates = _counted(dates)
    bad = ~np.isfinite(values)
    if strict and bad.any():
        row = int(bad.argmax())
        raise InputError(
            f"{table.at(row, name)}: {shown(column.iloc[row])} is not a time or date; correct it (as 2020-01-31) or "
            f"leave the row out, or {BY_FORMAT}, or {EVEN}"
        )
    return Stamps(name=name, values=values, unit=unit, dates=dates)


def all_numbers(column: Any) -> bool:
    """Say whether text is numbers: 0.1, 0.2, ..."""
    import pandas as pd

    words = len(column) > 0 and column.map(lambda cell: isinstance(cell, str)).all()
    return bool(words and pd.to_numeric(column, errors="coerce").notna().all())


def _formatted(table: Table, name: str, column: Any, date_format: str) -> Any:
    """Return the timestamps of a column that is written in a format of strptime."""
    import pandas as pd

    text = column.astype(str).str.strip().str.replace(r"\.0$", "", regex=True)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            dates = pd.to_datetime(text, format=date_format, errors="coerce")
    except ValueError as error:
        raise InputError(f"date_format={date_format!r} is not a format of strptime: {error}") from None
    if dates.isna().any():
        row = int(dates.isna().to_numpy().argmax())
        raise InputError(
            f"{table.at(row, name)}: {shown(column.iloc[row])} is not written as date_format={date_format!r}"
        )
    return _without_zone(dates)


def _part_of_year(column: Any) -> tuple[np.ndarray, str] | None:
    """Return months since year 0, or seconds for weeks, of 1990M01, Dec-99, 01/1990, 1990Q1 or 1990W01."""
    import pandas as pd

    text = column.astype(str).str.strip().str.lower()
    if (text.str.len() > LONGEST).any():
        return None
    for pattern, unit in PARTS_OF_YEAR:
        found = text.str.extract(f"^{pattern}$")
        if not len(text) or found["year"].isna().any():
            continue
        year = found["year"].astype(int)
        year = year.where(found["year"].str.len() == 4, year + np.where(year < 69, 2000, 1900))
        if unit == "week":
            monday = pd.to_datetime(
                year.astype(str) + "-W" + found["week"] + "-1", format="%G-W%V-%u", errors="coerce"
            )
            return (monday - pd.Timestamp(0)).dt.total_seconds().to_numpy(dtype=float), "s"
        if "name" in found:
            month = found["name"].str[:3].map(MONTHS.index).astype(int) + 1
        elif "quarter" in found:
            month = 3 * found["quarter"].astype(int) - 2
        else:
            month = found["month"].astype(int)
        if month.between(1, 12).all():
            return (12 * year + month - 1).to_numpy(dtype=float), unit
    return None


def _counted(dates: Any) -> tuple[np.ndarray, str, Any]:
    """Return dates as seconds since the earliest; as months or years where they are one or more whole months apart."""
    seconds = (dates - dates.min()).dt.total_seconds().to_numpy(dtype=float)
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


def _past_midnight(seconds: np.ndarray, groups: Sequence[np.ndarray]) -> np.ndarray:
    """Return times of the day that go on past midnight: one that follows 23:59 by the usual step is on the next day."""
    moved = seconds.copy()
    for rows in groups:
        steps = np.diff(seconds[rows])
        back = len(steps) and np.median(steps) < 0
        order = rows[::-1] if back else rows
        steps = np.diff(seconds[order])
        usual = np.median(steps) if len(steps) else 0.0
        turns = (steps < 0) & (np.abs(steps % DAY - usual) <= usual / 2)
        if (steps < 0).sum() == turns.sum():
            moved[order[1:]] += DAY * np.cumsum(turns)
    return moved


def _seconds_of_day(column: Any) -> np.ndarray:
    import pandas as pd

    clock = column.astype(str).str.strip().str.replace(",", ".")
    if clock.str.contains("m", case=False).any():
        full = "2000-01-01 " + clock.str.replace(r"\.(?=[mM]|$)", "", regex=True)
        times = pd.to_datetime(full, errors="coerce", format="mixed")
        return (times - pd.Timestamp("2000-01-01")).dt.total_seconds().to_numpy(dtype=float)
    full = clock.where(clock.str.count(":") != 1, clock + ":00")
    return pd.to_timedelta(full, errors="coerce").dt.total_seconds().to_numpy(dtype=float)


def date_and_clock(date: Any, clock: Any) -> Any:
    """Return a column of dates and one of times of the day as one column of text."""
    days = date.dt.strftime("%Y-%m-%d") if getattr(date.dtype, "kind", "O") == "M" else date.astype(str)
    return days.str.strip() + " " + clock.astype(str).str.strip()


def _unit(name: str) -> str:
    found = UNIT.fullmatch(str(name))
    return (found[1] or found[2] or "") if found else ""


def _compact(column: Any) -> Any:
    """Return numbers such as 20200131, 199001 or 1990.01 as text if every one of them is a date; None if not."""
    import pandas as pd

    kind = getattr(column.dtype, "kind", "O")
    if not len(column) or column.isna().any():
        return None
    if kind == "f" and 1700 < column.min() <= column.max() < 2200:
        hundred = 100 * column
        column, kind = (
            hundred.round().astype(int),
            "i" if (hundred - hundred.round()).abs().max() < 1e-6 else "f",
        )
    if kind not in "iuO":
        return None
    text = column.astype(str).str.strip()
    if not text.str.fullmatch(r"\d{6}|\d{8}|\d{12}|\d{14}").all() or text.str.len().nunique() > 1:
        return None
    form = COMPACT[len(text.iloc[0])]
    dates = pd.to_datetime(text, format=form, errors="coerce")
    if dates.isna().any() or dates.dt.year.min() < 1700 or dates.dt.year.max() > 2200:
        return None
    return text if len(text.iloc[0]) > 6 or dates.dt.year.nunique() > 1 else None


def _dates(table: Table, name: str, column: Any, groups: Sequence[np.ndarray]) -> Any:
    """Return pandas timestamps; NaT for what is no date."""
    import pandas as pd

    kind = getattr(column.dtype, "kind", "O")
    if isinstance(column.dtype, pd.PeriodDtype):
        return column.dt.to_timestamp()
    if kind == "M":
        return _without_zone(column)
    text = column.astype(str).where(~column.isna())
    text = text.where(text.str.len() <= LONGEST)
    known = text[text.notna()]
    if known.str.fullmatch(r"\s*\d{8}(\d{4}(\d{2})?)?\s*").all():
        form = COMPACT[len(known.iloc[0].strip())] if len(known) else "%Y"
        return pd.to_datetime(text.str.strip(), format=form, errors="coerce")
    text = text.str.replace(r"^\s*(\d{4})[./](\d{1,2})[./](\d{1,2})", r"\1-\2-\3", regex=True)
    fits = known.str.fullmatch(DAY_OR_MONTH_FIRST)
    if len(known) and 2 * fits.sum() > len(known):
        return _day_or_month_first(table, name, text, groups)
    return _parsed(text)


def _without_zone(column: Any) -> Any:
    """Return times as the clock on the wall showed them if that makes even steps (days), else in UTC."""
    if column.dt.tz is None:
        return column
    wall = column.dt.tz_localize(None)
    return wall if wall.diff().nunique() == 1 else column.dt.tz_convert("UTC")


def _parsed(text: Any) -> Any:
    import pandas as pd

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a format that is not the same in all rows is read row by row
        iso = pd.to_datetime(text, errors="coerce", utc=True, format="ISO8601")
        other = pd.to_datetime(text, errors="coerce", utc=True, format="mixed")
    # A cell that only the looser reader takes is a date in words; "7" or "noon" it takes too, and they are none.
    written = text.astype(object).map(lambda cell: isinstance(cell, str) and bool(re.search(r"\d{4}", cell)))
    return iso.where(iso.notna() | ~written.astype(bool), other)


def _day_or_month_first(table: Table, name: str, text: Any, groups: Sequence[np.ndarray]) -> Any:
    """Read 31/01/2020 or 01/31/2020: the order in which all dates exist, or else the one that makes even steps."""
    parts = text.astype(object).str.extract(f"^{DAY_OR_MONTH_FIRST}$")
    found = []
    for day, month in ((0, 1), (1, 0)):
        iso = parts[2] + "-" + parts[month].str.zfill(2) + "-" + parts[day].str.zfill(2) + parts[3].fillna("")
        found.append(_parsed(iso))
    wrong = [int(dates.isna().sum()) for dates in found]
    if wrong[0] != wrong[1]:
        return found[int(np.argmin(wrong))]
    even = [_is_even(dates, groups) for dates in found]
    if even[0] == even[1] and not wrong[0]:
        raise InputError(
            f"{table.at(0, name)}: {shown(text.iloc[0])} may begin with the day or with the month; "
            "say which with date_format='%d/%m/%Y' or '%m/%d/%Y'"
        )
    return found[0] if even[0] else found[1]


def _is_even(dates: Any, groups: Sequence[np.ndarray]) -> bool:
    seconds = (dates - dates.min()).dt.total_seconds().to_numpy(dtype=float)
    steps = np.abs(np.concatenate([np.diff(np.sort(seconds[rows])) for rows in groups]))
    return bool(len(steps) and steps.min() > 0 and steps.max() <= GAP * np.median(steps))


def looks_like_dates(column: Any) -> bool:
    """Say whether a column holds dates, or text most of which is written like dates."""
    import pandas as pd

    kind = getattr(column.dtype, "kind", "O")
    if kind == "M" or isinstance(column.dtype, pd.PeriodDtype):
        return True
    if kind in "biufcm" or isinstance(column.dtype, pd.CategoricalDtype):
        return False
    return _share(column, DATE_TEXT, datetime.date) > 0.5


def looks_like_clock(column: Any) -> bool:
    """Say whether a column holds times of the day."""
    kind = getattr(column.dtype, "kind", "O")
    return kind not in "biufcmM" and _share(column, CLOCK, datetime.time) > 0.5


def _is_other_date(cell: Any, kind: type) -> bool:
    """Say whether a cell is a date of another calendar (cftime), which prints as a date."""
    return kind is datetime.date and hasattr(cell, "strftime") and hasattr(cell, "dayofyr")


def looks_like_labels_in_time(column: Any) -> bool:
    """Say whether every row has its own label with a year in it: written like a time, though nobody can read it."""
    words = column.map(
        lambda cell: isinstance(cell, str) and bool(re.search(r"(?<!\d)(1[5-9]|2[01])\d\d(?!\d)", cell))
    )
    return bool(len(column) and words.mean() > 0.9 and column.is_unique)


def _share(column: Any, pattern: str, kind: type) -> float:
    """Return the share of cells that are of a kind, or text that is written like it."""
    alike = [
        len(cell) <= LONGEST and bool(re.fullmatch(pattern, cell))
        if isinstance(cell, str)
        else isinstance(cell, kind)
        for cell in column
    ]
    return sum(alike) / max(len(alike), 1)
