"""Regression with features: equal to Gaussian where linear, nested, closed forms, awkward columns, analytic tests."""

import numpy as np
import pytest

import enmesh as em
from enmesh.estimators.regression import Features
from enmesh.measures import Transfers
from enmesh.scores import Link
from enmesh.tasks import run

KINDS = ("linear", "quadratic", "fourier")


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
    both = [em.Regression("linear", normalise="zscore"), em.Gaussian()]
    for options in ({"given": "c"}, {}, {"given": ["c", "d"], "local": True}):
        ours, gauss = (
            em.transfer_entropy(series, "a", "b", estimator=e, embedding=pasts, **options) for e in both
        )
        np.testing.assert_allclose(ours, gauss, atol=1e-10)
    for null in ("chi2", "f", "ess", "shift"):
        scorers = [em.TEA(estimator=e, embedding=pasts, null=null).bind(series) for e in both]
        ours, gauss = ([s.family_score(1, parents) for parents in ((0,), (0, 2, 3))] for s in scorers)
        np.testing.assert_allclose(ours, gauss, rtol=1e-10)
        ours, gauss = (run(s.test(Link(0, 1, (2,)))) for s in scorers)
        np.testing.assert_allclose(
            [ours.p_value, ours.value, ours.null_mean],
            [gauss.p_value, gauss.value, gauss.null_mean],
            rtol=1e-9,
        )
    aic = [
        em.score(series, "a>b, b>c", em.Criterion("aic", estimator=e, embedding=pasts)).total for e in both
    ]
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
        assert added.shape == (2, estimator.dof((0,), (0,) * d, (0,) * known), 50)
        together = np.concatenate([features.of(z), added[1]])
        np.testing.assert_allclose(  # the same features whoever is source and who is condition
            np.sort(np.abs(together @ np.ones(50) + together @ np.arange(50))),
            np.sort(np.abs((f := features.of(np.concatenate([x[1], z]))) @ np.ones(50) + f @ np.arange(50))),
            atol=1e-9,
        )


@pytest.mark.parametrize("kind", ["quadratic", "fourier"])
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
