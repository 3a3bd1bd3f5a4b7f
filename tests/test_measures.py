"""Measures against closed forms and entropies; the paper's identities by hypothesis."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.embedding import Blocks
from tests import naive


def var(coefficients, n, seed=0):
    """VAR(1) with unit noise; row drives from column."""
    a = np.asarray(coefficients)
    rng = np.random.default_rng(seed)
    values = np.zeros((n + 200, len(a)))
    for t in range(1, len(values)):
        values[t] = a @ values[t - 1] + rng.normal(size=len(a))
    return em.Series(values[200:])


# --- closed forms (decisions: values to test against) -------------------------------------------------------
# One estimate of T near t from N samples has a standard error of about sqrt(2 t / N): 4 of them are allowed.

PAIR = [[0.5, 0], [0.4, 0.5]]
CHAIN = [[0.5, 0, 0], [0.4, 0.5, 0], [0, 0.4, 0.5]]


def test_var_pair():
    series = var(PAIR, 200_000)
    for dim, truth in ((1, 0.092053), (2, 0.092009), (5, 0.092000)):
        embedding = em.Embedding(dim=dim)
        found = em.transfer_entropy(series, 0, 1, estimator=em.Gaussian(), embedding=embedding)
        assert found == pytest.approx(truth, abs=4 * np.sqrt(2 * truth / 2e5))
        assert em.transfer_entropy(series, 1, 0, estimator=em.Gaussian(), embedding=embedding) < 1e-4


def exact_covariance(a, lags):
    """Covariance of (Y_{n+1}, Y_n, ..., Y_{n-lags+1}) of a VAR(1) with unit noise."""
    from scipy.linalg import solve_discrete_lyapunov

    a = np.asarray(a, dtype=float)
    zero = solve_discrete_lyapunov(a, np.eye(len(a)))
    powers = [np.linalg.matrix_power(a, k) @ zero for k in range(lags + 1)]
    rows = [[powers[j - i] if j >= i else powers[i - j].T for j in range(lags + 1)] for i in range(lags + 1)]
    return np.block(rows)


def samples_with(covariance):
    """Samples whose covariance is exactly the given one: estimates become closed forms."""
    d = len(covariance)
    root = np.linalg.cholesky(covariance) * np.sqrt(d)
    return np.concatenate([root.T, -root.T])


@pytest.mark.parametrize(("dim", "truth"), [(1, 0.092053), (2, 0.092009), (5, 0.092000)])
def test_var_pair_exactly(dim, truth):
    exact = samples_with(exact_covariance(PAIR, dim))
    y, own, source = exact[:, 1], exact[:, 3::2], exact[:, 2::2]
    assert em.cmi(source, y, own, estimator=em.Gaussian()) == pytest.approx(truth, abs=1e-6)
    reverse = em.cmi(exact[:, 3::2], exact[:, 0], exact[:, 2::2], estimator=em.Gaussian())
    assert reverse == pytest.approx(0, abs=1e-12)


def test_chain_exactly():
    exact = samples_with(exact_covariance(CHAIN, 1))
    y, own = exact[:, 2], exact[:, 5]
    for source, truth in (([3], 0.005167), ([4], 0.116501), ([3, 4], 0.116501)):
        assert em.cmi(exact[:, source], y, own, estimator=em.Gaussian()) == pytest.approx(truth, abs=1e-6)


def test_white_driver_exactly():
    exact = samples_with(np.array([[1.25, 0.5], [0.5, 1.0]]))
    assert em.cmi(exact[:, 1], exact[:, 0], estimator=em.Gaussian()) == pytest.approx(0.1115718, abs=1e-7)


def test_discrete_by_hand():
    """Nine samples, in bits."""
    series = em.Series(np.array([[int(a), int(b)] for a, b in zip("001111000", "011110001")]), names=["x", "y"])
    for source, target, dim, bits in (
        ("y", "x", 1, 0.8112781),
        ("y", "x", 2, 0.6792696),
        ("x", "y", 1, 0.2169172),
        ("x", "y", 2, 0.0),
    ):
        # The source keeps one value; only the target's history grows.
        embedding = em.Embedding(dim={source: 1, target: dim})
        te = em.transfer_entropy(series, source, target, estimator=em.Discrete(), embedding=embedding)
        assert te / np.log(2) == pytest.approx(bits, abs=1e-6)


def test_ksg_on_a_linear_process():
    te = em.transfer_entropy(var(PAIR, 4000), 0, 1, estimator=em.KSG())
    assert te == pytest.approx(0.092, abs=0.03)


# --- identities ------------------------------------------------------------------------------------------------


def random_series(kind, seed, nodes=3, n=160):
    rng = np.random.default_rng(seed)
    if kind == "discrete":
        return em.Series(rng.integers(0, 2, (n, nodes))), em.Discrete(), naive.discrete_entropy
    a = rng.normal(size=(nodes, nodes)) * 0.3
    a /= max(1, np.abs(np.linalg.eigvals(a)).max() / 0.9)  # a stable process
    return var(a, n, seed), em.Gaussian(), naive.gaussian_entropy


@settings(max_examples=30)
@given(st.sampled_from(["gaussian", "discrete"]), st.integers(0, 10**6), st.integers(0, 24))
def test_kl_divergence_is_interaction_minus_transfer(kind, seed, which):
    """Theorem 1 for random DAGs: direct == S - sum T == by entropies; >= 0; the full graph reaches the floor."""
    series, estimator, entropy = random_series(kind, seed)
    rng = np.random.default_rng(which)
    order = rng.permutation(3)
    graph = {f"x{order[i]}": [f"x{order[j]}" for j in range(i) if rng.random() < 0.5] for i in range(3)}
    embedding = em.Embedding(dim={"x0": 2, "x1": 1, "x2": 1})
    given = dict(estimator=estimator, embedding=embedding)
    direct = em.kl_divergence(series, graph, **given)
    split = em.kl_divergence(series, graph, form="decomposed", **given)
    interaction = em.stochastic_interaction(series, **given)
    transfers = sum(em.transfer_entropy(series, p, t, **given) for t, p in graph.items() if p)
    blocks = Blocks(series, embedding, estimator.condition)
    parents = [tuple(series.index(p) for p in graph[name]) for name in series.names]
    by_entropies = naive.kl_by_entropies(blocks, parents, entropy)
    assert direct == pytest.approx(split, abs=1e-10)
    assert direct == pytest.approx(interaction - transfers, abs=1e-10)
    assert direct == pytest.approx(by_entropies, abs=1e-10)
    assert interaction == pytest.approx(naive.interaction_by_entropies(blocks, entropy), abs=1e-10)
    assert direct >= -1e-12
    everyone = {n: [m for m in series.names if m != n] for n in series.names}
    floor = em.instantaneous_dependence(series, **given)
    assert em.kl_divergence(series, everyone, **given) == pytest.approx(floor, abs=1e-10)
    assert direct >= floor - 1e-12


@pytest.mark.parametrize("kind", ["gaussian", "discrete"])
def test_log_likelihood_and_conditional_entropy(kind):
    series, estimator, entropy = random_series(kind, 1)
    blocks = Blocks(series, em.Embedding(), estimator.condition)
    given = blocks.past([1, 0], 1)
    expected = entropy(blocks.take([(1, 0), *given])) - entropy(blocks.take(given))
    assert em.conditional_entropy(series, 1, 0, estimator=estimator) == pytest.approx(expected, abs=1e-10)
    total = sum(em.conditional_entropy(series, t, p, estimator=estimator) for t, p in ((0, []), (1, [0]), (2, [])))
    assert em.log_likelihood(series, {"x1": ["x0"]}, estimator=estimator) == pytest.approx(-blocks.n * total, abs=1e-8)


def test_adding_a_parent_raises_the_likelihood_by_n_times_its_transfer_entropy():
    series = var(CHAIN, 500)
    gained = em.log_likelihood(series, "x0>x1", estimator=em.Gaussian()) - em.log_likelihood(
        series, {}, estimator=em.Gaussian()
    )
    te = em.transfer_entropy(series, "x0", "x1", estimator=em.Gaussian())
    assert gained == pytest.approx(499 * te, abs=1e-8)


def test_active_information_of_an_autoregression():
    a = 0.8
    storage = em.active_information(var([[a]], 100_000), 0, estimator=em.Gaussian())
    assert storage == pytest.approx(-np.log(1 - a**2) / 2, abs=0.01)


def test_collective_conditional_and_local_forms_fit_together():
    series = em.Series(var(CHAIN, 400).values, names="abc")
    given = dict(estimator=em.Gaussian(), embedding=em.Embedding(dim=2, delay=1))
    both = em.transfer_entropy(series, ["a", "b"], "c", **given)
    one = em.transfer_entropy(series, "b", "c", **given)
    other = em.transfer_entropy(series, "a", "c", given=["b"], **given)
    assert both == pytest.approx(one + other, abs=1e-10)
    assert em.transfer_entropy(series, "b", "c", local=True, **given).mean() == pytest.approx(one, abs=1e-10)


def test_transitions_never_cross_trials():
    """Each trial repeats one pattern; only the seams between trials could link a to b."""
    rng = np.random.default_rng(0)
    trials = [rng.integers(0, 2, (3, 2)) for _ in range(400)]
    for one in trials:
        one[:, 1] = one[0, 1]
    series = em.Series(trials, names="ab")
    assert em.transfer_entropy(series, "a", "b", estimator=em.Discrete()) == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize(
    ("source", "target", "given", "said"),
    [
        ("a", "a", (), "a is the target; its own past is always conditioned on, do not name it again"),
        ("a", "b", "a", "a is both source and given; name it once"),
        ([], "b", (), "no source is named; give at least one"),
        (["a", "a"], "b", (), "a node is named twice in a, a; name each once"),
        ("q", "b", (), "there is no node 'q'; the nodes are a, b, c"),
    ],
)
def test_impossible_links_are_refused(source, target, given, said):
    series = em.Series(np.random.default_rng(0).normal(size=(50, 3)), names="abc")
    with pytest.raises(em.InputError) as caught:
        em.transfer_entropy(series, source, target, given=given)
    assert str(caught.value) == said


def test_import_loads_no_heavy_library():
    """Cold start: numba, pandas, scipy, networkx and matplotlib are loaded by their users alone."""
    heavy = ["numba", "pandas", "scipy", "networkx", "matplotlib", "joblib", "typer", "rich"]
    code = f"import sys, enmesh; print([m for m in {heavy} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "ask",
    [
        lambda series, how: em.transfer_entropy(series, "a", "b", estimator=how),
        lambda series, how: em.significance(series, "a", "b", estimator=how, n_surrogates=0).value,
        lambda series, how: em.te_matrix(series, estimator=how, n_surrogates=0).te.loc["a", "b"],
        lambda series, how: em.lag_profile(series, "a", "b", max_lag=2, estimator=how).te[0],
        lambda series, how: em.active_information(series, "b", estimator=how),
        lambda series, how: em.cmi(series["a"], series["b"], estimator=how),
    ],
)
def test_an_estimator_may_be_given_by_its_name(ask):
    series = em.simulate.var("a>b", n=200, seed=0)
    assert ask(series, "gaussian") == ask(series, em.Gaussian())
    with pytest.raises(em.InputError, match="estimator"):
        ask(series, "gauss")


def test_given_none_is_given_nothing():
    series = em.simulate.var("a>b", n=200, seed=0)
    assert em.transfer_entropy(series, "a", "b", given=None) == em.transfer_entropy(series, "a", "b")
    with pytest.raises(em.InputError, match="no source is named"):
        em.transfer_entropy(series, None, "b")
