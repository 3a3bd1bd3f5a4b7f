"""Store: every finished answer in one SQLite file, so that a run stopped at any moment resumes.

Answers are kept under a hash of data, options and code version: a changed option or data set never meets a stale row.
Rows are written in the process that asks, chunk by chunk, in WAL mode: a chunk is there whole or not at all, two runs
may share a file, and a reader never waits. Column ``computed`` counts how often a row was computed, ``digest`` is a
checksum of run, question and answer: a row that does not match it counts as absent and is written anew.
"""

import hashlib
import json
import os
import platform
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from enmesh.embedding.nonuniform import Past
from enmesh.errors import InputError, was_stopped
from enmesh.inference.work import Question
from enmesh.links.selection import Drivers
from enmesh.options import restore
from enmesh.significance import Significance

# "enms" in the file's header, at byte 68, says whose file it is before SQLite opens it.
APPLICATION, LAYOUT = 0x656E6D73, 4
WAIT = 10.0  # seconds to wait for another process that is writing

TABLES = (
    f"PRAGMA application_id={APPLICATION}",
    f"PRAGMA user_version={LAYOUT}",
    """CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, data TEXT, names TEXT, score TEXT,
    code TEXT)""",
    """CREATE TABLE sessions (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, host TEXT, pid INTEGER, started TEXT,
    ended TEXT, status TEXT)""",
    "CREATE TABLE commands (id INTEGER PRIMARY KEY, command TEXT NOT NULL)",
    """CREATE TABLE answers (run INTEGER NOT NULL, kind TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL,
    nulls BLOB, digest BLOB NOT NULL, computed INTEGER NOT NULL DEFAULT 1, UNIQUE (run, kind, question))""",
)
READ = "SELECT answer, nulls, digest FROM answers WHERE run=? AND kind=? AND question=?"
WRITE = """INSERT INTO answers (run, kind, question, answer, nulls, digest) VALUES (?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET answer = excluded.answer, nulls = excluded.nulls, digest = excluded.digest,
    computed = computed + 1"""
NEW_RUN = "INSERT OR IGNORE INTO runs (key, data, names, score, code) VALUES (?, ?, ?, ?, ?)"
NEW_SESSION = "INSERT INTO sessions (run, host, pid, started) VALUES (?, ?, ?, ?)"
SUMMARY = """SELECT key, data, names, score, code, first AS started, coalesce(ended, started) AS last, sessions,
    ifnull(families, 0) AS families, ifnull(tests, 0) AS tests, ifnull(answers, 0) AS answers,
    ifnull(twice, 0) AS computed_twice, status, host, pid
    FROM runs
    JOIN (SELECT run, count(*) AS sessions, min(started) AS first, max(id) AS newest FROM sessions GROUP BY run)
        AS counted ON counted.run = runs.id
    JOIN sessions ON sessions.id = newest
    LEFT JOIN (SELECT run, sum(kind = 'family') AS families, sum(kind = 'test') AS tests, count(*) AS answers,
        sum(computed > 1) AS twice FROM answers GROUP BY run) AS done ON done.run = runs.id
    ORDER BY runs.id"""


def described(series: Any, score: Any, code: object) -> dict[str, Any]:
    """Return what the values of a run depend on: data, score (or the options of a job), and the version of the code."""
    from enmesh import __version__

    return {"data": series.digest, "names": list(series.names), "score": score, "code": f"{__version__}/{code}"}


def key_of(description: Mapping[str, Any]) -> str:
    """Return the hash that values of a run are stored under."""
    return hashlib.sha256(json.dumps(description, sort_keys=True).encode()).hexdigest()


class Store:
    """The finished values of one run in a file that may hold many; anything else than a sound store is left as it is.

    ``key`` is a hash of what values depend on, ``description`` the same in words (``data names score code``).
    """

    def __init__(self, path: str | os.PathLike[str], key: str, description: Mapping[str, Any]):
        if not isinstance(path, (str, os.PathLike)):
            raise InputError(f"store={path!r} is not a file; give a path such as 'run.db'")
        self.path, self._key = Path(path), key
        with _explained(self.path):
            self._db = _opened(self.path)
            try:
                self._run, self._session = self._begin(key, description)
            except BaseException:
                self._db.close()
                raise

    def read(self, questions: Iterable[Question]) -> dict[Question, Any]:
        """Return the answers that are there; a test that was not stopped early holds at any level."""
        found = {}
        with _explained(self.path):
            for question in questions:
                for asked in {question, question.full}:
                    row = self._db.execute(READ, (self._run, *_text(asked))).fetchone()
                    if row is not None and row[2] == self._digest(asked, *row[:2]):
                        found[question] = _decoded(question.kind, *row[:2])
        return found

    def write(self, answers: Mapping[Question, Any]) -> None:
        """Keep answers; when this returns, a kill of the process cannot lose them."""
        coded = {question: _encoded(answer) for question, answer in answers.items()}
        rows = [(self._run, *_text(one), *held, self._digest(one, *held)) for one, held in coded.items()]
        with _explained(self.path), self._db:
            self._db.executemany(WRITE, rows)

    def _digest(self, question: Question, text: Any, nulls: Any) -> bytes:
        """Return the checksum of an answer; of what a damaged file may hold instead too."""
        head = repr((self._key, *_text(question), text)).encode("utf-8", "surrogateescape")
        return hashlib.sha256(head + (nulls if isinstance(nulls, bytes) else repr(nulls).encode())).digest()[:16]

    def close(self, error: BaseException | None = None) -> None:
        """Note how the session ended, in an error if there is one, and close the file."""
        status = "finished" if error is None else "interrupted" if was_stopped(error) else "failed"
        ended = _now(), status, self._session
        with suppress(sqlite3.Error), self._db:  # a full disk has been reported before
            self._db.execute("UPDATE sessions SET ended=?, status=? WHERE id=?", ended)
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.close(error)

    def _begin(self, key: str, description: Mapping[str, Any]) -> tuple[int, int | None]:
        """Note the run and a session of it; in a new file make the tables, in one transaction: all or nothing."""
        words = [json.dumps(description[name]) for name in ("names", "score")]
        with self._db as db:
            _with_tables(db)
            db.execute(NEW_RUN, (key, description["data"], *words, description["code"]))
            (run,) = db.execute("SELECT id FROM runs WHERE key=?", (key,)).fetchone()
            mine = run, platform.node(), os.getpid(), _now()
            session = db.execute(NEW_SESSION, mine).lastrowid
        with suppress(sqlite3.OperationalError):  # another may be at it; every mode keeps what is written
            db.execute("PRAGMA journal_mode=WAL")
        db.execute("PRAGMA synchronous=NORMAL")
        return run, session


def runs(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what a store holds, an entry per data set and options: when, what, how much, how it ended.

    ``status`` is that of the last session: finished, interrupted, failed, running (on this machine), or
    stopped (it did not come to say how it ended). ``computed_twice`` counts rows that more than one session
    computed.
    """
    path = Path(path)
    if not path.is_file() or not path.stat().st_size:
        raise InputError(f"there is no store {path}; give the file that was passed as store=")
    found = []
    with _explained(path), closing(_opened(path)) as db:
        db.row_factory = sqlite3.Row
        for row in db.execute(SUMMARY) if _has_tables(db) else ():
            with suppress(ValueError, TypeError):  # the words of a damaged row
                run = dict(row) | {name: json.loads(row[name]) for name in ("names", "score")}
                alive = _alive(run["host"], run["pid"])
                found.append(run | {"status": run["status"] or ("running" if alive else "stopped")})
    return found


def whole_runs(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return one entry per inference: its `runs`, which are its steps, summed; they share the data and the process.

    ``status`` is running or stopped if one of the steps is, else that of the last one; ``score`` that of the last.
    """
    groups: dict[Any, list[dict[str, Any]]] = {}
    for run in runs(path):
        groups.setdefault((run["data"], run["code"].split("/")[0], run["host"], run["pid"]), []).append(run)
    whole = []
    for steps in groups.values():
        summed = {
            name: sum(step[name] for step in steps) for name in ("families", "tests", "answers", "computed_twice")
        }
        states = [step["status"] for step in sorted(steps, key=lambda step: str(step["last"]))]
        status = next((one for one in ("running", "stopped") if one in states), states[-1])
        times = {"started": min(str(step["started"]) for step in steps)}
        times |= {"last": max(str(step["last"]) for step in steps)}
        whole.append(steps[-1] | summed | times | {"status": status, "steps": len(steps)})
    return whole


def note_command(path: str | os.PathLike[str], command: str) -> str:
    """Keep the command line that a store belongs to; return the one before it, empty if there was none."""
    path = Path(path)
    with _explained(path), closing(_opened(path)) as db, db:
        _with_tables(db)
        before = db.execute("SELECT command FROM commands ORDER BY id DESC").fetchone()
        db.execute("INSERT INTO commands (command) VALUES (?)", (command,))
        return str(before[0]) if before else ""


def _text(question: Question) -> tuple[str, str]:
    return question.kind, json.dumps([*question.args, question.level, question.surrogates])


def _encoded(answer: Any) -> tuple[str, bytes | None]:
    """Return plain data as JSON, which keeps every bit of a number, and null values as bytes."""
    if isinstance(answer, Significance):
        numbers = [float(answer.value), float(answer.p_value), float(answer.null_mean)]
        return json.dumps(numbers), np.asarray(answer.null, np.float64).tobytes()
    return json.dumps(answer), None


def _decoded(kind: str, text: str, nulls: bytes | None) -> Any:
    answer = json.loads(text)
    if kind == "test" and nulls is not None:
        value, p_value, mean = answer
        return Significance(value, p_value, np.frombuffer(nulls), mean)
    if kind in ("past", "drivers"):
        return tuple((Past if kind == "past" else Drivers)(*row) for row in restore(answer))
    return answer


def _alive(host: Any, pid: Any) -> bool:
    if host != platform.node() or not isinstance(pid, int) or not 0 < pid < 2**31:
        return False
    try:
        os.kill(pid, 0)
    except OSError as error:
        return isinstance(error, PermissionError)
    return True


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


def _opened(path: Path) -> sqlite3.Connection:
    """Open a store, or a new file; refuse what is no store, or a damaged one, before anything is written."""
    if not path.parent.is_dir():
        raise InputError(f"the store {path} cannot be made: there is no folder {path.parent}; make it first")
    if path.is_dir():
        raise InputError(f"the store {path} is a folder; give a file name such as {path / 'run.db'}")
    if path.is_symlink() and not path.exists():
        raise InputError(f"the store {path} is a link to a file that is not there; remove it or give another file")
    header = b""
    try:
        if path.exists():
            with path.open("rb") as file:
                header = file.read(100)
    except OSError as error:
        raise InputError(f"the store {path} cannot be read ({error.strerror}); give another file") from None
    if any(header):  # none of a file that is new, or whose first transaction was not finished
        if header[:16] != b"SQLite format 3\0" or int.from_bytes(header[68:72]) != APPLICATION:
            raise InputError(f"{path} is not an enmesh store and was left as it is; give another file name")
        if int.from_bytes(header[60:64]) != LAYOUT:
            raise InputError(f"{path} was written by another version of enmesh; move it away or give another")
    # In a folder that cannot be written to, a file that nobody is writing is taken as it is.
    as_it_is = not os.access(path.parent, os.W_OK) and not Path(f"{path}-wal").exists()
    address = f"file:{quote(str(path.absolute()))}?{'mode=ro&immutable=1' if as_it_is else 'mode=rwc'}"
    db = sqlite3.connect(address, uri=True, timeout=WAIT, isolation_level="IMMEDIATE")
    db.text_factory = partial(str, encoding="utf-8", errors="surrogateescape")  # of a damaged file too
    try:
        if (found := db.execute("PRAGMA quick_check(1)").fetchone()[0]) != "ok":
            raise _damaged(path, found)
    except BaseException:
        db.close()
        raise
    return db


def is_store(path: Path) -> bool:
    """Say whether a file is one of ours."""
    try:
        with path.open("rb") as file:
            return int.from_bytes(file.read(100)[68:72]) == APPLICATION
    except OSError:
        return False


def _has_tables(db: sqlite3.Connection) -> bool:
    return bool(db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0])


def _with_tables(db: sqlite3.Connection) -> None:
    """Begin to write, and make the tables in a new file, in one transaction: all or nothing."""
    db.execute("BEGIN IMMEDIATE")
    if not _has_tables(db):
        for statement in TABLES:
            db.execute(statement)


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    """Say what is wrong with the file, and what becomes of what was finished."""
    try:
        yield
    except sqlite3.OperationalError as error:
        reason, kept = str(error), "what was finished before is kept"
        advice = f"make room and start again; {kept}"
        if "locked" in reason or "busy" in reason:
            advice = f"another process has held it for {WAIT:g} s: wait for it or give another file; {kept}"
        elif "readonly" in reason or "unable to open" in reason:
            advice = "make file and folder writable, or give another file"
        elif "full" not in reason and "I/O" not in reason:  # tables or columns that are not there, and the like
            raise _damaged(path, error) from error
        raise InputError(f"the store {path} cannot be written ({reason}): {advice}") from error
    except (sqlite3.DatabaseError, UnicodeDecodeError) as error:  # even messages may hold what is damaged
        raise _damaged(path, error) from error


def _damaged(path: Path, reason: object) -> InputError:
    reason = " ".join(str(reason).split())
    return InputError(
        f"the store {path} is damaged ({reason}) and was left as it is; restore a copy or give another file"
    )
