"""The profile over lags: against plain loops, and its test as the choice was made."""

import warnings

import numpy as np
import pytest

import enmesh as em
from enmesh.embedding import Embedding, Lags
from enmesh.measures import Transfers
from enmesh.significance import order_statistic
from enmesh.surrogates import stream_of
from tests import naive


def delayed(n=300, lag=4, seed=0):
    return em.simulate.var({"b": ["a"], "c": []}, n=n, lags={("a", "b"): lag}, seed=seed)


def states(n=300, seed=0):
    rng = np.random.default_rng([8, seed])
    a = rng.integers(0, 2, n)
    b = np.where(rng.random(n) < 0.8, np.roll(a, 3), rng.integers(0, 2, n))
    return em.Series(np.column_stack([a, b, rng.integers(0, 2, n)]), names="abc")


TWINS = {
    "gaussian": (em.Gaussian(), delayed, naive.gaussian_cmi),
    "discrete": (em.Discrete(), states, lambda *xyz: naive.discrete_local(*xyz).mean()),
    "ksg": (em.KSG(noise=0), delayed, lambda *xyz: naive.ksg_local(*xyz, 4).mean()),
}


@pytest.mark.parametrize("name", TWINS)
def test_equals_the_plain_loop(name):
    estimator, make, cmi = TWINS[name]
    series, max_lag, count, seed = make(90), 5, 19, 3
    profile = em.lag_profile(series, "a", "b", max_lag=max_lag, estimator=estimator, n_surrogates=count, seed=seed)
    transfers = Transfers(series, estimator, Lags.of(Embedding(), series.names, searched=max_lag))
    blocks = transfers.blocks
    plan = em.CircularShift().plan(
        blocks.take(blocks.choices(0)), np.empty((blocks.n, 0)), starts=blocks.starts, span=blocks.span
    )
    orders = plan(stream_of(seed, 1, (0,)), 0, count)
    values, null = naive.lag_profile(blocks.values.T, 0, 1, max_lag, cmi, orders)
    np.testing.assert_allclose(profile.te, values, atol=1e-9)
    np.testing.assert_allclose(profile.null, null, atol=1e-9)
    assert profile.best == 1 + values.argmax()
    reached = (null.max(axis=1) >= values.max()).sum()
    assert profile.p_value == (1 + reached) / (1 + count)
    assert profile.threshold == pytest.approx(order_statistic(null.max(axis=1), 0.95), abs=1e-9)
    np.testing.assert_allclose(profile.high, [order_statistic(column, 0.95) for column in null.T], atol=1e-9)
    np.testing.assert_allclose(profile.low, [order_statistic(column, 0.05) for column in null.T], atol=1e-9)


@pytest.mark.parametrize(
    ("estimator", "count"),
    [(em.Gaussian(), 0), (em.Gaussian(), 59), (em.Discrete(), 0), (em.Discrete(), 59), (em.KSG(), 59)],
)
def test_is_the_test_of_the_best_lag(estimator, count):
    series = states() if estimator.discrete else delayed()
    asked = {"given": "c", "estimator": estimator, "max_lag": 6, "n_surrogates": count, "seed": 2}
    profile, test = em.lag_profile(series, "a", "b", **asked), em.significance(series, "a", "b", **asked)
    assert (profile.best, profile.p_value) == (test.lag, test.p_value)
    assert profile.te.max() == test.value
    assert profile.lags == (1, 2, 3, 4, 5, 6)
    assert profile.best == (3 if estimator.discrete else 4)
    assert profile.table.significant[profile.best]
    assert (profile.table.te > profile.threshold).tolist() == profile.table.significant.tolist()


def test_values_are_transfer_entropies_at_single_lags():
    series = delayed()
    profile = em.lag_profile(
        series, "a", "b", max_lag=5, estimator=em.Gaussian(), embedding=em.Embedding(dim=2), n_surrogates=0
    )
    for lag, value in zip(profile.lags, profile.te):
        cut = em.Series(series.values[5 - max(lag, 2) :], names=series.names)  # on the same samples
        pasts = em.Lags({("a", "b"): (lag,), ("b", "b"): (1, 2)})
        assert value == pytest.approx(em.transfer_entropy(cut, "a", "b", estimator=em.Gaussian(), embedding=pasts))


def test_analytic_threshold_divides_the_level():
    from scipy.stats import chi2

    profile = em.lag_profile(delayed(), "a", "b", max_lag=10, estimator=em.Gaussian(), n_surrogates=0)
    n = 300 - 10
    assert profile.threshold == pytest.approx(chi2.isf(0.05 / 10, 1) / (2 * n))
    np.testing.assert_allclose(profile.high, chi2.isf(0.05, 1) / (2 * n))
    np.testing.assert_allclose(profile.low, chi2.ppf(0.05, 1) / (2 * n))
    assert profile.null.shape == (0, 10)
    assert "analytic" in repr(profile)


def test_trials_and_missing_values():
    trials = em.Series([delayed(200, seed=s).values for s in range(3)], names="abc")
    assert em.lag_profile(trials, "a", "b", max_lag=6, estimator=em.Gaussian()).best == 4
    holes = delayed(400).values.copy()
    holes[[50, 120], 0] = np.nan
    series = em.Series(holes, names="abc", missing="drop")
    with pytest.warns(em.HazardWarning, match="missing or masked values"):
        profile = em.lag_profile(series, "a", "b", max_lag=6, estimator=em.Gaussian())
    assert profile.best == 4


def test_draws_itself(tmp_path):
    profile = em.lag_profile(delayed(), "a", "b", max_lag=6, given="c", estimator=em.Gaussian())
    drawn = profile.plot(tmp_path / "lags.png")
    assert (tmp_path / "lags.png").stat().st_size > 5000
    assert "a → b given c" in drawn.get_title("left")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"max_lag": 0}, "max_lag=0"),
        ({"n_surrogates": 9}, "9 surrogates are too few for a band; give at least 19"),
        ({"n_surrogates": 0, "estimator": em.KSG()}, "no known null distribution"),
        ({"given": "a"}, "both source and given"),
        ({"max_lag": 400}, "max_lag=400 is too large for 300 samples; give at most 75"),
    ],
)
def test_bad_input_is_refused_with_advice(more, said):
    with pytest.raises(em.InputError, match=said):
        em.lag_profile(delayed(), "a", "b", **({"max_lag": 5} | more))


def test_several_sources_are_refused():
    with pytest.raises(em.InputError, match="one source"):
        em.lag_profile(delayed(), ["a", "c"], "b", max_lag=5)


def test_too_many_lags_for_one_short_series_are_warned_of():
    with pytest.warns(
        em.HazardWarning,
        match="20 lags for 280 samples: p-values under 0.1 may be too small; use a max_lag of at most 5",
    ):
        em.significance(delayed(300), "a", "b", max_lag=20, estimator=em.Gaussian(), n_surrogates=99)
    trials = em.Series([delayed(400, seed=s).values for s in range(3)], names="abc")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        em.significance(trials, "a", "b", max_lag=20, estimator=em.Gaussian())
        em.significance(delayed(1000), "a", "b", max_lag=5, estimator=em.Gaussian())
