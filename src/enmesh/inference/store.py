"""Store: every finished answer in one SQLite file, so that a run stopped at any moment resumes.

Answers are kept under a hash of data, options and code version: a changed option or data set never meets a
stale row. Rows are written in the process that asks, chunk by chunk, in WAL mode: a chunk is there whole or
not at all, two runs may share a file, and a reader never waits. Column ``computed`` counts how often a row
was computed; resuming leaves it at 1.
"""

import json
import os
import socket
import sqlite3
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np

from enmesh.embedding.nonuniform import Past
from enmesh.errors import InputError, was_stopped
from enmesh.inference.work import Question
from enmesh.significance import Significance

# "enms" in the file's header, at byte 68, says whose file it is before SQLite opens it.
APPLICATION, LAYOUT = 0x656E6D73, 3
# Seconds to wait for another process that is writing.
WAIT = 10.0

TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, data TEXT, names TEXT, score TEXT,
    code TEXT);
CREATE TABLE sessions (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, host TEXT, pid INTEGER, started TEXT,
    ended TEXT, status TEXT);
CREATE TABLE answers (run INTEGER NOT NULL, kind TEXT NOT NULL, question TEXT NOT NULL, answer TEXT NOT NULL,
    nulls BLOB, computed INTEGER NOT NULL DEFAULT 1, UNIQUE (run, kind, question));
"""
READ = "SELECT answer, nulls FROM answers WHERE run=? AND kind=? AND question=?"
WRITE = """INSERT INTO answers (run, kind, question, answer, nulls) VALUES (?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET computed = computed + 1"""


class Store:
    """The finished values of one run in a file that may hold many.

    Parameters
    ----------
    path
        The file; it is made if there is none. Anything else than a sound store is refused and left as it is.
    key, description
        Hash of what the values depend on, and the same in words (``data``, ``names``, ``score``, ``code``).
    """

    def __init__(self, path: str | os.PathLike[str], key: str, description: Mapping[str, Any]):
        self.path = Path(path)
        _refuse_foreign(self.path)
        with _explained(self.path):
            self._db = sqlite3.connect(self.path, timeout=WAIT, isolation_level=None)
        try:
            with _explained(self.path):
                self._open()
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
                    if row is not None:
                        found[question] = _decoded(question.kind, *row)
        return found

    def write(self, answers: Mapping[Question, Any]) -> None:
        """Keep answers; when this returns, a kill of the process cannot lose them."""
        rows = [(self._run, *_text(question), *_encoded(answer)) for question, answer in answers.items()]
        with _explained(self.path), self._transaction():
            self._db.executemany(WRITE, rows)

    def close(self, status: str = "finished") -> None:
        """Note how the session ended and close the file."""
        with suppress(sqlite3.Error):  # what is finished is in the file; a full disk has been reported before
            self._db.execute(
                "UPDATE sessions SET ended=?, status=? WHERE id=?", (_now(), status, self._session)
            )
        self._db.close()

    def __enter__(self) -> "Store":
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        self.close(how_it_ended(error))

    def _open(self) -> None:
        """Make the tables if the file is new: in one transaction, so that a kill leaves all or nothing."""
        with self._transaction():
            if not self._db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                self._db.execute(f"PRAGMA application_id={APPLICATION}")
                self._db.execute(f"PRAGMA user_version={LAYOUT}")
                for statement in TABLES.split(";")[:-1]:
                    self._db.execute(statement)
        deadline = time.monotonic() + WAIT
        while True:  # changing the mode does not wait for others by itself
            try:
                self._db.execute("PRAGMA journal_mode=WAL")
                break
            except sqlite3.OperationalError:
                if time.monotonic() > deadline:
                    raise
                time.sleep(0.05)
        self._db.execute("PRAGMA synchronous=NORMAL")

    def _begin(self, key: str, description: Mapping[str, Any]) -> tuple[int, int | None]:
        with self._transaction():
            words = [json.dumps(description[name]) for name in ("names", "score")]
            self._db.execute(
                "INSERT OR IGNORE INTO runs (key, data, names, score, code) VALUES (?, ?, ?, ?, ?)",
                (key, description["data"], *words, description["code"]),
            )
            run = self._db.execute("SELECT id FROM runs WHERE key=?", (key,)).fetchone()[0]
            session = self._db.execute(
                "INSERT INTO sessions (run, host, pid, started) VALUES (?, ?, ?, ?)",
                (run, socket.gethostname(), os.getpid(), _now()),
            ).lastrowid
        return run, session

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._db.execute("COMMIT")
        except BaseException:
            with suppress(sqlite3.Error):
                self._db.execute("ROLLBACK")
            raise


def runs(path: str | os.PathLike[str]) -> list[dict[str, Any]]:
    """Return what a store holds, an entry per data set and options: when, what, how much, how it ended.

    ``status`` is that of the last session: finished, interrupted, failed, running (on this machine), or
    stopped (it did not come to say how it ended). ``computed_twice`` counts rows that more than one session
    computed.
    """
    path = Path(path)
    if not path.is_file() or not path.stat().st_size:
        raise InputError(f"there is no store {path}; give the file that was passed as store=")
    _refuse_foreign(path)
    with _explained(path), closing(_read_only(path)) as db:
        return [
            _summary(db, *row) for row in db.execute("SELECT id, key, data, names, score, code FROM runs")
        ]


def _summary(
    db: sqlite3.Connection, run: int, key: str, data: str, names: str, score: str, code: str
) -> dict[str, Any]:
    sessions = db.execute(
        "SELECT started, ended, status, host, pid FROM sessions WHERE run=? ORDER BY id", (run,)
    ).fetchall()
    counted = "SELECT kind, count(*), sum(computed > 1) FROM answers WHERE run=? GROUP BY kind"
    kinds = {kind: (count, twice) for kind, count, twice in db.execute(counted, (run,))}
    started, ended, status, host, pid = sessions[-1]
    return {
        "key": key,
        "data": data,
        "names": json.loads(names),
        "score": json.loads(score),
        "code": code,
        "started": sessions[0][0],
        "last": ended or started,
        "sessions": len(sessions),
        "families": kinds.get("family", (0, 0))[0],
        "tests": kinds.get("test", (0, 0))[0],
        "answers": sum(count for count, _ in kinds.values()),
        "computed_twice": sum(twice for _, twice in kinds.values()),
        "status": status or ("running" if _alive(host, pid) else "stopped"),
    }


def how_it_ended(error: BaseException | None) -> str:
    """Return the status of a session that ended in this error, or in none."""
    return "finished" if error is None else "interrupted" if was_stopped(error) else "failed"


def _text(question: Question) -> tuple[str, str]:
    return question.kind, json.dumps([*question.args, question.level, question.surrogates])


def _encoded(answer: Any) -> tuple[str, bytes | None]:
    """Return plain data as JSON, which keeps every bit of a number, and null values as bytes."""
    if isinstance(answer, Significance):
        numbers = [float(answer.value), float(answer.p_value), float(answer.null_mean)]
        return json.dumps(numbers), np.asarray(answer.null, np.float64).tobytes()
    return json.dumps(answer[:4] if isinstance(answer, Past) else answer), None


def _decoded(kind: str, text: str, nulls: bytes | None) -> Any:
    answer = json.loads(text)
    if kind == "test" and nulls is not None:
        value, p_value, mean = answer
        return Significance(value, p_value, np.frombuffer(nulls), mean)
    if kind == "past":
        own, lags, sources, further = answer
        return Past(tuple(own), tuple(map(tuple, lags)), tuple(sources), tuple(further))
    return answer


def _alive(host: str, pid: int) -> bool:
    if host != socket.gethostname():
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _now() -> str:
    return datetime.now().astimezone().isoformat(timespec="seconds")


# --- files that are no store --------------------------------------------------------------------------------


def _refuse_foreign(path: Path) -> None:
    """Refuse what is no store, or a damaged one, without opening it for writing."""
    if not path.parent.is_dir():
        raise InputError(f"the store {path} cannot be made: there is no folder {path.parent}")
    if path.is_dir():
        raise InputError(f"the store {path} is a folder; give a file name such as {path / 'run.db'}")
    if not path.exists() or not path.stat().st_size or _undone(path):
        return
    header = _header(path)
    if not _is_ours(header):
        raise InputError(f"{path} is not an enmesh store and was left as it is; give another file name")
    if int.from_bytes(header[60:64]) != LAYOUT:
        raise InputError(f"{path} was written by another version of enmesh; move it away or give another")
    with _explained(path), closing(_read_only(path)) as db:
        found = db.execute("PRAGMA quick_check(1)").fetchone()[0]
    if found != "ok":
        raise _damaged(path, found)


def _header(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(100)
    except OSError as error:
        raise InputError(f"the store {path} cannot be read ({error.strerror}); give another file") from None


def _is_ours(header: bytes) -> bool:
    return header[:16] == b"SQLite format 3\0" and int.from_bytes(header[68:72]) == APPLICATION


def _undone(path: Path) -> bool:
    """Whether the file was being made when its process was killed; SQLite then empties it by its journal."""
    header = _header(path)
    if not Path(f"{path}-journal").exists() or (any(header) and not _is_ours(header)):
        return False
    with _explained(path), closing(sqlite3.connect(path, timeout=WAIT)) as db:
        return not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]


def _read_only(path: Path) -> sqlite3.Connection:
    """Open for reading; a file in a folder that cannot be written to is taken as it is."""
    address = f"file:{quote(str(path.absolute()))}?mode=ro"
    for last in (False, True):
        db = sqlite3.connect(address + ("&immutable=1" if last else ""), uri=True, timeout=WAIT)
        try:
            db.execute("SELECT count(*) FROM sqlite_master")
            return db
        except sqlite3.OperationalError:
            db.close()
            if last or os.access(path.parent, os.W_OK) or Path(f"{path}-wal").exists():
                raise
    raise AssertionError  # unreachable: the last turn returns or raises


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
        raise InputError(f"the store {path} cannot be written ({reason}): {advice}") from error
    except sqlite3.DatabaseError as error:
        raise _damaged(path, error) from error


def _damaged(path: Path, reason: object) -> InputError:
    return InputError(
        f"the store {path} is damaged ({reason}) and was left as it is; restore a copy or give another file"
    )
