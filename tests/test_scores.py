from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from scipy.stats import f as f_distribution

import enmesh as em
from enmesh.embedding import Lagged
from enmesh.measures import Transfers
from enmesh.methods import members
from enmesh.scores import Link, Score
from enmesh.scores.mit import largest_sum
from enmesh.scores.shift_null import LineNull
from enmesh.significance import Sampling, by_surrogates
from enmesh.tasks import run
from tests import naive
from tests.batteries import battery_of, linear, states

EMBEDDING = em.Embedding(dim={"a": 1, "b": 2, "c": 1})


SCORES = {
    "te": (linear, em.TE(estimator=em.Gaussian(), embedding=EMBEDDING)),
    "te-ksg": (linear, em.TE(estimator=em.KSG(), embedding=EMBEDDING)),
    "tea": (linear, em.TEA(embedding=EMBEDDING)),
    "tea-f": (linear, em.TEA(embedding=EMBEDDING, null="f")),
    "tea-ess": (linear, em.TEA(embedding=EMBEDDING, null="ess")),
    "tea-collective": (linear, em.TEA(embedding=EMBEDDING, penalty="collective")),
    "tea-discrete": (states, em.TEA(estimator=em.Discrete(), embedding=EMBEDDING)),
    "tea-curves": (linear, em.TEA(estimator=em.Regression(), embedding=EMBEDDING)),
    "tea-curves-shift": (linear, em.TEA(estimator=em.Regression(), embedding=EMBEDDING, null="shift")),
    "bic-curves": (linear, em.Criterion("bic", estimator=em.Regression(), embedding=EMBEDDING)),
    "mit-curves": (linear, em.MIT(estimator=em.Regression())),
    "tee": (linear, em.TEE(estimator=em.Gaussian(), embedding=EMBEDDING, alpha=0.9, n_surrogates=19)),
    "tee-ksg": (linear, em.TEE(estimator=em.KSG(), embedding=EMBEDDING, alpha=0.9, n_surrogates=19)),
    "tee-collective": (
        linear,
        em.TEE(estimator=em.Gaussian(), embedding=EMBEDDING, alpha=0.9, n_surrogates=19, penalty="collective"),
    ),
    "bic": (linear, em.Criterion("bic", embedding=EMBEDDING)),
    "aic-discrete": (states, em.Criterion("aic", estimator=em.Discrete(), embedding=EMBEDDING)),
    "mit": (states, em.MIT()),
    "link": (linear, em.LinkTest(max_lag=2)),
    "mit-now": (linear, em.MIT(estimator=em.Gaussian(), lag=0)),
}
battery = pytest.mark.parametrize("name", SCORES)


@battery
@pytest.mark.parametrize("check", battery_of("score"), ids=lambda check: check.__name__)
def test_battery(name, check):
    make, score = SCORES[name]
    check(score, make)


def test_every_score_joins_the_battery():
    assert {type(score) for _, score in SCORES.values()} == set(members(Score).values())


@settings(max_examples=60)
@given(st.sampled_from(sorted(SCORES)), st.permutations("abc"), st.integers(1, 2), st.randoms())
def test_order_of_parents_never_matters(name, nodes, size, random):
    """And locals add up to the total, and an empty set scores 0, for any family of any score."""
    make, score = SCORES[name]
    target, *parents = nodes[: size + 1]
    shuffled = random.sample(parents, len(parents))
    there, back = (em.score(make(150), {target: some}, score) for some in (parents, shuffled))
    assert there.local == back.local
    assert there.total == pytest.approx(sum(there.local.values()))
    if not isinstance(score, em.Criterion):
        assert all(value == 0.0 for node, value in there.local.items() if node != target)


# --- TE ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("make", "estimator"), [(linear, em.Gaussian()), (states, em.Discrete())])
def test_naive_te_wants_every_edge_and_the_others_do_not(make, estimator):
    """Corollary 1."""
    series, pairs = make(), [(j, i) for j, i in product(range(3), repeat=2) if j < i]
    naive_te = em.TE(estimator=estimator, embedding=em.Embedding())
    graphs = []
    for mask in range(2 ** len(pairs)):
        graph = {"a": [], "b": [], "c": []}
        for bit, (j, i) in enumerate(pairs):
            if mask >> bit & 1:
                graph["abc"[i]].append("abc"[j])
        graphs.append(graph)
    full = graphs[-1]
    best = max(graphs, key=lambda g: em.score(series, g, naive_te).total)
    assert best == full
    tea = em.TEA(estimator=estimator, embedding=em.Embedding())
    tee = em.TEE(estimator=estimator, embedding=em.Embedding(), n_surrogates=99)
    for score in (tea, tee):
        scores = [em.score(series, g, score).total for g in graphs]
        assert max(scores) > scores[-1]


# --- TEA ------------------------------------------------------------------------------------------------------------


def test_tea_by_hand():
    series, n = linear(), 248
    te = em.transfer_entropy(series, ["a", "b"], "c", estimator=em.Gaussian(), embedding=EMBEDDING)
    summed = em.score(series, {"c": ["a", "b"]}, em.TEA(embedding=EMBEDDING, alpha=0.95)).local["c"]
    assert summed == pytest.approx(2 * n * te - chi2.ppf(0.95, 1) - chi2.ppf(0.95, 2), abs=1e-8)
    together = em.TEA(embedding=EMBEDDING, alpha=0.95, penalty="collective")
    assert em.score(series, {"c": ["a", "b"]}, together).local["c"] == pytest.approx(
        2 * n * te - chi2.ppf(0.95, 3), abs=1e-8
    )


def test_f_null_is_the_exact_test_of_a_regression():
    """2 N T at its quantile means an F statistic at its own."""
    alpha, n = 0.95, 248
    score = em.TEA(embedding=EMBEDDING, alpha=alpha, null="f").bind(linear())
    penalty = score.penalty(2, (1,))
    rest = n - 1 - 1 - 2
    statistic = np.expm1(penalty / n) * rest / 2
    assert f_distribution.cdf(statistic, 2, rest) == pytest.approx(alpha)


def test_effective_sample_size_raises_the_penalty_of_autocorrelated_residuals():
    rng = np.random.default_rng(0)
    x = np.zeros((600, 2))
    for t in range(2, 600):
        x[t] = 1.3 * x[t - 1] - 0.4 * x[t - 2] + rng.normal(size=2)
    series = em.Series(x, names="ab")
    short = em.TEA(embedding=em.Embedding(dim=1), null="ess").bind(series)
    right = em.TEA(embedding=em.Embedding(dim=2), null="ess").bind(series)
    plain = em.TEA(embedding=em.Embedding(dim=1)).bind(series)
    assert short.penalty(1, (0,)) > 1.1 * plain.penalty(1, (0,))
    assert right.penalty(1, (0,)) == pytest.approx(chi2.ppf(0.99, 2), rel=0.1)


def test_mit_penalties_and_degrees_of_freedom():
    """Arity 3, alpha .999, cumulative, in the paper's predecessor."""
    table = [18.47, 51.37, 119.35, 278.51, 686.92, 1800.9]
    rng = np.random.default_rng(0)
    series = em.Series(rng.integers(0, 3, (500, 7)))
    score = em.MIT(estimator=em.Discrete(), alpha=0.999).bind(series)
    found = [score.penalty(0, tuple(range(1, p + 1))) for p in range(1, 7)]
    np.testing.assert_allclose(found, table, rtol=2e-4, atol=0.01)


def test_discrete_degrees_of_freedom_telescope():
    """(r_i - 1)(r_j^kappa_j - 1) r_i^kappa_i prod earlier r_k^kappa_k sums to the collective count."""
    series = states()
    tea = em.TEA(estimator=em.Discrete(), embedding=EMBEDDING).bind(series)
    blocks = tea.transfers.blocks
    dof = tea.score.estimator.dof

    def columns(nodes):
        return blocks.arities(blocks.past(nodes, 0))

    own = columns([0])
    one, then = dof((2,), columns([1]), own), dof((2,), columns([2]), own + columns([1]))
    assert (one, then) == ((2 - 1) * (2**2 - 1) * 2, (2 - 1) * (3 - 1) * 2 * 2**2)
    assert one + then == dof((2,), columns([1, 2]), own)


@settings(max_examples=60)
@given(
    st.lists(st.integers(2, 5), min_size=1, max_size=4),
    st.sampled_from([0.1, 0.3, 0.5, 0.6, 0.7, 0.9, 0.99, 0.999]),
    st.integers(2, 4),
)
def test_largest_penalty_equals_all_permutations(arities, alpha, own):
    def quantile(j, earlier):
        before = int(np.prod([arities[k] for k in earlier])) if earlier else 1
        return chi2.ppf(alpha, 2 * (arities[j] - 1) * own * before)

    found = largest_sum(tuple(range(len(arities))), lambda j: arities[j], quantile, alpha)
    assert found == pytest.approx(naive.largest_penalty(alpha, 3, own, arities), rel=1e-9)


def test_tea_flips_between_nats_and_bits():
    """With N = 1000 and correlation .05: 2 N T = 2.503 in nats, 3.611 in bits, against 2.706."""
    te = -np.log(1 - 0.05**2) / 2
    assert 2000 * te == pytest.approx(2.503, abs=1e-3)
    assert 2000 * te < chi2.ppf(0.9, 1) < 2000 * te / np.log(2)


# --- TEE ------------------------------------------------------------------------------------------------------------


def three_drivers(n):
    rng = np.random.default_rng(0)
    values = rng.normal(size=(n, 4))
    values[1:, 3] += values[:-1, :3] @ [0.3, 0.8, 0.5]
    return em.Series(values, names="abcd")


@pytest.mark.parametrize("estimator", [em.Gaussian(), em.KSG(), em.Ordinal()])
@pytest.mark.parametrize("parents", [(0,), (0, 1), (0, 1, 2)])
def test_sequential_tee_equals_its_naive_twin(estimator, parents):
    series = three_drivers(150)
    score = em.TEE(estimator=estimator, embedding=em.Embedding(), alpha=0.9, n_surrogates=19, seed=4)
    transfers = Transfers(series, estimator, em.Embedding())

    def value(j, earlier):
        return transfers.value((j,), 3, earlier)

    def penalty(j, earlier, lower=0):
        test = run(by_surrogates(transfers, (j,), 3, earlier, Sampling(em.CircularShift(), 19, 4)))
        return naive.quantile(test.null, 0.9, lower)

    def lowered(j, earlier):
        return penalty(j, earlier, lower=1)

    expected = naive.sequential(parents, value, penalty, None if estimator.discrete else lowered)
    assert score.bind(series).family_score(3, parents) == pytest.approx(expected, abs=1e-12)


def test_first_terms_of_sequential_tee_sum_to_the_collective_te():
    series = linear()
    zero = em.TEE(estimator=em.Gaussian(), embedding=EMBEDDING, alpha=0, n_surrogates=0)
    te = em.TE(estimator=em.Gaussian(), embedding=EMBEDDING)
    assert em.score(series, {"c": ["a", "b"]}, zero).local == em.score(series, {"c": ["a", "b"]}, te).local


def test_tee_takes_the_papers_quantiles():
    series = linear(150)
    for alpha, count, rank in ((0.9, 9, 9), (0.07, 100, 7)):
        score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=alpha, n_surrogates=count, seed=2)
        test = em.significance(series, "a", "c", estimator=em.Gaussian(), n_surrogates=count, seed=2)
        expected = test.value - np.sort(test.null)[rank - 1]
        assert em.score(series, {"c": ["a"]}, score).local["c"] == expected


def test_many_parents_take_the_strongest_first():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 6))
    values[1:, 5] += values[:-1, :4] @ [0.2, 0.8, 0.4, 0.6]
    series = em.Series(values)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=9)
    scorer = score.bind(series)
    order = sorted(range(4), key=lambda j: -scorer.transfers.value((j,), 5))
    expected = 0.0
    for position, j in enumerate(order):
        earlier = tuple(sorted(order[:position]))
        test = run(by_surrogates(scorer.transfers, (j,), 5, earlier, Sampling(em.CircularShift(), 9, 0)))
        expected += test.value - test.null.max()
    assert scorer.family_score(5, (0, 1, 2, 3)) == pytest.approx(expected, abs=1e-12)


# --- criteria ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "weight"), [("ml", 0), ("aic", 1), ("bic", np.log(248) / 2)])
def test_criteria_are_likelihood_minus_parameters(kind, weight):
    series, graph = linear(), {"b": ["a"], "c": ["a", "b"]}
    likelihood = em.log_likelihood(series, graph, estimator=em.Gaussian(), embedding=EMBEDDING)
    parameters = (1 + 2) + (2 + 1 + 2) + (1 + 3 + 2)
    score = em.score(series, graph, em.Criterion(kind, embedding=EMBEDDING))
    assert score.total == pytest.approx(likelihood - weight * parameters, abs=1e-7)


def test_discrete_criterion_counts_probability_tables():
    series, graph = states(), {"b": ["a"]}
    score = em.Criterion("bic", estimator=em.Discrete(), embedding=em.Embedding())
    likelihood = em.log_likelihood(series, graph, estimator=em.Discrete())
    parameters = 1 * 2 + 1 * 2 * 2 + 2 * 3
    assert em.score(series, graph, score).total == pytest.approx(likelihood - np.log(399) / 2 * parameters, abs=1e-8)


def test_mit_now_is_symmetric_and_lagged_is_not():
    series = linear()
    now = em.MIT(estimator=em.Gaussian(), lag=0)
    there, back = (em.score(series, g, now).total for g in ("a>b", "b>a"))
    assert there == pytest.approx(back, abs=1e-8)
    lagged = em.MIT(estimator=em.Gaussian())
    there, back = (em.score(series, g, lagged).total for g in ("a>b", "b>a"))
    assert abs(there - back) > 1


def test_bounds_hold_for_every_set():
    """ceiling - penalty is never under the score of the set or a superset (decomposable, monotone fit)."""
    analytic = ("tea", "tea-f", "tea-collective", "tea-discrete", "bic", "aic-discrete", "mit")
    for name in (*analytic, "tea-curves", "tea-curves-shift", "bic-curves", "mit-curves"):
        make, score = SCORES[name]
        scorer = score.bind(make())
        bounds = scorer.bounds([(1, 2), (0, 2), (0, 1)])
        for target in range(3):
            others = tuple(j for j in range(3) if j != target)
            sets = [(), (others[0],), (others[1],), others]
            for small, large in product(sets, repeat=2):
                if set(small) <= set(large):
                    assert (
                        scorer.family_score(target, large)
                        <= bounds.ceiling(target) - bounds.penalty(target, small) + 1e-9
                    )


# --- refusals ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: em.TEA(estimator=em.KSG()),
            "TEA needs an estimator with a known null distribution (Gaussian, Regression, Discrete); "
            "with KSG use TEE, which finds it by surrogates",
        ),
        (
            lambda: em.Criterion("bic", estimator=em.Kernel()),
            "Criterion needs an estimator with a known null distribution (Gaussian, Regression, Discrete); "
            "with Kernel use TEE, which finds it by surrogates",
        ),
        (lambda: em.Criterion("hqc"), "criterion 'hqc' is not known; use 'ml', 'aic' or 'bic'"),
        (
            lambda: em.TEA(alpha=1.0),
            "alpha=1.0 is not possible; give a confidence level from 0 to below 1, such as 0.99",
        ),
        (lambda: em.TEA(penalty="both"), "penalty='both' is not known; use 'sum' or 'collective'"),
        (lambda: em.TEA(null="t"), "null='t' is not known; use 'chi2', 'f', 'ess', 'shift'"),
        (
            lambda: em.TEA(estimator=em.Discrete(), null="f"),
            "null='f' is for Gaussian and Regression; Discrete has 'chi2'",
        ),
        (
            lambda: em.TEA(estimator=em.Regression(), null="ess"),
            "null='ess' is for linear regressions; use null='shift' with features",
        ),
        (lambda: em.TEE(penalty="sum"), "penalty='sum' is not known; use 'sequential' or 'collective'"),
        (
            lambda: em.TEE(alpha=0.99, n_surrogates=50),
            "50 surrogates are too few for alpha=0.99; at least 99 are needed",
        ),
        (
            lambda: em.MIT(estimator=em.Regression(), lag=0),
            "lag=0 needs an estimator that is the same in both directions; use Gaussian, or lag=1",
        ),
        (lambda: em.MIT(lag=2), "lag=2 is not possible; use 1, or 0 for contemporaneous data"),
    ],
)
def test_impossible_scores_are_refused(make, said):
    with pytest.raises(em.InputError) as caught:
        make()
    assert str(caught.value) == said


# --- no embedding: TEA is MIT with every node its own parent -------------------------------------------------


def few_states(counts, n=400, seed=0):
    rng = np.random.default_rng([9, seed])
    values = np.zeros((n, len(counts)), int)
    for t in range(1, n):
        values[t] = (values[t - 1] + np.roll(values[t - 1], 1) + rng.integers(0, 3, len(counts))) % counts
    return em.Series(values, names="abc")


@pytest.mark.parametrize(
    ("estimator", "series"),
    [
        (em.Gaussian(), em.simulate.var({"b": ["a"], "c": ["a", "b"]}, n=300)),
        (em.Discrete(), few_states([3, 3, 3])),
        (em.Discrete(), few_states([2, 2, 4])),
    ],
    ids=["gaussian", "discrete", "more-states-in-the-target"],
)
def test_tea_without_embedding_is_mit_beside_the_own_past(estimator, series):
    tea = em.TEA(estimator=estimator, embedding=em.Embedding(), alpha=0.99).bind(series)
    mit = em.MIT(estimator=estimator, alpha=0.99, lag=1).bind(series)

    def g(scorer, parents):
        return scorer.fit(2, parents) - scorer.penalty(2, parents)

    for parents in ((0,), (1,), (0, 1)):
        assert g(tea, parents) == pytest.approx(g(mit, (*parents, 2)) - g(mit, (2,)), abs=1e-10)
        assert abs(g(tea, parents) - g(mit, parents)) > 1e-3  # without the own past they differ


def test_a_parent_with_more_states_is_taken_first_by_mit_alone():
    series = few_states([5, 2, 2])
    tea = em.TEA(estimator=em.Discrete(), embedding=em.Embedding()).bind(series)
    mit = em.MIT(estimator=em.Discrete(), lag=1).bind(series)
    assert tea.penalty(2, (0,)) < mit.penalty(2, (0, 2)) - mit.penalty(2, (2,))


@pytest.mark.parametrize("shared", [0.0, 1.5])  # how much the variances swing together
@pytest.mark.parametrize("lengths", [(120,), (70, 50)])
def test_the_shift_null_is_that_of_its_twin(lengths, shared):
    rng = np.random.default_rng(5)
    swings = [np.exp(shared * np.sin(np.arange(n) / 9))[:, None] for n in lengths]
    trials = [np.cumsum(swing * rng.normal(size=(len(swing), 3)), axis=0) for swing in swings]
    series = em.Series(trials, names="abc")
    pasts = em.Lags({("a", "c"): (1, 3), ("b", "c"): (2,), ("c", "c"): (1, 2)})
    scorer = em.TEA(estimator=em.Gaussian(), embedding=pasts, null="shift").bind(series)
    blocks = scorer.transfers.blocks
    for source in (0, 1):
        x, y, z = scorer.transfers.variables([source], 2)
        samples = blocks.take([y])[:, 0], blocks.take(x), blocks.take(z)
        before = blocks.take([Lagged(0, 1), Lagged(1, 1)])
        expected = naive.shift_factor(*samples, blocks.starts, blocks.span, before)
        assert scorer._shifts.of(source, 2) == (pytest.approx(expected, rel=1e-6), 1.0)
        if len(x) == 1:  # asked as the test of one lagged variable
            p_value = LineNull(blocks).p_value(2, x[0], z)
            assert p_value == pytest.approx(run(scorer.test(Link(source, 2, ()))).p_value, rel=1e-6)


@pytest.mark.parametrize("lengths", [(120,), (70, 50)])
def test_the_shift_null_of_curves_is_that_of_its_twin(lengths):
    rng = np.random.default_rng(6)
    swings = [np.exp(np.sin(np.arange(n) / 9))[:, None] for n in lengths]  # a variance that all share
    trials = [np.cumsum(swing * rng.normal(size=(len(swing), 3)), axis=0) for swing in swings]
    pasts = em.Lags({("a", "c"): (1, 3), ("b", "c"): (2,)})
    score = em.TEA(estimator=em.Regression(normalise="zscore"), embedding=pasts, null="shift")
    scorer = score.bind(em.Series(trials, names="abc"))
    blocks, widest, least = scorer.transfers.blocks, 1.0, 1.0
    for source in (0, 1):
        x, y, z = scorer.transfers.variables([source], 2)
        samples = blocks.take(x), blocks.take([y]), blocks.take(z)
        expected = naive.widened(*samples, blocks.starts, blocks.span)
        assert scorer._shifts.of(source, 2) == pytest.approx(expected, rel=0.005)  # of a million draws
        widest = max(widest, expected[0])
        least = min(least, expected[1])
    assert widest > 1.0 > least


def test_shifts_of_curves_stay_away_from_none_and_are_spread():
    from enmesh.scores.shift_null import spread_shifts

    shifts = spread_shifts(np.array([0, 1000, 1640]), 5, 40)
    assert (shifts[0], shifts[-1], len(shifts)) == (20, 620, 40)
    assert set(np.diff(shifts)) <= {15, 16}
    assert spread_shifts(np.array([0, 100]), 20, 40)[0] == 20
    assert len(spread_shifts(np.array([0, 30]), 20, 40)) == 0


def test_the_shift_null_asks_sources_in_portions(monkeypatch):
    from enmesh.scores import shift_null

    series = em.simulate.var("a>b, b>c, c>d", n=100, seed=0)
    score = em.TEA(embedding=em.Embedding(), null="shift")
    whole = [score.bind(series)._shifts.of(j, 0).factor for j in (1, 2, 3)]
    monkeypatch.setattr(shift_null, "HELD", 1)
    assert [score.bind(series)._shifts.of(j, 0).factor for j in (1, 2, 3)] == pytest.approx(whole, rel=1e-12)


# --- a score for each target ------------------------------------------------------------------------------------

BY_TARGET = {
    "a": em.TEA(embedding=EMBEDDING),
    "b": em.TEE(estimator=em.KSG(), embedding=EMBEDDING, alpha=0.9, n_surrogates=19),
    "c": em.TEA(embedding=em.Embedding(dim=2), alpha=0.95),
}
