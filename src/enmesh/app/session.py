"""Recordings and runs of one page in a private folder, and the processes that work on them.

The folder is deleted at the end unless it is kept. A server that was killed leaves it behind; the next one goes on
there: a file that a living process has locked belongs to somebody else.
"""

import asyncio
import json
import os
import re
import secrets
import shutil
import signal
import sqlite3
import sys
import time
import zipfile
from asyncio.subprocess import DEVNULL, PIPE
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from enmesh.data.sources import write_whole
from enmesh.errors import InputError

LARGEST, LARGEST_TOGETHER = 512 * 2**20, 2 * 2**30  # bytes of an upload, and of all of them
MOST_RECORDINGS, MOST_RUNS = 50, 200
PATIENCE = 180.0  # seconds for a look or a drawing, after which the process is killed
LINE = 2**27  # bytes of an answer
# What is not written down of a run: it changes all the time.
MOVING = ("phase", "done", "total", "arrows")
FINISHED = ("done", "failed", "stopped", "cancelled")


class Ended(Exception):
    """The process ended before it answered."""


class Process:
    """A worker, to be asked for jobs."""

    def __init__(self) -> None:
        self._process: asyncio.subprocess.Process | None = None
        self._starting: asyncio.Task[None] | None = None
        self._listening: asyncio.Task[None] | None = None
        self._waiting: dict[int, tuple[asyncio.Future[Any], Callable[..., None]]] = {}
        self._count = 0

    async def ask(self, job: str, told: Callable[..., None] = lambda **_: None, **given: Any) -> Any:
        """Return the answer to a job; what it says meanwhile goes to ``told``."""
        if self._starting is None or (self._starting.done() and (self._listening is None or self._listening.done())):
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)  # asyncio never ends where the start of a process is cancelled
        assert self._process is not None
        self._count += 1
        answer = asyncio.get_running_loop().create_future()
        self._waiting[self._count] = answer, told
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"id": self._count, "job": job, **given}).encode() + b"\n")
        said = await answer
        if "error" in said:
            raise InputError(said["error"])
        return said["result"]

    async def _start(self) -> None:
        self._process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "enmesh.app.worker"), stdin=PIPE, stdout=PIPE, stderr=DEVNULL,
            limit=LINE, start_new_session=True,
        )  # fmt: skip
        self._listening = asyncio.create_task(self._listen(self._process))

    async def _listen(self, process: asyncio.subprocess.Process) -> None:
        assert process.stdout is not None
        async for line in process.stdout:
            said = json.loads(line)
            if "progress" in said:
                self._waiting[said["id"]][1](**said["progress"])
            else:
                answer, _ = self._waiting.pop(said["id"])
                if not answer.done():
                    answer.set_result(said)
        await process.wait()
        for answer, _ in self._waiting.values():
            if not answer.done():
                answer.set_exception(Ended("the process ended before it answered"))
        self._waiting.clear()

    @property
    def pid(self) -> int | None:
        """Number of the process, while it lives."""
        return self._process.pid if self._process and self._process.returncode is None else None

    async def kill(self) -> None:
        """End the process and what it started, at once, or as soon as it has started."""
        if self._starting is not None:
            await asyncio.wait([self._starting])
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.killpg(self.pid, signal.SIGKILL) if hasattr(os, "killpg") else self._process.kill()  # type: ignore[union-attr]
            if self._listening is not None:
                await self._listening


def root() -> Path:
    """Return the folder in which pages keep theirs."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "enmesh" / "open"


class Session:
    """What one page knows: recordings, runs, and where they are kept."""

    def __init__(self, folder: Path | None = None):
        self.folder, self._lock = _claimed(folder)
        known: dict[str, Any] = {}
        with suppress(OSError):
            known = json.loads((self.folder / "session.json").read_text(encoding="utf-8") or "{}")
        self.token: str = known.get("token") or secrets.token_urlsafe(24)
        self.port: int = known.get("port") or 0
        self.keep: bool = known.get("keep", folder is not None)
        self.recordings: dict[str, dict[str, Any]] = known.get("recordings", {})
        self.runs: dict[str, dict[str, Any]] = known.get("runs", {})
        self.resumed = bool(self.recordings)
        for run in self.runs.values():
            if run["status"] not in FINISHED:
                run["status"] = "stopped"
        self.version, self._changed, self._closing = 0, asyncio.Event(), False
        self._standby, self._working, self._tasks = Process(), dict[str, Process](), set[asyncio.Task[None]]()
        self._slots = asyncio.Semaphore(max(1, (os.cpu_count() or 2) // 2))
        self._cards: dict[str, Any] = {}

    # --- state ----------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """Return what the page shows, without any path of this machine."""
        shown = ("id", "name", "size", "example", "values")
        recordings = [{key: one.get(key) for key in shown} for one in self.recordings.values()]
        return {
            "version": self.version, "keep": self.keep, "recordings": recordings, "runs": list(self.runs.values()),
            "cards": self._cards,
        }  # fmt: skip

    def changed(self, *, save: bool = True) -> None:
        """Tell all who wait, and write down what is to outlive this process."""
        if save:
            runs = {
                key: {k: v for k, v in run.items() if k not in MOVING or run["status"] == "done"}
                for key, run in self.runs.items()
            }
            kept = {name: getattr(self, name) for name in ("token", "port", "keep", "recordings")}
            text = json.dumps(kept | {"runs": runs}, indent=1)
            write_whole(self.folder / "session.json", lambda file: file.write_text(text, encoding="utf-8"))
        self.version += 1
        self._changed.set()
        self._changed = asyncio.Event()

    async def wait(self, seen: int, seconds: float) -> None:
        """Wait until the state is not the one that was seen, but not for ever."""
        if seen == self.version and not self._closing:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._changed.wait(), seconds)

    def release(self) -> None:
        """Answer all who wait: the page ends."""
        self._closing = True
        self._changed.set()

    # --- recordings ---------------------------------------------------------------------------------------------------

    def new_recording(self, name: str, **known: Any) -> dict[str, Any]:
        """Return a recording with a folder of its own, not yet among the others."""
        if len(self.recordings) >= MOST_RECORDINGS:
            raise InputError(f"{MOST_RECORDINGS} recordings are open; remove one first")
        key = secrets.token_hex(8)
        folder = self.folder / "recordings" / key
        folder.mkdir(parents=True)
        made = {"id": key, "name": name, "file": name, "cwd": str(folder), "size": 0, "values": {}, "example": ""}
        return made | known

    def add(self, recording: dict[str, Any]) -> dict[str, Any]:
        """Take a recording whose file is there."""
        self.recordings[recording["id"]] = recording
        self.changed()
        return recording

    def open_file(self, path: Path) -> dict[str, Any]:
        """Take a file where it is, under the name that was typed; one that is open already is the same."""
        cwd, size = str(Path.cwd()), path.stat().st_size
        for one in self.recordings.values():
            if (one["cwd"], one["file"]) == (cwd, str(path)):
                return one
        return self.add(self.new_recording(path.name, file=str(path), cwd=cwd, size=size))

    def room(self) -> int:
        """Return how many bytes may still be uploaded."""
        own = [one["size"] for one in self.recordings.values() if Path(one["cwd"]).is_relative_to(self.folder)]
        return min(LARGEST, LARGEST_TOGETHER - sum(own))

    async def example(self, name: str) -> dict[str, Any]:
        """Take one of the examples."""
        for one in self.recordings.values():
            if one["example"] == name:
                return one
        recording = self.new_recording(f"{name}.csv", example=name)
        path = Path(recording["cwd"]) / recording["name"]
        await self.ask("example", name=name, path=str(path))
        return self.add(recording | {"size": path.stat().st_size})

    async def remove(self, key: Any) -> None:
        """Forget a recording and its runs."""
        recording = self.recording(key)
        for run in [run for run in self.runs.values() if run["recording"] == key]:
            await self.cancel(run["id"])
            shutil.rmtree(self.folder / "runs" / run["id"], ignore_errors=True)
            self.runs.pop(run["id"], None)
        shutil.rmtree(self.folder / "recordings" / recording["id"], ignore_errors=True)
        self.recordings.pop(key, None)
        self.changed()

    def recording(self, key: Any) -> dict[str, Any]:
        """Return a recording by its key."""
        return _known(self.recordings, key, "recording")

    async def look(self, key: Any, values: dict[str, Any]) -> Any:
        """Look at a recording, read and prepared as the values say."""
        one = self.recording(key)
        found = await self.ask("look", recording=_told(one, values))
        if one["values"] != values:
            one["values"] = values
            self.changed()
        return found

    async def cost(self, key: Any, values: dict[str, Any]) -> Any:
        """Say what a run would cost."""
        return await self.ask("cost", recording=_told(self.recording(key), values))

    async def of_run(self, job: str, key: Any, given: dict[str, Any]) -> Any:
        """Ask about the network of a finished run."""
        run = self.run(key)
        folder = str(self.result(run["id"], "network.json").parent)
        recording = _told(self.recording(run["recording"]), run["values"])
        return await self.ask(job, recording=recording, folder=folder, given=given)

    async def cards(self, names: list[str]) -> None:
        """Draw the cards of the examples, one after the other."""
        for name in names:
            with suppress(InputError, Ended):
                self._cards[name] = await self.ask("card", name=name)
                self.changed(save=False)

    async def ask(self, job: str, **given: Any) -> Any:
        """Ask the process that stands by; one that takes too long is killed."""
        process = self._standby
        try:
            return await asyncio.wait_for(process.ask(job, **given), PATIENCE)
        except TimeoutError:
            await process.kill()
            raise InputError(
                f"it took more than {PATIENCE:.0f} s and was stopped; take fewer rows or columns"
            ) from None
        except Ended:
            raise InputError("the process that worked on it ended; take fewer rows or columns, or try again") from None

    # --- runs -----------------------------------------------------------------------------------------------------

    def start(self, recording: dict[str, Any], values: dict[str, Any], command: str) -> dict[str, Any]:
        """Start a run of a recording."""
        key = recording["id"]
        if len(self.runs) >= MOST_RUNS:
            raise InputError(f"there are {MOST_RUNS} runs; remove a recording first")
        number = 1 + max((run["number"] for run in self.runs.values() if run["recording"] == key), default=0)
        stem = re.sub(r"\.(gz|xz|zip)$", "", recording["name"], flags=re.I)
        run: dict[str, Any] = {
            "id": secrets.token_hex(8), "recording": key, "number": number, "values": values, "command": command,
            "title": f"{Path(stem).stem} {number}", "folder": f"{Path(stem).stem}-results", "status": "waiting",
            "message": "", "python": "", "names": [], "spent": 0.0, "notes": "", "shown": "",
        }  # fmt: skip
        self.runs[run["id"]] = run
        self.resume(run["id"])
        return run

    def resume(self, key: Any) -> None:
        """Start a run, or go on with one that was stopped: what was finished is in its store."""
        run = self.run(key)
        if run["status"] == "done" or key in self._working:
            return
        run |= {"status": "waiting", "message": "", "phase": "waiting", "done": 0, "total": None}
        self._working[key] = Process()
        task = asyncio.create_task(self._go(run, self._working[key]))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        self.changed()

    async def _go(self, run: dict[str, Any], fresh: Process) -> None:
        recording, began = self.recording(run["recording"]), None

        def told(**said: Any) -> None:
            run.update(said)
            self.changed(save=False)

        try:
            async with self._slots:
                if self._working.get(run["id"]) is not fresh:  # cancelled while it waited
                    return
                # The process that stands by has everything loaded; another one takes its place.
                process, self._standby = self._standby, fresh
                self._working[run["id"]], began = process, time.monotonic()
                run["status"] = "running"
                self.changed()
                given = {"recording": _told(recording, run["values"]), "folder": str(self.run_folder(run))}
                found = await process.ask("run", told, **given)
                run |= {"status": "done", **found}
        except InputError as error:
            run |= {"status": "failed", "message": str(error)}
        except Ended:
            if run["status"] == "running":
                run |= {"status": "stopped", "message": "The process ended. What was finished is kept."}
        finally:
            if began is not None:
                run["spent"] += time.monotonic() - began
                await self._working.pop(run["id"]).kill()
                self.changed()

    async def cancel(self, key: Any) -> None:
        """Stop a run; what it has finished is in its store."""
        run, process = self.run(key), self._working.get(key)
        if process is None:
            return
        if run["status"] == "waiting":
            del self._working[key]
        run |= {"status": "cancelled", "message": "Cancelled. What was finished is kept."}
        await process.kill()
        self.changed()

    def run(self, key: Any) -> dict[str, Any]:
        """Return a run by its key."""
        return _known(self.runs, key, "run")

    def run_folder(self, run: dict[str, Any]) -> Path:
        """Return the folder of a run's results."""
        return self.folder / "runs" / run["id"] / run["folder"]

    def result(self, key: str, name: str) -> Path:
        """Return a file of a finished run."""
        run = self.run(key)
        if run["status"] != "done":
            raise InputError("this run is not finished")
        return self.run_folder(run) / name

    def zipped(self, key: str) -> Path:
        """Return the results of a run as one file."""
        source = self.result(key, "network.json").parent
        path = self.folder / "runs" / key / f"{secrets.token_hex(4)}.zip"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as pack:
            for file in sorted(source.iterdir()):
                if not file.name.startswith(".") and not file.name.endswith(("-wal", "-shm")):
                    pack.write(file, f"{source.name}/{file.name}")
        return path

    async def close(self) -> None:
        """End all processes; delete the folder unless it is kept."""
        for process in [self._standby, *self._working.values()]:
            await process.kill()
        for task in list(self._tasks):
            await task
        await self._standby.kill()
        self.changed()
        self._lock.close()
        if not self.keep:
            shutil.rmtree(self.folder, ignore_errors=True)


def _known(table: dict[str, Any], key: Any, what: str) -> dict[str, Any]:
    if not isinstance(key, str) or key not in table:
        raise InputError(f"this {what} is not there any more; choose another, or open the file again")
    found: dict[str, Any] = table[key]
    return found


def _told(recording: dict[str, Any], values: dict[str, Any]) -> dict[str, Any]:
    """Return what a process must know of a recording."""
    return {name: recording[name] for name in ("cwd", "file", "example")} | {"values": values}


def _claimed(folder: Path | None) -> tuple[Path, sqlite3.Connection]:
    """Return a folder that nobody else uses and its lock: the given one, one that was left, or a new one."""
    if folder is not None:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        if (lock := _locked(folder)) is None:
            raise InputError(f"another enmesh open uses {folder}; give another --folder")
        return folder.absolute(), lock
    root().mkdir(parents=True, exist_ok=True, mode=0o700)
    left = sorted(root().iterdir(), key=lambda one: one.stat().st_mtime, reverse=True)
    for one in left:
        if (one / "session.json").exists() and (lock := _locked(one)) is not None:
            return one, lock
    made = root() / secrets.token_hex(8)
    made.mkdir(mode=0o700)
    lock = _locked(made)
    assert lock is not None
    return made, lock


def _locked(folder: Path) -> sqlite3.Connection | None:
    """Lock a folder for as long as this process lives; None where another one has."""
    lock = sqlite3.connect(folder / "lock.db", timeout=0, isolation_level=None, check_same_thread=False)
    try:
        lock.execute("BEGIN EXCLUSIVE")
    except sqlite3.OperationalError:
        lock.close()
        return None
    return lock
