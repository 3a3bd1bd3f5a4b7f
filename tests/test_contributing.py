"""The recipes of CONTRIBUTING.md are followed: each file is written, imported, and found everywhere."""

import doctest
import importlib.util
import re
import subprocess
import sys
from pathlib import Path

import pytest

import enmesh as em
from enmesh import options
from enmesh.cli import main
from enmesh.draw.report import words
from enmesh.estimators import Estimator
from enmesh.methods import from_name, members
from enmesh.scores import Score
from enmesh.search.base import Search
from enmesh.surrogates import Surrogate
from tests import naive
from tests.batteries import battery_of, equals_its_twin

ROOT = Path(__file__).parents[1]
FILES = dict(re.findall(r"```python\n# (\w+)\.py\n(.*?)```", (ROOT / "CONTRIBUTING.md").read_text(), re.S))
KINDS = {
    "estimator": (Estimator, "toy-linear"),
    "score": (Score, "toy-price"),
    "surrogate": (Surrogate, "toy-blocks"),
    "search": (Search, "toy-order"),
}


@pytest.fixture
def recipe(tmp_path):
    """Write one file of the page into an empty folder and import it; forget its classes afterwards."""
    before = dict(options._CLASSES)
    taken = []

    def follow(name):
        path = tmp_path / f"{name}.py"
        path.write_text(FILES[name])
        spec = importlib.util.spec_from_file_location(name, path)
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        taken.append(name)
        spec.loader.exec_module(module)
        return module

    yield follow
    options._CLASSES.clear()
    options._CLASSES.update(before)
    for name in taken:
        del sys.modules[name]


def series():
    return em.simulate.var("a>b, b>c", n=200, seed=0)


def test_every_block_of_python_is_a_file():
    text = (ROOT / "CONTRIBUTING.md").read_text()
    assert set(FILES) == {*(f"toy_{kind}" for kind in KINDS), "toy_simulator"}
    assert text.count("```python") == len(FILES)


@pytest.mark.parametrize("kind", KINDS)
def test_it_is_in_the_help_and_gone_afterwards(kind, recipe, capsys):
    base, name = KINDS[kind]
    assert name not in members(base)
    module = recipe(f"toy_{kind}")
    assert main(["infer", "--help-all"]) == 0
    # Words may be broken at the edge of a panel.
    said = re.sub(r"[\s│]+", "", capsys.readouterr().out)
    assert name in said
    summary = members(base)[name].summary.rstrip(".")
    assert re.sub(r"\s+", "", summary) in said
    assert module.__name__ == members(base)[name].__module__


def test_fields_are_options_of_the_command_line(recipe, capsys, tmp_path):
    recipe("toy_score")
    assert main(["infer", "--help-all"]) == 0
    said = re.sub(r"[\s│]+", " ", capsys.readouterr().out)
    assert "--price" in said
    assert "What a parent costs" in said
    assert main(["simulate", "var", "--graph", "a>b>c", "-n", "200", "--out", str(tmp_path / "data.csv")]) == 0
    found = ["--score", "toy-price", "--dim", "1", "--graph", "a>b>c"]
    totals = []
    for price in ("0.5", "0.01"):
        assert main(["score", str(tmp_path / "data.csv"), *found, "--price", price]) == 0
        totals.append(float(re.search(r"^total (\S+)", capsys.readouterr().out, re.M)[1]))
    assert totals[1] - totals[0] == pytest.approx(2 * 0.49, abs=1e-5)


@pytest.mark.parametrize("kind", ["estimator", "score", "search"])
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_infer_takes_its_name_and_the_methods_paragraph_says_it(kind, recipe):
    recipe(f"toy_{kind}")
    base, name = KINDS[kind]
    rest = {} if kind == "estimator" else {"estimator": "gaussian"}
    net = em.infer(series(), **{kind: name}, **rest, max_lag=1)
    assert {("a", "b"), ("b", "c")} <= {(e.source, e.target) for e in net.edges.itertuples()}
    method = from_name(base, name)
    assert method.sentence() in words.paragraph(net)
    assert set(method.references) <= set(words.references(net))


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_infer_resamples_by_it(recipe):
    module = recipe("toy_surrogate")
    score = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), surrogate=module.ToyBlocks())
    net = em.infer(series(), score=score)
    assert net.parents == {"a": (), "b": ("a",), "c": ("b",)}
    assert module.ToyBlocks().sentence() in words.paragraph(net)


@pytest.mark.parametrize(
    ("kind", "check"),
    [(kind, check) for kind in KINDS for check in battery_of(kind)],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_it_passes_the_battery_of_its_kind(kind, check, recipe):
    recipe(f"toy_{kind}")
    check(from_name(*KINDS[kind]))


def test_the_estimator_has_a_naive_twin(recipe):
    module = recipe("toy_estimator")
    equals_its_twin(module.ToyLinear(), lambda e, x, y, z, t: naive.gaussian_local(x, y, z))


def test_the_simulator_simulates_its_graph(recipe):
    module = recipe("toy_simulator")
    assert doctest.testmod(module).attempted == 1
    assert doctest.testmod(module).failed == 0
    made = module.toy_average("a>b, b>c", n=500)
    assert em.infer(made, score="tea", estimator="gaussian", max_lag=1).parents == {"a": (), "b": ("a",), "c": ("b",)}


# --- types are handed on ------------------------------------------------------------------------------------

GUEST = """
import numpy as np

import enmesh as em

series = em.Series(np.zeros((10, 2)), names=["a", "b"])
network: em.Network = em.infer(series, score=em.TEA(estimator=em.Gaussian()), search=em.Exact())
parents: tuple[str, ...] = network.parents["a"]
test = em.significance(series, "a", "b", embedding=em.Lags({("a", "b"): (1, 4)}))
p_value: float = test.p_value
"""


@pytest.mark.slow
def test_a_package_that_imports_enmesh_type_checks_against_it(tmp_path):
    pytest.importorskip("mypy", reason="mypy is not installed")

    def check(text):
        (tmp_path / "guest.py").write_text(text)
        command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "guest.py"]
        command += ["--cache-dir", str(tmp_path / "cache"), "--config-file", ""]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    good = check(GUEST)
    assert good.returncode == 0, good.stdout + good.stderr
    bad = check(GUEST + "wrong: int = test.p_value\nem.Exact(no_such_option=1)\n")
    assert "Incompatible types in assignment" in bad.stdout
    assert "no_such_option" in bad.stdout
