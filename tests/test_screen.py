"""Screening: only where it is needed, sparing true parents with the probability it states."""

import numpy as np
import pytest
from scipy.stats import chi2, ncx2

import enmesh as em
from enmesh.inference import screen as module
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.screen import count_families, screen
from enmesh.inference.store import runs
from tests.test_evaluate import all_families

TEA = em.TEA(embedding=em.Embedding())


def graph(n_nodes, seed, density=0.05):
    return em.simulate.random_dag(n_nodes, density=density, max_parents=3, seed=seed)


def truth(series):
    return {(series.index(p), series.index(t)) for t, parents in series.truth.items() for p in parents}


def survivors(screened):
    return {(j, i) for i, sources in enumerate(screened[0]) for j in sources}


@pytest.fixture(scope="module")
def wide():
    return em.simulate.var(graph(40, 1), n=500, seed=1)


def test_nothing_is_done_within_the_budget():
    series = em.simulate.var(graph(6, 0, 0.3), n=100, seed=0)
    with Evaluator(TEA, series) as evaluate:
        candidates, report = screen(evaluate, max_parents=3)
        assert report == {"applied": False, "families": len(all_families(6, 3))}
        assert evaluate._known == {}
    assert candidates == tuple(tuple(j for j in range(6) if j != i) for i in range(6))


@pytest.mark.parametrize(("estimator", "n_nodes"), [(em.Gaussian(), 30), (em.KSG(), 8)])
def test_the_budget_is_passed_just_beyond_the_stated_number_of_nodes(estimator, n_nodes):
    for size in (n_nodes, n_nodes + 1):
        series = em.Series(np.random.default_rng(0).normal(size=(40, size)))
        with Evaluator(em.TE(estimator=estimator, embedding=em.Embedding(), n_surrogates=9), series) as evaluate:
            fits = module.most_candidates(evaluate, 3, None) >= size - 1
            assert fits == (size == n_nodes)


def test_it_can_be_forbidden_and_forced(wide):
    with Evaluator(TEA, wide) as evaluate:
        assert survivors(screen(evaluate, wanted=False)) == {(j, i) for i in range(40) for j in range(40) if i != j}
    small = em.simulate.var({"a": [], "b": ["a"], "c": []}, n=300, seed=0)
    with Evaluator(TEA, small) as evaluate:
        assert screen(evaluate, wanted=True)[1]["tests"] == 6


def test_true_parents_survive_and_most_others_do_not(wide):
    with Evaluator(TEA, wide) as evaluate:
        found = screen(evaluate, max_parents=3)
    assert truth(wide) <= survivors(found)
    assert len(survivors(found)) < 0.3 * 40 * 39
    candidates, report = found
    dropped = report["dropped_alone"] + report["dropped_given"] + report["dropped_by_rank"]
    assert dropped == 40 * 39 - len(survivors(found))
    assert report["families"] == [count_families([range(39)] * 40, 3), count_families(candidates, 3)]


def test_conditional_tests_remove_what_only_seems_to_drive(monkeypatch):
    """In a chain, ancestors pass alone and fail given the parent between."""
    monkeypatch.setattr(module, "LENIENT", 0.01)
    chain = {f"x{i}": [f"x{i - 1}"] if i else [] for i in range(8)}
    series = em.simulate.var(chain, n=3000, coupling=0.8, seed=2)
    with Evaluator(TEA, series) as evaluate:
        alone = screen(evaluate, wanted=7)
        both = screen(evaluate, wanted=1)
    assert alone[1]["dropped_given"] == 0
    assert len(survivors(alone)) > 10
    assert both[1]["dropped_given"] > 0
    assert truth(series) == survivors(both)


def test_required_edges_stay_and_forbidden_ones_are_not_tested(wide):
    allowed = [[j for j in range(40) if j != i and (j, i) != (3, 7)] for i in range(40)]
    drivers = truth(wide)
    unrelated = [(j, 7) for j in range(40) if j not in (3, 7) and (j, 7) not in drivers]
    with Evaluator(TEA, wide) as evaluate:
        found = screen(evaluate, allowed, required=unrelated, wanted=2)
        tested = {question.args[:2] for question in evaluate._known}
    assert set(unrelated) <= survivors(found)
    assert (3, 7) not in tested | survivors(found)
    assert all(len(sources) <= 2 for i, sources in enumerate(found[0]) if i != 7)


def test_it_goes_through_store_and_workers(wide, tmp_path):
    with Evaluator(TEA, wide, store=tmp_path / "run.db") as evaluate:
        first = screen(evaluate)
    with Evaluator(TEA, wide, store=tmp_path / "run.db", n_jobs=2) as evaluate:
        assert screen(evaluate) == first
    (run,) = runs(tmp_path / "run.db")
    assert run["computed_twice"] == 0
    assert run["tests"] == first[1]["tests"]


def test_by_surrogates_the_result_does_not_depend_on_what_is_known():
    series = em.simulate.var({"a": [], "b": ["a"], "c": ["b"], "d": []}, n=200, seed=4)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=59)
    with Evaluator(score, series) as fresh, Evaluator(score, series) as knowing:
        knowing.edges([(j, i, ()) for i in range(4) for j in range(4) if i != j])
        first = screen(fresh, wanted=2)
        assert screen(knowing, wanted=2) == first
        assert truth(series) <= survivors(first)
        assert min(len(test.null) for test in fresh._known.values()) < 59


def test_the_stated_loss_is_that_of_the_test(monkeypatch):
    """2 N T is noncentral chi-square: at the detectable T, the test misses with the stated probability."""
    monkeypatch.setattr(module, "LENIENT", 0.1)
    series = em.Series(np.random.default_rng(0).normal(size=(501, 40)))
    with Evaluator(TEA, series) as evaluate:
        _, report = screen(evaluate)
    power = ncx2.sf(chi2.isf(report["level"], 1), 1, 2 * 500 * report["detectable"])
    assert report["level"] == 0.1
    assert 1 - power == pytest.approx(module.MISS / (1 + module.DEPTH), rel=1e-6)


@pytest.mark.slow
def test_parents_of_the_detectable_strength_are_lost_no_more_often_than_stated(monkeypatch):
    """Pairs coupled just so strongly that T is what the report calls detectable, beside unrelated nodes."""
    rng, lost, trials, miss, n = np.random.default_rng(7), 0, 0, 0.2, 300
    monkeypatch.setattr(module, "LENIENT", 0.1)
    monkeypatch.setattr(module, "MISS", miss)
    series = em.Series(rng.normal(size=(n + 1, 40)))
    with Evaluator(TEA, series) as evaluate:
        detectable = screen(evaluate)[1]["detectable"]
    coupling = np.sqrt(np.expm1(2 * detectable))  # T = ln(1 + coupling^2) / 2 for y' = coupling x + noise
    for _ in range(60):
        values = rng.normal(size=(n + 1, 40))
        values[1:, 20:] += coupling * values[:-1, :20]
        with Evaluator(TEA, em.Series(values)) as evaluate:
            found = survivors(screen(evaluate))
        lost += sum((i, i + 20) not in found for i in range(20))
        trials += 20
    assert lost / trials <= miss
    assert lost / trials > miss / 10  # the bound says something


@pytest.mark.parametrize("surrogate", [em.CircularShift(), em.Permute()])
def test_a_verdict_is_that_of_the_full_count(surrogate):
    from enmesh.measures import Transfers
    from enmesh.significance import Sampling, by_surrogates
    from enmesh.tasks import run

    series = em.simulate.var({"a": [], "b": ["a"], "c": [], "d": ["c"]}, n=150, coupling=0.15, seed=8)
    transfers, sampling = Transfers(series, em.Gaussian(), em.Embedding()), Sampling(surrogate, 99, 1)
    for source, target in [(j, i) for i in range(4) for j in range(4) if i != j]:
        full = run(by_surrogates(transfers, (source,), target, (), sampling))
        for level in (0.01, 0.05, 0.1, 0.5):
            quick = run(by_surrogates(transfers, (source,), target, (), sampling, level))
            assert (quick.p_value <= level) == (full.p_value <= level)
            assert quick.null.tolist() == full.null[: len(quick.null)].tolist()
            if full.p_value <= level:
                assert len(quick.null) == 99
