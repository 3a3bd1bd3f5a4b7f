"""Reading files: every format, every rule, and what is said of a file that cannot be read."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import enmesh as em
from enmesh.data.files import read, write_series

VALUES = np.random.default_rng(1).standard_normal((20, 3)).round(4)
ROWS = [",".join(map(str, row)) for row in VALUES]


@pytest.fixture
def text(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def lines(*rows):
    return "\n".join(rows) + "\n"


# --- formats --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["x.csv", "x.tsv", "x.txt", "x.parquet", "x.npy", "x.npz", "x.mat"])
def test_every_format_gives_the_same_values(tmp_path, name):
    path, frame = tmp_path / name, pd.DataFrame(VALUES, columns=["a", "b", "c"])
    {
        "csv": lambda: frame.to_csv(path, index=False),
        "tsv": lambda: frame.to_csv(path, index=False, sep="\t"),
        "txt": lambda: frame.to_csv(path, index=False, sep=" "),
        "parquet": lambda: frame.to_parquet(path),
        "npy": lambda: np.save(path, VALUES),
        "npz": lambda: np.savez(path, X=VALUES, names=np.array(["a", "b", "c"])),
        "mat": lambda: __import__("scipy.io").io.savemat(path, {"X": VALUES, "rate": 5.0}),
    }[path.suffix[1:]]()
    series = read(path)
    assert np.array_equal(series.values, VALUES)
    assert series.names == (("x0", "x1", "x2") if path.suffix in (".npy", ".mat") else ("a", "b", "c"))


def test_a_file_without_suffix_is_told_by_its_first_bytes(tmp_path, text):
    np.save(tmp_path / "x.npy", VALUES)
    packed = gzip.compress(gzip.compress((tmp_path / "x.npy").read_bytes()))
    for data in (lines("a,b,c", *ROWS).encode(), (tmp_path / "x.npy").read_bytes(), packed):
        np.testing.assert_array_equal(read(text(data, "recording")).values, VALUES)
    for _ in range(4):
        packed = gzip.compress(packed)
    with pytest.raises(em.InputError, match=r"recording: cannot read \.gz"):
        read(text(packed, "recording"))


def test_newest_first_is_refused_from_parquet_too(tmp_path):
    frame = pd.DataFrame(VALUES, columns=["a", "b", "c"])
    frame.iloc[::-1].to_parquet(tmp_path / "x.parquet")
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        read(tmp_path / "x.parquet")
    np.testing.assert_array_equal(read(tmp_path / "x.parquet", time="sort").values, VALUES)


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("dt", [1.0, 0.05])
def test_what_is_written_is_read_back(tmp_path, suffix, dt):
    series = em.Series([VALUES[:8], VALUES[8 : 16 if suffix == "npz" else 20]], names=["a", "b", "c"], dt=dt)
    again = read(write_series(series, tmp_path / f"x.{suffix}"))
    assert again.names == series.names
    assert again.lengths == series.lengths
    assert np.array_equal(again.values, series.values)
    assert again.dt == pytest.approx(dt)


@settings(max_examples=25)
@given(
    st.lists(
        st.lists(st.floats(-1e140, 1e140, allow_subnormal=False), min_size=2, max_size=2),
        min_size=4,
        max_size=8,
        unique_by=(lambda row: row[0], lambda row: row[1]),
    )
)
def test_text_keeps_every_digit(tmp_path_factory, rows):
    values = np.array(rows)
    if np.array_equal(values[:, 0], values[:, 1]) or np.ptp(values, axis=0).min() < 1e-140:
        return
    path = tmp_path_factory.mktemp("digits") / "x.csv"
    path.write_text(lines("a,b", *(f"{row[0]!r},{row[1]!r}" for row in rows)))
    assert np.array_equal(read(path).values, values)


def test_integers_stay_integers_and_floats_do_not_become_them(text):
    assert read(text("a,b\n0,1\n1,1\n1,0\n0,0\n")).is_integer
    assert not read(text("a,b\n0,1\n1,1\n1,0.5\n0,0\n")).is_integer
    assert read(text("a,b\nTrue,1\nFalse,1\nTrue,0\n")).is_integer


def test_decimal_commas_with_semicolons(text):
    assert read(text("a;b\n1,5;2\n2,5;3\n3,5;1\n")).values[:, 0].tolist() == [1.5, 2.5, 3.5]


def test_comments_blank_lines_quotes_and_byte_order_mark(text):
    content = '\ufeff# made by hand\n% twice\n\n"a, left",b\n1,2\n\n2,3\r\n3,1\n'
    series = read(text(content))
    assert series.names == ("a, left", "b")
    assert series.values.tolist() == [[1, 2], [2, 3], [3, 1]]


def test_an_unnamed_index_and_a_trailing_comma_are_left_out(tmp_path, text):
    pd.DataFrame(VALUES, columns=["a", "b", "c"]).to_csv(tmp_path / "i.csv")
    assert read(tmp_path / "i.csv").names == ("a", "b", "c")
    assert read(text("a,b,\n1,2,\n2,3,\n3,1,\n")).names == ("a", "b")


@pytest.mark.parametrize("header", [True, False, None])
def test_header(text, header):
    named = lines("a,b,c", *ROWS)
    bare = lines(*ROWS)
    if header is None:
        assert read(text(named)).names == ("a", "b", "c")
        assert read(text(bare)).names == ("x0", "x1", "x2")
        assert read(text(bare)).lengths == (20,)
        assert read(text(bare), names=["p", "q", "r"]).names == ("p", "q", "r")
    elif header:
        assert read(text(bare), header=True).lengths == (19,)
        assert read(text(lines("1,2,3", *ROWS)), header=True).names == ("1", "2", "3")
    else:
        with pytest.raises(em.InputError, match="line 1, column x0: 'a' is not a number"):
            read(text(named), header=False)


# --- time -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["time", "Time (s)", "t", "T [ms]", "timestamp", "time_ms", "date"])
def test_a_time_column_is_recognised_by_its_name(text, name):
    rows = [f"{0.5 * i},{row}" for i, row in enumerate(ROWS)]
    series = read(text(lines(f"{name},a,b,c", *rows)))
    assert series.names == ("a", "b", "c")
    assert series.dt == 0.5


@pytest.mark.parametrize("name", ["target", "temperature", "x"])
def test_a_clock_under_any_name_is_no_node_unless_it_is_named(text, name):
    rows = [f"{0.5 * i},{row}" for i, row in enumerate(ROWS)]
    path = text(lines(f"{name},a,b,c", *rows))
    with pytest.warns(em.HazardWarning, match=f"{name} steps evenly and is taken for the time, unless columns="):
        series = read(path)
    assert (series.names, series.dt) == (("a", "b", "c"), 0.5)
    assert read(path, columns=[name, "a"]).names == (name, "a")
    assert read(path, time=False).names == (name, "a", "b", "c")


def test_a_column_t_that_does_not_increase_is_a_node(text):
    assert read(text("t,b\n20.5,1\n20.1,2\n20.7,5\n")).names == ("t", "b")


def test_time_by_name_and_off(text):
    rows = [f"{2 * i},{row}" for i, row in enumerate(ROWS)]
    path = text(lines("when,a,b,c", *rows))
    assert read(path, time="when").dt == 2
    assert read(path, time="when", dt=0.1).dt == 0.1
    assert read(text(lines("time,a,b,c", *rows)), time=False).names == ("time", "a", "b", "c")


def test_dates_give_seconds(text):
    days = pd.date_range("2017-01-30", periods=20).strftime("%Y-%m-%d")
    series = read(text(lines("date,a,b,c", *map(",".join, zip(days, ROWS)))))
    assert series.dt == 86400


def test_dates_of_parquet_index(tmp_path):
    frame = pd.DataFrame(VALUES, index=pd.date_range("2020", periods=20, freq="10min", name="time"))
    frame.to_parquet(tmp_path / "x.parquet")
    series = read(tmp_path / "x.parquet")
    assert (series.dt, series.n_nodes) == (600, 3)


@pytest.mark.parametrize(("freq", "dt", "unit"), [("MS", 1, "month"), ("QE", 3, "month"), ("YS", 1, "year")])
def test_months_quarters_and_years_are_even(text, freq, dt, unit):
    dates = pd.date_range("2017-01-01", periods=20, freq=freq).strftime("%Y-%m-%d")
    series = read(text(lines("date,a,b,c", *map(",".join, zip(dates, ROWS)))))
    assert (series.dt, series.time.unit) == (dt, unit)


def test_gaps_are_refused_or_become_missing(text):
    times = [*range(10), *range(13, 23)]
    path = text(lines("time,a,b,c", *(f"{t},{row}" for t, row in zip(times, ROWS))))
    with pytest.raises(em.InputError, match=r"line 12, column time: the time jumps by 4 steps"):
        read(path)
    series = read(path, missing="drop")
    assert series.lengths == (23,)
    assert np.isnan(series.values[10:13]).all()
    assert np.array_equal(series.values[13:], VALUES[10:])


# --- columns and trials ---------------------------------------------------------------------------


def test_columns_in_the_order_asked_for(text):
    series = read(text(lines("a,b,c", *ROWS)), columns=["c", "a"])
    assert series.names == ("c", "a")
    assert np.array_equal(series.values, VALUES[:, [2, 0]])


def test_text_in_a_column_that_is_not_asked_for_does_no_harm(text):
    path = text(lines("a,b,c,note", *(f"{row},fine" for row in ROWS)))
    assert read(path, columns=["a", "b"]).names == ("a", "b")


@pytest.mark.parametrize(("name", "asked"), [("trial", None), ("subject", "subject")])
def test_trials_by_a_column(text, name, asked):
    who = ["s2"] * 8 + ["s1"] * 12
    path = text(lines(f"{name},a,b,c", *(f"{w},{row}" for w, row in zip(who, ROWS))))
    series = read(path, trial=asked)
    assert series.lengths == (8, 12)
    assert np.array_equal(series.trials[0], VALUES[:8])


def test_rows_of_trials_may_be_mixed_and_times_restart(text):
    rows = [f"{i // 2},{'ab'[i % 2]},{row}" for i, row in enumerate(ROWS)]
    series = read(text(lines("time,who,a,b,c", *rows)), trial="who")
    assert series.lengths == (10, 10)
    assert np.array_equal(series.trials[1], VALUES[1::2])


def test_several_files_are_trials(text):
    paths = [
        text(lines("a,b,c", *ROWS[:9]), "one.csv"),
        text(lines("a\tb\tc", *(row.replace(",", "\t") for row in ROWS[9:])), "two.tsv"),
    ]
    series = read(paths)
    assert series.lengths == (9, 11)
    assert np.array_equal(series.values, VALUES)


def test_three_dimensions_are_trials(tmp_path):
    np.save(tmp_path / "x.npy", VALUES.reshape(2, 10, 3))
    assert read(tmp_path / "x.npy").lengths == (10, 10)


def test_variables_of_npz_and_mat(tmp_path):
    from scipy.io import savemat

    arrays = {"x": VALUES, "y": VALUES[:, :2] * 2, "n": np.arange(3)}
    np.savez(tmp_path / "v.npz", **arrays)
    savemat(tmp_path / "v.mat", arrays)
    for path in (tmp_path / "v.npz", tmp_path / "v.mat"):
        assert np.array_equal(read(path, variable="y").values, VALUES[:, :2] * 2)
        with pytest.raises(em.InputError, match="holds the arrays x, y; say which"):
            read(path)


MATLAB = ["f8", "f4", "u1", "i2", "u2", "i4", "i1", "u4", "i8", "u8"]


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        *((kind, way) for kind in MATLAB for way in ({}, {"do_compression": True})),
        *((kind, {"format": "4"}) for kind in MATLAB[:6]),  # version 4 has no others
    ],
)
def test_matlab_files_hold_what_scipy_wrote(tmp_path, kind, way):
    from scipy.io import savemat

    values = np.abs(10 * VALUES).astype(kind)
    savemat(tmp_path / "x.mat", {"x": values, "w": "words", "fs": 4.0}, **way)
    series = read(tmp_path / "x.mat")
    np.testing.assert_array_equal(series.values, values)
    assert series.dt == 0.25


def test_structures_and_version_7_3_of_matlab(tmp_path):
    h5py = pytest.importorskip("h5py")
    from scipy.io import savemat

    labels = np.array(["left", "right", "mid"], object)
    eeg = {"data": VALUES, "srate": 250.0, "labels": labels, "info": {"who": "me"}}
    savemat(tmp_path / "s.mat", {"EEG": eeg, "version": 3.0})
    with h5py.File(tmp_path / "n.mat", "w", userblock_size=512) as book:
        book["EEG/data"], book["EEG/srate"] = VALUES.T, np.array([[250.0]])
    with (tmp_path / "n.mat").open("r+b") as file:
        file.write(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM")
    for name in ("s.mat", "n.mat"):
        series = read(tmp_path / name)
        np.testing.assert_array_equal(series.values, VALUES)
        assert series.dt == 1 / 250
        assert read(tmp_path / name, variable="EEG.data") == series
    assert read(tmp_path / "s.mat").names == ("left", "right", "mid")


def test_missing_values(text):
    path = text(lines("a,b,c", *ROWS[:9], "NA,,1", *ROWS[9:]))
    with pytest.raises(em.InputError, match=r"data\.csv: missing"):
        read(path)
    assert np.isnan(read(path, missing="drop").values[9, :2]).all()


def test_more_nodes_than_samples_is_refused_unless_said(tmp_path):
    np.save(tmp_path / "x.npy", VALUES.T)
    with pytest.raises(em.InputError, match=r"3 samples of 20 nodes; pass transpose=True if the last axis is time"):
        read(tmp_path / "x.npy")
    np.testing.assert_array_equal(read(tmp_path / "x.npy", transpose=True).values, VALUES)
    assert read(tmp_path / "x.npy", transpose=False).shape == (3, 20)


# --- what cannot be read --------------------------------------------------------------------------

TIMES = [f"{i},{row}" for i, row in enumerate(ROWS)]

BAD_TEXT = {
    "a word": (lines("a,b", "1,2", "", "2,oops", "3,1"), {}, "line 4, column b: 'oops' is not a number"),
    "a word in line 1": (lines("1,two", "2,3", "3,1"), {}, "line 1, column 2: 'two' is not a number"),
    "free text": (lines("a,b", "low,1", "high,2", "no,3"), {}, "line 2, column a: 'low' is not a number, and"),
    "too many cells": (lines("a,b", "1,2", "1,2,3"), {}, "line 3, column 3: 3 cells, not 2"),
    "too few cells": (lines("a,b", "1,2", "1", "3,4"), {}, "line 3, column 2: 1 cell, not 2"),
    "only names": (lines("a,b"), {}, "has names but no rows"),
    "only comments": ("# nothing\n", {}, "is empty"),
    "empty": ("", {}, "is empty"),
    "blank": ("\n \n", {}, "is empty"),
    "latin-1": ("a,b\n1,2\n3,\xe9\n".encode("latin-1"), {}, "line 3: not text in UTF-8"),
    "binary": (b"\x00\x01\x02a,b\n", {}, "holds binary data"),
    "a name twice": (lines("a,b,a", *ROWS), {}, "columns 1 and 3 are both called a"),
    "a column without name": (lines("a,,c", *ROWS), {}, "column 2 has no name"),
    "an unknown column": (lines("a,b,c", *ROWS), {"columns": ["d"]}, "no node column d; it has a, b, c"),
    "a column twice": (lines("a,b,c", *ROWS), {"columns": ["a", "a"]}, "asked for twice"),
    "an unknown time": (lines("a,b,c", *ROWS), {"time": "t"}, "no time column t"),
    "an unknown trial": (lines("a,b,c", *ROWS), {"trial": "who"}, "no trial column who"),
    "time goes back": (lines("time,a", "1,5", "3,6", "2,1"), {}, "line 4, column time: the time does not inc"),
    "two times": (lines("date,time,a", "1,1,5", "2,2,6", "3,3,8"), {}, "date, time all look like times"),
    "no date": (lines("date,a", "2020-01-01,1", "2020-02-40,2", "2020-03-01,5"), {}, "line 3, column date"),
    "no even grid": (lines("time,a", "0,1", "1,2", "2,7", "4.5,3"), {"missing": "drop"}, "no even grid"),
    "only time": (lines("time", "1", "2", "3"), {}, "no column remains for nodes"),
    "names too few": (lines(*ROWS), {"names": ["a"]}, "has 3 columns but 1 names"),
    "variable of a csv": (
        lines("a,b,c", *ROWS),
        {"variable": "X"},
        "variable has no effect on csv; that is for npz, mat, xlsx",
    ),
    "constant": (lines("a,b", "1,2", "1,3", "1,4"), {}, "constant column: a"),
    "infinite": (lines("a,b", "1,2", "inf,3", "1,4"), {}, "infinite values in column a"),
    "too short": (lines("a,b", "1,2", "2,3"), {}, "at least 3 are needed"),
    "two readings": (lines("a;b", "1,000;1", "2,000;2", "3,000;4"), {}, "'1,000' has two readings, 1000 and 1.000"),
}


@pytest.mark.parametrize("case", BAD_TEXT)
def test_bad_text_is_one_line_that_names_the_place(text, case):
    content, options, said = BAD_TEXT[case]
    with pytest.raises(em.InputError) as caught:
        read(text(content), **options)
    message = str(caught.value)
    assert "data.csv" in message
    assert "\n" not in message
    assert said in message, message


def bad_files(tmp_path):
    from scipy.io import savemat

    np.save(tmp_path / "objects.npy", np.array([{"a": 1}, None]), allow_pickle=True)
    np.savez(tmp_path / "objects.npz", x=np.array([{"a": 1}, None], dtype=object))
    np.save(tmp_path / "words.npy", np.array([["a", "b"], ["c", "d"]]))
    np.save(tmp_path / "flat.npy", np.arange(5.0))
    np.save(tmp_path / "complex.npy", VALUES * 1j)
    np.savez(tmp_path / "flat.npz", x=np.arange(5.0))
    savemat(tmp_path / "struct.mat", {"s": {"x": "words"}})
    for name in ("noise.npy", "noise.npz", "noise.mat", "noise.parquet"):
        (tmp_path / name).write_bytes(bytes(range(1, 255)) * 9)
    np.savez(tmp_path / "whole.npz", x=VALUES)
    (tmp_path / "cut.npz").write_bytes((tmp_path / "whole.npz").read_bytes()[:300])
    np.save(tmp_path / "whole.npy", VALUES)
    (tmp_path / "cut.npy").write_bytes((tmp_path / "whole.npy").read_bytes()[:200])
    savemat(tmp_path / "whole.mat", {"x": VALUES})
    (tmp_path / "cut.mat").write_bytes((tmp_path / "whole.mat").read_bytes()[:250])
    (tmp_path / "new.mat").write_bytes(b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM" + b"\x89HDF\r\n" + bytes(99))
    (tmp_path / "empty.npy").write_bytes(b"")
    (tmp_path / "what.docx").write_bytes(b"PK")
    (tmp_path / "folder.csv").mkdir()
    pd.DataFrame({"a": ["x", "y", "z"], "b": [1, 2, 3]}).to_parquet(tmp_path / "words.parquet")


BAD_FILES = {
    "objects.npy": "never loaded",
    "objects.npz": "never loaded",
    "words.npy": "numbers as (time, node)",
    "flat.npy": "shape (5,)",
    "complex.npy": "complex128",
    "flat.npz": "holds no array of numbers",
    "struct.mat": "holds no array of numbers",
    "noise.npy": "cannot be read as npy",
    "noise.npz": "cannot be read as npz",
    "noise.mat": "cannot be read as mat",
    "noise.parquet": "cannot be read as parquet",
    "cut.npz": "cannot be read as npz",
    "cut.npy": "cannot be read as npy",
    "cut.mat": "cannot be read as mat",
    "new.mat": "cannot be read as mat",
    "empty.npy": "is empty",
    "what.docx": "cannot read .docx; use .csv",
    "folder.csv": "is a folder",
    "absent.csv": "there is no file",
    "words.parquet": "row 1, column a: 'x' is not a number",
}


@pytest.mark.parametrize("name", BAD_FILES)
def test_bad_files_are_one_line(tmp_path, name):
    bad_files(tmp_path)
    with pytest.raises(em.InputError) as caught:
        read(tmp_path / name)
    assert name in str(caught.value)
    assert "\n" not in str(caught.value)
    assert BAD_FILES[name] in str(caught.value), str(caught.value)


def test_a_pickle_is_not_executed(tmp_path):
    class Trap:
        def __reduce__(self):
            return (open, (str(tmp_path / "sprung"), "w"))

    np.save(tmp_path / "trap.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    np.savez(tmp_path / "trap.npz", x=np.array([Trap()], dtype=object), y=VALUES)
    with pytest.raises(em.InputError, match="never loaded"):
        read(tmp_path / "trap.npy")
    assert np.array_equal(read(tmp_path / "trap.npz").values, VALUES)
    assert not (tmp_path / "sprung").exists()


def test_parquet_without_pyarrow_names_the_extra(tmp_path, monkeypatch):
    pd.DataFrame(VALUES).to_parquet(tmp_path / "x.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(em.InputError, match=r"enmesh\[parquet\]"):
        read(tmp_path / "x.parquet")


def test_files_that_do_not_fit_together(text):
    one = text(lines("a,b,c", *ROWS), "one.csv")
    with pytest.raises(em.InputError, match=r"two\.csv has the columns a, b, d but"):
        read([one, text(lines("a,b,d", *ROWS), "two.csv")])
    fast = text(lines("time,a,b,c", *TIMES), "fast.csv")
    slow = text(lines("time,a,b,c", *(f"{2 * i},{row}" for i, row in enumerate(ROWS))), "slow.csv")
    with pytest.raises(em.InputError, match=r"slow\.csv has a time step of 2 but"):
        read([fast, slow])
    with pytest.raises(em.InputError, match="no file is named"):
        read([])


def test_a_path_is_read_wherever_a_series_is_made(tmp_path):
    path = tmp_path / "rec.csv"
    path.write_text("time,a,b\n0,1.5,2.5\n2,2.5,1.5\n4,0.5,3.5\n6,1.0,2.0\n")
    assert em.Series(path) == em.Series.of(path) == read(path)
    assert em.Series(path).file == str(path)


@pytest.mark.parametrize(
    ("at", "value"),
    [
        (-288 - 8, 15),  # a compressed element where numbers must be
        (-288 - 8, 14),  # another array there
        (-288 - 8, 99),  # a type that does not exist
        (-288 - 4, 250),  # numbers that go on beyond the end of the array
        (128 + 28, 3),  # a shape of less than one number
        (128 + 16, 1),  # numbers called cells
    ],
)
def test_parts_of_a_matlab_file_that_do_not_fit_are_refused(tmp_path, at, value):
    """Some such bytes end the process in scipy.io.loadmat, or make it ask for gigabytes."""
    from scipy.io import savemat

    path = tmp_path / "x.mat"
    savemat(path, {"x": np.arange(36.0).reshape(12, 3)})
    data = bytearray(path.read_bytes())
    data[at] = value
    path.write_bytes(data)
    with pytest.raises(em.InputError, match=r"x\.mat cannot be read as mat: "):
        read(path)
