"""A notebook shows progress at once, in the output of the cell; a script and a terminal only after two seconds."""

import sys
import types

import pytest

from enmesh.inference import progress
from enmesh.inference.progress import Progress


class Handle:
    def __init__(self, shown):
        self.shown = shown

    def update(self, html):
        self.shown.append(html)


@pytest.fixture
def kernel(monkeypatch):
    """A process that looks like a notebook's kernel; returns what its cell shows."""
    shown = []
    shell = types.SimpleNamespace(kernel=object())
    ipython = types.ModuleType("IPython")
    ipython.get_ipython = lambda: shell
    pictures = types.ModuleType("IPython.display")
    pictures.HTML = str
    pictures.display = lambda html, display_id: Handle(shown)
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", pictures)
    return types.SimpleNamespace(shell=shell, shown=shown)


def display(given):
    return type(Progress(given)._show)


def test_progress_is_on_in_a_notebook_unless_it_is_switched_off(kernel):
    assert display(None) is display(True) is progress._Notebook
    assert display(False) is progress._Callback
    del kernel.shell.kernel  # IPython on a terminal
    assert display(None) is progress._Late


def test_a_quick_script_shows_nothing_unasked(capsys):
    assert display(None) is progress._Late
    assert display(True) is progress._Lines
    with Progress() as run, run.phase("testing links", total=4):
        run.advance(4)
    assert capsys.readouterr().err == ""


def test_the_bar_tells_and_goes(kernel, monkeypatch):
    monkeypatch.setattr(progress._Notebook, "pause", 0.0)
    with Progress() as run:
        with run.phase("<searching>"):
            assert "&lt;searching&gt;" in kernel.shown[-1]
            assert "value=" not in kernel.shown[-1]  # a bar without an end moves by itself
        with run.phase("testing links", total=4) as phase:
            phase.advance(1)
            assert 'value="0.2500"' in kernel.shown[-1]
            assert "1 of 4" in kernel.shown[-1]
    assert kernel.shown[-1] == ""
