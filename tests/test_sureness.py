"""How sure is each link: stability, intervals, groups, comparisons and windows (docs/sureness.md has the rates)."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from benchmarks import sureness as measured

import enmesh as em
from enmesh.cli import main
from enmesh.inference.store import runs
from enmesh.sureness.compare import least_p
from enmesh.sureness.group import signed
from enmesh.sureness.units import block_length, decorrelation_time, pooled, units_of
from tests.marks import rest_slow
from tests.test_report import Reader

pytestmark = pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
SCORE = em.TEA(embedding=em.Embedding())


@pytest.fixture(scope="module")
def chain():
    return em.simulate.var("a>b, b>c", n=600, seed=0)


def whole_page(path):
    """Read a page; it closes its tags and loads nothing."""
    read = Reader(path.read_text())
    assert not read.open
    assert [address for address in read.loads if not address.startswith("#")] == ["data:,"]
    return read


def uncoupled(n, seed, nodes=4):
    return em.simulate.var(coefficients=0.5 * np.eye(nodes), n=n, seed=seed)


# --- units ------------------------------------------------------------------------------------------------------------


def counting(*lengths):
    trials = [np.column_stack([1000 * i + np.arange(n), np.sin(np.arange(n))]) for i, n in enumerate(lengths)]
    return em.Series([trial.astype(float) for trial in trials])


def test_blocks_cover_the_recording_once_and_keep_neighbours_together():
    units = units_of(counting(103, 57), 10, {})
    taken = np.concatenate([trial[:, 0] for trial in units.take(range(len(units)), joined=False).trials])
    assert taken.tolist() == units.series.values[:, 0].tolist()
    assert {stop - start for _, start, stop in units.pieces} <= {9, 10, 11}


def test_no_window_crosses_a_seam_and_neighbours_are_joined():
    units = units_of(counting(100), 10, {})
    taken = units.take([0, 1, 4, 7, 8, 9])
    assert taken.lengths == (20, 10, 30)
    assert all((np.diff(trial[:, 0]) == 1).all() for trial in taken.trials)
    assert units.take([1, 0], joined=False).lengths == (10, 10)


def test_many_trials_are_the_units():
    units = units_of(counting(*[30] * 12), None, {"score": SCORE})
    assert units.block is None
    assert len(units) == 12


def test_blocks_are_longer_where_samples_depend_longer():
    slow = em.simulate.var(coefficients=0.97 * np.eye(2), n=5000, seed=0)
    fast = em.simulate.var(coefficients=0.3 * np.eye(2), n=5000, seed=0)
    # 1 + 2 sum of phi^(2k) = (1 + phi^2) / (1 - phi^2)
    assert decorrelation_time(slow) == pytest.approx((1 + 0.97**2) / (1 - 0.97**2), rel=0.5)
    assert decorrelation_time(fast) == pytest.approx(1.198, abs=0.2)
    assert block_length(slow, {"score": SCORE}) > 10 * block_length(fast, {"score": SCORE})


def test_blocks_hardly_longer_than_the_memory_are_warned_of():
    walk = np.cumsum(np.random.default_rng(0).normal(size=(400, 2)), axis=0)
    with pytest.warns(em.HazardWarning, match=r"depend on each other over about \d+ samples"):
        block_length(em.Series(walk), {"score": SCORE})


def test_blocks_bear_the_shifts_of_surrogates_in_smooth_short_recordings():
    smooth = em.simulate.coupled_flow("a>b", n=300, system="lorenz", coupling=2.0, dt=0.02, seed=0)
    assert len(units_of(smooth, None, {})) == 4
    with pytest.warns(em.HazardWarning, match="4 units that can be halved in 3 ways"):
        found = em.stability(smooth, n=6)
    assert found.networks == 6


def test_too_short_a_recording_is_refused():
    with pytest.raises(em.InputError, match="make 2 blocks of 30; at least 4 are needed"):
        units_of(counting(60), 30, {})


# --- stability --------------------------------------------------------------------------------------------------------


def test_true_links_are_found_again(chain):
    stability = em.stability(chain, n=20, score=SCORE)
    shares = stability.frequency
    assert shares.loc["a", "b"] > 0.9
    assert shares.loc["b", "c"] > 0.9
    assert shares.drop(columns="b").loc["a"].max() < 0.3
    assert math.isnan(shares.loc["a", "a"])
    assert stability.networks == stability.n == 20


def test_a_link_counts_where_both_halves_of_a_cut_have_it():
    weak = em.simulate.var("a>b, b>c", n=300, coupling=0.18, seed=1)
    units = units_of(weak, None, {"score": SCORE})
    count = np.zeros((3, 3))
    for cut in range(5):
        order = np.random.default_rng([7, cut]).permutation(len(units)).tolist()
        halves = order[: len(units) // 2], order[len(units) // 2 :]
        networks = [em.infer(units.take(half), score=SCORE).adjacency for half in halves]
        count += networks[0] & networks[1]
    found = em.stability(weak, n=9, seed=7, score=SCORE)  # rounded up to ten networks
    assert (found.n, found.networks) == (9, 10)
    np.testing.assert_array_equal(found.frequency.fillna(0), count / 5)
    assert ((count > 0) & (count < 5)).any()


@pytest.mark.slow
def test_links_that_are_not_there_are_seldom_found_twice():
    shares = [em.stability(uncoupled(400, s), n=20, seed=s, score=SCORE).frequency for s in range(8)]
    assert np.nanmean(shares) < 0.003  # the level is .01 in one half, .0001 in two
    assert np.nanmax(shares) <= 0.1


def test_neighbours_bear_halves():
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=99)
    shares = [em.stability(uncoupled(200, s, 2), n=6, seed=s, score=score).frequency for s in range(8)]
    assert np.nanmean(shares) < 0.03  # repeated samples would make every link significant


def test_results_do_not_depend_on_workers(chain):
    first, second = (em.stability(chain, n=6, score=SCORE, seed=3, n_jobs=jobs) for jobs in (1, 2))
    assert first.frequency.equals(second.frequency)


def test_stopped_and_resumed_gives_the_same(chain, tmp_path):
    weak = em.simulate.var("a>b, b>c", n=300, coupling=0.2, seed=1)
    told = []

    def stop(done, total, **rest):
        told.append(done)
        if done == 5:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        em.stability(weak, n=12, score=SCORE, store=tmp_path / "boot.db", progress=stop)
    file = tmp_path / "boot.db"
    told.clear()
    resumed = em.stability(weak, n=12, score=SCORE, store=file, progress=lambda done, total, **rest: told.append(done))
    whole = em.stability(weak, n=12, score=SCORE)
    assert resumed.frequency.equals(whole.frequency)
    assert 0 < whole.frequency.loc["a", "b"] < 1  # the numbers could have differed
    assert told[:2] == [0, 5]
    (entry,) = runs(file)
    assert (entry["answers"], entry["computed_twice"], entry["sessions"]) == (12, 0, 2)


def test_a_store_never_serves_other_data_options_or_seeds(chain, tmp_path):
    file = tmp_path / "boot.db"
    for series, options in (
        (chain, {"seed": 0}),
        (chain, {"seed": 1}),
        (chain, {"seed": 0, "acyclic": False}),
        (em.simulate.var("a>b, b>c", n=600, seed=9), {"seed": 0}),
    ):
        em.stability(series, n=2, score=SCORE, store=file, **options)
    assert [entry["answers"] for entry in runs(file)] == [2] * 4


def test_infer_and_bootstrap_share_a_store(chain, tmp_path):
    em.infer(chain, score=SCORE, store=tmp_path / "run.db")
    em.stability(chain, n=2, score=SCORE, store=tmp_path / "run.db")
    assert [entry["score"]["type"] for entry in runs(tmp_path / "run.db")] == ["TEA", "bootstrap"]


def test_infer_puts_stability_beside_the_links(chain, tmp_path):
    network = em.infer(chain, score=SCORE, bootstrap=6, store=tmp_path / "run.db")
    assert network.edges["stability"].min() > 0.8
    assert em.Network.from_json(network.to_json()).edges["stability"].tolist() == list(network.edges.stability)
    assert em.infer(chain, score=SCORE).edges["stability"].isna().all()
    shares = em.stability(chain, n=6, score=SCORE)
    assert shares.on(network).stability == network.stability
    shares.plot(tmp_path / "stability.png", network=network)
    assert (tmp_path / "stability.png").stat().st_size > 5000


# --- intervals --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("coupling", rest_slow([0.1, 0.0, 0.4], 1))
def test_gaussian_intervals_cover(coupling):
    matrix = np.array([[0.5, 0.0], [coupling, 0.5]])
    truth = 0.0
    if coupling:
        long = em.simulate.var(coefficients=matrix, n=200_000, seed=10**6)
        truth = em.transfer_entropy(long, 0, 1, estimator=em.Gaussian())
    held = []
    for seed in range(200):
        series = em.simulate.var(coefficients=matrix, n=300, seed=seed)
        found = em.interval(series, 0, 1, estimator=em.Gaussian(), level=0.9)
        held.append(found.low <= truth <= found.high)
    assert 0.83 < np.mean(held) < 0.97  # within 3 standard errors of .9


def test_intervals_are_wider_for_more_confidence_and_fewer_samples(chain):
    def width(series, **options):
        found = em.interval(series, "a", "b", **options)
        assert found.low < found.value < found.high
        return found.high - found.low

    short = em.Series(chain.values[:150], names=chain.names)
    for estimator in ("gaussian", "ksg"):
        usual = width(chain, estimator=estimator)
        assert usual < width(chain, estimator=estimator, level=0.99)
        assert usual < width(short, estimator=estimator)


def test_dependent_noise_widens_the_analytic_interval():
    rng = np.random.default_rng(0)
    scale = np.exp(np.repeat(rng.normal(size=100), 20))  # the variance changes slowly, common to both nodes
    values = rng.normal(size=(2000, 2)) * scale[:, None]
    found = em.interval(em.Series(values), 0, 1, estimator=em.Gaussian())
    plain = em.interval(em.Series(rng.normal(size=(2000, 2))), 0, 1, estimator=em.Gaussian())
    assert found.high > 1.5 * plain.high


def test_neighbour_intervals_hold_the_analytic_value_and_do_not_depend_on_workers():
    series = em.simulate.var("a>b", n=500, coupling=0.4, seed=4)
    first, second = (em.interval(series, "a", "b", n=20, n_jobs=jobs) for jobs in (1, 2))
    assert first == second
    assert first.low <= 0.0917 <= first.high


def test_a_value_that_grows_with_the_samples_is_warned_of():
    series = em.simulate.coupled_map("a>b", n=400, noise=0.01, seed=0)
    with pytest.warns(em.HazardWarning, match="changes with the number of samples"):
        em.interval(series, "a", "b", estimator=em.KSG(), n=20)


def test_what_no_interval_can_be():
    series = uncoupled(100, 0)
    with pytest.raises(em.InputError, match=r"level=95 is not possible"):
        em.interval(series, 0, 1, level=95)
    with pytest.raises(em.InputError, match="is the target"):
        em.interval(series, 0, 0)


# --- windows ----------------------------------------------------------------------------------------------------------


def test_a_link_that_switches_on_is_on_in_the_right_windows_only(tmp_path):
    found = em.windows(measured.switched(0), 250, 125, score=SCORE)
    assert found.te.shape == found.p_value.shape == found.q_value.shape == (15, 3, 3)
    late, early = found.starts >= 1000, found.starts + 250 <= 1000
    assert found.on[late, 1, 2].all()
    assert not found.on[early, 1, 2].any()
    assert found.on[:, 0, 1].all()
    found.plot(tmp_path / "windows.png")
    assert (tmp_path / "windows.png").stat().st_size > 5000
    text = found.report(tmp_path / "windows.html").read_text()
    assert {"network", "windows"} <= whole_page(tmp_path / "windows.html").ids
    assert text.count('class="sign"') == found.on.sum()
    assert "<td>15 of 15</td>" in text
    many = replace(found, **{part: np.repeat(getattr(found, part), 50, 0) for part in ("te", "q_value")})
    long = replace(many, starts=np.arange(750)).report(tmp_path / "long.html").read_text()
    assert "Every 4th window is drawn" in long
    assert long.count("window around") == 188 * 6


def test_trials_are_pooled_in_each_window():
    series = measured.switched_trials(0)
    found = em.windows(series, 20, 20, score=SCORE, n_jobs=2)
    assert found.starts.tolist() == [0, 20, 40, 60, 80, 100]
    assert found.on[:, 1, 2].tolist() == [False] * 3 + [True] * 3
    one = em.Series([trial[20:40] for trial in series.trials], names=series.names)
    expected = em.transfer_entropy(one, "a", "b", estimator=em.Gaussian())
    assert found.te[1, 0, 1] == pytest.approx(expected, rel=1e-9)


def test_neighbours_in_windows():
    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), n_surrogates=99)
    found = em.windows(em.simulate.coupled_map("a>b", n=600, seed=0), 200, 200, score=score)
    assert found.on[:, 0, 1].all()
    assert not found.on[:, 1, 0].any()


def test_windows_longer_than_a_trial_are_refused(chain):
    with pytest.raises(em.InputError, match="longer than the shortest trial"):
        em.windows(chain, 601, 10, score=SCORE)


# --- groups -----------------------------------------------------------------------------------------------------------


def test_a_group_finds_what_its_members_do_not(tmp_path):
    found = em.group(measured.subjects(0), score=SCORE, n_jobs=2)
    assert set(found.network) == {("a", "b"), ("b", "c"), ("c", "d"), ("a", "e")}
    true = [found.share.loc[edge] for edge in found.network]
    assert np.mean(true) < 0.6
    assert max(found.q_value.loc[edge] for edge in found.network) < 0.05
    found.plot(tmp_path / "share.png")
    read = whole_page(found.report(tmp_path / "group.html"))
    assert {"network", "subjects"} <= read.ids
    links = found.links
    assert len(links) == 20
    assert links.p_value.is_monotonic_increasing
    assert links.te[0] == found.te.loc[links.source[0], links.target[0]]
    assert "that of all 20 subjects together" in read.words
    assert (tmp_path / "group.html").read_text().count("of subjects, q") == 20


def test_nodes_are_matched_by_name_and_levels_do_not_matter():
    subjects = measured.subjects(1, count=6)
    first = em.group(subjects, score=SCORE)
    moved = [
        em.Series(100 * i + (1 + i) * one.select(list("edcba")).values, names=list("edcba"))
        for i, one in enumerate(subjects)
    ]
    second = em.group([subjects[0], *moved[1:]], score=SCORE)
    assert second.network.parents == first.network.parents
    np.testing.assert_allclose(second.te, first.te, atol=1e-9)


def test_signs_are_all_tried_for_few_subjects():
    values = np.array([1.0, 2.0, 3.0])
    assert signed(values, 0) == pytest.approx(1 / 8)
    assert signed(values, 0, sides=2) == pytest.approx(2 / 8)
    assert signed(-values, 0) == pytest.approx(1.0)
    assert signed(np.arange(1.0, 21.0), 0) == pytest.approx(1 / 10_000)


def test_the_test_across_subjects_keeps_its_level():
    rng = np.random.default_rng(0)
    chance = rng.chisquare(1, size=(15, 4000)) - 1  # 2 N T less its mean, where there is no link
    assert (signed(chance, 0) <= 0.05).mean() < 0.06


def test_groups_that_cannot_be(chain):
    with pytest.raises(em.InputError, match="at least 2 subjects"):
        em.group([chain])
    with pytest.raises(em.InputError, match="recording 2 and the first differ in the nodes d"):
        pooled([chain, em.simulate.var("a>b, b>c, d", n=100)])


# --- comparison -------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_halved_coupling_is_found_with_its_sign(tmp_path):
    pair = measured.recording(False, 1000, 1), measured.recording(True, 1000, 2)
    found = em.compare(*pair, 399, score=SCORE)
    assert found.q_value.loc["c", "d"] <= 0.05
    assert found.difference.loc["c", "d"] < -0.05
    assert (found.q_value.to_numpy() <= 0.05).sum() == 1
    back = em.compare(*pair[::-1], 399, score=SCORE)
    np.testing.assert_allclose(back.difference, -found.difference, atol=1e-12)
    found.plot(tmp_path / "difference.png")
    assert (tmp_path / "difference.png").stat().st_size > 5000
    read = whole_page(found.report(tmp_path / "difference.html"))
    assert "1 of 20 pairs differs." in read.words
    assert "c → d fell from" in read.words
    assert "▼" in read.words
    assert "▲" not in read.words
    text = (tmp_path / "difference.html").read_text()
    assert "default-src 'none'" in text  # only the scripts of the page itself run
    assert all(part.startswith("data:") for part in text.split(' src="')[1:])
    noted = whole_page(back.report(tmp_path / "back.html", notes="as <i>measured"))
    assert "c → d grew from" in noted.words
    assert "as <i>measured" in noted.words
    assert em.report(back, tmp_path / "same.html", notes="as <i>measured").read_text() == (
        tmp_path / "back.html"
    ).read_text(encoding="utf-8")


@pytest.mark.parametrize(("first", "second"), [((1, 900), (1, 900)), ((1, 500), (1, 1500)), ((3, 400), (2, 900))])
def test_no_difference_is_surer_than_chance_without_a_link(first, second):
    """2 N T is chi-square where there is no link; the difference of two is drawn here, not integrated."""
    rng = np.random.default_rng(0)
    drawn = [(rng.chisquare(d, 200_000) - d) / (2 * n) for d, n in (first, second)]
    sizes = np.array([0.0, 0.0005, 0.002, 0.005])
    sides = [tuple(np.full(4, float(part)) for part in side) for side in (first, second)]
    expected = [(np.abs(drawn[1] - drawn[0]) >= size).mean() for size in sizes]
    np.testing.assert_allclose(least_p(sizes, *sides), expected, atol=0.004)
    np.testing.assert_allclose(least_p(-sizes, *sides), expected, atol=0.004)


def test_a_changed_link_does_not_make_others_of_its_target_differ():
    """Mixtures of two systems may have less of a chance link than either: then all exchanges differ by nearly 0."""
    pair = measured.recording(False, 1000, 6), measured.recording(True, 1000, 7)
    found = em.compare(*pair, 199, score=SCORE)
    sides = [tuple(np.full((5, 5), float(part)) for part in (1, 930)) for _ in pair]  # about the windows of blocks
    floor = least_p(found.difference.to_numpy(), *sides)
    others = ~np.eye(5, dtype=bool)
    p_value = found.p_value.to_numpy()
    assert (p_value[others] >= 0.97 * floor[others]).all()
    assert np.isclose(p_value[others], floor[others], rtol=0.03).any()  # exchanges alone would have said less
    assert found.p_value.loc["c", "d"] == pytest.approx(1 / 200)


def test_labels_of_trials_are_exchanged_where_there_are_many():
    def trials(coupling, seed):
        return em.Series([em.simulate.var("a>b", n=60, coupling=coupling, seed=seed + i).values for i in range(12)])

    found = em.compare(trials(0.1, 0), trials(0.6, 100), 199, score=SCORE)
    assert found.exchanged == "labels of 12 and 12 trials exchanged"
    assert found.p_value.to_numpy()[0, 1] == pytest.approx(1 / 200)


def test_subjects_and_pairs_and_workers():
    sides = [
        [em.simulate.var("a>b", n=200, coupling=c, seed=100 * k + s) for s in range(8)]
        for k, c in enumerate((0.2, 0.45))
    ]
    groups = em.compare(*sides, 499, score=SCORE)
    pairs = em.compare(*sides, score=SCORE, paired=True)
    assert groups.difference.loc["a", "b"] == pytest.approx(pairs.difference.loc["a", "b"])
    assert groups.q_value.loc["a", "b"] < 0.05
    assert pairs.p_value.loc["a", "b"] == pytest.approx(2 / 2**8)
    again = em.compare(*sides, 499, score=SCORE, n_jobs=2)
    assert again.p_value.equals(groups.p_value)


def test_too_few_permutations_are_warned_of(chain):
    said = r"19 permutations: the smallest q-value that is possible is 0\.3, for a single difference among 6 pairs"
    with pytest.warns(em.HazardWarning, match=said):
        em.compare(chain, em.simulate.var("a>b, b>c", n=600, seed=1), 19, score=SCORE)


def test_comparisons_that_cannot_be(chain):
    with pytest.raises(em.InputError, match="one side is a recording and the other a list"):
        em.compare(chain, [chain, chain])
    with pytest.raises(em.InputError, match="2 and 3 recordings make no pairs"):
        em.compare([chain] * 2, [chain] * 3, paired=True)
    with pytest.raises(em.InputError, match="two recordings have no pairs"):
        em.compare(chain, chain, paired=True)


@pytest.fixture
def two_files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, halved, seed in (("before.csv", False, 1), ("after.csv", True, 2)):
        measured.recording(halved, 1000, seed).to_dataframe().to_csv(name, index=False)
    words = "compare before.csv after.csv --columns b,c,d --estimator gaussian --dim 1 --permutations 119"
    return words.split()


def test_the_command_compares(two_files, tmp_path, capsys):
    assert main([*two_files, "--out", "difference/"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("1 of 6 pairs differs (q up to 0.05; labels of ")
    assert out.splitlines()[2].split()[:2] == ["c", "d"]
    names = {file.name for file in (tmp_path / "difference").iterdir()}
    assert names == {f"difference.{kind}" for kind in ("json", "csv", "png", "svg", "html")}
    assert main([*two_files[:-1], "19", "--json"]) == 0  # into its own folder again
    data = json.loads(capsys.readouterr().out)
    assert data["links"][0]["target"] == "d"


@pytest.fixture
def subject_files(tmp_path, monkeypatch):
    """Two groups of six subjects; the link a > b is stronger in the second."""
    monkeypatch.chdir(tmp_path)
    for group, coupling in (("rest", 0.1), ("task", 0.5)):
        for s in range(6):
            one = em.simulate.var("a>b", n=200, coupling=coupling, seed=10 * s + (group == "task"))
            one.to_dataframe().to_csv(f"{group}{s}.csv", index=False)
    return [f"rest{s}.csv" for s in range(6)], [f"task{s}.csv" for s in range(6)]


@pytest.mark.parametrize("paired", [False, True])
def test_the_command_compares_groups(subject_files, paired, capsys):
    rest, task = subject_files
    options = ["--estimator", "gaussian", "--dim", "1", "--json", *["--paired"] * paired]
    assert main(["compare", *rest, "vs", *task, *options]) == 0
    data = json.loads(capsys.readouterr().out)
    assert (data["first"], data["second"]) == (rest, task)
    assert data["exchanged"] == ("signs of 6 pairs exchanged" if paired else "labels of 6 and 6 subjects exchanged")
    best = data["links"][0]
    assert (best["source"], best["target"]) == ("a", "b")
    assert best["difference"] > 0.05
    if paired:
        assert best["p_value"] == pytest.approx(2 / 2**6)
    sides = [[em.read(file) for file in side] for side in subject_files]
    same = em.compare(*sides, paired=paired, score=SCORE)
    assert best["p_value"] == pytest.approx(same.p_value.loc["a", "b"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["r0.csv"], "1 file cannot be compared; give two recordings"),
        (["r0.csv", "r1.csv", "r2.csv"], "3 files cannot be compared; give two recordings"),
        (["r0.csv", "vs", "r1.csv", "r2.csv"], "1 and 2 recordings; give one on each side, or at least 2"),
        (["vs", "r1.csv", "r2.csv"], "0 and 2 recordings"),
        (["a.csv", "vs", "b.csv", "vs", "c.csv"], "vs more than once"),
        (["a.csv", "vs", "b.csv", "--paired"], "two recordings have no pairs"),
        (["a.csv", "b.csv", "vs", "c.csv", "a.csv"], "a.csv is given more than once"),
        (["a.csv", "b.csv", "vs", "c.csv", "d.csv", "e.csv", "--paired"], "2 and 3 recordings make no pairs"),
    ],
)
def test_the_command_says_which_sides_it_cannot_tell(words, said, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for word in {word for word in words if word.endswith(".csv")}:
        em.simulate.var("a>b", n=60, seed=0).to_dataframe().to_csv(word, index=False)
    assert main(["compare", *words]) == 2
    assert said in capsys.readouterr().err


def test_too_few_subjects_are_warned_of():
    sides = [[em.simulate.var("a>b", n=100, seed=10 * k + s) for s in range(3)] for k in range(2)]
    with pytest.warns(em.HazardWarning, match="3 and 3 subjects can be exchanged in 20 ways.* below 0.2"):
        em.compare(*sides, 99, score=SCORE)
    with pytest.warns(em.HazardWarning, match="3 and 3 subjects can be exchanged in 8 ways.* below 0.5"):
        em.compare(*sides, 99, score=SCORE, paired=True)


def test_the_command_overwrites_nothing_of_others(two_files, tmp_path, capsys):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "difference.csv").write_text("mine")
    assert main([*two_files, "--out", "mine"]) == 2
    assert "which enmesh did not write" in capsys.readouterr().err
    assert (tmp_path / "mine" / "difference.csv").read_text() == "mine"


# --- rates, in long simulations ---------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", measured.STABLE)
def test_stability_over_seeds(name):
    for seed in range(5):
        networks = [measured.links_of_half(name, seed, i) for i in range(20)]
        true, absent = measured.shares(name, seed, networks)
        assert true.min() > 0.9
        assert absent.max() <= 0.1  # one cut of ten


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [em.Gaussian(), em.KSG()], ids=["gaussian", "ksg"])
@pytest.mark.parametrize("name", measured.COVERED)
def test_coverage(name, estimator):
    truth = measured.truth_of(name, estimator)
    held = np.mean([measured.covered(name, estimator, truth, seed) for seed in range(100)])
    assert 0.81 < held < 0.99  # .9 within three standard errors


@pytest.mark.slow
def test_comparison_rates():
    assert np.mean([measured.no_difference(seed, count=399) for seed in range(50)]) <= 0.14
    found = [measured.halved(seed, count=399) for seed in range(30)]
    assert np.mean([place for place, _ in found]) >= 0.8


@pytest.mark.slow
def test_group_rates():
    f1, second, alone, _ = np.mean([measured.group_scores(seed) for seed in range(10)], axis=0)
    assert f1 >= 0.95
    assert second >= 0.9
    assert alone < 0.5


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
@pytest.mark.parametrize("asked", [{}, {"max_lag": 2}, {"estimator": em.Gaussian(), "max_lag": 2}])
def test_an_interval_of_a_network_is_about_its_link(asked):
    """The value is that of the link, given the other sources of its target, at the lags of the network."""
    series = em.simulate.var({"c": ["a", "b"]}, n=300, seed=11)
    net = em.infer(series, **asked)
    for row in net.edges.itertuples():
        found = em.interval(series, row.source, row.target, network=net)
        assert found.value == pytest.approx(row.te, rel=1e-9)
        assert found.low <= found.value <= found.high
    assert set(net.parents["c"]) == {"a", "b"}
    alone = em.interval(series, "a", "c", given="b", network=net)
    assert alone == em.interval(series, "a", "c", network=net)
    with pytest.raises(em.InputError, match="network= brings its own test and lags"):
        em.interval(series, "a", "c", network=net, estimator=em.Gaussian())
    with pytest.raises(em.InputError, match="has the nodes a, b, c, the series u, v, w; give the recording"):
        em.interval(em.Series(series.values, names="uvw"), "u", "w", network=net)
