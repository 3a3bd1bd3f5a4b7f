import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.embedding import Blocks, Lagged
from enmesh.options import describe, restore
from enmesh.tasks import run
from tests import naive


def past_of(selection, target):
    return run(selection.find(target))[0]


def as_is(column, index, name):
    return column


@settings(max_examples=50)
@given(st.data())
def test_blocks_equal_a_plain_loop_over_samples(data):
    small = st.integers(1, 3)
    dim, delay, lag = (data.draw(st.tuples(small, small, small)) for _ in range(3))
    lengths = data.draw(st.lists(st.integers(20, 30), min_size=1, max_size=3))
    rng = np.random.default_rng(0)
    trials = [rng.normal(size=(length, 3)) for length in lengths]
    names = ("a", "b", "c")
    by_name = [dict(zip(names, values)) for values in (dim, delay, lag)]
    embedding = em.Embedding(dim=by_name[0], delay=by_name[1], lag=by_name[2])
    blocks = Blocks(em.Series(trials, names), embedding, as_is)
    rows = naive.embedded(trials, dim, delay, lag)
    assert blocks.n == len(rows)
    for i in range(3):
        np.testing.assert_array_equal(blocks.take([Lagged(i, 0)])[:, 0], [r[0][i] for r in rows])
        np.testing.assert_array_equal(blocks.take(blocks.past([i], i)), [r[1][i] for r in rows])
        np.testing.assert_array_equal(blocks.take(blocks.past([i], (i + 1) % 3)), [r[2][i] for r in rows])


def test_every_parent_set_sees_the_same_window():
    series = em.Series(np.random.default_rng(0).normal(size=(40, 3)), names="abc")
    wide = em.Embedding(dim={"a": 1, "b": 1, "c": 4}, delay=2)
    assert Blocks(series, wide, as_is).n == 40 - 7
    assert len(em.transfer_entropy(series, "a", "b", estimator=em.Gaussian(), embedding=wide, local=True)) == 33


def test_times_keep_trials_apart():
    series = em.Series(np.random.default_rng(0).normal(size=(3, 20, 2)))
    blocks = Blocks(series, em.Embedding(), as_is)
    assert blocks.starts.tolist() == [0, 19, 38, 57]
    assert np.diff(blocks.times)[18] > 20


def test_options_are_values():
    per_node = em.Embedding(dim={"b": 2, "a": 3})
    assert per_node == em.Embedding(dim={"a": 3, "b": 2})
    assert hash(per_node) == hash(em.Embedding(dim={"a": 3, "b": 2}))
    for value in (per_node, em.KSG(k=3), em.TEE(embedding=per_node, n_surrogates=99), em.Criterion("aic"), em.MIT()):
        assert restore(describe(value)) == value


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: em.Embedding(dim=0), "dim=0 is not possible; give a whole number of at least 1"),
        (lambda: em.Embedding(delay=1.5), "delay=1.5 is not possible; give a whole number of at least 1"),
        (
            lambda: em.Embedding(lag={"a": 2, "z": 1}).per_node(("a",)),
            "the embedding's lag names z, which the series does not have; give one number or one per node",
        ),
        (
            lambda: Blocks(em.Series(np.random.rand(12, 2)), em.Embedding(dim=4, delay=3), as_is),
            "too few samples: 12 in the longest trial leave 2 embedded ones; this embedding needs at least 21: "
            "give a shorter past, or a longer record",
        ),
    ],
)
def test_impossible_embeddings_are_refused(make, said):
    with pytest.raises(em.InputError) as caught:
        make()
    assert str(caught.value) == said
