"""A process that reads, prepares and infers for the page. It can be killed: what a run has finished is in its store.

It is asked and answers in lines of JSON, and ends with whoever started it. A new part of the page
is one more function in ``JOBS``.
"""

import json
import os
import queue
import signal
import sqlite3
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

import enmesh as em
from enmesh.app import form, look
from enmesh.cli import _unexpected, build
from enmesh.cli.infer import STORE, asked_of, run
from enmesh.data.files import write_series
from enmesh.data.table import visible
from enmesh.draw.report.words import headline, standing
from enmesh.draw.subject import LEVEL
from enmesh.errors import InputError, refuse_if
from enmesh.options import plain
from enmesh.tasks import single_thread

PAUSE, PAUSE_OF_LINKS = 0.15, 0.7  # seconds between reports of progress, and of links found so far
MOST_STEPS = 200  # of an effect
POINTS = 120  # of the lines on the cards of examples
SO_FAR = """SELECT answers.id, answers.kind, answers.question, answers.answer FROM
    (SELECT rowid AS id, * FROM answers WHERE rowid > ? AND kind IN ('drivers', 'test') ORDER BY rowid) AS answers"""
Tell = Callable[..., None]


class Superseded(Exception):
    """Something else was asked meanwhile."""


class Worker:
    """The jobs of one process, one after the other."""

    def __init__(self, questions: TextIO, answers: TextIO):
        self._jobs: queue.Queue[dict[str, Any]] = queue.Queue()
        self._answers, self.reader = answers, look.Reader()
        self.models: dict[str, em.Model] = {}
        threading.Thread(target=self._listen, args=(questions,), daemon=True).start()

    def _listen(self, questions: TextIO) -> None:
        for line in questions:
            self._jobs.put(json.loads(line))
        # Whoever asked is gone: end at once, with the processes that were started here.
        if hasattr(os, "killpg"):
            os.killpg(0, signal.SIGKILL)
        os._exit(1)

    def serve(self) -> None:
        """Do jobs until this process ends."""
        while True:
            job = self._jobs.get()
            number, name = job.pop("id"), job.pop("job")
            try:
                with single_thread():
                    answer = {"result": JOBS[name](self, self._teller(number), **job)}
            except InputError as error:
                answer = {"error": form.in_words(error)}
            except Superseded:
                answer = {"result": None}
            except Exception as error:
                answer = {"error": _unexpected(error)}
            self._say({"id": number, **answer})

    def busy(self) -> None:
        """Stop the job at hand if another one waits."""
        if not self._jobs.empty():
            raise Superseded

    def _teller(self, number: int) -> Tell:
        return lambda **said: self._say({"id": number, "progress": said})

    def _say(self, answer: dict[str, Any]) -> None:
        self._answers.write(json.dumps(plain(answer), allow_nan=False) + "\n")
        self._answers.flush()


def words_in(recording: dict[str, Any]) -> list[str]:
    """Go to the folder of a recording, and return the words of the command line that say it and what was chosen."""
    os.chdir(recording["cwd"])
    return form.words_of(recording["file"], form.checked(recording["values"]))


def seen(worker: Worker, tell: Tell, *, recording: dict[str, Any]) -> Any:
    """Look at a recording."""
    os.chdir(recording["cwd"])
    return worker.reader.look(recording["file"], form.checked(recording["values"]), recording["example"])


def cost(worker: Worker, tell: Tell, *, recording: dict[str, Any]) -> Any:
    """Say what a run would cost."""
    given = form.typed(words_in(recording))
    series = look.prepared(given, worker.reader.read(given)[0])
    try:
        return look.seconds_of(given, series, worker.busy)
    except InputError as error:  # a part may be too short where the whole is not
        return {"error": form.in_words(error)}


def example(worker: Worker, tell: Tell, *, name: str, path: str) -> Any:
    """Write one of the examples as a file, as ``enmesh datasets`` does."""
    return str(write_series(em.datasets.load(name), path))


def card(worker: Worker, tell: Tell, *, name: str) -> Any:
    """Return lines of the first nodes of an example."""
    series = em.datasets.load(name)
    first = series.trials[0].astype(float).T[:3, : 2 * POINTS]
    return [plain(look.extremes(column, POINTS), look.DIGITS) for column in first]


def infer(worker: Worker, tell: Tell, *, recording: dict[str, Any], folder: str) -> Any:
    """Infer a network and write its results, or go on where an earlier process stopped."""
    words = words_in(recording)
    given, command, to = form.typed(words), form.command_of(words), Path(folder)
    watch = Watch(tell, to / STORE)
    watch(0, None, "reading the data")
    series = build.recording(given)
    tell(python=form.python_of(given, series, recording["example"]), names=list(map(visible, series.names)))
    to.mkdir(parents=True, exist_ok=True)
    options = asked_of(given, series) | {"progress": watch}
    network, _ = run(series, to, options, given["data"], command=command, resume=True)
    q = [float(value) for value in network.edges["q_value"]]
    return {
        "headline": headline(network), "standing": standing(network), "links": len(network),
        "sure": sum(value <= LEVEL for value in q), "warnings": len(network.warnings),
        "arrows": [[visible(source), visible(target)] for source, target in network],
    }  # fmt: skip


class Watch:
    """Reports progress, and which links have been found so far; both not too often."""

    def __init__(self, tell: Tell, store: Path):
        self._tell, self._store, self._last, self._looked = tell, store, 0.0, time.monotonic()
        self._phase, self._row, self._found = "", 0, dict[tuple[int, int], bool]()

    def __call__(self, done: int, total: int | None, what: str) -> None:
        """Take note of progress, as `enmesh.infer` reports it."""
        now = time.monotonic()
        if what == self._phase and now - self._last < PAUSE:
            return
        self._last, self._phase, said = now, what, {"phase": what, "done": done, "total": total}
        if now - self._looked > PAUSE_OF_LINKS:
            self._looked = now
            said |= self._links()
        self._tell(**said)

    def _links(self) -> dict[str, Any]:
        """Return the links that finished targets have so far, by the places of their nodes in the store."""
        if not self._store.exists():
            return {}
        address = f"file:{quote(str(self._store.absolute()))}?mode=ro"
        with closing(sqlite3.connect(address, uri=True)) as db:
            names = json.loads(db.execute("SELECT names FROM runs ORDER BY id DESC").fetchone()[0])
            for row, kind, question, answer in db.execute(SO_FAR, (self._row,)):
                self._row, asked, found = row, json.loads(question), json.loads(answer)
                if kind == "test":
                    self._found[asked[0], asked[1]] = found[1] <= LEVEL
                else:
                    for target, (_, sources, *_) in zip(asked[:-2], found):
                        self._found |= {(source, target): True for source in sources}
        pairs = [pair for pair, kept in self._found.items() if kept]
        return {"arrows": [[visible(names[source]), visible(names[target])] for source, target in pairs]}


def page(worker: Worker, tell: Tell, *, network: str, path: str, title: str, notes: str) -> Any:
    """Write the page of a network with one's own title and notes."""
    return str(em.Network.from_json(Path(network)).report(path, title=title, notes=notes))


def several(worker: Worker, tell: Tell, *, networks: dict[str, str], path: str) -> Any:
    """Write the page of several networks, side by side."""
    loaded = {name: em.Network.from_json(Path(file)) for name, file in networks.items()}
    return str(em.report(loaded, path, title=" and ".join(loaded)))


def picture(worker: Worker, tell: Tell, *, network: str, path: str, kind: str, theme: str) -> Any:
    """Draw a network."""
    import matplotlib as mpl

    mpl.use("Agg")
    em.Network.from_json(Path(network)).plot(path, kind=kind, theme=theme)
    return path


def whatif(worker: Worker, tell: Tell, *, recording: dict[str, Any], folder: str, given: Any) -> Any:
    """Say what a change of a node does to another, by the fitted network, of which the last one is kept."""
    if folder not in worker.models:
        series = build.recording(form.typed(words_in(recording)))
        worker.models = {folder: em.Network.from_json(Path(folder) / "network.json").fit(series)}
    try:
        change, horizon = float(given["change"]), int(given["horizon"])
    except (KeyError, TypeError, ValueError):
        raise InputError("give the change as a number, and the horizon as a whole one") from None
    ends = str(given.get("source")), str(given.get("target"))
    refuse_if(horizon > MOST_STEPS, f"horizon={horizon} is too far here; give at most {MOST_STEPS}")
    found = worker.models[folder].effect(*ends, change, horizon, hold=bool(given.get("hold")))
    rows = zip(found.total.index, found.total, found.low, found.high, found.direct["total"])
    return {"sentence": found.sentence, "assumed": found.assumptions, "rows": plain(list(rows), look.DIGITS)}


def power(worker: Worker, tell: Tell, *, recording: dict[str, Any], folder: str, given: Any) -> Any:
    """Say which links the recording of a run could show, and how many samples a weaker one needs."""
    try:
        te = float(given["te"]) if given.get("te") else None
    except (TypeError, ValueError):
        raise InputError("give the transfer entropy as a number of nats, such as 0.02") from None
    found = em.power(em.Network.from_json(Path(folder) / "network.json"), te=te)
    curve = found.curve()
    return {
        "sentence": found.sentence, "by": str(curve.index.name), "share": found.share,
        "at": found.samples_needed() if te else found.smallest,
        "points": plain([list(map(float, curve.index)), curve.tolist()], look.DIGITS),
    }  # fmt: skip


JOBS: dict[str, Callable[..., Any]] = {
    "look": seen, "cost": cost, "example": example, "card": card, "run": infer, "page": page, "several": several,
    "picture": picture, "whatif": whatif, "power": power,
}  # fmt: skip


def main() -> None:
    """Answer questions from stdin; what else is printed goes to stderr."""
    with suppress(ValueError):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    Worker(sys.stdin, answers).serve()


if __name__ == "__main__":
    main()
