"""What surrounds the package: lowest versions, citation, changelog, types, hooks."""

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


def test_versions_agree():
    assert enmesh.__version__ == PROJECT["version"]
    assert f"\nversion: {PROJECT['version']}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    newest = re.search(r"^## \[(.+?)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert newest[1] == PROJECT["version"]


def test_types_are_handed_on():
    assert (files("enmesh") / "py.typed").is_file()


@pytest.mark.parametrize("name", ["CITATION.cff", ".pre-commit-config.yaml"])
def test_yaml_can_be_read(name):
    yaml = pytest.importorskip("yaml")
    assert yaml.safe_load((ROOT / name).read_text(encoding="utf-8"))
