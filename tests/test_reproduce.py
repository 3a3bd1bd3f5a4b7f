"""The paper's figures and experiments, small: files, identities, resuming; the recovery claim as a slow test."""

import shutil
import sqlite3

import numpy as np
import pandas as pd
import pytest

import enmesh as em
import enmesh_reproduce as reproduce
from enmesh.inference.store import runs
from enmesh_reproduce import divergence, networks
from enmesh_reproduce.figures import correlated

RECOVER = networks.recover
TINY = {
    "grids": (
        networks.grid(system="logistic", networks=("3 chain", "3 empty"), coupling=(0.3,), n=(150,)),
        networks.grid(system="lorenz-rossler", networks=("3 chain",), coupling=(1.5,), n=(150,)),
    ),
    "seeds": 1,
    "alphas": (0.5, 0.9),
    "n_surrogates": 9,
    "usual_n": 150,
}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Run an experiment once and return its folder."""
    done = {}

    def make(name, **sizes):
        if name not in done:
            done[name] = tmp_path_factory.mktemp(name)
            paths = reproduce.run(name, out=done[name], **sizes)
            assert all(path.stat().st_size for path in paths)
            assert {path.suffix for path in paths} == {".csv", ".png", ".svg", ".txt"}
        return done[name]

    return make


def table(folder, stem):
    return pd.read_csv(folder / f"{stem}.csv")


# --- figure 1 ------------------------------------------------------------------------------------------------------


def test_the_first_figure_has_the_numbers_of_its_caption(made):
    tests = table(made("fig1"), "fig1_tests").set_index(["score", "unit"])
    assert tests.measured["TEA", "nats"] == pytest.approx(-1000 * np.log(1 - 0.05**2), rel=1e-9)
    assert tests.penalty["TEA", "nats"] == pytest.approx(2.705543, abs=1e-6)
    assert not tests.dependent["TEA", "nats"]
    assert tests.dependent["TEA", "bits"]
    points = table(made("fig1"), "fig1")
    assert points.score.value_counts().to_dict() == {"TEA": 100, "TEE": 100}


@pytest.mark.parametrize("seed", [1, 2])
def test_the_correlation_is_exact_for_every_seed(seed):
    series = correlated(400, 0.05, seed)
    te = em.transfer_entropy(series, "x", "y", estimator=em.Gaussian(), embedding=em.Embedding())
    assert te == pytest.approx(-0.5 * np.log(1 - 0.05**2), rel=1e-9)


def test_the_empirical_penalty_is_that_of_the_score(made):
    tests = table(made("fig1"), "fig1_tests").set_index(["score", "unit"])
    tee = em.TEE(
        estimator=em.Kernel(width=0.5), embedding=em.Embedding(), alpha=0.9, surrogate=em.Permute(), n_surrogates=100
    )
    score = em.score(correlated(1000, 0.05, 0), {"y": ["x"]}, tee)
    assert score.total == pytest.approx(tests.difference["TEE", "nats"], abs=1e-12)


# --- figure 2 ------------------------------------------------------------------------------------------------------


def test_the_second_figure_shows_the_coupled_maps(made):
    v = table(made("fig2", n=100), "fig2")
    g = 4 * v * (1 - v)
    assert np.allclose(v.v1[1:], g.v1[:-1], atol=1e-12)
    for driver, driven in (("v1", "v2"), ("v2", "v3")):
        assert np.allclose(v[driven][1:], 0.7 * g[driven][:-1] + 0.3 * g[driver][:-1], atol=1e-12)


def test_the_same_seed_gives_the_same_bytes(made, tmp_path):
    first = made("fig2", n=100)
    for path in reproduce.run("fig2", out=tmp_path, n=100):
        assert path.read_bytes() == (first / path.name).read_bytes(), path.name


# --- theorem 1 -----------------------------------------------------------------------------------------------------


@pytest.fixture
def theorem(made):
    return table(made("theorem1", n=500, n_surrogates=9), "theorem1")


def test_both_sides_of_the_theorem_are_equal_on_every_graph(theorem):
    assert theorem.groupby("system").graph.nunique().to_list() == [25, 25, 25]
    exact = theorem[~theorem.system.str.contains("KSG")]
    assert (exact.kl - (exact.s - exact.sum_t)).abs().max() < 1e-10
    assert (theorem.identity_error - (theorem.kl - theorem.s + theorem.sum_t)).abs().max() < 1e-12


def test_the_graphs_at_the_floor_are_those_that_contain_the_truth(theorem):
    exact = theorem[~theorem.system.str.contains("KSG")]
    assert ((exact.p_at_floor >= 0.01) == exact.contains_truth).all()
    assert exact[exact.contains_truth].edges.min() == exact[exact.is_truth].edges.max() == 2
    # KSG with few surrogates: no verdict, but the order is the same.
    knn = theorem[theorem.system.str.contains("KSG")]
    assert knn[knn.contains_truth].kl.max() < knn[~knn.contains_truth].kl.min()


# --- corollary 1 ---------------------------------------------------------------------------------------------------


@pytest.fixture
def corollary(made):
    return made("corollary1", n=150, seeds=1, n_surrogates=99)


def test_the_naive_score_keeps_every_edge_and_the_penalised_ones_do_not(corollary):
    kept = table(corollary, "corollary1_kept")
    kept = kept[~kept.system.str.contains("KSG")].set_index(["score", "system"])
    assert (kept.edges["TE"] == 6).all()
    assert (kept.edges[["TEA", "TEE"]] < 6).all()


def test_the_naive_score_never_falls_with_an_edge(corollary):
    sizes = table(corollary, "corollary1")
    for _, rows in sizes[sizes.system.str.contains("Gaussian|discrete")].groupby(["system", "score"]):
        naive = rows.score.iloc[0] == "TE"
        assert (np.diff(rows.value) >= -1e-12).all() == naive


def test_the_best_of_all_sizes_is_what_infer_finds():
    series = em.simulate.var(divergence.DIAMOND, n=400, seed=3)
    for score in divergence.scores(em.Gaussian(), 99, 0).values():
        net = em.infer(series, score=score, search=em.Exact(), max_parents=3, acyclic=True, screen=False)
        chosen = next(row for row in divergence.best_by_size(series, score) if row["chosen"])
        assert chosen["value"] == pytest.approx(net.score)
        assert set(chosen["graph"].split(", ")) == {f"{s}>{t}" for t, ps in net.parents.items() for s in ps}


# --- networks ------------------------------------------------------------------------------------------------------


def test_networks_writes_tables_pictures_and_the_store(made):
    folder = made("networks", **TINY)
    cells = table(folder, "networks_runs")
    # Three cells, each with TE, and TEA and TEE at two alphas.
    assert len(cells) == 15
    assert (cells[["tp", "fp", "fn", "tn"]].sum(axis=1) == 6).all()
    assert [run["answers"] for run in runs(folder / "networks.db")] == [3]
    assert {path.name for path in folder.glob("*.png")} == {"networks_logistic_3.png", "networks_lorenz-rossler_3.png"}


def test_a_killed_run_goes_on_where_it_was(made, tmp_path, monkeypatch):
    whole = made("networks", **TINY)
    shutil.copy(whole / "networks.db", tmp_path)
    with sqlite3.connect(tmp_path / "networks.db") as db:  # killed after the first
        db.execute("DELETE FROM answers WHERE rowid > 1")
    db.close()
    asked = []
    monkeypatch.setattr(networks, "recover", lambda *job: asked.append(job[0]) or RECOVER(*job))
    reproduce.run("networks", out=tmp_path, **TINY)
    assert [cell.network for cell in asked] == ["3 empty", "3 chain"]
    for path in tmp_path.glob("networks*[!b]"):  # all but networks.db, which knows that there were two sessions
        assert path.read_bytes() == (whole / path.name).read_bytes(), path.name


def test_other_options_are_other_cells(made, monkeypatch):
    folder = made("networks", **TINY)
    asked = []
    monkeypatch.setattr(networks, "recover", lambda *job: asked.append(job[0]) or RECOVER(*job))
    job = reproduce.Job(out=folder)
    cells = [networks.Cell("logistic", "3 empty", 0.3, 0.0, 150, 0)]
    networks.computed(job, cells, (0.5, 0.9), 9)
    assert not asked
    networks.computed(job, cells, (0.5, 0.9), 10)
    assert asked == cells


def test_a_diverging_system_is_reported(tmp_path, capsys):
    wild = networks.grid(system="lorenz-rossler", networks=("3 chain",), coupling=(0.5, 50.0), n=(150,))
    reproduce.run("networks", out=tmp_path, **TINY | {"grids": (wild,)})
    said = capsys.readouterr().out
    assert "left out" in said
    assert "diverged" in said
    assert set(table(tmp_path, "networks_runs").coupling) == {0.5}


def test_progress_is_told_of_every_cell(made):
    told = []
    reproduce.run("networks", out=made("networks", **TINY), progress=lambda *at, **_: told.append(at), **TINY)
    assert told == [(0, 3), (3, 3)]


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")  # few samples and surrogates, on purpose
@pytest.mark.parametrize("network", ["3 fork", "4 diamond"])
def test_cells_find_what_infer_finds(network):
    cell = networks.Cell("logistic", network, 0.3, 0.02, 200, 5)
    series, alphas = networks.simulated(cell), (0.5, 0.9)
    scores = {("TE", 0.0): em.TE(n_surrogates=9)}
    for alpha in alphas:
        scores["TEA", alpha] = em.TEA(alpha=alpha)
        scores["TEE", alpha] = em.TEE(alpha=alpha, n_surrogates=19, seed=5)
    for name, alpha, parents in networks.found(series, alphas, 19, 5):
        options = {"max_parents": series.n_nodes - 1, "max_lag": 1, "screen": False, "acyclic": True}
        net = em.infer(series, score=scores[name, alpha], **options)
        named = {t: tuple(series.names[j] for j in some) for t, some in zip(series.names, parents)}
        assert net.parents == named, (name, alpha)


def test_measures_by_hand():
    runs = pd.DataFrame(
        [
            {"group": "a", "tp": 2, "fp": 1, "fn": 0, "tn": 3},
            {"group": "a", "tp": 1, "fp": 0, "fn": 1, "tn": 4},
            {"group": "empty", "tp": 0, "fp": 0, "fn": 0, "tn": 6},
            {"group": "empty", "tp": 0, "fp": 2, "fn": 0, "tn": 4},
        ]
    )
    measured = networks.measured(runs, ["group"]).set_index("group")
    a, empty = measured.loc["a"], measured.loc["empty"]
    assert (a.precision, a.recall, a.fpr, a.f1) == pytest.approx((3 / 4, 3 / 4, 1 / 8, 3 / 4))
    assert a.f1_mean == pytest.approx((4 / 5 + 2 / 3) / 2)
    assert (empty.precision, empty.fpr, empty.f1_mean) == pytest.approx((0, 1 / 6, 0.5))
    assert np.isnan(empty.recall)
    assert np.isnan(empty.f1)


def test_an_unknown_experiment_is_refused(tmp_path):
    with pytest.raises(em.InputError, match="choose one of fig1"):
        reproduce.run("fig3", out=tmp_path)
    (tmp_path / "file").write_text("")
    with pytest.raises(em.InputError, match="folder"):
        reproduce.run("fig2", out=tmp_path / "file")


@pytest.mark.slow
def test_workers_change_nothing(made, tmp_path):
    reproduce.run("networks", out=tmp_path, n_jobs=2, **TINY)
    one, other = (table(folder, "networks_runs") for folder in (made("networks", **TINY), tmp_path))
    pd.testing.assert_frame_equal(one, other)


@pytest.mark.slow
def test_three_coupled_maps_are_recovered():
    """Mean F1 of at least .9 over the three-node networks at coupling .3, N = 2000, by TEE with KSG."""
    import tempfile
    from pathlib import Path

    grid = networks.grid(system="logistic", networks=networks.THREE, coupling=(0.3,), n=(2000,))
    sizes = {"grids": (grid,), "seeds": 3, "usual_n": 2000}
    with tempfile.TemporaryDirectory() as folder:
        reproduce.run("networks", out=folder, **sizes)
        found = pd.read_csv(Path(folder) / "networks.csv")
    tee = found[(found.score == "TEE") & (found.alpha == 0.99)]
    assert tee.runs.item() == 15
    assert tee.f1_mean.item() >= 0.9
