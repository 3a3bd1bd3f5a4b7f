"""One battery over all searches: constraints obeyed, nothing asked twice, never better than the optimum."""

from math import fsum

import pytest
from benchmarks.random_tables import RandomTable, Table
from hypothesis import given, settings

from enmesh.errors import InputError
from enmesh.search import RPDAG, BasinFlooding, Exact, Exhaustive, HillClimb, Independent, Problem, Tabu
from enmesh.search.graphs import edges, is_acyclic
from tests import naive
from tests.batteries import (
    battery_of,
    permitted,
    search_obeys_the_problem_and_never_beats_the_optimum,
    settings_with_scores,
)

PROVING = [Exact(), Exhaustive()]
HEURISTICS = [
    HillClimb(restarts=4),
    Tabu(restarts=1, patience=10, length=3),
    BasinFlooding(patience=20),
    RPDAG(restarts=2),
]
SEARCHES = [*PROVING, *HEURISTICS, Independent()]


@pytest.mark.parametrize("search", SEARCHES, ids=repr)
@pytest.mark.parametrize("check", battery_of("search"), ids=lambda check: check.__name__)
def test_battery(search, check):
    proves = search in PROVING or search == Independent()
    check(search, **({"proves": proves} if check is search_obeys_the_problem_and_never_beats_the_optimum else {}))


@settings(max_examples=40)
@given(case=settings_with_scores())
def test_exhaustive_is_the_best_of_all_digraphs(case):
    problem, scores = case
    if problem.n_nodes <= 4:
        found = Exhaustive().run(Table(scores), problem)
        assert found.parents == naive.best_graph(scores, problem.n_nodes, permitted(problem))
        free = naive.best_graph(scores, problem.n_nodes)
        assert found.gap == pytest.approx(fsum(scores[f] for f in enumerate(free)) - found.score, abs=1e-12)
        assert found.removed == tuple(sorted(edges(free) - edges(found.parents)))


@pytest.mark.slow
@pytest.mark.parametrize("search", [HillClimb(), Tabu()], ids=repr)
def test_defaults_find_the_optimum_of_small_random_tables(search):
    """At least 95 in 100, over all of which benchmarks/search.py --hit-rates runs; a sample here."""
    hits = 0
    for seed in range(5):
        table, problem = RandomTable(n_nodes=8, seed=seed).draw(), Problem(n_nodes=8, max_parents=3)
        hits += search.run(table, problem).parents == Exact().run(table, problem).parents
    assert hits >= 4


@pytest.mark.slow
@pytest.mark.parametrize("search", [HillClimb(), Tabu()], ids=repr)
def test_defaults_find_the_optimum_of_95_in_100_random_tables(search):
    hits = 0
    for seed in range(100):
        table, problem = RandomTable(n_nodes=8, seed=seed).draw(), Problem(n_nodes=8, max_parents=3)
        best = Exact().run(table, problem)
        assert best.gap > 0  # acyclicity matters in every one
        hits += search.run(table, problem).parents == best.parents
    assert hits >= 95


def test_the_seed_alone_decides_the_random_starts():
    table = RandomTable(n_nodes=9, seed=5).draw()
    runs = [HillClimb(restarts=3).run(table, Problem(n_nodes=9, max_parents=3, seed=s)) for s in (0, 0, 1, 2, 3)]
    assert repr(runs[0]) == repr(runs[1])
    assert len({run.evaluated for run in runs}) > 1


# --- impossible demands --------------------------------------------------------------------------------

NAMES = ("a", "b", "c")


@pytest.mark.parametrize(
    ("demand", "message"),
    [
        ({"required": {(0, 1), (1, 2), (2, 0)}}, "a -> b -> c -> a"),
        ({"required": {(0, 1)}, "forbidden": {(0, 1)}}, "a -> b is required and forbidden"),
        ({"required": {(0, 2), (1, 2)}, "max_parents": 1}, "a -> c, b -> c.*max_parents is 1"),
        ({"required": {(1, 1)}}, "b -> b is a self loop"),
        ({"required": {(0, 1)}, "candidates": ((), (2,), ())}, "a -> b is not among the candidates"),
        ({"forbidden": {(0, 7)}}, "node 7 does not exist"),
        ({"candidates": ((1,),)}, "one list per node"),
        ({"max_parents": -1}, "max_parents=-1 .* at least 0"),
        ({"n_nodes": 0, "names": None}, "n_nodes=0 .* at least 1"),
        ({"names": ("a",)}, "1 names for 3 nodes"),
    ],
)
def test_impossible_demands_are_refused_by_name(demand, message):
    with pytest.raises(InputError, match=message):
        Problem(**{"n_nodes": 3, "max_parents": 2, "names": NAMES} | demand)


def test_a_required_cycle_is_fine_where_cycles_are():
    problem = Problem(n_nodes=2, max_parents=1, required=frozenset({(0, 1), (1, 0)}), acyclic=False)
    for search in SEARCHES:
        assert search.run(RandomTable(n_nodes=2).draw(), problem).parents == ((1,), (0,))


@pytest.mark.parametrize(
    "make",
    [
        lambda: HillClimb(restarts=-1),
        lambda: HillClimb(shake=0),
        lambda: Tabu(length=0),
        lambda: Tabu(restarts=-1),
        lambda: BasinFlooding(patience=0),
        lambda: RPDAG(restarts=-1),
        lambda: Exact(time_limit=-1),
    ],
)
def test_options_are_checked(make):
    with pytest.raises(InputError):
        make()


def test_exhaustive_refuses_what_it_cannot_do_and_names_exact():
    with pytest.raises(InputError, match="Exact"):
        Exhaustive().run(RandomTable(n_nodes=7).draw(), Problem(n_nodes=7, max_parents=3))
    found = Exhaustive().run(RandomTable(n_nodes=7).draw(), Problem(n_nodes=7, max_parents=3, acyclic=False))
    assert found.optimal


def test_independent_may_have_cycles():
    found = Independent().run(RandomTable(n_nodes=5).draw(), Problem(n_nodes=5, max_parents=2))
    assert not is_acyclic(found.parents)
    assert found.optimal
    assert found.gap == 0
