"""Checks that every method of a kind must pass; each takes the method, so that new ones join by one line.

A check that begins with ``estimator_`` belongs to the battery of estimators, and so on: `battery_of` lists them.
"""

from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from math import factorial, inf, isnan

import numpy as np
import pytest
from benchmarks.random_tables import RandomTable, Table
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.errors import InputError
from enmesh.options import describe, restore
from enmesh.scores import Link
from enmesh.search import Exhaustive, Independent, Problem
from enmesh.search.families import every_set
from enmesh.search.graphs import edges
from enmesh.surrogates import batches
from enmesh.tasks import run
from tests import naive


def battery_of(kind: str) -> list[Callable]:
    """Return the checks of a kind of method: "estimator", "score", "surrogate" or "search"."""
    return [check for name, check in sorted(globals().items()) if name.startswith(f"{kind}_")]


# --- estimators -----------------------------------------------------------------------------------------------


def _of_kind(estimator, column, index):
    """Every other column of a mixed block holds states."""
    return column.round().astype(int) if isinstance(estimator, em.Mixed) and index % 2 else column


def conditioned(estimator, *blocks):
    out, index = [], 0
    for block in blocks:
        columns = [
            estimator.condition(_of_kind(estimator, c, index + i), index + i, "v") for i, c in enumerate(block.T)
        ]
        out.append(np.stack(columns, axis=1) if columns else np.empty((len(block), 0)))
        index += len(columns)
    return [block[estimator.reaches_back :] for block in out]


def draw_blocks(estimator, dims, n=90, seed=0, ties=False):
    rng = np.random.default_rng(seed)
    if isinstance(estimator, em.Discrete):
        return [rng.integers(0, 3, (n, d)) for d in dims]
    common = rng.normal(size=(n, 1))
    blocks = [rng.normal(size=(n, d)) + 0.7 * common for d in dims]
    return [np.round(b, 1) for b in blocks] if ties else blocks


def equals_its_twin(estimator, twin, dims=(2, 1, 3), ties=False):
    """Values per sample are those of the definition, two trials included."""
    if ties and isinstance(estimator, em.KSG) and estimator.residual == "none":
        estimator = replace(estimator, noise=0.0)
    x, y, z = conditioned(estimator, *draw_blocks(estimator, dims, ties=ties))
    # Two trials: the second starts long after the first ends.
    times = np.r_[0:40, 1000:1050][: len(y)]
    prepared = estimator.prepare(y, z, times=times)
    expected = twin(estimator, x, y, z, times)
    np.testing.assert_allclose(prepared.cmi(x, local=True), expected, atol=1e-10)
    assert prepared.cmi(x) == pytest.approx(expected.mean(), abs=1e-10)


def estimator_batch_equals_a_loop(estimator):
    x, y, z = conditioned(estimator, *draw_blocks(estimator, (2, 1, 2)))
    rows = np.random.default_rng(1).permuted(np.tile(np.arange(len(x)), (6, 1)), axis=1).reshape(2, 3, -1)
    prepared = estimator.prepare(y, z)
    batch, local = prepared.cmi(x[rows]), prepared.cmi(x[rows], local=True)
    assert batch.shape == (2, 3)
    assert local.shape == (2, 3, len(x))
    for index in np.ndindex(2, 3):
        alone = estimator.prepare(y, z).cmi(x[rows[index]])
        assert batch[index] == pytest.approx(alone, abs=1e-12)
        assert local[index].mean() == pytest.approx(alone, abs=1e-10)


def estimator_symmetric_in_x_and_y(estimator):
    """All but regression on curves: those from x to y are others than from y to x."""
    x, y, z = conditioned(estimator, *draw_blocks(estimator, (2, 2, 1)))
    is_symmetric = getattr(estimator, "features", "linear") == "linear"
    back = pytest.approx(estimator.prepare(x, z).cmi(y), abs=1e-10)
    assert (estimator.prepare(y, z).cmi(x) == back) == is_symmetric


def estimator_unmoved_by_relabelling_samples_and_columns(estimator):
    """Samples may be in any order unless a Theiler window ties them to their times."""
    x, y, z = conditioned(estimator, *draw_blocks(estimator, (2, 1, 2)))
    value = pytest.approx(estimator.prepare(y, z).cmi(x), abs=1e-10)
    order = np.random.default_rng(2).permutation(len(x))
    is_timeless = not getattr(estimator, "theiler", 0)
    assert (estimator.prepare(y[order], z[order]).cmi(x[order]) == value) == is_timeless
    assert estimator.prepare(y, z[:, ::-1]).cmi(x[:, ::-1]) == value


def estimator_source_without_columns_says_nothing(estimator):
    _, y, z = conditioned(estimator, *draw_blocks(estimator, (1, 1, 1)))
    assert estimator.prepare(y, z).cmi(np.empty((len(y), 0))) == 0.0


def estimator_near_zero_for_independent_data_and_near_the_truth_for_dependent(estimator):
    rng = np.random.default_rng(3)
    n = 2000
    if isinstance(estimator, em.Ordinal):
        x, free = rng.normal(size=(2, n))
        y, truth = np.exp(x), np.log(factorial(estimator.order))
    elif estimator.discrete:
        x, noise = rng.integers(0, 2, n), rng.random(n) < 0.1
        y, truth = x ^ noise, np.log(2) + 0.1 * np.log(0.1) + 0.9 * np.log(0.9)
        free = rng.integers(0, 2, n)
    else:
        x, free = rng.normal(size=(2, n))
        y, truth = 0.8 * x + 0.6 * rng.normal(size=n), -np.log(1 - 0.64) / 2
    tolerance = 0.1 if isinstance(estimator, em.Kernel) else 0.05
    value = em.cmi(x, y, estimator=estimator)
    if estimator.targets > 1:  # spread and shape of the target count beside its location
        assert truth < value < 2 * truth
    else:
        assert value == pytest.approx(truth, abs=tolerance)
    assert em.cmi(free, y, estimator=estimator) == pytest.approx(0, abs=tolerance)


# --- scores ---------------------------------------------------------------------------------------------------

GRAPHS = [{}, {"b": ["a"]}, {"b": ["a"], "c": ["a", "b"]}, {"a": ["b", "c"], "b": ["c"]}]


def linear(n=250, seed=0):
    rng = np.random.default_rng(seed)
    values = np.zeros((n, 3))
    for t in range(1, n):
        values[t] = 0.4 * values[t - 1] + rng.normal(size=3)
        values[t, 1] += 0.5 * values[t - 1, 0]
        values[t, 2] += 0.5 * values[t - 1, 1]
    return em.Series(values, names="abc")


def states(n=400, seed=0):
    rng = np.random.default_rng(seed)
    values = rng.integers(0, 2, (n, 3))
    values[1:, 1] = values[:-1, 0] ^ (rng.random(n - 1) < 0.15)
    values[:, 2] = rng.integers(0, 3, n)
    return em.Series(values, names="abc")


def score_of_nodes_add_up_and_stand_alone(score, make=linear):
    """Decomposability: a node's score is the same in every graph that gives it the same parents."""
    series = make()
    seen = {}
    for graph in GRAPHS:
        found = em.score(series, graph, score)
        assert found.total == pytest.approx(sum(found.local.values()))
        for node, value in found.local.items():
            key = node, tuple(sorted(graph.get(node, ())))
            assert seen.setdefault(key, value) == value
            if not key[1] and not isinstance(score, em.Criterion):
                assert value == 0.0


def score_has_the_same_bits_whatever_was_asked_before(score, make=linear):
    fresh = score.bind(make()).family_score(2, (0, 1))
    used = score.bind(make())
    for parents in ((), (1,), (0,)):
        used.family_score(2, parents)
        used.family_score(1, tuple(p for p in parents if p != 1))
    assert used.family_score(2, (0, 1)) == fresh
    assert used.family_score(2, (0, 1)) == fresh


def score_tests_edges_given_the_other_parents(score, make=linear):
    test = run(score.bind(make()).test(Link(0, 1, (2,))))
    assert 0 < test.p_value <= 1 or (test.p_value >= 0 and score.estimator.analytic)
    assert np.isfinite(test.value)


def score_does_not_depend_on_the_order_of_parents(score, make=linear):
    there, back = (em.score(make(150), {"c": parents}, score) for parents in (["a", "b"], ["b", "a"]))
    assert there.local == back.local


# --- surrogates -----------------------------------------------------------------------------------------------

STARTS = np.array([0, 120, 200])


def planned(surrogate, discrete=False, starts=STARTS):
    rng = np.random.default_rng(0)
    n = starts[-1]
    x = rng.normal(size=(n, 2))
    z = rng.integers(0, 3, (n, 2)) if discrete else rng.normal(size=(n, 2))
    return surrogate.plan(x, z, starts=starts, span=2), x, z


def surrogate_draws_do_not_depend_on_the_batch(surrogate):
    draw, x, _ = planned(surrogate)
    whole = draw(7, 0, 10)
    assert whole.shape == (10, 200)
    np.testing.assert_array_equal(whole, np.concatenate([draw(7, 0, 3), draw(7, 3, 1), draw(7, 4, 6)]))
    assert (draw(8, 0, 10) != whole).any()
    together = np.concatenate(list(batches(draw, x, 7, 10)))
    parts = [b for first, count in ((0, 4), (4, 6)) for b in batches(draw, x, 7, count, first)]
    np.testing.assert_array_equal(together, np.concatenate(parts))
    if isinstance(surrogate, em.Bootstrap):  # moved within reach of the nearest neighbour
        assert (np.abs(together - x[whole]) <= draw.spread[whole]).all()
        assert len(np.unique(together[0], axis=0)) == 200
    else:
        np.testing.assert_array_equal(together, x[whole])


def surrogate_draws_differ_from_one_another_and_from_the_data(surrogate):
    draw, _, _ = planned(surrogate)
    rows = draw(1, 0, 20)
    assert len({r.tobytes() for r in rows}) == 20
    assert (rows != np.arange(200)).mean() > 0.5


def surrogate_uses_every_sample_once(surrogate):
    """All but the bootstrap, which draws with replacement."""
    rows = planned(surrogate)[0](3, 0, 5)
    once = [np.array_equal(np.sort(row), np.arange(200)) for row in rows]
    assert once == [not isinstance(surrogate, em.Bootstrap)] * 5


# --- searches -------------------------------------------------------------------------------------------------


class Watched:
    """An evaluate that refuses to be asked twice or outside the problem."""

    def __init__(self, evaluate, problem):
        self.evaluate, self.asked = evaluate, set()
        self.allowed = {(t, p) for t in range(problem.n_nodes) for p in every_set(problem, t)}

    def __call__(self, families):
        assert len(set(families)) == len(families)
        assert not self.asked & set(families)
        assert set(families) <= self.allowed
        self.asked |= set(families)
        return self.evaluate(families)


@st.composite
def problems(draw, most=5):
    """A problem with random constraints that can be met."""
    n = draw(st.integers(1, most))
    order = draw(st.permutations(range(n)))
    ahead = [(order[a], order[b]) for a, b in combinations(range(n), 2)]
    required = draw(st.sets(st.sampled_from(ahead), max_size=3)) if ahead else set()
    others = sorted({(s, t) for s in range(n) for t in range(n) if s != t} - required)
    forbidden = draw(st.sets(st.sampled_from(others), max_size=6)) if others else set()
    least = max([sum(t == node for _, t in required) for node in range(n)])
    return Problem(
        n_nodes=n,
        max_parents=draw(st.integers(least, max(least, n - 1))),
        acyclic=draw(st.booleans()),
        required=frozenset(required),
        forbidden=frozenset(forbidden),
        seed=draw(st.integers(0, 9)),
    )


@st.composite
def settings_with_scores(draw):
    """A problem and scores for it: real numbers, or few integers so that many graphs tie."""
    problem = draw(problems())
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    integers = draw(st.booleans())
    families = [(t, p) for t in range(problem.n_nodes) for p in every_set(problem, t)]
    values = rng.integers(-2, 3, len(families)) if integers else rng.normal(size=len(families))
    return problem, dict(zip(families, values.astype(float).tolist()))


def permitted(problem):
    def check(graph):
        held = edges(graph)
        fits = problem.required <= held and not problem.forbidden & held
        few = max(map(len, graph)) <= problem.max_parents
        return fits and few and (not problem.acyclic or naive.can_be_ordered(graph))

    return check


def search_obeys_the_problem_and_never_beats_the_optimum(search, proves=False):
    """``proves``: the search says that its graph is optimal, and it is."""

    @settings(max_examples=60, database=None)
    @given(case=settings_with_scores())
    def check(case):
        problem, scores = case
        evaluate = Watched(Table(scores), problem)
        found = search.run(evaluate, problem)
        best = Exhaustive().run(Table(scores), problem)
        if search == Independent():  # does not look at acyclicity
            problem = replace(problem, acyclic=False)
            best = Exhaustive().run(Table(scores), problem)
        assert permitted(problem)(found.parents)
        assert found.local == tuple(scores[family] for family in enumerate(found.parents))
        assert found.evaluated == len(evaluate.asked)
        assert found.score <= best.score + 1e-12
        assert found.bound >= best.score - 1e-12
        if proves:
            assert found.optimal
            assert found.bound == found.score == pytest.approx(best.score, abs=1e-12)
            assert found.gap == pytest.approx(best.gap, abs=1e-12)
            assert set(found.removed) <= edges(best.parents) | set(best.removed)
        else:
            assert not found.optimal
            assert found.bound == inf
            assert isnan(found.gap)
            assert found.removed == ()

    check()


def search_leaves_no_trace_of_the_order_of_evaluation(search):
    table = RandomTable(n_nodes=5, seed=3).draw()
    problem = Problem(n_nodes=5, max_parents=3)

    def one_by_one_backwards(families):
        values = {family: table([family])[0] for family in reversed(families)}
        return np.array([values[family] for family in families])

    one, other = search.run(table, problem), search.run(one_by_one_backwards, problem)
    assert repr(one) == repr(other)  # every digit, and NaN is NaN


def search_takes_sources_from_the_candidates(search):
    table = RandomTable(n_nodes=5, candidates=2, seed=1)
    problem = Problem(n_nodes=5, max_parents=3, candidates=table.sources())
    found = search.run(table.draw(), problem)  # the table holds no other family
    assert all(set(p) <= set(some) for p, some in zip(found.parents, table.sources()))


def search_gives_ties_to_the_smaller_set_then_the_first(search):
    flat = Table({(t, p): 0.0 for t in range(4) for p in every_set(Problem(n_nodes=4, max_parents=3), t)})
    assert search.run(flat, Problem(n_nodes=4, max_parents=3)).parents == ((),) * 4
    forced = Problem(n_nodes=4, max_parents=1, required=frozenset({(3, 0)}))
    assert search.run(flat, forced).parents == ((3,), (), (), ())
    equal = Table({(0, ()): 0.0, (1, ()): 0.0, (2, ()): 0.0, (2, (0,)): 1.0, (2, (1,)): 1.0})
    only = Problem(n_nodes=3, max_parents=1, candidates=((), (), (0, 1)))
    assert search.run(equal, only).parents == ((), (), (0,))


def search_knows_one_node_and_no_parents(search):
    assert search.run(Table({(0, ()): 2.0}), Problem(n_nodes=1, max_parents=0)).parents == ((),)
    table = RandomTable(n_nodes=3).draw()
    assert search.run(table, Problem(n_nodes=3, max_parents=0)).parents == ((), (), ())


def search_options_round_trip(search):
    assert restore(describe(search)) == search


def search_refuses_scores_that_are_not_numbers_by_name(search):
    problem = Problem(n_nodes=2, max_parents=1, names=("a", "b"))
    with pytest.raises(InputError, match="score of b given a is nan"):
        search.run(Table({(0, ()): 0.0, (1, ()): 0.0, (0, (1,)): 0.0, (1, (0,)): np.nan}), problem)
