"""The neighbour engine against its naive twin: strategies, algorithms, ties, Theiler windows."""

from functools import cache, partial

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.neighbours import cpu, engine, plain
from tests import naive


def sample(seed, n, dx, dy, dz, b=1, decimals=None):
    rng = np.random.default_rng(seed)
    x, y, z = rng.normal(size=(b, n, dx)), rng.normal(size=(n, dy)), rng.normal(size=(n, dz))
    return tuple(a if decimals is None else a.round(decimals) for a in (x, y, z))


@pytest.mark.parametrize("decimals", [None, 1, 0])
@pytest.mark.parametrize("theiler", [0, 5])
@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 3), (3, 2, 2), (6, 1, 3)])
@pytest.mark.parametrize("b", [1, 9])
def test_ksg_counts_equal_naive(device, b, dims, algorithm, theiler, decimals):
    x, y, z = sample(1, 100, *dims, b=b, decimals=decimals)
    got = engine(device)(y, z, theiler=theiler).ksg(x, 4, algorithm)
    for s in range(b):
        want = naive.ksg_counts(x[s], y, z, 4, algorithm, theiler=theiler)
        np.testing.assert_array_equal([g[s] for g in got], want)


@pytest.mark.parametrize("theiler", [0, 5])
@pytest.mark.parametrize("dims", [(1, 1, 0), (1, 1, 3), (3, 2, 2), (6, 1, 3)])
@pytest.mark.parametrize("b", [1, 9])
def test_box_counts_equal_naive(device, b, dims, theiler):
    x, y, z = sample(2, 100, *dims, b=b, decimals=1)
    got = engine(device)(y, z, theiler=theiler).within(x, 0.5)
    for s in range(b):
        np.testing.assert_array_equal([g[s] for g in got], naive.box_counts(x[s], y, z, 0.5, theiler=theiler))


@pytest.fixture(params=["trees", "lists", "both"])
def strategy(request, monkeypatch):
    """Each way of counting on the CPU, whatever the rule says."""
    share = {"trees": 0, "lists": 1, "both": 0.5}[request.param]
    monkeypatch.setattr(cpu, "for_lists", lambda n, dz, k, b: int(share * b))


def drawn(kind, shape, rng):
    values = rng.normal(size=shape)
    if kind == "heavy":
        return rng.standard_cauchy(size=shape)
    if kind == "glitch":
        values[..., shape[-2] // 2, :] = 1e6
    if kind == "levels":
        return rng.integers(0, 3, size=shape).astype(float)
    if kind == "constant":
        return np.ones(shape)
    if kind == "tiny":
        return values * 1e-9
    if kind == "huge":
        return values * 1e12
    return values


@pytest.mark.parametrize("algorithm", [1, 2])
@pytest.mark.parametrize("kind", ["normal", "heavy", "glitch", "levels", "constant", "tiny", "huge"])
def test_every_strategy_counts_alike_on_awkward_x(strategy, kind, algorithm):
    rng = np.random.default_rng(3)
    x, (_, y, z) = drawn(kind, (35, 130, 2), rng), sample(3, 130, 1, 1, 2)
    got = cpu.Neighbours(y, z).ksg(x, 3, algorithm)
    boxes = cpu.Neighbours(y, z).within(x, 0.8)
    for s in (0, 31, 32, 34):
        np.testing.assert_array_equal([g[s] for g in got], naive.ksg_counts(x[s], y, z, 3, algorithm))
        np.testing.assert_array_equal([g[s] for g in boxes], naive.box_counts(x[s], y, z, 0.8))


@pytest.mark.parametrize("kind", ["heavy", "glitch", "levels", "constant", "tiny", "huge"])
def test_every_strategy_counts_alike_on_awkward_y_and_z(strategy, kind):
    rng = np.random.default_rng(4)
    x, y, z = rng.normal(size=(9, 130, 1)), drawn(kind, (130, 1), rng), drawn(kind, (130, 2), rng)
    for algorithm in (1, 2):
        got = cpu.Neighbours(y, z).ksg(x, 4, algorithm)
        np.testing.assert_array_equal([g[7] for g in got], naive.ksg_counts(x[7], y, z, 4, algorithm))


def test_trials_are_kept_apart_by_their_times(strategy):
    x, y, z = sample(5, 120, 2, 1, 2, b=9)
    times = np.concatenate([np.arange(60), 1000 + np.arange(60)])[np.random.default_rng(0).permutation(120)]
    got = cpu.Neighbours(y, z, times=times, theiler=7).ksg(x, 4)
    boxes = cpu.Neighbours(y, z, times=times, theiler=7).within(x, 0.7)
    for s in (0, 8):
        np.testing.assert_array_equal([g[s] for g in got], naive.ksg_counts(x[s], y, z, 4, 1, times, 7))
        np.testing.assert_array_equal([g[s] for g in boxes], naive.box_counts(x[s], y, z, 0.7, times, 7))


@pytest.mark.parametrize("k", [1, 9, 30])
def test_neighbours_run_out(strategy, k):
    """A Theiler window that leaves fewer than k points, and one that leaves none."""
    x, y, z = sample(6, 40, 1, 1, 1, b=9)
    for theiler in (14, 39):
        for algorithm in (1, 2):
            got = cpu.Neighbours(y, z, theiler=theiler).ksg(x, k, algorithm)
            want = naive.ksg_counts(x[8], y, z, k, algorithm, theiler=theiler)
            np.testing.assert_array_equal([g[8] for g in got], want)


def test_threads_and_batches_change_nothing(strategy):
    x, y, z = sample(7, 700, 2, 1, 2, b=41)
    whole = cpu.Neighbours(y, z).ksg(x, 4)
    shared = cpu.Neighbours(y, z, threads=3).ksg(x, 4)
    parts = [cpu.Neighbours(y, z).ksg(x[lo : lo + 17], 4) for lo in range(0, 41, 17)]
    np.testing.assert_array_equal(whole, shared)
    np.testing.assert_array_equal(whole, np.concatenate(parts, axis=1))


def test_batches_larger_than_memory_allows_are_split(strategy, monkeypatch):
    x, y, z = sample(8, 100, 2, 1, 2, b=70)
    whole = cpu.Neighbours(y, z).ksg(x, 4), cpu.Neighbours(y, z).within(x, 1.0)
    monkeypatch.setattr(cpu, "MEMORY", 100 * 2 * 32 * 10)  # one group of questions
    np.testing.assert_array_equal(whole[0], cpu.Neighbours(y, z).ksg(x, 4))
    np.testing.assert_array_equal(whole[1], cpu.Neighbours(y, z).within(x, 1.0))


@settings(max_examples=40)
@example(seed=0, n=2, dims=(0, 1, 0), decimals=0, k=1, algorithm=1, theiler=0, radius=0.0)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(2, 90),
    dims=st.tuples(st.integers(0, 4), st.integers(1, 2), st.integers(0, 4)),
    decimals=st.sampled_from([None, 2, 1, 0]),
    k=st.integers(1, 6),
    algorithm=st.sampled_from([1, 2]),
    theiler=st.integers(0, 4),
    radius=st.floats(0, 3),
)
def test_any_problem_equals_naive(seed, n, dims, decimals, k, algorithm, theiler, radius):
    x, y, z = sample(seed, n, *dims, b=8, decimals=decimals)
    one, many = (cpu.Neighbours(y, z, theiler=theiler) for _ in range(2))
    want = naive.ksg_counts(x[0], y, z, k, algorithm, theiler=theiler)
    np.testing.assert_array_equal([g[0] for g in one.ksg(x[:1], k, algorithm)], want)
    np.testing.assert_array_equal([g[0] for g in many.ksg(x, k, algorithm)], want)
    want = naive.box_counts(x[0], y, z, radius, theiler=theiler)
    np.testing.assert_array_equal([g[0] for g in one.within(x[:1], radius)], want)
    np.testing.assert_array_equal([g[0] for g in many.within(x, radius)], want)


def test_large_trees_against_an_independent_search():
    from scipy.spatial import cKDTree

    x, y, z = sample(9, 5000, 2, 1, 2)
    n_xz, n_yz, n_z = cpu.Neighbours(y, z).ksg(x, 4)
    joint = np.hstack([x[0], y, z])
    eps = np.nextafter(cKDTree(joint).query(joint, k=5, p=np.inf)[0][:, -1], 0)
    for counts, block in ((n_xz, np.hstack([x[0], z])), (n_yz, np.hstack([y, z])), (n_z, z)):
        want = cKDTree(block).query_ball_point(block, eps, p=np.inf, return_length=True) - 1
        np.testing.assert_array_equal(counts[0], want)


def test_lists_are_chosen_for_many_questions_and_trees_for_few():
    for n in (1_000, 10_000):
        assert cpu.for_lists(n, 3, 4, 1) == 0
        assert cpu.for_lists(n, 3, 4, 192) == cpu.for_lists(n, 3, 0, 192) == 192
        assert cpu.for_lists(n, 3, 4, 193) == 192  # one that fills no group is asked of trees
    assert cpu.for_lists(1_000_000, 1, 4, 400) == 0


def test_the_choice_can_be_seen(caplog):
    x, y, z = sample(10, 400, 1, 1, 2, b=40)
    with caplog.at_level("DEBUG", logger="enmesh.neighbours"):
        cpu.Neighbours(y, z).ksg(x, 4)
    (record,) = caplog.records
    assert "n=400, dx=1, dy=1, dz=2, k=4" in record.message
    assert "40 questions" in record.message


def test_a_batch_that_no_list_has_room_for_is_asked_of_trees(monkeypatch):
    x, y, z = sample(11, 80, 2, 1, 1, b=33)
    whole = cpu.Neighbours(y, z).ksg(x, 4)
    monkeypatch.setattr(cpu, "MEMORY", 1)
    monkeypatch.setattr(cpu, "for_lists", lambda *problem: pytest.fail("there is no room for lists"))
    np.testing.assert_array_equal(whole, cpu.Neighbours(y, z).ksg(x, 4))


@pytest.mark.parametrize("b", [1, 4, 31, 33, 70])
def test_a_mixture_of_unlike_questions_is_answered_as_one_by_one(strategy, b):
    """Lags and surrogates of several sources come in one batch."""
    x, y, z = sample(12, 120, 1, 1, 2, b=b)
    x *= np.logspace(-3, 3, b)[:, None, None]
    whole = cpu.Neighbours(y, z).ksg(x, 4)
    each = [cpu.Neighbours(y, z).ksg(x[s : s + 1], 4) for s in range(b)]
    np.testing.assert_array_equal(whole, np.concatenate(each, axis=1))


def answers(module, dims, kind, theiler):
    """Return all counts for random, tied and awkward values, in two trials that share no time."""
    rng, n = np.random.default_rng(13), 30
    x, y, z = (drawn(kind, (*b, n, d), rng) for b, d in zip(((33,), (), ()), dims))
    times = np.concatenate([np.arange(n // 2), 500 + np.arange(n // 2)])
    found = module.Neighbours(y, z, times=times, theiler=theiler)
    return found.ksg(x, 3, 1), found.ksg(x, 3, 2), found.within(x, 0.7), found.tied(x, 3)


plain_answers = cache(partial(answers, plain))


@pytest.mark.parametrize("theiler", [0, 6])
@pytest.mark.parametrize("kind", ["normal", "heavy", "glitch", "levels", "constant"])
@pytest.mark.parametrize("dims", [(1, 1, 1), (1, 1, 0), (6, 2, 9)])
def test_the_plain_twin_gives_the_same_bits(strategy, dims, kind, theiler):
    for fast, slow in zip(answers(cpu, dims, kind, theiler), plain_answers(dims, kind, theiler), strict=True):
        np.testing.assert_array_equal(fast, slow)


def test_the_plain_twin_can_be_chosen(monkeypatch):
    series = em.simulate.coupled_map("a>b", n=200, coupling=0.3, seed=0)
    fast = em.infer(series, score=em.TEE(n_surrogates=99, embedding=em.Embedding()))
    monkeypatch.setattr(cpu, "Neighbours", lambda *args, **how: pytest.fail("the plain twin was asked for"))
    monkeypatch.setenv("ENMESH_NEIGHBOURS", "plain")
    slow = em.infer(series, score=em.TEE(n_surrogates=99, embedding=em.Embedding()))
    assert slow.to_json() == fast.to_json()
    monkeypatch.setenv("ENMESH_NEIGHBOURS", "simple")
    with pytest.raises(em.InputError, match="ENMESH_NEIGHBOURS='simple' is not known; use 'fast' or 'plain'"):
        engine("cpu")
