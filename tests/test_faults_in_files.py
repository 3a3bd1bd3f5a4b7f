"""What went wrong with files, tables and times, and what is done or said about it now."""

import io
import json
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest

import enmesh as em

N = 120
RNG = np.random.default_rng(5)
A = RNG.normal(size=N)
FRAME = pd.DataFrame({"a": A, "b": np.r_[0.0, 0.8 * A[:-1]] + 0.3 * RNG.normal(size=N)})
SHORT = FRAME[:60]
SERIES = em.simulate.var("a>b, b>c", n=300, seed=0)


def csv(frame, **how):
    return io.StringIO(frame.to_csv(**how))


@pytest.fixture
def run(tmp_path, monkeypatch, shell):
    """Run a command line in a folder with ``data.csv``; return its exit code, stdout and stderr."""
    monkeypatch.chdir(tmp_path)
    FRAME.to_csv("data.csv", index=False)
    return shell


MONTHS = pd.date_range("1990-01-01", periods=N, freq="MS")


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
def test_times_as_text_are_read_and_never_turned_round(kind):
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
def test_what_looks_like_time_and_cannot_be_ordered_is_refused_with_the_option(text):
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
def test_labels_with_years_are_refused_whatever_they_mean(label):
    frame = FRAME.set_axis([label.format(1900 + i) for i in range(N)])
    for given in (frame, frame.iloc[::-1], frame.set_axis(pd.CategoricalIndex(frame.index))):
        with pytest.raises(em.InputError, match=r"is not a time or date; .* date_format=.*, or pass time='ignore'"):
            em.Series(given)
        assert em.Series(given, time="ignore").names == ("a", "b")
    falling = FRAME.set_axis([f"day {i}" for i in range(N, 0, -1)])
    with pytest.raises(em.InputError, match="the numbers in the index fall, the newest row may be the first"):
        em.Series(falling)
    assert em.Series(falling.iloc[::-1]).names == ("a", "b")


def test_header_of_numbers_is_no_data(tmp_path):
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
def test_subjects_are_trials(frame):
    with pytest.warns(
        em.HazardWarning, match="the time restarts where (subject|who) changes: each is taken for a trial"
    ):
        series = em.Series(frame)
    assert (series.names, series.lengths, series.dt) == (("a", "b"), (N // 3,) * 3, 0.5)
    np.testing.assert_array_equal(np.sort(series["a"]), np.sort(A))


def test_years_that_restart_and_clocks_that_begin_again_are_trials():
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
def test_clock_under_any_name_is_no_node(name):
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


def test_what_may_be_a_clock_is_asked_about():
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


def test_thousands_and_decimals_are_never_confused():
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


def test_open_files_are_read(tmp_path):
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


def test_file_given_twice_is_refused(run, tmp_path):
    code, _, err = run("infer data.csv ./data.csv --estimator gaussian")
    assert code == 2
    assert "data.csv is given more than once; each file is a trial, give it once" in err


def test_clock_goes_on_past_midnight():
    night = pd.date_range("2020-01-01 23:00", periods=N, freq="min")
    frame = FRAME.assign(time=night.strftime("%H:%M:%S"))
    series = em.Series(frame)
    assert (series.names, series.dt, series.lengths) == (("a", "b"), 60, (N,))
    np.testing.assert_array_equal(series["a"], A)
    with pytest.raises(em.InputError, match="the newest row is the first"):
        em.Series(frame.iloc[::-1].reset_index(drop=True))
    for modes in ("sort", ("sort", "ignore")):
        np.testing.assert_array_equal(em.Series(frame.iloc[::-1].reset_index(drop=True), time=modes)["a"], A)


def test_reading_options_in_python_and_shell(run, tmp_path):
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
def test_what_is_refused_names_the_option(case, tmp_path):
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
def test_what_is_certain_is_read(case, tmp_path):
    data = TAKEN[case].encode("utf-16" if case == "utf-16" else "utf-8")
    (tmp_path / "x.csv").write_bytes(data)
    options = {"thousands": " "} if case == "spaces for thousands" else {}
    series = em.read(tmp_path / "x.csv", **({"decimal": ","} if options else {}), **options)
    assert (series.names, series.shape) == (("a", "b"), (4, 2))
    first = {"thousands in quotes": 1257.3, "spaces for thousands": 1257.3, "tabs with decimal commas": 1.5}
    assert series.values[0, 0] == first.get(case, 1)


def test_long_tables_panels_and_turned_tables(run, tmp_path):
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


def test_mne_raw_and_epochs(tmp_path):
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


def test_edf(tmp_path):
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


def test_zip_bombs_are_refused_with_their_ratio(tmp_path):
    text = b"a,b\n" + b"1,2\n" * 20_000_000
    with zipfile.ZipFile(tmp_path / "x.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.csv", text)
    with zipfile.ZipFile(tmp_path / "x.xlsx", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/worksheets/sheet1.xml", text)
    for name in ("x.zip", "x.xlsx"):
        with pytest.raises(em.InputError, match=r"unpacks to more than \d+ MiB, \d+ times its size"):
            em.read(tmp_path / name)


CUBE = RNG.normal(size=(6, 5, 200))  # trial, node, time


@pytest.mark.parametrize(
    ("shape", "order"),
    [
        ((30, 64, 60), "trial node time"),
        ((8, 500, 40), "node time trial"),
        ((64, 500, 20), "node time trial"),
        ((5, 3, 200), "trial node time"),
        ((3, 1000, 20), "node time trial"),
        ((10, 30, 20), "trial, node, time"),
    ],
)
def test_axes_that_can_be_read_two_ways_are_refused_until_they_are_named(shape, order, tmp_path):
    values = RNG.normal(size=shape)
    np.save(tmp_path / "x.npy", values)
    wanted = np.moveaxis(
        values, [order.replace(",", "").split().index(a) for a in ("trial", "time", "node")], [0, 1, 2]
    )
    for taken in (lambda **how: em.Series(values, **how), lambda **how: em.read(tmp_path / "x.npy", **how)):
        with pytest.raises(em.InputError, match=r"shape \(.*samples of \d+ nodes"):
            taken()
        for dims in (order, tuple(order.replace(",", "").split())):
            np.testing.assert_array_equal(np.stack(taken(dims=dims).trials), wanted)
    named = em.Series(wanted, names=[f"c{i}" for i in range(wanted.shape[2])])  # names tell which axis is that of nodes
    assert named.n_nodes == wanted.shape[2]


def test_clear_shapes_need_no_word():
    for shape in ((4, 20, 2), (20, 500, 3), (1000, 8, 2), (1, 300, 12)):
        assert em.Series(RNG.normal(size=shape)).n_nodes == shape[2]


def test_lists_of_trials():
    trials = [RNG.normal(size=(64, 60)) for _ in range(4)]
    with pytest.raises(em.InputError, match="4 trials of 64 samples of 60 nodes"):
        em.Series(trials)
    for dims in (("node", "time"), ("trial", "node", "time")):
        assert em.Series(trials, dims=dims).lengths == (60,) * 4
    different = [RNG.normal(size=(length, 30)) for length in (40, 50)]
    assert em.Series(different).n_nodes == 30  # lengths that differ are those of time
    with pytest.raises(em.InputError, match=r"different numbers of nodes .*; pass transpose=True"):
        em.Series([one.T for one in different])
    assert em.Series([one.T for one in different], transpose=True).lengths == (40, 50)
    assert em.Series(CUBE[:, 0], dims=("trial", "time")).shape == (1200, 1)


@pytest.mark.parametrize(
    ("dims", "told"),
    [
        (("trial", "time"), "names 2 axes and the array has 3"),
        (("a", "b", "c"), "name each axis once"),
        (("node", "node", "time"), "name each axis once"),
        (("node", "trial"), "name each axis once"),
    ],
)
def test_dims_that_do_not_fit_are_refused(dims, told):
    with pytest.raises(em.InputError, match=told):
        em.Series(CUBE, dims=dims)


def test_dims_are_for_arrays_alone():
    with pytest.raises(em.InputError, match="has names of its own; leave dims= out"):
        em.Series(FRAME, dims=("time", "node"))
    with pytest.raises(em.InputError, match="give one of them"):
        em.Series(CUBE, dims=("trial", "node", "time"), transpose=True)


def test_the_command_line_names_axes(run):
    np.save("x.npy", RNG.normal(size=(30, 64, 60)))
    assert "use --transpose" in run("infer x.npy")[2]
    np.save("y.npy", RNG.normal(size=(8, 500, 40)))
    assert "--dims trial,time,node or --dims node,time,trial" in run("infer y.npy")[2]
    np.save("z.npy", CUBE)
    code, out, _ = run("te z.npy x0 x1 --dims trial,node,time --estimator gaussian --max-lag 1 --json")
    assert code == 0
    expected = em.significance(
        em.Series(CUBE, dims=("trial", "node", "time")), "x0", "x1", estimator="gaussian", max_lag=1
    )
    assert json.loads(out)["te"] == pytest.approx(expected.value)


def test_what_is_written_and_what_matlab_says_is_read_as_it_is(tmp_path):
    from scipy.io import savemat

    names = [f"c{i}" for i in range(20)]
    cube = RNG.normal(size=(64, 100, 20))
    series = em.Series(cube, names=names)
    assert em.read(_npz(series, tmp_path)) == series
    labels = np.array([(name,) for name in names], dtype=[("labels", object)])
    eeg = {"data": np.moveaxis(cube, (0, 1, 2), (2, 1, 0)), "nbchan": 20, "pnts": 100, "trials": 64}
    savemat(tmp_path / "eeglab.mat", {"EEG": eeg | {"srate": 250.0, "chanlocs": labels}})
    read = em.read(tmp_path / "eeglab.mat")
    assert (read.names, read.dt, len(read.trials)) == (tuple(names), 1 / 250, 64)
    np.testing.assert_array_equal(read.trials[5], cube[5])
    cells = np.empty(3, object)
    for i, length in enumerate((90, 100, 110)):
        cells[i] = RNG.normal(size=(4, length))
    label = np.array(["a", "b", "c", "d"], object)[:, None]
    savemat(tmp_path / "fieldtrip.mat", {"data": {"trial": cells[None], "label": label, "fsample": 100.0}})
    read = em.read(tmp_path / "fieldtrip.mat")
    assert (read.names, read.lengths, read.dt) == (tuple("abcd"), (90, 100, 110), 0.01)
    np.testing.assert_array_equal(read.trials[1], cells[1].T)


def _npz(series, folder):
    from enmesh.data.files import write_series

    return write_series(series, folder / "x.npz")


def test_bad_channels_of_mne_are_left_out_and_said():
    mne = pytest.importorskip("mne")
    info = mne.create_info(["a", "b", "c"], 100.0, "eeg")
    raw = mne.io.RawArray(RNG.normal(size=(3, 300)), info, verbose="ERROR")
    raw.info["bads"] = ["b"]
    with pytest.warns(em.HazardWarning, match="left out b: marked as bad"):
        assert em.Series(raw).names == ("a", "c")
    raw.info["bads"] = ["a", "b", "c"]
    with pytest.raises(em.InputError, match=r"no channel that is not marked as bad \(a, b, c\)"):
        em.Series(raw)


def test_dead_channels_are_dropped_by_one_word(run):
    frame = FRAME.assign(flat=1.0, gone=np.nan)
    with pytest.raises(em.InputError, match=r"no value at all|missing|constant column: flat.*drop_constant=True"):
        em.Series(frame)
    with pytest.warns(em.HazardWarning, match="left out flat, gone: constant, or without any value"):
        series = em.Series(frame, drop_constant=True)
    assert series.names == ("a", "b")
    assert "left out flat, gone, which are constant" in series.prepared
    frame.drop(columns="gone").to_csv("flat.csv", index=False)
    code, _, err = run("infer flat.csv")
    assert code == 2
    assert "leave it out (--drop-constant)" in err
    assert run("infer flat.csv --drop-constant --estimator gaussian --score tea --max-lag 1")[0] == 0
    with pytest.raises(em.InputError, match="every column is constant"):
        em.Series(np.ones((50, 2)), drop_constant=True)


QUARTERS = [f"{i % 4 + 1}Q{(70 + i // 4) % 100:02d}" for i in range(60)]


MONTH_NAMES = {
    "de": "Januar Februar März April Mai Juni Juli August September Oktober November Dezember",
    "fr": "janvier février mars avril mai juin juillet août septembre octobre novembre décembre",
    "es": "enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    "it": "gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre",
    "short": "Jan. Feb. Mär. Apr. Mai. Jun. Jul. Aug. Sep. Okt. Nov. Dez.",
}


@pytest.mark.parametrize("given", ["index", "unnamed column", "column"])
def test_quarters_newest_first_are_not_turned_round(given):
    frame = SHORT.set_axis(QUARTERS)
    made = {
        "index": lambda one: one,
        "unnamed column": lambda one: csv(one),
        "column": lambda one: one.rename_axis("when").reset_index(),
    }[given]
    taken = em.read if given == "unnamed column" else em.Series
    series = taken(made(frame))
    assert (series.names, series.dt) == (("a", "b"), 3)
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        taken(made(frame[::-1]))
    assert taken(made(frame[::-1]), time="sort") == series


@pytest.mark.parametrize("label", ["{} days ago", "wave {} of 60", "t-{} h"])
def test_labels_whose_order_cannot_be_told_are_refused_and_the_advice_works(label):
    frame = SHORT.set_axis([label.format(60 - i) for i in range(60)])
    with pytest.raises(em.InputError, match="cannot be read; give dates or numbers, or pass time='ignore'"):
        em.Series(frame)
    assert em.Series(frame, time="ignore").shape == (60, 2)
    named = SHORT.set_axis([f"row{i}" for i in range(60)])
    assert em.Series(named).shape == (60, 2)


def test_column_of_two_scales_is_refused():
    mixed = ["0.64%", "-0.0034"] * 30
    for taken in (em.Series, lambda frame: em.read(csv(frame, index=False))):
        with pytest.raises(em.InputError, match=r"'0.64%' is per cent and other numbers of column a are not"):
            taken(SHORT.assign(a=mixed))
        assert taken(SHORT.assign(a=[f"{i * i % 17}.5%" for i in range(60)]))["a"][1] == 1.5


@pytest.mark.parametrize("words", ["english", "deutsch", "numbers"])
def test_the_day_of_the_week_is_no_node(words):
    days = pd.date_range("2020-01-01", periods=60)
    german = ["Montag", "Dienstag", "Mittwoch", "Donnerstag", "Freitag", "Samstag", "Sonntag"]
    column = {"english": days.day_name(), "deutsch": [german[d] for d in days.weekday], "numbers": days.weekday}
    frame = SHORT.assign(date=days, weekday=column[words], Wochentag=column[words])
    with pytest.warns(em.HazardWarning, match="left out weekday, Wochentag"):
        assert em.Series(frame).names == ("a", "b")
    assert em.Series(frame, columns=["a", "weekday"]).names == ("a", "weekday")


@pytest.mark.parametrize("language", ["numbers", *MONTH_NAMES])
def test_months_beside_years_are_one_time(language):
    months = np.tile(MONTH_NAMES[language].split(), 5) if language != "numbers" else np.tile(np.arange(1, 13), 5)
    frame = SHORT.assign(Jahr=np.repeat(np.arange(2000, 2005), 12), Monat=months)
    for how in ({}, {"time": "Monat"}, {"columns": ["a", "b"]}):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            series = em.Series(frame, **how)
            assert (series.names, series.dt, len(series.trials)) == (("a", "b"), 1, 1)
            assert series.time.unit == "month"
            assert em.Series(frame[::-1], time="sort") == series
    with pytest.raises(em.InputError, match="newest row"):
        em.Series(frame[::-1])


@pytest.mark.parametrize("language", MONTH_NAMES)
def test_months_with_names_in_other_languages_are_read(language):
    names = MONTH_NAMES[language].split()
    text = [f"{names[i % 12]} {2000 + i // 12}" for i in range(60)]
    series = em.Series(SHORT.set_axis(text))
    assert (series.dt, series.time.unit) == (1, "month")
    days = pd.date_range("2020-01-01", periods=60)
    series = em.Series(SHORT.assign(date=[f"{day.day}. {names[day.month - 1]} {day.year}" for day in days]))
    assert (series.dt, series.names) == (86400, ("a", "b"))


def test_advice_about_a_doubtful_clock_ends():
    frame = SHORT.assign(part=np.tile(np.arange(1, 13), 5))
    with pytest.raises(em.InputError, match="name the nodes with columns="):
        em.Series(frame)
    assert em.Series(frame, columns=["a", "b"]).shape == (60, 2)
    with pytest.raises(em.InputError, match="pass time='ignore'"):
        em.Series(frame[::-1].reset_index(drop=True), columns=["a", "b"])
    assert em.Series(frame[::-1].reset_index(drop=True), columns=["a", "b"], time="ignore").shape == (60, 2)


def test_hidden_sheet_is_not_read(tmp_path):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(tmp_path / "x.xlsx") as book:
        (SHORT * 7).rename(columns={"a": "old"}).to_excel(book, sheet_name="scratch", index=False)
        SHORT.to_excel(book, sheet_name="data", index=False)
        book.sheets["scratch"].sheet_state = "hidden"
    with pytest.warns(em.HazardWarning, match="sheet data is read; scratch before it is hidden"):
        assert em.read(tmp_path / "x.xlsx").names == ("a", "b")
    assert em.read(tmp_path / "x.xlsx", sheet="scratch").names == ("old", "b")


@pytest.mark.parametrize("part", ["quarter", "week"])
def test_quarters_and_weeks_beside_years_are_times(part):
    count = {"quarter": 4, "week": 52}[part]
    frame = FRAME[:104].assign(year=2001 + np.arange(104) // count)
    frame[part] = np.arange(104) % count + 1
    series = em.Series(frame)
    assert series.dt == {"quarter": 3, "week": 7 * 86400}[part]
    with pytest.raises(em.InputError, match="newest row is the first; pass time='sort'"):
        em.Series(frame[::-1])
    assert em.Series(frame[::-1], time="sort") == series


def logger_file(rows=60):
    days = pd.date_range("2020-01-01", periods=rows, freq="h").strftime("%Y-%m-%d %H:%M:%S")
    head = ['"TOA5","st","CR1000","1","CR1000.Std","CPU:x","123","T1"', '"TIMESTAMP","RECORD","a","b"']
    head += ['"TS","RN","Deg C","W/m^2"', '"","","Avg","Avg"']
    body = [f'"{day}",{7 + i},{FRAME.a[i]:.4f},{FRAME.b[i]:.4f}' for i, day in enumerate(days)]
    return "\n".join([*head, *body])


def test_logger_files_are_read():
    with pytest.warns(em.HazardWarning, match=r"line 3 \(TS, RN, Deg C, W/m\^2\) and line 4 .* hold units"):
        series = em.read(io.StringIO(logger_file()))
    assert (series.names, series.dt, series.shape) == (("a", "b"), 3600, (60, 2))
    np.testing.assert_allclose(series["a"], FRAME.a[:60].round(4))


def test_pivot_with_an_entry_that_is_missing():
    long = pd.DataFrame(
        {"time": np.repeat(np.arange(30), 2), "variable": ["a", "b"] * 30, "value": SHORT.to_numpy()[:30].ravel()}
    )
    for gone in (0, 1, 7):
        left = long.drop(index=gone)
        with pytest.raises(em.InputError, match=r"missing \(NaN\) values in column . \(1\)"):
            em.Series(left, pivot=("time", "variable", "value"))
        series = em.Series(left, pivot=("time", "variable", "value"), missing="drop")
        assert series.shape == (30, 2)


def test_numbers_in_parentheses_are_negative_and_that_is_said():
    cells = ["(0.25)", "0.5", "(1,200.5)"] * 20
    with pytest.warns(em.HazardWarning, match=r"a: numbers in parentheses are negative, as '\(0.25\)'"):
        assert em.Series(SHORT.assign(a=cells))["a"][:3].tolist() == [-0.25, 0.5, -1200.5]


@pytest.mark.parametrize(
    ("cell", "told"),
    [
        ("1.2 mV", "write the number without its unit"),
        ("1/2", "write it as a decimal number, or leave the column out"),
        ("3 of 5", "write it as a decimal number, or leave the column out"),
        ("a", "the names are repeated here: leave that row out"),
        ("?", r"if it stands for a missing value, pass na='\?'"),
    ],
)
def test_advice_about_cells_that_are_no_numbers_can_be_followed(cell, told):
    cells = [*map(str, A[:59]), cell]
    with pytest.raises(em.InputError, match=told):
        em.Series(SHORT.assign(a=cells))
    fixed = {"1.2 mV": "1.2", "1/2": ".5", "3 of 5": ".6"}.get(cell)
    if fixed:
        assert em.Series(SHORT.assign(a=[*cells[:-1], fixed])).shape == (60, 2)
    elif cell == "?":
        assert em.Series(SHORT.assign(a=cells), na="?", missing="drop").shape == (60, 2)
    else:
        assert em.Series(SHORT.assign(a=cells), rows="1:59").shape == (59, 2)


def test_comments_inside_a_file_are_left_out_and_said():
    lines = SHORT.to_csv(index=False).splitlines()
    lines.insert(20, "# battery changed")
    with pytest.warns(em.HazardWarning, match="1 lines that begin with # are left out, the first is line 21"):
        assert em.read(io.StringIO("\n".join(lines))).shape == (60, 2)


def test_uneven_times_are_interpolated_on_request_and_what_that_does_is_said(run):
    times = np.sort(np.arange(60) + np.random.default_rng(1).uniform(-0.2, 0.2, 60))
    frame = pd.DataFrame({"time": times, "a": np.sin(times / 5), "b": A[:60]})
    with pytest.warns(em.HazardWarning, match="resample=True interpolates them instead"):
        em.Series(frame)
    with pytest.warns(em.HazardWarning, match="variation with a period under about 2.* is weakened or lost"):
        series = em.Series(frame, resample=1.0)
    expected = np.interp(times[0] + np.arange(len(series)), times, np.sin(times / 5))
    np.testing.assert_allclose(series["a"], expected)
    assert series.dt == 1
    holed = frame.drop(index=range(20, 30))
    with pytest.raises(em.InputError, match=r"missing .*pass missing='drop'"):
        em.Series(holed, resample=1.0)
    left = em.Series(holed, resample=1.0, missing="drop")
    assert 9 <= np.isnan(left["a"]).sum() <= 12
    with pytest.raises(em.InputError, match="needs times"):
        em.Series(FRAME, resample=1.0)
    frame.to_csv("uneven.csv", index=False)
    line = "te uneven.csv a b --resample 1 --estimator gaussian --max-lag 1"
    assert run(line)[0] == 0


def test_times_that_were_rounded_have_their_true_step():
    for dt, digits in ((1 / 3, 2), (1 / 30, 3), (0.7 / 3, 2)):
        series = em.Series(FRAME.assign(time=(np.arange(N) * dt).round(digits)))
        assert series.dt == pytest.approx(dt, abs=1.01 * 10.0**-digits / (N - 1))


def test_columns_of_two_levels_have_one_name_each():
    columns = pd.MultiIndex.from_tuples([("left", "a"), ("right", "")])
    assert em.Series(FRAME.set_axis(columns, axis=1)).names == ("left.a", "right")


def test_slices_and_csv():
    assert SERIES[:10].lengths == (10,)
    np.testing.assert_array_equal(SERIES[100:].values, SERIES.values[100:])
    np.testing.assert_array_equal(SERIES[-100:].values, SERIES.values[200:])
    several = em.Series([SERIES.values[:100], SERIES.values[100:]], names=SERIES.names)
    assert several[50:150].lengths == (50, 50)
    np.testing.assert_array_equal(several[50:150].values, SERIES.values[50:150])
    dated = em.Series(FRAME.set_axis(pd.date_range("2020-01-01", periods=N)))
    assert dated[10:].time.start.startswith("2020-01-11")
    assert em.read(io.StringIO(dated.to_csv())) == dated
    for wrong in (slice(None, None, 2), slice(5, 5), slice(None, None, -1), slice("a", None), slice(0, 2)):
        with pytest.raises(em.InputError, match=r"samples"):
            SERIES[wrong]


def test_a_table_of_events_that_is_read_as_samples_names_the_way(run, tmp_path):
    path = tmp_path / "spikes.csv"
    em.simulate.coupled_events("a>b", duration=60, seed=0).to_dataframe().to_csv(path, index=False)
    with pytest.raises(em.InputError, match=r"if each row is an event of one node, read it with em\.Events"):
        em.read(path)
    assert em.Events(path).names == ("a", "b")
    code, _, err = run("infer spikes.csv --quiet")
    assert code == 2
    assert "if each row is an event of one node, use --events" in err
    assert run("te spikes.csv a b --events")[0] == 0


def test_channel_that_never_changes_within_a_trial_is_named():
    trials = [np.column_stack([RNG.normal(size=50), np.full(50, i + 0.5), RNG.normal(size=50)]) for i in range(4)]
    with pytest.raises(em.InputError, match=r"constant within every trial: column dead.*drop_constant=True"):
        em.Series(trials, names=["a", "dead", "c"])
    with pytest.warns(em.HazardWarning, match="left out dead"):
        assert em.Series(trials, names=["a", "dead", "c"], drop_constant=True).names == ("a", "c")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["npy", "csv", "parquet"])
def test_large_recording_is_read_in_bounded_memory(tmp_path, kind):
    """5 x 1,000,000 samples are 40 MB; 4 GiB for 3,000,000 are 35 times the data."""
    values, path = np.random.default_rng(0).normal(size=(1_000_000, 5)), tmp_path / f"x.{kind}"
    if kind == "npy":
        np.save(path, values)
    else:
        frame = pd.DataFrame(values.round(6), columns=list("abcde"))
        frame.to_csv(path, index=False) if kind == "csv" else frame.to_parquet(path)
    code = "import sys, enmesh as em; s = em.read(sys.argv[1]); print(s.shape, open('/proc/self/status').read())"
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert "(1000000, 5)" in done.stdout
    peak = next(int(line.split()[1]) / 1024 for line in done.stdout.splitlines() if line.startswith("VmHWM"))
    print(f"{kind}: peak {peak:.0f} MiB")
    assert peak < 1000


@pytest.mark.parametrize("kind", ["pandas", "numpy", "datetime"])
def test_events_of_dates_by_node(kind):
    days = pd.date_range("2020-01-01", periods=60, freq="37min")
    late = days + pd.Timedelta("5min")
    as_kind = {"pandas": list, "numpy": np.asarray, "datetime": lambda one: list(one.to_pydatetime())}[kind]
    events = em.Events({"a": as_kind(days), "b": as_kind(late)})
    table = pd.DataFrame({"node": ["a"] * 60 + ["b"] * 60, "time": [*days, *late]})
    objects = em.Events(table.assign(time=table["time"].astype(object)))  # once taken for microseconds
    for made in (events, objects, em.Events(table)):
        np.testing.assert_allclose(made.stretches[0].times[0], 37 * 60 * np.arange(60))
        np.testing.assert_allclose(made.stretches[0].times[1], 37 * 60 * np.arange(60) + 300)
    assert events.counts == {"a": 60, "b": 60}


@pytest.mark.parametrize("form", ["{m:02d}.{y}", "{m}.{y}", "{y}.{m:02d}"])
@pytest.mark.parametrize("name", ["date", "when"])
def test_months_written_as_numbers_are_in_the_order_of_time(form, name):
    """12.2004 before 1.2005: sorted as numbers, the years were mixed."""
    months = [form.format(m=i % 12 + 1, y=2000 + i // 12) for i in range(60)]
    frame = SHORT.assign(**{name: months})[[name, "a", "b"]]
    series = em.read(csv(frame, index=False), time=name)
    assert (series.dt, series.time.unit, len(series.trials)) == (1, "month", 1)
    np.testing.assert_allclose(series["a"], SHORT.a)
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        em.read(csv(frame[::-1], index=False), time=name)
    for seed in range(2):
        mixed = frame.sample(frac=1, random_state=seed)
        assert em.read(csv(mixed, index=False), time=[name, "sort"]) == series


def test_days_of_the_week_of_any_numbering_are_no_nodes():
    days = pd.date_range("2020-01-01", periods=60)
    frame = SHORT.assign(date=days, dow=days.day_of_week + 1, is_weekend=days.day_of_week > 4)
    for taken in (em.Series, lambda one: em.read(csv(one, index=False))):
        with pytest.warns(em.HazardWarning, match="left out dow, is_weekend"):
            assert taken(frame).names == ("a", "b")


def test_digits_of_other_scripts_are_numbers_and_a_minus_at_the_end_is_not_lost():
    values = SHORT.round(2)
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
    series = em.Series(SHORT.assign(time=hours))
    assert (series.dt, series.shape) == (900, (60, 2))
    np.testing.assert_array_equal(series.values, SHORT)
    with pytest.raises(em.InputError, match="newest row"):
        em.Series(SHORT[::-1].assign(time=hours[::-1]))


def test_a_step_that_differs_from_that_of_the_times_is_said():
    frame = SHORT.assign(time=0.5 * np.arange(60))
    for how in ({"dt": 2.0}, {"sfreq": 0.5}):
        with pytest.warns(em.HazardWarning, match=r"dt=2 is used, and the times step by 0\.5; leave dt"):
            assert em.Series(frame, **how).dt == 2
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert em.Series(frame, dt=0.5).dt == em.Series(SHORT, dt=2).dt / 4


def test_a_trial_that_comes_twice_or_has_one_sample_is_named():
    values = SERIES.values
    with pytest.raises(em.InputError, match="trials 2 and 3 are identical; leave one out"):
        em.Series([values[:100], values[100:], values[100:]])
    assert len(em.Series([(values > 0).astype(int)[:50]] * 2).trials) == 2  # states may repeat
    with pytest.raises(em.InputError, match="trial 2 has 1 sample; at least 3 are needed; leave it out"):
        em.Series([values[:100], values[100:101]])
