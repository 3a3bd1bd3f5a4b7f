"""The five notebooks: whole files, run by a kernel as they are downloaded."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
sys.path.insert(0, str(DOCS))
from notebooks import notebooks, write_all  # noqa: E402

from tests.marks import rest_slow  # noqa: E402

NAMES = ["five-minutes", "my-recording", "how-sure", "several-subjects", "my-eeg"]
WRITTEN = {
    "five-minutes": ["five-minutes.png", "five-minutes.html"],
    "my-recording": ["my-recording.json"],
    "how-sure": ["how-sure.png"],
    "several-subjects": ["several-subjects.html"],
    "my-eeg": ["my-eeg.png", "my-eeg.node", "my-eeg.edge"],
}
SAID = {
    "five-minutes": "0.4782",
    "my-recording": "Remove the trend of river",
    "how-sure": "Interval(",
    "several-subjects": "0.75",
    "my-eeg": "ch1 helps predict ch2 8 ms later (0.401 nats",
}


def test_the_page_links_all_five(tmp_path):
    page = DOCS / "notebooks.md"
    text = page.read_text(encoding="utf-8")
    assert list(notebooks(page)) == NAMES
    for file in write_all(page, tmp_path):
        assert f'href="live/notebooks/{file.name}" download' in text


# Run behind the first notebook: what a kernel shows of an inference and of a series.
SHOWN = ["em.infer(series, estimator='gaussian', max_lag=2)", "series", "em.infer(series, progress=False)"]


@pytest.mark.parametrize("name", rest_slow(NAMES))
def test_a_notebook_runs_in_a_kernel(name, tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    if name == "my-eeg":
        pytest.importorskip("mne_connectivity")
    monkeypatch.chdir(tmp_path)
    made = nbformat.reads(json.dumps(notebooks(DOCS / "notebooks.md")[name]), 4)
    nbformat.validate(made)
    more = SHOWN if name == NAMES[0] else []
    made.cells += [nbformat.v4.new_code_cell(text) for text in more]
    updates = []

    class Client(nbclient.NotebookClient):
        def process_message(self, msg, cell, cell_index):
            if msg["msg_type"] == "update_display_data":
                updates.append((cell_index - len(made.cells), msg["content"]["data"]["text/html"]))
            return super().process_message(msg, cell, cell_index)

    Client(made, timeout=600, kernel_name="python3").execute()
    outputs = json.dumps([one for cell in made.cells for one in cell.get("outputs", [])])
    assert SAID[name] in outputs
    assert all((tmp_path / file).stat().st_size > 30 for file in WRITTEN[name])
    if more:
        assert any("<progress" in html for at, html in updates if at == -3)
        assert not any(at == -1 for at, _ in updates)
        results = [out for out in made.cells[-3].outputs if out.output_type == "execute_result"]
        assert "<iframe" in results[0].data["text/html"]
        assert "<svg" in made.cells[-2].outputs[0].data["text/html"]


def test_the_default_test_needs_no_numba_and_no_slow_part_of_scipy():
    """As the page says: Python in a browser has no numba."""
    code = (
        "import sys; sys.modules['numba'] = sys.modules['llvmlite'] = None\n"
        "import enmesh as em\n"
        "assert set(em.infer(em.simulate.var('a>b', n=300, seed=0))) == {('a', 'b')}\n"
        "assert not {'scipy.signal', 'scipy.stats'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
