"""The proven optimum: against enumeration, against dynamic programming, and its bounds."""

from dataclasses import replace
from math import fsum

import numpy as np
import pytest
from benchmarks.random_tables import RandomTable, Table
from hypothesis import given, settings
from hypothesis import strategies as st

from enmesh.search import Exact, Exhaustive, Independent, Problem, exact, integer
from enmesh.search.base import Memo
from enmesh.search.families import every_set, generate
from enmesh.search.graphs import is_acyclic
from enmesh.search.parts import Part, settle, shaken, split
from tests.marks import rest_slow
from tests.naive import best_order


def drawn(n, seed, **options):
    table = RandomTable(n_nodes=n, seed=seed, **options)
    problem = Problem(n_nodes=n, max_parents=table.max_parents, candidates=table.sources())
    return table.draw(), problem


def whole(scores, problem):
    """All choices of a problem as one part, before any shortcut."""
    return Part(tuple(range(problem.n_nodes)), dict(enumerate(generate(Memo(scores, problem), problem))))


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_equals_exhaustive_on_random_tables(n):
    for seed in range({4: 60, 5: 10}.get(n, 160)):
        scores, problem = drawn(n, seed)
        assert Exact().run(scores, problem) == Exhaustive().run(scores, problem)


@pytest.mark.slow
def test_equals_exhaustive_on_500_random_tables():
    for seed in range(500):
        scores, problem = drawn(2 + seed % 4, 1000 + seed, noise=1.0)
        assert Exact().run(scores, problem) == Exhaustive().run(scores, problem)


@pytest.mark.parametrize("search", [Exact(), Independent()])
@pytest.mark.parametrize("required", [(), ((1, 0),)])
def test_ceilings_spare_scores_and_change_no_answer(search, required):
    """All four candidates of a node are asked at first, then what may be better, or be part of the best graph."""
    spared = cyclic = 0
    for seed in range(60):
        scores, problem = drawn(5, seed, max_parents=4, penalty=0.3, noise=0.2)
        rng = np.random.default_rng(seed)
        above = {family: score + rng.exponential(0.3) for family, score in scores.scores.items()}
        problem = replace(problem, required=frozenset(required))
        plain = search.run(scores, problem)
        bounded = replace(problem, ceilings=lambda families, above=above: [above[f] for f in families])
        found = search.run(scores, bounded)
        assert (found.parents, found.local, found.optimal) == (plain.parents, plain.local, plain.optimal)
        assert (found.gap, found.removed) == (plain.gap, plain.removed)
        spared += plain.evaluated - found.evaluated
        cyclic += plain.gap > 0
    assert spared > 60 * 5 * 16 / 4
    assert cyclic > 30 or isinstance(search, Independent)


@pytest.mark.parametrize("tables", rest_slow([25, 100]))
def test_equals_dynamic_programming_on_tables_with_ten_nodes(tables):
    cyclic = 0
    for seed in range(tables):
        scores, problem = drawn(10, seed, max_parents=2)
        part, found = whole(scores, problem), Exact().run(scores, problem)
        assert found.score == pytest.approx(part.value(best_order(part)), abs=1e-12)
        assert found.optimal
        cyclic += found.gap > 0
    assert cyclic == tables


@pytest.mark.parametrize("n", [3, 4, 5])
def test_cuts_find_what_all_orders_do(n, monkeypatch):
    for seed in range(10):
        scores, problem = drawn(n, seed)
        best = Exact().run(scores, problem)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "FEW", 0)
            assert Exact().run(scores, problem) == best


@pytest.mark.parametrize("seed", range(5))
def test_cuts_find_the_optimum_without_any_shortcut(seed):
    """The kernels alone: no order to beat, nothing pruned, nothing taken apart."""
    scores, problem = drawn(8, seed)
    part, rng = whole(scores, problem), np.random.default_rng(0)
    best = part.value(best_order(part))
    program = integer.Program(part, part.ceiling - part.value(list(range(8))))
    order, loss = integer.finish(program, list(range(8)), np.inf, rng)
    assert part.value(order) == pytest.approx(best, abs=1e-12)
    assert part.ceiling - loss == pytest.approx(best, abs=1e-6)


@pytest.mark.parametrize("seed", range(5))
def test_the_relaxation_bounds_the_optimum_whatever_the_prices(seed):
    scores, problem = drawn(7, seed)
    part, rng = whole(scores, problem), np.random.default_rng(seed)
    least = part.ceiling - part.value(best_order(part))
    program = integer.Program(part, least)
    program.add([3, 5, 6, 7, 127])
    for _ in range(20):
        assert program.bound(rng.exponential(0.2 * program.scale, size=5))[0] <= least + 1e-9
    x, prices = program.relax()
    assert program.bound(prices)[0] * program.scale == pytest.approx(program.cost @ x, rel=1e-6)


@pytest.mark.parametrize("seed", range(10))
def test_separation_finds_broken_clusters(seed):
    scores, problem = drawn(6, seed)
    part = whole(scores, problem)
    program = integer.Program(part, 1.0)
    rng = np.random.default_rng(seed)
    program.add(rng.choice(np.arange(3, 64), 6, replace=False).tolist())
    x, _ = program.relax()
    every = [bits for bits in range(64) if bits.bit_count() >= 2]
    broken = program.broken(every, x)
    assert set(integer.short_cycles(program.arcs(x))) <= set(broken)
    assert set(program.broken(integer.grown_clusters(program, x), x)) <= set(broken)


@pytest.mark.parametrize("n", [6, 12])
def test_a_settled_order_is_a_fixed_point_and_never_worse(n):
    scores, problem = drawn(n, 0)
    part, rng = whole(scores, problem), np.random.default_rng(1)
    start = rng.permutation(n).tolist()
    order = settle(part, start, rng)
    assert part.value(order) >= part.value(start)
    assert sorted(order) == sorted(shaken(part, order, rng)) == list(range(n))
    for node in range(n):
        for place in range(n):
            moved = [other for other in order if other != node]
            moved.insert(place, node)
            assert part.value(moved) <= part.value(order) + 1e-9


def test_parts_are_the_strong_components():
    scores = {(t, ()): 0.0 for t in range(5)}
    scores |= {(0, (1,)): 2.0, (1, (0,)): 1.0, (2, (1,)): 1.0, (3, (4,)): 1.0, (4, (3,)): 3.0, (3, (2,)): 0.5}
    wanted = ((1,), (0,), (1,), (2, 4), (3,))
    problem = Problem(n_nodes=5, max_parents=1, candidates=wanted)
    table = dict(enumerate(generate(Memo(Table(scores), problem), problem)))
    assert [part.nodes for part in split(table)] == [(0, 1), (2,), (3, 4)]
    assert Exact().run(Table(scores), problem).parents == ((1,), (), (1,), (2,), (3,))


def test_a_time_limit_returns_a_graph_and_a_bound_that_holds():
    for seed in range(10):
        scores, problem = drawn(9, seed)
        best = Exact().run(scores, problem)
        found = Exact(time_limit=0).run(scores, problem)
        assert is_acyclic(found.parents)
        assert found.score <= best.score <= found.bound
        assert found.optimal == (found.bound == found.score)
        assert found.bound <= found.score + found.gap + 1e-9


def test_a_time_limit_in_the_middle_of_integer_programming():
    scores, problem = drawn(22, 1, candidates=10, noise=1.0)
    best = Exact().run(scores, problem)
    assert best.optimal
    for seconds in (0.05, 0.2, 0.5):
        found = Exact(time_limit=seconds).run(scores, problem)
        assert found.score <= best.score + 1e-9
        assert found.bound >= best.score - 1e-9


# --- bounds --------------------------------------------------------------------------------------------


class Monotone:
    """A score whose fit grows with the set: noisy additive worths, made monotone, less a price per parent."""

    def __init__(self, n, most, seed, price):
        rng = np.random.default_rng(seed)
        problem = Problem(n_nodes=n, max_parents=n - 1)
        self.price, self.fit = price, {}
        for target in range(n):
            worth = rng.exponential(size=n)
            for parents in every_set(problem, target):
                below = [self.fit[target, tuple(p for p in parents if p != q)] for q in parents]
                raw = worth[list(parents)].sum() + rng.normal(0, 0.3)
                self.fit[target, parents] = max([raw, *below]) if parents else 0.0
        self.top = [self.fit[t, tuple(j for j in range(n) if j != t)] for t in range(n)]

    def ceiling(self, target):
        return self.top[target]

    def penalty(self, target, parents):
        return self.price * len(parents)

    def __call__(self, families):
        return np.array([self.fit[t, p] - self.penalty(t, p) for t, p in families])


@settings(max_examples=40)
@given(seed=st.integers(0, 2**32 - 1), price=st.floats(0.2, 3.0), required=st.booleans())
def test_bounds_save_evaluations_and_change_nothing(seed, price, required):
    score = Monotone(5, 4, seed, price)
    must = frozenset({(0, 1), (2, 1)}) if required else frozenset()
    plain = Problem(n_nodes=5, max_parents=4, required=must)
    bounded = Problem(n_nodes=5, max_parents=4, required=must, bounds=score)
    for search in (Exact(), Independent()):
        with_bounds, without = search.run(score, bounded), search.run(score, plain)
        assert with_bounds.parents == without.parents
        assert with_bounds.optimal
        assert with_bounds.gap == without.gap
        assert with_bounds.evaluated <= without.evaluated


def test_bounds_spare_a_quarter_of_the_sets_when_parents_are_dear():
    score = Monotone(8, 7, 0, price=1.5)
    plain = Problem(n_nodes=8, max_parents=7)
    bounded = Problem(n_nodes=8, max_parents=7, bounds=score)
    spared, full = (Exact().run(score, problem) for problem in (bounded, plain))
    assert spared.parents == full.parents
    assert full.gap > 0
    assert full.evaluated == 8 * 2**7
    assert spared.evaluated < 0.75 * full.evaluated


def test_dominated_sets_are_dropped_and_nothing_else():
    scores, problem = drawn(6, 4)
    table = generate(Memo(scores, problem), problem)
    for target, choices in enumerate(table):
        kept = {choice.parents for choice in choices}
        for parents in every_set(problem, target):
            value = scores.scores[target, parents]
            subsets = [p for p in every_set(problem, target) if set(p) < set(parents)]
            assert (parents in kept) == all(scores.scores[target, p] < value for p in subsets)


def test_an_acyclic_favourite_is_the_answer_at_once():
    scores = {(0, ()): 0.0, (0, (1,)): -1.0, (1, ()): 0.0, (1, (0,)): 2.0}
    found = Exact().run(Table(scores), Problem(n_nodes=2, max_parents=1))
    assert found.parents == ((), (0,))
    assert (found.optimal, found.gap, found.removed) == (True, 0.0, ())
    assert found.bound == fsum(found.local)
