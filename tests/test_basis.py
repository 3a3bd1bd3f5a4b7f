"""``Regression(features="basis")``: several functions of the target, from one set of log-determinants."""

import json

import numpy as np
import pytest
from scipy.signal import lfilter
from scipy.stats import kstest

import enmesh as em
from enmesh.estimators.scaling import normal_scores
from enmesh.estimators.wilks import effective, wilks_p, wilks_quantile
from enmesh.measures import Transfers
from enmesh.options import describe, restore
from enmesh.scores import Link
from enmesh.tasks import run
from tests import naive

BASIS = em.Regression(features="basis", responses=4)
HOW = {"estimator": BASIS, "embedding": em.Embedding()}


def curved(n=300, seed=0):
    """a drives b by its square, b drives the spread of c."""
    values = np.random.default_rng([37, seed]).normal(size=(n, 3))
    for t in range(1, n):
        values[t, 0] += 0.4 * values[t - 1, 0]
        values[t, 1] += 0.6 * values[t - 1, 0] ** 2
        values[t, 2] *= np.exp(0.5 * values[t - 1, 1])
    return em.Series(values, names="abc")


def ranked(values):
    return np.stack([normal_scores(column) for column in values.T], axis=1) if values.size else values


def normal(rho, n, seed):
    x, e = np.random.default_rng([31, seed]).normal(size=(2, n))
    return x, rho * x + np.sqrt(1 - rho**2) * e


# --- the measure ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("responses", [1, 2, 4, 6])
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 1), (2, 1, 3), (1, 2, 1)])
def test_the_value_is_that_of_log_determinants(dims, responses):
    rng = np.random.default_rng([30, *dims])
    x, y, z = (ranked(rng.normal(size=(200, d))) for d in dims)
    y = y + x[:, :1] ** 2
    value = em.Regression("basis", responses=responses).prepare(y, z).cmi(x)
    assert value == pytest.approx(naive.basis_cmi(x, y, z, responses), abs=1e-9)


def test_the_value_of_normal_variables_lies_between_those_of_one_and_of_four_hermite_polynomials():
    """Of normal x and y the k-th largest canonical correlation of any functions is at most rho^k."""
    for rho in (0.3, 0.6, 0.8):
        draws = [normal(rho, 4000, seed) for seed in range(12)]
        one, four = (
            np.array([em.cmi(x, y, estimator=em.Regression("basis", responses=q)) for x, y in draws]) for q in (1, 4)
        )
        linear, *more = (-np.log(1 - rho ** (2 * k)) / 2 for k in range(1, 5))
        chance, error = 4 / (2 * 4000), 3 * one.std() / np.sqrt(12) + 0.001
        assert one.mean() - chance == pytest.approx(linear, abs=error)
        assert linear - error < four.mean() - 4 * chance < linear + sum(more) + error


def test_monotone_transforms_change_no_bit():
    rng = np.random.default_rng(32)
    x, y, z = rng.normal(size=(3, 250))
    y = y + x**2
    value = em.cmi(x, y, z, estimator=BASIS)
    assert em.cmi(np.exp(2 * x), y**3, np.arctan(z), estimator=BASIS) == value
    assert em.cmi(7 * x - 3, 1e6 + 0.01 * y, 2.0**70 * z, estimator=BASIS) == value
    assert em.cmi(-x, -y, -z, estimator=BASIS) == pytest.approx(value, abs=1e-10)


def test_names_and_their_order_change_nothing():
    series = curved()
    moved = em.Series(series.values[:, [2, 0, 1]], names=["z", "x", "y"])
    assert em.transfer_entropy(moved, "x", "y", given="z", **HOW) == pytest.approx(
        em.transfer_entropy(series, "a", "b", given="c", **HOW), abs=1e-10
    )
    one, other = em.te_matrix(moved, **HOW).te, em.te_matrix(series, **HOW).te
    assert one.loc["x", "y"] == pytest.approx(other.loc["a", "b"], abs=1e-10)


def test_more_sources_never_say_less_and_no_value_is_negative():
    rng = np.random.default_rng(33)
    for _ in range(20):
        x, y, z = (rng.normal(size=(60, d)) for d in (3, 1, 2))
        prepared = BASIS.prepare(ranked(y), ranked(z))
        grown = [prepared.cmi(ranked(x[:, :d])) for d in (1, 2, 3)]
        assert 0 <= grown[0] <= grown[1] <= grown[2]


def test_a_source_that_moves_the_variance_is_seen_by_the_responses():
    rng = np.random.default_rng(8)
    x = rng.normal(size=2000)
    y = rng.normal(size=2000) * np.exp(0.7 * x)
    one, four = (em.cmi(x, y, estimator=em.Regression("basis", responses=q)) for q in (1, 4))
    assert one < 0.01
    assert four > 0.1


def test_two_values_have_one_response_and_a_cautious_test():
    rng = np.random.default_rng(9)
    x = rng.normal(size=500)
    y = (x + rng.normal(size=500) > 0).astype(float)
    assert BASIS.prepare(y[:, None], np.empty((500, 0))).targets == 1
    assert em.cmi(x, y, estimator=BASIS) == pytest.approx(em.cmi(x, y, estimator=em.Regression("basis", responses=1)))
    for null in ("chi2", "f", "shift"):
        p = []
        for _ in range(100):
            values = np.c_[rng.normal(size=200), rng.random(200) > 0.5]
            p.append(run(em.TEA(null=null, **HOW).bind(em.Series(values, names="ab")).test(Link(0, 1, ()))).p_value)
        assert np.mean(np.array(p) <= 0.05) <= 0.05


def test_the_option_is_the_same_however_it_is_written():
    assert em.Regression("basis") == BASIS
    assert restore(describe(BASIS)) == BASIS
    assert repr(BASIS) == "Regression(features='basis', normalise=None, device='cpu', responses=4)"
    assert "a regression of 4 functions of the target" in BASIS.sentence()
    assert describe(BASIS) != describe(em.Regression("basis", responses=2))


# --- the null distribution --------------------------------------------------------------------------------------


@pytest.mark.parametrize(("m", "q"), [(1, 1), (5, 1), (1, 4), (5, 2), (5, 4), (14, 6)])
def test_wilks_lambda_of_normal_variables_has_the_p_values_of_its_quantiles(m, q):
    """Simulated from its definition: |E| / |E + H| of normal features and responses."""
    rng, n, known = np.random.default_rng([34, m, q]), 60, 7
    ratio = []
    for _ in range(1500):
        a, b = rng.normal(size=(m, n - known)), rng.normal(size=(q, n - known))
        explained = b @ a.T @ np.linalg.solve(a @ a.T, a @ b.T)
        ratio.append(np.linalg.slogdet(b @ b.T)[1] - np.linalg.slogdet(b @ b.T - explained)[1])
    p = wilks_p(np.array(ratio), m, q, n - known)
    assert kstest(p, "uniform").pvalue > 0.001
    for alpha in (0.5, 0.95):
        assert wilks_p(wilks_quantile(alpha, m, q, n - known), m, q, n - known) == pytest.approx(1 - alpha, rel=1e-9)
    chi2 = np.mean(np.array(ratio)) * effective(m, q, n - known) / (m * q)
    assert chi2 == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("null", ["chi2", "f", "shift"])
def test_few_samples_have_uniform_p_values(null):
    """With four responses; the F distribution of one response fails this (p = 0.0000)."""
    found = []
    for seed in range(400):
        series = em.Series(np.random.default_rng([35, seed]).normal(size=(150, 2)), names="ab")
        found.append(run(em.TEA(null=null, **HOW).bind(series).test(Link(0, 1, ()))).p_value)
    assert kstest(found, "uniform").pvalue > 0.001


@pytest.mark.slow
@pytest.mark.parametrize("phi", [0.0, 0.9])
def test_p_values_of_functions_are_uniform(phi):
    found = []
    for seed in range(300):
        noise = np.random.default_rng([21, seed]).normal(size=(500, 2))
        series = em.Series(lfilter([1.0], [1.0, -phi], noise, axis=0)[100:])
        score = em.TEA(null="shift", **HOW)
        found.append(run(score.bind(series).test(Link(0, 1, ()))).p_value)
    assert kstest(found, "uniform").pvalue > 0.001


def test_a_null_distribution_that_does_not_hold_is_refused_with_one_that_does():
    with pytest.raises(em.InputError, match="null='ess' is for linear regressions; use null='shift' with features"):
        em.TEA(null="ess", **HOW)
    with pytest.raises(em.InputError, match="corrects parent by parent; use it with penalty='sum'"):
        em.TEA(null="shift", penalty="collective", **HOW)
    with pytest.raises(em.InputError, match="use Gaussian, or lag=1"):
        em.MIT(estimator=BASIS, lag=0)


@pytest.mark.parametrize("null", ["chi2", "f", "shift"])
def test_a_family_passes_where_its_test_does(null):
    """2 N T is over the penalty of a single parent exactly where its p-value is under the level."""
    seen = set()
    for seed in range(30):
        values = np.random.default_rng([36, seed]).normal(size=(200, 2))
        values[1:, 1] += 0.25 * values[:-1, 0]
        scorer = em.TEA(null=null, alpha=0.95, **HOW).bind(em.Series(values, names="ab"))
        passes = run(scorer.test(Link(0, 1, ()))).p_value < 0.05
        assert (scorer.family_score(1, (0,)) > 0) == passes
        seen.add(passes)
    assert seen == {True, False}


# --- the same value everywhere ------------------------------------------------------------------------------------


def test_a_link_has_one_value_wherever_it_is_asked(tmp_path, shell):
    series = curved()
    value = em.transfer_entropy(series, "a", "b", **HOW)
    net = em.infer(series, score=em.TEA(null="shift", **HOW))
    assert net.parents == {"a": (), "b": ("a",), "c": ("b",)}
    transfers = Transfers(series, BASIS, em.Embedding())
    x, y, z = transfers.variables([0], 1)
    found = {
        "local": em.transfer_entropy(series, "a", "b", local=True, **HOW).mean(),
        "te_matrix": em.te_matrix(series, **HOW).te.loc["a", "b"],
        "significance": em.significance(series, "a", "b", n_surrogates=19, **HOW).value,
        "formula": em.significance(series, "a", "b", n_surrogates=0, **HOW).value,
        "interval": em.interval(series, "a", "b", **HOW).value,
        "infer": net.edges.set_index("target").te["b"],
        "prepared": transfers.prepared(y, z).cmi(transfers.blocks.take(x)),
    }
    assert found == pytest.approx(dict.fromkeys(found, value), abs=1e-10)
    tested = em.te_matrix(series, **HOW).p_value.loc["a", "b"]
    assert tested == pytest.approx(em.significance(series, "a", "b", n_surrogates=0, **HOW).p_value, rel=1e-6)
    series.to_csv(tmp_path / "s.csv")
    code, printed, told = shell(
        f"te {tmp_path / 's.csv'} a b --features basis --responses 4 --dim 1 --surrogates 0 --json"
    )
    assert code == 0, told
    assert value == pytest.approx(json.loads(printed)["te"], rel=1e-5)


def test_a_profile_at_lag_one_is_the_transfer_entropy_of_its_samples():
    series = curved()
    profile = em.lag_profile(series, "a", "b", max_lag=3, estimator=BASIS, n_surrogates=0)
    assert profile.best == 1
    late = em.transfer_entropy(series[2:], "a", "b", **HOW)
    assert profile.te[0] == pytest.approx(late, rel=0.05)  # ranks are those of the whole record
    assert profile.te[0] > profile.threshold > profile.te[2]  # a's memory is over after two samples


def test_workers_stores_and_files_change_nothing(tmp_path):
    series, asked = curved(), {"score": em.TEA(null="shift", **HOW)}
    net = em.infer(series, **asked)
    store = tmp_path / "run.db"
    assert em.infer(series, n_jobs=2, **asked) == net == em.infer(series, store=store, **asked)
    assert em.infer(series, store=store, **asked) == net
    net.to_json(tmp_path / "net.json")
    assert em.Network.from_json(tmp_path / "net.json") == net
    fewer = em.TEA(null="shift", estimator=em.Regression("basis", responses=2), embedding=em.Embedding())
    assert em.infer(series, store=tmp_path / "other.db", score=fewer).score != net.score


def test_trials_and_missing_values_take_out_windows_and_nothing_else():
    first, second = curved(150, 1).values, curved(150, 2).values
    together = em.transfer_entropy(em.Series([first, second], names="abc"), "a", "b", **HOW)
    values, rows = ranked(np.concatenate([first, second])), np.r_[1:150, 151:300]
    y, z, x = values[rows, 1], values[rows - 1, 1], values[rows - 1, 0]
    assert together == pytest.approx(naive.basis_cmi(x[:, None], y[:, None], z[:, None], 4), abs=1e-9)
    holed = first.copy()
    holed[70, 0] = np.nan
    with pytest.warns(em.HazardWarning, match="147 of 149 windows"):
        got = em.transfer_entropy(em.Series(holed, names="abc", missing="drop"), "a", "b", **HOW)
    assert got == pytest.approx(em.transfer_entropy(em.Series(first, names="abc"), "a", "b", **HOW), abs=0.05)


def test_limits_hold_the_value_of_a_parabola():
    """y follows the square of x; of 300,000 samples the value is .0963. Misses are on both sides."""
    truth, missed = 0.0963, []
    for seed in range(200):
        rng = np.random.default_rng([38, seed])
        x, y = rng.normal(size=(2, 300))
        y[1:] += 0.3 * x[:-1] ** 2
        found = em.interval(em.Series({"x": x, "y": y}), "x", "y", **HOW)
        missed.append((truth < found.low, truth > found.high))
    below, above = np.mean(missed, axis=0)
    assert below + above < 0.12
    assert above < 0.08
