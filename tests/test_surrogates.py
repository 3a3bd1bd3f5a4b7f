"""One battery over all surrogates: what they keep, what they cut, and that draws are pure."""

import numpy as np
import pytest

import enmesh as em
from enmesh.surrogates import batches, decorrelation_time, random_words, stream_of

ALL = {
    "permute": em.Permute(),
    "bootstrap": em.Bootstrap(),
    "shift": em.CircularShift(),
    "local": em.LocalPermute(neighbours=4),
}
battery = pytest.mark.parametrize("name", ALL)
STARTS = np.array([0, 120, 200])


def planned(name, discrete=False, starts=STARTS):
    rng = np.random.default_rng(0)
    n = starts[-1]
    x = rng.normal(size=(n, 2))
    z = rng.integers(0, 3, (n, 2)) if discrete else rng.normal(size=(n, 2))
    return ALL[name].plan(x, z, starts=starts, span=2), x, z


@battery
def test_draws_do_not_depend_on_the_batch(name):
    draw, x, _ = planned(name)
    whole = draw(7, 0, 10)
    assert whole.shape == (10, 200)
    np.testing.assert_array_equal(whole, np.concatenate([draw(7, 0, 3), draw(7, 3, 1), draw(7, 4, 6)]))
    assert (draw(8, 0, 10) != whole).any()
    together = np.concatenate(list(batches(draw, x, 7, 10)))
    parts = [b for first, count in ((0, 4), (4, 6)) for b in batches(draw, x, 7, count, first)]
    np.testing.assert_array_equal(together, np.concatenate(parts))
    if name == "bootstrap":  # moved within reach of the nearest neighbour
        assert (np.abs(together - x[whole]) <= draw.spread[whole]).all()
        assert len(np.unique(together[0], axis=0)) == 200
    else:
        np.testing.assert_array_equal(together, x[whole])


@battery
def test_draws_differ_from_one_another_and_from_the_data(name):
    draw, _, _ = planned(name)
    rows = draw(1, 0, 20)
    assert len({r.tobytes() for r in rows}) == 20
    assert (rows != np.arange(200)).mean() > 0.5


@pytest.mark.parametrize("name", ["permute", "shift", "local"])
def test_every_sample_is_used_once(name):
    rows = planned(name)[0](3, 0, 5)
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(200), (5, 1)))


def test_bootstrap_leaves_states_as_they_are():
    x = np.random.default_rng(0).integers(0, 3, (200, 1))
    draw = em.Bootstrap().plan(x, np.empty((200, 0)), starts=np.array([0, 200]), span=1)
    (batch,) = batches(draw, x, 7, 5)
    np.testing.assert_array_equal(batch, x[draw(7, 0, 5)])


def test_bootstrap_repeats_samples():
    rows = planned("bootstrap")[0](3, 0, 50)
    used = np.mean([len(np.unique(r)) for r in rows]) / 200
    assert used == pytest.approx(1 - 1 / np.e, abs=0.02)
    assert rows.min() == 0
    assert rows.max() == 199


def test_circular_shift_stays_in_its_trial_and_away_from_zero():
    draw, x, _ = planned("shift")
    least = 2 + decorrelation_time(x, STARTS)
    for row in draw(5, 0, 40):
        for start, stop in zip(STARTS[:-1], STARTS[1:]):
            length = stop - start
            shifts = (np.arange(start, stop) - row[start:stop]) % length
            assert len(set(shifts)) == 1
            assert least <= shifts[0] <= length - least


def test_circular_shifts_repeat_only_when_they_must():
    x, nothing = np.random.default_rng(0).random((100, 1)), np.empty((100, 0))
    one = em.CircularShift(min_shift=40).plan(x, nothing, starts=np.array([0, 100]), span=1)
    assert one.distinct == 21
    rows = one(0, 0, 30)
    assert len({r.tobytes() for r in rows[:21]}) == 21
    two = em.CircularShift(min_shift=15).plan(x, nothing, starts=np.array([0, 50, 100]), span=1)
    assert two.distinct is None
    assert len({r.tobytes() for r in two(0, 0, 100)}) > 60  # of 441; one order for all rounds would give 21
    with pytest.raises(
        em.InputError, match="a trial of 20 embedded samples is too short for circular shifts of"
    ):
        em.CircularShift(min_shift=15).plan(x[:20], nothing[:20], starts=np.array([0, 20]), span=1)


def test_local_permutation_keeps_z_close_and_states_equal():
    draw, _, z = planned("local")
    rows = draw(2, 0, 10)
    moved = np.abs(z[rows] - z).max(axis=2).mean()
    anyone = np.abs(z[planned("permute")[0](2, 0, 10)] - z).max(axis=2).mean()
    assert moved < 0.3 * anyone
    draw, _, z = planned("local", discrete=True)
    rows = draw(2, 0, 10)
    np.testing.assert_array_equal(z[rows], np.broadcast_to(z, (10, *z.shape)))
    np.testing.assert_array_equal(np.sort(rows, axis=1), np.tile(np.arange(200), (10, 1)))


def test_decorrelation_time_of_an_autoregression():
    rng = np.random.default_rng(0)
    x = np.zeros(20000)
    for t in range(1, len(x)):
        x[t] = 0.95 * x[t - 1] + rng.normal()
    assert decorrelation_time(x[:, None], np.array([0, len(x)])) == pytest.approx(-1 / np.log(0.95), abs=4)


def test_random_words_are_uniform_and_streams_apart():
    words = random_words(stream_of(0, 1, (2,)), 0, 100, 1000) / 2.0**64
    assert words.mean() == pytest.approx(0.5, abs=0.005)
    assert np.var(words) == pytest.approx(1 / 12, abs=0.002)
    assert abs(np.corrcoef(words[:-1].ravel(), words[1:].ravel())[0, 1]) < 0.02
    assert stream_of(0, 1, (2,)) != stream_of(0, 2, (1,))
