"""The local page in a real browser: every step from a file to a network, and back again after the server was killed."""

import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.cli import main
from tests.test_app import LONG_RUN, READINGS, some_tests, troubled
from tests.test_browser import chromium  # noqa: F401 (a fixture)

pytestmark = pytest.mark.browser

PICTURES = Path(__file__).parents[1] / "docs" / "_static"
SIZES = {"laptop": (1280, 720), "wide": (1800, 1000), "phone": (390, 844)}
QUICK = {"estimator": "gaussian", "max_lag": "2"}
FEW = ("gas-furnace", "heart-breath", "cortex", "plankton", "markets", "plant", "logistic-maps", "mixed-flows")


class Served:
    """enmesh open as a process."""

    def __init__(self, folder, *words):
        self.folder, self.words = folder, words
        self.start()

    def start(self):
        environment = os.environ | {"XDG_CACHE_HOME": str(self.folder), "OMP_NUM_THREADS": "1"}
        line = [sys.executable, "-m", "enmesh", "open", *self.words, "--no-browser"]
        self.process = subprocess.Popen(line, env=environment, stdout=subprocess.PIPE, text=True, cwd=self.folder)
        for said in self.process.stdout:
            if found := re.search(r"http://\S+", said):
                self.address = found[0]
            if "Ctrl-C" in said:
                return
        raise AssertionError("enmesh open did not start")

    def kill(self):
        self.process.kill()
        self.process.wait()

    def stop(self):
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(20)

    @property
    def left(self):
        return sorted((self.folder / "enmesh" / "open").glob("*"))


@pytest.fixture(scope="module")
def served(tmp_path_factory):
    made = Served(tmp_path_factory.mktemp("served"))
    yield made
    assert made.stop() == 0
    assert made.left == []


class Screen:
    """A page of the browser, and what people do with it."""

    def __init__(self, browser, address, size="laptop", scheme="light"):
        width, height = SIZES[size]
        self.context = browser.new_context(
            viewport={"width": width, "height": height}, color_scheme=scheme, accept_downloads=True
        )
        self.width, self.noise, self.address = width, [], address
        self.page = self.tab()

    def tab(self):
        page = self.context.new_page()
        page.on("console", lambda message: self.noise.append(message.text))
        page.on("pageerror", lambda error: self.noise.append(str(error)))
        page.on(
            "request",
            lambda request: request.url.startswith((self.address, "blob:", "data:")) or self.noise.append(request.url),
        )
        page.goto(self.address)
        page.wait_for_selector("html[data-ready]", state="attached")
        return page

    def open(self, path, name=None):
        """Choose a file, and wait until it was looked at."""
        self.page.locator("#tabs .open").click()
        file = {"name": name, "mimeType": "text/csv", "buffer": Path(path).read_bytes()} if name else str(path)
        self.page.set_input_files("#file", file)
        self.looked()

    def looked(self):
        self.page.wait_for_selector("#go")
        self.page.wait_for_selector("#recording:not(.busy)", timeout=60_000)

    def set(self, name, value):
        """Fill in a field, as a person would."""
        field = self.page.locator(f"#field-{name}")
        field.evaluate("field => { field.closest('details').open = true }")
        if field.evaluate("field => field.tagName") == "SELECT":
            field.select_option(value)
        elif field.get_attribute("type") == "checkbox":
            field.locator("..").click()
        else:
            field.fill(", ".join(value) if isinstance(value, list) else value)
            field.press("Tab")
        self.page.wait_for_timeout(50)
        self.looked()

    def run(self, **values):
        for name, value in values.items():
            self.set(name, value)
        self.page.locator("#go").click()

    def done(self, seconds=90):
        self.page.wait_for_selector("#run iframe", timeout=1000 * seconds)
        return self.page.frame_locator("#run iframe")

    def call(self, path, **given):
        return self.page.evaluate(
            """([path, given]) => fetch(path, given && {method: 'POST', body: JSON.stringify(given)})
                .then(answer => answer.json())""",
            [path, given or None],
        )

    def text(self, where):
        return self.page.locator(where).first.inner_text()

    def fits(self):
        return self.page.evaluate("document.documentElement.scrollWidth") == self.width


@pytest.fixture
def screen(chromium, served, request):  # noqa: F811
    """Return a page as a laptop shows it; in the end it was silent, asked nobody else, and all is removed."""
    made = Screen(chromium, served.address, **getattr(request, "param", {}))
    yield made
    for one in made.call("state")["recordings"]:
        made.page.evaluate(
            "id => fetch('do/remove', {method: 'POST', body: JSON.stringify({recording: id})})", one["id"]
        )
    assert made.noise == []
    made.context.close()


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "rec.csv"
    em.simulate.var("a>b, b>c", n=300, seed=0).to_dataframe().to_csv(path, index=False)
    return path


@pytest.fixture
def slow(tmp_path):
    path = tmp_path / "slow.csv"
    em.simulate.coupled_map("a>b, b>c, c>d", n=700, coupling=0.2, noise=0.05, seed=0).to_dataframe().to_csv(
        path, index=False
    )
    return path


EVERYWHERE = [
    pytest.param({"size": size, "scheme": scheme}, id=f"{size}-{scheme}")
    for size in SIZES
    for scheme in ("light", "dark")
]


# --- opening ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("screen", EVERYWHERE, indirect=True)
def test_start_recording_and_run_fit_everywhere(screen, recording, request):
    scheme = request.node.callspec.params["screen"]["scheme"]
    assert screen.text("h1") == "Who drives whom?"
    assert screen.fits()
    screen.open(recording)
    assert screen.fits()
    shade = screen.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert shade == ("rgb(21, 23, 27)" if scheme == "dark" else "rgb(252, 251, 249)")
    box = screen.page.locator("#go").bounding_box()
    assert box["y"] + box["height"] < screen.page.viewport_size["height"]  # without scrolling
    screen.run(**QUICK)
    assert screen.done().locator(".node").count() == 3
    assert screen.fits()


def test_first_paint_takes_less_than_half_a_second(screen):
    times = []
    for _ in range(3):
        screen.page.reload()
        screen.page.wait_for_selector("html[data-ready]", state="attached")
        times.append(screen.page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime"))
    assert min(times) < 500


def test_a_file_is_dropped(screen, recording):
    screen.page.evaluate(
        """text => {
            const held = new DataTransfer();
            held.items.add(new File([text], 'dropped.csv', {type: 'text/csv'}));
            const drag = (kind) => dispatchEvent(new DragEvent(kind, {dataTransfer: held, cancelable: true}));
            for (const kind of ['dragenter', 'dragover']) drag(kind);
            window.seen = !document.getElementById('over').hidden;
            drag('drop');
        }""",
        recording.read_text(),
    )
    screen.looked()
    assert screen.page.evaluate("window.seen")
    assert screen.page.locator("#over").is_hidden()
    assert screen.text("#recording h1") == "dropped.csv"
    assert screen.text(".facts").split("\n")[:2] == ["3 nodes", "300 samples"]


def test_a_file_that_was_named_where_the_page_starts_is_there(chromium, recording, tmp_path):  # noqa: F811
    served = Served(tmp_path, str(recording))
    made = Screen(chromium, served.address)
    made.looked()
    assert made.text("#recording h1") == "rec.csv"
    made.context.close()
    assert served.stop() == 0
    assert served.left == []
    assert recording.exists()


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [("photo.png", b"\x89PNG\r\n\x1a\n\x00", "cannot read .png"),
     ("photo.csv", b"\x89PNG\r\n\x1a\n\x00\xff", "UTF-8"),
     ("empty.csv", b"", "empty"), ("words.csv", b"hello\nworld\n", "words.csv"),
     ("broken.npz", b"PK\x03\x04rubbish", "cannot be read")],
)  # fmt: skip
def test_a_wrong_file_is_refused_in_words(screen, tmp_path, name, content, said):
    (tmp_path / name).write_bytes(content)
    screen.open(tmp_path / name)
    assert said in screen.text("#recording .note")
    assert screen.page.locator("#go").is_disabled()


def test_a_file_that_is_too_large_is_not_sent(screen):
    screen.page.evaluate(
        """() => {
            const large = new File(['x'], 'large.csv');
            Object.defineProperty(large, 'size', {value: 1e9});
            send(large);
        }"""
    )
    assert "1000.0 MB" in screen.text("#said")
    assert screen.call("state")["recordings"] == []


def test_names_with_markup_are_text(screen, tmp_path):
    path = tmp_path / "rec.csv"
    odd = "<img src=x onerror=alert(1)>"
    troubled("trend").set_axis([odd, "<b>b</b>", "c&amp;"], axis=1).to_csv(path, index=False)
    screen.open(path, name="<script>alert(2)</script>.csv")
    assert screen.page.locator(".list b").all_inner_texts() == [odd, "<b>b</b>", "c&amp;"]
    screen.run(**QUICK)
    screen.done()
    assert screen.page.locator("img, main script").count() == 0


@pytest.mark.parametrize("name", FEW)
def test_an_example_is_one_click(screen, name):
    screen.page.wait_for_function(
        f"() => document.querySelectorAll('[data-name=\"{name}\"] .lines svg').length > 1", timeout=60_000
    )
    screen.page.locator(f'[data-name="{name}"]').click()
    screen.looked()
    assert screen.text("#recording h1") == f"{name}.csv"
    assert screen.page.locator(".list li").count() == len(em.datasets.load(name).names)
    assert screen.text("[data-lines='Command line']").split("\n") == [
        f"enmesh datasets {name} --out {name}.csv",
        f"enmesh infer {name}.csv",
    ]


# --- looking ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", READINGS)
def test_every_guess_of_reading_can_be_changed(screen, tmp_path, name):
    text, values, right = READINGS[name]
    path = tmp_path / "file.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    screen.open(path)
    for field, value in values.items():
        screen.set(field, value)
    found = screen.page.evaluate("looks[Object.keys(looks)[0]]")
    assert "error" not in found, found["error"]
    assert right(found)
    words = shlex.split(screen.text("[data-lines='Command line']"))
    assert f"--{name.replace('_', '-')}" in words or f"--no-{name}" in words


def test_a_fact_leads_to_the_field_that_changes_it(screen, recording):
    screen.open(recording)
    for name in ("columns", "rows", "time", "trials", "missing"):
        screen.page.locator(f"[data-fact={name}]").click()
        assert screen.page.evaluate("document.activeElement.id") == f"field-{name}"


@pytest.mark.parametrize("kind", ["trend", "stationarity", "season", "sentinel", "spike", "stuck"])
def test_a_switch_repairs_and_shows_before_and_after(screen, tmp_path, kind):
    path = tmp_path / "rec.csv"
    troubled(kind).to_csv(path, index=False)
    screen.open(path)
    badge = screen.page.locator(f"li[data-kind={kind}]")
    assert badge.locator("input").first.is_checked() is False
    command = screen.text("[data-lines='Command line']")
    badge.locator("label").first.click()
    screen.page.wait_for_function(
        "line => document.querySelector(\"[data-lines='Command line']\").textContent !== line", arg=command
    )
    screen.looked()
    if kind == "sentinel":  # it is a missing value now, for which there is a choice
        assert "missing" in screen.text("#recording .note")
        screen.page.locator(".fixes button").first.click()
        screen.page.wait_for_selector("li[data-kind=gaps]")
        return
    assert screen.page.locator(".spark.was").count() == 3
    assert "✓" in badge.locator(".badge").inner_text()
    badge.locator("label").first.click()
    screen.page.wait_for_selector(".spark.was", state="detached")
    assert screen.text("[data-lines='Command line']") == command


@pytest.mark.parametrize("kind", ["gaps", "constant", "copy"])
def test_what_cannot_be_used_is_set_right_by_a_click(screen, tmp_path, kind):
    path = tmp_path / "rec.csv"
    troubled(kind).to_csv(path, index=False)
    screen.open(path)
    assert screen.page.locator("#go").is_disabled()
    screen.page.locator(".fixes button").first.click()
    screen.page.wait_for_selector("#recording .note", state="detached")
    assert screen.page.locator("#go").is_enabled()


def test_several_faults_are_set_right_one_after_the_other(screen, tmp_path):
    table = troubled("gaps").assign(dead=1.0, twin=lambda one: one["a"])
    table.insert(0, "date", pd.date_range("2020-01-01", periods=len(table)))
    table[::-1].to_csv(tmp_path / "rec.csv", index=False)
    screen.open(tmp_path / "rec.csv")
    said = set()
    while screen.page.locator("#go").is_disabled():
        said.add(screen.text("#recording .note"))
        assert screen.page.locator(".list input").first.is_enabled()
        command = screen.text("[data-lines='Command line']")
        screen.page.locator(".fixes button").first.click()
        screen.page.wait_for_function(
            "line => document.querySelector(\"[data-lines='Command line']\").textContent !== line", arg=command
        )
        screen.looked()
    assert len(said) == 4
    assert screen.page.locator(".list li:not(.left) b").all_inner_texts() == ["a", "b", "c"]
    screen.run(**QUICK)
    screen.done()


def test_a_column_is_left_out_while_the_recording_cannot_be_used(screen, tmp_path):
    troubled("constant").to_csv(tmp_path / "rec.csv", index=False)
    screen.open(tmp_path / "rec.csv")
    assert screen.page.locator("#go").is_disabled()
    screen.page.get_by_label("Use b").uncheck()
    screen.page.wait_for_selector("#recording .note", state="detached")
    assert screen.page.locator(".list .left").inner_text().split() == ["b", "left", "out"]


@pytest.mark.parametrize("dims", ["trial,node,time", "node,trial,time"])
def test_axes_of_an_array_are_named_by_a_click(screen, tmp_path, dims):
    np.save(tmp_path / "cube.npy", np.random.default_rng(0).normal(size=(8, 5, 80)))
    screen.open(tmp_path / "cube.npy")
    if dims == "trial,node,time":
        assert "8 trials" in screen.text("#recording .note")
    screen.set("dims", dims)
    trials, nodes = (8, 5) if dims.startswith("trial") else (5, 8)
    assert screen.text(".facts").split("\n")[:2] == [f"{nodes} nodes", f"{80 * trials} samples"]
    assert screen.page.locator("#go").is_enabled()


def test_nodes_are_left_out_and_taken_back(screen, recording):
    screen.open(recording)
    screen.page.get_by_label("Use b").uncheck()
    screen.page.wait_for_selector(".list .left")
    assert "--columns a,c" in screen.text("[data-lines='Command line']")
    screen.page.get_by_label("Use b").check()
    screen.page.wait_for_selector(".list .left", state="detached")
    assert screen.text("[data-lines='Command line']") == "enmesh infer rec.csv"


def test_the_cost_is_said_before_the_start(screen, recording):
    screen.open(recording)
    screen.page.wait_for_function(
        "() => document.getElementById('cost').textContent.includes('measured on')", timeout=60_000
    )
    assert re.match(
        r"6 possible links among 3 nodes\. The search takes about (a second|\d+ s) \(measured on 3 nodes and 150",
        screen.text("#cost"),
    )


def test_choices_outlive_a_reload(screen, recording):
    screen.open(recording)
    screen.set("max_lag", "4")
    screen.page.reload()
    screen.looked()
    assert screen.page.locator("#field-max_lag").input_value() == "4"


# --- running ---------------------------------------------------------------------------------------------------------


def test_export_is_that_of_the_command_line_and_the_lines_repeat_it(screen, recording, tmp_path, monkeypatch):
    screen.open(recording)
    screen.run(detrend=True, **QUICK)
    screen.done()
    with screen.page.expect_download() as download:
        screen.page.locator("#export").click()
    assert download.value.suggested_filename == "rec-results.zip"
    pack = zipfile.ZipFile(io.BytesIO(Path(download.value.path()).read_bytes()))
    screen.page.locator("[data-view=repeat]").click()
    command, python = (screen.text(f"[data-lines='{name}']") for name in ("Command line", "Python"))
    monkeypatch.chdir(recording.parent)
    assert main(shlex.split(command)[1:]) == 0
    for name in ("network.json", "edges.csv", "network.png", "network.svg", "report.html"):
        assert pack.read(f"rec-results/{name}") == Path("rec-results", name).read_bytes(), name
    exec(python, names := {})
    coded, exported = json.loads(names["net"].to_json()), json.loads(pack.read("rec-results/network.json"))
    assert exported["provenance"].pop("command") == command
    assert coded == exported


def test_lines_are_copied(screen, recording):
    screen.context.grant_permissions(["clipboard-read", "clipboard-write"])
    screen.open(recording)
    screen.page.get_by_label("Copy: Python").click()
    assert screen.page.evaluate("navigator.clipboard.readText()") == screen.text("[data-lines=Python]")


def test_the_network_grows_and_a_cancelled_run_goes_on(screen, slow):
    screen.open(slow)
    screen.run(**{name: value for name, value in LONG_RUN.items() if name != "n_jobs"})
    screen.page.wait_for_selector("#arrows li", timeout=60_000)
    assert screen.page.locator("#growing .arrow").count() == screen.page.locator("#arrows li").count()
    assert "→" in screen.text("#arrows li")
    screen.page.locator("#cancel").click()
    screen.page.wait_for_selector("#resume")
    assert "kept" in screen.text("#phase")
    screen.page.locator("#resume").click()
    screen.done()
    assert screen.call("state")["runs"][0]["status"] == "done"


def test_a_killed_server_is_gone_on_with_in_the_same_tab(chromium, slow, tmp_path):  # noqa: F811
    served = Served(tmp_path)
    made = Screen(chromium, served.address)
    made.open(slow)
    made.run(**{name: value for name, value in LONG_RUN.items() if name != "n_jobs"})
    (folder,) = served.left
    some_tests(folder, 5)
    served.kill()
    made.page.wait_for_selector("#gone:visible")
    address = served.address
    served.start()
    assert served.address == address
    made.page.wait_for_selector("#resume", timeout=30_000)
    assert made.page.locator("#gone").is_hidden()
    made.page.locator("#resume").click()
    made.done()
    made.context.close()
    assert served.stop() == 0
    assert served.left == []


def test_two_tabs_of_the_browser_show_the_same(screen, recording):
    screen.open(recording)
    other = screen.tab()
    other.locator("#tabs .file").click()
    other.wait_for_selector("#go")
    screen.run(**QUICK)
    other.wait_for_selector("#tabs .done", timeout=60_000)
    other.locator("#tabs .done").click()
    other.wait_for_selector("#run iframe")
    assert other.url == screen.page.url


def test_several_runs_stand_side_by_side(screen, recording):
    screen.open(recording)
    screen.run(**QUICK)
    screen.done()
    screen.page.locator("#tabs .file").click()
    screen.looked()
    screen.run(max_lag="1")
    screen.done()
    assert screen.page.locator("#tabs .done").count() == 2
    screen.page.locator("[data-view=repeat]").click()
    screen.page.locator("#tabs .open").click()
    screen.page.locator("[data-name=gas-furnace]").click()
    screen.looked()
    screen.run()
    screen.done()  # a new run opens on its report, whatever was shown of the last one
    screen.page.locator("#tabs .file").first.click()
    screen.looked()
    screen.run(max_lag="3")
    screen.done()
    screen.page.locator("#tabs .both").click()
    frame = screen.page.frame_locator("#compare iframe")
    frame.locator(".sides svg").first.wait_for(timeout=30_000)
    assert frame.locator(".sides figure").count() == 2
    assert frame.locator(".sides figcaption").all_inner_texts() == ["rec 2", "rec 3"]
    screen.page.locator("#compare input").nth(1).uncheck()
    assert "two runs or more" in screen.text("#compare")


def test_links_can_be_explored_and_read_aloud(screen, recording):
    screen.open(recording)
    screen.run(**QUICK)
    frame = screen.done()
    arrow = frame.locator(".edge").first
    arrow.wait_for(state="attached", timeout=20_000)
    arrow.focus()
    arrow.press("Enter")
    frame.locator("#panel").wait_for()
    screen.page.locator(".spoken summary").click()
    assert screen.page.locator("#arrows li").all_inner_texts() == ["a drives b", "b drives c"]


@pytest.mark.parametrize("kind", ["graph", "circle", "matrix", "timegraph"])
def test_pictures_in_every_layout(screen, recording, kind):
    screen.open(recording)
    screen.run(**QUICK)
    screen.done()
    screen.page.locator("[data-view=pictures]").click()
    screen.page.locator("#layout").select_option(kind)
    screen.page.wait_for_function("() => document.querySelector('.picture img')?.naturalWidth > 100", timeout=30_000)
    with screen.page.expect_download() as download:
        screen.page.get_by_role("link", name="PNG").click()
    assert Path(download.value.path()).read_bytes().startswith(b"\x89PNG")


def test_a_change_is_followed_by_the_model(screen, recording):
    screen.open(recording)
    screen.run(**QUICK)
    screen.done()
    screen.page.locator("[data-view=whatif]").click()
    screen.page.wait_for_selector(".answer .said", timeout=30_000)
    first = screen.text(".answer .said")
    assert "A change of a by 1 for one sample moves b by" in first
    assert screen.page.locator(".answer .chart .band").count() == 1
    assert "Every link of the network is a cause" in screen.text(".answer ul")
    screen.page.locator("[name=target]").select_option("c")
    screen.page.wait_for_function("was => document.querySelector('.answer .said')?.textContent !== was", arg=first)
    assert "moves c by" in screen.text(".answer .said")
    screen.page.locator("[name=change]").fill("0")
    screen.page.locator("[name=change]").press("Tab")
    screen.page.wait_for_selector(".answer .note")
    assert "change=0.0 is not possible" in screen.text(".answer .note")
    assert screen.noise.pop().endswith("400 (Bad Request)")


def test_power_of_a_run(screen, recording):
    screen.open(recording)
    screen.run(**QUICK)
    screen.done()
    screen.page.locator("[data-view=power]").click()
    screen.page.wait_for_selector(".answer .said", timeout=30_000)
    first = screen.text(".answer .said")
    assert "With 300 samples linear links of at least" in first
    screen.page.locator("[name=te]").fill("0.01")
    screen.page.locator("[name=te]").press("Tab")
    screen.page.wait_for_function("was => document.querySelector('.answer .said')?.textContent !== was", arg=first)
    assert "A linear link of 0.01 nats is found" in screen.text(".answer .said")
    assert screen.page.locator(".answer .chart .mark").count() == 1


def test_notes_stand_on_the_report_that_is_saved(screen, recording):
    screen.open(recording)
    screen.run(**QUICK)
    screen.done()
    screen.page.locator("[data-view=notes]").click()
    screen.page.locator("#note-title").fill("Monday <1>")
    screen.page.locator("#note-text").fill("A first look.")
    with screen.page.expect_download() as download:
        screen.page.locator("#noted").click()
    html = Path(download.value.path()).read_text(encoding="utf-8")
    assert "Monday &lt;1&gt;" in html
    assert "A first look." in html


def test_a_refused_run_says_why_and_can_be_changed(screen, recording):
    screen.open(recording)
    screen.set("tiers", "a | nobody")
    screen.set("max_lag", "1")
    if screen.page.locator("#go").is_enabled():
        screen.page.locator("#go").click()
        screen.page.wait_for_selector("#resume")
        assert "nobody" in screen.text("#phase")
        screen.page.get_by_text("Change the choices").click()
    screen.set("tiers", "")
    screen.run(**QUICK)
    screen.done()


def test_everything_by_keyboard(screen):
    def reach(what):
        for _ in range(60):
            screen.page.keyboard.press("Tab")
            if screen.page.evaluate(f"document.activeElement.matches('{what}')"):
                return
        raise AssertionError(f"{what} cannot be reached")

    reach("[data-name=gas-furnace]")
    screen.page.keyboard.press("Enter")
    screen.looked()
    reach("#go")
    screen.page.keyboard.press("Enter")
    screen.done()
    reach("[data-view=pictures]")
    screen.page.keyboard.press("Enter")
    reach("#layout")
    reach("[data-view=report], #tabs .open, a")


def test_everything_has_a_name(screen, recording):
    screen.open(recording)
    for field in screen.page.locator("details").all():
        field.evaluate("one => { one.open = true }")
    nameless = """() => {
        const named = (one) => one.textContent.trim() || one.getAttribute('aria-label') || one.title
            || one.labels?.length || one.querySelector('title');
        const all = [...document.querySelectorAll('button, input, select, textarea, iframe, svg[role=img]')];
        return all.filter((one) => one.checkVisibility() && !named(one)).map((one) => one.outerHTML);
    }"""
    assert screen.page.evaluate(nameless) == []


def test_a_recording_is_kept_where_it_is_asked_for(chromium, recording, tmp_path):  # noqa: F811
    served = Served(tmp_path, "--folder", str(tmp_path / "study"))
    made = Screen(chromium, served.address)
    assert made.page.locator("#keep").is_checked()
    made.open(recording)
    made.context.close()
    assert served.stop() == 0
    served.start()
    again = Screen(chromium, served.address)
    again.looked()
    assert again.text("#recording h1") == "rec.csv"
    again.page.get_by_text("Close").click()
    again.page.wait_for_selector("#start:visible")
    again.context.close()
    served.stop()


def test_events_are_read_run_and_repeated_by_clicks(screen, tmp_path, monkeypatch):
    path = tmp_path / "spikes.csv"
    em.simulate.coupled_events("a>b", duration=120, seed=0).to_dataframe().to_csv(path, index=False)
    screen.open(path)
    assert screen.page.locator("#go").is_disabled()
    screen.page.get_by_role("button", name="Rows are events").click()
    screen.page.wait_for_selector("#recording .note", state="detached")
    counts = em.Events(str(path)).counts
    assert screen.text("[data-fact=events]") == f"{sum(counts.values())} events"
    assert f"{counts['a']} events" in screen.text(".list li")
    screen.page.locator("[data-fact=duration]").click()
    screen.set("duration", "120")
    assert screen.text("[data-fact=duration]") == "observed for 120"
    screen.page.wait_for_function(
        "() => document.getElementById('cost').textContent.includes('measured on')", timeout=60_000
    )
    screen.run()
    frame = screen.done()
    frame.locator(".node").first.wait_for(state="attached")
    screen.page.locator("[data-view=repeat]").click()
    command = screen.text("[data-lines='Command line']")
    assert command == "enmesh infer spikes.csv --events --duration 120"
    monkeypatch.chdir(tmp_path)
    exec(screen.text("[data-lines='Python']"), names := {})
    assert list(names["net"]) == [("a", "b")]


# --- the page of the docs --------------------------------------------------------------------------------------


def test_the_steps_of_the_docs_take_less_than_a_minute(chromium, tmp_path):  # noqa: F811
    """From the command to a network by clicks alone; the pictures of docs/open.md are taken on the way."""
    began, taken = time.monotonic(), {}
    served = Served(tmp_path)
    made = Screen(chromium, served.address)
    made.page.wait_for_function("() => document.querySelectorAll('.lines svg').length > 20", timeout=60_000)
    taken["open-start"] = made.page.screenshot()
    made.page.locator("[data-name=plankton]").click()
    made.looked()
    made.page.wait_for_function(
        "() => document.getElementById('cost').textContent.includes('measured on')", timeout=60_000
    )
    taken["open-look"] = made.page.screenshot()
    made.page.locator("#go").click()
    frame = made.done()
    seconds = time.monotonic() - began
    frame.locator(".node").first.wait_for(state="attached")
    made.page.wait_for_timeout(500)
    taken["open-run"] = made.page.screenshot()
    trouble = tmp_path / "field.csv"
    table = troubled("trend")
    pd.concat([table, troubled("spike")["c"].rename("d")], axis=1).to_csv(trouble, index=False)
    made.open(trouble)
    made.page.locator("li[data-kind=trend] label").click()
    made.page.wait_for_selector(".spark.was")
    taken["open-repair"] = made.page.screenshot()
    phone = Screen(chromium, served.address, size="phone", scheme="dark")
    phone.page.locator("#tabs .file").first.click()
    phone.looked()
    taken["open-phone"] = phone.page.screenshot()
    for one in (made, phone):
        assert one.noise == []
        one.context.close()
    served.stop()
    assert seconds < 60
    if os.environ.get("ENMESH_TAKE_PICTURES"):
        for name, picture in taken.items():
            (PICTURES / f"{name}.png").write_bytes(picture)
    named = re.findall(r"_static/(open-\w+)\.png", (PICTURES.parent / "open.md").read_text())
    assert sorted(named) == sorted(taken)
    assert all((PICTURES / f"{name}.png").exists() for name in taken)
