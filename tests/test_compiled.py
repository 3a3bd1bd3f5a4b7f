"""Kernels are compiled once, kept where a folder can be written, and work where none can."""

import logging
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from tools import warm

import enmesh
from enmesh import compiled

COUNT = """
import numpy as np
from enmesh.neighbours.cpu import Neighbours
from enmesh.compiled import notice
y, z = np.random.default_rng(0).normal(size=(2, 30, 1))
print(*Neighbours(y, z)._z_tree.order, len(notice.compiled) > 0, notice.unkept)
"""


def run(package: Path, cache: Path, home: Path):
    env = os.environ | {"PYTHONPATH": str(package), "NUMBA_CACHE_DIR": str(cache), "HOME": str(home)}
    env |= {"XDG_CACHE_HOME": str(home / "cache")}
    done = subprocess.run([sys.executable, "-c", COUNT], env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    *order, fresh, unkept = done.stdout.split()
    return order, fresh == "True", unkept == "True", done.stderr


@pytest.mark.slow
def test_kernels_are_kept_and_it_is_said_once_that_they_are_compiled(tmp_path):
    package = Path(enmesh.__file__).parents[1]
    order, fresh, unkept, said = run(package, tmp_path / "kept", tmp_path)
    assert fresh
    assert not unkept
    assert said.count("compiling kernels, once on this machine") == 1
    again = run(package, tmp_path / "kept", tmp_path)
    assert again == (order, False, False, "")


@pytest.mark.slow
def test_where_no_folder_can_be_written_kernels_work_all_the_same(tmp_path):
    package, nowhere = tmp_path / "src", tmp_path / "file"
    nowhere.write_text("a file is no folder")
    shutil.copytree(Path(enmesh.__file__).parent, package / "enmesh", ignore=shutil.ignore_patterns("__pycache__"))
    for folder in [package / "enmesh", *(f for f in (package / "enmesh").rglob("*") if f.is_dir())]:
        (folder / "__pycache__").write_text("a file is no folder")
    _, fresh, unkept, said = run(package, nowhere / "kernels", nowhere)
    assert fresh
    assert unkept
    assert "no folder can be written to keep them" in said


def test_functions_of_others_are_not_reported(caplog):
    from numba import njit

    before = list(compiled.notice.compiled)
    with caplog.at_level(logging.WARNING, logger="enmesh"):
        assert njit(lambda a: a + 1)(np.int64(1)) == 2
    assert compiled.notice.compiled == before
    assert not caplog.records


@pytest.mark.parametrize("name", warm.questions())
def test_warming_compiles_what_a_question_needs(name):
    """What was compiled once is there for the same question."""
    ask = warm.questions()[name]
    ask()
    before = len(compiled.notice.compiled)
    ask()
    assert len(compiled.notice.compiled) == before
    assert not compiled.notice.unkept
