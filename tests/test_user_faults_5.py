"""What 60 further hostile inputs and fresh seeds of the reliability benchmark found, each by its principle."""

import io
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.diagnostics import hazards_of_data
from enmesh.embedding import choose
from enmesh.errors import refuse_hours as real
from enmesh.options import whole

RNG = np.random.default_rng(46)
FRAME = pd.DataFrame(RNG.normal(size=(60, 2)), columns=["a", "b"])
SERIES = em.simulate.var("a>b, b>c", n=300, seed=0)
PLAIN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


def csv(frame):
    return io.StringIO(frame.to_csv(index=False))


def short_trials(count, seed=0, length=8):
    rng = np.random.default_rng(seed)
    return em.Series([rng.normal(size=(length, 2)) for _ in range(count)], names=["a", "b"])


# --- a default never fails on its own choice, and claims nothing of noise -------------------------------------------


def test_the_volatility_of_a_sample_follows_from_samples_before_it():
    """Noise in trials of 8 samples was said to depend on itself within one sample: p about 1e-8 in each of 12 runs."""
    from enmesh.links.samples import Samples

    samples = Samples(short_trials(50), 3)
    square = (samples.plain**2).mean(axis=0).reshape(50, 8)[:, :3]  # what is before the first sample that is predicted
    level = square.mean(axis=1)
    for column in square.T:
        level = 0.95 * level + 0.05 * column
    first = samples.volatility[4].reshape(50, 8)[:, 3]
    assert np.corrcoef(first, np.log(level + 1e-3))[0, 1] > 1 - 1e-9


@pytest.mark.parametrize("seed", range(3))
def test_noise_in_short_trials_has_no_dependence_and_is_stationary(seed):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        em.infer(short_trials(1000, seed))
    assert not [one for one in said if "stationary" in str(one.message) or "within one sample" in str(one.message)]


@pytest.mark.parametrize("estimator", ["gaussian", "ksg"])
def test_a_test_by_surrogates_of_short_trials_exchanges_trials(estimator):
    rng, trials = np.random.default_rng(1), []
    for _ in range(60):
        a = rng.normal(size=8)
        trials.append(np.column_stack([a, np.r_[0.0, 0.9 * a[:-1]] + 0.5 * rng.normal(size=8)]))
    series = em.Series(trials, names=["a", "b"])
    network = em.infer(series, estimator=estimator, score="tee", max_lag=1)
    assert list(network) == [("a", "b")]


def test_exchanged_trials_keep_none_in_its_place_and_are_the_same_in_any_batch():
    starts = np.concatenate([[0], np.cumsum([5] * 12 + [7] * 10)])
    x = RNG.normal(size=(starts[-1], 1))
    draw = em.CircularShift().plan(x, x, starts=starts, span=4)
    rows = draw(3, 0, 40)
    np.testing.assert_array_equal(rows[17:23], draw(3, 17, 6))
    trial = np.repeat(np.arange(22), np.diff(starts))
    assert (trial[rows] != trial).all()
    assert (np.diff(starts)[trial[rows]] == np.diff(starts)[trial]).all()
    assert (np.sort(rows, axis=1) == np.arange(starts[-1])).all()
    assert ((rows - starts[trial[rows]]) == np.arange(starts[-1]) - starts[trial]).all()
    for few in (np.arange(0, 46, 5), starts[[0, 1]]):  # nine trials, and one
        with pytest.raises(em.InputError, match=r"too short .* Permute\(\)"):
            em.CircularShift().plan(x[: few[-1]], x[: few[-1]], starts=few, span=4)
    with pytest.raises(em.InputError, match="too short"):
        em.CircularShift(min_shift=4).plan(x, x, starts=starts, span=4)


# --- numbers and names in a message are those that were typed --------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("te d.csv a b --surrogates 1000000000000", "--surrogates 1000000000000 would take"),
        ("te d.csv a b --lag 100000000000000000000", "--lag 100000000000000000000 is more"),
        ("infer d.csv --seed -1", "--seed -1 is not possible"),
        ("infer d.csv --max-lag 130", "--max-lag 130 is too large"),
        ("infer d.csv --bins 10000", "--bins 10000 leaves"),
        ("infer d.csv --alpha 0.145", "for a 0.145 test write --level 0.145"),
        ("infer d.csv --level 0.95", "--level 0.95 is an error rate, not a confidence level; give one below 0.5"),
        ("infer d.csv --score bic --level 0.05", "level has no effect on the score bic"),
    ],
)
def test_messages_of_the_command_line_have_what_was_typed(line, told, tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    SERIES.to_csv("d.csv")
    code, _, err = shell(line)
    assert (code, err.count("\n")) == (2, 1), err
    assert told in err


def test_a_confidence_level_given_as_an_error_rate_is_refused():
    for call in (em.infer, em.te_matrix, em.regimes):
        with pytest.raises(em.InputError, match=r"level=0.95 is an error rate, not a confidence level"):
            call(SERIES, level=0.95)
    with pytest.raises(em.InputError, match=r"fdr=0.9 is an error rate"):
        em.infer(SERIES, fdr=0.9)
    with pytest.raises(em.InputError, match=r"level=0.99 is an error rate"):
        em.plan(nodes=5, te=0.02, level=0.99)
    assert em.te_matrix(SERIES, level=np.float32(0.05)).te.shape == (3, 3)
    with pytest.warns(em.HazardWarning, match=r"alpha=0.145 is a confidence level; for an error rate of 0.145 give"):
        em.TEA(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=0.145)


def test_a_number_is_named_as_it_was_given():
    with pytest.raises(em.InputError, match="n_surrogates=1000000000000 would take"):
        whole("n_surrogates", 10**12)
    for huge, told in ((10**5000, "n_surrogates=so many is more"), (-(10**5000), "a number of so many digits")):
        with pytest.raises(em.InputError, match=told):
            whole("n_surrogates", huge)


def test_a_default_embedding_has_room_in_the_record():
    for length in (10, 17, 40, 60):
        series = em.simulate.var("a>b", n=60, seed=1)[:length]
        for found in (
            em.choose_embedding(series),
            *(em.choose_embedding(series, choose.embedding_method(one, series)) for one in (em.KSG(), em.Gaussian())),
        ):
            assert found.per_node(series.names)["dim"]


# --- times ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", ["{m:02d}.{y}", "{m}.{y}", "{y}.{m:02d}"])
@pytest.mark.parametrize("name", ["date", "when"])
def test_months_written_as_numbers_are_in_the_order_of_time(form, name):
    """12.2004 before 1.2005: sorted as numbers, the years were mixed."""
    months = [form.format(m=i % 12 + 1, y=2000 + i // 12) for i in range(60)]
    frame = FRAME.assign(**{name: months})[[name, "a", "b"]]
    series = em.read(csv(frame), time=name)
    assert (series.dt, series.time.unit, len(series.trials)) == (1, "month", 1)
    np.testing.assert_allclose(series["a"], FRAME.a)
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        em.read(csv(frame[::-1]), time=name)
    for seed in range(2):
        mixed = frame.sample(frac=1, random_state=seed)
        assert em.read(csv(mixed), time=[name, "sort"]) == series


def test_days_of_the_week_of_any_numbering_are_no_nodes():
    days = pd.date_range("2020-01-01", periods=60)
    frame = FRAME.assign(date=days, dow=days.day_of_week + 1, is_weekend=days.day_of_week > 4)
    for taken in (em.Series, lambda one: em.read(csv(one))):
        with pytest.warns(em.HazardWarning, match="left out dow, is_weekend"):
            assert taken(frame).names == ("a", "b")


# --- arguments of another type, one node, graphs -------------------------------------------------------------------


@pytest.fixture(scope="module")
def model():
    return em.infer(SERIES, max_lag=1).fit(SERIES)


@pytest.mark.parametrize("wrong", ["x", -1, 1.5, None, [], {}, object, np.ones(3), em.KSG()])
def test_models_refuse_arguments_of_another_type(model, wrong):
    calls = [
        lambda: model.skill(SERIES, seed=wrong),
        lambda: model.skill(SERIES, first=wrong),
        lambda: model.skill(SERIES, horizons=wrong if isinstance(wrong, (str, em.KSG, type)) else (wrong,)),
        lambda: model.forecast(SERIES, seed=wrong),
        lambda: model.effect("a", "b", seed=wrong),
        lambda: model.intervene({"a": 1.0}, seed=wrong),
        lambda: model.simulate(50, seed=wrong),
        lambda: em.plan(nodes=3, te=0.05, memory=wrong),
        lambda: em.power(model, seed=wrong, n=10, samples=(100,)),
        lambda: em.power(model, samples=wrong if wrong is not None else 5, n=10),
        lambda: em.simulate.coupled_flow("a>b", n=20, obs_noise=wrong),
        lambda: em.simulate.coupled_flow("a>b", n=20, obs_noise=[[0.1], [0.1, 0.2]]),
    ]
    for call in calls:
        try:
            call()
        except em.InputError:
            continue


def test_one_node_is_refused_by_name(tmp_path, monkeypatch, shell):
    monkeypatch.chdir(tmp_path)
    SERIES.to_csv("d.csv")
    SERIES.select(["a"]).to_csv("one.csv")
    for line, told in {
        "lags d.csv a b --columns a": "there is no node 'b'",
        "power one.csv --te 0.02": "needs at least 2 nodes",
        "infer one.csv": "needs at least 2 nodes",
        "lags one.csv a a": "do not name it again",
    }.items():
        code, _, err = shell(line)
        assert code == 2, err
        assert told in err
    code, out, _ = shell("score one.csv --graph a --json")
    assert (code, json.loads(out)["total"]) == (0, 0)


def test_a_graph_that_can_be_read_in_two_ways_is_refused_with_both():
    with pytest.raises(em.InputError, match=r"write 'a>b, b>c', or 'a>b b, b b>c'"):
        em.simulate.var("a>b b>c", n=50)
    assert em.simulate.var("a>b, b>c", n=50).truth == {"a": (), "b": ("a",), "c": ("b",)}
    assert em.simulate.var("a>b b, b b>c", n=50).truth == {"a": (), "b b": ("a",), "c": ("b b",)}
    with pytest.raises(em.InputError, match="write edges as"):
        em.simulate.var("b~a", n=50)
    named = em.Series(SERIES.values, names=["a", "b b", "c"])
    assert em.score(named, "a>b b>c", PLAIN).total == em.score(SERIES, "a>b, b>c", PLAIN).total


def test_a_network_whose_criteria_are_lists_is_reported(tmp_path):
    whole_one = json.loads(em.infer(SERIES, score=PLAIN).to_json())
    for table in ([], [[1.0]]):
        network = em.Network.from_json(json.dumps({**whole_one, "criteria": {"a": table}}))
        network.report(tmp_path / "x.html")
        assert "Gaussian" in network.methods() if hasattr(network, "methods") else True


# --- cells, clocks, trials ----------------------------------------------------------------------------------------


def test_digits_of_other_scripts_are_numbers_and_a_minus_at_the_end_is_not_lost():
    values = FRAME.round(2)
    for zero, mark in (("\u0660", "."), ("\u0660", "\u066b"), ("\u0966", ".")):
        digits = str.maketrans("0123456789.", "".join(chr(ord(zero) + i) for i in range(10)) + mark)
        text = "a,b\n" + "\n".join(f"{x:.2f},{y:.2f}".translate(digits) for x, y in values.to_numpy())
        np.testing.assert_array_equal(em.read(io.StringIO(text)).values, values)
    text = "a,b\n" + "\n".join(f"{abs(x):.2f}{'-' if x < 0 else ''},{y:.2f}" for x, y in values.to_numpy())
    with pytest.raises(em.InputError, match="write the minus before the number"):
        em.read(io.StringIO(text))


def test_columns_without_a_name_are_refused():
    for names in (["a", np.nan, None], ["a", np.nan, "b"], [None, "a", "b"]):
        with pytest.raises(em.InputError, match=r"column [123] has no name; give it one"):
            em.Series(pd.DataFrame(SERIES.values, columns=names))


def test_a_clock_of_twelve_hours_goes_on_past_twelve():
    hours = [f"{(10 + i // 4 - 1) % 12 + 1}:{15 * (i % 4):02d}" for i in range(60)]
    series = em.Series(FRAME.assign(time=hours))
    assert (series.dt, series.shape) == (900, (60, 2))
    np.testing.assert_array_equal(series.values, FRAME)
    with pytest.raises(em.InputError, match="newest row"):
        em.Series(FRAME[::-1].assign(time=hours[::-1]))


def test_a_step_that_differs_from_that_of_the_times_is_said():
    frame = FRAME.assign(time=0.5 * np.arange(60))
    for how in ({"dt": 2.0}, {"sfreq": 0.5}):
        with pytest.warns(em.HazardWarning, match=r"dt=2 is used, and the times step by 0\.5; leave dt"):
            assert em.Series(frame, **how).dt == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert em.Series(frame, dt=0.5).dt == em.Series(FRAME, dt=2).dt / 4


def test_a_trial_that_comes_twice_or_has_one_sample_is_named():
    values = SERIES.values
    with pytest.raises(em.InputError, match="trials 2 and 3 are identical; leave one out"):
        em.Series([values[:100], values[100:], values[100:]])
    assert len(em.Series([(values > 0).astype(int)[:50]] * 2).trials) == 2  # states may repeat
    with pytest.raises(em.InputError, match="trial 2 has 1 sample; at least 3 are needed; leave it out"):
        em.Series([values[:100], values[100:101]])


def test_nodes_that_are_never_measured_together_are_named():
    a, b = SERIES.values[:, 0].copy(), SERIES.values[:, 1].copy()
    a[150:], b[:150] = np.nan, np.nan
    frame = pd.DataFrame({"a": a, "b": b, "c": SERIES.values[:, 2]})
    with pytest.warns(em.HazardWarning, match=r"never together: .*: 5 \(a and b\)\. No link between them"):
        em.infer(em.Series(frame, missing="drop"), max_lag=1)
    a, b = SERIES.values[:, 0].copy(), SERIES.values[:, 1].copy()
    a[::2], b[1::2] = np.nan, np.nan  # each measured one sample after the other
    found = hazards_of_data(em.Series(pd.DataFrame({"a": a, "b": b}), missing="drop"))
    assert not [one for one in found if one.kind == "apart"]


# --- options that contradict each other ------------------------------------------------------------------------------


def test_contradictions_are_refused():
    with pytest.raises(em.InputError, match="max_parents=0 is less than the 1 required sources of b"):
        em.infer(SERIES, required="a>b", max_parents=0, max_lag=1)
    assert em.infer(SERIES, required="a>b", max_parents=1, max_lag=1).parents["b"] == ("a",)
    with pytest.raises(em.InputError, match="context names every node"):
        em.infer(SERIES, context=["a", "b", "c"], max_lag=1)


# --- further arguments --------------------------------------------------------------------------------------------


def test_advice_about_a_short_record_can_be_followed(model):
    with pytest.raises(em.InputError, match="at least 20 are needed: give a longer record"):
        em.windows(SERIES, width=10, step=5)
    with pytest.raises(em.InputError, match="no node is selected; name at least one of a, b, c"):
        SERIES.select([])
    with pytest.raises(em.InputError, match="every row is masked"):
        SERIES.mask(range(300))
    with pytest.raises(em.InputError, match=r"n=1,000,000,000 needs about .* GiB"):
        model.simulate(10**9)


def test_a_network_of_events_says_that_it_cannot_be_fitted():
    network = em.infer(em.simulate.coupled_events("a>b", duration=60, seed=0))
    for data in (None, SERIES):
        with pytest.raises(em.InputError, match="a network of events has no equations"):
            network.fit(data)


def test_kinds_of_numbers_that_cannot_be_shown_are_refused():
    from decimal import Decimal
    from fractions import Fraction

    for odd in (Fraction(1, 20), Decimal("0.05")):
        with pytest.raises(em.InputError, match="is not possible; give an error rate"):
            em.infer(SERIES, level=odd)
        with pytest.raises(em.InputError, match="is not possible; give a"):
            em.TEA(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=odd)
    with pytest.raises(em.InputError, match=r"write def shown\(done, total, what\)"):
        em.infer(SERIES, progress=lambda done: None)


@pytest.mark.parametrize("source", ["", "/nowhere.json", "[]", "{", "{}"])
def test_what_is_no_network_is_refused_with_what_to_give(source):
    with pytest.raises(em.InputError, match=r"; give (the path of a network\.json|what to_json\(\) wrote)"):
        em.Network.from_json(source)


@pytest.mark.parametrize("scale", [1e-140, 1e-100, 1.0, 1e100, 1e140])
def test_values_of_any_size_are_standardised(scale):
    """Values of 1e100 were said to be constant when they are standardised."""
    series = em.Series(scale * SERIES.values, names=SERIES.names).standardise()
    np.testing.assert_allclose(series.values, SERIES.standardise().values, atol=1e-9)


def test_power_by_simulation_shows_life(model, monkeypatch, capsys):
    from enmesh.inference import progress

    monkeypatch.setattr(progress, "PATIENCE", 0.01)
    em.power(model, n=10, samples=(100, 150))
    assert "recordings" in capsys.readouterr().err


def test_more_repeats_than_an_hour_allows_are_refused_with_an_estimate(monkeypatch):
    from enmesh.inference import workers

    monkeypatch.setattr(workers, "MEASURED", 0.2)
    monkeypatch.setattr(workers, "MANY", 40)
    monkeypatch.setattr(workers, "refuse_hours", lambda what, count, rate: real(what, 10_000 * count, rate))
    with pytest.raises(em.InputError, match=r"[\d,]+ networks would take about .* hours on this machine; give at most"):
        em.stability(SERIES, n=100, max_lag=1, progress=False)
    monkeypatch.setattr(workers, "refuse_hours", real)
    assert em.stability(SERIES, n=42, max_lag=1, progress=False).networks == 42


def test_arrays_and_words_for_options_of_comparisons_are_refused():
    other = em.simulate.var("a>b, b>c", n=300, seed=1)
    odd = pd.Series([1.0, 2.0])
    calls = [
        lambda: em.stability(SERIES, n=2, max_lag=odd),
        lambda: em.compare(SERIES, other, 19, labels=np.ones(3)),
        lambda: em.compare(SERIES, other, 19, labels=("a", "b", "c")),
        lambda: em.compare(SERIES, other, 19, paired="no"),
        lambda: em.simulate.random_dag(10**6),
    ]
    for call in calls:
        with pytest.raises(em.InputError, match="; give"):
            call()


@pytest.mark.parametrize("odd", [np.array([]), np.ones(3), pd.Series([1.0, 2.0]), [["a"], ["b", "c"]], object, "x"])
def test_options_that_are_arrays_are_refused_in_one_line(odd, model):
    events = em.simulate.coupled_events("a>b", duration=30, seed=0)
    times = {"a": [1.0, 2, 3], "b": [2.0, 3.5]}
    calls = [
        lambda: em.infer(events, max_lag=odd),
        lambda: em.infer(events, embedding=odd),
        lambda: em.Events(times, duration=odd),
        lambda: em.Events(times, windows=odd),
        lambda: em.Events(times, windows=[odd]),
        lambda: em.power(SERIES, test=odd),
        lambda: model.effect("a", "b", graph=odd),
        lambda: model.effect("a", "b", hold=odd),
        lambda: em.interval(SERIES, "a", "b", network=odd),
        lambda: em.simulate.coupled_flow("a>b", n=20, noise=odd),
        lambda: em.simulate.coupled_map("a>b", n=20, obs_noise=odd),
    ]
    for call in calls:
        with pytest.raises(em.InputError):
            call()


@pytest.mark.parametrize("n_jobs", [10**6, 10**20])
def test_more_workers_than_a_machine_can_use_are_refused(n_jobs):
    for call in (em.infer, em.stability):
        with pytest.raises(em.InputError, match=r"is more workers than a machine of .* give -1 for all cores"):
            call(SERIES, n_jobs=n_jobs, max_lag=1)
