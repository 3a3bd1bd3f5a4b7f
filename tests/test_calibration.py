"""Error rates are what they say: simulation of what the defaults promise (docs/calibration.md has the whole table)."""

import numpy as np
import pytest
from benchmarks import calibration
from scipy.stats import chi2, f

import enmesh as em

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")]


def assert_as_often_as_asked(make_score, n, repeats, level=lambda alpha, n: 1 - alpha, **options):
    rates = calibration.rates_kept(make_score, n, repeats, n_jobs=1, **options)
    for alpha, (rate, error) in zip(calibration.ALPHAS, rates):
        assert rate == pytest.approx(level(alpha, n), abs=2 * error)


def one_row(name, n):
    """As often repeated as in docs/calibration.md with 300 samples, a quarter of it with 1,000, which cost more."""
    make_score, repeats = calibration.SCORES[name]
    return make_score, n, repeats if n == 300 else repeats // 4


def level_of_chi_square(alpha, n):
    """Return how often 2 N T of one coefficient, given two and a constant, is over its chi-square quantile: by F."""
    return f.sf((n - 4) * np.expm1(chi2.ppf(alpha, 1) / n), 1, n - 4)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize("name", ["TEE sequential, Gaussian", "TEE sequential, KSG"])
def test_a_spurious_second_parent_is_kept_as_often_as_asked(name, n):
    assert_as_often_as_asked(*one_row(name, n))


@pytest.mark.parametrize("n", [300, 1000])
def test_chi_square_keeps_it_as_often_as_the_f_distribution_says(n):
    assert_as_often_as_asked(*one_row("TEA sum, Gaussian", n), level=level_of_chi_square)


@pytest.mark.parametrize("n", [300, 1000])
@pytest.mark.parametrize(("estimator", "repeats"), [(em.Gaussian(), 600), (em.KSG(), 200)])
def test_and_so_it_is_with_fewer_surrogates_and_other_seeds(estimator, repeats, n):
    make_score = calibration.tee(estimator, "sequential", n_surrogates=99)
    assert_as_often_as_asked(make_score, n, repeats, first_seed=0)


@pytest.mark.parametrize("name", calibration.MEMBERS)
def test_every_estimator_keeps_its_level(name):
    """A quarter of the repetitions of docs/calibration.md, hence three standard errors: 68 rates are looked at."""
    member = calibration.MEMBERS[name]
    repeats = member.repeats // 4
    rates = calibration.rates_kept(member.score(), 300, repeats, n_jobs=1, data=member.data)
    for alpha, (rate, error) in zip(calibration.ALPHAS, rates):
        assert rate == pytest.approx(1 - alpha, abs=3 * error)
    rate = calibration.single_rate(member, 300, repeats, n_jobs=1)
    assert rate == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / repeats))


@pytest.mark.parametrize(
    ("name", "max_lag", "n", "repeats"),
    [
        ("TEE sequential, Gaussian", 5, 300, 600),
        ("TEE sequential, Gaussian", 20, 1000, 300),
        ("TEE sequential, KSG", 5, 300, 150),
    ],
)
def test_and_so_it_is_where_lags_are_searched(name, max_lag, n, repeats):
    """Given some N / L independent shifts for every level: 300 samples and 20 lags are too few for .01."""
    assert_as_often_as_asked(calibration.SCORES[name][0], n, repeats, max_lag=max_lag)


@pytest.mark.parametrize(("name", "max_lag"), [("TEA sum, Gaussian", 5), ("TEA sum, Gaussian, F null", 20)])
def test_the_divided_level_keeps_it_no_more_often(name, max_lag):
    rates = calibration.rates_kept(calibration.SCORES[name][0], 300, 2000, n_jobs=1, max_lag=max_lag)
    for alpha, (rate, error) in zip(calibration.ALPHAS, rates):
        assert rate <= 1 - alpha + 2 * error
    assert rates[0][0] > 0.02  # it may be careful, not dead


@pytest.mark.parametrize("given", [(), "c"])
@pytest.mark.parametrize("max_lag", calibration.LAGS)
@pytest.mark.parametrize(
    ("name", "repeats"), [("Gaussian, shifts", 400), ("Discrete, shifts", 400), ("KSG, shifts", 150)]
)
def test_p_values_of_the_best_of_several_lags_are_uniform(name, repeats, max_lag, given):
    from scipy.stats import kstest

    p_values = calibration.best_lag_p_values(name, max_lag, given, repeats, 1, count=39)
    assert kstest(p_values, "uniform").pvalue > 0.001
    assert 0.1 - 4 * np.sqrt(0.09 / repeats) < (p_values <= 0.1).mean() < 0.1 + 4 * np.sqrt(0.09 / repeats)


@pytest.mark.parametrize("max_lag", calibration.LAGS)
@pytest.mark.parametrize("name", ["Gaussian, chi-square", "Discrete, chi-square"])
def test_p_values_of_the_divided_level_are_never_too_small(name, max_lag):
    p_values = calibration.best_lag_p_values(name, max_lag, (), 1000, 1)
    for level in (0.1, 0.05, 0.01):
        assert (p_values <= level).mean() <= level + 3 * np.sqrt(level * (1 - level) / 1000)
    assert (p_values <= 0.1).mean() > 0.02


@pytest.mark.parametrize("name", ["TEA collective, Gaussian", "TEE collective, Gaussian"])
def test_the_collective_forms_keep_it_too_often(name):
    rate, error = calibration.rates_kept(calibration.SCORES[name][0], 300, 300, n_jobs=1)[-1]
    assert rate > 0.01 + 5 * error


@pytest.mark.parametrize("coefficient", [0.5, 0.95])
def test_circular_shift_is_near_nominal(coefficient):
    rate = calibration.false_positive_rate("Gaussian", "CircularShift", coefficient, 600, 1)
    assert rate == pytest.approx(0.05, abs=3 * np.sqrt(0.05 * 0.95 / 600))


def test_permutation_is_inflated_by_autocorrelation():
    assert calibration.false_positive_rate("KSG", "Permute", 0.95, 200, 1) > 0.1
    assert calibration.false_positive_rate("KSG", "CircularShift", 0.95, 200, 1) < 0.1


def test_analytic_p_values_are_uniform_for_white_series():
    from scipy.stats import kstest

    p_values = []
    for seed in range(400):
        series = em.Series(np.random.default_rng([5, seed]).normal(size=(300, 2)))
        p_values.append(em.significance(series, 0, 1, estimator=em.Gaussian(), n_surrogates=0).p_value)
    assert kstest(p_values, "uniform").pvalue > 0.001
