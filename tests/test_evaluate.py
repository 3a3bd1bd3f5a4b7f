"""The evaluator gives what a scorer gives: for any order, number of workers, backend, cache or chunk size."""

import os
import re
import signal
import subprocess
import sys
from itertools import combinations
from pathlib import Path

import joblib
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from joblib.parallel import ThreadingBackend

import enmesh as em
from enmesh.errors import HazardWarning, InputError
from enmesh.inference import evaluate as evaluate_module
from enmesh.inference import work
from enmesh.inference import workers as module
from enmesh.inference.evaluate import Evaluator
from enmesh.inference.store import runs
from enmesh.inference.work import Question
from enmesh.inference.workers import Workers, affordable
from enmesh.scores import Link
from enmesh.search.base import Problem
from enmesh.tasks import run

KAPPA_1 = em.Embedding()
SCORES = {
    "TE": em.TE(estimator=em.Kernel(), embedding=KAPPA_1, n_surrogates=19),
    "TEA": em.TEA(embedding=KAPPA_1),
    "TEE": em.TEE(estimator=em.KSG(), embedding=KAPPA_1, alpha=0.9, n_surrogates=19, seed=3),
    "TEE collective": em.TEE(
        estimator=em.Gaussian(), embedding=KAPPA_1, alpha=0.9, n_surrogates=19, penalty="collective"
    ),
    "BIC": em.Criterion("bic", embedding=KAPPA_1),
    "MIT": em.MIT(estimator=em.Gaussian()),
}


@pytest.fixture(scope="module")
def series():
    return em.simulate.var({"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": ["d"]}, n=120, seed=1)


def all_families(n_nodes, most):
    return [
        (i, parents)
        for i in range(n_nodes)
        for size in range(most + 1)
        for parents in combinations([j for j in range(n_nodes) if j != i], size)
    ]


@pytest.fixture(scope="module")
def expected(series):
    """Scores of all families and tests of some edges, straight from the scorer."""
    found = {}
    for name, score in SCORES.items():
        scorer = score.bind(series)
        with work.single_thread():
            found[name] = (
                [scorer.family_score(*family) for family in all_families(5, 3)],
                [run(scorer.test(Link(*link))) for link in LINKS],
            )
    return found


LINKS = [(0, 1, ()), (0, 2, (1,)), (3, 2, (0, 1)), (4, 3, ()), (0, 1, ())]


def assert_as_expected(evaluate, expected):
    families = all_families(5, 3)
    order = np.random.default_rng(0).permutation(len(families))
    scores = evaluate([families[i] for i in order])
    assert scores.tolist() == [expected[0][i] for i in order]
    for found, wanted in zip(evaluate.edges(LINKS), expected[1], strict=True):
        assert (found.value, found.p_value, found.null_mean) == (wanted.value, wanted.p_value, wanted.null_mean)
        assert found.null.tolist() == wanted.null.tolist()


@pytest.fixture
def no_work_here(monkeypatch):
    """Send even short jobs to workers, in small chunks, and see that this process answers nothing."""
    monkeypatch.setattr(module, "PROBE", 0.0)
    monkeypatch.setattr(module, "SHORT", -1.0)
    monkeypatch.setattr(module, "CHUNK", 0.02)
    monkeypatch.setattr(module, "answer", lambda *args: pytest.fail("answered in the main process"))


@pytest.mark.parametrize("name", SCORES)
def test_one_worker_gives_what_the_scorer_gives(series, expected, name):
    with Evaluator(SCORES[name], series) as evaluate:
        assert_as_expected(evaluate, expected[name])


def test_interleaved_questions_get_the_same_answers(series, expected, monkeypatch):
    monkeypatch.setattr(em.KSG, "at_once", 7)
    with Evaluator(SCORES["TEE"], series) as evaluate:
        assert_as_expected(evaluate, expected["TEE"])


@pytest.mark.parametrize("width", [1, 3])
def test_what_was_answered_before_a_question_failed_is_kept(series, monkeypatch, width):
    from enmesh.inference.work import answer

    scorer = SCORES["TEE"].bind(series)
    questions = [Question.test(Link(0, 1, given)) for given in ((), (2,), (3,), "broken", (4,))]
    monkeypatch.setattr(em.KSG, "at_once", width)
    reply = answer(scorer, questions, np.inf)
    assert isinstance(reply.error, LookupError)
    assert len(reply.answers) == 3
    assert [a.value for a in reply.answers] == [run(scorer.test(q.args)).value for q in questions[: len(reply.answers)]]
    assert len(answer(scorer, questions, 0.0).answers) == 1  # time is up at once, but one is always answered


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("name", ["TEA", "TEE"])
def test_two_workers_give_the_same_bits(series, expected, name, backend, no_work_here):
    with joblib.parallel_config(backend=backend, n_jobs=2), Evaluator(SCORES[name], series) as evaluate:
        assert_as_expected(evaluate, expected[name])


def test_n_jobs_alone_chooses_by_the_interpreter_lock(series, expected, no_work_here):
    for name, prefer in (("TEA", "processes"), ("TEE", "threads")):
        with Evaluator(SCORES[name], series, n_jobs=2) as evaluate:
            assert evaluate._workers._prefer == prefer
            assert_as_expected(evaluate, expected[name])


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
@pytest.mark.parametrize("name", ["TEA", "TEE"])
def test_networks_do_not_depend_on_who_computes_them(series, name, monkeypatch):
    alone = network(series, SCORES[name])
    monkeypatch.setattr(module, "PROBE", 0.0)
    monkeypatch.setattr(module, "SHORT", -1.0)
    assert network(series, SCORES[name], n_jobs=2) == alone
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend=backend, n_jobs=2):
            assert network(series, SCORES[name], n_jobs=None) == alone


def network(series, score, **options):
    """Everything a network says, to the last bit."""
    return em.infer(series, score=score, max_parents=2, screen=3, **options).to_json()


def test_short_jobs_stay_in_this_process(series, expected, monkeypatch):
    monkeypatch.setattr(module.Workers, "_elsewhere", lambda *args: pytest.fail("sent away"))
    with Evaluator(SCORES["TEA"], series, n_jobs=2) as evaluate:
        assert_as_expected(evaluate, expected["TEA"])


class Cluster(ThreadingBackend):
    """A backend joblib does not know: what it runs gets its data as a remote worker would."""


class Batches(Cluster):
    """One that cannot hand out results as they come."""

    supports_return_generator = False


joblib.register_parallel_backend("test-cluster", Cluster)
joblib.register_parallel_backend("test-batches", Batches)


@pytest.fixture
def remote_pools(monkeypatch):
    """Workers that forget everything now and then, as restarted ones do, and that count what is sent to them."""
    sent = []
    here = work.scorer_pool

    class Forgetful(work._ScorerPool):
        def take(self, key, payload):
            sent.append(payload is not None)
            if len(sent) % 7 == 0:
                self.__init__()
            return super().take(key, payload)

    monkeypatch.setattr(work, "scorer_pool", Forgetful())
    yield sent
    assert here is evaluate_module.scorer_pool


@pytest.mark.parametrize("backend", ["test-cluster", "test-batches"])
def test_any_backend_gets_the_data_when_it_asks(series, expected, backend, remote_pools, no_work_here):
    with joblib.parallel_config(backend=backend, n_jobs=2), Evaluator(SCORES["TEE"], series) as evaluate:
        assert_as_expected(evaluate, expected["TEE"])
    assert 0 < sum(remote_pools) < len(remote_pools)


def test_a_lost_worker_process_is_forgiven(series, expected, no_work_here, caplog):
    """A worker is killed while others wait for their turn; what it had is done again."""
    killed = []

    def kill_one(done, total, **_):
        if done > 0 and not killed:
            killed.append(_children(os.getpid())[0])
            os.kill(killed[0], signal.SIGKILL)

    with (
        joblib.parallel_config(backend="loky", n_jobs=2),
        Evaluator(SCORES["TEE"], series, progress=kill_one) as evaluate,
    ):
        assert_as_expected(evaluate, expected["TEE"])
    assert killed
    assert "workers were lost" in caplog.text


def _children(pid):
    """Pids of loky's workers (not its resource tracker)."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stat, open(f"/proc/{entry}/cmdline") as command:
                    parent, words = int(stat.read().rsplit(")", 1)[1].split()[1]), command.read()
            except OSError:
                continue
            if parent == pid and "popen_loky" in words:
                found.append(int(entry))
    return found


def test_each_edge_test_is_computed_once(series):
    computed = []
    with Evaluator(SCORES["TEE"], series, progress=lambda done, *_, **__: computed.append(done)) as evaluate:
        evaluate(all_families(5, 2))
        evaluate(all_families(5, 3))
        evaluate.edges([(0, 1, (2, 3))])
    assert computed[-1] == 5 + 5 * (4 + 4 * 3 + 4 * 3)  # nodes alone, and the tests of up to three parents


def test_many_parents_whose_singles_were_not_asked(series):
    families = [(0, (1, 2, 3, 4))]
    with Evaluator(SCORES["TEE"], series) as evaluate:
        assert evaluate(families)[0] == SCORES["TEE"].bind(series).family_score(*families[0])


def test_verdicts_agree_with_full_tests(series):
    links = [(j, i, ()) for i in range(5) for j in range(5) if i != j]
    with Evaluator(SCORES["TEE"], series) as evaluate, Evaluator(SCORES["TEE"], series) as other:
        quick, full = evaluate.verdicts(links, 0.2), other.edges(links)
        assert [test.p_value <= 0.2 for test in quick] == [test.p_value <= 0.2 for test in full]
        assert [test.value for test in quick] == [test.value for test in full]
        passed = [(link, test) for link, test in zip(links, quick) if test.p_value <= 0.2]
        assert passed
        assert all(evaluate.edges([link])[0] is test for link, test in passed)


def test_a_question_that_fails_says_so_and_what_was_before_is_kept(tmp_path, no_work_here):
    values = np.random.default_rng(0).normal(size=(60, 4))
    values[1:, 3] = values[:-1, 0]  # node 3 is node 0 one step later: no residual is left
    series = em.Series(values)
    families = [(0, (1,)), (0, (2,)), (3, (0,))]
    for n_jobs in (1, 2):
        path = tmp_path / f"{n_jobs}.db"
        module_answer = work.answer
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, "answer", module_answer)
            with (
                pytest.raises(InputError, match="linear function"),
                Evaluator(SCORES["TEA"], series, n_jobs=n_jobs, store=path) as evaluate,
            ):
                evaluate(families)
        (run,) = runs(path)
        assert (run["families"], run["status"]) == (2, "failed")


def test_hazards_in_workers_are_told_once(no_work_here):
    values = np.random.default_rng(0).normal(size=(80, 4))
    series = em.Series(np.column_stack([values, values[:, 0] + values[:, 1]]))
    with Evaluator(SCORES["TEA"], series, n_jobs=2) as evaluate, pytest.warns(HazardWarning) as caught:
        evaluate([(2, (0, 1, 4)), (3, (0, 1, 4)), (2, (0, 1)), (3, (0, 1))])
    assert len([w for w in caught if "near-singular" in str(w.message)]) == 1


def test_an_interrupt_keeps_what_was_finished(series, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "CHUNK", 0.0)

    def interrupt(done, total, **_):
        if done >= 10:
            raise KeyboardInterrupt

    with (
        pytest.raises(KeyboardInterrupt),
        Evaluator(SCORES["TEA"], series, store=tmp_path / "run.db", progress=interrupt) as evaluate,
    ):
        evaluate(all_families(5, 3))
    (run,) = runs(tmp_path / "run.db")
    assert (run["families"], run["status"]) == (10, "interrupted")


@pytest.mark.parametrize("n_jobs", [0, 1.5, True])
def test_impossible_workers(series, n_jobs):
    with pytest.raises(InputError, match="n_jobs"):
        Evaluator(SCORES["TEA"], series, n_jobs=n_jobs)


def test_memory_bounds_the_number_of_workers(series):
    scorer = SCORES["TEE"].bind(series)
    counts = [affordable(scorer, gigabytes * 10**9, "processes") for gigabytes in (0.5, 1, 2, 8)]
    assert counts == sorted(counts)
    assert counts[0] == 1
    assert counts[-1] > 10
    with pytest.raises(InputError, match="too little"):
        Evaluator(SCORES["TEE"], series, memory=10**6)
    with Evaluator(SCORES["TEA"], series, n_jobs=8, memory=10**9) as evaluate:
        assert evaluate._workers._backend()[1] == counts[1]


def test_memory_bounds_a_default_run_too(series):
    bounded = em.infer(series, memory=4 * 10**9)  # lags are selected by workers as well
    assert bounded.parents == em.infer(series).parents


@given(n=st.integers(1, 60), workers=st.integers(1, 5), draw=st.randoms(use_true_random=False))
def test_chunks_lose_and_repeat_nothing(series, n, workers, draw):
    """However far each chunk gets, whoever lacks the data or is lost, every question is answered once."""

    def replies(self, tasks, backend, workers):
        for _, questions, _, payload in tasks:
            if payload is None and draw.random() < 0.2:
                yield work.Reply(questions, [], needs_data=True)
                continue
            done = draw.randint(1, len(questions))
            yield work.Reply(questions, [0.0] * done, draw.uniform(0, 3))
            if draw.random() < 0.1:
                raise OSError("lost")

    score = SCORES["TEE"]
    questions = [Question("family", (0, (i,))) for i in range(n)]
    job = Workers(work.Payload(series, score, "key"), score.bind(series), workers, None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Workers, "_replies", replies)
        patch.setattr(Workers, "_backend", lambda self: ("cluster", workers))
        answered = [question for chunk in job.answers(questions) for question in chunk]
    assert sorted(answered) == questions


# --- progress -------------------------------------------------------------------------------------------


def test_progress_counts_what_is_computed(series):
    seen = []
    with Evaluator(SCORES["TEE"], series, progress=lambda *a, **k: seen.append((a, k))) as evaluate:
        evaluate(all_families(5, 1))
        assert seen[-1] == ((25, None), {"what": "scoring"})
        evaluate(all_families(5, 2))
        evaluate(all_families(5, 2))  # known already
    done = [args[0] for args, _ in seen]
    assert done == sorted(done)
    assert done[-1] == 5 + 20 + 60  # nodes alone, and tests of one and of two parents


def test_one_module_knows_joblib():
    package = Path(em.__file__).parent
    users = [file for file in package.rglob("*.py") if re.search(r"(import|from) joblib", file.read_text())]
    assert users == [package / "inference" / "workers.py"]


MEMORY = """
import resource, sys
import numpy as np, enmesh as em
from enmesh.inference.evaluate import Evaluator

if __name__ == "__main__":
    series = em.Series(np.random.default_rng(0).normal(size=(8_000, 6)))
    score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=0.9, n_surrogates=199)
    with Evaluator(score, series, n_jobs=8, memory=int(sys.argv[1])) as evaluate:
        evaluate([(i, (j,)) for i in range(6) for j in range(6) if i != j])
        workers = evaluate._workers._backend()[1]
    from joblib.externals.loky import get_reusable_executor
    get_reusable_executor().shutdown(wait=True)
    # of this program alone: resource counts what the process had before it became this one
    (here,) = (int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM"))
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    print(workers, 1024 * (here + worker * (workers if workers > 1 else 0)))
"""


@pytest.mark.slow
@pytest.mark.parametrize("gigabytes", [1.0, 2.0])
def test_memory_is_respected(tmp_path, gigabytes):
    (tmp_path / "job.py").write_text(MEMORY)
    command = [sys.executable, str(tmp_path / "job.py"), str(int(gigabytes * 1e9))]
    workers, used = map(int, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    assert workers == {1.0: 1, 2.0: 3}[gigabytes]
    assert used <= gigabytes * 1e9


# --- families that need not be scored ----------------------------------------------------------------------


@pytest.mark.parametrize("estimator", [em.Gaussian(), em.KSG()])
@pytest.mark.parametrize("seed", range(3))
def test_a_family_is_no_better_than_without_its_superfluous_parent(estimator, seed):
    series = em.simulate.var({"a": [], "b": ["a"], "c": [], "d": ["a", "b"]}, n=150, seed=seed)
    score = em.TEE(estimator=estimator, embedding=em.Embedding(), alpha=0.9, n_surrogates=39, seed=seed)
    sets = [some for size in range(1, 4) for some in combinations(range(3), size)]
    with Evaluator(score, series) as evaluate:
        redundant = evaluate.redundant([(3, some) for some in sets])
        scores = dict(zip([(), *sets], evaluate([(3, some) for some in [(), *sets]])))
    found = [(some, parent) for some, parent in zip(sets, redundant) if parent is not None]
    assert found
    for some, parent in found:
        assert scores[some] <= scores[tuple(p for p in some if p != parent)]


@pytest.mark.parametrize("estimator", [em.Gaussian(), em.KSG()])
@pytest.mark.parametrize("seed", [0, 1, 13])  # with 13 four sources do score more than three of them
def test_a_large_family_that_is_not_asked_is_no_better_than_some_subset(estimator, seed):
    """Orders are compared up to three parents only, so that four may score more than three of them."""
    graph = {"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": ["d"], "f": ["a", "b", "c"]}
    series = em.simulate.coupled_map(graph, n=150, coupling=0.3, noise=0.001, seed=seed)
    score = em.TEE(estimator=estimator, embedding=em.Embedding(), alpha=0.9, n_surrogates=39, seed=seed)
    levels = [[(5, some) for some in combinations(range(5), size)] for size in range(6)]
    with Evaluator(score, series) as evaluate:
        everything = [family for families in levels for family in families]
        scores = dict(zip(everything, evaluate(everything)))
    spared = 0
    with Evaluator(score, series) as evaluate:
        for size, families in enumerate(levels):
            redundant = evaluate.redundant(families)
            evaluate([family for family, parent in zip(families, redundant) if parent is None])
            for (target, some), parent in zip(families, redundant):
                if parent is not None:
                    subsets = [rest for less in range(size) for rest in combinations(some, less)]
                    assert scores[target, some] <= max(scores[target, rest] for rest in subsets)
                    spared += size > 3
    assert spared


@pytest.mark.parametrize("acyclic", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_leaving_such_families_out_changes_no_answer(acyclic, seed):
    series = em.simulate.var("a>b, b>c, c>d, a>d", n=150, seed=seed)
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.9, n_surrogates=39, seed=seed)
    answers, asked = [], []
    for spare in (False, True):
        with Evaluator(score, series) as evaluate:
            problem = Problem(
                n_nodes=4,
                max_parents=3,
                acyclic=acyclic,
                required=frozenset({(3, 0)}),
                redundant=evaluate.redundant if spare else None,
            )
            found = (em.Exact() if acyclic else em.Independent()).run(evaluate, problem)
            answers.append((found.parents, found.local, found.optimal, found.gap, found.removed))
            asked.append(found.evaluated)
    assert answers[0] == answers[1]
    assert asked[1] < asked[0]


@pytest.mark.parametrize("estimator", [em.Gaussian(), em.KSG()])
@pytest.mark.parametrize(("alpha", "count"), [(0.9, 39), (0.95, 99), (0.99, 199)])
def test_few_surrogates_bound_a_score_from_above(estimator, alpha, count):
    graph = {"a": [], "b": ["a"], "c": ["a", "b"], "d": [], "e": ["a", "b", "c"]}
    series = em.simulate.coupled_map(graph, n=150, coupling=0.3, noise=0.01, seed=1)
    pasts = em.Lags({(s, "e"): (1,) for s in "abcd"}, searched=2)
    score = em.TEE(estimator=estimator, embedding=pasts, alpha=alpha, n_surrogates=count)
    families = [(4, some) for size in range(1, 5) for some in combinations(range(4), size)]
    with Evaluator(score, series) as evaluate, Evaluator(score, series) as other:
        ceilings, scores = np.array(evaluate.ceilings(families)), other(families)
        known = np.array(other.ceilings(families))  # by all surrogates
    assert (ceilings >= known).all()
    assert (known >= scores - 1e-12).all()
    assert np.isfinite(ceilings).all()
    assert (ceilings - known).max() > 0


def test_few_surrogates_do_not_bound_what_asks_all_at_once():
    series = em.simulate.var("a>b", n=150, seed=0)
    with Evaluator(em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0), series) as evaluate:
        assert evaluate.ceilings([(1, (0,)), (1, ())]) == [np.inf, np.inf]


def test_workers_that_are_started_ahead_change_nothing(monkeypatch):
    series = em.simulate.var("a>b, b>c", n=300, seed=0)
    monkeypatch.setattr(module, "_starting", [])
    module.start_ahead(2, series.values.size)
    assert not module._starting  # little to do
    monkeypatch.setattr(module, "AHEAD", 0)
    monkeypatch.setattr(module, "SHORT_ONCE_STARTED", 0.0)
    module.start_ahead(1, series.values.size)
    assert not module._starting
    ahead = em.infer(series, n_jobs=2)
    assert module._starting
    assert ahead.edges.equals(em.infer(series).edges)


def test_a_worker_conditions_the_same_data_once():
    pool, series = work._ScorerPool(), em.simulate.var("a>b", n=100, seed=0)
    again = em.Series(series.values.copy(), names=series.names)
    scores = [em.TEA(embedding=KAPPA_1, alpha=alpha) for alpha in (0.9, 0.99)]
    first, second = (
        pool.take(str(i), work.Payload(one, score, str(i)))
        for i, (one, score) in enumerate(zip((series, again), scores))
    )
    assert first.transfers.blocks.values is second.transfers.blocks.values
    other = em.simulate.var("a>b", n=100, seed=1)
    third = pool.take("3", work.Payload(other, scores[0], "3"))
    assert third.transfers.blocks.values is not first.transfers.blocks.values
