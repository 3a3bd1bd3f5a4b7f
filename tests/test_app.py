"""The server of the local page: what it refuses, what it reads, and that its runs are those of the command line."""

import asyncio
import io
import json
import os
import random
import re
import signal
import subprocess
import sys
import threading
import time
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.app import form, server
from enmesh.app.look import Reader
from enmesh.app.session import Session
from enmesh.cli import arguments, build, main
from enmesh.cli.infer import infer
from enmesh.inference import store
from tests.marks import rest_slow

TestClient = pytest.importorskip("starlette.testclient").TestClient
PORT = 8123


@pytest.fixture
def session(tmp_path):
    made = Session(tmp_path / "page")
    made.port = PORT
    return made


@pytest.fixture
def client(session):
    """Requests of the page itself; the session ends with it."""
    with TestClient(server.application(session), base_url=f"http://127.0.0.1:{PORT}/{session.token}/") as made:
        yield made
        made.portal.call(session.close)


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "rec.csv"
    em.simulate.var("a>b, b>c", n=300, seed=0).to_dataframe().to_csv(path, index=False)
    return path


def upload(client, path, name=None):
    answer = client.post("upload", content=path.read_bytes(), headers={"x-name": name or path.name})
    assert answer.status_code == 200, answer.text
    return answer.json()


def do(client, action, **given):
    answer = client.post(f"do/{action}", json=given)
    assert answer.status_code == 200, answer.text
    return answer.json()


def finished(client, key, seconds=90):
    """Wait until a run has ended, and return it."""
    until, seen = time.monotonic() + seconds, -1
    while time.monotonic() < until:
        state = client.get(f"state?seen={seen}").json()
        seen = state["version"]
        run = next(one for one in state["runs"] if one["id"] == key)
        if run["status"] not in ("waiting", "running"):
            return run
    raise AssertionError(f"still {run}")


# --- the table --------------------------------------------------------------------------------------------------------

EXAMPLES = {
    "time": "ignore", "trials": "who", "columns": ["a", "b"], "rows": "1:9", "states": ["a"], "missing": "drop",
    "na": ["-999"], "header": "yes", "units": "no", "skip": "2", "decimal": ",", "thousands": " ",
    "encoding": "latin-1", "date_format": "%d.%m.%Y", "variable": "x", "sheet": "two", "pivot": "t,v,x",
    "transpose": "no", "dt": "0.5", "sfreq": "250", "detrend": True, "season": "12", "difference": True,
    "standardise": True, "bins": "3",
    "mask": ["1:3", "7:9"], "max_lag": "4", "level": "0.05", "acyclic": True, "context": ["a"],
    "fdr": "0.05",
    "estimator": "ksg", "score": "tea", "surrogate": "shift", "n_surrogates": "99", "dim": "2", "delay": "1",
    "max_parents": "2", "search": "exact", "screen": "no", "require": ["a:b"], "forbid": ["b:a"],
    "tiers": "a | b", "bootstrap": "2", "n_jobs": "2", "seed": "5",
    "events": True, "node": "unit", "duration": "120", "mend": ["sort", "outside"], "target_history": "2",
    "source_history": "2", "dims": "trial,node,time", "drop_constant": True, "resample": "1.5",
}  # fmt: skip
READ_AS = {"columns": ["a,b"], "context": ["a"], "header": True, "units": False, "transpose": False, "screen": False}


@pytest.mark.parametrize("field", form.FIELDS, ids=lambda field: field.name)
def test_every_field_is_an_option_of_the_command_line(field):
    given = form.typed(form.words_of("rec.csv", {field.name: EXAMPLES[field.name]}))
    usual = form.typed(form.words_of("rec.csv", {}))
    value = READ_AS.get(field.name, EXAMPLES[field.name])
    found = given[field.name]
    assert found != usual[field.name] or field.name == "n_jobs"
    assert found == value or str(found) == str(value) or found == [value] or float(found) == float(value)
    assert {name for name in given if given[name] != usual[name]} - {"typed"} == {field.name}


def test_the_table_offers_what_infer_takes_but_for_files_and_odd_fields():
    left = {*arguments.options_of(infer)} - {field.name for field in form.FIELDS}
    assert {"data", "json", "quiet", "out", "formats", "force", "resume"} <= left
    assert all(row["help"] and row["flag"].startswith("--") for row in form.described())
    assert "ksg" in next(row for row in form.described() if row["name"] == "estimator")["suggested"]


def test_values_that_no_field_holds_are_refused():
    for values in ([], {"data": "x"}, {"dim": {"a": 1}}, {"dim": [None]}, {"tiers": "x" * 5000}, {"out": "/etc"}):
        with pytest.raises(em.InputError):
            form.checked(values)


def test_what_the_command_line_refuses_is_refused_in_its_words():
    with pytest.raises(em.InputError, match="--max-lag"):
        form.typed(form.words_of("rec.csv", {"max_lag": "many"}))


def test_a_value_or_file_that_looks_like_an_option_is_none():
    given = form.typed(form.words_of("--force", {"na": ["-999", "-1"], "encoding": "--force"}))
    assert (str(given["data"][0]), given["na"], given["encoding"]) == ("--force", ["-999,-1"], "--force")
    assert not given["force"]


@pytest.mark.parametrize(
    "values",
    [
        {},
        {"columns": ["b", "c"], "detrend": True, "mask": ["11:20", "40:42"], "difference": True},
        {"estimator": "gaussian", "score": "bic", "dim": "2", "require": ["a:b"], "seed": "3"},
        {"estimator": "gaussian", "score": "tea", "level": "0.05", "acyclic": True, "tiers": "a | b c"},
        {"bins": "3", "estimator": "discrete", "rows": "5:250", "max_lag": "1"},
    ],
)
@pytest.mark.filterwarnings("ignore::enmesh.HazardWarning")
def test_lines_of_python_give_the_network_of_the_command(values, recording, monkeypatch):
    monkeypatch.chdir(recording.parent)
    monkeypatch.setattr(em.Network, "plot", lambda network, path: path.touch())
    words = form.words_of("rec.csv", form.checked(values))
    given = form.typed(words)
    assert main([*words, "-q"]) == 0
    names = {}
    exec(form.python_of(given, build.recording(given)), names)
    typed, coded = (json.loads(Path("rec-results/network.json").read_text()), json.loads(names["net"].to_json()))
    for one in (typed, coded):
        one["provenance"].pop("command", None)
    assert coded == typed


# --- events ----------------------------------------------------------------------------------------------------


@pytest.fixture
def spikes(tmp_path):
    path = tmp_path / "spikes.csv"
    em.simulate.coupled_events("a>b", duration=120, seed=0).to_dataframe().to_csv(path, index=False)
    return path


def test_a_table_of_events_is_known_by_its_columns_and_shown(spikes):
    plain = Reader().look(str(spikes), {})
    assert plain["fixes"][0] == {"name": "events", "value": True, "label": "Rows are events"}

    found = Reader().look(str(spikes), {"events": True, "duration": "120"})
    events = em.Events(str(spikes), 120)
    assert (found["names"], found["facts"]["events"], found["facts"]["duration"]) == (["a", "b"], len(events), 120)
    assert [(row["events"], sum(row["line"])) for row in found["nodes"]] == [(n, n) for n in events.counts.values()]
    assert not found["facts"]["guessed"]
    assert Reader().look(str(spikes), {"events": True})["facts"]["guessed"]
    left = Reader().look(str(spikes), {"events": True, "columns": ["b"]})
    assert (left["names"], [row["name"] for row in left["nodes"]]) == (["a", "b"], ["b"])


def test_what_has_no_effect_on_events_is_refused(spikes):
    for values in ({"detrend": True}, {"bins": "3"}, {"mask": ["1:3"]}, {"rows": "1:9"}):
        assert "events" in Reader().look(str(spikes), {"events": True} | values).get("error", ""), values


def test_a_run_of_events_is_that_of_the_command_line(client, spikes, monkeypatch):
    key, values = upload(client, spikes), {"events": True, "duration": "120"}
    found = do(client, "look", recording=key, values=values)
    cost = do(client, "cost", recording=key, values=values)
    assert cost["seconds"] > 0
    run = finished(client, do(client, "run", recording=key, values=values))
    assert (run["status"], run["command"]) == ("done", found["command"])
    monkeypatch.chdir(spikes.parent)
    assert main(run["command"].split()[1:]) == 0
    pack = zipfile.ZipFile(io.BytesIO(client.get(f"runs/{run['id']}/results.zip").content))
    for name in ("network.json", "edges.csv", "report.html"):
        assert pack.read(f"spikes-results/{name}") == Path("spikes-results", name).read_bytes(), name
    exec(run["python"], names := {})
    coded, typed = json.loads(names["net"].to_json()), json.loads(pack.read("spikes-results/network.json"))
    assert typed["provenance"].pop("command") == run["command"]
    assert coded == typed
    assert run["arrows"] == [["a", "b"]]


# --- reading ---------------------------------------------------------------------------------------------------

PLAIN = "a,b,c\n" + "\n".join(f"{np.sin(i):.3f},{np.cos(3 * i):.3f},{(i * 7919) % 101 / 7:.3f}" for i in range(60))
DATED = "day,a,b\n" + "\n".join(
    f"{1 + i % 28:02d}.{1 + i // 28:02d}.2020,{np.sin(i):.3f},{np.cos(i * i):.3f}" for i in range(56)
)
STATES = "a,b,mood\n" + "\n".join(f"{np.sin(i):.3f},{np.cos(i * i):.3f},{i % 2}" for i in range(60))
LONG = "t,v,x\n" + "\n".join(f"{i},{v},{np.sin(i * (1 + (v == 'b'))):.3f}" for i in range(40) for v in "ab")
TRIALS = "who,a,b\n" + "\n".join(f"{i // 30},{np.sin(i):.3f},{np.cos(i * i):.3f}" for i in range(60))
READINGS = {
    "time": (PLAIN.replace("a,b,c", "time,b,c"), {"time": ["none"]}, lambda s: s["facts"]["nodes"] == 3),
    "trials": (TRIALS.replace("who", "part"), {"trials": "part"}, lambda s: s["facts"]["trials"] == 2),
    "columns": (PLAIN, {"columns": ["c", "a"]}, lambda s: [n["name"] for n in s["nodes"]] == ["c", "a"]),
    "rows": (PLAIN, {"rows": "11:40"}, lambda s: s["facts"]["samples"] == 30),
    "states": (STATES, {"states": ["mood"]}, lambda s: s["nodes"][2]["kind"] == "text"),
    "missing": (PLAIN.replace("0.909", "", 1), {"missing": "drop"}, lambda s: s["facts"]["missing"] == 1),
    "na": (
        PLAIN.replace("0.909", "oops", 1), {"na": ["oops"], "missing": "drop"}, lambda s: s["facts"]["missing"] == 1,
    ),
    "header": (PLAIN.split("\n", 1)[1], {"header": "no"}, lambda s: s["facts"]["samples"] == 60),
    "units": ("a,b,c\nmV,mV,s\n" + PLAIN.split("\n", 1)[1], {"units": "yes"}, lambda s: s["facts"]["samples"] == 60),
    "skip": ("made by a device\n" + PLAIN, {"skip": "1"}, lambda s: s["names"] == ["a", "b", "c"]),
    "decimal": (
        PLAIN.replace(",", ";").replace(".", ","), {"decimal": ","}, lambda s: s["nodes"][0]["range"][1] <= 1,
    ),
    "thousands": (
        PLAIN.replace(",", ";").replace(".", ","), {"decimal": ",", "thousands": "."},
        lambda s: s["nodes"][0]["range"][1] <= 1,
    ),
    "encoding": (PLAIN.replace("a,", "ä,", 1).encode("latin-1"), {"encoding": "latin-1"}, lambda s: "ä" in s["names"]),
    "date_format": (DATED, {"date_format": "%d.%m.%Y", "time": ["day", "ignore"]}, lambda s: s["facts"]["nodes"] == 2),
    "pivot": (LONG, {"pivot": "t,v,x"}, lambda s: s["names"] == ["a", "b"]),
    "transpose": (
        "\n".join(",".join(f"{np.sin(i * j):.3f}" for i in range(1, 60)) for j in (1, 2)),
        {"transpose": "yes", "header": "no"}, lambda s: s["facts"]["nodes"] == 2,
    ),
    "drop_constant": (
        "a,b,c\n" + "\n".join(f"{np.sin(i):.3f},5,{np.cos(i * i):.3f}" for i in range(60)), {"drop_constant": True},
        lambda s: [n["name"] for n in s["nodes"]] == ["a", "c"],
    ),
    "resample": (
        "time,a,b\n" + "\n".join(f"{i + i % 3 / 5:.1f},{np.sin(i):.3f},{np.cos(i * i):.3f}" for i in range(60)),
        {"resample": "2"}, lambda s: s["facts"]["step"] == "2",
    ),
    "dt": (PLAIN, {"dt": "0.5"}, lambda s: s["facts"]["step"] == "0.5"),
    "sfreq": (PLAIN, {"sfreq": "250"}, lambda s: s["facts"]["step"] == "0.004"),
}  # fmt: skip
# Words that say what was found without them.
FOUND = {"decimal", "thousands", "units", "skip", "header", "transpose", "date_format"}


@pytest.mark.parametrize("name", READINGS)
def test_every_word_of_reading_changes_what_is_read(name, tmp_path):
    text, values, right = READINGS[name]
    path = tmp_path / "file.csv"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    reader = Reader()
    plain, found = reader.look(str(path), {}), reader.look(str(path), form.checked(values))
    assert "error" not in found, found["error"]
    assert right(found)
    assert f"--{name.replace('_', '-')} " in f"{found['command']} " or f"--no-{name}" in found["command"]
    same = all(found[key] == plain.get(key) for key in ("facts", "nodes"))
    assert not same or name in FOUND


@pytest.mark.parametrize("name", ["variable", "sheet", "dims"])
def test_one_of_several_arrays_or_sheets(name, tmp_path):
    rng = np.random.default_rng(0)
    if name == "variable":
        path = tmp_path / "two.npz"
        np.savez(path, x=rng.normal(size=(50, 2)), y=rng.normal(size=(40, 3)))
    elif name == "dims":
        path = tmp_path / "cube.npy"
        np.save(path, rng.normal(size=(5, 3, 40)))
        found = Reader().look(str(path), {"dims": "trial,node,time"})
        assert (found["facts"]["nodes"], found["facts"]["samples"], found["facts"]["trials"]) == (3, 200, 5)
        return
    else:
        path = tmp_path / "two.xlsx"
        with pd.ExcelWriter(path) as book:
            for sheet, size in (("x", (50, 2)), ("y", (40, 3))):
                pd.DataFrame(rng.normal(size=size), columns=list("abc")[: size[1]]).to_excel(
                    book, sheet_name=sheet, index=False
                )
    found = Reader().look(str(path), {name: "y"})
    assert (found["facts"]["nodes"], found["facts"]["samples"]) == (3, 40)


def troubled(kind):
    """Return a table with one trouble, and what sets it right."""
    rng, n = np.random.default_rng(3), 400
    table = pd.DataFrame(rng.normal(size=(n, 3)), columns=list("abc"))
    if kind == "trend":
        table["b"] += np.arange(n) / 20
    elif kind == "stationarity":
        table["b"] = table["b"].cumsum()
    elif kind == "season":
        for name in "ab":
            table[name] += 3 * np.sin(2 * np.pi * np.arange(n) / 20)
    elif kind == "sentinel":
        table.loc[[5, 50], "c"] = -999
    elif kind == "spike":
        table.loc[[7, 90, 91], "c"] = 1e4
    elif kind == "stuck":
        table.loc[100:160, "a"] = 0.5
    elif kind == "gaps":
        table.loc[20:24, "b"] = np.nan
    elif kind == "constant":
        table["b"] = 1.0
    elif kind == "copy":
        table["d"] = table["a"]
    elif kind == "synchronisation":
        table["d"] = table["a"] + 1e-3 * rng.normal(size=n)
    return table


@pytest.mark.parametrize("kind", ["trend", "stationarity", "season", "sentinel", "spike", "stuck", "synchronisation"])
def test_what_misleads_is_repaired_by_its_switch(kind, tmp_path):
    path = tmp_path / "rec.csv"
    troubled(kind).to_csv(path, index=False)
    reader, values = Reader(), {}
    for _ in range(3):  # a repair may ask for another: what is no value must be left out
        found = reader.look(str(path), values)
        if "error" in found:
            fixes = found["fixes"]
        else:
            badge = next((one for one in found["badges"] if one["kind"] == kind), None)
            if badge is None or badge["repaired"]:
                break
            fixes = badge["fixes"]
        assert fixes, found
        values = values | {fixes[0]["name"]: fixes[0]["value"]}
    assert "error" not in found
    assert badge is None or badge["repaired"]
    assert values
    changed = [node for node in found["nodes"] if node["before"] is not None]
    assert changed or kind in ("sentinel", "synchronisation")


@pytest.mark.parametrize(("kind", "name"), [("gaps", "missing"), ("constant", "drop_constant"), ("copy", "columns")])
def test_what_cannot_be_read_says_what_would_help(kind, name, tmp_path):
    path = tmp_path / "rec.csv"
    troubled(kind).to_csv(path, index=False)
    reader = Reader()
    found = reader.look(str(path), {})
    fix = next(one for one in found["fixes"] if one["name"] == name)
    after = reader.look(str(path), {name: fix["value"]})
    assert found["error"]
    assert "error" not in after
    assert found["names"] == after["names"]
    if kind == "gaps":
        assert [one["nodes"] for one in after["badges"] if one["kind"] == "gaps"] == [["b"]]


def test_a_value_that_is_no_number_is_an_error_on_the_page(tmp_path):
    path = tmp_path / "rec.csv"
    troubled("gaps").to_csv(path, index=False)
    found = Reader().look(str(path), {"max_lag": "many"})
    assert "--max-lag" in found["error"]
    assert found["names"] == []


@pytest.mark.parametrize("seed", rest_slow(range(12), 4))
def test_what_is_offered_first_leads_to_a_recording_whatever_comes_together(seed, tmp_path):
    """Several faults in one table: the first switch of each message is taken until there is a recording."""
    rng = random.Random(seed)
    table, faults = troubled("none"), rng.sample(["gaps", "constant", "copy", "date", "newest", "word", "percent"], 4)
    if "gaps" in faults:
        table.loc[20:24, "b"] = np.nan
    if "constant" in faults:
        table.insert(0, "dead", 1.0)
    if "copy" in faults:
        table["twin"] = table["a"]
    if "word" in faults:
        table["c"] = table["c"].astype(object)
        table.loc[7, "c"] = "?"
    if "percent" in faults:
        table["rate"] = [f"{value:.2f}%" for value in table["a"] ** 2]
    if {"date", "newest"} & {*faults}:
        table.insert(1, "date", pd.date_range("2020-01-01", periods=len(table)))
    if "newest" in faults:
        table = table[::-1]
    path, reader, values, said = tmp_path / "rec.csv", Reader(), {}, []
    table.to_csv(path, index=False)
    while "error" in (found := reader.look(str(path), values)):
        said.append(found["error"])
        assert len(said) < 8, said
        assert found["fixes"], said
        values = values | {found["fixes"][0]["name"]: found["fixes"][0]["value"]}
    assert {"a", "b"} <= {node["name"] for node in found["nodes"]} <= {"a", "b", "c", "twin", "rate"}
    assert found["facts"]["samples"] == len(table)


def test_names_that_cannot_be_seen_or_hold_markup_come_as_text(tmp_path):
    path = tmp_path / "rec.csv"
    table = troubled("none").set_axis(["<img src=x onerror=alert(1)>", "b\u200b", "c"], axis=1)
    table.to_csv(path, index=False)
    found = Reader().look(str(path), {})
    assert found["nodes"][0]["shown"] == "<img src=x onerror=alert(1)>"
    assert found["nodes"][1]["shown"] == "b\\u200b"


# --- who may ask ------------------------------------------------------------------------------------------------------


def test_only_those_who_know_the_address_are_answered(client, session):
    outside = TestClient(client.app, base_url=f"http://127.0.0.1:{PORT}/")
    for path in ("", "state", "do/run", "wrong/", f"{session.token}", f"{session.token[:-1]}x/state", "%2e%2e/"):
        assert outside.get(path).status_code == 403, path
    assert client.get("").status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.com",
        f"evil.com:{PORT}",
        "127.0.0.1",
        "127.0.0.1:1",
        f"127.0.0.1.evil.com:{PORT}",
        f"192.168.0.7:{PORT}",
        "",
    ],
)
def test_a_foreign_host_is_refused(client, host):
    assert client.get("", headers={"host": host}).status_code == 403


@pytest.mark.parametrize(
    "origin", ["http://evil.com", "null", f"https://127.0.0.1:{PORT}", f"http://localhost:{PORT}", "http://127.0.0.1"]
)
def test_a_foreign_origin_is_refused(client, origin):
    assert client.get("", headers={"origin": origin}).status_code == 403
    assert client.post("do/keep", json={"keep": True}, headers={"origin": origin}).status_code == 403


def test_the_page_itself_is_answered(client):
    assert client.get("", headers={"origin": f"http://127.0.0.1:{PORT}"}).status_code == 200
    assert client.get("", headers={"host": f"localhost:{PORT}"}).status_code == 200


def test_in_a_network_numbers_are_answered_and_names_are_not(session):
    app = server.application(session, "0.0.0.0")
    outside = TestClient(app, base_url=f"http://127.0.0.1:{PORT}/{session.token}/")
    for host, status in ((f"192.168.0.7:{PORT}", 200), (f"evil.com:{PORT}", 403), (f"[fe80::1]:{PORT}", 200)):
        assert outside.get("", headers={"host": host}).status_code == status


def test_pages_run_their_own_scripts_alone(client):
    answer = client.get("")
    policy = answer.headers["content-security-policy"]
    assert "unsafe" not in policy
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert not re.search(
        r"\son\w+=|style=|src=|https?://(?!www\.w3)", re.sub(r"<(script|style).*?</\1>", "", answer.text, flags=re.S)
    )
    for path in ("state", "nowhere", "do/nothing"):
        found = client.get(path)
        assert found.headers["x-content-type-options"] == "nosniff"
        assert "default-src 'none'" in found.headers["content-security-policy"]


@pytest.mark.parametrize(
    "path",
    ["../session.json", "..%2fsession.json", "runs/../../session.json/report", "runs/..%2f..%2f/report",
     "session.json",
     "runs/x/report", "runs/x/results.zip", "runs/x/graph.svg", "runs/x/..%2f..%2fetc.svg",
     "several?run=x", "/etc/passwd"],
)  # fmt: skip
def test_no_path_of_the_disk_can_be_read(client, path):
    answer = client.get(path)
    assert answer.status_code in (400, 403, 404)
    assert "token" not in answer.text


@pytest.mark.parametrize(
    ("name", "kept"),
    [("../../evil.csv", "evil.csv"), ("C:\\temp\\a.csv", "a.csv"), ("..", "recording.csv"), ("", "recording.csv"),
     ("a%00b.csv", "a_b.csv"), ("%2e%2e%2fx.csv", "x.csv"), ("x" * 300 + ".csv", "x" * 116 + ".csv")],
)  # fmt: skip
def test_uploads_stay_in_their_folder(client, session, recording, name, kept):
    key = upload(client, recording, name or "%20")
    one = session.recordings[key]
    assert one["name"] == kept
    assert (Path(one["cwd"]) / kept).is_file()
    assert Path(one["cwd"]).resolve().is_relative_to(session.folder.resolve())


def test_a_gigabyte_is_refused_before_it_is_sent(client, session):
    def body():
        raise AssertionError("the upload was read")
        yield b""

    answer = client.post("upload", content=body(), headers={"content-length": str(2**30), "x-name": "big.csv"})
    assert answer.status_code == 413
    assert "512 MB" in answer.json()["error"]
    assert not session.recordings


def test_an_upload_without_a_length_ends_at_the_limit(client, session, monkeypatch):
    monkeypatch.setattr("enmesh.app.session.LARGEST", 100_000)

    def body():
        for _ in range(100):
            yield b"x" * 10_000

    answer = client.post("upload", content=body(), headers={"x-name": "big.csv"})
    assert answer.status_code == 413
    assert not session.recordings
    assert not any((session.folder / "recordings").rglob("*"))


def test_odd_questions_are_refused_in_words(client, recording):
    key = upload(client, recording)
    for path, body in [
        ("do/look", b"no json"), ("do/look", b"[1]"), ("do/look", b'{"recording": "x"}'),
        ("do/look", b'{"recording": ["x"]}'), ("do/example", b'{"name": "../x"}'),
        ("do/look", json.dumps({"recording": key, "values": {"out": "/tmp"}}).encode()),
        ("do/look", b"x" * (2**20 + 1)), ("do/cancel", b"{}"), ("do/resume", b"{}"), ("do/shell", b"{}"),
    ]:  # fmt: skip
        answer = client.post(path, content=body)
        assert answer.status_code in (400, 404), (path, answer.text)
        assert "Traceback" not in answer.text


# --- runs ------------------------------------------------------------------------------------------------------


def test_a_run_writes_what_the_command_line_writes(client, session, recording, tmp_path, monkeypatch):
    key, values = upload(client, recording), {"max_lag": "2", "estimator": "gaussian", "detrend": True}
    found = do(client, "look", recording=key, values=values)
    run = finished(client, do(client, "run", recording=key, values=values))
    assert (run["status"], run["message"]) == ("done", "")
    assert (run["command"], run["python"]) == (found["command"], found["python"])
    answer = client.get(f"runs/{run['id']}/results.zip")
    pack = zipfile.ZipFile(io.BytesIO(answer.content))
    monkeypatch.chdir(recording.parent)
    words = run["command"].split()
    assert main(words[1:]) == 0
    there = {file.name for file in Path("rec-results").iterdir()}
    assert {Path(name).name for name in pack.namelist()} == there
    for name in there - {"run.db"}:
        assert pack.read(f"rec-results/{name}") == (Path("rec-results") / name).read_bytes(), name
    exec(run["python"], names := {})
    assert json.loads(names["net"].to_json())["parents"] == json.loads(pack.read("rec-results/network.json"))["parents"]
    network = em.Network.from_json(Path("rec-results/network.json"))
    assert run["arrows"] == [list(edge) for edge in network]
    assert (run["links"], run["sure"]) == (len(network), int(network.edges["significant"].sum()))


def test_what_a_finished_run_shows_and_nothing_once_its_recording_is_removed(client, session, recording):
    key = upload(client, recording)
    values = {"estimator": "gaussian", "max_lag": "1", "score": "tea"}
    runs = [
        finished(client, do(client, "run", recording=key, values=values | more)) for more in ({}, {"level": "0.05"})
    ]
    first = runs[0]["id"]
    report = client.get(f"runs/{first}/report")
    policy = report.headers["content-security-policy"]
    assert "script-src 'sha256-" in policy
    assert "sandbox allow-scripts" in policy
    assert "connect-src" not in policy
    do(client, "note", run=first, title="My <b>title</b>", notes="Seen on Monday.")
    noted = client.get(f"runs/{first}/noted")
    assert "My &lt;b&gt;title&lt;/b&gt;" in noted.text
    assert "Seen on Monday." in noted.text
    assert client.get(f"runs/{first}/report").text == report.text
    both = client.get("several", params={"run": [run["id"] for run in runs]})
    assert both.status_code == 200
    assert all(run["title"] in both.text for run in runs)
    assert len(re.findall("'sha256-", both.headers["content-security-policy"])) == 2  # of the page, and of its frames
    for ending, start in (("svg", b"<?xml"), ("png", b"\x89PNG"), ("pdf", b"%PDF")):
        assert client.get(f"runs/{first}/circle.{ending}").content.startswith(start)
    assert client.get(f"runs/{first}/circle.exe").status_code == 404
    assert client.get("several", params={"run": [first]}).status_code == 400
    do(client, "remove", recording=key)
    assert client.get("state").json()["runs"] == []
    assert not any((session.folder / "runs").glob("*"))
    assert not any((session.folder / "recordings").glob("*"))
    assert client.post("do/resume", json={"run": first}).status_code == 400


def test_a_run_that_is_refused_says_why(client, recording):
    key = upload(client, recording)
    run = finished(client, do(client, "run", recording=key, values={"columns": ["a"], "require": ["a:x"]}))
    assert run["status"] == "failed"
    assert "x" in run["message"]
    assert client.get(f"runs/{run['id']}/report").status_code == 400


LONG_RUN = {"estimator": "ksg", "score": "tee", "n_surrogates": "799", "max_lag": "2", "n_jobs": "1"}


@pytest.fixture
def coupled(tmp_path):
    path = tmp_path / "coupled.csv"
    em.simulate.coupled_map("a>b, b>c, c>d", n=500, coupling=0.2, noise=0.05, seed=0).to_dataframe().to_csv(
        path, index=False
    )
    return path


def some_tests(folder, least, seconds=60):
    """Wait until a store has so many answers."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        paths = list(folder.glob("runs/*/*/run.db"))
        if paths and paths[0].stat().st_size and sum(run["answers"] for run in store.runs(paths[0])) >= least:
            return paths[0]
        time.sleep(0.05)
    raise AssertionError("nothing was kept")


def test_a_cancelled_run_goes_on_where_it_stopped(client, session, coupled):
    key = upload(client, coupled)
    run = do(client, "run", recording=key, values=LONG_RUN)
    path = some_tests(session.folder, 5)
    (worker,) = session._working.values()
    pid = worker.pid
    do(client, "cancel", run=run)
    assert finished(client, run)["status"] == "cancelled"
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)
    kept = store.runs(path)
    do(client, "resume", run=run)
    done = finished(client, run)
    assert done["status"] == "done", done
    after = store.runs(path)
    assert sum(one["answers"] for one in after) > sum(one["answers"] for one in kept)
    assert sum(one["computed_twice"] for one in after) == 0
    assert max(one["sessions"] for one in after) == 2


def test_runs_wait_for_one_another_and_can_be_cancelled_before(client, session, coupled):
    key = upload(client, coupled)
    session._slots = asyncio.Semaphore(1)
    first, second = (do(client, "run", recording=key, values=LONG_RUN) for _ in range(2))
    some_tests(session.folder, 1)
    assert session.runs[second]["status"] == "waiting"
    do(client, "cancel", run=second)
    do(client, "resume", run=second)
    do(client, "cancel", run=second)
    assert session.runs[second]["status"] == "cancelled"
    do(client, "cancel", run=first)
    assert [finished(client, run)["status"] for run in (first, second)] == ["cancelled", "cancelled"]
    assert not session._working


def test_a_worker_that_dies_leaves_the_page_alive(client, session, recording):
    key = upload(client, recording)
    do(client, "look", recording=key, values={})
    client.portal.call(session._standby.kill)
    answer = client.post("do/look", json={"recording": key, "values": {}})
    assert answer.status_code in (200, 400)
    assert do(client, "look", recording=key, values={})["facts"]["nodes"] == 3


def test_examples_are_those_of_the_command_line(client, session, tmp_path, monkeypatch):
    key = do(client, "example", name="gas-furnace")
    assert do(client, "example", name="gas-furnace") == key
    monkeypatch.chdir(tmp_path)
    assert main(["datasets", "gas-furnace", "--out", "gas-furnace.csv"]) == 0
    one = session.recordings[key]
    assert (Path(one["cwd"]) / one["file"]).read_bytes() == Path("gas-furnace.csv").read_bytes()
    assert "em.datasets.load('gas-furnace')" in do(client, "look", recording=key, values={})["python"]
    assert (
        "em.read('gas-furnace.csv', rows='1:200')"
        in do(client, "look", recording=key, values={"rows": "1:200"})["python"]
    )


def test_the_cost_is_measured_and_near_the_time_a_search_takes(client, recording):
    key = upload(client, recording)
    values = {"estimator": "ksg", "n_surrogates": "799", "score": "tee", "max_lag": "2"}
    cost = do(client, "cost", recording=key, values=values)
    series, options = em.read(recording), {"estimator": "ksg", "score": "tee", "max_lag": 2}
    em.infer(series, **options, n_surrogates=99)
    began = time.monotonic()
    em.infer(series, **options, n_surrogates=799)
    seconds = time.monotonic() - began
    assert cost["links"] == 6
    assert seconds / 8 < cost["seconds"] < 8 * seconds


# --- what is kept ----------------------------------------------------------------------------------------------------


def closed(session):
    asyncio.run(session.close())


def test_a_private_folder_is_deleted_unless_it_is_kept(tmp_path, monkeypatch, recording):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    made = Session()
    assert made.folder.stat().st_mode & 0o077 == 0
    made.open_file(recording)
    closed(made)
    assert not made.folder.exists()
    kept = Session()
    kept.open_file(recording)
    kept.keep = True
    closed(kept)
    assert kept.folder.exists()
    again = Session()
    assert again.folder == kept.folder
    assert (again.token, list(again.recordings)) == (kept.token, list(kept.recordings))
    closed(again)


def test_a_folder_in_use_is_left_alone(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    first = Session()
    first.changed()
    second = Session()
    assert first.folder != second.folder
    with pytest.raises(em.InputError, match="another enmesh open"):
        Session(first.folder)
    closed(first)
    closed(second)


def test_news_come_at_once(client, recording):
    state = client.get("state").json()
    upload(client, recording)
    began = time.monotonic()
    assert client.get(f"state?seen={state['version']}").json()["version"] > state["version"]
    assert time.monotonic() - began < 2
    assert str(recording.parent) not in client.get("state").text


def test_command_line_refuses_what_cannot_be_opened(tmp_path, shell, monkeypatch):
    assert shell("open nothing.csv")[0] == 2
    assert "--port" in shell("open --no-browser --port 99999")[2]
    monkeypatch.setattr("enmesh.cli.open.find_spec", lambda name: None)
    code, _, said = shell("open")
    assert (code, "pip install 'enmesh[app]'" in said) == (2, True)


@pytest.mark.parametrize(
    ("module", "heavy"),
    [("enmesh.cli", "starlette uvicorn"), ("enmesh.app.server", "scipy pandas numba matplotlib networkx")],
)
def test_the_command_line_and_the_server_stay_light(module, heavy):
    code = f"import sys, {module}; print(*sorted(set({heavy.split()!r}) & set(sys.modules)))"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "\n"


@pytest.mark.parametrize("moments", range(8))
def test_a_page_that_is_closed_while_its_process_starts_ends(moments, tmp_path):
    async def opened_and_closed():
        session = Session(tmp_path / "page")
        cards = asyncio.create_task(session.cards(["gas-furnace"]))
        for _ in range(moments):
            await asyncio.sleep(0)
        cards.cancel()
        await session.close()

    page = threading.Thread(target=lambda: asyncio.run(opened_and_closed()), daemon=True)
    page.start()
    page.join(20)
    assert not page.is_alive()


@pytest.mark.parametrize("words", [[], ["--host", "0.0.0.0"]])
def test_the_network_is_let_in_on_request_and_with_a_warning(words, tmp_path):
    line = [sys.executable, "-m", "enmesh", "open", "--no-browser", *words]
    how = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    process = subprocess.Popen(line, env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)}, **how)
    address = next(said for said in process.stdout if "http://" in said)
    process.send_signal(signal.SIGINT)
    _, warned = process.communicate(timeout=30)
    assert ("127.0.0.1" in address) == (not words)
    assert ("Anyone on the network" in warned) == bool(words)
    assert process.returncode == 0
