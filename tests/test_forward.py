"""Forward selection of lagged variables by regression: against a naive twin, at any size, as constrained."""

import numpy as np
import pytest

import enmesh as em
from enmesh.embedding.forward import ForwardSelection
from enmesh.embedding.lagged import Lagged
from enmesh.tasks import run
from tests import naive

ESTIMATORS = {"line": em.Gaussian(normalise="rank"), "curve": em.Regression(features="quadratic", normalise="zscore")}


def past_of(selection, target):
    """What is selected for one target."""
    return run(selection.find(target))[0]


def system(n=400, seed=0):
    """Five nodes: lines and a product, delays up to 4."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n + 50, 5))
    for t in range(5, len(x)):
        x[t, 1] += 0.5 * x[t - 1, 1] + 0.5 * x[t - 3, 0]
        x[t, 2] += 0.6 * x[t - 1, 0] * x[t - 1, 1]
        x[t, 3] += 0.4 * x[t - 1, 3] - 0.4 * x[t - 2, 1] + 0.4 * x[t - 4, 2]
    return em.Series(x[50:])


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_gains_are_those_of_whole_regressions(kind):
    series = system()
    method = em.NonUniform(max_lag=4, estimator=ESTIMATORS[kind])
    selection = method.bind(series)
    assert isinstance(selection, ForwardSelection)
    for target, known in ((3, [Lagged(1, 2)]), (2, [Lagged(0, 1)]), (1, [])):
        fit = selection._own_past(target)
        for variable in known:
            fit.add(variable)
        share = fit.shares()
        y = selection.records.take([Lagged(target, 0)])[:, 0]
        for place in (0, 3, 7, 12, 19):
            variable = Lagged(place % 5, place // 5 + 1)
            if variable in fit.chosen:
                continue
            before = selection.records.take(fit.chosen)
            after = selection.records.take([*fit.chosen, variable])
            expected = naive.explained_share(before, after, y, quadratic=kind == "curve")
            assert share[place] == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_selection_is_that_of_the_naive_twin(kind):
    series = system(seed=1)
    method = em.NonUniform(max_lag=4, estimator=ESTIMATORS[kind], alpha=0.99)
    selection = method.bind(series)
    for target in range(5):
        past = past_of(selection, target)
        lags = naive.forward_selection(
            selection.records.values[:, :],
            target,
            len(past.own),
            4,
            0.01,
            quadratic=kind == "curve",
            span=selection.blocks.span,
        )
        assert {j: past.lags[j] for j in past.sources} == lags


def test_squares_and_products_are_found_by_the_curve_alone():
    rng = np.random.default_rng(2)
    x = rng.normal(size=(1000, 3))
    x[2:, 2] += 0.5 * x[1:-1, 0] ** 2 + 0.6 * x[1:-1, 0] * x[:-2, 1]
    found = {}
    for kind, estimator in ESTIMATORS.items():
        past = past_of(em.NonUniform(max_lag=4, estimator=estimator).bind(em.Series(x)), 2)
        found[kind] = {j: past.lags[j] for j in past.sources}
    assert found == {"line": {}, "curve": {0: (1,), 1: (2,)}}


def test_only_candidates_are_selected():
    series = system()
    method = em.NonUniform(max_lag=4, estimator=em.Gaussian(), candidates={"x3": ["x0", "x2"]})
    assert 1 not in past_of(method.bind(series), 3).sources
    assert past_of(method.bind(series), 1).sources == (0,)


def test_doubled_columns_are_harmless():
    values = system().values
    noise = 1e-9 * np.random.default_rng(0).normal(size=len(values))
    doubled = em.Series(np.column_stack([values, values[:, 0] + noise]))
    for estimator in ESTIMATORS.values():
        past = past_of(em.NonUniform(max_lag=4, estimator=estimator).bind(doubled), 1)
        assert len(set(past.sources) & {0, 5}) == 1


def test_trials_and_missing_values():
    one = system(n=300)
    trials = em.Series([one.values[:150], one.values[150:]])
    assert past_of(em.NonUniform(max_lag=4, estimator=em.Gaussian()).bind(trials), 1).lags[0] == (3,)
    holes = one.values.copy()
    holes[[40, 90, 200], 2] = np.nan
    series = em.Series(holes, missing="drop")
    with pytest.warns(em.HazardWarning, match="missing"):
        assert past_of(em.NonUniform(max_lag=4, estimator=em.Gaussian()).bind(series), 1).lags[0] == (3,)


def test_forty_nodes_with_lags():
    rng = np.random.default_rng(5)
    nodes, n = 40, 1000
    links = {}
    while len(links) < 35:
        i, j = map(int, rng.integers(0, nodes, 2))
        if i != j:
            links[i, j] = int(rng.integers(1, 6))
    x = rng.normal(size=(n + 100, nodes))
    for t in range(5, len(x)):
        x[t] += 0.3 * x[t - 1]
        for (i, j), lag in links.items():
            x[t, j] += 0.3 * x[t - lag, i]
    net = em.infer(em.Series(x[100:]), max_lag=5, acyclic=False)
    found = {(int(c.source[1:]), int(c.target[1:])): c.lag for c in net.candidates if c.selected}
    assert sum(found.get(link) == lag for link, lag in links.items()) >= 33
    assert len(found.keys() - links.keys()) <= 3
