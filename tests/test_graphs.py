import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from enmesh.search import graphs
from tests import naive


@st.composite
def digraphs(draw, most=7):
    n = draw(st.integers(1, most))
    pairs = [(s, t) for s in range(n) for t in range(n) if s != t]
    return graphs.from_edges(n, draw(st.sets(st.sampled_from(pairs))) if pairs else ())


def to_networkx(parents):
    graph = nx.DiGraph(list(graphs.edges(parents)))
    graph.add_nodes_from(range(len(parents)))
    return graph


@pytest.mark.parametrize(("n", "count"), [(1, 1), (2, 3), (3, 25), (4, 543), (5, 29281)])
def test_number_of_acyclic_graphs(n, count):
    assert sum(1 for _ in graphs.all_dags(n)) == count


def test_all_dags_are_the_digraphs_that_can_be_ordered():
    assert set(graphs.all_dags(4)) == {g for g in naive.digraphs(4) if naive.can_be_ordered(g)}


@given(digraphs())
def test_paths_components_and_cycles_agree_with_networkx(parents):
    graph = to_networkx(parents)
    above = [graphs.mask(s for s in graph if any(nx.has_path(graph, s, p) for p in ps)) for ps in parents]
    assert graphs.ancestors(parents) == above
    assert set(map(frozenset, graphs.strong_components(parents))) == set(
        map(frozenset, nx.strongly_connected_components(graph))
    )
    assert graphs.is_acyclic(parents) == nx.is_directed_acyclic_graph(graph) == naive.can_be_ordered(parents)
    cycle = graphs.find_cycle(parents)
    assert bool(cycle) != graphs.is_acyclic(parents)
    assert all(graph.has_edge(a, b) for a, b in zip(cycle, cycle[1:] + cycle[:1]))
    assert len(set(cycle)) == len(cycle)


@given(digraphs(), st.integers(0, 99))
def test_topological_order_puts_parents_first(parents, seed):
    if graphs.is_acyclic(parents):
        for rng in (None, np.random.default_rng(seed)):
            order = graphs.topological_order(parents, rng)
            assert sorted(order) == list(range(len(parents)))
            assert all(order.index(s) < order.index(t) for s, t in graphs.edges(parents))


# --- RPDAG ---------------------------------------------------------------------------------------------


def lawful(pdag):
    """The three conditions of Acid and de Campos."""
    links = nx.Graph([(a, b) for a, some in enumerate(pdag.siblings) for b in some])
    no_siblings = all(not (p and s) for p, s in zip(pdag.parents, pdag.siblings))
    no_cycles = graphs.is_acyclic(pdag.parents) and (not links or nx.is_forest(links))
    earned = all(len(p) >= 2 or all(pdag.parents[x] for x in p) for p in pdag.parents)
    return no_siblings and no_cycles and earned


def graphs_of(pdag):
    """Every acyclic graph of a class: one root for each tree."""
    from itertools import product

    for roots in product(*pdag.trees()):
        families = {node: tuple(sorted(p)) for node, p in enumerate(pdag.parents)}
        for root in roots:
            families |= pdag.rooted(root)
        yield tuple(families[node] for node in range(len(pdag.parents)))


def classes(n):
    """All graphs on n nodes by skeleton and head-to-head patterns."""
    found = {}
    for graph in graphs.all_dags(n):
        found.setdefault(naive.pattern(graph), set()).add(graph)
    return found


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rpdags_are_the_classes_of_equal_skeleton_and_head_to_head_patterns(n):
    known = classes(n)
    pdags = {graphs.RestrictedPDAG.of(next(iter(some))): some for some in known.values()}
    assert len(pdags) == len(known)
    for pdag, some in pdags.items():
        assert lawful(pdag)
        assert {graphs.RestrictedPDAG.of(graph) for graph in some} == {pdag}
        assert set(graphs_of(pdag)) == some


@pytest.mark.parametrize("n", [2, 3, 4])
def test_rpdag_operators_stay_lawful_and_reach_every_class(n):
    seen = {graphs.RestrictedPDAG.of(((),) * n)}
    front = list(seen)
    while front:
        pdag = front.pop()
        size = len(graphs.edges(next(graphs_of(pdag))))
        for other in pdag.neighbours():
            assert lawful(other)
            assert abs(len(graphs.edges(next(graphs_of(other)))) - size) == 1
            if other not in seen:
                seen.add(other)
                front.append(other)
    assert len(seen) == len(classes(n))


@pytest.mark.parametrize("n", [3, 4])
def test_rpdag_neighbours_are_all_classes_one_edge_away_that_keep_the_other_patterns(n):
    """Every removal of an edge from a graph of the class is a neighbour, and so is its reverse."""
    for some in classes(n).values():
        pdag = graphs.RestrictedPDAG.of(next(iter(some)))
        neighbours = set(pdag.neighbours())
        for graph in graphs_of(pdag):
            for source, target in graphs.edges(graph):
                fewer = list(graph)
                fewer[target] = tuple(p for p in graph[target] if p != source)
                less = graphs.RestrictedPDAG.of(tuple(fewer))
                assert less in neighbours
                assert pdag in set(less.neighbours())
