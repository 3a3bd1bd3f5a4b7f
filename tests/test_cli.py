"""The command line: every command of the contract, what it writes, and one line for everything that is wrong."""

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.data.files import read
from enmesh.simulate import boolean, var

ENMESH = Path(sys.executable).with_name("enmesh")
RESULTS = {"network.json", "edges.csv", "network.png", "network.svg", "report.html", "run.db"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with recordings, good and bad."""
    monkeypatch.chdir(tmp_path)
    chain = var("a>b, b>c", n=300, seed=1)
    chain.to_dataframe().to_csv("data.csv", index=False)
    boolean("a>b, c", n=300, seed=1).to_dataframe().to_csv("states.csv", index=False)
    np.savez("two.npz", x=chain.values, y=2 * chain.values)
    np.save("pickled.npy", np.array([{}], dtype=object), allow_pickle=True)
    texts = {
        "word.csv": "a,b\n1,2\n2,oops\n3,1\n",
        "ragged.csv": "a,b\n1,2\n2\n3,1\n",
        "empty.csv": "",
        "short.csv": "a,b\n1,2\n2,1\n3,5\n4,1\n",
        "gap.csv": "time,a,b\n0,1,2\n1,2,1\n2,3,3\n5,1,4\n",
        "hole.csv": "a,b\n1,2\n,1\n3,5\n4,1\n",
        "one.csv": "a\n1\n2\n3\n1\n2\n4\n",
        "what.xyz": "a,b\n1,2\n",
        "notes.db": "no store at all",
        "plain": "a file, not a folder",
        "other.csv": "a,b,d\n1,2,3\n2,3,1\n3,1,2\n",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    Path("noise.parquet").write_bytes(bytes(range(1, 200)))
    Path("noise.mat").write_bytes(bytes(range(1, 200)) * 2)
    return tmp_path


@pytest.fixture
def run(folder, shell):
    """Run a command line in the folder; return its exit code, stdout and stderr."""
    return shell


# --- what goes wrong -----------------------------------------------------------------------------------------

BAD = {
    # command lines
    "nonsense": "No such command",
    "infer": "Missing argument",
    "infer data.csv --frobnicate": "No such option",
    "infer data.csv --estimator magic": "'magic' is not one of",
    "infer data.csv --score tx": "'tx' is not one of",
    "infer data.csv --search greedy": "'greedy' is not one of",
    "infer data.csv --alpha": "requires an argument",
    "infer data.csv --alpha high": "--alpha",
    "infer data.csv --alpha 1.5 --estimator gaussian": "--alpha 1.5 is not possible",
    "infer data.csv --estimator gaussian --score tee --surrogates 5 --dim 1": "5 surrogates are too few",
    "infer data.csv --estimator gaussian --surrogates -1": "give a whole number",
    "infer data.csv --estimator gaussian --k 3": "--k has no effect on the estimator gaussian",
    "infer data.csv --estimator ksg --width 1": "--width has no effect on the estimator ksg",
    "infer data.csv --k 3 --width 1": "--width has no effect",
    "infer data.csv --k 0": "--k 0 is not possible",
    "infer data.csv --theiler -1": "--theiler -1 is not possible",
    "infer data.csv --estimator regression --features cubic": "features='cubic' is not known",
    "infer data.csv --estimator kernel --width -2": "--width -2 is not possible",
    "infer data.csv --estimator ksg --score tea": "with KSG use TEE",
    "infer data.csv --estimator kernel --score bic": "known null distribution",
    "infer data.csv --estimator gaussian --score bic --alpha 0.9": "--alpha has no effect on the score bic",
    "infer data.csv --estimator gaussian --score tea --surrogate shift": "--surrogate has no effect on the score",
    "infer data.csv --estimator discrete --score mit": "",
    "infer states.csv --score mit --dim 2": "have no effect on the score mit",
    "infer data.csv --dim two": "--dim two cannot be read",
    "infer data.csv --dim a=1,b": "--dim a=1,b cannot be read",
    "infer data.csv --estimator gaussian --dim a=1,z=2": "names z",
    "infer data.csv --estimator gaussian --dim a=1,b=2,c=1,d=1": "names d, which the series does not have",
    "infer data.csv --dim 0": "--dim 0 is not possible",
    "infer data.csv --estimator gaussian --dim 200": "too few samples",
    "infer data.csv --device abacus": "abacus",
    "infer data.csv --estimator gaussian --max-parents -1": "--max-parents -1 is not possible",
    "infer data.csv --estimator gaussian --jobs 0": "--jobs 0 is not possible",
    "infer data.csv --estimator gaussian --search independent --acyclic": "leave out --acyclic",
    "infer data.csv --level 5": "--level 5 is not possible",
    "infer data.csv --surrogates 99": "--surrogates has no effect on the default test",
    "infer data.csv --alpha 0.05": "write --level 0.05",
    "infer data.csv --require a-b": "--require a-b is not an edge",
    "infer data.csv --require a:z": "there is no node 'z'",
    "infer data.csv --forbid a:a": "a node is named twice",
    "infer data.csv --estimator gaussian --require a:b --forbid a:b": "a",
    "infer data.csv --estimator gaussian --acyclic --require a:b --require b:a": "cycle",
    "infer data.csv --columns a": "at least 2 nodes",
    "infer data.csv --columns a,z": "no node column z",
    "infer data.csv --time when": "no time column when",
    "infer data.csv --trial who": "no trial column who",
    "infer data.csv --missing maybe": "--missing maybe is not an option",
    "infer data.csv --dt -1": "--dt -1.0 is not a sampling step",
    "infer data.csv --format pdf": "'pdf' is not one of",
    "infer data.csv --estimator gaussian --out plain": "cannot write to the folder plain: it is a file",
    "infer data.csv --estimator gaussian --out plain/results": "cannot write to the folder",
    "infer data.csv --estimator gaussian --out /proc/results": "cannot write to the folder",
    # files
    "infer absent.csv": "there is no file absent.csv",
    "infer .": "is a folder",
    "infer what.xyz": "cannot read .xyz",
    "infer empty.csv": "empty.csv is empty",
    "infer word.csv": "word.csv, line 3, column b: 'oops' is not a number",
    "infer ragged.csv": "ragged.csv, line 3, column 2",
    "infer short.csv --estimator gaussian --dim 1": "too few samples",
    "infer gap.csv": "gap.csv, line 5, column time: the time jumps by 3 steps; use --missing drop",
    "infer hole.csv": "hole.csv: missing (NaN) values in column a",
    "infer one.csv": "at least 2 nodes",
    "infer two.npz": "two.npz holds the arrays x, y; say which with --variable",
    "infer two.npz --variable z": "there is no variable z",
    "infer pickled.npy": "never loaded",
    "infer noise.parquet": "cannot be read as parquet",
    "infer noise.mat": "cannot be read as mat",
    "infer data.csv other.csv": "other.csv has the columns a, b, d but data.csv has a, b, c",
    # other commands
    "te data.csv a": "Missing argument",
    "te data.csv a z": "there is no node 'z'",
    "te data.csv a a": "a is the target",
    "te data.csv a b --given a": "both source and given",
    "te data.csv a b --estimator ksg --dim 1 --surrogates 0": "",
    "te data.csv a b --score tea": "No such option",
    "embed data.csv --method magic": "'magic' is not one of",
    "embed data.csv --max-dim 0": "max_dim=0 is not possible",
    "embed data.csv --method cao --estimator ksg": "--estimator has no effect on --method cao",
    "embed short.csv": "too few samples",
    "embed data.csv --method small-tse --max-dim 3": "--max-dim has no effect on the method small-tse",
    "lags data.csv a b --max-lag 0": "--max-lag 0 is not possible",
    "lags data.csv a,b c": "there is no node",
    "simulate var --graph a>b --lags a:b=x": "--lags a:b=x cannot be read",
    "simulate var --graph a>b --lags ab=2": "--lags ab is not an edge",
    "simulate var --graph a>b --lags a:c=2": "the links are a>b",
    "simulate markov --graph a>b --lags 2": "--lags has no effect on the system markov",
    "score data.csv": "Missing option '--graph'",
    "score data.csv --graph a>z": "the graph names z",
    "score data.csv --graph a>>b": "cannot read",
    "score data.csv --graph a>a": "drives itself",
    "simulate magic --graph a>b": "'magic' is not one of",
    "simulate logistic": "Missing option '--graph'",
    "simulate logistic --graph '>'": "cannot read",
    "simulate logistic --graph ''": "the graph has no node",
    "simulate logistic --graph a>b -n 0": "-n 0 is not possible",
    "simulate logistic --graph a>b --coupling 3": "--coupling 3 is not possible",
    "simulate logistic --graph a>b --dt 1": "--dt has no effect on the system logistic",
    "simulate boolean --graph a>b --noise 1": "--noise has no effect on the system boolean",
    "simulate logistic --graph a>b --noise -1": "--noise -1 is not possible",
    "simulate logistic --graph a>b --seed -1": "--seed -1 is not possible",
    "simulate logistic --graph a>b --out data.xls": "its name must end in",
    "simulate logistic --graph a>b --out nowhere/data.csv": "there is no folder nowhere",
    "runs": "Missing argument",
    "runs absent.db": "there is no store absent.db",
    "runs notes.db": "not an enmesh store",
    "demo --out plain": "cannot write to the folder plain",
    "demo extra": "unexpected extra argument",
}


@pytest.mark.parametrize("line", BAD)
def test_what_is_wrong_is_one_line_and_an_exit_code(run, line):
    code, out, err = run(line)
    assert code == 2, err
    assert err.startswith("enmesh: ")
    assert err.count("\n") == 1, err
    assert BAD[line] in err
    assert "Traceback" not in out + err
    assert not out


def test_the_battery_is_large():
    assert len(BAD) >= 40


def test_a_refused_command_leaves_no_folder(run, folder):
    run("infer data.csv --require a:z --out made")
    assert not (folder / "made").exists()


def test_an_unexpected_error_is_one_line_with_a_hint(run, monkeypatch):
    def broken(*_, **__):
        raise RuntimeError("two\nlines")

    monkeypatch.setattr(sys.modules["enmesh.inference.plan"], "asked", broken)
    code, out, err = run("te data.csv a b --estimator gaussian --dim 1")
    assert (code, out) == (1, "")
    assert err.count("\n") == 1
    assert "RuntimeError: two lines" in err
    assert "ENMESH_TRACEBACK=1" in err
    monkeypatch.setenv("ENMESH_TRACEBACK", "1")
    with pytest.raises(RuntimeError):
        run("te data.csv a b --estimator gaussian --dim 1")


# --- infer ---------------------------------------------------------------------------------------------------


def test_infer_writes_everything_and_says_so(run, folder):
    line = "infer data.csv --estimator gaussian --out results/ --format dot --format graphml"
    code, out, err = run(line, pages=True)
    assert code == 0
    assert "Traceback" not in err
    assert {path.name for path in Path("results").iterdir()} == RESULTS | {"network.dot", "network.graphml"}
    network = em.Network.from_json("results/network.json")
    assert network.parents == {"a": (), "b": ("a",), "c": ("b",)}
    assert network.provenance["data"] == read("data.csv").digest
    assert network.provenance["file"] == "data.csv"
    assert network.provenance["command"].startswith("enmesh infer data.csv")
    assert "<b>data.csv</b>" in Path("results/report.html").read_text()
    assert "(proven)" in out
    assert re.search(r"^(choices:| {8}) max_lag", out, re.M)
    edges = pd.read_csv("results/edges.csv")
    assert list(edges)[:6] == ["source", "target", "te", "p_value", "q_value", "lag"]
    assert {tuple(pair) for pair in edges[["source", "target"]].to_numpy()} == {("a", "b"), ("b", "c")}
    assert Path("results/network.png").read_bytes().startswith(b"\x89PNG")
    assert ET.parse("results/network.svg").getroot().tag.endswith("svg")
    assert ET.parse("results/network.graphml").getroot().tag.endswith("graphml")
    assert '"a" -> "b"' in Path("results/network.dot").read_text()
    assert Path("results/report.html").read_text().lstrip().lower().startswith("<!doctype html>")


def test_the_folder_has_the_name_of_the_recording_by_default(run):
    assert run("infer data.csv --estimator gaussian --quiet") == (0, "", "")
    assert {path.name for path in Path("data-results").iterdir()} == RESULTS


def test_json_is_strict_and_alone_on_stdout(run):
    code, out, _ = run("infer data.csv --estimator gaussian --json")
    found = json.loads(out, parse_constant=lambda word: pytest.fail(f"{word} is not JSON"))
    assert code == 0
    assert found["parents"] == {"a": [], "b": ["a"], "c": ["b"]}
    assert {edge["source"] for edge in found["edges"]} == {"a", "b"}
    assert found["options"]["seed"] == 0
    assert all(Path(file).exists() for file in found["files"])


def test_infer_agrees_with_python(run):
    run("infer data.csv --estimator ksg --dim 1 --surrogates 99 --alpha 0.95 --seed 3 --max-parents 1 --out r")
    from enmesh.inference.infer import infer

    score = em.TEE(estimator=em.KSG(), embedding=em.Embedding(), alpha=0.95, n_surrogates=99, seed=3)
    network = infer(read("data.csv"), score=score, max_parents=1, seed=3)
    written = em.Network.from_json("r/network.json")
    assert written.candidates == network.candidates
    assert written.options == json.loads(network.to_json())["options"]


OPTIONS = {
    "--estimator gaussian --score tea --alpha 0.99 --max-parents 2 --search exact --jobs 2 --seed 0": ("TEA", "Exact"),
    "--estimator gaussian --score te --max-parents 1": ("TE", "Independent"),
    "--estimator gaussian --score te --max-parents 1 --acyclic": ("TE", "Exact"),
    "--estimator regression --features quadratic --normalise rank --score tea": ("TEA", "Independent"),
    "--score tea --dim 1": ("TEA", "Independent"),
    "--score bic --dim 1 --acyclic": ("Criterion", "Exact"),
    "--level 0.05": ("LinkTest", "Independent"),
    "--score link --fdr 0.05 --context c --acyclic": ("LinkTest", "Exact"),
    "--estimator gaussian --score aic --search hill-climb": ("Criterion", "HillClimb"),
    "--estimator gaussian --score bic --search tabu": ("Criterion", "Tabu"),
    "--estimator gaussian --score ml --search exhaustive --max-parents 1": ("Criterion", "Exhaustive"),
    "--estimator gaussian --score mit --search basin": ("MIT", "BasinFlooding"),
    "--estimator gaussian --acyclic --search rpdag": ("TEA", "RPDAG"),
    "--estimator gaussian --allow-cycles --search independent": ("TEA", "Independent"),
    "--estimator gaussian --surrogate permute --surrogates 99 --dim 1 --acyclic": ("TEE", "Exact"),
    "--estimator gaussian --screen --dim a=2,b=1,c=1 --delay 2 --lag 1 --acyclic": ("TEA", "Exact"),
    "--estimator kernel --width 0.7 --alpha 0.9 --surrogate local --surrogates 9 --dim 1": ("TEE", "Independent"),
    "--k 3 --normalise rank --theiler 2 --alpha 0.9 --surrogate bootstrap --surrogates 9 --dim 1": (
        "TEE",
        "Independent",
    ),
}


@pytest.mark.parametrize("options", OPTIONS)
def test_names_become_options(run, options):
    code, out, err = run(f"infer data.csv --json {options}")
    assert code == 0, err
    found = json.loads(out)["options"]
    assert (found["score"]["type"], found["search"]["type"]) == OPTIONS[options]


def test_discrete_data_are_recognised(run):
    code, out, _ = run("infer states.csv --json")
    assert code == 0
    assert json.loads(out)["parents"] == {"a": [], "b": ["a"], "c": []}
    code, out, _ = run("infer states.csv --score tea --json --out named")
    assert code == 0
    found = json.loads(out)
    assert found["options"]["score"]["estimator"]["type"] == "Discrete"
    assert found["parents"] == {"a": [], "b": ["a"], "c": []}
    assert any(choice["what"] == "estimator" and choice["reason"] for choice in found["choices"])


def test_required_and_forbidden_edges_and_cycles(run):
    code, out, _ = run("infer data.csv --estimator gaussian --allow-cycles --require c:a --forbid a:b --resume --json")
    found = json.loads(out)
    assert code == 0
    assert "c" in found["parents"]["a"]
    assert "a" not in found["parents"]["b"]
    assert found["options"]["acyclic"] is False


def test_several_files_missing_values_and_columns(run, folder):
    frame = pd.read_csv("data.csv")
    frame.loc[7, "a"] = np.nan
    frame.insert(0, "seconds", np.arange(300) * 0.5)
    frame.to_csv("one.csv", index=False)
    frame.iloc[::-1].assign(seconds=frame.seconds.to_numpy()).to_csv("two.csv", index=False)
    code, out, err = run(
        "infer one.csv two.csv --time seconds --columns a,b --missing drop --estimator gaussian --json"
    )
    assert code == 0
    assert json.loads(out)["provenance"]["trials"] == 2
    assert json.loads(out)["provenance"]["dt"] == 0.5
    lines = err.splitlines()
    assert any("windows have none and are used" in line for line in lines)
    assert all(line.startswith("enmesh: warning: ") for line in lines)
    assert len(set(lines)) == len(lines)


def test_resume_computes_nothing_twice_and_without_it_all_is_new(run):
    line = "infer data.csv --estimator gaussian --surrogates 99 --dim 1 --quiet"
    assert run(line)[0] == run(f"{line} --resume")[0] == 0
    (entry,) = json.loads(run("runs data-results/run.db --json")[1])
    assert (entry["sessions"], entry["computed_twice"], entry["status"]) == (2, 0, "finished")
    assert entry["tests"] > 0
    run(line)
    (entry,) = json.loads(run("runs data-results/run.db --json")[1])
    assert entry["sessions"] == 1
    code, out, _ = run("runs data-results/run.db")
    assert code == 0
    assert "finished" in out


def test_a_foreign_run_db_is_left_alone(run, folder):
    (folder / "results").mkdir()
    (folder / "results" / "run.db").write_text("somebody's")
    code, _, err = run("infer data.csv --estimator gaussian --out results")
    assert code == 2
    assert "not an enmesh store" in err
    assert (folder / "results" / "run.db").read_text() == "somebody's"


# --- the other commands --------------------------------------------------------------------------------------


def test_te_is_that_of_python(run):
    code, out, _ = run("te data.csv a b --given c --estimator ksg --dim 2 --surrogates 49 --seed 5 --json")
    options = {"estimator": em.KSG(), "embedding": em.Embedding(dim=2), "n_surrogates": 49, "seed": 5}
    test = em.significance(read("data.csv"), "a", "b", given="c", **options)
    found = json.loads(out)
    assert code == 0
    assert (found["te"], found["p_value"], found["corrected"]) == (test.value, test.p_value, test.corrected)


def test_te_says_nats_bits_and_how_it_was_tested(run):
    code, out, _ = run("te data.csv a,c b --estimator gaussian --dim 1")
    value = em.transfer_entropy(read("data.csv"), ["a", "c"], "b", estimator=em.Gaussian())
    assert code == 0
    assert f"{value:.6f} nats ({value / np.log(2):.6f} bits)" in out
    assert "known null distribution" in out
    assert "corrected" in out


def test_te_chooses_what_is_not_given(run):
    _, out, _ = run("te states.csv a b")
    assert "max_lag    5 (default" in out
    assert "estimator  regression, the default test" in out
    assert "known null distribution" in out
    found = json.loads(run("te states.csv a b --json")[1])
    test = em.significance(read("states.csv"), "a", "b")
    assert (found["te"], found["p_value"]) == (test.value, test.p_value)
    _, out, _ = run("te states.csv a b --surrogates 99")
    assert "99 surrogates" in out
    assert "estimator  Discrete()" in out


def test_lags(run):
    code, out, _ = run("simulate var --graph 'a>b, c' --lags a:b=3 -n 300 --out delayed.csv")
    assert code == 0
    assert "links: a>b (lag 3)" in out
    line = "lags delayed.csv a b --max-lag 5 --given c --estimator gaussian --dim 1"
    code, out, _ = run(f"{line} --out lags.png")
    assert code == 0
    assert "best lag   3, p-value" in out
    assert "* best" in out
    assert Path("lags.png").stat().st_size > 5000
    told = json.loads(run(f"{line} --surrogates 39 --seed 4 --json")[1])
    mine = em.lag_profile(
        read("delayed.csv"), "a", "b", max_lag=5, given="c", estimator=em.Gaussian(), n_surrogates=39, seed=4
    )
    assert told["te"] == mine.te.tolist()
    assert told["high"] == mine.high.tolist()
    assert (told["best"], told["p_value"], told["surrogates"]) == (3, mine.p_value, 39)


def test_simulated_lags_are_told(run):
    code, out, _ = run("simulate logistic --graph 'a>b, b>c' --lags 2 -n 50 --json")
    assert code == 0
    assert json.loads(out)["lags"] == {"a:b": [2], "b:c": [2]}


@pytest.mark.parametrize(
    "options",
    [
        "",
        "--method small-tse --max-window 4",
        "--method ragwitz --max-dim 3 --max-delay 2",
        "--method storage",
        "--method cao --max-dim 4",
    ],
)
def test_embed(run, options):
    code, out, _ = run(f"embed data.csv {options} --json")
    assert code == 0
    nodes = json.loads(out)["nodes"]
    assert list(nodes) == ["a", "b", "c"]
    code, out, _ = run(f"embed data.csv {options}")
    kappas = ",".join(f"{name}={table['best'][0]}" for name, table in nodes.items())
    same = {table["best"][0] for table in nodes.values()}
    assert f"--dim {same.pop() if len(same) == 1 else kappas}" in out


def test_inspect_and_datasets_say_what_there_is(run):
    code, out, _ = run("inspect data.csv")
    assert code == 0
    assert out.startswith("Data: 3 nodes, 300 samples.\n")
    assert "Plan: max_lag 5 (default; " in out
    assert "First step: Infer the network.\n  enmesh infer data.csv\n" in out
    code, out, _ = run("datasets")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == list(em.datasets.names())


def test_score(run):
    code, out, _ = run('score data.csv --graph "a>b, b>c" --score tea --estimator gaussian --dim 1 --json')
    score = em.TEA(estimator=em.Gaussian(), embedding=em.Embedding(), null="shift")
    mine = em.score(read("data.csv"), "a>b, b>c", score)
    assert code == 0
    assert json.loads(out)["total"] == mine.total
    assert json.loads(out)["local"] == mine.local
    assert "total" in run('score data.csv --graph "a>b, b>c" --score tea --estimator gaussian')[1]


@pytest.mark.parametrize(
    "system", ["logistic", "tent", "henon", "lorenz", "rossler", "mixed", "var", "boolean", "markov"]
)
def test_simulate_every_system(run, system):
    code, out, _ = run(f'simulate {system} --graph "a>b, b>c" -n 50 --seed 2 --out made.csv')
    assert code == 0
    assert "links: a>b, b>c" in out
    series = read("made.csv")
    assert (series.names, series.lengths) == (("a", "b", "c"), (50,))
    assert series.dt == pytest.approx(0.05 if system in ("lorenz", "rossler", "mixed") else 1)


def test_simulate_to_stdout_and_npz_are_the_same_numbers(run):
    line = 'simulate logistic --graph "a>b" -n 20 --seed 1 --coupling 0.2 --noise 0.01 --obs-noise 0.01'
    code, out, err = run(line)
    Path("printed.csv").write_text(out)
    assert (code, err) == (0, "")
    run(f"{line} --out made.npz")
    assert np.array_equal(read("printed.csv").values, read("made.npz").values)
    assert json.loads(run(f"{line} --json")[1])["values"] == read("printed.csv").values.tolist()


def test_reproduce_delegates(run, monkeypatch):
    calls = []

    def run_one(name, *, out, quick, seed, n_jobs, progress):
        calls.append((name, out, quick, seed, n_jobs))
        return [out / "picture.png"]

    with monkeypatch.context() as patched:
        patched.setattr("enmesh_reproduce.NAMES", ("fig1", "fig2"))
        patched.setattr("enmesh_reproduce.run", run_one)
        assert run("reproduce")[1] == "fig1\nfig2\n"
        assert run("reproduce fig1")[:2] == (0, "files in reproduce-fig1: picture.png\n")
        assert run("reproduce fig2 --full --out here --seed 4 --jobs 2")[0] == 0
    assert calls == [("fig1", Path("reproduce-fig1"), True, 0, 1), ("fig2", Path("here"), False, 4, 2)]
    code, _, err = run("reproduce fig9")
    assert code == 2
    assert "choose one of fig1, fig2" in err


@pytest.mark.parametrize("surrogates", [99, pytest.param(399, marks=pytest.mark.slow)])
def test_demo_finds_its_network(run, folder, monkeypatch, surrogates):
    import enmesh.cli.simulate

    options = enmesh.cli.simulate.demo_options()
    assert options["score"].n_surrogates == 399
    assert options["acyclic"]  # the paper's class of graphs
    fewer = options | {"score": replace(options["score"], n_surrogates=surrogates)}
    monkeypatch.setattr(enmesh.cli.simulate, "demo_options", lambda seed: fewer)
    code, out, _ = run("demo")
    assert code == 0
    assert "missed: none, false: none" in out
    assert "all networks of the tested links, without feedback" in out
    assert "(proven)" in out
    assert {path.name for path in Path("demo-results").iterdir()} == RESULTS
    assert str(folder / "demo-results" / "report.html") in out


@pytest.mark.parametrize(
    "command", ["", "demo", "infer", "te", "lags", "embed", "score", "simulate", "reproduce", "runs"]
)
def test_help_has_examples(run, command):
    code, out, err = run(f"{command} --help")
    assert (code, err) == (0, "")
    assert f"enmesh {command}".strip() in out
    assert "Examples" in out or not command


def test_help_fits_a_screen_and_help_all_explains_every_option(run):
    _, short, _ = run("infer -h")
    _, whole, _ = run("infer --help-all")
    assert len(short.splitlines()) <= 66
    assert max(map(len, short.splitlines())) <= 80
    assert "<bool>" not in short + whole
    flags = set(re.findall(r"^  (--[a-z-]+)", whole, re.M))
    assert len(flags) > 40
    assert all(re.search(rf"{flag}\b", short) for flag in flags)
    assert "comparison with published values" in " ".join(whole.split())


def test_tables_keep_their_numbers_on_a_narrow_terminal(monkeypatch, capsys):
    from enmesh.cli import show

    rows = [["a name that is long and goes on", "temperature, north riser", 0.1234, 8.2123e-105, 5.0e-103]]
    monkeypatch.setattr("sys.stdout.isatty", lambda: True, raising=False)
    monkeypatch.setenv("COLUMNS", "60")
    monkeypatch.setenv("NO_COLOR", "1")
    show.table(["source", "target", "TE (nats)", "p", "q"], rows)
    show.say("Proven optimal: score 2.20082; acyclicity cost nothing, and words are broken between letters never.")
    out = capsys.readouterr().out
    assert max(map(len, out.splitlines())) <= 60
    assert "\x1b" not in out
    for whole in ("0.1234", "8.212e-105", "5e-103", "acyclicity"):
        assert whole in out
    monkeypatch.setattr("sys.stdout.isatty", lambda: False, raising=False)
    show.table(["source", "target", "TE (nats)", "p", "q"], rows)
    assert "a name that is long and goes on" in capsys.readouterr().out


def test_no_command_is_a_request_for_help(run):
    code, out, err = run("")
    assert (code, err) == (0, "")
    assert "Commands" in out


# --- as a program --------------------------------------------------------------------------------------------


def program(*arguments, **options):
    return subprocess.run([ENMESH, *arguments], capture_output=True, text=True, timeout=120, **options)


def test_version(shell):
    assert shell("--version") == (0, f"enmesh {em.__version__}\n", "")


@pytest.mark.parametrize("command", [[ENMESH], [sys.executable, "-m", "enmesh"]], ids=["enmesh", "python -m enmesh"])
def test_an_error_of_the_program(folder, command):
    line = [*command, "infer", "word.csv"]
    done = subprocess.run(line, capture_output=True, text=True, timeout=120, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    said = "'oops' is not a number; if it stands for a missing value, use --na oops, "
    said += "else correct it or leave that row out"
    assert done.stderr == f"enmesh: word.csv, line 3, column b: {said}\n"


def test_a_reader_that_has_enough_is_no_error(folder):
    done = subprocess.run(
        f"set -o pipefail; '{ENMESH}' simulate var --graph 'a>b' -n 50000 | head -n 1",
        shell=True,
        executable="/bin/bash",
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=120,
    )
    assert (done.stdout, done.stderr) == ("a,b\n", "")


def test_completion_knows_the_names(folder):
    words = {"_ENMESH_COMPLETE": "complete_bash", "COMP_WORDS": "enmesh infer --estimator g", "COMP_CWORD": "3"}
    done = program(env=os.environ | words, cwd=folder)
    assert "gaussian" in done.stdout


def test_masked_windows_are_left_out(run):
    values = em.simulate.var("a>b", n=300, seed=0).values.copy()
    values[100:120] = 1e6  # an artefact
    em.Series(values, names="ab").to_dataframe().to_csv("artefact.csv", index=False)
    asked = "infer artefact.csv --estimator gaussian --score tea --max-lag 1 --out masked --quiet"
    code, _, err = run(f"{asked} --mask 101:110 --mask 111:120 --detrend")
    assert code == 0, err
    network = em.Network.from_json("masked/network.json")
    assert network.provenance["prepared"] == ["20 of 300 samples masked", "detrended"]
    expected = em.Series(values, names="ab").mask(range(100, 120)).detrend()
    alone = em.infer(expected, score="tea", estimator="gaussian", max_lag=1)
    assert network.local == alone.local
    for window, words in (("5", "give FROM:TO"), ("0:4", "count from 1"), ("290:301", "not in the recording of 300")):
        code, _, err = run(f"{asked} --mask {window}")
        assert code == 2
        assert words in err
