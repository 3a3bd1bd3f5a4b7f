"""The local page under load, killed again and again, with large files: nothing is lost."""

import asyncio
import json
import os
import random
import re
import signal
import time
from functools import partial

import httpx
import numpy as np
import pandas as pd
import pytest

import enmesh as em
from enmesh.inference import store
from tests.test_app import LONG_RUN
from tests.test_browser_app import Served

pytestmark = pytest.mark.slow


@pytest.fixture
def served(tmp_path):
    made = Served(tmp_path)
    yield made
    if made.process.poll() is None:
        assert made.stop() == 0


def resident(pid):
    """Return MiB that a process holds for itself: what processes share is counted in parts."""
    with open(f"/proc/{pid}/smaps_rollup") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) / 1024


def alive(pid):
    """Say whether a process runs; one that has ended may wait for somebody to take note."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def none_alive(pids):
    return not any(map(alive, pids))


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        own = [int(word) for word in file.read().split()]
    return [*own, *(one for child in own for one in children(child))]


def send(served, path, name="rec.csv"):
    with path.open("rb") as file:
        answer = httpx.post(f"{served.address}upload", content=file, headers={"x-name": name}, timeout=60)
    return answer.json()


def ask(served, action, **given):
    return httpx.post(f"{served.address}do/{action}", json=given, timeout=120).json()


def state(served):
    return httpx.get(f"{served.address}state", timeout=30).json()


def test_two_hundred_requests_a_second_for_twenty_seconds(served):
    # A client of its own: it takes less time than the server, so that both have a core's worth.
    host, port, token = re.match(r"http://([\d.]+):(\d+)/(\S+)/", served.address).groups()
    times, failed = [], []

    async def connection(paths, offset):
        reader, writer = await asyncio.open_connection(host, int(port))
        began = time.monotonic()
        for i, path in enumerate(paths):
            await asyncio.sleep(max(0.0, began + i / 20 + offset - time.monotonic()))
            start = time.monotonic()
            writer.write(f"GET /{token}/{path} HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode())
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            await reader.readexactly(int(re.search(r"content-length: (\d+)", head)[1]))
            times.append(time.monotonic() - start)
            failed.extend([head] if int(head.split()[1]) != (404 if path == "nowhere" else 200) else [])
        writer.close()

    async def load():
        began = time.monotonic()
        paths = ["state", "state?cards=8", "state?seen=none", "", "nowhere"] * 80
        await asyncio.gather(*(connection(paths, k / 200) for k in range(10)))
        return max(times), failed, len(times), time.monotonic() - began

    httpx.get(served.address)
    time.sleep(10)  # the cards are drawn
    before, files = resident(served.process.pid), len(os.listdir(f"/proc/{served.process.pid}/fd"))
    slowest, failed, count, seconds = asyncio.run(load())
    after = resident(served.process.pid)
    print(f"{count} requests in {seconds:.1f} s, slowest {slowest:.3f} s, {before:.0f} -> {after:.0f} MiB")
    assert (failed, count) == ([], 4000)
    assert seconds < 25
    assert slowest < 2
    assert after - before < 20
    time.sleep(6)  # connections that are not used are closed
    assert len(os.listdir(f"/proc/{served.process.pid}/fd")) <= files + 5


def kept(served):
    """Return how many answers the store of the only run holds."""
    found = [db for db in served.folder.glob("enmesh/open/*/runs/*/*/run.db") if db.stat().st_size]
    return sum(one["answers"] for db in found for one in store.runs(db))


def wait_for(what, seconds=120):
    until = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < until
        time.sleep(0.05)


def test_ten_kills_lose_nothing(served, tmp_path):
    path, rng = tmp_path / "rec.csv", random.Random(0)
    series = em.simulate.coupled_map("a>b>c>d>e>f>g>h>i>j", n=600, coupling=0.2, noise=0.05, seed=0)
    series.to_dataframe().to_csv(path, index=False)
    values = {name: value for name, value in LONG_RUN.items() if name != "n_jobs"} | {"n_surrogates": "999"}
    run = ask(served, "run", recording=send(served, path), values=values)
    answers = [0]
    for _ in range(10):
        wait_for(lambda: kept(served) > answers[-1])
        time.sleep(0.3 * rng.random())
        workers = children(served.process.pid)
        served.kill()
        wait_for(partial(none_alive, workers), 10)  # they end with the server
        answers.append(kept(served))
        served.start()
        (found,) = state(served)["runs"]
        assert (found["id"], found["status"]) == (run, "stopped")
        ask(served, "resume", run=run)
    wait_for(lambda: state(served)["runs"][0]["status"] not in ("running", "waiting"), 300)
    print(answers, kept(served), state(served)["runs"][0]["status"])
    assert answers == sorted(answers)
    assert state(served)["runs"][0]["status"] == "done"
    (db,) = served.folder.glob("enmesh/open/*/runs/*/*/run.db")
    assert sum(one["computed_twice"] for one in store.runs(db)) == 0
    network = em.Network.from_json(db.parent / "network.json")
    plain = em.infer(em.read(path), estimator="ksg", score="tee", n_surrogates=999, max_lag=2)
    made, known = json.loads(network.to_json()), json.loads(plain.to_json())
    left_out = {"provenance": 0, "evidence": 0}
    assert made | left_out == known | left_out


def test_a_large_file_is_looked_at_within_three_seconds_in_little_memory(served, tmp_path):
    path = tmp_path / "large.csv"
    pd.DataFrame(np.random.default_rng(0).normal(size=(70_000, 8)), columns=list("abcdefgh")).to_csv(path, index=False)
    assert path.stat().st_size > 10e6
    key = send(served, path)
    ask(served, "look", recording=key, values={"rows": "1:100"})  # the worker has started
    began = time.monotonic()
    found = ask(served, "look", recording=key, values={})
    seconds = time.monotonic() - began
    memory = [resident(pid) for pid in (served.process.pid, *children(served.process.pid))]
    print(f"{path.stat().st_size / 1e6:.1f} MB in {seconds:.2f} s, {[round(one) for one in memory]} MiB")
    assert found["facts"]["samples"] == 70_000
    assert seconds < 3
    assert sum(memory) < 400 + 70_000 * 8 * 8 / 2**20


@pytest.mark.parametrize("name", ["SIGHUP", "SIGTERM", "SIGINT"])
def test_a_signal_ends_the_page_and_its_folder(served, name):
    """At once after the address is printed, too."""
    served.process.send_signal(getattr(signal, name))
    assert served.process.wait(20) == 0
    assert served.left == []
