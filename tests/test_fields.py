"""The notebooks of the ten fields: whole files that run as downloaded, and find what is true."""

import json
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from notebooks import notebooks, write_all  # noqa: E402

from tests.marks import rest_slow  # noqa: E402

MADE = notebooks(DOCS / "fields.md")
TRUE = {
    "eeg": {("ch1", "ch2"), ("ch1", "ch3"), ("ch1", "ch4"), ("ch4", "ch5"), ("ch5", "ch4")},
    "fmri": {("visual", "parietal"), ("parietal", "motor")},
    "spikes": {("a", "b"), ("b", "c")},
    "climate": {("pacific", "atlantic"), ("pacific", "monsoon")},
    "ecology": {("temperature", "algae"), ("grazers", "algae"), ("algae", "grazers")},
    "rivers": {("north", "meeting"), ("south", "meeting"), ("meeting", "mouth")},
    "plant": {("valve", "flow"), ("flow", "level"), ("level", "temperature")},
    "markets": {("america", "europe"), ("america", "asia"), ("europe", "asia")},
    "servers": {("gateway", "service"), ("service", "database")},
    "genes": {("sig", "tf"), ("tf", "g1"), ("tf", "g2"), ("g2", "g3")},
}


def test_there_are_ten_and_the_page_links_them(tmp_path):
    text = (DOCS / "fields.md").read_text(encoding="utf-8")
    assert set(MADE) == set(TRUE)
    files = write_all(DOCS / "fields.md", tmp_path)
    for file in files:
        assert f'href="live/fields/{file.name}" download' in text
        made = json.loads(file.read_text(encoding="utf-8"))
        assert (made["nbformat"], made["nbformat_minor"]) == (4, 5)
        assert {cell["cell_type"] for cell in made["cells"]} == {"markdown", "code"}
        assert all(cell["id"] and "source" in cell for cell in made["cells"])


@pytest.mark.parametrize("name", rest_slow(["climate", *sorted(TRUE.keys() - {"climate"})]))
@pytest.mark.filterwarnings("ignore")
def test_a_notebook_runs_and_finds_the_links(name, tmp_path, monkeypatch):
    import matplotlib as mpl

    mpl.use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {}
    for cell in MADE[name]["cells"]:
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), name, "exec"), names)
    assert TRUE[name] <= set(names["net"])
    assert (tmp_path / f"{name}.html").stat().st_size > 20_000
