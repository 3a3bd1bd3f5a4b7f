"""End to end: from a series with known truth to a network."""

import warnings
from itertools import groupby

import numpy as np
import pytest

import enmesh as em
from enmesh.inference.run import Run

pytestmark = pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
LINEAR = em.TEA(embedding=em.Embedding())


def edges(parents):
    return {(source, target) for target, sources in parents.items() for source in sources}


def f1(network, truth):
    found, true = edges(network.parents), edges(truth)
    return 2 * len(found & true) / (len(found) + len(true)) if found | true else 1.0


def test_gaussian_tea_recovers_random_dags():
    """Ten nodes, N = 2000, ten seeds."""
    scores = []
    for seed in range(10):
        graph = em.simulate.random_dag(10, max_parents=3, seed=seed)
        series = em.simulate.var(graph, n=2000, seed=seed)
        network = em.infer(series, score=LINEAR, search=em.Exact())
        assert network.optimal
        scores.append(f1(network, series.truth))
    assert np.mean(scores) >= 0.95


@pytest.mark.parametrize(
    "graph",
    [{"a": [], "b": ["a"], "c": ["b"]}, {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"]}],
    ids=["chain", "diamond"],
)
def test_ksg_tee_recovers_coupled_logistic_maps(graph):
    series = em.simulate.coupled_map(graph, n=500, coupling=0.3, noise=0.001, seed=1)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=99)
    network = em.infer(series, score=score, max_parents=2)
    assert edges(network.parents) == edges(graph)
    assert network.optimal


@pytest.fixture(scope="module")
def chain():
    return em.simulate.var({"a": [], "b": ["a"], "c": ["b"]}, n=800, seed=3)


def test_every_choice_is_reported(chain):
    network = em.infer(chain, n_jobs=1)
    made = {what: value for what, value, _ in network.choices}
    assert set(made) == {"max_lag", "level", "lags"}
    assert edges(network.parents) == {("a", "b"), ("b", "c")}
    assert network.provenance["data"] == chain.digest
    assert network.options["seed"] == 0
    assert len(network.candidates) == 6
    assert {(c.source, c.target) for c in network.candidates if c.selected} == {("a", "b"), ("b", "c")}


@pytest.mark.parametrize("kind", ["states", "heavy tails", "flows", "numbers and states"])
def test_one_test_serves_all_kinds_of_data(kind):
    rng = np.random.default_rng(0)
    if kind == "states":
        series = em.simulate.markov("a>b", n=2000, states=2, seed=0)
    elif kind == "heavy tails":
        values = rng.standard_cauchy((500, 2))
        values[1:, 1] += values[:-1, 0]
        series = em.Series(values, names="ab")
    elif kind == "flows":
        series = em.simulate.coupled_flow("a>b", n=600, system="lorenz", coupling=2.0, dt=0.1, seed=1)
    else:
        lamp = rng.integers(0, 2, 600)
        warm = rng.normal(size=600)
        warm[1:] += 1.5 * lamp[:-1]
        series = em.Series({"a": lamp, "b": warm})
    network = em.infer(series)
    assert list(network) == [("a", "b")]
    assert network.options["score"]["type"] == "LinkTest"


@pytest.mark.parametrize("name", ["gaussian", "ksg", "kernel", "mixed", "discrete"])
def test_every_estimator_finds_a_delayed_link(name):
    series = em.simulate.var("a>b", n=400, lags=3, seed=0)
    if name == "discrete":
        series = em.Series((series.values > 0).astype(int), names=series.names)
    network = em.infer(series, estimator=name, max_lag=3)
    assert list(network) == [("a", "b")]
    assert list(network.edges["lag"]) == [3]


def test_edges_are_tested_given_the_other_parents(chain):
    network = em.infer(chain, score=LINEAR)
    frame = network.edges
    assert list(frame.columns)[:6] == ["source", "target", "te", "p_value", "q_value", "lag"]
    row = frame[(frame.source == "a") & (frame.target == "b")].iloc[0]
    assert row.te == em.transfer_entropy(chain, "a", "b", estimator=em.Gaussian())
    spurious = next(c for c in network.candidates if (c.source, c.target) == ("a", "c"))
    expected = em.significance(chain, "a", "c", given="b", estimator=em.Gaussian(), n_surrogates=0)
    assert spurious.te == pytest.approx(expected.value, abs=1e-14)
    assert spurious.p_value == pytest.approx(expected.p_value)
    assert spurious.q_value >= spurious.p_value


def test_required_and_forbidden_edges_are_obeyed(chain):
    network = em.infer(chain, score=LINEAR, required=[("c", "a")], forbidden=[("a", "b")])
    assert ("c", "a") in edges(network.parents)
    assert ("a", "b") not in edges(network.parents)
    assert ("a", "b") not in {(c.source, c.target) for c in network.candidates}


def test_cycles_where_they_are_allowed():
    series = em.simulate.var({"a": ["b"], "b": ["a"]}, n=1500, coupling=0.3, seed=1)
    free = em.infer(series, score=LINEAR, acyclic=False)
    assert edges(free.parents) == {("a", "b"), ("b", "a")}
    assert free.optimal
    dag = em.infer(series, score=LINEAR, acyclic=True)
    assert len(edges(dag.parents)) == 1
    assert dag.gap == pytest.approx(free.score - dag.score)
    assert set(dag.removed) == edges(free.parents) - edges(dag.parents)


def test_same_network_for_any_number_of_workers(chain):
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=19)
    short = em.Series(chain.values[:150], chain.names)
    one, two = (em.infer(short, score=score, n_jobs=jobs) for jobs in (1, 2))
    assert one.to_json() == two.to_json()


def test_a_stored_run_gives_the_same_network_again(chain, tmp_path):
    store = tmp_path / "run.db"
    first = em.infer(chain, score=LINEAR, store=store)
    assert store.exists()
    assert em.infer(chain, score=LINEAR, store=store).to_json() == first.to_json()


def test_hazards_are_kept_and_shown():
    series = em.simulate.coupled_map("a>b", n=300, coupling=0.7, seed=0)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=9)
    with pytest.warns(em.HazardWarning, match="synchron"):
        network = em.infer(series, score=score)
    assert any("synchron" in said for said in network.warnings)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (dict(required=[("a", "z")]), "there is no node 'z'; the nodes are a, b, c"),
        (dict(required=["ab"]), "'ab' is not an edge; give (source, target)"),
        (
            dict(required=[("a", "b")], forbidden=[("a", "b")]),
            "edge a -> b is required and forbidden at once; drop it from one of them",
        ),
        (
            dict(required=[("a", "b"), ("b", "a")], acyclic=True),
            "the required edges form a cycle, a -> b -> a; drop one of them or allow cycles (acyclic=False)",
        ),
        (dict(max_parents=-1), "max_parents=-1 is not possible; give a whole number of at least 0"),
        (dict(n_jobs=0), "n_jobs=0 is not possible; give a number of workers, or -1 for all cores"),
        (dict(screen=0), "screen=0 is not possible; give True, False or a number of candidates"),
        (dict(screen="2"), "screen='2' is not possible; give True, False or a number of candidates"),
        (
            dict(required=[("a", "b")], candidates={"b": ["c"]}),
            "required edge a -> b is not among the candidates; add its source to them",
        ),
        (dict(search=3), "search=3 is no search; give one such as HillClimb(), or its name"),
    ],
)
def test_impossible_demands_are_refused_before_anything_is_computed(chain, given, said, monkeypatch):
    monkeypatch.setattr(Run, "plan", lambda *args: pytest.fail("something was computed"))
    with pytest.raises(em.InputError) as caught:
        em.infer(chain, score=LINEAR, **given)
    assert str(caught.value) == said


def test_one_node_is_no_network():
    with pytest.raises(em.InputError, match="a network needs at least 2 nodes; there is 1"):
        em.infer(np.random.default_rng(0).normal(size=(100, 1)))


def test_a_dataframe_will_do(chain):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert em.infer(chain.to_dataframe(), score=LINEAR).names == ("a", "b", "c")


def test_hazards_are_shown_when_they_are_met_and_point_at_the_users_line():
    walks = em.Series(np.cumsum(np.random.default_rng(0).normal(size=(200, 2)), axis=0), names="ab")
    shown = []

    def progress(done, total, what):
        if what != "looking at the data":
            shown.append(len(met))

    with warnings.catch_warnings(record=True) as met:
        warnings.simplefilter("always")
        network = em.infer(walks, progress=progress)
    assert met[0].filename == __file__
    assert "autocorrelation" in str(met[0].message)
    assert shown[0] > 0  # before any work was done
    assert [str(one.message) for one in met] == list(network.warnings)


def test_a_callback_sees_phases_that_never_go_back():
    told = []
    em.infer(
        em.simulate.var("a>b, b>c", n=300, seed=0),
        score=em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.95, n_surrogates=19),
        progress=lambda done, total, what: told.append((what, done)),
    )
    phases = [list(some) for _, some in groupby(told, key=lambda one: one[0])]
    assert [some[0][0] for some in phases][:1] == ["looking at the data"]
    assert {"searching", "testing links"} <= {what for what, _ in told}
    for some in phases:
        assert some[0][1] == 0
        assert some == sorted(some)


def test_a_max_lag_too_large_for_the_record_is_warned_of():
    series = em.simulate.var("a>b", n=150, seed=0)
    with pytest.warns(em.HazardWarning, match="8 lags for 150 samples: .* use a max_lag of at most 3"):
        em.infer(series, estimator=em.KSG(), max_lag=8)
