"""The pages of docs/: every block of code runs, every public name is in the reference, and nothing is fetched."""

import doctest
import importlib
import inspect
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

import enmesh as em
from enmesh.cli import main
from tests.test_tutorials import PAGES as TUTORIALS
from tests.test_tutorials import NearlyEqual, matches

DOCS = Path(__file__).parents[1] / "docs"
PAGES = [page for page in sorted(DOCS.glob("*.md")) if page not in TUTORIALS]
REFERENCE = (DOCS / "reference.md").read_text()
BLOCK = re.compile(r"(<!-- not run: [^\n]+ -->\n)?```(\w+)\n(.*?)```", re.S)


def blocks(page, kind):
    """Return ``(whether it is run, code)`` for every block of a kind on a page."""
    return [(not marked, body) for marked, word, body in BLOCK.findall(page.read_text()) if word == kind]


LONG = {"gallery", "sureness", "notebooks", "fields"}  # a kernel runs the notebooks, test_fields.py the fields


def with_code(kind):
    return [
        pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem in LONG))
        for page in PAGES
        if blocks(page, kind)
    ]


@pytest.mark.parametrize("page", with_code("python"))
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_python_runs_as_it_stands(page, tmp_path, monkeypatch):
    """Prompts are compared with what is printed; plain code is run; what needs other machines must compile."""
    monkeypatch.chdir(tmp_path)
    simulated = ["simulate", "var", "--graph", "a>b>c", "-n", "200", "--out", "recording.csv"]
    assert main(simulated) == 0
    names = {"__name__": "__main__"}
    for runs, body in blocks(page, "python"):
        if not runs:
            compile(body, page.name, "exec")
        elif ">>> " in body:
            failures = []
            example = doctest.DocTestParser().get_doctest(body, names, page.name, str(page), 0)
            runner = doctest.DocTestRunner(checker=NearlyEqual(), verbose=False)
            runner.run(example, out=failures.append, clear_globs=False)
            assert not failures, "".join(failures)
            names = example.globs
        else:
            exec(compile(body, page.name, "exec"), names)


@pytest.mark.parametrize("page", with_code("console"))
def test_commands_say_what_the_page_says(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    for runs, body in blocks(page, "console"):
        if not runs:
            continue
        for command, said in re.findall(r"^\$ enmesh (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
            capsys.readouterr()
            assert main(shlex.split(command)) == 0
            assert matches(said, capsys.readouterr().out), command


def test_few_blocks_are_not_run():
    left_out = [(page.stem, body) for page in PAGES for runs, body in blocks(page, "python") if not runs]
    assert sum(page not in ("cluster", "coming-from", "gpu") for page, _ in left_out) == 0
    assert len(left_out) <= 9


def test_every_page_is_in_the_contents():
    listed = {
        line
        for body in re.findall(r"```{toctree}\n(.*?)```", (DOCS / "index.md").read_text(), re.S)
        for line in body.split("\n")
        if line and not line.startswith(":")
    }
    assert listed == {page.stem for page in DOCS.glob("*.md")} - {"index"}


def listed_names():
    """Return the names in the tables of the reference, by module."""
    listed = {}
    for module, table in re.findall(r"currentmodule:: (\S+)\n.*?((?:   \w+\n)+)```", REFERENCE, re.S):
        listed.setdefault(module, []).extend(table.split())
    return listed


def test_every_public_name_is_in_the_reference_with_an_example():
    listed = listed_names()
    recordings = {name.replace("-", "_") for name in em.datasets.names()}
    assert set(listed.pop("enmesh.datasets")) == {*recordings, "names", "load", "about"}
    assert sorted(listed.pop("enmesh.simulate")) == sorted(em.simulate.__all__)
    assert sorted(listed.pop("enmesh")) == sorted({*em.__all__} - {"simulate", "datasets"})
    assert not listed
    for name in {*em.__all__} - {"simulate", "datasets"}:
        found = getattr(em, name)
        assert ">>> " in (vars(found)["__doc__"] if inspect.isclass(found) else found.__doc__), name


def test_the_equations_lead_to_code():
    table = re.findall(r"^\| [^|]+ \| [^|]+ \| ([^|]+) \|$", (DOCS / "equations.md").read_text(), re.M)[2:]
    paths = [path for cell in table for path in re.findall(r"`(enmesh(?:_reproduce)?\.[\w.]+)`", cell)]
    assert len(paths) >= 15
    for path in paths:
        package, *parts = path.split(".")
        found = importlib.import_module(package)
        for part in parts:
            if not hasattr(found, part):
                importlib.import_module(f"{found.__name__}.{part}")
            found = getattr(found, part)


@pytest.mark.slow
def test_the_site_builds_without_a_warning_and_fetches_nothing(tmp_path):
    pytest.importorskip("sphinx", reason="the extra docs is not installed")
    pytest.importorskip("pydata_sphinx_theme", reason="the extra docs is not installed")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html", str(DOCS), str(tmp_path)]
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    for page in DOCS.glob("*.md"):  # Sphinx has pages of its own, which would hide one of the same name
        title = re.search(r"^# .*?(\w+)", page.read_text(), re.M)[1]
        assert title in re.search(r"<h1>(.*?)<", (tmp_path / f"{page.stem}.html").read_text(), re.S)[1], page.name
    fetched = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]+", re.I)
    for page in tmp_path.rglob("*.html"):
        assert not fetched.findall(page.read_text()), page.name
    for style in (tmp_path / "_static").rglob("*.css"):
        assert not re.findall(r"(?:url\(|@import )['\"]?https?://", style.read_text()), style.name
    for module, names in listed_names().items():
        for name in names:
            assert f'id="{module}.{name}"' in (tmp_path / "api" / f"{module}.{name}.html").read_text()
    terms = (tmp_path / "searchindex.js").read_text()
    assert all(f'"{word}"' in terms or f"{word}:" in terms for word in ("granger", "causal", "var", "pcmci"))
    assert "<math" in (tmp_path / "equations.html").read_text()


FIRST_SCREEN = re.compile(r"!\[|\{image\}|^\|[ -]|\{grid\}|<iframe|\$\$|<!-- made:", re.M)


@pytest.mark.parametrize("page", sorted(DOCS.glob("*.md")), ids=lambda page: page.stem)
def test_a_picture_or_a_table_is_on_the_first_screen(page):
    first = "\n".join(page.read_text(encoding="utf-8").split("\n")[:32])
    assert FIRST_SCREEN.search(first), page.stem
