import json
import math

import networkx as nx
import numpy as np
import pytest

from enmesh import InputError, Network
from enmesh.network.network import Candidate


@pytest.fixture
def network():
    tested = [("a", "b", 0.3, True), ("b", "c", 0.5, True), ("a", "c", 0.01, False)]
    return Network(
        names=("a", "b", "c"),
        parents={"a": (), "b": ("a",), "c": ("b",)},
        local={"a": 0.0, "b": 1.5, "c": 2.25},
        optimal=True,
        bound=3.75,
        gap=0.5,
        removed=(("c", "a"),),
        evaluated=12,
        candidates=tuple(
            Candidate(source=s, target=t, te=te, p_value=0.01, q_value=0.02, lag=1, selected=kept, null=(0.1, 0.2))
            for s, t, te, kept in tested
        ),
        options={"search": {"type": "Exact", "time_limit": None}, "seed": 3},
        provenance={"version": "0.1.0", "shape": [1, 100, 3]},
        choices=(("search", "Exact", "three nodes"),),
        warnings=("the series are short",),
        preview={"a": (1.0, 2.0), "b": (0.0, 1.0), "c": (0.5, 0.5)},
        criteria={"a": [[1, 0.5]]},
    )


def test_json_round_trip(network, tmp_path):
    assert Network.from_json(network.to_json()) == network
    path = tmp_path / "net.json"
    text = network.to_json(path)
    assert path.read_text() == text
    assert Network.from_json(path) == Network.from_json(str(path)) == network
    assert json.loads(text)["score"] == 3.75


def test_json_keeps_numpy_numbers_and_what_is_not_known():
    network = Network(
        names=("a",), parents={"a": ()}, local={"a": np.float64(0.1)}, optimal=np.bool_(False), bound=np.inf
    )
    back = Network.from_json(network.to_json())
    assert back.local == {"a": 0.1}
    assert back.optimal is False
    assert back.bound == math.inf
    assert math.isnan(back.gap)


@pytest.mark.parametrize("text", ["{", '{"format": "other"}', "[1]", '{"a": 1}'])
def test_other_text_is_refused(text, tmp_path):
    path = tmp_path / "net.json"
    path.write_text(text)
    with pytest.raises(InputError):
        Network.from_json(path)
    with pytest.raises(InputError, match="cannot read"):
        Network.from_json(tmp_path / "missing.json")


def test_adjacency_reads_row_drives_column(network):
    expected = np.zeros((3, 3), bool)
    expected[0, 1] = expected[1, 2] = True
    assert np.array_equal(network.adjacency, expected)


def test_score_does_not_depend_on_the_order_of_nodes():
    values = {"a": 1e16, "b": 1.0, "c": -1e16, "d": 1.0}
    for names in (tuple("abcd"), tuple("dcba"), tuple("acbd")):
        network = Network(names=names, parents=dict.fromkeys(names, ()), local=values, optimal=False, bound=math.inf)
        assert network.score == 2.0


def test_edges_are_sorted_by_strength(network):
    frame = network.edges
    assert list(frame.columns)[:6] == ["source", "target", "te", "p_value", "q_value", "lag"]
    assert list(zip(frame.source, frame.target)) == [("b", "c"), ("a", "b")]


def test_networkx_carries_the_tests(network):
    graph = network.to_networkx()
    assert sorted(graph.nodes) == ["a", "b", "c"]
    assert graph.nodes["c"]["score"] == 2.25
    assert graph.edges["a", "b"] == {"te": 0.3, "p_value": 0.01, "q_value": 0.02, "lag": 1, "lags": "1"}
    assert set(graph.edges) == {("a", "b"), ("b", "c")}
    assert np.array_equal(nx.to_numpy_array(graph, nodelist=network.names) > 0, network.adjacency)


def test_two_slice_view(network):
    """Each state has itself and its parents one slice before; each observation its state alone."""
    graph = network.to_dbn()
    assert len(graph) == 12
    assert nx.is_directed_acyclic_graph(graph)
    assert set(graph.predecessors(("X", "b", 1))) == {("X", "b", 0), ("X", "a", 0)}
    assert set(graph.predecessors(("X", "a", 1))) == {("X", "a", 0)}
    for name in "abc":
        assert not list(graph.predecessors(("X", name, 0)))
        for part in (0, 1):
            assert list(graph.predecessors(("Y", name, part))) == [("X", name, part)]
            assert not list(graph.successors(("Y", name, part)))


def test_two_slice_view_is_acyclic_even_with_feedback():
    parents = {"a": ("b",), "b": ("a",)}
    network = Network(names=("a", "b"), parents=parents, local={"a": 1.0, "b": 1.0}, optimal=True, bound=2.0)
    assert nx.is_directed_acyclic_graph(network.to_dbn())
    assert not nx.is_directed_acyclic_graph(network.to_networkx())


def test_repr_tells_edges_score_and_proof(network):
    assert repr(network) == "Network(a->b, b->c; score 3.75, optimal)"
    open_ended = Network(names=("a",), parents={"a": ()}, local={"a": 0.0}, optimal=False, bound=1.0)
    assert repr(open_ended) == "Network(no edges; score 0, bound 1)"


def test_a_network_is_a_container_of_edges(network):
    assert len(network) == 2
    assert list(network) == [("a", "b"), ("b", "c")]
    assert ("a", "b") in network
    assert ("b", "a") not in network
    assert network["c"] == ("b",)
    assert Network(names=("a",), parents={"a": ()}, local={"a": 0.0}, optimal=True, bound=0.0)
    with pytest.raises(InputError, match="there is no node 'z'; the nodes are a, b, c"):
        network["z"]
    assert "a" in network
    assert "z" not in network
    assert len({network, network}) == 1
    with pytest.raises(InputError, match="3 is not an edge; ask for"):
        assert 3 in network


DAMAGE = {
    "a parent that is no node": ("parents", {"a": [], "b": ["z"], "c": []}, "z drives or is driven but is not"),
    "a node that drives itself": ("parents", {"a": ["a"], "b": [], "c": []}, "a drives itself"),
    "parents of some": ("parents", {"a": []}, "its parents are not those of its names"),
    "no parents": ("parents", 3, "damaged"),
    "names twice": ("names", ["a", "a", "b"], "its names are no list of different texts"),
    "scores of others": ("local", {"a": 1, "b": 2}, "its local are not those of its names"),
    "scores that are none": ("local", {"a": "x", "b": 2, "c": 1}, "damaged"),
    "a test of no node": ("removed", [["q", "a"]], "q drives or is driven"),
    "a test without an end": ("candidates", [{"source": "a"}], "is missing"),
    "what is not known": ("colour", "red", "damaged"),
}


@pytest.mark.parametrize("case", DAMAGE)
def test_a_damaged_network_is_refused(network, case):
    field, value, said = DAMAGE[case]
    data = json.loads(network.to_json()) | {field: value}
    with pytest.raises(InputError, match=said):
        Network.from_json(json.dumps(data))
