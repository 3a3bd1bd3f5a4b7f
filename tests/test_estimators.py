"""One battery over all estimators: naive equality, closed forms, batches, symmetry; then each one's own."""

import warnings

import numpy as np
import pytest
from benchmarks import residuals
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.estimators import Estimator
from enmesh.estimators.features import FREQUENCIES
from enmesh.estimators.ordinal import patterns
from enmesh.estimators.residuals import Residuals
from enmesh.methods import help_of, members
from enmesh.options import brief, describe
from tests import naive
from tests.batteries import battery_of, conditioned, draw_blocks, equals_its_twin
from tests.marks import rest_slow

# One line per estimator: its values, sample by sample, from the definition.
TWINS = {
    em.Gaussian: lambda e, x, y, z, t: naive.gaussian_local(x, y, z),
    em.Discrete: lambda e, x, y, z, t: naive.corrected_local(x, y, z, e.correction),
    em.Kernel: lambda e, x, y, z, t: naive.kernel_local(x, y, z, e.width, t, e.theiler),
    em.KSG: lambda e, x, y, z, t: naive.ksg_local(
        *(naive.residual(e.residual, z, block) for block in (x, y)),
        z,
        e.neighbours(*z.shape),
        e.algorithm,
        t,
        e.theiler,
    ),
    em.Mixed: lambda e, x, y, z, t: naive.mixed_local(x, y, z, e.k),
    em.Ordinal: lambda e, x, y, z, t: naive.discrete_local(x, y, z),
    em.Regression: lambda e, x, y, z, t: naive.regression_local(
        x, y, z, e.features, FREQUENCIES if e.features == "fourier" else (), 1e-9 * (e.features != "linear"), e.targets
    ),
}
VARIANTS = [
    em.Gaussian(),
    em.Gaussian(normalise="rank"),
    em.Discrete(),
    em.Discrete(correction="miller-madow"),
    em.Discrete(correction="grassberger"),
    em.Kernel(width=0.7),
    em.Kernel(width=0.7, theiler=3),
    em.KSG(),
    em.KSG(k=3, algorithm=2),
    em.KSG(k=2, theiler=4),
    em.KSG(algorithm=2, theiler=2),
    em.KSG(normalise="rank"),
    em.KSG(residual="linear"),
    em.KSG(residual="quadratic"),
    em.KSG(residual="features"),
    em.Mixed(k=3),
    em.Ordinal(),
    em.Ordinal(order=2, delay=2),
    em.Regression("linear"),
    em.Regression(),
    em.Regression(normalise="zscore"),
    em.Regression("fourier", normalise="rank"),
    em.Regression("basis"),
    em.Regression("basis", responses=1),
]
BATTERY = {brief(estimator): (estimator, TWINS[type(estimator)]) for estimator in VARIANTS}
battery = pytest.mark.parametrize("name", BATTERY)


def test_every_estimator_has_a_naive_twin_and_joins_the_battery():
    assert set(TWINS) == {type(estimator) for estimator in VARIANTS} == set(members(Estimator).values())


@battery
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 1), (2, 1, 3), (1, 2, 2), (3, 2, 0)])
@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_equals_the_naive_twin(name, dims, ties):
    equals_its_twin(*BATTERY[name], dims, ties)


@battery
@pytest.mark.parametrize("check", battery_of("estimator"), ids=lambda check: check.__name__)
def test_battery(name, check):
    check(BATTERY[name][0])


@settings(max_examples=40)
@given(st.integers(0, 10**6), st.tuples(st.integers(1, 2), st.integers(1, 2), st.integers(0, 2)))
def test_chain_rule_of_plug_in_estimators(seed, dims):
    """I(x, w ; y | z) = I(x ; y | z) + I(w ; y | x, z)."""
    plug_in = em.Gaussian(), em.Discrete(), em.Regression(), em.Regression("fourier"), em.Regression("basis")
    for estimator in plug_in:
        x, y, z, w = conditioned(estimator, *draw_blocks(estimator, (*dims, 1), n=200, seed=seed))
        z, xz = z.astype(y.dtype), np.column_stack([x, z]).astype(y.dtype)
        both = estimator.prepare(y, z).cmi(np.column_stack([x, w]))
        assert both == pytest.approx(estimator.prepare(y, z).cmi(x) + estimator.prepare(y, xz).cmi(w), abs=1e-10)
        assert both > estimator.prepare(y, z).cmi(x) - 1e-12  # monotone


ENTROPIES = {
    "gaussian": (em.Gaussian(), naive.gaussian_entropy),
    "regression": (em.Regression(normalise="zscore"), naive.gaussian_entropy),
    "gaussian-rank": (em.Gaussian(normalise="rank"), lambda x: naive.copula_entropy(x, 4)),
    "discrete": (em.Discrete(), naive.discrete_entropy),
    **{
        f"discrete-{c}": (em.Discrete(correction=c), lambda x, c=c: naive.corrected_entropy(x, c))
        for c in ("miller-madow", "grassberger")
    },
    "kernel": (em.Kernel(width=0.4), lambda x: naive.box_entropy(x, 0.4)),
    "ksg": (em.KSG(noise=0), lambda x: naive.kl_entropy(x, 4)),
}


@pytest.mark.parametrize("name", ENTROPIES)
@pytest.mark.parametrize("d", [1, 2])
def test_entropy_equals_the_naive_twin(name, d):
    estimator, twin = ENTROPIES[name]
    (x,) = draw_blocks(estimator, (d,), n=150)
    x = x * 3 if estimator.discrete else x * [3.0, 0.2][:d]
    close = 1e-6 if name == "gaussian-rank" else 1e-10  # its columns' entropies are told with noise of 1e-8
    assert estimator.entropy(x) == pytest.approx(twin(x), abs=close)
    assert estimator.entropy(x, local=True).mean() == pytest.approx(twin(x), abs=close)


@pytest.mark.parametrize("name", ["gaussian", "gaussian-rank", "kernel", "ksg"])
def test_entropy_of_a_scaled_normal_is_in_the_units_of_the_data(name):
    estimator, _ = ENTROPIES[name]
    x = 5 * np.random.default_rng(4).normal(size=4000)
    assert estimator.entropy(x) == pytest.approx(np.log(5) + np.log(2 * np.pi * np.e) / 2, abs=0.06)


# --- Gaussian: near-singular covariance --------------------------------------------------------------------


def test_gaussian_leaves_out_a_redundant_source_and_says_so():
    x, y, z = draw_blocks(em.Gaussian(), (1, 1, 1))
    twice = np.column_stack([x, 2 * x + z])
    prepared = em.Gaussian().prepare(y, z)
    with pytest.warns(em.HazardWarning, match="near-singular covariance: 1 of 2 source directions"):
        value = prepared.cmi(twice)
    assert value == pytest.approx(prepared.cmi(x), abs=1e-8)


def test_gaussian_survives_redundant_conditions_and_large_offsets():
    x, y, z = draw_blocks(em.Gaussian(), (1, 1, 1))
    value = em.cmi(x, y, z, estimator=em.Gaussian())
    assert em.cmi(x, y, np.column_stack([z, z, -z]), estimator=em.Gaussian()) == pytest.approx(value, abs=1e-10)
    assert em.cmi(x + 1e7, y - 1e7, z + 1e7, estimator=em.Gaussian()) == pytest.approx(value, abs=1e-7)


def test_gaussian_refuses_the_infinite():
    x, y, z = draw_blocks(em.Gaussian(), (1, 1, 1))
    with pytest.raises(em.InputError, match="the target is a linear function of source and past"):
        em.cmi(y + z, y, z, estimator=em.Gaussian())
    with pytest.raises(em.InputError, match="the target is a linear function of its past"):
        em.cmi(x, 2 * z, z, estimator=em.Gaussian())
    with pytest.raises(em.InputError, match="too few samples: 4 for a Gaussian of 3 variables; at least 5 are needed"):
        em.cmi(x[:4], y[:4], z[:4], estimator=em.Gaussian())


# --- Gaussian copula -----------------------------------------------------------------------------------------


def test_a_copula_is_unmoved_by_monotone_transforms():
    x, y, z = draw_blocks(em.Gaussian(), (1, 1, 2), n=200)
    rank = em.Gaussian(normalise="rank")
    value = em.cmi(x, y, z, estimator=rank)
    assert em.cmi(np.exp(5 * x), y**3, np.arctan(z), estimator=rank) == value
    assert em.cmi(np.exp(5 * x), y**3, z, estimator=em.Gaussian()) != pytest.approx(value, abs=0.01)


def test_a_copula_keeps_its_level_and_finds_more_with_heavy_tails():
    """Student's t with 1.5 degrees: 2 N I against chi-square with one degree of freedom, at 5 %."""
    rng = np.random.default_rng(14)
    estimators = em.Gaussian(), em.Gaussian(normalise="rank")
    found = np.zeros((2, 2))
    draws, n = 400, 200
    for _ in range(draws):
        x, z, e = rng.standard_t(1.5, size=(3, n))
        for link in (0, 1):
            y = 0.5 * z + link * 0.15 * x + e
            for which, estimator in enumerate(estimators):
                found[link, which] += 2 * n * em.cmi(x, y, z, estimator=estimator) > 3.841
    false, true = found / draws
    assert abs(false[1] - 0.05) < 2.5 * np.sqrt(0.05 * 0.95 / draws)
    assert true[1] > true[0] + 0.1


# --- KSG: residuals -----------------------------------------------------------------------------------------

KINDS_OF_RESIDUAL = ("linear", "quadratic", "features")


@pytest.mark.parametrize("data", residuals.DATA)
@pytest.mark.parametrize(
    ("n", "k", "much", "draws"),
    [
        (500, None, 0.5, 50),
        *(
            pytest.param(n, k, much, 200, marks=pytest.mark.slow)
            for n, k, much in ((500, None, 0.5), (500, 7, 0.5), (2000, None, 0.35), (2000, 7, 0.35))
        ),
    ],
)
def test_residuals_see_innovations_that_the_past_hides(data, n, k, much, draws):
    """The error is that of innovations seen bare, or less; bias and error are far below those of plain neighbours.

    Plain neighbours are right by chance in half of the data sets of one column that goes either way: there their error
    is no yardstick. The map needs features: its second iterate is no parabola.
    """
    kinds = ("features",) if data.startswith("logistic") else KINDS_OF_RESIDUAL
    plain, *others = (residuals.errors(data, n, kind, k, draws) for kind in ("none", *kinds))
    usual = k or em.KSG(residual="linear").neighbours(n, 1)
    bare = residuals.errors("no z", n, "none", usual, draws)
    for less in others:
        assert less.error <= 1.1 * bare.error
        assert abs(less.bias) <= abs(plain.bias) / 5
        assert data.endswith("either way") or less.error <= much * plain.error


@pytest.mark.parametrize("draws", rest_slow([100, 400]))
def test_residuals_do_no_harm_under_an_independent_past(draws):
    errors = {kind: residuals.errors("independent z", 500, kind, None, draws) for kind in ("none", *KINDS_OF_RESIDUAL)}
    plain = errors.pop("none")
    assert all(less.error <= plain.error + plain.standard_error for less in errors.values())


@pytest.mark.parametrize("residual", KINDS_OF_RESIDUAL)
def test_residuals_without_a_condition_change_no_bit(residual):
    x, y = draw_blocks(em.KSG(), (2, 1))
    assert em.cmi(x, y, estimator=em.KSG(residual=residual)) == em.cmi(x, y)


def test_residuals_have_more_neighbours_where_samples_are_many():
    usual, residual = em.KSG(), em.KSG(residual="linear")
    assert usual == em.KSG(k=4)
    assert usual.neighbours(2000, 1) == 4
    assert [residual.neighbours(n, 1) for n in (10, 500, 1000, 2000, 10**6)] == [4, 4, 6, 9, 10]
    assert residual.neighbours(2000, 0) == 4
    x, y, z = np.random.default_rng(0).normal(size=(3, 2000))
    assert em.cmi(x, y, z, estimator=residual) == em.cmi(x, y, z, estimator=em.KSG(k=9, residual="linear"))


@pytest.mark.parametrize("residual", KINDS_OF_RESIDUAL)
def test_residuals_are_safe_with_awkward_conditions(residual):
    rng = np.random.default_rng(12)
    z = rng.normal(size=(200, 2))
    x = rng.normal(size=(3, 200, 2)) + z[:, :1]
    plain = Residuals(residual, z)
    assert plain.basis.shape[1] <= 20
    np.testing.assert_allclose(plain.basis.T @ plain.basis, np.eye(plain.basis.shape[1]), atol=1e-12)
    np.testing.assert_allclose(plain.basis.T @ plain(x), 0, atol=1e-10)
    np.testing.assert_allclose(plain(x).std(axis=1), 1)
    constant = Residuals(residual, np.zeros((200, 3)))
    np.testing.assert_allclose(constant(x), (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True))
    for few in (6, 12, 40):
        assert np.isfinite(em.cmi(x[0, :few], x[1, :few], z[:few], estimator=em.KSG(residual=residual)))
    if residual != "features":  # which depend on the number of columns
        again = Residuals(residual, np.column_stack([z, 2 * z[:, 0] - z[:, 1] + 3, np.full(200, 7.0)]))
        np.testing.assert_allclose(again(x), plain(x), atol=1e-10)


def test_residuals_of_what_the_condition_determines_are_not_blown_up():
    z = np.random.default_rng(13).normal(size=(100, 1))
    assert np.abs(Residuals("linear", z)(3 * z + 1)).max() < 1e-12
    assert np.abs(Residuals("linear", z)(np.full((100, 1), 0.1))).max() < 1e-12


# --- Mixed: states beside numbers --------------------------------------------------------------------------------


def pairs_of_signs(rng, n):
    """Signs that agree with probability .8."""
    drawn = rng.choice(4, p=[0.4, 0.4, 0.1, 0.1], size=n)
    return np.array([1, -1, 1, -1])[drawn], np.array([1, -1, -1, 1])[drawn]


def normal_pairs(rng, n, correlation):
    return rng.multivariate_normal([0, 0], [[1, correlation], [correlation, 1]], n).T


def gao_mixture(rng, n):
    """Half normal with correlation .9, half +-1 that agree with probability .9 (experiment I)."""
    sign = rng.choice([-1.0, 1.0], n)
    states = np.stack([sign, np.where(rng.random(n) < 0.9, sign, -sign)])
    x, y = np.where(rng.random(n) < 0.5, normal_pairs(rng, n, 0.9), states)
    inside = (-np.log(1 - 0.81) / 2 + np.log(2) + 0.9 * np.log(0.9) + 0.1 * np.log(0.1)) / 2
    return x, y, None, np.log(2) + inside


def gao_uniform(rng, n):
    """A state out of 5 and a number within 2 above it (experiment II)."""
    x = rng.integers(0, 5, n)
    return x, x + rng.uniform(0, 2, n), None, np.log(5) - 4 / 5 * np.log(2)


def gao_counts(rng, n, lost=0.0):
    """Counts with a rate that is exponential (experiment IV), a share of them set to 0."""
    x = rng.exponential(1, n)
    y = np.where(rng.random(n) < lost, 0, rng.poisson(x))
    return x, y.astype(float), None, {0.0: 0.30124, 0.15: 0.22978}[lost]


def gao_counts_with_zeros(rng, n):
    """The truth is by quadrature: .85 x .3012 = .256 would be that of zeros that can be told from counted ones."""
    return gao_counts(rng, n, lost=0.15)


def mesner_numbers(rng, n):
    return *normal_pairs(rng, n, 0.8), rng.normal(size=n), -np.log(1 - 0.64) / 2


def mesner_states(rng, n):
    return *pairs_of_signs(rng, n), rng.binomial(3, 0.2, n), 0.8 * np.log(1.6) + 0.2 * np.log(0.4)


def mesner_free_numbers(rng, n):
    return *rng.normal(size=(3, n)), 0.0


def mesner_free_states(rng, n):
    return rng.binomial(3, 0.2, n), rng.poisson(2, n), rng.binomial(3, 0.2, n), 0.0


def mesner_numbers_given(rng, n):
    covariance = np.linalg.inv([[1, 0, 0.5], [0, 1, 0.5], [0.5, 0.5, 1]])
    return *rng.multivariate_normal(np.zeros(3), covariance, n).T, 0.0


def mesner_states_given(rng, n):
    z = rng.integers(1, 11, n)
    return rng.binomial(z, 0.5), rng.poisson(z), z, 0.0


def mesner_mixture(rng, n):
    """Half normal with correlation .8, half signs."""
    x, y = np.where(rng.random(n) < 0.5, normal_pairs(rng, n, 0.8), pairs_of_signs(rng, n))
    return x, y, rng.binomial(3, 0.2, n), 0.4 * np.log(3.2) + 0.1 * np.log(0.8) + np.log(4 / 0.36) / 8


def mesner_uniform(rng, n):
    x = rng.integers(0, 3, n)
    return x, x + rng.uniform(0, 2, n), rng.binomial(8, 0.5, n), np.log(3) - 2 / 3 * np.log(2)


def mesner_chain(rng, n):
    """A rate, a count of it, and a binomial share of the count: nothing goes past the count."""
    x = rng.exponential(10, n)
    z = rng.poisson(x)
    return x, rng.binomial(z, 0.5), z, 0.0


# How far the mean over ten draws of 1,000 samples may be from the truth: what was seen, and a little more.
GAO = {gao_mixture: 0.25, gao_uniform: 0.02, gao_counts: 0.02, gao_counts_with_zeros: 0.02}
MESNER = {
    mesner_numbers: 0.03,
    mesner_states: 0.02,
    mesner_free_numbers: 0.03,
    mesner_free_states: 0.02,
    mesner_numbers_given: 0.03,
    mesner_states_given: 0.02,
    mesner_mixture: 0.04,
    mesner_uniform: 0.05,
    mesner_chain: 0.04,
}


@pytest.mark.parametrize("example", GAO, ids=lambda example: example.__name__)
def test_mixed_gives_the_values_of_gao(example):
    """With their k = 5, and no farther from the truth than the program they published, on the same draws."""
    rng = np.random.default_rng(17)
    off = []
    for _ in range(10):
        x, y, _, truth = example(rng, 1000)
        published = naive.gao_program(np.asarray(x, float), y, 5)
        off.append(np.array([em.cmi(x, y, estimator=em.Mixed(k=5)), published]) - truth)
    ours, theirs = np.abs(np.mean(off, axis=0))
    assert ours < GAO[example]
    assert ours < theirs + 0.005


@pytest.mark.parametrize("example", MESNER, ids=lambda example: example.__name__)
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_mixed_gives_the_values_of_mesner_and_shalizi(example):
    """Their nine simulations with their k = 7 and 1,000 samples, integers as states."""
    rng = np.random.default_rng(17)
    off = []
    for _ in range(10):
        *blocks, truth = example(rng, 1000)
        off.append(em.cmi(*blocks, estimator=em.Mixed(k=7)) - truth)
    assert abs(np.mean(off)) < MESNER[example]


def test_mixed_of_states_alone_nears_counting_and_of_numbers_alone_ksg():
    rng = np.random.default_rng(18)
    x, z, flip = rng.integers(0, 2, 2000), rng.integers(0, 3, 2000), rng.random(2000) < 0.2
    y = (x ^ flip) + 2 * z
    assert em.cmi(x, y, z, estimator=em.Mixed()) == pytest.approx(em.cmi(x, y, z, estimator=em.Discrete()), abs=0.005)
    x, y, z = draw_blocks(em.KSG(), (1, 1, 1), n=2000)
    truth = -np.log(1 - (0.49 / 1.98) ** 2) / 2  # the correlation of x and y that z leaves
    for estimator in (em.Mixed(), em.KSG()):
        assert em.cmi(x, y, z, estimator=estimator) == pytest.approx(truth, abs=0.03)


def test_mixed_takes_no_state_for_a_number():
    rng = np.random.default_rng(19)
    x, y, z = rng.integers(0, 3, 300), rng.normal(size=300), rng.integers(0, 2, 300)
    y[x == 1] += 1
    value = em.cmi(x, y, z, estimator=em.Mixed())
    words = np.array(["no", "maybe", "yes"])
    assert em.cmi(words[x], y, z, estimator=em.Mixed()) == value
    assert em.cmi(np.array([700, 2, 50])[x], 9 * y - 3, 1 - z, estimator=em.Mixed()) == pytest.approx(value, abs=1e-12)
    assert em.cmi(x.astype(float), y, z, estimator=em.Mixed()) != value


def test_mixed_says_nothing_of_samples_that_are_alone():
    rng = np.random.default_rng(20)
    y, x = rng.normal(size=90), np.r_[np.zeros(45, int), np.ones(42, int), [2, 2, 2]]
    local = em.cmi(x, y, estimator=em.Mixed(k=4), local=True)
    assert (local[:87] != 0).all()
    assert (local[87:] == 0).all()
    with pytest.warns(em.HazardWarning, match=r"x\[0\] has 90 states in 90 samples: most samples are alone"):
        assert em.cmi(np.arange(90), y, estimator=em.Mixed()) == 0


def test_infer_finds_a_lamp_that_drives_a_number_and_a_number_that_drives_an_alarm():
    """A frame with text and numbers just works: the default picks Mixed and says so."""
    import pandas as pd

    rng = np.random.default_rng(20)
    lamp, noise = rng.random(300) < 0.5, rng.normal(size=(300, 2))
    warmth = np.zeros(300)
    for t in range(1, 300):
        warmth[t] = 0.5 * warmth[t - 1] + 1.2 * lamp[t - 1] + noise[t, 0]
    alarm = np.r_[False, warmth[:-1] + 0.5 * noise[1:, 1] > warmth.mean()]
    words = {name: np.where(on, "on", "off") for name, on in (("lamp", lamp), ("alarm", alarm))}
    frame = pd.DataFrame(words | {"warmth": warmth})
    network = em.infer(frame, max_lag=1)
    assert set(network) == {("lamp", "warmth"), ("warmth", "alarm")}


@settings(max_examples=60)
@given(st.integers(0, 10**6), st.tuples(*[st.integers(0, 2)] * 3), st.integers(1, 6), st.sampled_from([1, 9]))
def test_tied_counts_equal_the_naive_twin(seed, dims, k, b):
    from enmesh.neighbours import cpu, plain

    rng = np.random.default_rng(seed)
    n = 40
    kinds = [lambda d: rng.normal(size=(n, d)), lambda d: rng.integers(0, 3, (n, d)) * 2.0**40]
    kinds.append(lambda d: rng.normal(size=(n, d)).round(rng.integers(0, 2)))
    y, z = (kinds[rng.integers(3)](d) for d in dims[1:])
    x = np.stack([kinds[rng.integers(3)](dims[0]) for _ in range(b)])
    far = rng.choice([np.inf, 2.0**39])
    if not sum(dims):
        return
    for twin in (cpu, plain):
        for one, got in zip(x, np.moveaxis(twin.Neighbours(y, z).tied(x, k, far), 1, 0)):
            np.testing.assert_array_equal(got, naive.tied_counts(one, y, z, k, far))


def test_many_tied_samples_equal_an_independent_search():
    from scipy.spatial import cKDTree

    from enmesh.neighbours.cpu import Neighbours

    x, y, z = np.random.default_rng(21).normal(size=(3, 1500, 1)).round(1)
    reach = cKDTree(np.hstack([x, y, z])).query(np.hstack([x, y, z]), k=5, p=np.inf)[0][:, 4]
    for got, block in zip(Neighbours(y, z).tied(x[None], 4), ((x, y, z), (x, z), (y, z), (z,))):
        points = np.hstack(block)
        want = cKDTree(points).query_ball_point(points, reach, p=np.inf, return_length=True) - 1
        np.testing.assert_array_equal(got[0], want)


# --- Ordinal: order patterns --------------------------------------------------------------------------------------


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 6), min_size=1, max_size=30),
    st.integers(2, 4),
    st.integers(1, 3),
    st.lists(st.integers(1, 29), max_size=3, unique=True),
)
def test_patterns_equal_the_naive_twin_and_never_cross_a_seam(values, order, delay, seams):
    starts = np.array([0, *sorted(seam for seam in seams if seam < len(values))])
    estimator = em.Ordinal(order=order, delay=delay)
    trials = np.split(np.array(values), starts[1:])
    expected = np.concatenate([naive.order_patterns(trial.tolist(), order, delay) for trial in trials])
    np.testing.assert_array_equal(estimator.condition(np.array(values), 0, "x", starts=starts), expected)


def test_patterns_equal_a_value_counted_by_hand():
    """Ups and downs UUDDUUDD and UUDDUDDU: they agree in 6 of 8; and the example of Bandt and Pompe, 1.522 bits."""
    x, y = [0, 1, 2, 1, 0, 1, 2, 1, 0], [5, 6, 8, 7, 6, 9, 4, 1, 3]
    value = em.cmi(x, y, estimator=em.Ordinal(order=2))
    assert value == pytest.approx(0.75 * np.log(1.5) + 0.25 * np.log(0.5), abs=1e-12)
    example = patterns(np.array([4, 7, 9, 10, 6, 11, 3]), 3)
    assert em.Discrete().entropy(example) / np.log(2) == pytest.approx(1.522, abs=5e-4)


def test_patterns_are_unmoved_by_monotone_transforms():
    x, y, z = draw_blocks(em.Ordinal(), (1, 1, 1), n=300)
    value = em.cmi(x, y, z, estimator=em.Ordinal())
    assert em.cmi(np.exp(3 * x), y**3, 5 - np.exp(-z), estimator=em.Ordinal()) == value
    assert em.cmi(-x, y, z, estimator=em.Ordinal()) == pytest.approx(value, abs=1e-12)  # a relabelling


def test_patterns_find_the_coupling_of_logistic_maps():
    asked = {"estimator": em.Ordinal(), "n_surrogates": 99, "seed": 1}
    coupled = em.simulate.coupled_map("a>b", n=3000, coupling=0.3, noise=0.01, seed=1)
    forward, back = (em.significance(coupled, *pair, **asked) for pair in (("a", "b"), ("b", "a")))
    assert forward.p_value == 0.01
    assert forward.value > 1.5 * back.value  # patterns blur: it is not 0
    apart = em.simulate.coupled_map("a>b", n=3000, coupling=0.0, noise=0.01, seed=1)
    assert em.significance(apart, "a", "b", **asked).p_value > 0.05


def test_patterns_have_no_known_null_and_are_tested_by_surrogates():
    """Overlapping patterns: chi-square would take .16 of independent pairs of 500 samples for linked at .05."""
    series = em.simulate.coupled_map("a>b", n=600, coupling=0.3, noise=0.01, seed=1)
    with pytest.raises(em.InputError, match="Ordinal has no known null distribution; use TEE"):
        em.significance(series, "a", "b", estimator=em.Ordinal(), n_surrogates=0)
    with pytest.raises(em.InputError, match="with Ordinal use TEE, which finds it by surrogates"):
        em.TEA(estimator=em.Ordinal())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", em.HazardWarning)
        assert ("a", "b") in em.infer(series, estimator=em.Ordinal(), max_lag=2)


def test_a_source_without_patterns_is_refused():
    rng = np.random.default_rng(23)
    y, x = rng.integers(0, 6, (2, 50, 1))
    x[10] = -1
    with pytest.raises(em.InputError, match="the source has no pattern where the target has one"):
        em.Ordinal().prepare(y).cmi(x)
    assert em.Ordinal(order=4, delay=2).reaches_back == 6
    assert em.KSG().reaches_back == 0


# --- Discrete: alphabets and degrees of freedom ----------------------------------------------------------


def test_discrete_takes_any_alphabet():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 3, (2, 200))
    value = em.cmi(x, y, estimator=em.Discrete())
    words = np.array(["no", "maybe", "yes"])
    assert em.cmi(words[x], 7 * y - 3, estimator=em.Discrete()) == pytest.approx(value, abs=1e-12)


def test_discrete_with_a_huge_state_space_counts_the_same():
    rng = np.random.default_rng(6)
    x, y, z = rng.integers(0, 40, (300, 3)), rng.integers(0, 50, (300, 2)), rng.integers(0, 30, (300, 2))
    x, y, z = x // 20, y // 25, z // 10 * 10
    prepared = em.Discrete().prepare(y, z * 1000)
    assert prepared.cmi(x) == pytest.approx(naive.discrete_local(x, y, z).mean(), abs=1e-10)


@pytest.mark.parametrize("correction", ["miller-madow", "grassberger"])
def test_corrections_remove_the_bias_of_few_samples(correction):
    """Independent states, 4 x 4 given 3, 150 samples: the plug-in value is 27 / 300 too large."""
    rng = np.random.default_rng(15)
    values = []
    for _ in range(200):
        x, y, z = rng.integers(0, 4, 150), rng.integers(0, 4, 150), rng.integers(0, 3, 150)
        values.append([em.cmi(x, y, z, estimator=e) for e in (em.Discrete(), em.Discrete(correction=correction))])
    plain, corrected = np.mean(values, axis=0)
    assert plain == pytest.approx(27 / 300, abs=0.02)
    assert abs(corrected) < plain / 4


def test_tests_take_the_plug_in_value():
    corrected = em.Discrete(arity=3, correction="grassberger")
    assert corrected.plug_in == em.Discrete(arity=3)
    for estimator in (em.Discrete(), em.Gaussian(), em.KSG()):
        assert estimator.plug_in is estimator


@pytest.mark.parametrize("correction", ["none", "miller-madow", "grassberger"])
def test_corrections_of_huge_state_spaces(correction, monkeypatch):
    from enmesh.estimators import discrete

    rng = np.random.default_rng(16)
    series = em.Series(rng.integers(0, 3, (400, 2)).astype(float))
    estimator = em.Discrete(correction=correction)
    plain = em.transfer_entropy(series, "x0", "x1", estimator=estimator)
    monkeypatch.setattr(discrete, "DENSE_STATES_PER_SAMPLE", 0)
    assert em.transfer_entropy(series, "x0", "x1", estimator=estimator) == pytest.approx(plain, abs=1e-12)


def test_degrees_of_freedom():
    assert em.Gaussian().dof((0,), (0, 0), (0, 0, 0)) == 2
    assert em.Gaussian().n_parameters((0,), (0, 0, 0)) == 5
    assert em.Discrete().dof((3,), (2, 2), (3, 4)) == 2 * 3 * 12
    assert em.Discrete(arity=4).dof((3,), (2,), ()) == 9
    assert em.Discrete().n_parameters((3,), (3, 2)) == 12


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: em.KSG(k=0), "k=0 is not possible; give a whole number of at least 1"),
        (lambda: em.KSG(algorithm=3), "algorithm=3 is not known; use 1 or 2"),
        (lambda: em.Gaussian(normalise="max"), "normalise='max' is not known; use 'none', 'rank', 'zscore'"),
        (lambda: em.KSG(normalise="max"), "normalise='max' is not known; use 'zscore' or 'rank'"),
        (
            lambda: em.KSG(residual="cubic"),
            "residual='cubic' is not known; use 'none', 'linear', 'quadratic', 'features'",
        ),
        (lambda: em.KSG(device="tpu"), "device='tpu' is not known; use 'cpu', 'cuda', 'auto'"),
        (lambda: em.KSG(noise=-1), "noise=-1 is not possible; give a small number such as 1e-8, or 0"),
        (lambda: em.KSG(theiler=-1), "theiler=-1 is not possible; give a whole number of at least 0"),
        (lambda: em.Kernel(width=0), "width=0 is not possible; give a positive number of standard deviations"),
        (
            lambda: em.Kernel(width=float("nan")),
            "width=nan is not possible; give a positive number of standard deviations",
        ),
        (
            lambda: em.Discrete(correction="panzeri"),
            "correction='panzeri' is not known; use 'none', 'miller-madow', 'grassberger'",
        ),
        (lambda: em.Mixed(k=0), "k=0 is not possible; give a whole number of at least 1"),
        (
            lambda: em.cmi([1, 1, 1], [1.0, 2.0, 3.0], estimator=em.Mixed()),
            "too few samples: 3 for k=4; at least 6 are needed",
        ),
        (
            lambda: em.Mixed().entropy(np.zeros(9)),
            "numbers and states together have no entropy; use KSG for numbers, Discrete for states",
        ),
        (lambda: em.Ordinal(order=8), "order=8 is not possible; give a whole number from 2 to 7"),
        (lambda: em.Ordinal(delay=0), "delay=0 is not possible; give a whole number of at least 1"),
        (
            lambda: em.cmi([1, 2], [2, 1], estimator=em.Ordinal()),
            "too few samples: 2 for patterns of order 3 and delay 1; at least 3 in a row are needed",
        ),
        (
            lambda: em.cmi(list("abc"), [1, 2, 3], estimator=em.Ordinal()),
            "x[0] holds labels, not numbers; Ordinal cannot use it, Discrete can",
        ),
        (lambda: em.Discrete(arity=1), "arity=1 is not possible; give a whole number of at least 2"),
        (
            lambda: em.cmi([0.5, 1, 2], [1, 2, 3], estimator=em.Discrete()),
            "x[0] holds fractions, not states; use Series.discretise(), or another estimator",
        ),
        (
            lambda: em.cmi([0, 1, 5], [1, 2, 3], estimator=em.Discrete(arity=4)),
            "x[0] has values outside 0 .. 3, the states of the declared arity; give a larger arity or none",
        ),
        (
            lambda: em.cmi(list("abc"), [1, 2, 3], estimator=em.Gaussian()),
            "x[0] holds labels, not numbers; Gaussian cannot use it, Discrete can",
        ),
        (
            lambda: em.cmi(np.random.rand(5), np.random.rand(5), estimator=em.KSG()),
            "too few samples: 5 for k=4 and theiler=0; at least 6 are needed",
        ),
        (
            lambda: em.cmi(np.random.rand(9), np.random.rand(8), estimator=em.KSG()),
            "x has 9 samples and y has 8; give as many of each",
        ),
        (lambda: em.cmi([0.0, np.nan, 1.0], [1.0, 2.0, 3.0]), "x has missing or infinite values; remove them first"),
        (
            lambda: em.KSG(noise=0).entropy(np.r_[np.zeros(10), np.random.rand(10)]),
            "many values are equal, so the entropy is minus infinity; set noise=1e-8, or use Discrete",
        ),
    ],
)
def test_bad_options_and_blocks_are_refused(call, said):
    with pytest.raises(em.InputError) as caught:
        call()
    assert str(caught.value) == said


def test_many_ties_are_warned_of():
    rng = np.random.default_rng(7)
    with pytest.warns(em.HazardWarning, match=r"x\[0\]: 9\d% of the values repeat an earlier one"):
        em.cmi(rng.integers(0, 5, 100), rng.normal(size=100))


def test_threads_change_neither_values_nor_identity():
    x, y, z = draw_blocks(em.KSG(), (2, 1, 2), n=600)
    for one, two in ((em.KSG(), em.KSG(threads=2)), (em.Kernel(), em.Kernel(threads=2))):
        assert em.cmi(x, y, z, estimator=one) == em.cmi(x, y, z, estimator=two)
        assert one == two
        assert describe(one) == describe(two)


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_tie_noise_is_seeded():
    rng = np.random.default_rng(8)
    x, y = np.round(rng.normal(size=(2, 200)), 2)
    assert em.cmi(x, y) == em.cmi(x, y)


# --- what each says of itself --------------------------------------------------------------------------------


@pytest.mark.parametrize("name", sorted(members(Estimator)))
def test_every_estimator_says_what_the_command_line_and_the_report_need(name):
    cls = members(Estimator)[name]
    assert name in cls.cli_name
    assert cls.summary
    assert all(hasattr(cls(), field) for field in cls.cli_options)
    assert all(help_of(cls)[field] for field in cls.cli_options)
    assert cls().sentence()[0].islower() or not cls().sentence()[0].isalpha()
    for year in range(1948, 2030):
        assert (str(year) in cls().sentence()) == any(f"({year})" in work for work in cls.references)


def test_theiler_window_is_said():
    assert "samples up to 3 steps apart not compared" in em.KSG(theiler=3).sentence()
    assert em.Kernel(theiler=2).sentence() == "a box kernel of width 0.5, samples up to 2 steps apart not compared"


def test_samples_limit_the_parents():
    assert em.Gaussian().max_parents_for(1000, (1, 2), (0, 0)) == (49, "1000 samples allow 10 per coefficient")
    assert em.Discrete().max_parents_for(1000, (1, 1), (2, 3)) == (4, "1000 samples allow 3 per joint state")
    assert em.KSG().max_parents_for(1000, (2, 3), (0, 0)) == (2, "joint dimension at most 10")
    assert em.KSG().max_parents_for(1000, (9, 3), (0, 0))[0] == 1


@pytest.mark.parametrize("estimator", [em.KSG(), em.KSG(residual="linear"), em.Gaussian()], ids=brief)
@pytest.mark.parametrize(("d", "choose"), [(1, 1), (4, 1), (4, 2), (4, 3), (3, 3)])
def test_surrogates_choose_columns_as_the_twin_does(estimator, d, choose):
    rng = np.random.default_rng(d + choose)
    y, z, x = rng.normal(size=(60, 1)), rng.normal(size=(60, 2)), rng.normal(size=(3, 60, d))
    x[:, :, 0] += y[:, 0]
    prepared = estimator.prepare(y, z)
    expected = [naive.best_of_columns(one, choose, lambda some: float(prepared.cmi(some))) for one in x]
    assert prepared.best(x, choose) == pytest.approx(expected, abs=1e-12)
