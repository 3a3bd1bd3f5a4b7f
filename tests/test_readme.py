"""What the README shows runs as it stands."""

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()


@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_the_python_block_runs(tmp_path, monkeypatch, capsys):
    (block,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len(block.strip().splitlines()) == 5
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    assert {(e.source, e.target) for e in names["net"].edges.itertuples()} == {("a", "b"), ("b", "c")}
    assert (tmp_path / "report.html").exists()
    assert "q_value" in capsys.readouterr().out


def test_links_lead_somewhere():
    for page in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        for link in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
            drawn = link.startswith(f"_gallery/{page.stem}/") and f'"{Path(link).name}"' in page.read_text()
            assert link.startswith("http") or drawn or (page.parent / link).exists(), f"{page.name}: {link}"


def test_the_numbers_are_those_of_the_pages():
    sys.path.insert(0, str(ROOT / "tools"))
    from readme_numbers import filled

    assert filled(README) == README, "run: python tools/readme_numbers.py"


def test_it_fits_on_a_screen_and_a_half():
    assert len(README.splitlines()) <= 90
