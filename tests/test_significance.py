import warnings

import numpy as np
import pytest
from scipy.stats import false_discovery_control, kstest

import enmesh as em
from enmesh.options import option
from enmesh.significance import fitted_p, least_surrogates, order_statistic, q_values, sampled
from enmesh.tasks import run
from tests import naive


def coupled(n=300, seed=0):
    rng = np.random.default_rng(seed)
    values = np.zeros((n, 3))
    for t in range(1, n):
        values[t] = 0.5 * values[t - 1] + rng.normal(size=3)
        values[t, 1] += 0.6 * values[t - 1, 0]
    return em.Series(values, names="abc")


def test_value_p_value_and_null():
    test = em.significance(coupled(), "a", "b", estimator=em.Gaussian(), n_surrogates=99, seed=3)
    assert test.value == em.transfer_entropy(coupled(), "a", "b", estimator=em.Gaussian())
    assert test.null.shape == (99,)
    assert test.p_value == 1 / 100
    assert test.corrected == pytest.approx(test.value - test.null.mean())
    assert test.quantile(0.95) == np.sort(test.null)[94]
    none = em.significance(coupled(), "c", "b", estimator=em.Gaussian(), n_surrogates=99, seed=3)
    assert none.p_value == (1 + (none.null >= none.value).sum()) / 100
    assert none.p_value > 0.05


class Normal:
    """Surrogates that are drawn from a normal distribution."""

    questions, distinct = 1, None

    def __init__(self, seed):
        self.rng, self.asked = np.random.default_rng(seed), 0

    def ask(self, first, count, itself=False):
        self.asked += count
        return lambda: self.rng.normal(size=count)


def test_what_is_clear_has_few_surrogates():
    clear, doubtful, none = Normal(0), Normal(0), Normal(0)
    test = run(sampled(clear, 999, 20.0, 0.01, 1e-4))
    assert clear.asked == len(test.null) < 100
    assert 0 < test.p_value < 1e-4
    test = run(sampled(doubtful, 999, 3.5, 0.01, 1e-6))
    assert doubtful.asked == 999
    assert test.p_value == (1 + (test.null >= 3.5).sum()) / 1000
    assert len(run(sampled(none, 999, 20.0, 0.01)).null) == 999


def test_what_a_surrogate_reaches_is_not_clear():
    """A null distribution with heavy tails: the normal one that fits it says less than its largest value."""

    class Heavy(Normal):
        def ask(self, first, count, itself=False):
            drawn = super().ask(first, count)()
            drawn[0] += 30.0 * (first == 0)
            return lambda: drawn

    heavy = Heavy(0)
    test = run(sampled(heavy, 999, 25.0, 0.01, 0.01))
    assert heavy.asked == 999
    assert test.p_value == 2 / 1000


def test_the_p_value_of_a_normal_null_is_uniform():
    """Of 15 surrogates, whose mean and spread are not known; the normal quantile would reject too often."""
    null = np.random.default_rng(1).normal(size=(4000, 16))
    p_values = [fitted_p(row[0], row[1:]) for row in null]
    assert kstest(p_values, "uniform").pvalue > 0.01
    assert np.mean(np.array(p_values) < 0.01) == pytest.approx(0.01, abs=0.005)


def test_repeated_shifts_make_no_p_value_smaller():
    series, shift = coupled(60), em.CircularShift(min_shift=25)
    with pytest.warns(em.HazardWarning, match="only 10 circular shifts are possible, not 199"):
        test = em.significance(series, "a", "b", estimator=em.Gaussian(), surrogate=shift)
    assert len(test.null) == 10
    assert test.p_value >= 1 / 11


def test_collective_and_conditional_tests():
    given = dict(estimator=em.Gaussian(), n_surrogates=49)
    both = em.significance(coupled(), ["a", "c"], "b", **given)
    swapped = em.significance(coupled(), ["c", "a"], "b", **given)
    assert both.value == pytest.approx(em.transfer_entropy(coupled(), ["a", "c"], "b", estimator=em.Gaussian()))
    np.testing.assert_array_equal(both.null, swapped.null)
    assert em.significance(coupled(), "a", "b", given="c", **given).p_value == 0.02


def test_seed_decides_and_nothing_else():
    first = em.significance(coupled(), "a", "b", n_surrogates=19, seed=1)
    em.significance(coupled(), "c", "b", n_surrogates=19, seed=5)
    again = em.significance(coupled(), "a", "b", n_surrogates=19, seed=1)
    other = em.significance(coupled(), "a", "b", n_surrogates=19, seed=2)
    np.testing.assert_array_equal(first.null, again.null)
    assert (first.null != other.null).any()


def test_analytic_test_is_chi_square():
    test = em.significance(coupled(), "c", "b", estimator=em.Gaussian(), embedding=em.Embedding(dim=2), n_surrogates=0)
    from scipy.stats import chi2

    assert test.p_value == pytest.approx(chi2.sf(2 * 298 * test.value, 2))
    assert test.null_mean == pytest.approx(2 / (2 * 298))
    with pytest.raises(
        em.InputError, match="KSG has no known null distribution; use TEE, which finds it by surrogates"
    ):
        em.significance(coupled(), "c", "b", n_surrogates=0)


def test_order_statistic_with_the_papers_counts():
    null = np.random.default_rng(0).normal(size=100)
    assert order_statistic(null, 0.07) == np.sort(null)[6]
    assert order_statistic(null[:9], 0.9) == null[:9].max()
    assert order_statistic(null, 0.0) == 0.0
    for alpha in (0.07, 0.29, 0.5, 0.9, 0.95, 0.99):
        assert order_statistic(null, alpha) == naive.quantile(null, alpha)
    assert [least_surrogates(a) for a in (0.0, 0.5, 0.9, 0.95, 0.99)] == [0, 1, 9, 19, 99]


def test_q_values_are_benjamini_hochberg():
    p = np.random.default_rng(0).random(20) ** 3
    ranked = np.sort(p) * 20 / np.arange(1, 21)
    steps = np.minimum.accumulate(ranked[::-1])[::-1]
    np.testing.assert_allclose(np.sort(q_values(p)), np.minimum(steps, 1))
    np.testing.assert_allclose(q_values(p), false_discovery_control(p))


def test_matrix_rows_drive_columns():
    matrix = em.te_matrix(coupled(), estimator=em.Gaussian())
    assert matrix.te.loc["a", "b"] == em.transfer_entropy(coupled(), "a", "b", estimator=em.Gaussian())
    assert np.isnan(np.diag(matrix.te)).all()
    assert matrix.p_value.loc["a", "b"] < 0.001
    assert matrix.p_value.loc["b", "a"] > 0.01
    conditional = em.te_matrix(coupled(), estimator=em.Gaussian(), conditional=True)
    assert conditional.te.loc["a", "b"] == em.transfer_entropy(coupled(), "a", "b", given="c", estimator=em.Gaussian())
    plain = em.te_matrix(coupled(120), estimator=em.KSG())
    assert plain.p_value.isna().to_numpy().all()


def test_too_few_surrogates_for_the_correction_are_warned_of():
    said = (
        r"19 surrogates: the smallest q-value that is possible is 0\.3, for a single link among 6; "
        r"119 are needed for 0\.05"
    )
    with pytest.warns(em.HazardWarning, match=said):
        em.te_matrix(coupled(120), estimator=em.Gaussian(), n_surrogates=19)


@pytest.mark.parametrize("count", [-1, 1.5, "many", True])
def test_impossible_counts_are_refused(count):
    with pytest.raises(em.InputError, match=r"n_surrogates=.* is not possible; give a whole number of at least 0"):
        em.significance(coupled(), "a", "b", n_surrogates=count)


# --- calibration: p-values of independent series are uniform ------------------------------------------------------

ESTIMATORS = {
    "gaussian": em.Gaussian(),
    "discrete": em.Discrete(),
    "kernel": em.Kernel(width=0.8),
    "ksg1": em.KSG(),
    "ksg2": em.KSG(algorithm=2),
    "ksg-rank": em.KSG(normalise="rank"),
}
SURROGATES = {
    "permute": em.Permute(),
    "bootstrap": em.Bootstrap(),
    "shift": em.CircularShift(),
    "local": em.LocalPermute(),
}
LINKS = {"single": ("b", ()), "conditional": ("b", ("c",)), "collective": (["b", "c"], ())}


def independent_p_values(estimator, surrogate, link, repeats, n=100, count=39):
    source, given = LINKS[link]
    found = []
    for repeat in range(repeats):
        rng = np.random.default_rng([17, repeat])
        values = rng.integers(0, 2, (n, 3)) if estimator.discrete else rng.normal(size=(n, 3))
        series = em.Series(values, names="abc")
        test = em.significance(
            series, source, "a", given=given, estimator=estimator, surrogate=surrogate, n_surrogates=count, seed=repeat
        )
        # Uniform on the grid 1/40 .. 1; ties (discrete) are broken at random to make it continuous.
        above, equal = (test.null > test.value).sum(), (test.null == test.value).sum()
        found.append((above + rng.random() * (1 + equal)) / (count + 1))
    return np.array(found)


def check_uniform(p_values):
    """Neither a test that always fires nor one that does nothing passes."""
    assert kstest(p_values, "uniform").pvalue > 0.001
    assert 0.02 < (p_values <= 0.1).mean() < 0.22


@pytest.mark.parametrize("surrogate", SURROGATES)
def test_p_values_are_uniform_quick(surrogate):
    check_uniform(independent_p_values(em.Gaussian(), SURROGATES[surrogate], "single", 150))


@pytest.mark.slow
@pytest.mark.parametrize("link", LINKS)
@pytest.mark.parametrize("surrogate", SURROGATES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_p_values_are_uniform(estimator, surrogate, link):
    check_uniform(independent_p_values(ESTIMATORS[estimator], SURROGATES[surrogate], link, 300))


def test_the_uniformity_check_can_fail():
    with pytest.raises(AssertionError):
        check_uniform(np.full(300, 1.0))
    with pytest.raises(AssertionError):
        check_uniform(np.random.default_rng(0).random(300) ** 2)
    with pytest.raises(AssertionError):
        check_uniform(np.zeros(300))


# --- faults of new users ----------------------------------------------------------------------------------------------


def test_a7_the_best_of_many_lags_of_a_short_record_is_no_surprise():
    p = []
    for seed in range(60):
        values = np.random.default_rng([7, seed]).normal(size=(60, 2))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            profile = em.lag_profile(
                em.Series(values, names="ab"), "a", "b", max_lag=20, estimator=em.Gaussian(), n_surrogates=0
            )
        p.append(profile.p_value)
    assert np.mean(np.array(p) <= 0.05) <= 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 60)


@option
class _Nothing(em.Gaussian):
    """Gives no number, as an estimator of one's own may by mistake."""

    cli_name = ""
    analytic = False

    def _prepare(self, y, z, times):
        prepared = super()._prepare(y, z, times)
        prepared._cmi = lambda x: np.full(len(x), np.nan)
        return prepared

    def joint(self, blocks):
        return None


def test_a8_what_is_not_a_number_is_refused():
    for ask in (
        lambda: em.significance(coupled(), "a", "b", estimator=_Nothing(), n_surrogates=19),
        lambda: em.te_matrix(coupled(), estimator=_Nothing(), n_surrogates=19),
    ):
        with pytest.raises(em.InputError, match="finite number"):
            ask()


def _sparse(seed, n, states=6):
    """Two uncoupled chains of many states, with few samples for each joint state."""
    rng = np.random.default_rng([31, seed])
    tables = rng.dirichlet(np.full(states, 3.0), size=(2, states)).cumsum(-1)
    x = np.zeros((n, 2), int)
    for t in range(1, n):
        for i in range(2):
            x[t, i] = (rng.random() > tables[i, x[t - 1, i]]).sum() % states
    return em.Series(x)


def test_few_samples_for_each_joint_state_are_tested_by_permutations():
    series = _sparse(0, 300)
    test = em.significance(series, 0, 1, estimator=em.Discrete(), n_surrogates=0)
    assert len(test.null) == 999
    assert test.null_mean == pytest.approx(test.null.mean())
    again = em.significance(series, 0, 1, estimator=em.Discrete(), n_surrogates=0)
    assert again.p_value == test.p_value
    dense = em.significance(_sparse(0, 2000, 2), 0, 1, estimator=em.Discrete(), n_surrogates=0)
    assert not len(dense.null)


@pytest.mark.slow
def test_p_values_of_sparse_states_are_uniform():
    from scipy.stats import kstest

    asked = {"estimator": em.Discrete(), "n_surrogates": 0}
    found = [em.significance(_sparse(seed, 300), 0, 1, **asked).p_value for seed in range(1, 201)]
    assert kstest(found, "uniform").pvalue > 0.001
    assert np.mean(np.array(found) <= 0.05) < 0.05 + 3 * np.sqrt(0.05 * 0.95 / 200)
