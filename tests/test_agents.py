"""llms.txt and the skill for coding agents: every command in them runs, and answers in the JSON that is promised."""

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

import enmesh as em
from enmesh.cli import main
from tests.test_exchange import schema

ROOT = Path(__file__).parents[1]
PAGES = {"llms.txt": ROOT / "llms.txt", "SKILL.md": ROOT / "skills" / "enmesh" / "SKILL.md"}
TEXTS = {name: path.read_text(encoding="utf-8") for name, path in PAGES.items()}
COMMANDS = [
    pytest.param(name, line, id=line[:40])
    for name, text in TEXTS.items()
    for body in re.findall(r"```console\n(.*?)```", text, re.S)
    for line in re.findall(r"^\$ enmesh (.+)$", body, re.M)
]


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    """A folder for each page, with the recordings that it names."""
    made = {name: tmp_path_factory.mktemp("agent") for name in PAGES}
    plain = made["llms.txt"]
    em.simulate.var("a>b, b>c", n=300, seed=0).to_csv(plain / "recording.csv")
    (plain / "subjects").mkdir()
    for k in (0, 1):
        em.simulate.var("a>b", n=300, seed=k).to_csv(plain / "subjects" / f"s{k}.csv")
    frame = em.simulate.var("rain>river", n=500, lags=2, seed=0).to_dataframe()
    frame["river"] += 0.02 * np.arange(500)
    frame.to_csv(made["SKILL.md"] / "recording.csv", index=False)
    return made


def answer(line, capsys):
    capsys.readouterr()
    assert main(shlex.split(line)) == 0, line
    return json.loads(capsys.readouterr().out)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(("page", "line"), COMMANDS)
def test_every_command_answers_in_json(page, line, folders, monkeypatch, capsys):
    monkeypatch.chdir(folders[page])
    monkeypatch.setattr(em.Network, "plot", lambda network, path: path.touch())
    if line.startswith("whatif") and not Path("results").exists():
        assert main(shlex.split("infer recording.csv --detrend --out results --quiet")) == 0
    assert answer(line, capsys)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", PAGES)
def test_the_python_runs(page, folders, monkeypatch, capsys):
    monkeypatch.chdir(folders[page])
    (block,) = re.findall(r"```python\n(.*?)```", TEXTS[page], re.S)
    exec(compile(block, page, "exec"), {})


def test_there_are_commands_and_every_file_that_is_named():
    assert len(COMMANDS) >= 12
    assert TEXTS["SKILL.md"].startswith("---\nname: enmesh\ndescription: ")
    for name in re.findall(r"schemas/([\w.]+json)\)", TEXTS["llms.txt"]):
        assert schema(name)["$schema"]
    for page in re.findall(r"\((\w[\w-]*)\.html\)", TEXTS["llms.txt"]):
        assert (ROOT / "docs" / f"{page}.md").is_file(), page


@pytest.mark.filterwarnings("ignore")
def test_the_loop_of_the_skill_ends(folders, monkeypatch, capsys):
    """Look, do what the first step says, look again: then nothing is to be done, and the link is found."""
    monkeypatch.chdir(folders["SKILL.md"])
    first = answer("inspect recording.csv --json", capsys)
    assert not first["ready"]
    assert first["steps"][0]["command"] == "enmesh infer recording.csv --detrend"
    words = first["steps"][0]["command"].removeprefix("enmesh infer ")
    assert answer(f"inspect {words} --json", capsys)["ready"]
    found = answer(f"infer {words} --out loop --json", capsys)
    assert [(e["source"], e["target"], e["lag"]) for e in found["edges"]] == [("rain", "river", 2)]


# --- inspect ------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore")
def test_inspections_fit_their_schema():
    jsonschema = pytest.importorskip("jsonschema")
    check = jsonschema.Draft202012Validator(schema("inspection.schema.json"))
    rng = np.random.default_rng(0)
    walk = em.Series(rng.normal(size=(300, 2)).cumsum(0))
    holes = rng.normal(size=(300, 2))
    holes[5:9, 0] = np.nan
    words = em.Series(rng.integers(0, 3, (200, 2)))
    for made in (
        em.inspect(walk),
        em.inspect(em.Series(holes, missing="drop")),
        em.inspect(words, estimator="discrete"),
        em.inspect(em.simulate.var("a>b", n=200, seed=0), score="tea", max_lag=1),
        em.inspect(em.Series([rng.normal(size=(90, 2)), rng.normal(size=(80, 2))])),
    ):
        check.validate(made.to_dict())
        assert json.loads(made.to_json()) == json.loads(json.dumps(made.to_dict()))
    assert not check.is_valid({"format": "enmesh inspection 1"})


def test_an_inspection_plans_what_infer_does():
    series = em.simulate.var("a>b, b>c", n=400, seed=0)
    network = em.infer(series, level=0.05)
    plan = em.inspect(series, level=0.05).plan
    assert set(plan) <= set(network.choices)
    assert {what for what, *_ in plan} == {"max_lag", "level"}


def test_what_cannot_be_inferred_is_refused():
    events = em.simulate.coupled_events("a>b", duration=50, seed=0)
    with pytest.raises(em.InputError, match="reads samples, not events"):
        em.inspect(events)
    with pytest.raises(em.InputError, match="level=3"):
        em.inspect(em.simulate.var("a>b", n=200, seed=0), level=3)
