"""Every row of the table in docs/data.md, tried: the same series comes of every kind."""

import doctest
import gzip
import io
import lzma
import os
import subprocess
import sys
import threading
import types
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest

import enmesh as em
from enmesh.data.files import read
from tests import corpus

N = 40
VALUES = np.random.default_rng(9).normal(size=(N, 2)).round(6)
FRAME = pd.DataFrame(VALUES, columns=["a", "b"])
TEXT = FRAME.to_csv(index=False)
BODY = TEXT.split("\n", 1)[1]
DAYS = pd.date_range("2020-01-01", periods=N)
DOCS = Path(__file__).parents[1] / "docs" / "data.md"


def table(text, name="x.csv"):
    """Return a test that reads this text from a file of this name."""

    def take(folder, **options):
        data = text if isinstance(text, bytes) else text.encode()
        (folder / name).write_bytes(data)
        return read(folder / name, **options)

    return take


def written(name, write, **options):
    """Return a test that reads the file of this name that ``write`` makes."""

    def take(folder):
        write(folder / name)
        return read(folder / name, **options)

    return take


def columns(**more):
    """Return a test that reads the columns a and b beside others from csv, and takes them as a DataFrame."""
    options = more.pop("options", {})

    def take(folder):
        frame = FRAME.assign(**more)
        frame.to_csv(folder / "x.csv", index=False)
        series, same = read(folder / "x.csv", **options), em.Series(frame, **options)
        assert series.names == same.names
        assert series.dt == pytest.approx(same.dt)
        np.testing.assert_array_equal(series.values, same.values)
        return series

    return take


def made(build, **options):
    return lambda folder: em.Series(build(), **options)


def zipped(folder):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        archive.writestr("inner/x.csv", TEXT)
    return table(held.getvalue(), "x.zip")(folder)


def excel(folder):
    pytest.importorskip("openpyxl")
    with pd.ExcelWriter(folder / "x.xlsx") as book:
        FRAME.to_excel(book, sheet_name="one", index=False)
        (FRAME * 2).to_excel(book, sheet_name="two", index=False)
    np.testing.assert_allclose(read(folder / "x.xlsx", variable="two").values, 2 * VALUES)
    return read(folder / "x.xlsx")


def matlab(folder):
    from scipy.io import savemat

    savemat(folder / "x.mat", {"X": VALUES})
    return read(folder / "x.mat", names=["a", "b"])


def array(folder):
    np.save(folder / "x.npy", VALUES)
    return read(folder / "x.npy", names=["a", "b"])


def standard_input(folder):
    kept = sys.stdin
    try:
        for data in (gzip.compress(TEXT.encode()), TEXT.encode()):
            sys.stdin = types.SimpleNamespace(isatty=lambda: False, buffer=io.BytesIO(data))
            series = read("-")
    finally:
        sys.stdin = kept
    return series


def pipe(folder):
    os.mkfifo(folder / "p")
    writer = threading.Thread(target=(folder / "p").write_text, args=[TEXT])
    writer.start()
    series = read(folder / "p")
    writer.join()
    return series


def several(folder):
    FRAME[:20].to_csv(folder / "one.csv", index=False)
    FRAME[20:][["b", "a"]].to_csv(folder / "two.csv", index=False)
    return read([folder / "one.csv", folder / "two.csv"])


def masked(folder):
    series = em.Series(np.ma.masked_array(VALUES, np.arange(2 * N).reshape(N, 2) == 9), missing="drop")
    assert np.argwhere(series.missing[0]).tolist() == [[4, 1]]
    return em.Series(np.ma.masked_array(VALUES), names=["a", "b"])


def xarray(folder):
    labelled = pytest.importorskip("xarray").DataArray
    turned = labelled(VALUES.T, dims=("node", "time"), coords={"node": ["a", "b"]})
    assert em.Series(labelled(VALUES.reshape(2, 20, 2), dims=("trial", "time", "node"))).lengths == (20, 20)
    return em.Series(turned)


def dataset(folder):
    return em.Series(pytest.importorskip("xarray").Dataset({name: ("time", FRAME[name]) for name in "ab"}))


def edf(folder):
    edfio = pytest.importorskip("edfio")
    limits = {"physical_range": (-4, 4), "digital_range": (-32768, 32767)}
    signals = [edfio.EdfSignal(VALUES[:, i], 10, label=name, **limits) for i, name in enumerate("ab")]
    edfio.Edf(signals).write(folder / "x.edf")
    series = read(folder / "x.edf")
    np.testing.assert_allclose(series.values, VALUES, atol=1e-4)
    return em.Series(VALUES, series.names, series.dt)


def raw():
    mne = pytest.importorskip("mne")
    return mne.io.RawArray(VALUES.T, mne.create_info(["a", "b"], 10.0, "eeg"), verbose="ERROR")


def fif(folder):
    raw().save(folder / "x_raw.fif", fmt="double", verbose="ERROR")
    return read(folder / "x_raw.fif")


def epochs(folder):
    cube = VALUES.reshape(2, 20, 2).transpose(0, 2, 1)
    return em.Series(pytest.importorskip("mne").EpochsArray(cube, raw().info, verbose="ERROR"))


def long_table(folder):
    return em.Series(FRAME.assign(time=np.arange(N)).melt("time"), pivot=("time", "variable", "value"))


def holes(series, rows):
    assert np.flatnonzero(series.missing[0].all(1)).tolist() == rows
    return em.Series(series.values[~series.missing[0].any(1)], names=series.names)


def gaps(folder):
    frame = FRAME.set_axis(np.delete(np.arange(N + 1), 7))
    return holes(em.Series(frame, missing="drop"), [7])


def missing(folder):
    lines = TEXT.split("\n")
    return holes(table("\n".join([*lines[:8], "NA,", *lines[8:]]))(folder, missing="drop"), [7])


def turned_round(folder):
    FRAME.assign(time=np.arange(N)).iloc[::-1].to_csv(folder / "x.csv", index=False)
    return read(folder / "x.csv", time="sort")


def words(folder):
    frame = FRAME.assign(s=np.where(FRAME.a > 0, "up", "down"))
    series = em.Series(frame)
    assert (series.kinds, series.labels) == (("float", "float", "text"), {"s": ("down", "up")})
    frame.to_csv(folder / "x.csv", index=False)
    assert read(folder / "x.csv").digest == series.digest
    assert em.Series(FRAME.assign(s=["1", "2"] * (N // 2)), states=["s"]).kinds[2] == "text"
    return series.select(["a", "b"])


def whole(folder):
    series = em.Series(FRAME.assign(k=np.arange(N) % 3))
    assert series.kinds == ("float", "float", "integer")
    return series.select(["a", "b"])


def counters(folder):
    frame = FRAME.assign(id=np.arange(N) + 1, Month=5)
    with pytest.warns(em.HazardWarning, match="left out id, Month"):
        return em.Series(frame)


HOURS = pd.date_range("2020-01-30 05:00", periods=N, freq="h")
MONDAYS = pd.bdate_range("2020-01-01", periods=N)
CASES = {
    "csv": (table(TEXT.replace(",", ";").replace(".", ",")), {}),
    "csv without names": (lambda folder: table(BODY)(folder, names=["a", "b"]), {}),
    "csv with names in a comment": (table(f"# a,b\n{BODY}"), {}),
    "csv with quoted names": (table(f'"a","b\nc;d"\n{BODY}'), {"names": ("a", "b\nc;d")}),
    "csv as R writes it": (table(FRAME.to_csv().replace(",a", "a", 1)), {}),
    "tsv": (table(TEXT.replace(",", "\t"), "x.tsv"), {}),
    "txt": (written("x.txt", lambda path: np.savetxt(path, VALUES, header="a b")), {}),
    "parquet": (written("x.parquet", FRAME.set_axis(DAYS).to_parquet), {"dt": 86400}),
    "xlsx": (excel, {}),
    "npy": (array, {}),
    "npz": (written("x.npz", lambda path: np.savez(path, x=VALUES, names=["a", "b"], dt=0.1)), {"dt": 0.1}),
    "mat": (matlab, {}),
    "edf": (edf, {"dt": 0.1}),
    "fif": (fif, {"dt": 0.1}),
    "gz": (table(gzip.compress(TEXT.encode()), "x.csv.gz"), {}),
    "xz": (table(lzma.compress(TEXT.encode()), "x.csv.xz"), {}),
    "zip": (zipped, {}),
    "standard input": (standard_input, {}),
    "an open file": (lambda folder: read(io.StringIO(TEXT)), {}),
    "a named pipe": (pipe, {}),
    "several files": (several, {"lengths": (20, 20)}),
    "NumPy array": (made(lambda: VALUES, names=["a", "b"]), {}),
    "list of arrays": (made(lambda: [VALUES[:15], VALUES[15:]], names="ab"), {"lengths": (15, 25)}),
    "masked array": (masked, {}),
    "numbers as text": (made(lambda: FRAME.astype(str)), {}),
    "DataFrame": (made(lambda: FRAME.set_axis(DAYS)), {"dt": 86400}),
    "list of DataFrames": (made(lambda: [FRAME[:15], FRAME[15:][["b", "a"]]]), {"lengths": (15, 25)}),
    "polars DataFrame": (made(lambda: pl.from_pandas(FRAME)), {}),
    "mapping of columns": (made(lambda: {"a": VALUES[:, 0], "b": list(VALUES[:, 1])}), {}),
    "xarray DataArray": (xarray, {}),
    "xarray Dataset": (dataset, {}),
    "MNE Raw": (lambda folder: em.Series(raw()), {"dt": 0.1}),
    "MNE Epochs": (epochs, {"dt": 0.1, "lengths": (20, 20)}),
    "time column": (columns(**{"Time (ms)": np.arange(N) * 0.5}), {"dt": 0.5}),
    "dates day first": (columns(when=DAYS.strftime("%d/%m/%Y")), {"dt": 86400}),
    "dates month first": (columns(when=DAYS.strftime("%m/%d/%Y")), {"dt": 86400}),
    "dates with a time zone": (columns(date=DAYS.tz_localize("UTC")), {"dt": 86400}),
    "dates as whole numbers": (columns(date=DAYS.strftime("%Y%m%d").astype(int)), {"dt": 86400}),
    "months and quarters": (columns(when=[f"{1990 + i // 4}Q{i % 4 + 1}" for i in range(N)]), {"dt": 3}),
    "date and time of the day": (columns(Date=HOURS.strftime("%d.%m.%Y"), Time=HOURS.strftime("%H:%M")), {"dt": 3600}),
    "unnamed index of dates": (written("x.csv", FRAME.set_axis(DAYS).to_csv), {"dt": 86400}),
    "year, month and day": (columns(year=DAYS.year, month=DAYS.month, day=DAYS.day), {"dt": 86400}),
    "newest row first": (turned_round, {}),
    "business days": (columns(date=MONDAYS, options={"time": "ignore"}), {}),
    "gaps in time": (gaps, {}),
    "missing values": (missing, {}),
    "trials in a column": (columns(who=["x", "y"] * (N // 2), options={"trial": "who"}), {"lengths": (20, 20)}),
    "long tables": (long_table, {}),
    "rows that are nodes": (made(lambda: VALUES.T, names=["a", "b"], transpose=True), {}),
    "text states": (words, {}),
    "whole numbers": (whole, {}),
    "row numbers and calendar columns": (counters, {}),
}


@pytest.mark.parametrize("kind", CASES)
def test_every_kind_gives_the_same_values(tmp_path, kind):
    take, known = CASES[kind]
    series = take(tmp_path)
    assert series.names == known.get("names", ("a", "b"))
    assert series.dt == pytest.approx(known.get("dt", 1))
    assert series.lengths == known.get("lengths", (N,))
    order = np.argsort(np.arange(N) % 2, kind="stable") if kind == "trials in a column" else np.arange(N)
    np.testing.assert_allclose(series.values, VALUES[order], rtol=1e-14)


def test_the_table_has_these_rows_and_no_others():
    rows = DOCS.read_text().split("| --- | --- |\n")[1].split("\n\n")[0].splitlines()
    assert [row.split("|")[1].strip() for row in rows] == list(CASES)


@pytest.mark.parametrize("file", corpus.files(), ids=lambda file: " / ".join(file.made))
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_files_as_the_world_writes_them_are_read_or_name_the_word(tmp_path, file):
    path, words = tmp_path / f"x.{file.suffix}", {}
    path.write_bytes(file.data)
    for _ in file.words:
        with pytest.raises(em.InputError) as caught:
            read(path, **words)
        (word, *_) = [word for word in file.words if word not in words and f"{word}=" in str(caught.value)]
        words[word] = file.words[word]
    series = read(path, **words)
    assert (series.names, series.lengths) == (file.names, file.lengths)
    assert series.dt == pytest.approx(file.dt)
    np.testing.assert_allclose(series.values, file.values, rtol=1e-12)


def test_the_corpus_is_in_the_docs():
    assert len({file.made for file in corpus.files()}) == 120
    assert corpus.table() in DOCS.read_text()


def test_standard_input_and_states_on_the_command_line(tmp_path):
    text = FRAME.assign(k=np.arange(N) % 2, j=np.arange(N) // 2 % 2).to_csv(index=False)
    command = [sys.executable, "-m", "enmesh", "te", "-", "k", "j", "--columns", "k,j", "--states", "k,j", "--dim", "1"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, cwd=tmp_path, timeout=120)
    assert done.returncode == 0, done.stderr
    assert "Discrete()" in done.stdout


def test_the_example_of_the_page_runs():
    failed, tried = doctest.testfile(str(DOCS), module_relative=False)
    assert (failed, tried > 3) == (0, True)


MEASURED = """
import resource, sys
import enmesh as em
matrix = em.te_matrix(em.read(sys.argv[1]), estimator="gaussian")
assert matrix.p_value.loc["x0", "x1"] < 1e-300 and (matrix.p_value.loc["x2":, "x0"] > 1e-4).all()
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


@pytest.mark.slow
@pytest.mark.parametrize("suffix", ["npy", "parquet"])
def test_ten_million_samples_fit_into_two_gibibytes(tmp_path, suffix):
    path, rng = tmp_path / f"x.{suffix}", np.random.default_rng(0)
    values = np.lib.format.open_memmap(tmp_path / "x.npy", "w+", np.float64, (10_000_000, 5))
    for start in range(0, len(values), 1_000_000):
        values[start : start + 1_000_000] = rng.normal(size=(1_000_000, 5))
    values[1:, 1] += 0.1 * values[:-1, 0]
    if suffix == "parquet":
        pd.DataFrame(values, columns=[f"x{i}" for i in range(5)]).to_parquet(path)
    values.flush()
    done = subprocess.run([sys.executable, "-c", MEASURED, path], capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) < 2 * 2**20  # kibibytes
