"""The test of a link: its parts beside naive twins, and that one link has one answer wherever it is asked."""

import warnings

import numpy as np
import pytest

import enmesh as em
from enmesh.embedding.lagged import Lagged
from enmesh.estimators.wilks import tails, wilks_p
from enmesh.links import selection
from enmesh.links.functions import FUNCTIONS, orthonormal, rank_functions
from enmesh.links.horizon import horizon
from enmesh.links.known import IMPRECISION, Known
from enmesh.links.ladder import Ladder, Turns, at_all_lags, combined, regression_of, rung_sets, rungs, shifted, turns_of
from enmesh.links.samples import Samples
from tests import naive


@pytest.fixture(scope="module")
def chain():
    return em.simulate.var("a>b, b>c", n=400, seed=3)


def curved(seed, n=600, nodes=4):
    """A node by a sine, one by a variance, one by a line."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 100, nodes))
    for t in range(1, len(x)):
        x[t, 1] = 0.4 * x[t - 1, 1] + 0.7 * np.sin(3 * x[t - 1, 0]) + 0.5 * x[t, 1]
        x[t, 2] = 0.4 * x[t - 1, 2] + x[t, 2] * np.sqrt(0.2 + 0.8 * x[t - 1, 0] ** 2)
        x[t, 3] = 0.4 * x[t - 1, 3] + 0.5 * x[t - 1, 0] + x[t, 3]
    return em.Series(x[100:])


# --- parts, beside their twins -------------------------------------------------------------------------------------


def test_functions_are_orthonormal_and_as_many_as_values_allow():
    x = np.random.default_rng(0).normal(size=500)
    found = rank_functions(x)
    assert np.allclose(found @ found.T / 500, np.eye(len(found)))
    assert np.corrcoef(found[0], x)[0, 1] > 0.99
    three = rank_functions(np.arange(300) % 3)
    assert np.abs(three[:2]).max() > 0
    assert not three[2:].any()


def test_functions_of_ranks_do_not_see_how_values_are_stretched():
    x = np.random.default_rng(1).normal(size=200)
    assert np.allclose(rank_functions(x), rank_functions(np.exp(3 * x)))


@pytest.mark.parametrize(("p", "weights"), [([0.2, 0.01], [0.5, 0.5]), ([0.3, 0.4, 1e-8], [0.7, 0.2, 0.1])])
def test_combination_of_p_values(p, weights):
    found = combined(np.array(p), np.array(weights))
    assert found == pytest.approx(naive.cauchy_combination(p, weights), rel=1e-6)


def test_combination_of_tiny_p_values_is_finite():
    assert 0 < combined(np.array([1e-320, 0.5]), np.array([0.1, 0.9])) < 1e-290


def test_one_response_is_the_f_test():
    from scipy.stats import f

    ratio, m, rest = 0.08, 3, 90
    share = 1 - np.exp(-ratio)
    exact = f.sf(share / (1 - share) * (rest - m) / m, m, rest - m)
    assert wilks_p(np.array(ratio), np.array(m), 1, rest) == pytest.approx(exact, rel=1e-9)


def test_several_responses_and_one_feature_are_hotelling():
    from scipy.stats import f

    ratio, q, rest = 0.1, 4, 120
    share = 1 - np.exp(-ratio)
    exact = f.sf(share / (1 - share) * (rest - 1 - q + 1) / q, q, rest - 1 - q + 1)
    assert wilks_p(np.array(ratio), np.array(1), q, rest) == pytest.approx(exact, rel=1e-6)


@pytest.mark.parametrize("margin", [1e-9, 0.02, 0.3])
def test_a_margin_is_a_noncentral_f_test(margin):
    from scipy.stats import ncf

    rest, m = 200, 3
    for ratio in np.log1p(margin + np.array([0.03, 0.1, 0.2])):
        exact = ncf.sf(np.expm1(ratio) * (rest - m) / m, m, rest - m, rest * margin)
        found = wilks_p(np.array(ratio), np.array(m), 1, rest, margin=margin)
        assert 0.95 * exact < found < (3 * exact if margin > 1e-3 else 1.01 * exact)  # Patnaik's is a little large


def test_the_margin_is_a_share_of_what_known_sources_explain_that_a_source_depends_on(chain):
    samples = Samples.of(chain.in_order(), 2)
    own, given = [Lagged(2, 1)], [Lagged(1, 1)]
    known, alone = (Known(samples, 2, some, 0, bases=1) for some in ([*own, *given], own))
    assert alone.margin == 0
    assert known.margin == pytest.approx(IMPRECISION * (alone.error / known.error - 1))
    assert known.margin > 0
    basis = known.views[0].basis.T
    for place, variable in enumerate(at_all_lags(samples, 0)):
        x = samples.take(samples.scale(known.ranked), [variable], known.rows)[0]
        slow = max(0, 1 - naive.left_share(basis, x) * known.n / (known.n - known.rank))
        shared = rungs(known, at_all_lags(samples, 0))[0].shared[place]
        assert shared == pytest.approx(slow, abs=1e-9)


def test_what_known_sources_explain_inexactly_is_no_link():
    """A drives b and b drives c: measurement noise in b leaves a trace of a in c, which many samples show."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(20_000, 3))
    for t in range(1, len(x)):
        x[t, 1] = x[t - 1, 0] + 0.1 * x[t, 1]
        x[t, 2] = x[t - 1, 1] + 0.1 * x[t, 2]
    x[:, 1] += 0.05 * rng.normal(size=len(x))  # .25 % of its variance
    assert set(em.infer(em.Series(x, names=list("abc")), max_lag=2)) == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize(("power", "features", "heavier"), [(1, 1, False), (3, 1, True), (3, 2, True)])
def test_heavy_tails_together_widen_the_statistic_as_permutations_say(power, features, heavier):
    rng = np.random.default_rng(power)
    x, y = (orthonormal(one - one.mean(1)[:, None]) for one in rng.normal(size=(2, features, 60)) ** power)
    sizes = [float(((x @ rng.permutation(y.T)) ** 2).sum()) for _ in range(20_000)]
    ratio = np.var(sizes) / (2 * features * features / 60**2)
    assert tails(x, y) == pytest.approx(max(ratio, 1), rel=0.1)
    assert (tails(x, y) > 1.5) == heavier


def test_spread_that_known_variables_explain_is_not_in_the_response():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(4000, 2))
    x[1:, 1] *= np.exp(0.8 * x[:-1, 0])
    known = Known(Samples.of(em.Series(x), 1), 1, [Lagged(1, 1), Lagged(0, 1)], 0)
    quiet = np.argsort(x[:-1, 0])[:3996]
    spread = known.views[1].responses[-1][quiet].reshape(4, -1).std(axis=1)
    assert spread.max() < 1.6 * spread.min()  # 4.5 times, if the spread were left


def test_error_of_what_is_known_is_leave_one_out(chain):
    samples = Samples.of(chain.in_order(), 3)
    known = Known(samples, 1, [Lagged(1, 1), Lagged(0, 1)], 0, bases=1)
    y = samples.take(samples.scale(known.ranked), [Lagged(1, 0)], known.rows)[0]
    y = y - y.mean()
    x = samples.take(samples.scale(known.ranked), known.variables, known.rows)
    slow = naive.leave_one_out(np.column_stack([np.ones(len(y)), x.T]), y) / np.mean(y**2)
    assert known.error == pytest.approx(slow * (1 / 0.995 if known.ranked else 1), rel=1e-6)


def uneven(n=600, seed=1):
    """A target b whose noise depends on its own last value, a weak source a, and six other nodes."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(n, 8)), rng.normal(size=n)
    for t in range(1, n):
        own = np.tanh(x[t - 1, 1])
        x[t, 1] = 0.4 * own + 0.1 * x[t - 1, 0] + np.exp(2 * own) * noise[t]
    x[:, 2:] *= 10
    return em.Series(x, names=list("abcdefgh"))


@pytest.mark.parametrize("weighted", [False, True])
def test_rungs_are_ratios_of_residual_covariances(chain, weighted):
    samples = Samples.of(uneven() if weighted else chain.in_order(), 2)
    known = Known(samples, 1, [Lagged(1, 1)], 0)
    from enmesh.links.ladder import _features

    candidates, views = at_all_lags(samples, 0), known.views
    assert (np.abs(known.weighted(np.ones(known.n)) - 1).max() > 0.5) == weighted
    features = [_features(known, candidates, view, None)[0] for view in (0, 1)]
    for number, rung in enumerate(rungs(known, candidates)):
        view = int(number > 1)
        _, which, some = rung_sets(features[view].shape[1], len(known.responses))[number]
        for place in range(2):
            x, y = features[view][place][which].T, views[view].responses[some].T
            slow = naive.minus_log_wilks(views[view].basis.T, x, y)
            assert rung.ratio[place] == pytest.approx(slow, rel=1e-3, abs=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
def test_rungs_with_products_are_evened(chain, weighted):
    from enmesh.links.ladder import _features

    samples = Samples.of(uneven() if weighted else chain.in_order(), 2)
    known = Known(samples, 1, [Lagged(1, 1), Lagged(2, 1)], 0)
    made, ones = rungs(known, [Lagged(0, 1)]), np.ones((1, known.n))
    for view, rung in (0, 1), (1, 4):
        (basis, responses), (*_, some) = known.views[view], rung_sets(8, len(known.responses))[rung]
        x = _features(known, [Lagged(0, 1)], view, None)[0, 0]
        x = x[[0, FUNCTIONS + 1]] if view else x  # of the shape: score and product
        left = x - (x @ basis.T) @ basis
        left /= np.linalg.norm(left, axis=1)[:, None]
        factors = np.concatenate([ones, known.partners[:1] if view else known.weighted(known.partners)])
        factors[0] = 1 if view else known.weighted(ones)[0]
        slow = naive.evenness(left.T, responses[some].T, factors.T, () if view else (1,))
        assert made[rung].even[0] == pytest.approx(slow, rel=1e-6)
        assert abs(slow - 1) > 0.001


def test_products_of_counts_hold_the_level_as_the_noise_depends_on_the_own_past():
    rng, rare = np.random.default_rng(1), []
    rate = rng.normal(size=(500, 60))
    for t in range(1, 500):
        rate[t] += 0.8 * rate[t - 1]
    samples = Samples.of(em.Series(rng.poisson(np.exp(rate / 2)).astype(float)), 1)
    for target in range(30):
        known = Known(samples, target, [Lagged(target, 1)], 0)
        shape = rungs(known, [Lagged(j, 1) for j in range(60) if j != target])[4]
        freedom = shape.features, len(known.responses), known.n - known.rank
        rare.append([wilks_p(shape.ratio * even, *freedom) <= 0.01 for even in (1, shape.even)])
    plain, even = np.mean(rare, axis=(0, 2))
    assert plain > 0.03
    assert even < 0.025


def test_a_weighted_regression_is_weighted_least_squares():
    samples = Samples.of(uneven(), 2)
    known = Known(samples, 1, [Lagged(1, 1)], 0, bases=1)
    weights = known.weighted(np.ones(known.n))
    y, z = (samples.take(samples.scale(known.ranked), [Lagged(1, lag)], known.rows)[0] for lag in (0, 1))
    left = naive.weighted_residual(y, np.column_stack([np.ones(known.n), z]), weights)
    score = rank_functions(left, 1)[0]
    assert abs(np.corrcoef(score, known.views[0].responses[0])[0, 1]) > 0.999
    quiet, loud = (np.std(left[z * sign > 0.5]) for sign in (-1, 1))
    assert loud < 1.5 * quiet  # without weights 4 times


def test_weights_find_a_weak_source():
    found = [em.significance(uneven(seed=seed), "a", "b").p_value for seed in range(1, 5)]
    plain = [em.significance(uneven(seed=seed), "a", "b", estimator="gaussian").p_value for seed in range(1, 5)]
    assert np.median(found) < 0.01 < np.median(plain)


def test_features_that_are_known_add_nothing(chain):
    samples = Samples.of(chain.in_order(), 2)
    known = Known(samples, 1, [Lagged(1, 1), Lagged(0, 1)], 0)
    added, responses = regression_of(known, [Lagged(0, 1)], 0)
    assert len(added) == 0
    assert tails(responses, added) == 1


def test_shifts_are_circular():
    x = np.arange(12.0).reshape(2, 6)
    found = shifted(x, Turns(6, (1, 4)))
    assert np.array_equal(found[0], np.roll(x, 1, axis=1))
    assert np.array_equal(found[1], np.roll(x, 4, axis=1))
    closed = shifted(x, Turns(5, (2,)))[0]
    assert closed[0].tolist() == [3, 4, 0, 1, 2, 3]


def test_a_periodic_record_is_shifted_without_a_break():
    t = np.arange(200)
    series = em.Series(np.stack([np.sin(2 * np.pi * t / 17), np.random.default_rng(0).normal(size=200)], axis=1))
    known = Known(Samples.of(series, 1), 1, [Lagged(1, 1)], 0)
    x = series.values[1:, :1].T
    for moved in shifted(x, turns_of(known, x))[:, 0]:
        jumps = np.abs(np.diff(moved, 2)).max()
        assert jumps < 1.3 * np.abs(np.diff(x[0], 2)).max()


def test_local_values_average_to_the_value():
    series = curved(0)
    for target in ("x1", "x2", "x3"):
        local = em.transfer_entropy(series, "x0", target, local=True)
        assert local.mean() == pytest.approx(em.transfer_entropy(series, "x0", target), rel=1e-6)


# --- what is found -------------------------------------------------------------------------------------------------


def test_links_by_sines_variances_and_lines_unite():
    found = {tuple(edge) for edge in em.infer(curved(1))}
    assert found == {("x0", "x1"), ("x0", "x2"), ("x0", "x3")}


def test_one_linear_and_two_sine_sources_of_one_target():
    rng = np.random.default_rng(4)
    x = rng.normal(size=(1100, 4))
    for t in range(1, len(x)):
        drive = 0.4 * x[t - 1, 0] + 0.6 * np.sin(3 * x[t - 1, 1]) + 0.6 * np.sin(3 * x[t - 1, 2])
        x[t, 3] = 0.3 * x[t - 1, 3] + drive + 0.5 * x[t, 3]
    assert set(em.infer(em.Series(x[100:])).parents["x3"]) == {"x0", "x1", "x2"}


def test_a_linear_proxy_does_not_stand_in_for_the_driver():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(1100, 3))
    for t in range(3, len(x)):
        x[t, 1] = 0.3 * x[t - 1, 1] + 0.7 * np.sin(3 * x[t - 1, 0]) + 0.5 * x[t, 1]
        x[t, 2] = 0.3 * x[t - 1, 2] + 0.7 * np.sin(3 * x[t - 3, 0]) + 0.5 * x[t, 2]
    assert set(em.infer(em.Series(x[100:]))) == {("x0", "x1"), ("x0", "x2")}


@pytest.mark.parametrize("how", ["product", "sign", "xor"])
def test_sources_that_act_only_together_are_partners(how):
    rng = np.random.default_rng(6)
    x = rng.normal(size=(1000, 3))
    if how == "xor":
        x = rng.integers(0, 2, (1000, 3))
        x[1:, 2] = x[:-1, 0] ^ x[:-1, 1]
    else:
        for t in range(2, len(x)):
            both = x[t - 1, 0] * x[t - 2, 1]
            x[t, 2] += 0.4 * x[t - 1, 2] + (0.6 * both if how == "product" else 0.8 * np.sign(both))
    edges = em.infer(em.Series(x)).edges.set_index("source")
    assert set(edges.index) == {"x0", "x1"}
    assert edges.partner.to_dict() == {"x0": "x1", "x1": "x0"}
    if how == "xor":
        assert edges.te.to_numpy() == pytest.approx(np.log(2), abs=0.01)


def test_ordinary_links_have_no_partner():
    assert set(em.infer(curved(2)).edges.partner) == {""}


def test_masked_rows_cost_no_more_than_cutting_them():
    series = em.simulate.coupled_map("a>b, b>c", n=500, seed=0)
    assert set(em.infer(series.mask(range(100)))) == set(em.infer(series)) == {("a", "b"), ("b", "c")}


def test_scattered_missing_values_leave_enough():
    series = em.simulate.var("a>b, b>c", n=2000, seed=0)
    values = np.array(series.values)
    values[np.random.default_rng(0).random(values.shape) < 0.2] = np.nan
    assert set(em.infer(em.Series(values, names=["a", "b", "c"], missing="drop"))) == {("a", "b"), ("b", "c")}


def test_many_short_trials():
    trials = [em.simulate.var("a>b", n=8, seed=seed).values for seed in range(400)]
    assert set(em.infer(em.Series(trials, names=["a", "b"]), max_lag=1)) == {("a", "b")}


def test_feedback_is_found_and_acyclic_keeps_the_stronger_half():
    rng = np.random.default_rng(7)
    x = rng.normal(size=(800, 2))
    for t in range(1, len(x)):
        x[t] += 0.3 * x[t - 1] + np.array([0.3 * x[t - 1, 1], 0.5 * x[t - 1, 0]])
    series = em.Series(x)
    assert set(em.infer(series)) == {("x0", "x1"), ("x1", "x0")}
    acyclic = em.infer(series, acyclic=True)
    assert list(acyclic) == [("x0", "x1")]
    assert acyclic.optimal
    assert acyclic.removed == (("x1", "x0"),)
    assert acyclic.gap > 0


def test_names_and_order_of_columns_change_nothing():
    series = curved(3)
    net = em.infer(series)
    renamed = dict(zip(series.names, ("q", "b", "z", "a")))
    order = [2, 0, 3, 1]
    other = em.infer(em.Series(series.values[:, order], names=[renamed[series.names[i]] for i in order]))
    assert {(renamed[s], renamed[t]) for s, t in net} == set(other)
    first = {(renamed[e.source], renamed[e.target]): e.te for e in net.edges.itertuples()}
    second = {(e.source, e.target): e.te for e in other.edges.itertuples()}
    assert first == pytest.approx(second)


def test_bystanders_with_heavy_tails_and_states_lose_no_link():
    series = curved(8)
    rng = np.random.default_rng(8)
    more = [rng.standard_cauchy(600), rng.integers(0, 3, 600).astype(float), np.round(rng.normal(size=600))]
    both = em.Series(np.column_stack([series.values, *more]))
    assert set(em.infer(series)) <= set(em.infer(both))


# --- options -------------------------------------------------------------------------------------------------------


def test_a_target_may_have_many_sources():
    rng = np.random.default_rng(5)
    x = rng.normal(size=(800, 26))
    x[1:, 0] += 0.3 * x[:-1, 1:21].sum(1)
    network = em.infer(em.Series(x), candidates={f"x{i}": [] for i in range(1, 26)}, max_lag=1)
    assert network.adjacency[1:21, 0].all()
    assert network.adjacency.sum() <= 21


def test_context_is_known_and_never_driven():
    rng = np.random.default_rng(9)
    x = rng.normal(size=(800, 3))
    for t in range(2, len(x)):
        x[t, 1] += 0.8 * x[t - 1, 0]
        x[t, 2] += 0.8 * x[t - 2, 0]
    net = em.infer(em.Series(x), context="x0")
    assert net.parents["x0"] == ()
    assert ("x1", "x2") not in net
    assert ("x0", "x1") in net
    assert "x0" not in set(net.pairs.target)


def test_every_possible_pair_has_a_value_and_a_p_value(chain):
    pairs = em.infer(chain).pairs
    assert len(pairs) == 6
    assert np.isfinite(pairs[["te", "p_value", "q_value"]].to_numpy()).all()
    fewer = em.infer(chain, forbidden=[("a", "c"), ("c", "a")]).pairs
    assert len(fewer) == 4


def test_constraints_give_power(chain):
    few = em.infer(chain, candidates={"a": [], "b": ["a"], "c": ["b"]})
    many = em.infer(chain)
    q = [net.edges.set_index("target").q_value["b"] for net in (few, many)]
    assert q[0] < q[1]


def test_the_level_of_a_large_network_is_raised_where_that_adds_few_false_links():
    rng = np.random.default_rng(3)
    truth = {
        f"n{i:02}": [f"n{j:02}" for j in rng.choice(np.delete(np.arange(30), i), 3, replace=False)] for i in range(30)
    }
    weak = em.simulate.var(truth, n=500, coupling=0.12, seed=3)
    network = em.infer(weak, max_lag=1)
    level = {what: (value, why) for what, value, why in network.choices}["level"]
    assert "raised from 0.00115" in level[1]
    assert float(level[0]) > 1 / 870
    fixed = em.infer(weak, level=1 / 870, max_lag=1)
    true = {(s, t) for t, some in truth.items() for s in some}
    assert len({*network} & true) > len({*fixed} & true)
    assert len({*network} - true) <= 0.1 * len(network)


def test_the_level_of_a_large_network_without_links_is_not_raised():
    noise = np.random.default_rng(4).normal(size=(400, 30))
    for values in (noise, np.cumsum(noise, axis=0)):
        why = next(reason for what, _, reason in em.infer(em.Series(values), max_lag=1).choices if what == "level")
        assert "raised" not in why


def test_false_discovery_rate_keeps_by_q(chain):
    net = em.infer(chain, fdr=0.05)
    assert (net.edges.q_value <= 0.05).all()
    assert set(net) >= {("a", "b"), ("b", "c")}


def test_a_level_beside_a_false_discovery_rate_limits_it():
    series = em.simulate.var("a>b, c>d", n=300, coupling=0.2, seed=52)
    loose = em.infer(series, fdr=0.3)
    assert em.infer(series, fdr=0.3, level=0.3).edges.equals(loose.edges)
    strict = em.infer(series, fdr=0.3, level=1e-4)
    assert {*strict} < {*loose}
    assert (strict.edges.p_value <= 1e-4).all()
    assert strict.choices[1][2] == "as given; a false discovery rate of 0.3 among 12 pairs allows more"
    narrow = em.infer(series, fdr=1e-6, level=0.3)
    assert {*narrow} == {*em.infer(series, fdr=1e-6)} < {*strict}


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"level": 0}, "level=0"),
        ({"fdr": 2}, "fdr=2"),
        ({"alpha": 0.05}, "level=0.05"),
        ({"alpha": 0.9, "level": 0.1}, "both given"),
        ({"n_surrogates": 99}, "no effect"),
        ({"surrogate": "permute"}, "no effect"),
        ({"screen": True}, "no effect"),
        ({"max_lag": 300}, "at most"),
        ({"acyclic": "no"}, "True or False"),
        ({"estimator": "ksg", "context": "a"}, "belongs to the default test"),
    ],
)
def test_options_that_cannot_be_used_are_refused(chain, options, words):
    with pytest.raises(em.InputError, match=words):
        em.infer(chain, **options)


def test_alpha_still_works_with_a_warning_that_names_the_level(chain):
    with pytest.warns(em.HazardWarning, match=r"level=0\.05"):
        net = em.infer(chain, alpha=0.95)
    assert set(net) == set(em.infer(chain, level=0.05))


def test_a_lag_beyond_the_usual_ones_is_found():
    rng = np.random.default_rng(10)
    x = rng.normal(size=(2000, 3))
    x[12:, 1] += 0.8 * x[:-12, 0]
    assert horizon(em.Series(x), 0.01)[0] == 12
    net = em.infer(em.Series(x))
    assert net.edges.lag.tolist() == [12]


# --- one question, one answer --------------------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_link_has_one_answer_wherever_it_is_asked(seed):
    series = curved(20 + seed)
    net = em.infer(series)
    for row in net.pairs.itertuples():
        given = [name for name in net.parents[row.target] if name != row.source]
        test = em.significance(series, row.source, row.target, given=given)
        told = pytest.approx((row.te, row.p_value, row.lag), rel=1e-9)  # pairs are tested many at once
        assert (test.value, test.p_value, test.lag) == told
        assert em.transfer_entropy(series, row.source, row.target, given=given) == test.value
        profile = em.lag_profile(series, row.source, row.target, given=given)
        assert (profile.value, profile.p_value) == (test.value, test.p_value)
    edge = net.edges.iloc[0]
    assert net.explain(edge.source, edge.target).te == edge.te


def test_workers_and_stores_change_no_bit(tmp_path):
    series = em.simulate.var(em.simulate.random_dag(30, max_parents=2, seed=1), n=300, seed=1)
    net = em.infer(series)
    stored = em.infer(series, store=tmp_path / "run.db")
    again = em.infer(series, store=tmp_path / "run.db")
    assert net == stored == again == em.infer(series, n_jobs=2)


# --- chance --------------------------------------------------------------------------------------------------------


def null_kinds(kind, rng, n, m=4):
    """Return uncoupled nodes."""
    from scipy.signal import lfilter

    noise = rng.normal(size=(n + 100, m))
    if kind == "white":
        return noise[100:]
    if kind == "memory":
        return lfilter([1], [1, -0.95], noise, axis=0)[100:]
    if kind == "trend":
        return noise[100:] + np.linspace(0, 3, n)[:, None]
    if kind == "variance":
        scale = np.exp(0.8 * lfilter([1], [1, -0.98], 0.3 * rng.normal(size=(n + 100, 1)), axis=0))
        return (noise * scale)[100:]
    if kind == "states":
        return rng.integers(0, 4, (n, m))
    return rng.standard_t(2, size=(n, m))


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["white", "memory", "trend", "variance", "states", "tails"])
def test_the_level_holds_on_uncoupled_nodes(kind):
    found = 0
    for seed in range(60):
        series = em.Series(null_kinds(kind, np.random.default_rng([91, seed]), 300))
        with pytest.warns() if kind == "trend" else np.errstate():
            found += len(em.infer(series))
    pairs = 60 * 12
    assert found <= 0.01 * pairs + 2.5 * np.sqrt(0.01 * pairs)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["white", "memory", "states", "tails", "variance"])
def test_p_values_of_significance_are_uniform(kind):
    from scipy.stats import kstest

    p = []
    for seed in range(200):
        series = em.Series(null_kinds(kind, np.random.default_rng([92, seed]), 300, 2))
        p.append(em.significance(series, "x0", "x1", max_lag=3).p_value)
    assert kstest(p, "uniform").pvalue > 0.001


def test_ladder_of_one_lag_has_no_rung_of_all_lags(chain):
    samples = Samples.of(chain.in_order(), 1)
    known = Known(samples, 1, [Lagged(1, 1)], 0)
    assert 0 < Ladder(known, [Lagged(0, 1)]).combined().p_value < 1


def test_a_link_whose_sign_changes_halfway_is_found():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(600, 3))
    x[1:300, 1] += 0.6 * x[:299, 0]
    x[300:, 1] -= 0.6 * x[299:-1, 0]
    assert set(em.infer(em.Series(x, names=list("abc")))) == {("a", "b")}


def test_columns_that_are_mostly_0_have_no_links_by_rounding():
    found = 0
    for seed in range(4):
        rng = np.random.default_rng([seed, 31])
        x = rng.gamma(2, size=(1000, 5)) * (rng.random((1000, 5)) < 0.04)
        found += len(em.infer(em.Series(x), max_lag=3))
    assert found <= 3  # of 80 pairs; 20 to 40 if residuals of equal values are ranked


@pytest.mark.parametrize(("period", "n"), [(23.7, 1000), (167.3, 4000)])
def test_the_common_period_and_its_harmonics_follow_the_whole_record(period, n):
    rng = np.random.default_rng(0)
    phases = rng.random(4)
    x = (np.arange(n)[:, None] / period + phases) % 1 + 0.3 * rng.normal(size=(n, 4))
    waves = Samples.of(em.Series(x), 2).periodic
    assert len(waves) == 24
    turns = np.unwrap(np.angle(waves[0] + 1j * waves[1]))
    assert abs(turns[-1] / (2 * np.pi) - (n - 1) / period) < 0.05  # cycles


def test_a_season_that_is_no_sine_makes_no_links():
    found = 0
    for seed in range(3):
        rng = np.random.default_rng([seed, 5])
        x = 2 * ((np.arange(600)[:, None] / 24.3 + rng.random(5)) % 1) + rng.normal(size=(600, 5))
        found += len(em.infer(em.Series(x), max_lag=3))
    assert found <= 2  # of 60 pairs; 10 with two harmonics


def test_rare_coincidences_are_no_long_lag():
    for seed in range(6):
        rng = np.random.default_rng([seed, 9])
        x = (rng.random((1000, 6)) < 0.02).astype(float)
        assert horizon(em.Series(x), 0.01)[0] == 5


def test_a_shared_period_is_no_long_lag():
    rng = np.random.default_rng(11)
    time = np.arange(2000)[:, None]
    x = 2 * np.sin(2 * np.pi * (time / 24 + np.array([0, 0.3]))) + rng.normal(size=(2000, 2))
    assert horizon(em.Series(x), 0.01)[0] == 5


def test_the_page_names_the_constants_of_the_code():
    from pathlib import Path

    from enmesh.links import functions, known, ladder, selection, together
    from enmesh.links import horizon as scan

    page = (Path(__file__).parents[1] / "docs" / "defaults.md").read_text(encoding="utf-8")
    rows = {row.split(" | ")[0].strip("| "): row.split(" | ")[1] for row in page.splitlines() if row.startswith("| ")}
    for words, value in {
        "functions of a model, at most": known.LARGEST,
        "lagged variables that are known, at most": selection.MOST,
        "sources whose products with a further one are features, at most": known.PARTNERS,
        "functions of a variable, and of a residual": functions.FUNCTIONS,
        "correlation of a far lag, as a multiple of that at all other lags": scan.ALONE,
        "circular shifts": ladder.SHIFTS,
        "lagged variables of which products are formed, at most": together.MOST,
        "samples that a regression, or a lag, needs": scan.LEAST,
    }.items():
        assert rows[words] == f"{value:g}"


def test_scattered_missing_values_leave_a_network():
    """A fifth of all values missing: no window of all nodes is complete, those of families are."""
    rng = np.random.default_rng(41)
    x = rng.normal(size=(800, 6))
    for t in range(1, len(x)):
        x[t, 1] += 0.8 * x[t - 1, 0]
    x[rng.random(x.shape) < 0.2] = np.nan
    net = em.infer(em.Series(x, missing="drop"))
    assert ("x0", "x1") in set(net)
    assert np.isfinite(net.edges.set_index(["source", "target"]).effect["x0", "x1"])
    assert net.explain("x0", "x1").te == net.edges.iloc[0].te


@pytest.mark.parametrize("share", [0.2, 0.45])
def test_missing_values_do_not_use_up_the_samples_of_a_selection(share):
    for seed in range(4):
        rng = np.random.default_rng(seed)
        x = rng.normal(size=(200, 6))
        x[rng.random(x.shape) < share] = np.nan
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            series = em.Series(x, missing="drop")
            net = em.infer(series)
        samples = Samples.of(series.in_order(), 5)
        for target in range(6):
            found = selection.selected(samples, target, [j for j in range(6) if j != target], 0.01, (), 5)
            known = [Lagged(target, lag) for lag in (0, *found.own)] + found.given(found.sources)
            assert len(samples.complete(known)) >= 20
        assert len(net) <= 3
