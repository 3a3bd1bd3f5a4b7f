"""What went wrong for new users once, each fault with its number and what is said or done about it now."""

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.readers import read

N = 300
RNG = np.random.default_rng(11)


def driven(n=N):
    """``a`` drives ``b`` one step later."""
    a = RNG.normal(size=n)
    b = np.r_[0.0, 0.8 * a[:-1]] + 0.3 * RNG.normal(size=n)
    return pd.DataFrame({"a": a, "b": b})


DRIVEN = driven()
GAUSSIAN = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding())


def test_fault_1_newest_first_never_reverses_an_arrow():
    dated = DRIVEN.set_axis(pd.date_range("2020-01-01", periods=N))
    assert em.infer(dated, score=GAUSSIAN).parents == {"a": (), "b": ("a",)}
    for turned in (dated.iloc[::-1], DRIVEN.iloc[::-1], DRIVEN.assign(time=np.arange(N)).iloc[::-1]):
        with pytest.raises(
            em.InputError, match="the times fall, the newest row is the first; pass time='sort'"
        ):
            em.infer(turned, score=GAUSSIAN)
        series = em.Series(turned, time="sort")
        assert em.infer(series, score=GAUSSIAN).parents == {"a": (), "b": ("a",)}
    with pytest.raises(em.InputError, match="pass time='sort' to put the rows in order"):
        em.Series(dated.sample(frac=1, random_state=0))
    with pytest.raises(em.InputError, match="the time jumps by 2 steps"):
        em.Series(dated.drop(dated.index[9]))
    assert em.Series(dated).dt == 86400
    assert em.Series(DRIVEN.assign(time=np.arange(N) * 0.5)).names == ("a", "b")


def test_fault_6_masks_names_text_and_complex_parts_are_kept_or_refused(tmp_path):
    masked = np.ma.masked_greater(DRIVEN.to_numpy(), 2)
    assert np.array_equal(em.Series(masked, missing="drop").missing[0], masked.mask)
    trials = em.Series([DRIVEN[:100], DRIVEN[100:][["b", "a"]]])
    np.testing.assert_array_equal(trials["a"], DRIVEN.a)
    assert em.Series(DRIVEN.astype(str)).kinds == ("float", "float")
    words = em.Series(DRIVEN.assign(s=np.where(DRIVEN.a > 0, "up", "down")))
    assert words.kinds == ("float", "float", "text")
    with pytest.raises(em.InputError, match="s holds labels, not numbers"):
        em.infer(words, score=GAUSSIAN)
    with pytest.raises(em.InputError, match="complex"):
        em.Series(DRIVEN.to_numpy() * 1j)


@pytest.mark.parametrize("names", [("Year",), ("year", "Month")])
def test_fault_7_year_and_month_are_no_nodes(tmp_path, names):
    columns = {"Year": 1700 + np.arange(N), "year": 1990 + np.arange(N) // 12, "Month": 1 + np.arange(N) % 12}
    frame = DRIVEN.assign(**{name: columns[name] for name in names})
    frame.to_csv(tmp_path / "x.csv", index=False)
    assert em.Series(frame).names == read(tmp_path / "x.csv").names == ("a", "b")
    named = read(tmp_path / "x.csv", columns=["a", "b", names[0]])
    assert named.names == ("a", "b", names[0])


def test_fault_11_business_days_name_what_works(tmp_path):
    frame = DRIVEN.assign(date=pd.bdate_range("2020-01-01", periods=N))
    frame.to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(
        em.InputError, match="the rows are business days; pass time='ignore' to take the rows as"
    ):
        read(tmp_path / "x.csv")
    assert em.infer(read(tmp_path / "x.csv", time="ignore"), score=GAUSSIAN).parents["b"] == ("a",)
    frame.iloc[::-1].to_csv(tmp_path / "x.csv", index=False)
    with pytest.raises(em.InputError, match=r"pass time=\('sort', 'ignore'\) to put the oldest first"):
        read(tmp_path / "x.csv", time="ignore")
    assert em.infer(read(tmp_path / "x.csv", time=["sort", "ignore"]), score=GAUSSIAN).parents["b"] == ("a",)


def test_fault_12_dates_as_people_have_them(tmp_path):
    dated = DRIVEN.set_axis(pd.date_range("2020-01-01", periods=N))
    dated.to_csv(tmp_path / "unnamed.csv")
    dated.to_parquet(tmp_path / "unnamed.parquet")
    dated.rename_axis("day").to_csv(tmp_path / "day.csv", date_format="%d/%m/%Y")
    for name in ("unnamed.csv", "unnamed.parquet", "day.csv"):
        series = read(tmp_path / name)
        assert (series.names, series.dt) == (("a", "b"), 86400)
        assert series.time.start.startswith("2020-01-01T00:00:00")
    text = (tmp_path / "unnamed.csv").read_text().replace("2020-02-03", "2020-02-xx")
    (tmp_path / "bad.csv").write_text(text)
    with pytest.raises(
        em.InputError, match=r"line 35, column .*: '2020-02-xx' is not a time or date; correct it"
    ):
        read(tmp_path / "bad.csv")
    assert read(tmp_path / "bad.csv", time="ignore").lengths == (N,)
