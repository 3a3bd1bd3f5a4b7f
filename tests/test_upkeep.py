"""What surrounds the package: lowest versions, citation, changelog, types, hooks."""

import hashlib
import json
import re
import subprocess
import sys
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

import enmesh

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def lowest(*extras):
    command = [sys.executable, ROOT / "tools" / "lowest_versions.py", *extras]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()


def test_every_dependency_has_a_lowest_version():
    assert lowest() == [requirement.replace(">=", "==") for requirement in PROJECT["dependencies"]]


def test_extras_that_name_others_are_followed():
    pins = lowest("test")
    assert pins[: len(PROJECT["dependencies"])] == lowest()
    for extra in ("cluster", "parquet"):
        assert {need.replace(">=", "==") for need in PROJECT["optional-dependencies"][extra]} <= set(pins)
    assert len(set(pins)) == len(pins)
    assert not any(pin.startswith("enmesh") for pin in pins)


def test_the_version_is_one_line():
    """The code names it once; the changelog's newest release and what is cited have the same version and date."""
    assert PROJECT["dynamic"] == ["version"]
    assert "version" not in PROJECT
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    released = re.findall(r"^## \[(\d.*?)\] - (\d{4}-\d\d-\d\d)$", text, re.M)
    assert released[0][0] == enmesh.__version__
    kinds = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert set(re.findall(r"^### (.+)$", text, re.M)) <= kinds
    for name in ("CITATION.cff", "codemeta.json"):
        cited = re.findall(r"^\W*(?:version|date\S+)\W+([\d.-]+)", (ROOT / name).read_text(encoding="utf-8"), re.M)
        assert tuple(cited) == released[0], name
    for name in (".zenodo.json", "conda/recipe.yaml"):
        assert enmesh.__version__ not in (ROOT / name).read_text(encoding="utf-8"), name


@pytest.mark.parametrize(("old", "new"), enmesh.RENAMED.items())
def test_old_names_are_kept_with_a_warning(old, new):
    with pytest.warns(DeprecationWarning, match=f"em.{old} is called em.{new} now"):
        assert getattr(enmesh, old) is getattr(enmesh, new)


def test_types_are_handed_on():
    assert (files("enmesh") / "py.typed").is_file()


@pytest.mark.parametrize("name", ["CITATION.cff", ".pre-commit-config.yaml"])
def test_yaml_can_be_read(name):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))


# --- imports ------------------------------------------------------------------------------------------------

ARCHITECTURE = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
# From the lowest to the highest; the longest name that fits counts.
PICTURE = re.search(r"```\n(app\n.*?)```", ARCHITECTURE, re.S)
ORDER = [line.split() for line in reversed(PICTURE[1].splitlines())]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}


def rank_of(module):
    parts = module.split(".")
    return next(RANK[name] for n in range(len(parts), 0, -1) if (name := ".".join(parts[:n])) in RANK)


def top_imports(path):
    """Return the modules of the package that a file imports at its top."""
    import ast

    body = ast.parse(path.read_text()).body
    named = [node.module for node in body if isinstance(node, ast.ImportFrom) and node.module]
    return [name.removeprefix("enmesh.") for name in named if name.startswith("enmesh.")]


def test_imports_go_down_only():
    """At the top of modules; what is asked of a higher room goes through `late` or is imported where it is used."""
    root = Path(enmesh.__file__).parent
    upward = []
    for path in sorted(root.rglob("*.py")):
        module = ".".join(path.relative_to(root).with_suffix("").parts).removesuffix(".__init__")
        if module in ("__init__", "__main__"):  # the public names
            continue
        upward += [(module, other) for other in top_imports(path) if rank_of(other) > rank_of(module)]
    assert not upward


@pytest.mark.filterwarnings("ignore")
def test_a_recording_passes_the_functions_that_are_listed(tmp_path):
    """In the order of their first calls."""
    file, root, called = tmp_path / "recording.csv", str(Path(enmesh.__file__).parent), dict[str, None]()
    enmesh.simulate.var("a>b, b>c", n=300, seed=0).to_csv(file)

    def note(frame, event, _):
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(root):
            module = ".".join(Path(code.co_filename).relative_to(root).with_suffix("").parts)
            called.setdefault(f"{module.removesuffix('.__init__')}.{code.co_qualname}")

    sys.setprofile(note)
    try:
        enmesh.infer(enmesh.read(file)).plot(tmp_path / "network.png")
    finally:
        sys.setprofile(None)
    walk = ARCHITECTURE.split("## One sample, from file to arrow")[1].split("takes the path of the paper")[0]
    hops = re.findall(r"^\d+\. `([\w.]+)`", walk, re.M)
    assert 20 <= len(hops) <= 25
    assert [name for name in called if name in hops] == hops


def test_the_library_does_not_load_the_experiments():
    """Only the command that repeats them does."""
    code = "import sys, enmesh.cli; print('enmesh_reproduce' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"


# --- what others read ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [".zenodo.json", "codemeta.json"])
def test_metadata_agree_with_the_package(name):
    made = json.loads((ROOT / name).read_text(encoding="utf-8"))
    assert PROJECT["license"] in made["license"]
    assert set(made["keywords"]) == set(PROJECT["keywords"])
    assert PROJECT["authors"] == [{"name": "enmesh developers"}]
    assert "enmesh developers" in json.dumps(made)


def test_the_conda_recipe_needs_what_the_package_needs():
    yaml = pytest.importorskip("yaml")
    recipe = yaml.safe_load((ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8"))
    run = {one.replace(" ", "") for one in recipe["requirements"]["run"] if not one.startswith("python ")}
    assert run == {one.replace("matplotlib>", "matplotlib-base>") for one in PROJECT["dependencies"]}
    assert f">={recipe['context']['python_min']}" == PROJECT["requires-python"]


def test_the_conda_recipe_of_a_release_is_filled_in(tmp_path):
    yaml = pytest.importorskip("yaml")
    sdist = tmp_path / "enmesh-1.2.3.tar.gz"
    sdist.write_bytes(b"sdist")
    command = [sys.executable, ROOT / "tools" / "conda_recipe.py", sdist, "https://example.org/e.tar.gz"]
    made = yaml.safe_load(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    assert made["context"]["version"] == "1.2.3"
    assert made["context"]["sha256"] == hashlib.sha256(b"sdist").hexdigest()
    assert made["source"]["url"] == "https://example.org/e.tar.gz"
    assert made["about"]["homepage"] == PROJECT["urls"]["Homepage"]


def test_the_workflows_test_the_pythons_that_are_promised():
    yaml = pytest.importorskip("yaml")
    flows = {path.stem: yaml.safe_load(path.read_text()) for path in (ROOT / ".github" / "workflows").glob("*.yml")}
    tested = flows["test"]["jobs"]["test"]["strategy"]["matrix"]["python"]
    promised = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    assert set(promised) <= set(tested)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.M)
    for flow in flows.values():
        for job in flow["jobs"].values():
            for step in job["steps"]:
                for target in re.findall(r"\bmake ([\w-]+)", step.get("run", "")):
                    assert target in targets
    assert flows["release"]["jobs"]["publish"]["permissions"] == {"id-token": "write"}


def test_the_badges_say_what_the_package_says():
    promised = [one.rsplit(" ", 1)[1] for one in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", one)]
    told = f"Python {', '.join(promised)}; {PROJECT['license']}; typed"
    drawn = (ROOT / "docs" / "_static" / "badges.svg").read_text(encoding="utf-8")
    assert f'aria-label="{told}"' in drawn
    assert f">{' | '.join(promised)}<" in drawn
    assert f"![{told}](docs/_static/badges.svg)" in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["enmesh.sbatch", "enmesh.yaml"])
def test_templates_of_clusters_parse_and_ask_for_options_that_are_there(name, shell):
    text = (ROOT / "docs" / "cluster" / name).read_text(encoding="utf-8")
    if name.endswith("yaml"):
        yaml = pytest.importorskip("yaml")
        parts = list(yaml.safe_load_all(text))
        assert [part["kind"] for part in parts] == ["Service", "Deployment", "Deployment", "Job"]
    else:
        subprocess.run(["bash", "-n", ROOT / "docs" / "cluster" / name], check=True)
        assert len(re.findall(r"^#SBATCH --[\w-]+=\S+$", text, re.M)) == len(re.findall(r"^#SBATCH", text, re.M)) == 6
    (line,) = re.findall(r"^.*\benmesh (infer .*)$", text, re.M)
    told = " ".join(shell("infer --help-all")[1].split())
    flags = re.findall(r"--[\w-]+", line)
    assert len(flags) == 4
    assert all(flag in told for flag in flags)


def test_the_paper_has_the_numbers_of_the_docs_and_is_short():
    sys.path.insert(0, str(ROOT / "tools"))
    from paper import PAPER, filled

    text = PAPER.read_text(encoding="utf-8")
    assert filled(text) == text, "run python tools/paper.py"
    body = text.split("---", 2)[2]
    assert len(re.sub(r"[|#*`\[\]@]", " ", body).split()) < 1000
    cited = set(re.findall(r"@([a-z]+\d{4})", body))
    assert cited == set(re.findall(r"^@\w+\{(\w+),", (PAPER.parent / "paper.bib").read_text(), re.M))


def test_a_file_is_at_most_25_calls_from_the_test_of_a_link(tmp_path):
    """ARCHITECTURE.md: the test of a link lies no deeper than 25 calls."""
    path = tmp_path / "walk.csv"
    enmesh.simulate.var("a>b, b>c", n=310, seed=5).to_csv(path)
    package = Path(enmesh.__file__).parent
    deepest: list[str] = []

    def follow(frame, event, _):
        nonlocal deepest
        if event != "call" or frame.f_code.co_name != "wilks_p":
            return
        calls = []
        while frame:
            place = Path(frame.f_code.co_filename)
            if place.is_relative_to(package) and not frame.f_code.co_name.startswith("<"):
                calls.append(".".join(place.relative_to(package).with_suffix("").parts))
            frame = frame.f_back
        deepest = max(deepest, calls, key=len)

    sys.setprofile(follow)
    try:
        assert ("a", "b") in enmesh.infer(path, progress=False)
    finally:
        sys.setprofile(None)
    assert 10 < len(deepest) <= 25
