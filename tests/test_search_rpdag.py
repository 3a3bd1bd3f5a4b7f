"""What scores are equal over a class of RPDAG-equivalent graphs, and the search over classes."""

from itertools import combinations

import numpy as np
import pytest
from benchmarks.random_tables import Table
from scipy.linalg import solve_discrete_lyapunov

from enmesh.search import RPDAG, Exact, Problem
from enmesh.search.graphs import RestrictedPDAG, all_dags


def conditional_variance(covariance, target, given):
    given = list(given)
    if not given:
        return covariance[target, target]
    cross = covariance[given, target]
    return covariance[target, target] - cross @ np.linalg.solve(covariance[np.ix_(given, given)], cross)


def contemporaneous(n, seed, samples=500):
    """Gaussian BIC of every family from a random covariance matrix: no time, no direction."""
    rng = np.random.default_rng(seed)
    mixing = np.eye(n) + np.tril(rng.normal(size=(n, n)) * (rng.random((n, n)) < 0.6), -1)
    covariance = np.cov(mixing @ rng.normal(size=(n, samples)))
    scores = {}
    for target in range(n):
        others = [j for j in range(n) if j != target]
        for parents in (p for k in range(n) for p in combinations(others, k)):
            fit = -0.5 * samples * np.log(conditional_variance(covariance, target, parents))
            scores[target, parents] = float(fit - 0.5 * np.log(samples) * len(parents))
    return scores


def transfer_entropy(coupling, target, parents):
    """T(parents -> target) of a VAR(1) with unit noise, history length 1, from its stationary covariance."""
    n = len(coupling)
    now = solve_discrete_lyapunov(coupling, np.eye(n))
    both = np.block([[now, now @ coupling.T], [coupling @ now, now]])  # (values at n, values at n + 1)
    alone = conditional_variance(both, n + target, [target])
    return 0.5 * np.log(alone / conditional_variance(both, n + target, sorted({target, *parents})))


def total(scores, graph):
    return sum(scores[family] for family in enumerate(graph))


def test_transfer_entropy_is_not_equal_over_a_class():
    """Against the paper: X -> Y and Y -> X are one class, and T(X -> Y) is not T(Y -> X)."""
    forward, backward = ((), (0,)), ((1,), ())
    assert RestrictedPDAG.of(forward) == RestrictedPDAG.of(backward)
    coupling = np.array([[0.5, 0.0], [0.4, 0.5]])
    assert transfer_entropy(coupling, 1, [0]) == pytest.approx(0.092053, abs=1e-6)
    assert transfer_entropy(coupling, 0, [1]) == pytest.approx(0.0, abs=1e-12)


def test_a_symmetric_score_is_equal_over_every_class():
    scores = contemporaneous(4, seed=0)
    values = {}
    for graph in all_dags(4):
        values.setdefault(RestrictedPDAG.of(graph), []).append(total(scores, graph))
    assert max(map(len, values.values())) > 1
    for some in values.values():
        assert max(some) - min(some) < 1e-8
    assert np.ptp([some[0] for some in values.values()]) > 1


@pytest.mark.parametrize("seed", range(6))
def test_search_over_classes_finds_the_best_class_of_a_symmetric_score(seed):
    scores, problem = contemporaneous(5, seed), Problem(n_nodes=5, max_parents=4)
    found, best = RPDAG().run(Table(scores), problem), Exact().run(Table(scores), problem)
    assert found.score == pytest.approx(best.score, abs=1e-8)


def test_for_transfer_entropy_the_best_graph_of_the_class_is_returned_with_its_own_score():
    coupling = np.array([[0.5, 0.0, 0.0], [0.4, 0.5, 0.0], [0.0, 0.4, 0.5]])
    nodes = range(3)
    scores = {
        (t, p): transfer_entropy(coupling, t, p) - 0.02 * len(p)
        for t in nodes
        for k in nodes
        for p in combinations([j for j in nodes if j != t], k)
    }
    found = RPDAG(restarts=0).run(Table(scores), Problem(n_nodes=3, max_parents=2))
    assert found.parents == ((), (0,), (1,))
    assert found.score == pytest.approx(total(scores, found.parents))
    assert not found.optimal
