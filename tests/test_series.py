import numpy as np
import pandas as pd
import polars as pl
import pytest

import enmesh as em

RNG = np.random.default_rng(0)
GOOD = RNG.normal(size=(50, 3))


def test_forms_of_input_give_the_same_series():
    plain = em.Series(GOOD, names=["a", "b", "c"])
    frame = pd.DataFrame(GOOD, columns=["a", "b", "c"])
    for other in (em.Series(frame), em.Series(pl.from_pandas(frame)), em.Series([GOOD], names="abc"), em.Series(plain)):
        assert other.names == ("a", "b", "c")
        np.testing.assert_array_equal(other.values, GOOD)
    assert plain.dt == 1.0
    assert plain.lengths == (50,)


def test_trials_from_3d_and_from_a_list_of_different_lengths():
    cube = em.Series(RNG.normal(size=(4, 20, 2)), dt=0.5)
    assert cube.lengths == (20,) * 4
    ragged = em.Series([GOOD[:10], GOOD[10:40]], names=["a", "b", "c"])
    assert ragged.lengths == (10, 30)
    assert repr(ragged) == "Series(3 nodes: a, b, c; 2 trials of 10 to 30 samples; dt=1)"


def test_integers_stay_integers_and_text_becomes_codes():
    whole = em.Series(RNG.integers(0, 3, (30, 2)))
    assert whole.is_integer
    frame = pd.DataFrame({"a": list("xyzx") * 5, "b": list("qpqq") * 5})
    labelled = em.Series(frame)
    assert labelled.is_integer
    assert labelled.labels == {"a": ("x", "y", "z"), "b": ("p", "q")}
    assert labelled.values[:4].tolist() == [[0, 1], [1, 0], [2, 1], [0, 1]]


def test_values_cannot_be_changed_behind_its_back():
    series = em.Series(GOOD)
    with pytest.raises(ValueError, match="read-only"):
        series.trials[0][0, 0] = 1.0


def test_digest_tells_data_names_and_trials_apart():
    seen = {
        em.Series(GOOD).digest,
        em.Series(GOOD + 1e-12).digest,
        em.Series(GOOD, names="abc").digest,
        em.Series([GOOD[:25], GOOD[25:]]).digest,
        em.Series(GOOD, dt=2).digest,
    }
    assert len(seen) == 5
    assert em.Series(GOOD.copy()).digest == em.Series(GOOD).digest


def test_select_and_discretise():
    series = em.Series(GOOD, names="abc", truth={"b": ["a"], "c": ["b"]})
    part = series.select(["c", "b"])
    assert part.names == ("c", "b")
    assert part.truth == {"b": (), "c": ("b",)}
    coded = series.discretise(4)
    assert coded.is_integer
    assert [np.bincount(c).tolist() for c in coded.values.T] == [[13, 12, 12, 13]] * 3


def broken(change):
    values = GOOD.copy()
    change(values)
    return values


BAD = {
    "nan": (
        dict(values=broken(lambda v: v.__setitem__((slice(0, 3), 1), np.nan)), names="abc"),
        "missing (NaN) values in column b (3); fill or cut them, or pass missing='drop'",
    ),
    "inf": (
        dict(values=broken(lambda v: v.__setitem__((4, slice(0, 2)), np.inf)), names="abc"),
        "infinite values in column a (1), b (1); replace or cut them",
    ),
    "constant": (
        dict(values=broken(lambda v: v.__setitem__((slice(None), 2), 7.0)), names="abc"),
        "constant column: c; it carries no information, leave it out (drop_constant=True)",
    ),
    "empty column": (
        dict(values=broken(lambda v: v.__setitem__((slice(None), 2), np.nan)), names="abc", missing="drop"),
        "no value at all in column c; leave it out (drop_constant=True)",
    ),
    "duplicate names": (dict(values=GOOD, names=["a", "b", "a"]), "duplicate name: a; names must differ"),
    "duplicate columns": (dict(values=GOOD[:, [0, 1, 0]], names="abc"), "columns a and c are identical; leave one out"),
    "number of names": (dict(values=GOOD, names="ab"), "2 names for 3 columns; give one name per column"),
    "short": (dict(values=GOOD[:2, :2]), "the record has 2 samples; at least 3 are needed"),
    "flat": (
        dict(values=GOOD[:, 0]),
        "values have shape (50,); give (time, node), (trial, time, node) or a list of (time, node)",
    ),
    "ragged": (
        dict(values=[[1.0, 2.0], [3.0]]),
        "the rows differ in length; give (time, node) values or a list of such trials",
    ),
    "trials differ": (
        dict(values=[GOOD, GOOD[:, :2]]),
        "the trials have different numbers of nodes (2, 3); pass transpose=True if rows are nodes",
    ),
    "no columns": (dict(values=np.empty((10, 0))), "there is no column; give at least one node"),
    "dt": (dict(values=GOOD, dt=0), "dt=0 is not a sampling step; give a positive number"),
    "missing": (
        dict(values=GOOD, missing="ignore"),
        "missing='ignore' is not an option; use 'raise', 'drop' or 'interpolate:5'",
    ),
    "truth": (dict(values=GOOD, truth="x0>x1"), "truth is no mapping; give {target: sources}"),
    "columns": (dict(values=GOOD, columns=5), "columns=5 is not possible; give names of columns"),
    "pivot": (dict(values=GOOD, pivot=5), "pivot=5 is not possible; name three columns: time, variable and value"),
    "dims": (
        dict(values=GOOD, dims=5),
        "dims=5 is not possible; name each axis once, such as dims=('trial', 'node', 'time')",
    ),
    "mixed": (
        dict(values=pd.DataFrame({"a": ["x", 1.0, "y", 2.0], "b": [1.0, 2.0, 3.0, 4.0]})),
        "row 1, column a: 'x' is not a number; if it stands for a missing value, pass na='x', "
        "else correct it or leave that row out",
    ),
    "dates": (
        dict(values=pd.DataFrame({name: pd.date_range("2020", periods=4) for name in ("t", "b")})),
        "column b holds times; leave it out",
    ),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_refused_in_one_line(kind):
    given, said = BAD[kind]
    with pytest.raises(em.InputError) as caught:
        em.Series(**given)
    assert str(caught.value) == said


def test_unknown_nodes_are_named_with_the_known_ones():
    with pytest.raises(em.InputError) as caught:
        em.Series(GOOD, names="abc").index("d")
    assert str(caught.value) == "there is no node 'd'; the nodes are a, b, c"


def test_missing_values_drop_every_window_that_touches_one():
    values = GOOD.copy()
    values[10, 0] = np.nan
    series = em.Series(values, names="abc", missing="drop")
    with pytest.warns(em.HazardWarning, match=r"missing or masked values: 45 of 48 windows have none and are used"):
        te = em.transfer_entropy(series, "b", "c", estimator=em.Gaussian(), embedding=em.Embedding(dim=2))
    halves = em.Series([GOOD[:10], GOOD[11:]], names="abc")
    whole = em.transfer_entropy(halves, "b", "c", estimator=em.Gaussian(), embedding=em.Embedding(dim=2))
    assert te == pytest.approx(whole, abs=1e-12)
