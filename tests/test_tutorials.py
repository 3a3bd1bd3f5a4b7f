"""The tutorials say what happens: every block is run, and what it prints is compared, numbers within a tolerance."""

import doctest
import math
import re
import shlex
from pathlib import Path

import pytest

from enmesh.cli import main

PAGES = sorted((Path(__file__).parents[1] / "docs").glob("tutorial-*.md"))
NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?:e-?\d+)?(?![\w])")
# Nearest neighbours are found in single precision: another machine may round a distance differently.
RELATIVE, ABSOLUTE = 0.05, 0.011


class NearlyEqual(doctest.OutputChecker):
    """The same words, and nearly the same numbers; ``...`` on a line of its own stands for any lines."""

    def check_output(self, want, got, optionflags):
        return matches(want, got)


def matches(want, got):
    pattern = NUMBER.sub("#", want)
    words = [re.escape(part.strip("\n")) for part in re.split(r"^\.\.\.$", pattern, flags=re.M)]
    said = NUMBER.sub("#", got)
    if not re.fullmatch(r"(?:.*\n)*?".join(part + r"\n?" if part else "" for part in words), said):
        return False
    if len(words) > 1:  # only what comes before the gap can be laid side by side
        want = want[: re.search(r"^\.\.\.$", want, flags=re.M).start()]
    pairs = zip(NUMBER.findall(want), NUMBER.findall(got))
    return all(math.isclose(float(a), float(b), rel_tol=RELATIVE, abs_tol=ABSOLUTE) for a, b in pairs)


def test_the_comparison_can_fail():
    assert matches("a 0.50 b\n", "a 0.51 b\n")
    assert matches("a\n...\nz 1\n", "a\nanything\nz 1\n")
    assert not matches("a 0.50 b\n", "a 0.60 b\n")
    assert not matches("a 0.50 b\n", "a 0.50 c\n")
    assert not matches("a\n...\nz\n", "a\nanything\n")
    assert not matches("a\n", "a\nb\n")


LONG = {
    "tutorial-flows",
    "tutorial-markets",
    "tutorial-stability",
    "tutorial-heart",
    "tutorial-events",
    "tutorial-cortex",
    "tutorial-power",
    "tutorial-forecast",
    "tutorial-whatif",
}


@pytest.mark.parametrize(
    "page", [pytest.param(page, id=page.stem, marks=[pytest.mark.slow] * (page.stem in LONG)) for page in PAGES]
)
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_tutorial(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    text = page.read_text()
    blocks = re.findall(r"```(\w+)\n(.*?)```", text, re.S)
    assert {kind for kind, _ in blocks} <= {"python", "console"}
    python = "".join(body for kind, body in blocks if kind == "python")
    example = doctest.DocTestParser().get_doctest(python, {}, page.name, str(page), 0)
    assert len(example.examples) == python.count(">>> ") > 5
    runner = doctest.DocTestRunner(checker=NearlyEqual(), verbose=False)
    failures = []
    runner.run(example, out=failures.append)
    assert not failures, "".join(failures)
    for kind, body in blocks:
        if kind == "console":
            for command, said in re.findall(r"^\$ enmesh (.*)\n((?:(?!\$ ).*\n)*)", body, re.M):
                capsys.readouterr()
                assert main(shlex.split(command)) == 0
                out = capsys.readouterr().out
                assert matches(said, out), f"{command}\n{out}"


def test_there_are_tutorials():
    assert len(PAGES) >= 9
