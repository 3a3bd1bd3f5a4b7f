"""Any lags for any pair: the paper's identities hold, and lags that spell out an embedding give its very bits."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.embedding import Blocks
from enmesh.search.graphs import all_dags, edges
from tests import naive

NAMES = ("a", "b", "c")
PAIRS = [(source, target) for source in NAMES for target in NAMES]
NARROW = {"a": 2, "b": 1, "c": 1}


@st.composite
def any_lags(draw, largest=4, most=2):
    """Lags for some pairs, own pasts included; the other pairs have lag 1."""
    named = draw(st.sets(st.sampled_from(PAIRS), max_size=len(PAIRS)))
    found = st.sets(st.integers(1, largest), min_size=1, max_size=most)
    return em.Lags({pair: tuple(sorted(draw(found))) for pair in sorted(named)})


def data(kind, seed, n=200):
    rng = np.random.default_rng(seed)
    if kind == "discrete":
        values = rng.integers(0, 2, (n, 3))
        values[2:, 1] = values[:-2, 0] ^ (rng.random(n - 2) < 0.2)
        return em.Series(values, names=NAMES), em.Discrete(), naive.discrete_entropy
    a = rng.normal(size=(3, 3)) * 0.3
    a /= max(1, np.abs(np.linalg.eigvals(a)).max() / 0.9)  # a stable process
    values = np.zeros((n + 100, 3))
    for t in range(1, len(values)):
        values[t] = a @ values[t - 1] + rng.normal(size=3)
    return em.Series(values[100:], names=NAMES), em.Gaussian(), naive.gaussian_entropy


def graph_of(parents):
    return {NAMES[target]: [NAMES[source] for source in sources] for target, sources in enumerate(parents)}


DAGS = list(all_dags(3))
both_kinds = st.sampled_from(["gaussian", "discrete"])


@settings(max_examples=40)
@given(both_kinds, st.integers(0, 10**6), st.sampled_from(DAGS), any_lags())
def test_theorem_1_holds_for_any_lags(kind, seed, parents, lags):
    """D_KL(p_D || p_B) = S_Y - sum_i T_{parents -> i}, and both equal differences of entropies."""
    series, estimator, entropy = data(kind, seed)
    options = dict(estimator=estimator, embedding=lags)
    graph = graph_of(parents)
    direct = em.kl_divergence(series, graph, **options)
    interaction = em.stochastic_interaction(series, **options)
    transfers = sum(em.transfer_entropy(series, some, t, **options) for t, some in graph.items() if some)
    blocks = Blocks(series, lags, estimator.condition)
    assert direct == pytest.approx(em.kl_divergence(series, graph, form="decomposed", **options), abs=1e-10)
    assert direct == pytest.approx(interaction - transfers, abs=1e-10)
    assert direct == pytest.approx(naive.kl_by_entropies(blocks, parents, entropy), abs=1e-10)
    assert interaction == pytest.approx(naive.interaction_by_entropies(blocks, entropy), abs=1e-10)
    assert direct >= em.instantaneous_dependence(series, **options) - 1e-10


@settings(max_examples=20)
@given(both_kinds, st.integers(0, 10**6), any_lags())
def test_corollary_1_holds_for_any_lags(kind, seed, lags):
    """The graph of smallest divergence is the one of largest transfer entropy; more edges never lower the latter."""
    series, estimator, _ = data(kind, seed)
    options = dict(estimator=estimator, embedding=lags)
    score = em.TE(**options)
    divergence = [em.kl_divergence(series, graph_of(parents), **options) for parents in DAGS]
    transfer = [em.score(series, graph_of(parents), score).total for parents in DAGS]
    interaction = em.stochastic_interaction(series, **options)
    np.testing.assert_allclose(np.add(divergence, transfer), interaction, atol=1e-10)
    assert divergence[np.argmax(transfer)] == pytest.approx(min(divergence), abs=1e-10)
    for small, fewer in zip(DAGS, transfer):
        for large, more in zip(DAGS, transfer):
            if edges(small) <= edges(large):
                assert more >= fewer - 1e-10
    full = [value for parents, value in zip(DAGS, transfer) if len(edges(parents)) == 3]
    assert max(full) == pytest.approx(max(transfer), abs=1e-10)


# --- the very bits of an embedding ------------------------------------------------------------------------------

EMBEDDINGS = [
    em.Embedding(),
    em.Embedding(dim=2, delay=2),
    em.Embedding(dim={"a": 3, "b": 1, "c": 2}, delay={"a": 1, "b": 1, "c": 3}, lag={"a": 2, "b": 1, "c": 1}),
]
SHAPES = ["one trial", "trials", "missing"]


def recorded(shape, discrete=False):
    rng = np.random.default_rng(7)
    values = rng.normal(size=(3, 90, 3))
    values[:, 1:, 1] += 0.8 * values[:, :-1, 0]
    values[:, 2:, 2] += 0.6 * values[:, :-2, 1]
    if discrete:
        values = (values > 0).astype(int)
    if shape == "one trial":
        return em.Series(values[0], names=NAMES)
    if shape == "trials":
        return em.Series(list(values), names=NAMES)
    holes = values.astype(float)
    holes[0, [10, 11, 50], [0, 1, 2]] = np.nan
    holes[2, 30, 1] = np.nan
    return em.Series(list(holes), names=NAMES, missing="drop")


def spelled(embedding):
    lags = em.Lags.of(embedding, NAMES)
    assert lags.table(NAMES) == embedding.table(NAMES)
    return lags


def estimators(device):
    return [em.KSG(device=device), em.Kernel(device=device)] + [em.Gaussian()] * (device == "cpu")


def same(values):
    one, other = values
    np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore:missing=:enmesh.HazardWarning")
@pytest.mark.parametrize("embedding", EMBEDDINGS, ids=str)
def test_spelled_out_embeddings_give_the_same_bits(embedding, shape, device):
    series, pasts = recorded(shape), (embedding, spelled(embedding))
    for estimator in estimators(device):
        link = dict(given="c", estimator=estimator)
        same([em.transfer_entropy(series, "a", "b", embedding=some, local=True, **link) for some in pasts])
        same([em.transfer_entropy(series, ["a", "b"], "c", embedding=some, estimator=estimator) for some in pasts])
        tests = [em.significance(series, "a", "b", embedding=some, n_surrogates=19, **link) for some in pasts]
        same([test.null for test in tests])
        same([(test.value, test.p_value) for test in tests])
        score = em.TEE(estimator=estimator, alpha=0.9, n_surrogates=9)
        graph = {"b": ["a"], "c": ["a", "b"]}
        same([list(em.score(series, graph, score.embedded(some)).local.values()) for some in pasts])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_spelled_out_embeddings_infer_the_same_network(shape, device):
    series, embedding = recorded(shape), em.Embedding(dim=NARROW)
    kinds = [em.TEE(estimator=em.KSG(device=device), alpha=0.9, n_surrogates=9)]
    kinds += [em.TEA(estimator=em.Gaussian())] * (device == "cpu")
    for score in kinds:
        nets = [em.infer(series, score=score.embedded(some)) for some in (embedding, spelled(embedding))]
        assert nets[0].parents == nets[1].parents
        assert nets[0].score == nets[1].score
        same([[(c.te, c.p_value, c.q_value) for c in net.candidates] for net in nets])
        for one, other in zip(*(net.candidates for net in nets), strict=True):
            assert (one.source, one.target, one.lags) == (other.source, other.target, other.lags)
            same([one.null, other.null])


@pytest.mark.parametrize("shape", ["one trial", "trials"])
def test_spelled_out_embeddings_count_the_same_states(shape):
    series, embedding = recorded(shape, discrete=True), em.Embedding(dim=NARROW, delay=2)
    score = em.TEA(estimator=em.Discrete())
    graph = {"b": ["a"], "c": ["a", "b"]}
    pasts = (embedding, spelled(embedding))
    same([list(em.score(series, graph, score.embedded(some)).local.values()) for some in pasts])


# --- lags wherever an embedding is taken ------------------------------------------------------------------------

FOUR = em.Lags({("a", "b"): (4,), ("b", "b"): (1, 2)})


def delayed(n=400):
    rng = np.random.default_rng(3)
    values = rng.normal(size=(n, 3))
    values[4:, 1] += 0.8 * values[:-4, 0]
    return em.Series(values, names=NAMES)


CALLS = {
    "transfer_entropy": lambda s, **o: em.transfer_entropy(s, "a", "b", **o),
    "significance": lambda s, **o: em.significance(s, "a", "b", n_surrogates=0, **o).value,
    "te_matrix": lambda s, **o: em.te_matrix(s, **o).te.loc["a", "b"],
    "active_information": lambda s, **o: em.active_information(s, "b", **o),
    "conditional_entropy": lambda s, **o: em.conditional_entropy(s, "b", "a", **o),
    "stochastic_interaction": lambda s, **o: em.stochastic_interaction(s, **o),
    "kl_divergence": lambda s, **o: em.kl_divergence(s, "a>b, c", **o),
    "instantaneous_dependence": lambda s, **o: em.instantaneous_dependence(s, **o),
    "log_likelihood": lambda s, **o: em.log_likelihood(s, "a>b, c", **o),
    "score": lambda s, **o: em.score(s, "a>b, c", em.TEA(**o)).total,
    "infer": lambda s, **o: em.infer(s, score=em.TEA(**o)).score,
}


@pytest.mark.parametrize("name", CALLS)
def test_every_function_takes_lags(name):
    """The value differs from that at lag 1 and is that of the columns taken by hand, where there is a closed form."""
    series = delayed()
    at_four, at_one = (CALLS[name](series, estimator=em.Gaussian(), embedding=some) for some in (FOUR, em.Lags()))
    assert np.isfinite(at_four)
    assert at_four != at_one
    values = series.values
    window = slice(4, None)
    own = np.column_stack([values[3:-1, 1], values[2:-2, 1]])
    te = em.cmi(values[:-4, 0], values[window, 1], own, estimator=em.Gaussian())
    if name in ("transfer_entropy", "significance", "te_matrix"):
        assert at_four == pytest.approx(te, abs=1e-9)
    if name == "active_information":
        assert at_four == pytest.approx(em.cmi(own, values[window, 1], estimator=em.Gaussian()), abs=1e-9)


def test_diagnose_takes_lags():
    series, wide = delayed(120), em.Embedding(dim=4)
    said = em.diagnose(series, spelled(wide))
    assert said == em.diagnose(series, wide)
    assert {finding.kind for finding in said} - {finding.kind for finding in em.diagnose(series, em.Lags())}


def test_lags_are_reported_on_edges():
    net = em.infer(delayed(), score=em.TEA(embedding=FOUR))
    row = net.edges.set_index(["source", "target"]).loc["a", "b"]
    assert (row["lag"], tuple(row["lags"])) == (4, (4,))


@pytest.mark.parametrize("lag", [0, 1])
@pytest.mark.filterwarnings("ignore:both ways significant:enmesh.HazardWarning")
def test_mit_reports_the_lag_it_tests(lag):
    rng = np.random.default_rng(0)
    states = rng.integers(0, 2, (300, 2))
    states[lag:, 1] = states[: len(states) - lag, 0] ^ (rng.random(300 - lag) < 0.1)
    net = em.infer(em.Series(states, names="ab"), score=em.MIT(lag=lag), acyclic=True)
    assert net.edges.lag.tolist() == [lag]
    assert [tuple(lags) for lags in net.edges.lags] == [(lag,)]
