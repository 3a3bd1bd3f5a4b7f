"""Head to head: methods that infer networks from time series, on the same data, with error rates and cost.

    python benchmarks/field.py                    run what is missing, then write docs/field.md and its pictures
    python benchmarks/field.py --quick            two seeds of small settings, at most 10 minutes; prints tables;
                                                  methods with a bound on size get files of half that size
    python benchmarks/field.py --slow             methods that take minutes to hours a file, beside ours
    python benchmarks/field.py --jobs 16 --stop-after 500 --only Novelli uncoupled --methods enmesh Granger
    python benchmarks/field.py --dask ADDRESS     the same on a dask cluster; "--dask local" starts --jobs workers
    python benchmarks/field.py --page             the page from docs/_static/field.csv and the results that are there

Results are kept line by line in a file (`--results`); a stopped run goes on with the same command. The numbers of the
page are kept in docs/_static/field.csv: a run replaces those of its settings and methods, unless it has fewer files
(`--replace`). `--costs` replaces their CPU seconds alone, after a run of a few files on another machine. `systems.py`
has the data, `peers.py` the methods, `field_page.py` the page. A method runs in a process of its own on one core, its
kernels warm; it is ended after `--limit` CPU seconds (three times that for at most ten nodes), which is counted as
not finished, and then it is not asked about other files of that setting and of larger ones of its kind that it has
not finished before. Seeds begin at 90000: nothing was chosen on them.
"""

import argparse
import contextlib
import json
import os
import platform
import resource
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import field_page  # noqa: E402
import peers  # noqa: E402
import systems  # noqa: E402

RESULTS = HERE.parent / "field-results" / "field.jsonl"
SEEDS = 10
SLOW = ("mixed, heavy tails, T = 250", "Lorenz-96, F = 10, T = 500", "Novelli var, 10 nodes, T = 1000",
        "Novelli map, 10 nodes, T = 1000")  # fmt: skip
BESIDE = ("enmesh", "enmesh, KSG", "PCMCI ParCorr")
SMALL = 10  # nodes up to which all seeds come first, and a method may take three times as long
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


class Cell(NamedTuple):
    """One method on one file."""

    method: str
    data: str
    seed: int


# -- judging -------------------------------------------------------------------------------------------------


def counts(found: peers.Lags, links: systems.Links) -> list[int]:
    """Return true, false and missed links, right lags, and found links whose lag is known."""
    true = found.keys() & links.keys()
    timed = [pair for pair in true if links[pair] is not None]
    right = sum(found[pair] == links[pair] for pair in timed)
    return [len(true), len(found) - len(true), len(links) - len(true), right, len(timed)]


def curves(p: np.ndarray, links: systems.Links) -> tuple[float, float]:
    """Return AUROC and AUPRC (average precision) where small values speak for a link; ties share their rank."""
    off = ~np.eye(len(p), dtype=bool)
    truth = np.zeros(p.shape, dtype=bool)
    for pair in links:
        truth[pair] = True
    values, truth = p[off], truth[off]
    _, step = np.unique(values, return_inverse=True)
    true = np.bincount(step, weights=truth).cumsum()
    false = np.bincount(step, weights=~truth).cumsum()
    recall, fall_out = np.append(0, true / truth.sum()), np.append(0, false / (~truth).sum())
    area = float((np.diff(fall_out) * (recall[1:] + recall[:-1]) / 2).sum())
    return area, float((np.diff(recall) * true / (true + false)).sum())


def judged(cell: Cell, folder: Path) -> dict[str, Any]:
    """Ask one method about one file, with the clock running, and judge its answers."""
    setting, method = dict(systems.settings(folder))[cell.data], peers.METHODS[cell.method]
    file = setting.make(cell.seed)
    cpu, wall = time.process_time(), time.perf_counter()
    found = method.call(file.values, file.max_lag)
    cost = {"seconds": time.process_time() - cpu, "wall": time.perf_counter() - wall}
    area, precision = curves(found.p, file.links) if file.links else (None, None)
    answers = {name: counts(links, file.links) for name, links in found.answers.items()}
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    return {"answers": answers, "auroc": area, "auprc": precision, "gib": memory, **cost}


# -- one process for many cells ------------------------------------------------------------------------------


def child(folder: Path) -> None:
    """Answer cells that come line by line; a cell that takes more CPU time than it may ends the process."""
    out = os.fdopen(os.dup(1), "w")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warm: set[str] = set()
    tiny = systems.maps(4, 300, 0).values
    machine = f"{cpu_name()}, {os.cpu_count()} cores"
    for line in sys.stdin:
        *cell, limit = json.loads(line)
        cell = Cell(*cell)
        try:
            if cell.method not in warm:
                warm.add(cell.method)
                slow = peers.METHODS[cell.method].group == "slow"
                peers.METHODS[cell.method].call(tiny[:50, :2] if slow else tiny, 1)
            signal.setitimer(signal.ITIMER_PROF, limit)
            row = {"status": "done", **judged(cell, folder)}
        except Exception as error:
            row = {"status": "error", "why": f"{type(error).__name__}: {error}"[:200]}
        signal.setitimer(signal.ITIMER_PROF, 0)
        row |= {"version": peers.version(cell.method), "machine": machine}
        out.write(json.dumps({**cell._asdict(), **row}) + "\n")
        out.flush()


def cpu_name() -> str:
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":")[1].strip()
    return platform.processor() or platform.machine()


class Children(threading.local):
    """The process of this thread that answers cells."""

    process: subprocess.Popen | None = None
    everywhere: list[subprocess.Popen] = []  # noqa: RUF012 - shared by all threads on purpose


CHILDREN = Children()


def elsewhere(cell: tuple, limit: float, folder: Path, script: str) -> dict[str, Any]:
    """Do the same on a dask worker, which finds this file at the same path."""
    sys.path.insert(0, str(Path(script).parent))
    import field

    return field.asked(cell, limit, folder, script)


def asked(cell: tuple, limit: float, folder: Path, script: str) -> dict[str, Any]:
    """Return the row of a cell, answered by the process that belongs to this thread (or to this dask worker)."""
    if CHILDREN.process is None or CHILDREN.process.poll() is not None:
        CHILDREN.process = subprocess.Popen(
            [sys.executable, script, "--child", "--data", str(folder)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
            env=os.environ | dict.fromkeys(THREADS, "1"),
        )  # fmt: skip
        CHILDREN.everywhere.append(CHILDREN.process)
    cell, process = Cell(*cell), CHILDREN.process
    process.stdin.write(json.dumps([*cell, limit]) + "\n")
    process.stdin.flush()
    line = process.stdout.readline()
    if line:
        return json.loads(line)
    if process.wait() == -signal.SIGPROF:
        return {**cell._asdict(), "status": "over", "limit": limit}
    return {**cell._asdict(), "status": "error", "why": f"the process ended with {process.returncode}"}


# -- what is left to do --------------------------------------------------------------------------------------


class Results:
    """Rows by cell, read from a file and added to it."""

    def __init__(self, path: Path):
        self.path, self.rows = path, {}
        if path.exists():
            for row in map(json.loads, path.read_text().splitlines()):
                if "ImportError" not in row.get("why", ""):  # a package that was not there then
                    self._keep(row)

    def _keep(self, row: dict) -> None:
        self.rows[Cell(row["method"], row["data"], row["seed"])] = row

    def add(self, row: dict) -> None:
        self._keep(row)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(row) + "\n")

    def expected(self, cell: Cell) -> float:
        """Return the CPU seconds that the cell's method took on another seed; 0 if that is not known."""
        return max((row["seconds"] for other, row in self.rows.items()
                    if other[:2] == cell[:2] and row["status"] == "done"), default=0.0)  # fmt: skip


def limit_of(cell: Cell, settings: dict[str, systems.Setting], limit: float) -> float:
    """Return the CPU seconds that a cell may take."""
    return limit * (3 if settings[cell.data].nodes <= SMALL else 1)


def cells(settings: dict[str, systems.Setting], methods: dict[str, float], seeds: int) -> list[Cell]:
    """Return all cells, all methods on a seed before the next seed; large networks of later seeds at the end.

    ``methods`` says how large a file (nodes x samples) each is given.
    """
    found = []
    for seed in range(seeds):
        for place, (data, setting) in enumerate(settings.items()):
            turn = seed + SEEDS * (seed >= 2 and setting.nodes > SMALL)
            for method, most in methods.items():
                if setting.nodes * setting.n <= most and (setting.files is None or seed < setting.files):
                    found.append((turn, place, Cell(method, data, systems.FIRST_SEED + seed)))
    return [cell for *_, cell in sorted(found, key=lambda one: one[:2])]


def run(todo: list[Cell], results: Results, settings: dict[str, systems.Setting], options: argparse.Namespace) -> None:
    """Ask the cells side by side, keep every row, and stop cleanly when the time is over."""
    began, running, done = time.monotonic(), {}, 0
    pool, jobs, close = executor(options)
    waiting = iter(todo)
    more = True
    while True:
        left = options.stop_after - (time.monotonic() - began)
        while more and len(running) < jobs and left > 0:
            cell = next(waiting, None)
            more = cell is not None
            late = left < options.limit and more and results.expected(cell) > left
            if more and not late and not field_page.ended_before(results.rows.values(), *cell[:2], settings):
                script = str(Path(__file__).resolve())
                limit = limit_of(cell, settings, options.limit)
                there = elsewhere if options.dask else asked
                running[pool.submit(there, tuple(cell), limit, options.data, script)] = cell
        if not running or left <= 0:
            break
        finished, _ = wait(running, timeout=max(0.1, min(left, 5)), return_when=FIRST_COMPLETED)
        for future in finished:
            del running[future]
            results.add(future.result())
            done += 1
        print(f"\r{done} done, {time.monotonic() - began:.0f} s  ", end="", file=sys.stderr, flush=True)
    print(f"\n{done} of {len(todo)} cells; {'stopped' if running or left <= 0 else 'the end'}", file=sys.stderr)
    close()


def executor(options: argparse.Namespace) -> tuple[Any, int, Callable[[], None]]:
    """Return threads with a process each, or the workers of a dask cluster; how many; and what ends them."""
    if not options.dask:
        return ThreadPoolExecutor(options.jobs), options.jobs, end_children
    from distributed import Client, LocalCluster

    local = options.dask == "local"
    place = (
        LocalCluster(n_workers=options.jobs, threads_per_worker=1, dashboard_address=None) if local else options.dask
    )
    client = Client(place)
    client.wait_for_workers(1)
    return (client.get_executor(pure=False), sum(client.nthreads().values()), place.close if local else client.close)


def end_children() -> None:
    for process in CHILDREN.everywhere:
        process.kill()


def usual(options: argparse.Namespace) -> tuple[str, int, float]:
    """Return the file of results, the number of seeds and the limit, where they are not given."""
    name, seeds, limit = "field.jsonl", SEEDS, 200
    if options.quick:
        name, seeds, limit = "quick.jsonl", 2, 10
        options.stop_after = min(options.stop_after, 600)
    if options.slow:
        name, seeds, limit = "slow.jsonl", 2, 500
    return name, options.seeds or seeds, options.limit or limit


def wanted(name: str, setting: systems.Setting, options: argparse.Namespace) -> bool:
    """Whether a setting is asked about."""
    if (options.quick and not setting.quick) or (options.slow and name not in SLOW):
        return False
    return name in options.only or name.startswith(options.begins) or setting.group in options.only


def methods(options: argparse.Namespace) -> dict[str, float]:
    """Return the methods that can be asked here and how large a file each is given; say which cannot, and why."""
    part = 0.5 if options.quick else 1
    found = {name: part * each.size for name, each in peers.METHODS.items() if each.group == "field"}
    if options.slow:
        found = dict.fromkeys([*BESIDE, *(n for n, each in peers.METHODS.items() if each.group == "slow")], np.inf)
    if options.methods:
        found = dict.fromkeys(options.methods, np.inf)
    for name in list(found):
        if why := peers.missing(name):
            print(f"{name} is left out: {why}", file=sys.stderr)
            del found[name]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--results", type=Path, help="file of results, one line for each cell")
    parser.add_argument("--data", type=Path, default=systems.accuracy.SHARED, help="folder of public files")
    parser.add_argument("--only", nargs="*", default=[""], help="settings, beginnings of their names, or groups")
    parser.add_argument("--methods", nargs="*", help="names of methods, then asked at any size")
    parser.add_argument("--seeds", type=int)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--limit", type=float, help="CPU seconds that one cell may take (200; quick 10; slow 500)")
    parser.add_argument("--stop-after", type=float, default=float("inf"), help="seconds")
    parser.add_argument("--dask", help="address of a scheduler, or 'local'")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--slow", action="store_true")
    parser.add_argument("--page", action="store_true", help="ask nothing; write the page")
    parser.add_argument(
        "--replace",
        action="store_true",
        help="put results into docs/_static/field.csv even where it has numbers of more files, which else stay",
    )
    parser.add_argument("--costs", action="store_true", help="put only the CPU seconds of results into that table")
    parser.add_argument("--no-page", action="store_true", help="print the tables and leave the page as it is")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        return child(options.data)
    name, options.seeds, options.limit = usual(options)
    options.results = options.results or RESULTS.with_name(name)
    everything = dict(systems.settings(options.data))
    results = Results(options.results)
    if not options.page:
        for cell in list(results.rows):  # what was ended earlier than it would be now is asked again
            ended = results.rows[cell].get("limit", np.inf)
            if cell.data in everything and ended < limit_of(cell, everything, options.limit):
                del results.rows[cell]
        options.begins = tuple(name for name in options.only if name not in everything)
        chosen = {name: setting for name, setting in everything.items() if wanted(name, setting, options)}
        todo = cells(chosen, methods(options), options.seeds)
        run([cell for cell in todo if cell not in results.rows], results, everything, options)
    if options.quick or options.no_page:
        print(field_page.tables(list(results.rows.values()), everything))
    else:
        merged = field_page.with_costs if options.costs else partial(field_page.updated, replace=options.replace)
        field_page.write(list(results.rows.values()), everything, merged, options.slow)


if __name__ == "__main__":
    main()
