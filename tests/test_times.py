"""Time is never guessed: order, step, gaps, calendars and dates of DataFrames and files, and the words that help."""

import warnings

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.files import read, write_series
from enmesh.data.times import Time

N = 60
DAYS = pd.date_range("2021-01-01", periods=N)
FRAME = pd.DataFrame(np.random.default_rng(3).normal(size=(N, 2)), columns=["a", "b"])


def frame(index):
    return FRAME.set_axis(index)


@pytest.fixture(autouse=True)
def silence():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


RISING = {
    "days": (frame(DAYS), 86400, Time(start="2021-01-01T00:00:00", unit="s")),
    "a time zone": (frame(DAYS.tz_localize("Europe/Berlin")), 86400, Time(start="2021-01-01T00:00:00", unit="s")),
    "hours over the change of clocks": (
        frame(pd.date_range("2021-03-27", periods=N, freq="h", tz="Europe/Berlin")),
        3600,
        Time(start="2021-03-26T23:00:00+00:00", unit="s"),
    ),
    "months": (frame(pd.period_range("2021-03", periods=N, freq="M")), 1, Time(start="2021-03", unit="month")),
    "durations": (frame(pd.to_timedelta(np.arange(N) * 0.5, unit="s")), 0.5, Time(start=0.0, unit="s")),
    "numbers": (frame(pd.Index(np.arange(N) * 0.1 + 3, name="time (ms)")), 0.1, Time(start=3.0, unit="ms")),
    "years": (frame(pd.Index(1900 + np.arange(N))), 1, Time(start=1900.0, unit="")),
    "rows": (FRAME, 1, None),
    "labels": (frame([f"s{i}" for i in range(N)]), 1, None),
    "text in ISO form": (frame(DAYS.strftime("%Y-%m-%d")), 86400, Time(start="2021-01-01T00:00:00+00:00", unit="s")),
    "dates of Python": (frame([day.date() for day in DAYS]), 86400, Time(start="2021-01-01T00:00:00+00:00", unit="s")),
    "times of the day": (
        FRAME.assign(time=[f"{9 + i // 60:02d}:{i % 60:02d}" for i in range(N)]),
        60,
        Time(start=9 * 3600.0, unit="s"),
    ),
    "a date and a time of the day": (
        FRAME.assign(
            Date=[f"2021-01-{29 + i // 24}" for i in range(N)], Time=[f"{i % 24:02d}:30:00" for i in range(N)]
        ),
        3600,
        Time(start="2021-01-29T00:30:00+00:00", unit="s"),
    ),
    "a column time": (FRAME.assign(time=np.arange(N) * 0.5), 0.5, Time(start=0.0, unit="")),
    "a column of dates": (FRAME.assign(when=DAYS), 86400, Time(start="2021-01-01T00:00:00", unit="s")),
    "year and month": (
        FRAME.assign(Year=2000 + np.arange(N) // 12, Month=1 + np.arange(N) % 12),
        1,
        Time(start="2000-01", unit="month"),
    ),
    "year, month, day": (
        FRAME.assign(year=DAYS.year, month=DAYS.month, day=DAYS.day),
        86400,
        Time(start="2021-01-01T00:00:00", unit="s"),
    ),
}


@pytest.mark.parametrize("kind", RISING)
def test_times_that_rise_give_step_and_axis(kind):
    given, dt, time = RISING[kind]
    series = em.Series(given)
    assert series.names == ("a", "b")
    assert series.dt == pytest.approx(dt)
    assert series.time == time


@pytest.mark.parametrize("kind", [kind for kind in RISING if kind not in ("labels",)])
def test_newest_first_is_refused_and_sorted(kind):
    given, dt, time = RISING[kind]
    turned = given.iloc[::-1]
    if isinstance(given.index, pd.RangeIndex) and kind != "rows":
        turned = turned.reset_index(drop=True)
    for mode in (None, "ignore"):
        with pytest.raises(
            em.InputError, match=r"the newest row is the first; pass time=.*sort.* to put the oldest first"
        ):
            em.Series(turned, time=mode)
    again = em.Series(turned, time="sort")
    np.testing.assert_array_equal(again.values, FRAME.to_numpy())
    assert again.dt == pytest.approx(dt)
    assert again.time == (time if kind != "rows" else Time(start=0.0, unit=""))


@pytest.mark.parametrize(
    ("order", "dates"),
    [
        ("%d/%m/%Y", DAYS),
        ("%m/%d/%Y", DAYS),
        ("%d.%m.%Y %H:%M", pd.date_range("2021-01-01", periods=N, freq="6h")),
        ("%d %B %Y", DAYS),
        ("%b %d, %Y", DAYS),
        ("%Y/%m/%d", DAYS),
        ("%Y%m%d", DAYS),
    ],
)
def test_dates_in_other_orders(tmp_path, order, dates):
    path = tmp_path / "x.csv"
    FRAME.assign(date=dates.strftime(order)).to_csv(path, index=False)
    series = read(path)
    assert series.names == ("a", "b")
    assert series.time.start.startswith(dates[0].isoformat())


def test_even_steps_tell_the_day_from_the_month():
    months = pd.date_range("2021-01-01", periods=N, freq="MS")
    series = em.Series(FRAME.assign(date=months.strftime("%m/%d/%Y")))
    assert (series.dt, series.time) == (1, Time(start="2021-01", unit="month"))


def test_a_date_that_may_be_two_is_refused():
    few = FRAME[:4].assign(date=["01/02/2021", "02/02/2021", "03/02/2021", "04/02/2021"])
    with pytest.raises(em.InputError, match="'01/02/2021' may begin with the day or with the month"):
        em.Series(few)


def test_business_days_have_a_way_out():
    business = frame(pd.bdate_range("2021-01-04", periods=N))
    with pytest.raises(em.InputError, match="the rows are business days; pass time='ignore'"):
        em.Series(business)
    series = em.Series(business, time="ignore")
    assert (series.lengths, series.dt, series.missing, series.time) == ((N,), 1, None, None)
    with pytest.warns(em.HazardWarning, match="windows longer than a week are all left out"):
        assert em.Series(business, missing="drop").lengths == (N + 2 * (N // 5 - 1),)


def test_gaps_keep_kinds():
    given = FRAME.assign(k=np.arange(N) % 3, s=np.where(FRAME.a > 0, "up", "down")).set_axis(DAYS).drop(DAYS[10])
    with pytest.raises(em.InputError, match=r"row 11, column index: the time jumps by 2 steps"):
        em.Series(given)
    series = em.Series(given, missing="drop")
    assert series.kinds == ("float", "float", "integer", "text")
    assert np.isnan(series.values[10]).all()
    assert series["s"][10] is None
    assert series["s"][11] == given.s.iloc[10]


def test_sorting_is_within_trials_and_by_a_named_column():
    given = FRAME.assign(trial=np.repeat([1, 0], N // 2), when=np.tile(np.arange(N // 2)[::-1] * 2.0, 2))
    series = em.Series(given, time=("when", "sort"))
    assert (series.lengths, series.dt) == ((N // 2, N // 2), 2)
    np.testing.assert_array_equal(series.trials[0], FRAME.to_numpy()[: N // 2][::-1])


BAD = {
    "twice": (frame([*DAYS[:5], *DAYS[4:-1]]), {}, "comes twice; name the column of trials, keep one row"),
    "shuffled": (frame(DAYS).sample(frac=1, random_state=1), {}, "pass time='sort' to put the rows in order"),
    "not a time": (frame(DAYS.where(np.arange(N) != 7)), {}, "row 8, column index: 'NaT' is not a time or date"),
    "a short year": (frame(DAYS.strftime("%d/%m/%y")), {}, "row 1, column index: '01/01/21' is not a time or date"),
    "no times to sort by": (FRAME, {"time": "sort"}, "time='sort' needs times"),
    "a number": (FRAME, {"time": 3}, "there is no time column 3"),
    "two columns": (FRAME, {"time": ("a", "b")}, "names several columns"),
    "unknown": (FRAME, {"time": "when"}, "there is no time column when; it has a, b"),
    "an array": (FRAME.to_numpy(), {"time": "sort"}, "needs named columns, which an array has not"),
    "levels without names": (
        FRAME.set_axis(pd.MultiIndex.from_product([range(2), range(N // 2)])),
        {},
        "the index has levels without a name",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_with_times_is_said_with_the_remedy(case):
    given, options, said = BAD[case]
    with pytest.raises(em.InputError) as caught:
        em.Series(given, **options)
    assert said in str(caught.value)


def test_levels_of_an_index_are_trial_and_time():
    levels = pd.MultiIndex.from_product([range(2), np.arange(N // 2) * 0.5], names=["trial", "time"])
    series = em.Series(FRAME.set_axis(levels))
    assert (series.names, series.lengths, series.dt) == (("a", "b"), (N // 2, N // 2), 0.5)


def test_counters_are_left_out_and_said_unless_named():
    given = FRAME.assign(id=np.arange(N) + 100, hour=np.arange(N) % 24, quarter=1 + np.arange(N) // 3 % 4)
    with pytest.warns(em.HazardWarning, match="left out id, hour, quarter: a column that only counts"):
        assert em.Series(given).names == ("a", "b")
    assert em.Series(given, columns=["hour", "a"]).names == ("hour", "a")
    assert em.Series(given, time=False).names == ("a", "b", "id", "hour", "quarter")
    assert em.Series(given, names="vwxyz").names == tuple("vwxyz")
    measured = FRAME.assign(hour=np.random.default_rng(0).integers(0, 24, N))
    assert em.Series(measured).names == ("a", "b", "hour")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["days", "numbers", "a time zone", "hours over the change of clocks"])
def test_the_axis_is_written_and_read_back(tmp_path, suffix, kind):
    series = em.Series(RISING[kind][0])
    again = read(write_series(series, tmp_path / f"x.{suffix}"))
    assert again.dt == pytest.approx(series.dt)
    assert str(again.time.start).removesuffix("+00:00") == str(series.time.start).removesuffix("+00:00")
    assert again.time.unit == series.time.unit
    np.testing.assert_array_equal(again.values, series.values)


@pytest.mark.parametrize(
    ("index", "every"),
    [
        (DAYS, "1 day"),
        (pd.date_range("2021", periods=N, freq="QS"), "3 months"),
        (pd.date_range("2021", periods=N, freq="10min"), "10 min"),
        (pd.date_range("1960", periods=N, freq="YS"), "1 year"),
        (pd.Index(np.arange(N) * 0.5, name="time (ms)"), "0.5 ms"),
        (pd.RangeIndex(N), ""),
    ],
)
def test_the_step_is_said_in_words(index, every):
    assert em.Series(frame(index)).every == every


def test_time_moves_on():
    assert Time(start="2021-01-31T00:00:00", unit="s").later(86400) == Time(start="2021-02-01T00:00:00", unit="s")
    assert Time(start="2021-12", unit="month").later(1) == Time(start="2022-01", unit="month")
    assert Time(start=2.0, unit="ms").later(0.5) == Time(start=2.5, unit="ms")
