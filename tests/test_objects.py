"""Objects as people have them: xarray, masked arrays, lists of DataFrames, text, states, and what is refused."""

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.files import read, write_series

N = 40
RNG = np.random.default_rng(5)
VALUES = RNG.normal(size=(N, 2))
FRAME = pd.DataFrame(VALUES, columns=["a", "b"])
MIXED = FRAME.assign(k=RNG.integers(0, 4, N), s=np.where(VALUES[:, 0] > 0, "up", "down"))


def test_dimensions_of_xarray_are_known_by_name():
    labelled = pytest.importorskip("xarray").DataArray
    days = pd.date_range("2020", periods=N)
    coords = {"channel": ["a", "b"], "time": days}
    series = em.Series(labelled(VALUES.T, dims=("channel", "time"), coords=coords))
    assert (series.names, series.dt) == (("a", "b"), 86400)
    np.testing.assert_array_equal(series.values, VALUES)
    cube = RNG.normal(size=(2, 3, N))
    trials = em.Series(labelled(cube, dims=("channel", "epoch", "time")))
    assert (trials.names, trials.lengths) == (("x0", "x1"), (N,) * 3)
    np.testing.assert_array_equal(trials.trials[2], cube[:, 2].T)
    alone = em.Series(labelled(VALUES[:, 0], dims=("time",), name="pressure"))
    assert alone.names == ("pressure",)
    with pytest.raises(em.InputError, match="the newest row is the first; pass time='sort'"):
        em.Series(labelled(VALUES, dims=("time", "node"), coords={"time": days[::-1]}))
    with pytest.raises(em.InputError, match="the dimensions are x, y; call one, and only one, of them time"):
        em.Series(labelled(VALUES, dims=("x", "y")))
    with pytest.raises(em.InputError, match="select or stack them"):
        em.Series(labelled(RNG.normal(size=(4, 3, 2)), dims=("time", "lat", "lon")))
    with pytest.raises(em.InputError, match="two nodes have the same name"):
        em.Series(labelled(VALUES, dims=("time", "node"), coords={"node": ["a", "a"]}))


def test_variables_of_a_dataset_are_nodes():
    dataset = pytest.importorskip("xarray").Dataset
    series = em.Series(dataset({"a": ("time", VALUES[:, 0]), "k": ("time", np.arange(N) % 3)}))
    assert (series.names, series.kinds) == (("a", "k"), ("float", "integer"))
    np.testing.assert_array_equal(series["a"], VALUES[:, 0])
    runs = em.Series(dataset({name: (("time", "run"), VALUES.reshape(-1, 2) * i) for i, name in enumerate("ab", 1)}))
    assert (runs.names, runs.lengths) == (("a", "b"), (N, N))
    np.testing.assert_array_equal(runs.trials[1], VALUES[:, 1, None] * [1, 2])
    with pytest.raises(
        em.InputError, match="the variable c has the dimensions lat, not time; give that variable alone"
    ):
        em.Series(dataset({"a": ("time", VALUES[:, 0]), "c": ("lat", VALUES[:5, 0])}))


def test_trial_channel_time_is_recognised_by_its_shape():
    cube = RNG.normal(size=(5, 3, 200))
    with pytest.raises(em.InputError, match=r"5 trials of 3 samples of 200 nodes; pass transpose=True"):
        em.Series(cube)
    assert em.Series(cube, transpose=True) == em.Series(cube.transpose(0, 2, 1))
    assert em.Series(cube.transpose(0, 2, 1)).lengths == (200,) * 5
    assert em.Series(list(cube[:, :, :20]), transpose=False).lengths == (3,) * 5


def test_what_is_masked_is_missing():
    masked = np.ma.masked_where(np.arange(2 * N).reshape(N, 2) == 8, VALUES)
    with pytest.raises(em.InputError, match=r"missing \(NaN\) values in column x0 \(1\)"):
        em.Series(masked)
    series = em.Series([masked, VALUES], missing="drop")
    assert np.argwhere(series.missing[0]).tolist() == [[4, 0]]
    whole = np.ma.masked_equal(RNG.integers(0, 5, (N, 2)), 3)
    series = em.Series(whole, missing="drop")
    assert series.kinds == ("integer", "integer")
    assert series.is_integer
    assert np.array_equal(series.missing[0], whole.mask)


def test_columns_of_several_dataframes_are_matched_by_name():
    series = em.Series([FRAME[:20], FRAME[20:][["b", "a"]]])
    np.testing.assert_array_equal(series.values, VALUES)
    with pytest.raises(em.InputError, match="trial 2 has the columns a, c but trial 1 has a, b"):
        em.Series([FRAME, FRAME.rename(columns={"b": "c"})])
    with pytest.raises(em.InputError, match="some trials have named columns and others have not"):
        em.Series([FRAME, VALUES])


def test_numbers_written_as_text_are_numbers_if_all_are():
    assert em.Series(FRAME.astype(str)).kinds == ("float", "float")
    np.testing.assert_allclose(em.Series(FRAME.astype(str)).values, VALUES, rtol=1e-14)
    assert em.Series(np.array([["1", "0"], ["2", "1"], ["2", "0"]])).kinds == ("integer", "integer")
    wrong = FRAME.astype(str)
    wrong.iloc[3, 1] = "oops"
    with pytest.raises(em.InputError, match="row 4, column b: 'oops' is not a number"):
        em.Series(wrong)


def test_complex_numbers_are_refused():
    for values in (VALUES * 1j, (FRAME * 1j).astype(object)):
        with pytest.raises(em.InputError, match="complex"):
            em.Series(values)
    with pytest.raises(em.InputError, match="column b holds complex numbers; take their real part"):
        em.Series(FRAME.assign(b=FRAME.b * 1j))


def test_kinds_are_kept():
    series = em.Series(MIXED)
    assert series.kinds == ("float", "float", "integer", "text")
    assert series.labels == {"s": ("down", "up")}
    assert not series.is_integer
    seen = {}
    series.transform(lambda column, i, name: seen.setdefault(name, column) is None or np.zeros(len(column)))
    assert [seen[name].dtype.kind for name in "abks"] == ["f", "f", "i", "U"]
    assert seen["s"].tolist() == MIXED.s.tolist()
    assert series.select(["s", "a"]).kinds == ("text", "float")
    assert series.select(["s", "k"]).is_integer
    assert series.select(["s", "k"]).trials[0].dtype == np.int64
    assert series.select(["s", "a"]).labels == {"s": ("down", "up")}
    coded = series.discretise(3)
    assert coded.kinds == ("integer", "integer", "integer", "text")
    assert coded.labels == series.labels
    assert coded.prepared == ("cut into 3 equally filled bins (a, b, k)",)
    assert series.discretise(3, ["b"]).kinds == ("float", "integer", "integer", "text")
    assert em.Series(series.to_dataframe()).digest == series.digest
    assert em.Series(MIXED.assign(s=series.values[:, 3].astype(int))).digest != series.digest


@pytest.mark.parametrize("suffix", ["csv", "npz", "parquet"])
@pytest.mark.parametrize("holes", [False, True])
def test_kinds_are_written_and_read_back(tmp_path, suffix, holes):
    series = em.Series([MIXED[:20], MIXED[20:]])
    series = series.mask([7]) if holes else series
    again = read(write_series(series, tmp_path / f"x.{suffix}"), missing="drop")
    assert (again.kinds, again.labels) == (series.kinds, series.labels)
    np.testing.assert_array_equal(again.values, series.values)
    assert again.digest == series.digest


def test_no_estimator_takes_words_for_numbers():
    series = em.Series(MIXED)
    for estimator in (em.Gaussian(), em.KSG(), em.Kernel()):
        with pytest.raises(em.InputError, match="s holds labels, not numbers"):
            em.transfer_entropy(series, "a", "s", estimator=estimator)
    states = em.Series(MIXED[["k", "s"]])
    codes = em.Series(np.column_stack([MIXED.k, MIXED.s == "up"]), names=["k", "s"])
    for source, target in (("k", "s"), ("s", "k")):
        words = em.transfer_entropy(states, source, target, estimator=em.Discrete())
        assert words == em.transfer_entropy(codes, source, target, estimator=em.Discrete())


def test_words_that_are_no_states():
    with pytest.raises(em.InputError, match="text is taken for states only where it repeats"):
        em.Series(FRAME.assign(note=[f"note {i}" for i in range(N)]))
    assert em.Series(FRAME.assign(c=["1.000,5", "2.000,5"] * (N // 2)))["c"][:2].tolist() == [1000.5, 2000.5]
    states = em.Series(FRAME.assign(c=["1", "2"] * (N // 2)), states=["c"])
    assert (states.kinds[2], states.labels) == ("text", {"c": ("1", "2")})
    category = em.Series(FRAME.assign(c=pd.Categorical([1, 2] * (N // 2))))
    assert category.labels == {"c": ("1", "2")}


def test_a_series_is_handy():
    series = em.Series(MIXED)
    assert series.shape == (N, 4)
    assert len(series) == N
    assert "a" in series
    assert "z" not in series
    assert list(series) == ["a", "b", "k", "s"]
    np.testing.assert_array_equal(series["a"], VALUES[:, 0])
    assert series["k"].dtype == np.int64
    assert series["s"].tolist() == MIXED.s.tolist()
    assert series[["b", "s"]].names == ("b", "s")
    assert np.asarray(series).shape == (N, 4)
    assert np.array(em.Series(VALUES), dtype=np.float32).dtype == np.float32
    with pytest.raises(AttributeError):
        series.names = ("p", "q", "r", "s")
    with pytest.raises(em.InputError, match="there is no node 'z'; the nodes are a, b, k, s"):
        series["z"]


def test_mappings_and_columns_of_pandas():
    assert em.Series({"a": VALUES[:, 0], "b": VALUES[:, 1]}).digest == em.Series(FRAME).digest
    assert em.Series(FRAME["b"]).names == ("b",)
    assert em.Series(FRAME.to_records(index=False)).digest == em.Series(FRAME).digest
    assert em.Series(MIXED[["k"]].assign(j=MIXED.k[::-1].to_numpy()).to_numpy(np.uint64)).is_integer
    with pytest.raises(em.InputError, match="give lists of equal length"):
        em.Series({"a": [1.0, 2.0, 3.0], "b": [1.0, 2.0]})


def test_names_that_cannot_be_seen_are_refused_and_others_shown_escaped():
    for name in ("\u200b", "", " ", "\x1b"):
        with pytest.raises(em.InputError, match="column 2 has no visible name"):
            em.Series(VALUES, names=["a", name])
    series = em.Series(VALUES, names=["a", "b\x1b[31m\u200b\n"])
    assert repr(series) == r"Series(2 nodes: a, b\x1b[31m\u200b\n; 1 trial of 40 samples; dt=1)"
    with pytest.raises(em.InputError, match=r"the nodes are a, b\\x1b\[31m\\u200b\\n$"):
        series.index("z")
