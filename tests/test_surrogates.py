"""One battery over all surrogates: what they keep, what they cut, and that draws are pure."""

import numpy as np
import pytest

import enmesh as em
from enmesh.methods import members
from enmesh.surrogates import Surrogate, batches, decorrelation_time, random_words, stream_of
from tests.batteries import STARTS, battery_of, planned

ALL = {
    "permute": em.Permute(),
    "bootstrap": em.Bootstrap(),
    "shift": em.CircularShift(),
    "local": em.LocalPermute(neighbours=4),
}
battery = pytest.mark.parametrize("name", ALL)


@battery
@pytest.mark.parametrize("check", battery_of("surrogate"), ids=lambda check: check.__name__)
def test_battery(name, check):
    check(ALL[name])


def test_every_surrogate_joins_the_battery():
    assert {type(surrogate) for surrogate in ALL.values()} == set(members(Surrogate).values())


def test_bootstrap_leaves_states_as_they_are():
    x = np.random.default_rng(0).integers(0, 3, (200, 1))
    draw = em.Bootstrap().plan(x, np.empty((200, 0)), starts=np.array([0, 200]), span=1)
    (batch,) = batches(draw, x, 7, 5)
    np.testing.assert_array_equal(batch, x[draw(7, 0, 5)])


def test_bootstrap_repeats_samples():
    rows = planned(ALL["bootstrap"])[0](3, 0, 50)
    used = np.mean([len(np.unique(r)) for r in rows]) / 200
    assert used == pytest.approx(1 - 1 / np.e, abs=0.02)
    assert rows.min() == 0
    assert rows.max() == 199


def test_circular_shift_stays_in_its_trial_and_away_from_zero():
    draw, x, _ = planned(ALL["shift"])
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
    with pytest.raises(em.InputError, match="a trial of 20 embedded samples is too short for circular shifts of"):
        em.CircularShift(min_shift=15).plan(x[:20], nothing[:20], starts=np.array([0, 20]), span=1)


def test_every_trial_has_a_circular_shift_of_its_own():
    x = np.random.default_rng(0).normal(size=(300, 1))
    draw = em.CircularShift(min_shift=5).plan(x, x[:, :0], starts=np.array([0, 90, 300]), span=2)
    rows = draw(3, 7, 40)
    for start, stop in ((0, 90), (90, 300)):
        places, length = rows[:, start:stop] - start, stop - start
        shifts = -places[:, :1] % length
        np.testing.assert_array_equal(places, (np.arange(length) - shifts) % length)
        assert shifts.min() >= 5
        assert shifts.max() <= length - 5
        assert len(np.unique(shifts)) == 40
    np.testing.assert_array_equal(draw(3, 10, 5), rows[3:8])


def test_local_permutation_keeps_z_close_and_states_equal():
    draw, _, z = planned(ALL["local"])
    rows = draw(2, 0, 10)
    moved = np.abs(z[rows] - z).max(axis=2).mean()
    anyone = np.abs(z[planned(ALL["permute"])[0](2, 0, 10)] - z).max(axis=2).mean()
    assert moved < 0.3 * anyone
    draw, _, z = planned(ALL["local"], discrete=True)
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
