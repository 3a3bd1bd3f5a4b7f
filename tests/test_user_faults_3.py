"""What went wrong for new users in the third round, each fault with its number, and what is done about it now."""

import io
import json
import pickle
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.estimators.base import Estimator
from enmesh.methods import members
from enmesh.options import option

N = 120
RNG = np.random.default_rng(5)
A = RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": np.r_[0.0, 0.8 * A[:-1]] + 0.3 * RNG.normal(size=N)})
MONTHS = pd.date_range("1990-01-01", periods=N, freq="MS")
GAUSSIAN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


def csv(frame, **how):
    return io.StringIO(frame.to_csv(**how))


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)
    return shell


# --- A: silently wrong ----------------------------------------------------------------------------------------

MONTHLY = {
    "1990M01": MONTHS.strftime("%YM%m"),
    "Dec-99": MONTHS.strftime("%b-%y"),
    "199001": MONTHS.strftime("%Y%m"),
    "01/1990": MONTHS.strftime("%m/%Y"),
    "1990.01": MONTHS.strftime("%Y.%m"),
    "January 1990": MONTHS.strftime("%B %Y"),
    "1990-01-01": MONTHS.strftime("%Y-%m-%d"),
}
OTHER = {
    "1990.01.01": (pd.date_range("1990-01-01", periods=N).strftime("%Y.%m.%d"), 86400),
    "1990 W01": ([f"{1990 + i // 52} W{i % 52 + 1:02d}" for i in range(52)], 7 * 86400),
    "00:00:00": (pd.date_range("2020", periods=N, freq="min").strftime("%H:%M:%S"), 60),
    "1990Q1": ([f"{1990 + i // 4}Q{i % 4 + 1}" for i in range(N)], 3),
    "Q1 1990": ([f"Q{i % 4 + 1} {1990 + i // 4}" for i in range(N)], 3),
    "20200131": (pd.date_range("2020-01-01", periods=N).strftime("%Y%m%d"), 86400),
    "202001310930": (pd.date_range("2020-01-01", periods=N, freq="h").strftime("%Y%m%d%H%M"), 3600),
    "01/31/2020 01:00 PM": (pd.date_range("2020-01-01", periods=N, freq="h").strftime("%m/%d/%Y %I:%M %p"), 3600),
    "1990": (np.arange(1900, 1900 + N).astype(str), 1),
    "1990M1": ([f"{1990 + i // 12}M{i % 12 + 1}" for i in range(N)], 1),
    "1990-1": ([f"{1990 + i // 12}-{i % 12 + 1}" for i in range(N)], 1),
}
TEXT_TIMES = {name: (text, 1) for name, text in MONTHLY.items()} | OTHER


@pytest.mark.parametrize("kind", TEXT_TIMES)
def test_a1_times_as_text_are_read_and_never_turned_round(kind):
    text, dt = TEXT_TIMES[kind]
    frame = FRAME[: len(text)].set_axis(pd.Index(list(text)))
    for given in (frame, frame.rename_axis("when").reset_index()):
        series = em.Series(given)
        assert (series.names, series.dt) == (("a", "b"), dt)
        with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
            em.Series(given.iloc[::-1])
        assert em.Series(given.iloc[::-1], time="sort") == series
    read = em.read(csv(frame))
    assert (read.names, read.dt) == (("a", "b"), dt)


@pytest.mark.parametrize("text", ["%d/%m/%y", "%y.%m.%d", "%d%b%y"])
def test_a1_what_looks_like_time_and_cannot_be_ordered_is_refused_with_the_option(text):
    days = pd.date_range("1999-11-05", periods=N).strftime(text)
    frame = FRAME.set_axis(pd.Index(days))
    if text != "%d%b%y":
        with pytest.raises(em.InputError, match=r"is not a time or date; .* date_format="):
            em.Series(frame)
    series = em.Series(frame.rename_axis("when").reset_index(), time="when", date_format=text)
    assert (series.dt, series.time.start[:10]) == (86400, "1999-11-05")
    with pytest.raises(em.InputError, match="is not written as date_format='%H:%M'"):
        em.Series(frame.rename_axis("when").reset_index(), time="when", date_format="%H:%M")


@pytest.mark.parametrize("label", ["FY{}", "{}H1", "{}/xx", "harvest of {}"])
def test_a1_labels_with_years_are_refused_whatever_they_mean(label):
    frame = FRAME.set_axis([label.format(1900 + i) for i in range(N)])
    for given in (frame, frame.iloc[::-1], frame.set_axis(pd.CategoricalIndex(frame.index))):
        with pytest.raises(em.InputError, match=r"is not a time or date; .* date_format=.*, or pass time='ignore'"):
            em.Series(given)
        assert em.Series(given, time="ignore").names == ("a", "b")
    falling = FRAME.set_axis([f"day {i}" for i in range(N, 0, -1)])
    with pytest.raises(em.InputError, match="the numbers in the index fall, the newest row may be the first"):
        em.Series(falling)
    assert em.Series(falling.iloc[::-1]).names == ("a", "b")


def test_a2_a_header_of_numbers_is_no_data(tmp_path):
    x = FRAME.to_numpy()
    for names in (None, [2019, 2020], [1, 2]):
        frame = pd.DataFrame(x, columns=names)
        for text in (frame.to_csv(index=False), frame.to_csv()):
            series = em.read(io.StringIO(text))
            assert series.shape == (N, 2)
            assert series.names == tuple(map(str, frame.columns))
        frame.to_excel(tmp_path / "x.xlsx", index=False)
        assert em.read(tmp_path / "x.xlsx").shape == (N, 2)
    counts = pd.DataFrame(RNG.integers(0, 9, (N, 3)))
    with pytest.raises(
        em.InputError, match="0, 1, 2 may be names or the first row of numbers; say so with header=True"
    ):
        em.read(csv(counts, index=False))
    assert em.read(csv(counts, index=False), header=True).shape == (N, 3)
    assert em.read(csv(counts, index=False), header=False).shape == (N + 1, 3)


def panel(**more):
    return FRAME.assign(subject=np.repeat(["s1", "s2", "s3"], N // 3), t=np.tile(np.arange(N // 3) * 0.5, 3), **more)


@pytest.mark.parametrize(
    "frame",
    [
        panel(),
        panel().set_index(["subject", "t"]),
        panel().rename(columns={"t": "seconds"}),
        panel(country="x").drop(columns="country").rename(columns={"subject": "who"}),
        panel(group=np.repeat([1, 1, 2], N // 3)),
        panel().sort_values(["t", "subject"]),
    ],
)
def test_a3_subjects_are_trials(frame):
    with pytest.warns(
        em.HazardWarning, match="the time restarts where (subject|who) changes: each is taken for a trial"
    ):
        series = em.Series(frame)
    assert (series.names, series.lengths, series.dt) == (("a", "b"), (N // 3,) * 3, 0.5)
    np.testing.assert_array_equal(np.sort(series["a"]), np.sort(A))


def test_a3_years_that_restart_and_clocks_that_begin_again_are_trials():
    years = FRAME.assign(country=np.repeat(["x", "y"], N // 2), year=np.tile(1960 + np.arange(N // 2), 2))
    for frame in (years, years.set_index(["country", "year"])):
        with pytest.warns(em.HazardWarning, match="restarts where country changes"):
            assert em.Series(frame).lengths == (N // 2, N // 2)
    with pytest.warns(em.HazardWarning, match="the time begins again 2 times: each stretch is taken for a trial"):
        assert em.Series(panel().drop(columns="subject")).lengths == (N // 3,) * 3
    with pytest.warns(em.HazardWarning, match="each subject is taken for a trial"):
        assert em.Series(panel().drop(columns="t")).lengths == (N // 3,) * 3
    with pytest.warns(em.HazardWarning, match="each subject is taken for a trial"):
        mixed = em.Series(FRAME.assign(subject=np.arange(N) % 3))
    np.testing.assert_array_equal(mixed.trials[1][:, 0], A[1::3])
    with pytest.raises(em.InputError, match="the time does not increase"):
        em.Series(panel(), trials=False)
    two = panel(block=np.tile(np.repeat([1, 2], N // 6), 3), session=np.repeat([1, 2, 2], N // 3))
    assert em.Series(two, trials="subject", columns=["a", "b"]).lengths == (N // 3,) * 3


@pytest.mark.parametrize("name", ["ts", "epoch", "timestamp_ms", "Datum", "doy", "when", "x"])
def test_a4_a_clock_under_any_name_is_no_node(name):
    clock = {"epoch": 1_600_000_000 + np.arange(N), "doy": 3 + np.arange(N)}.get(name, np.arange(N) * 0.5 + 7)
    frame = FRAME.assign(**{name: clock})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        series = em.Series(frame)
    assert series.names == ("a", "b")
    assert series.dt == np.diff(clock)[0]
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        em.Series(frame.iloc[::-1].reset_index(drop=True))
    assert em.Series(frame, columns=["a", "b", name]).names == ("a", "b", name)


def test_a4_what_may_be_a_clock_is_asked_about():
    steps = np.where(np.arange(N) % 5 == 4, 3, 1)
    frame = FRAME.assign(serial=40_000 + np.cumsum(steps))
    with pytest.raises(
        em.InputError, match="serial rises from row to row, mostly by 1: if it is the time, pass time='serial'"
    ):
        em.Series(frame)
    assert em.Series(frame, columns=["a", "serial"]).names == ("a", "serial")
    assert em.Series(frame, time=("serial", "ignore")).names == ("a", "b")
    unix = FRAME.assign(stamp=1_600_000_000 + 86400 * np.cumsum(steps))
    with pytest.raises(em.InputError, match="the newest row is the first"):
        em.Series(unix.iloc[::-1].reset_index(drop=True))
    falling = FRAME.assign(doy=np.r_[np.arange(60, 0, -1), np.arange(365, 305, -1)])
    with pytest.raises(em.InputError, match="doy steps back from row to row, the newest row seems to be first"):
        em.Series(falling)


def test_a5_thousands_and_decimals_are_never_confused():
    text = "a;b\n981;0.27\n1,020;-0.70\n1,050;0.10\n"
    assert em.read(io.StringIO(text)).values[:, 0].tolist() == [981, 1020, 1050]
    assert em.read(io.StringIO(text), decimal=".", thousands=",")["a"].tolist() == [981, 1020, 1050]
    with pytest.raises(em.InputError, match=r"'1,020' has two readings, 1020 and 1.020; say which with decimal=',' or"):
        em.read(io.StringIO("a;b\n981;2\n1,020;1\n1,050;4\n"))
    assert em.read(io.StringIO("a;b\n981;2\n1,020;1\n1,050;4\n"), decimal=",")["a"].tolist() == [981, 1.02, 1.05]
    dotted = "a;b\n981;2\n1.020;1\n1.050;4\n"
    with pytest.raises(em.InputError, match=r"'1.020' has two readings, 1.020 and 1020; say which with decimal='.' or"):
        em.read(io.StringIO(dotted))
    assert em.read(io.StringIO(dotted), thousands=".")["a"].tolist() == [981, 1020, 1050]
    assert em.read(io.StringIO(dotted), decimal=".")["a"].tolist() == [981, 1.02, 1.05]
    assert em.read(io.StringIO("a;b\n1;12.345\n0;13.020\n1;14.050\n"))["b"].tolist() == [12.345, 13.02, 14.05]
    with pytest.raises(em.InputError, match="decimal points and decimal commas are mixed"):
        em.read(io.StringIO("a;b\n981;0.25\n1,02;1\n1,05;4\n"))


def test_a9_and_b10_names_of_own_classes_are_guarded():
    def define(name, cli_name):
        body = {"cli_name": cli_name, "__module__": "mine", "__annotations__": {}, "condition": None, "_prepare": None}
        return option(type(name, (Estimator,), {**body, "entropy": None, "__doc__": "Mine."}))

    with pytest.raises(
        em.InputError, match=r"there is a class KSG already, in enmesh.estimators.ksg; give yours another"
    ):
        define("KSG", "mine")
    from enmesh import options

    try:
        define("Mine", "gaussian")
        with pytest.raises(em.InputError, match="Gaussian and Mine have the same cli_name, 'gaussian'"):
            members(Estimator)
    finally:
        options._CLASSES.pop("Mine", None)

    class Plain(em.Gaussian):
        """Without @option."""

    with pytest.raises(em.InputError, match="the class Plain is no option; put @option"):
        options.describe(Plain())


def test_a10_no_command_overwrites_a_file(run, tmp_path):
    for line in (
        "simulate var --graph a>b -n 50 --out {}",
        "datasets gas-furnace --out {}",
        "lags data.csv a b --max-lag 2 --estimator gaussian --out {}",
    ):
        mine = tmp_path / ("mine.png" if "lags" in line else "mine.csv")
        mine.write_text("mine")
        code, _, err = run(line.format(mine.name))
        assert code == 2
        assert f"{mine.name} is there already; give another name, or use --force to overwrite it" in err
        assert mine.read_text() == "mine"
        assert run(line.format(mine.name) + " --force")[0] == 0
        assert mine.read_bytes() != b"mine"


# --- B: tracebacks and wrong claims --------------------------------------------------------------------------------


def test_b7_numbers_of_numpy_go_wherever_numbers_go():
    one, many, seed = np.int64(1), np.int64(99), np.int64(3)
    series = em.Series(FRAME)
    assert em.KSG(k=np.int64(4)) == em.KSG(k=4)
    same = em.significance(series, "a", "b", estimator="gaussian", n_surrogates=99, seed=3)
    assert em.significance(series, "a", "b", estimator="gaussian", n_surrogates=many, seed=seed).p_value == same.p_value
    score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(dim=one), n_surrogates=many, seed=seed)
    network = em.infer(series, score=score, max_parents=one, seed=seed, n_jobs=one, max_lag=None)
    assert em.Network.from_json(network.to_json()).parents == network.parents
    assert em.lag_profile(series, "a", "b", max_lag=np.int64(2), estimator="gaussian", n_surrogates=0).best == 1
    assert em.Series(FRAME, dt=np.float32(0.5), sfreq=None).dt == 0.5
    assert em.Series(FRAME.to_numpy(), sfreq=np.int32(4)).dt == 0.25
    assert (
        em.Series(FRAME.assign(k=np.arange(N) % 7 + 1), na=np.int64(3), missing="drop").missing[0].sum() == (N + 4) // 7
    )


def test_b8_every_function_takes_what_infer_takes(tmp_path):
    path = tmp_path / "x.csv"
    FRAME.to_csv(path, index=False)
    pl, xr = pytest.importorskip("polars"), pytest.importorskip("xarray")
    forms = {
        "DataFrame": FRAME,
        "path": path,
        "text of a path": str(path),
        "open file": io.BytesIO(path.read_bytes()),
        "polars": pl.from_pandas(FRAME),
        "lazy": pl.from_pandas(FRAME).lazy(),
        "arrow": pl.from_pandas(FRAME).to_arrow(),
        "mapping": FRAME.to_dict("list"),
        "xarray": xr.DataArray(FRAME.to_numpy(), dims=("time", "node"), coords={"node": ["a", "b"]}),
        "list of paths": [path],
    }
    series, how = em.Series(FRAME), {"estimator": em.Gaussian()}
    calls = {
        "transfer_entropy": lambda x: em.transfer_entropy(x, "a", "b", **how),
        "active_information": lambda x: em.active_information(x, "a", **how),
        "conditional_entropy": lambda x: em.conditional_entropy(x, "b", "a", **how),
        "stochastic_interaction": lambda x: em.stochastic_interaction(x, **how),
        "kl_divergence": lambda x: em.kl_divergence(x, "a>b", **how),
        "instantaneous_dependence": lambda x: em.instantaneous_dependence(x, **how),
        "log_likelihood": lambda x: em.log_likelihood(x, "a>b", **how),
        "significance": lambda x: em.significance(x, "a", "b", n_surrogates=0, **how).p_value,
        "te_matrix": lambda x: em.te_matrix(x, **how).te.loc["a", "b"],
        "lag_profile": lambda x: em.lag_profile(x, "a", "b", max_lag=2, n_surrogates=0, **how).best,
        "choose_embedding": lambda x: em.choose_embedding(x, em.ActiveStorage(**how, max_dim=2, max_delay=1)),
        "embedding_criteria": lambda x: (
            em.embedding_criteria(x, em.ActiveStorage(**how, max_dim=2, max_delay=1))["a"].best
        ),
        "diagnose": lambda x: em.diagnose(x),
        "score": lambda x: em.score(x, "a>b", GAUSSIAN).total,
        "interval": lambda x: em.interval(x, "a", "b", **how).low,
        "infer": lambda x: em.infer(x, score=GAUSSIAN).parents,
        "windows": lambda x: em.windows(x, width=60, step=60, score=GAUSSIAN).te[0, 0, 1],
    }
    for name, call in calls.items():
        expected = call(series)
        for kind in ("DataFrame", "path", "polars") if name != "transfer_entropy" else forms:
            assert call(forms[kind]) == expected, (name, kind)
    array = FRAME.to_numpy()
    assert em.transfer_entropy(array, 0, 1, **how) == em.transfer_entropy(array.tolist(), 0, 1, **how)
    assert em.compare(path, FRAME, 19, score=GAUSSIAN).difference.loc["a", "b"] == 0


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda s: em.transfer_entropy(s, "a", "b", embedding=2), "embedding=2 is no embedding; give Embedding(dim=2)"),
        (lambda s: em.significance(s, "a", "b", surrogate="shft"), "surrogate='shft' is not known; use "),
        (lambda s: em.significance(s, "a", "b", n_surrogates=1.5), "n_surrogates=1.5 is not possible"),
        (lambda s: em.significance(s, "a", "b", seed="x"), "seed='x' is not possible"),
        (lambda s: em.score(s, "a>b", em.TEA), "score=TEA is a class; give an instance"),
        (lambda s: em.infer(s, max_parents=1.5), "max_parents=1.5 is not possible"),
    ],
)
def test_b9_wrong_kinds_are_refused_in_a_line(call, said):
    with pytest.raises(em.InputError) as caught:
        call(em.Series(FRAME))
    assert said in str(caught.value)


def test_b9_surrogates_by_name():
    how = {"estimator": "gaussian", "n_surrogates": 39}
    by_name = em.significance(FRAME, "a", "b", surrogate="permute", **how)
    assert by_name.p_value == em.significance(FRAME, "a", "b", surrogate=em.Permute(), **how).p_value


def test_b11_open_files_are_read(tmp_path):
    series = em.Series(FRAME)
    assert em.read(csv(FRAME, index=False)) == series
    assert em.read(io.BytesIO(FRAME.to_csv(index=False).encode())) == series
    FRAME.to_parquet(tmp_path / "x.parquet")
    with (tmp_path / "x.parquet").open("rb") as file:
        assert em.read(file) == series
    held = io.BytesIO()
    np.save(held, FRAME.to_numpy())
    assert em.read(io.BytesIO(held.getvalue()), names=["a", "b"]) == series
    with pytest.raises(em.InputError, match="is empty"):
        em.read(io.StringIO(""))


def test_b12_a_file_given_twice_is_refused(run, tmp_path):
    code, _, err = run("infer data.csv ./data.csv --estimator gaussian")
    assert code == 2
    assert "data.csv is given more than once; each file is a trial, give it once" in err


def test_b16_signals_have_their_own_exit_codes():
    from enmesh import cli

    assert cli._stopped([]) == 130
    assert cli._stopped([15]) == 143
    assert cli._stopped([1]) == 129


def test_b17_a_clock_goes_on_past_midnight():
    night = pd.date_range("2020-01-01 23:00", periods=N, freq="min")
    frame = FRAME.assign(time=night.strftime("%H:%M:%S"))
    series = em.Series(frame)
    assert (series.names, series.dt, series.lengths) == (("a", "b"), 60, (N,))
    np.testing.assert_array_equal(series["a"], A)
    with pytest.raises(em.InputError, match="the newest row is the first"):
        em.Series(frame.iloc[::-1].reset_index(drop=True))
    for modes in ("sort", ("sort", "ignore")):
        np.testing.assert_array_equal(em.Series(frame.iloc[::-1].reset_index(drop=True), time=modes)["a"], A)


# --- C: habits ------------------------------------------------------------------------------------------------------


def test_c_reading_options_in_python_and_shell(run, tmp_path):
    text = FRAME.round(3).assign(d=MONTHS.strftime("%d.%m.%y"), c=1000 + 1000 * np.arange(N) % 7777)
    lines = text.to_csv(index=False, sep=";", decimal=",").replace(";-0,3", ";?;", 0).splitlines()
    lines[5] = ";".join(["-999", *lines[5].split(";")[1:]])
    body = "\n".join(["made by a machine", "in 2020", lines[0], "mV;mV;;1", *lines[1:]])
    (tmp_path / "odd.csv").write_bytes(body.replace("a;b", "ä;b").encode("latin-1"))
    how = dict(encoding="latin-1", skip=2, units=True, na=["-999"], date_format="%d.%m.%y", time="d", decimal=",")
    series = em.read(tmp_path / "odd.csv", missing="drop", **how)
    assert series.names == ("ä", "b", "c")
    assert (series.dt, series.time.unit, series.time.start) == (1, "month", "1990-01")
    assert np.flatnonzero(np.isnan(series["ä"])).tolist() == [4]
    filled = em.read(tmp_path / "odd.csv", missing="interpolate:3", **how)
    assert filled.prepared == ("1 missing values in gaps of up to 3 samples interpolated",)
    assert filled["ä"][4] == pytest.approx((series["ä"][3] + series["ä"][5]) / 2)
    shell = "--encoding latin-1 --skip 2 --units --na -999 --date-format %d.%m.%y --time d --decimal , --missing drop"
    code, out, err = run(f"te odd.csv ä b --estimator gaussian --dim 1 --json {shell}")
    assert code == 0, err
    expected = em.significance(series, "ä", "b", estimator="gaussian", n_surrogates=0)
    assert json.loads(out)["te"] == pytest.approx(expected.value)


REFUSED = {
    "latin": ("ä,b\n1,2\n".encode("latin-1"), "not text in UTF-8; say what it is, as encoding='latin-1'"),
    "preamble": (b"made by\nme,in,2020,x\n\na,b\n1,2\n2,3\n3,1\n", "pass skip=3 to leave out what stands above"),
    "question mark": (
        b"a,b\n1,2\n?,3\n3,1\n4,4\n",
        "'?' is not a number; if it stands for a missing value, pass na='?'",
    ),
    "mixed marks": (b"a;b\n1.5;2\n1,5;3\n", "decimal points and decimal commas are mixed"),
    "day or month": (b"date,a\n01/02/2020,1\n02/02/2020,2\n03/02/2020,1\n", "date_format='%d/%m/%Y' or '%m/%d/%Y'"),
    "address": (None, "is an address, not a file; download it first"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_c_what_is_refused_names_the_option(case, tmp_path):
    data, said = REFUSED[case]
    (tmp_path / "x.csv").write_bytes(data or b"")
    with pytest.raises(em.InputError) as caught:
        em.read(tmp_path / "x.csv" if data else "https://example.org/x.csv")
    assert said in str(caught.value)


TAKEN = {
    "per cent": "a,b\n1%,$2\n3%,$5\n4%,$1\n5%,$1",
    "thousands in quotes": 'a,b\n"1,257.30",2\n"1,300.10",3\n"980.00",9\n"1,001.5",3',
    "spaces for thousands": "a;b\n1\u00a0257,30;2\n1\u00a0300,10;3\n980;9\n7;3",
    "tabs with decimal commas": "a\tb\n1,5\t2\n2,5\t3\n3,5\t1\n1,5\t2",
    "units": "a,b\nmV,mV\n1,2\n2,3\n3,1\n1,2",
    "pipes": "a|b\n1|2\n2|3\n3|1\n1|2",
    "utf-16": "a,b\n1,2\n2,3\n3,1\n1,2",
}


@pytest.mark.parametrize("case", TAKEN)
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_c_what_is_certain_is_read(case, tmp_path):
    data = TAKEN[case].encode("utf-16" if case == "utf-16" else "utf-8")
    (tmp_path / "x.csv").write_bytes(data)
    options = {"thousands": " "} if case == "spaces for thousands" else {}
    series = em.read(tmp_path / "x.csv", **({"decimal": ","} if options else {}), **options)
    assert (series.names, series.shape) == (("a", "b"), (4, 2))
    first = {"thousands in quotes": 1257.3, "spaces for thousands": 1257.3, "tabs with decimal commas": 1.5}
    assert series.values[0, 0] == first.get(case, 1)


def test_c_long_tables_panels_and_turned_tables(run, tmp_path):
    wide = FRAME.assign(time=np.arange(N) * 0.5)
    long = wide.melt("time")
    for frame in (long, long.sort_values("time")):
        with pytest.raises(
            em.InputError, match=r"looks like a long table: .* pass pivot=\('time', 'variable', 'value'\)"
        ):
            em.Series(frame)
        series = em.Series(frame, pivot=("time", "variable", "value"))
        assert (series, series.dt) == (em.Series(wide), 0.5)
    with pytest.raises(em.InputError, match="a second value of the same variable at the same time"):
        em.Series(pd.concat([long, long]), pivot="time,variable,value")
    other = long.assign(who=2, value=long["value"] + 1)
    trials = pd.concat([long.assign(who=1), other])
    assert em.Series(trials, pivot="time,variable,value", trials="who").lengths == (N, N)
    long.to_csv(tmp_path / "long.csv", index=False)
    assert run("te long.csv a b --estimator gaussian --dim 1 --pivot time,variable,value")[0] == 0
    FRAME.T.to_csv(tmp_path / "turned.csv", header=False)
    np.testing.assert_array_equal(em.read(tmp_path / "turned.csv", transpose=True).values, FRAME.to_numpy())
    assert em.read(tmp_path / "data.csv", rows="11:60").lengths == (50,)
    assert em.Series(FRAME, rows=slice(10, 60)) == em.read(tmp_path / "data.csv", rows="11:60")


def test_c_sentinels_spikes_and_stuck_sensors_are_hazards():
    values = RNG.normal(size=(500, 4))
    values[[7, 90], 0] = -999
    values[[7, 91], 1] = 9999
    values[300, 2] = 40
    values[100:160, 3] = 0.25
    found = {finding.kind: finding for finding in em.diagnose(em.Series(values, names="abcd"))}
    assert found["sentinel"].nodes == ("a", "b")
    assert "-999, 9999 in a, b" in found["sentinel"].message
    assert (found["spike"].nodes, found["stuck"].nodes) == (("c",), ("d",))
    clean = {finding.kind for finding in em.diagnose(em.Series(RNG.standard_t(4, size=(3000, 4))))}
    assert not clean & {"sentinel", "spike", "stuck"}
    rounded = em.Series(np.cumsum(RNG.normal(size=(500, 2)), axis=0).round(0) * 1.0)
    assert not {finding.kind for finding in em.diagnose(rounded)} & {"sentinel", "spike", "stuck"}


def test_c_python_habits(tmp_path):
    series = em.Series(FRAME)
    assert pickle.loads(pickle.dumps(series)) == series
    assert series != em.Series(FRAME * 2)
    with pytest.raises(em.InputError, match="5 samples of 40 nodes; pass transpose=True"):
        em.Series(np.zeros((5, 40)) + RNG.normal(size=(5, 40)))
    network = em.infer(series, score=GAUSSIAN)
    with pytest.raises(em.InputError, match="cannot write"):
        network.to_json(tmp_path / "missing" / "net.json")
    with pytest.raises(TypeError, match="cannot be changed"):
        network.parents.clear()
    assert pickle.loads(pickle.dumps(network)).parents == network.parents
    held = io.BytesIO()
    network.plot(held)
    assert held.getvalue().startswith(b"\x89PNG")


def test_c_mne_raw_and_epochs(tmp_path):
    mne = pytest.importorskip("mne")
    values = RNG.normal(size=(3, 400)) * 1e-6
    info = mne.create_info(["F3", "C3", "STI"], 100.0, ["eeg", "eeg", "stim"])
    raw = mne.io.RawArray(values, info, verbose="ERROR")
    series = em.Series(raw)
    assert (series.names, series.dt, series.lengths) == (("F3", "C3"), 0.01, (400,))
    np.testing.assert_array_equal(series.values, values[:2].T)
    epochs = mne.EpochsArray(values.reshape(3, 4, 100).transpose(1, 0, 2), info, verbose="ERROR")
    assert (em.Series(epochs).lengths, em.Series(epochs).dt) == ((100,) * 4, 0.01)
    raw.set_annotations(mne.Annotations([1.0], [0.5], ["BAD_blink"]))
    with pytest.raises(em.InputError, match="missing"):
        em.Series(raw)
    assert em.Series(raw, missing="drop").missing[0].all(1).sum() == 50
    raw.save(tmp_path / "x_raw.fif", verbose="ERROR")
    np.testing.assert_allclose(em.read(tmp_path / "x_raw.fif", missing="drop")["F3"][:99], values[0, :99], rtol=1e-6)


def test_c_edf(tmp_path):
    edfio = pytest.importorskip("edfio")
    values = RNG.normal(size=(2, 500))
    signals = [edfio.EdfSignal(one, 100, label=name) for one, name in zip(values, ("left", "right"))]
    edfio.Edf(signals).write(tmp_path / "x.edf")
    series = em.read(tmp_path / "x.edf")
    assert (series.names, series.dt) == (("left", "right"), 0.01)
    np.testing.assert_allclose(series.values, values.T, atol=1e-3)
    slow = edfio.EdfSignal(values[0, :250], 50, label="slow")
    edfio.Edf([*signals, slow]).write(tmp_path / "y.edf")
    with pytest.raises(
        em.InputError, match=r"sampled differently: left .100 Hz., right .100 Hz., slow .50 Hz.; choose"
    ):
        em.read(tmp_path / "y.edf")
    assert em.read(tmp_path / "y.edf", columns=["left", "right"]) == series


def test_c_zip_bombs_are_refused_with_their_ratio(tmp_path):
    text = b"a,b\n" + b"1,2\n" * 20_000_000
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", text)
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", text)
    for name in ("x.zip", "x.xlsx"):
        with pytest.raises(em.InputError, match=r"unpacks to more than \d+ MiB, \d+ times its size"):
            em.read(tmp_path / name)


def test_c_short_help_folders_of_runs_and_full_disks(run, tmp_path, monkeypatch):
    assert run("infer -h")[0] == 0
    assert run("infer data.csv --estimator gaussian --dim 1 --out r --quiet")[0] == 0
    assert len(json.loads(run("runs r --json")[1])) == 1

    def full(*_, **__):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("enmesh.cli.results.write_results", full)
    code, _, err = run("infer data.csv --estimator gaussian --dim 1 --out q --quiet")
    assert code == 1
    assert err.splitlines()[-1].startswith("enmesh: the disk is full; make room and run again")
