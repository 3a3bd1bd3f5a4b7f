"""Preparing: what is removed is removed exactly, and everything else that is known of a series stays."""

import numpy as np
import pandas as pd
import pytest

import enmesh as em

N = 48
RNG = np.random.default_rng(7)
WHITE = RNG.normal(size=(N, 2))
TIME = np.arange(N)


def series(values=WHITE, **more):
    return em.Series(values, names=["a", "b"], dt=0.5, truth={"b": ["a"]}, **more)


def test_a_difference_is_the_next_value_less_this_one():
    changed = em.Series([WHITE[:20], WHITE[20:]]).difference()
    assert changed.lengths == (19, N - 21)
    for before, after in zip((WHITE[:20], WHITE[20:]), changed.trials):
        np.testing.assert_array_equal(after, before[1:] - before[:-1])


def test_a_straight_line_vanishes_in_each_trial():
    plain = em.Series([WHITE[:20], WHITE[20:]]).detrend()
    bent = em.Series([WHITE[:20] + 3 + 0.7 * TIME[:20, None], WHITE[20:] - 5 * TIME[20:, None]]).detrend()
    np.testing.assert_allclose(bent.values, plain.values, atol=1e-11)
    for trial in plain.trials:
        assert np.abs(np.polynomial.polynomial.polyfit(np.arange(len(trial)), trial, 1)).max() < 1e-12


@pytest.mark.parametrize("period", [2, 5, 12])
def test_a_season_vanishes(period):
    season = RNG.normal(size=(period, 2))[TIME % period] * 100
    np.testing.assert_allclose(
        series(WHITE + season).deseason(period=period).values, series().deseason(period).values, atol=1e-11
    )
    free = series().deseason(period).values
    for phase in range(period):
        assert np.abs(free[phase::period].mean(0)).max() < 1e-12


def test_standardised_trials_have_mean_0_and_deviation_1():
    scaled = em.Series([3 * WHITE[:20] + 5, WHITE[20:] - 2]).standardise()
    for trial in scaled.trials:
        np.testing.assert_allclose(trial.mean(0), 0, atol=1e-13)
        np.testing.assert_allclose(trial.std(0, ddof=1), 1, rtol=1e-13)


@pytest.mark.parametrize("way", ["difference", "detrend", "deseason", "standardise"])
def test_missing_values_stay_missing_and_do_not_count(way):
    holes = WHITE.copy()
    holes[[4, 17], 0] = np.nan
    options = (4,) if way == "deseason" else ()
    done = getattr(series(holes, missing="drop"), way)(*options)
    there = np.isfinite(holes[:, 0])
    expected = there[1:] & there[:-1] if way == "difference" else there
    assert np.array_equal(np.isfinite(done["a"]), expected)
    known = holes[there, 0]
    if way == "detrend":
        line = np.polynomial.Polynomial.fit(TIME[there], known, 1)
        np.testing.assert_allclose(done["a"][there], known - line(TIME[there]), atol=1e-12)
    if way == "standardise":
        np.testing.assert_allclose(done["a"][there], (known - known.mean()) / known.std(ddof=1), atol=1e-12)
    if way == "deseason":
        np.testing.assert_allclose(np.nanmean(done["a"][0::4]), 0, atol=1e-12)


def test_what_is_known_stays_and_what_was_done_is_noted():
    dated = em.Series(
        pd.DataFrame(WHITE, columns=["a", "b"], index=pd.date_range("2020", periods=N)), truth={"b": ["a"]}
    )
    done = dated.detrend().deseason(period=12).difference().standardise().mask([3])
    assert done.prepared == (
        "detrended",
        "deseasoned (period 12)",
        "differenced",
        "standardised",
        "1 of 47 samples masked",
    )
    assert (done.names, done.dt, done.truth) == (dated.names, dated.dt, dated.truth)
    assert done.time.start == "2020-01-02T00:00:00"
    assert dated.prepared == ()
    assert em.Series(done, missing="drop").prepared == done.prepared
    assert done.select(["b"]).prepared == done.prepared
    assert done.digest != dated.digest


def test_states_are_left_alone_unless_whole_numbers_are_named():
    mixed = em.Series(
        pd.DataFrame(WHITE, columns=["a", "b"]).assign(
            k=RNG.integers(0, 9, N), s=np.where(WHITE[:, 0] > 0, "up", "down")
        )
    )
    done = mixed.difference()
    assert done.kinds == ("float", "float", "integer", "text")
    assert done["k"].tolist() == mixed["k"][1:].tolist()
    assert done["s"].tolist() == mixed["s"][1:].tolist()
    assert done.prepared == ("differenced (a, b)",)
    named = mixed.difference(["k"])
    assert named.kinds == ("float", "float", "float", "text")
    assert named["k"].tolist() == np.diff(mixed["k"]).tolist()
    np.testing.assert_array_equal(named["a"], WHITE[1:, 0])
    with pytest.raises(em.InputError, match="s is text and cannot be detrended"):
        mixed.detrend(["s"])
    with pytest.raises(em.InputError, match="every node is whole numbers or text, which stands for states; name"):
        mixed.select(["k", "s"]).standardise()


def test_windows_that_touch_a_mask_are_left_out():
    options = {"estimator": em.Gaussian(), "embedding": em.Embedding(dim=2)}
    flags = TIME == 20
    for rows in ([20], slice(20, 21), flags, pd.Series(flags)):
        masked = series().mask(rows)
        assert np.argwhere(masked.missing[0].all(1)).tolist() == [[20]]
        with pytest.warns(em.HazardWarning, match="43 of 46 windows"):
            te = em.transfer_entropy(masked, "a", "b", **options)
        parts = em.Series([WHITE[:20], WHITE[21:]], names=["a", "b"])
        assert te == pytest.approx(em.transfer_entropy(parts, "a", "b", **options), abs=1e-12)


BAD = {
    "a trend alone": (lambda: series(WHITE * [1, 0] + TIME[:, None]).detrend(), "column b is constant when it"),
    "a season alone": (lambda: series(WHITE * [1, 0] + TIME[:, None] % 4).deseason(4), "column b is constant when"),
    "steps alone": (lambda: series(WHITE * [1, 0] + TIME[:, None]).difference(), "column b is constant when"),
    "a long period": (lambda: series().deseason(25), "period=25 is too long for a trial of 48 samples; it needs two"),
    "no period": (lambda: series().deseason(1), "period=1 is not possible"),
    "half a period": (lambda: series().deseason(2.5), "period=2.5 is not possible"),
    "no rows": (lambda: series().mask([]), "no row is masked"),
    "rows beyond": (lambda: series().mask([N]), "cannot mask these rows of 48"),
    "flags of another length": (lambda: series().mask([True, False]), "cannot mask these rows of 48"),
    "rows in words": (lambda: series().mask(["a"]), "cannot mask these rows of 48"),
    "everything": (lambda: series().mask(slice(None)), "every row is masked; leave some samples"),
    "an unknown node": (lambda: series().detrend(["z"]), "there is no node 'z'"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_cannot_be_prepared_is_said(case):
    act, said = BAD[case]
    with pytest.raises(em.InputError) as caught:
        act()
    assert said in str(caught.value)


@pytest.mark.parametrize("longest", [1, 3, 8])
def test_short_gaps_are_interpolated_as_pandas_would(longest):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame(rng.normal(size=(300, 2)), columns=["a", "b"])
    frame.loc[rng.choice(300, 90, replace=False), "a"] = np.nan
    frame.loc[100:106, "b"] = np.nan
    frame.loc[297:, "b"] = np.nan
    series = em.Series(frame, missing=f"interpolate:{longest}")
    for name in frame:
        gap = frame[name].isna()
        run = gap.groupby((~gap).cumsum()).transform("sum")
        expected = frame[name].interpolate(limit_area="inside").where(~gap | (run <= longest))
        np.testing.assert_allclose(series[name], expected)
    trials = em.Series([frame[:150], frame[150:]], missing=f"interpolate:{longest}")
    assert trials.lengths == (150, 150)
    assert np.isnan(trials["b"][100:107]).all() == (longest < 7)
