"""Embedding from the data: against plain loops, processes of known order."""

import warnings

import numpy as np
import pytest

import enmesh as em
from enmesh import ActiveStorage, Cao, Ragwitz, SmallTse, simulate
from enmesh.embedding.base import chosen_embedding, nearest
from enmesh.embedding.choose import choose_embedding, embedding_bounds, embedding_criteria
from enmesh.options import describe, restore
from tests import naive

# Not those on which the default parsimony was settled.
SEEDS = range(1000, 1020)


def autoregression(*coefficients, n=2000, seed=1000):
    return simulate.var(coefficients=np.reshape(coefficients, (-1, 1, 1)), n=n, names=["a"], seed=seed)


def zscore(x):
    return (x - x.mean()) / x.std(ddof=1)


# --- Ragwitz
# ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theiler", [0, 3])
def test_ragwitz_equals_the_plain_loop(theiler):
    series = simulate.coupled_flow("a>b", 90, dt=0.1)
    tables = embedding_criteria(series, Ragwitz(max_dim=3, max_delay=2, k=3, theiler=theiler, parsimony=0))
    for i, name in enumerate(series.names):
        x = zscore(series.values[:, i])
        loop = [[naive.ragwitz_error(x, dim, delay, 5, 3, theiler) for delay in (1, 2)] for dim in (1, 2, 3)]
        np.testing.assert_allclose(tables[name].values, loop, rtol=1e-5)
        dim, delay = np.unravel_index(np.argmin(loop), (3, 2))
        assert tables[name].best == (dim + 1, delay + 1)


def test_ragwitz_finds_the_state_of_known_maps():
    assert embedding_criteria(simulate.coupled_map({"a": []}, 2000))["a"].best == (1, 1)
    assert embedding_criteria(simulate.coupled_map({"a": []}, 2000, map="henon"))["a"].best == (2, 1)


def test_parsimony_takes_the_smaller_of_two_equals():
    series = autoregression(0.6)
    least = embedding_criteria(series, Ragwitz(max_delay=1, k=20, parsimony=0))["a"]
    small = embedding_criteria(series, Ragwitz(max_delay=1, k=20, parsimony=2.0))["a"]
    assert small.values == least.values
    assert small.best[0] <= least.best[0]
    assert small.best == (1, 1)


# --- active storage
# --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coefficients", [(0.6,), (0.5, 0.3), (0.4, 0.2, 0.3), (0.0, 0.0, 0.6)])
def test_active_storage_recovers_the_order_of_autoregressions(coefficients):
    method = ActiveStorage(estimator=em.Gaussian(), max_delay=1)
    found = [embedding_criteria(autoregression(*coefficients, seed=s), method)["a"].best[0] for s in SEEDS]
    assert found.count(len(coefficients)) >= 18


def test_without_parsimony_the_order_is_often_too_large():
    """Only the mean bias is subtracted: a further lag passes when chi-square exceeds its mean."""
    method = ActiveStorage(estimator=em.Gaussian(), max_delay=1, parsimony=0.0)
    found = [embedding_criteria(autoregression(0.6, n=1000, seed=s), method)["a"].best[0] for s in range(100)]
    assert 20 < sum(order > 1 for order in found) < 80


def test_active_storage_is_the_measure_less_its_bias():
    series = autoregression(0.5, 0.3, n=500)
    table = embedding_criteria(series, ActiveStorage(estimator=em.Gaussian(), max_dim=3, max_delay=1))["a"]
    # On the common window of kappa 3 the first samples are those of a series cut by the difference in span.
    for dim in (1, 2, 3):
        cut = em.Series(series.values[3 - dim :], names=["a"])
        plain = em.active_information(cut, "a", estimator=em.Gaussian(), embedding=em.Embedding(dim=dim))
        assert table.values[dim - 1][0] == pytest.approx(plain - dim / (2 * 497), abs=1e-4)


def test_active_storage_of_unrelated_values_has_no_bias():
    series = simulate.var({"a": []}, 1000, own=0.0)
    for estimator in (em.Gaussian(), em.KSG(), em.Kernel(width=0.5)):
        method = ActiveStorage(estimator=estimator, max_dim=2, max_delay=1, n_surrogates=20)
        table = embedding_criteria(series, method)["a"]
        assert np.abs(table.values).max() < 0.05
        assert table.best == (1, 1)


def test_active_storage_of_states():
    method = ActiveStorage(estimator=em.Discrete(), max_dim=3, max_delay=2)
    chains = [simulate.markov({"a": []}, 2000, states=3, seed=seed) for seed in SEEDS]
    orders = [embedding_criteria(chain, method)["a"].best[0] for chain in chains]
    assert orders.count(1) >= 18


def test_active_storage_with_neighbours_finds_the_lag_that_matters():
    series = autoregression(0.0, 0.8, n=600)
    method = ActiveStorage(estimator=em.KSG(), max_dim=3, max_delay=2, n_surrogates=2)
    assert embedding_criteria(series, method)["a"].best == (2, 1)


# --- Cao
# -------------------------------------------------------------------------------------------------------


def test_cao_equals_the_plain_loop():
    series = simulate.coupled_map({"a": []}, 150, map="henon")
    table = embedding_criteria(series, Cao(max_dim=3, delay=2, theiler=0))["a"]
    e1, e2 = naive.cao(zscore(series.values[:, 0]), 3, 2)
    np.testing.assert_allclose(np.array(table.values)[:, 0], e1, rtol=1e-6)
    np.testing.assert_allclose(table.further["e2"], e2, rtol=1e-6)


def test_cao_tells_henon_lorenz_and_noise_apart():
    henon = embedding_criteria(simulate.coupled_map({"a": []}, 2000, map="henon"), Cao())["a"]
    assert henon.best == (2, 1)
    lorenz = embedding_criteria(simulate.coupled_flow({"a": []}, 3000, dt=0.1), Cao(theiler=5))["a"]
    assert lorenz.best[0] in (3, 4)
    assert max(abs(value - 1) for value in lorenz.further["e2"]) > 0.5
    with pytest.warns(em.HazardWarning, match="E2 is within 0.0.* as noise is"):
        embedding_criteria(simulate.var({"a": []}, 2000, own=0.0), Cao())


def test_cao_without_a_plateau_says_so():
    with pytest.warns(em.HazardWarning, match="E1 reaches .* raise max_dim"):
        table = embedding_criteria(simulate.coupled_flow({"a": []}, 1000, dt=0.1), Cao(max_dim=2))["a"]
    assert table.best[0] == 2


def test_cao_refuses_repeated_values():
    values = np.tile([0.0, 1.0, 0.5], 200)[:, None]
    with pytest.raises(em.InputError, match="Cao needs continuous data"):
        embedding_criteria(em.Series(values, names=["a"]), Cao(delay=1))


def test_cao_takes_no_more_than_the_last_value_of_a_first_order_process():
    noisy = embedding_criteria(simulate.coupled_map({"a": []}, 1000, noise=0.01), Cao())["a"]
    assert noisy.values[0][0] < 0.5  # E1 alone would take more
    assert min(noisy.further["e2"]) > 1
    assert noisy.best[0] == 1


# --- Small and Tse
# ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("theiler", [0, 3])
def test_small_tse_equals_the_plain_loop(theiler):
    series = simulate.coupled_map({"a": []}, 120, map="henon")
    method = SmallTse(max_window=4, k=3, theiler=theiler, parsimony=0)
    table = embedding_criteria(series, method)["a"]
    loop = naive.small_tse(zscore(series.values[:, 0]), 4, 3, theiler)
    np.testing.assert_allclose(np.array(table.values)[:, 0], loop, rtol=1e-5)
    assert table.best == (1 + loop.argmin(), 1)
    assert table.delays == (1,)


KNOWN_WINDOWS = {
    "henon": (lambda seed: simulate.coupled_map({"a": []}, 1000, map="henon", seed=seed), 2),
    "ar2": (lambda seed: autoregression(0.6, -0.5, n=1000, seed=seed), 2),
    "weak-ar2": (lambda seed: autoregression(0.5, 0.3, n=1000, seed=seed), 2),
    "ar1": (lambda seed: autoregression(0.6, n=1000, seed=seed), 1),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", KNOWN_WINDOWS)
def test_small_tse_finds_known_windows(name):
    make, window = KNOWN_WINDOWS[name]
    found = [embedding_criteria(make(seed), SmallTse())["a"].best for seed in range(1000, 1010)]
    assert found.count((window, 1)) >= 9


def test_small_tse_writes_the_first_values_of_every_trial():
    one = autoregression(0.6, n=400).values
    whole = embedding_criteria(em.Series(one, names=["a"]), SmallTse(max_window=3))["a"]
    halves = embedding_criteria(em.Series([one[:200], one[200:]], names=["a"]), SmallTse(max_window=3))["a"]
    assert whole.best == halves.best == (1, 1)
    with pytest.raises(em.InputError, match="too few samples"):
        embedding_criteria(em.Series(one[:40], names=["a"]), SmallTse())


# --- a fully observed first-order node needs no embedding
# -------------------------------------------------------

FIRST_ORDER = {
    "ar": lambda n, seed: autoregression(0.6, n=n, seed=seed),
    "markov": lambda n, seed: simulate.markov({"a": []}, n, states=3, seed=seed),
    "logistic": lambda n, seed: simulate.coupled_map({"a": []}, n, seed=seed),
}
CRITERIA = {
    "ragwitz": (Ragwitz(), tuple(FIRST_ORDER)),
    "storage-gaussian": (ActiveStorage(estimator=em.Gaussian()), ("ar", "logistic")),
    "storage-ksg": (ActiveStorage(), ("ar", "logistic")),
    "storage-discrete": (ActiveStorage(estimator=em.Discrete()), ("markov",)),
    "cao": (Cao(), ("ar", "logistic")),  # needs continuous data
    "small-tse": (SmallTse(), ("ar", "logistic")),
}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
@pytest.mark.parametrize("n", [500, 2000])
@pytest.mark.parametrize("criterion", CRITERIA)
def test_first_order_nodes_get_kappa_one(criterion, n):
    method, kinds = CRITERIA[criterion]
    found = [embedding_criteria(FIRST_ORDER[kind](n, seed), method)["a"].best[0] for kind in kinds for seed in SEEDS]
    assert found.count(1) >= 0.9 * len(found)


# --- tables and choices
# ------------------------------------------------------------------------------------------


def test_the_choice_per_node_makes_an_embedding():
    series = simulate.coupled_map({"a": [], "b": []}, 1000, r={"a": 4.0, "b": 3.8})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        embedding = choose_embedding(series, Ragwitz(max_dim=3, max_delay=2))
    tables = embedding_criteria(series, Ragwitz(max_dim=3, max_delay=2))
    assert embedding == chosen_embedding(tables) == em.Embedding(dim={"a": 1, "b": 1}, delay={"a": 1, "b": 1})


def test_tables_are_plain_data_and_frames():
    import json

    table = embedding_criteria(simulate.coupled_map({"a": []}, 300), Ragwitz(max_dim=3, max_delay=2))["a"]
    plain = json.loads(json.dumps(table.to_dict()))
    assert plain["method"] == "Ragwitz"
    assert plain["dims"] == [1, 2, 3]
    assert plain["delays"] == [1, 2]
    assert plain["best"] == list(table.best)
    assert np.shape(plain["values"]) == (3, 2)
    assert table.table.loc[2, 1] == table.values[1][0]
    assert table.values[0][0] == table.values[0][1]  # one value has no delay


def test_windows_do_not_cross_trials_and_missing_samples_are_left_out():
    one = simulate.coupled_map({"a": []}, 400, seed=0).values
    two = simulate.coupled_map({"a": []}, 400, seed=1).values
    trials = embedding_criteria(em.Series([one, two], names=["a"]), Ragwitz(max_dim=2, max_delay=1))["a"]
    assert trials.best == (1, 1)
    assert trials.values[0][0] < 1e-3
    holes = np.concatenate([one, two])
    holes[[50, 51, 200, 399, 400]] = np.nan
    with pytest.warns(em.HazardWarning, match="missing or masked values"):
        missing = embedding_criteria(em.Series(holes, names=["a"], missing="drop"), Ragwitz(max_dim=2, max_delay=1))[
            "a"
        ]
    assert missing.values[0][0] < 1e-3


def test_a_choice_at_the_edge_is_said():
    with pytest.warns(em.HazardWarning, match="kappa 2 is the largest that was tried"):
        choose_embedding(autoregression(0.2, 0.2, 0.5), ActiveStorage(estimator=em.Gaussian(), max_dim=2))


def test_neighbours_keep_their_distance_in_time():
    points = np.cumsum(np.random.default_rng(0).normal(size=(60, 2)), axis=0)
    times = np.arange(60)
    rows, distance = nearest(points, times, 3, theiler=4)
    whole = naive.block_distances(points)
    whole[np.abs(times[:, None] - times) <= 4] = np.inf
    np.testing.assert_array_equal(np.sort(whole, axis=1)[:, :3], distance)
    assert (np.abs(rows - times[:, None]) > 4).all()


@pytest.mark.parametrize("method", [Ragwitz(k=3), ActiveStorage(estimator=em.Gaussian()), Cao(delay=2), SmallTse(k=8)])
def test_methods_are_values(method):
    assert restore(describe(method)) == method
    assert hash(method) == hash(restore(describe(method)))


# --- the theorems' bounds
# ----------------------------------------------------------------------------------------


def test_notes_on_the_bounds_of_the_theorems():
    names = ("a", "b")
    assert embedding_bounds(em.Embedding(dim=1), names) == ()
    assert embedding_bounds(em.Embedding(dim=3), names, state_dim=1) == ()
    takens, joint = embedding_bounds(em.Embedding(dim={"a": 3, "b": 2}), names, state_dim={"a": 1, "b": 2})[:2]
    assert "b: kappa 2 is under 5 = 2d+1" in takens
    assert "add up to 5, under 7 = 2d+1" in joint
    (bundle,) = embedding_bounds(em.Embedding(dim=3), ("a",), state_dim=1, driver_dim=1)
    assert "kappa 3 is under 5 = 2(d+e)+1" in bundle
    (over,) = embedding_bounds(em.Embedding(dim=4), ("a",), state_dim=1)
    assert "kappa 4 is over 3" in over
    assert "hides them" in over


def test_choosing_warns_of_the_bounds():
    with pytest.warns(em.HazardWarning) as caught:
        choose_embedding(simulate.coupled_map({"a": []}, 500), Ragwitz(max_dim=2), state_dim=1)
    said = [str(warning.message) for warning in caught]
    assert "a: kappa 1 is under 3" in said[0]
    assert "add up to 1, under 3" in said[1]


# --- refusals
# ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Ragwitz(max_dim=0), "max_dim=0"),
        (lambda: Ragwitz(k=2.5), "k=2.5"),
        (lambda: Ragwitz(parsimony=-1), "parsimony=-1"),
        (lambda: ActiveStorage(estimator="ksg"), "give one of enmesh.estimators"),
        (lambda: Cao(delay=0), "delay=0"),
        (lambda: Cao(tolerance=1.5), "tolerance=1.5"),
        (lambda: Cao(theiler=-1), "theiler=-1"),
        (lambda: SmallTse(max_window=0), "max_window=0"),
        (lambda: choose_embedding(autoregression(0.5, n=5)), "too few samples: 5 .* lower max_dim"),
        (lambda: choose_embedding(autoregression(0.5), "ragwitz"), "'ragwitz' is not known"),
    ],
)
def test_bad_input_is_refused_with_advice(call, said):
    with pytest.raises(em.InputError, match=said):
        call()
