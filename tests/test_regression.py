"""Regression with features: equal to Gaussian where linear, nested, closed forms, awkward columns, analytic tests."""

import subprocess
import sys
import warnings

import numpy as np
import pytest

import enmesh as em
from enmesh.estimators.features import Features
from enmesh.estimators.least_squares import products_at_shifts
from enmesh.estimators.scaling import _missed, better_scale, normal_scores, standard_scores
from enmesh.measures import Transfers
from enmesh.scores import Link
from enmesh.scores.shift_null import shifted_products
from enmesh.tasks import run
from tests import naive

KINDS = ("linear", "quadratic", "fourier", "basis")


def some(seed, n=300, m=4):
    """Series with squares and products in them."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n, m))
    for t in range(2, n):
        values[t, 1] += 0.5 * values[t - 1, 0] ** 2
        values[t, 2] += 0.4 * values[t - 2, 0] * values[t - 1, 1]
    return em.Series(values, names="abcdef"[:m])


def random_lags(seed, names):
    rng = np.random.default_rng(seed)
    return em.Lags(
        {
            (a, b): tuple(int(lag) for lag in rng.choice([1, 2, 3], rng.integers(1, 3), replace=False))
            for a in names
            for b in names
        }
    )


@pytest.mark.parametrize("seed", range(4))
def test_linear_is_gaussian(seed):
    """Values, degrees of freedom, p-values and scores."""
    series, names = some(seed), "abcd"
    pasts = random_lags(seed, names)
    both = [em.Regression("linear"), em.Gaussian()]
    for options in ({"given": "c"}, {}, {"given": ["c", "d"], "local": True}):
        ours, gauss = (em.transfer_entropy(series, "a", "b", estimator=e, embedding=pasts, **options) for e in both)
        np.testing.assert_allclose(ours, gauss, atol=1e-10)
    for null in ("chi2", "f", "ess", "shift"):
        scorers = [em.TEA(estimator=e, embedding=pasts, null=null).bind(series) for e in both]
        ours, gauss = ([s.family_score(1, parents) for parents in ((0,), (0, 2, 3))] for s in scorers)
        np.testing.assert_allclose(ours, gauss, rtol=1e-10)
        ours, gauss = (run(s.test(Link(0, 1, (2,)))) for s in scorers)
        np.testing.assert_allclose(
            [ours.p_value, ours.value, ours.null_mean], [gauss.p_value, gauss.value, gauss.null_mean], rtol=1e-9
        )
    aic = [em.score(series, "a>b, b>c", em.Criterion("aic", estimator=e, embedding=pasts)).total for e in both]
    assert aic[0] == pytest.approx(aic[1], rel=1e-10)
    assert both[0].dof((0,), (0, 0), (0, 0, 0)) == both[1].dof((0,), (0, 0), (0, 0, 0)) == 2


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_theorem_and_corollary_hold_exactly(kind, seed):
    """KL = S - sum T, and differences of KL are differences of T, under random lags."""
    series, pasts, estimator = some(seed, n=500, m=3), random_lags(seed, "abc"), em.Regression(kind)
    how = {"estimator": estimator, "embedding": pasts}
    interaction = em.stochastic_interaction(series, **how)
    divergences, transfers = [], []
    for graph in ({}, {"b": ["a"]}, {"b": ["a"], "c": ["a", "b"]}, {"a": ["c"], "c": ["b"]}):
        direct = em.kl_divergence(series, graph, **how)
        total = sum(em.transfer_entropy(series, parents, node, **how) for node, parents in graph.items())
        assert direct == pytest.approx(interaction - total, abs=1e-10)
        divergences.append(direct)
        transfers.append(total)
    np.testing.assert_allclose(np.diff(divergences), -np.diff(transfers), atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_degrees_of_freedom_are_the_features_that_are_added(kind):
    rng = np.random.default_rng(0)
    features, estimator = Features(kind), em.Regression(kind)
    for d, known in ((1, 0), (1, 3), (3, 2)):
        x, z = rng.normal(size=(2, d, 50)), rng.normal(size=(known, 50))
        added = features.added(x, z)
        assert added.shape == (2, estimator.dof((0,), (0,) * d, (0,) * known) // estimator.targets, 50)
        together = np.concatenate([features.of(z), added[1]])
        np.testing.assert_allclose(  # the same features whoever is source and who is condition
            np.sort(np.abs(together @ np.ones(50) + together @ np.arange(50))),
            np.sort(np.abs((f := features.of(np.concatenate([x[1], z]))) @ np.ones(50) + f @ np.arange(50))),
            atol=1e-9,
        )


@pytest.mark.parametrize("kind", ["quadratic", "fourier", "basis"])
def test_one_pass_over_the_data_gives_what_a_question_gives(kind):
    transfers = Transfers(some(5), em.Regression(kind), random_lags(5, "abcd"))
    assert transfers.joint is not None
    for sources, target, given in (((0,), 1, ()), ((0, 2), 1, (3,)), ((3,), 2, (0, 1))):
        x, y, z = transfers.variables(sources, target, given)
        quick, slow = transfers.cmi(x, y, z), transfers.prepared(y, z).cmi(transfers.blocks.take(x))
        assert quick == pytest.approx(slow, abs=1e-10)


# --- closed forms ------------------------------------------------------------------------------------------------


def test_a_product_is_found_by_the_pair_and_by_neither_alone():
    """y = x1 x2 + e: I(x1, x2 ; y) of the regression is ln(1 + 1 / s^2) / 2, alone 0."""
    rng, values = np.random.default_rng(1), []
    for _ in range(40):
        x, e = rng.normal(size=(500, 2)), rng.normal(size=500)
        y = x[:, 0] * x[:, 1] + 0.8 * e
        values.append(
            [em.cmi(some, y, estimator=em.Regression(normalise="zscore")) for some in (x, x[:, :1], x[:, 1:])]
        )
    mean, error = np.mean(values, axis=0), np.std(values, axis=0) / np.sqrt(40)
    bias = np.array([5, 2, 2]) / (2 * 500)  # of so many features
    truth = np.log(1 + 1 / 0.8**2) / 2
    assert abs(mean - bias - [truth, 0, 0])[0] < 3 * error[0] + 0.002
    assert (mean - bias)[1:] == pytest.approx(0, abs=0.006)  # the variance of y follows x1^2: more than bias


def test_a_parabola_has_the_value_of_its_noise():
    """y = x^2 + .5 z + s e given z: ln(1 + 2 / s^2) / 2; a line sees nothing."""
    rng = np.random.default_rng(2)
    x, z, e = rng.normal(size=(3, 20000))
    y = x**2 + 0.5 * z + 0.7 * e
    truth = np.log(1 + 2 / 0.7**2) / 2
    assert em.cmi(x, y, z, estimator=em.Regression(normalise="zscore")) == pytest.approx(truth, abs=0.02)
    assert em.cmi(x, y, z, estimator=em.Regression("linear")) < 0.005


def test_an_and_of_squares_is_found_by_the_pair():
    """y is driven where both squares are large: single sources say little, the pair much, and TEA keeps both."""
    rng = np.random.default_rng(3)
    values = rng.normal(size=(1000, 3))
    values[1:, 2] += 3 * ((values[:-1, 0] ** 2 > 1) & (values[:-1, 1] ** 2 > 1))
    series = em.Series(values, names=["a", "b", "y"])
    score = em.TEA(estimator=em.Regression(), embedding=em.Embedding(), null="shift")
    assert em.infer(series, score=score).parents == {"a": (), "b": (), "y": ("a", "b")}


def test_single_factors_of_a_product_are_not_taken_for_drivers():
    """y = x1 x2 + e: given the other, each is found; alone, the variance that goes with x1 is no link to the mean."""
    alone, beside = [], []
    for seed in range(40):
        rng = np.random.default_rng([4, seed])
        values = rng.normal(size=(500, 3))
        values[1:, 2] = values[:-1, 0] * values[:-1, 1] + 0.8 * rng.normal(size=499)
        score = em.TEA(estimator=em.Regression(), embedding=em.Embedding(), null="shift")
        scorer = score.bind(em.Series(values, names=["a", "b", "y"]))
        alone.append(run(scorer.test(Link(0, 2, ()))).p_value)
        beside.append(run(scorer.test(Link(0, 2, (1,)))).p_value)
    assert max(beside) < 1e-6
    assert np.mean(np.array(alone) < 0.05) < 0.05 + 2.5 * np.sqrt(0.05 * 0.95 / 40)


# --- awkward data ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["quadratic", "fourier", "basis"])
def test_redundant_columns_are_harmless(kind):
    rng = np.random.default_rng(5)
    x, y, z = (rng.normal(size=(300, d)) for d in (1, 1, 2))
    y += 0.5 * x**2
    estimator, nothing = em.Regression(kind), np.zeros((300, 1))
    value = estimator.prepare(y, z).cmi(x)
    for known, source in (
        (np.hstack([z, z]), x),
        (np.hstack([z, nothing]), x),
        (z, np.hstack([x, x, z])),
        (z, np.hstack([x, nothing])),
    ):
        assert estimator.prepare(y, known).cmi(source) == pytest.approx(value, abs=1e-5)
    assert estimator.prepare(y, z).cmi(z) == pytest.approx(0, abs=1e-6)
    two = (x > 0).astype(float)  # its square says nothing new
    assert estimator.prepare(y, two).cmi(two**2) == pytest.approx(0, abs=1e-6)
    with pytest.raises(em.InputError, match="the target is constant, or one of its columns"):
        estimator.prepare(nothing, z)


def test_a_map_without_noise_is_no_error_and_drives_nobody():
    series = em.simulate.coupled_map({"a": [], "b": []}, n=300, seed=0)
    how = {"estimator": em.Regression(), "embedding": em.Embedding()}
    assert em.transfer_entropy(series, "a", "b", **how) == pytest.approx(0, abs=1e-6)
    coupled = em.simulate.coupled_map("a>b", n=300, coupling=0.3, seed=0)
    assert 3 < em.transfer_entropy(coupled, "a", "b", **how) < 20


def test_few_samples_are_warned_of_then_refused():
    rng = np.random.default_rng(6)
    x, y, z = (rng.normal(size=(40, d)) for d in (1, 1, 6))
    with pytest.warns(em.HazardWarning, match="35 features for 40 samples: values are mostly chance"):
        assert 0 < em.cmi(x, y, z, estimator=em.Regression()) < np.inf
    with pytest.raises(em.InputError, match="too few samples: 9 for a regression of 8 variables; at least 10"):
        em.cmi(x[:9], y[:9], z[:9], estimator=em.Regression())
    series = em.Series(rng.normal(size=(45, 2)), names="ab")
    pasts = em.Embedding(dim=4)
    for null in ("chi2", "f", "shift"):
        scorer = em.TEA(estimator=em.Regression(), embedding=pasts, null=null).bind(series)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(em.InputError, match=r"too few samples: 41 for 45 coefficients; .* features='linear'"):
                scorer.family_score(1, (0,))
    assert em.Regression().max_parents_for(300, (1, 2), (0, 0)) == (2, "300 samples allow 10 per feature")


def test_the_exact_search_goes_on_with_more_features_than_samples():
    """Eleven lagged variables of one sample each have 77 features: no ceiling is known, and none is warned of."""
    series = em.Series(np.random.default_rng(10).normal(size=(60, 11)))
    score = em.TEA(estimator=em.Regression(), embedding=em.Embedding())
    bounds = score.bind(series).bounds([tuple(j for j in range(11) if j != i) for i in range(11)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert bounds.ceiling(0) == np.inf
    assert em.infer(series, score=score, search=em.Exact(), max_parents=1, screen=False).optimal


def test_the_scale_is_what_predicts_better():
    """Parabolas are bent by ranks, heavy tails decide among z-scores."""
    maps = em.simulate.coupled_map("a>b", n=500, noise=0.05, seed=0).values
    assert [better_scale(column) for column in maps.T] == ["zscore", "zscore"]
    tails = np.random.default_rng(7).standard_t(2, size=(500, 5))
    assert [better_scale(column) for column in tails.T] == ["rank"] * 5
    assert em.Regression(normalise="zscore").scale_of(tails[:, 0]) == "zscore"


@pytest.mark.parametrize("starts", [[0, 60], [0, 60, 91]])
def test_products_of_shifted_columns_are_those_of_columns_that_were_shifted(starts, monkeypatch):
    rng, starts, shifts = np.random.default_rng(0), np.array(starts), np.array([1, 5, 17, 28])
    moving, still = rng.normal(size=(2, starts[-1])), rng.normal(size=(3, starts[-1]))
    trials = list(zip(starts[:-1], starts[1:]))
    rolled = [np.concatenate([np.roll(moving[:, a:b], -s, axis=1) for a, b in trials], axis=1) for s in shifts]
    expected = [one @ still.T for one in rolled]
    assert np.allclose(products_at_shifts(moving, still, starts, shifts), expected)
    assert np.allclose(shifted_products(moving, still, starts, shifts), expected)
    monkeypatch.setattr("enmesh.estimators.least_squares.HELD", 1)  # one shift at a time
    assert np.allclose(products_at_shifts(moving, still, starts, shifts), expected)


@pytest.mark.parametrize("repeated", [True, False])
def test_scales_and_what_they_miss_agree_with_their_definition(repeated):
    values = np.random.default_rng(0).standard_t(2, size=400)
    values = np.round(values) if repeated else values
    columns = np.stack([normal_scores(values), standard_scores(values)])
    assert np.allclose(columns[0], naive.normal_score(values))
    assert np.allclose(_missed(columns), [naive.missed_by_parabolas(column) for column in columns])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"features": "cubic"}, "features='cubic' is not known; use 'linear', 'quadratic', 'fourier', 'basis'"),
        ({"responses": 4}, "responses is for features='basis'; leave it out, or add that"),
        ({"features": "basis", "responses": 9}, "responses=9 is not possible; give 1 to 6"),
        (
            {"features": "basis", "normalise": "zscore"},
            "features='basis' takes normalise='rank' alone; leave the option out",
        ),
        ({"normalise": "none"}, "normalise='none' is not known; use 'rank', 'zscore', None"),
        ({"device": "abacus"}, "device='abacus' is not known; use 'cpu', 'cuda', 'auto'"),
    ],
)
def test_impossible_options_are_refused(options, said):
    with pytest.raises(em.InputError) as caught:
        em.Regression(**options)
    assert str(caught.value) == said


def test_trials_and_missing_windows_make_no_difference_to_what_is_asked():
    """Two trials are the rows of both; a missing value takes the windows that touch it."""
    rng = np.random.default_rng(8)
    first, second = rng.normal(size=(2, 150, 2))
    how = {"estimator": em.Regression(normalise="zscore"), "embedding": em.Embedding()}
    together = em.transfer_entropy(em.Series([first, second], names="ab"), "a", "b", **how)
    rows = [np.column_stack([t[1:, 1], t[:-1, 1], t[:-1, 0]]) for t in (first, second)]
    y, z, x = np.concatenate(rows).T
    assert together == pytest.approx(em.cmi(x, y, z, estimator=how["estimator"]), abs=1e-10)
    holed = first.copy()
    holed[70, 0] = np.nan
    with pytest.warns(em.HazardWarning, match="147 of 149 windows"):
        got = em.transfer_entropy(em.Series(holed, names="ab", missing="drop"), "a", "b", **how)
    y, z, x = np.delete(rows[0], [69, 70], axis=0).T
    assert got == pytest.approx(em.cmi(x, y, z, estimator=how["estimator"]), abs=1e-10)


# --- sureness, cost ---------------------------------------------------------------------------------------------------


def test_limits_hold_the_value_of_a_parabola():
    covered = 0
    for seed in range(100):
        rng = np.random.default_rng([9, seed])
        x, e = rng.normal(size=(2, 300))
        y = np.r_[0, 0.3 * x[:-1] ** 2 + e[1:]]
        estimator = em.Regression(normalise="zscore")
        found = em.interval(em.Series({"x": x, "y": y}), "x", "y", level=0.9, estimator=estimator)
        covered += found.low <= np.log(1.18) / 2 <= found.high
    assert 84 <= covered <= 97


@pytest.mark.slow
def test_a_million_samples_fit_into_a_gibibyte():
    code = """
import resource, numpy as np, enmesh as em
rng = np.random.default_rng(0)
x, y, z = (rng.normal(size=(1_000_000, d)) for d in (1, 1, 3))
em.Regression(normalise="zscore").prepare(y, z).cmi(x)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 1024


@pytest.mark.parametrize("features", ["quadratic", "fourier", "basis"])
@pytest.mark.parametrize("widths", [(1, 0), (1, 3), (2, 2)])
def test_all_shifts_at_once_are_shifts_one_by_one(features, widths):
    rng = np.random.default_rng(3)
    x, z, y = (rng.normal(size=(90, d)) for d in (*widths, 1))
    y += x[:, :1] ** 2 / 2
    prepared, starts, shifts = (em.Regression(features).prepare(y, z), np.array([0, 50, 90]), np.arange(2, 38, 3))
    rolled = [np.concatenate([np.roll(x[:50], -s, axis=0), np.roll(x[50:], -s, axis=0)]) for s in shifts]
    np.testing.assert_allclose(prepared.over_shifts(x, starts, shifts), prepared.cmi(np.stack(rolled)), atol=1e-8)
