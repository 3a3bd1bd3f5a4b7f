"""Store: every finished score and edge test in one SQLite file, so that a run stopped at any moment resumes.

Values are kept under a hash of data, options and code version: a changed option or data set never meets a
stale row. Rows are written in the process that asks, chunk by chunk, in WAL mode: a chunk is there whole or
not at all, two runs may share a file, and a reader never waits. Column ``computed`` counts how often a row
was computed; resuming leaves it at 1.
"""

import json
import logging
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
from enmesh.errors import InputError
from enmesh.inference.work import Question
from enmesh.significance import Significance

log = logging.getLogger("enmesh.store")

# "enms" in the file's header, at byte 68, says whose file it is before SQLite opens it.
APPLICATION, LAYOUT = 0x656E6D73, 2
# Seconds to wait for another process that is writing.
WAIT = 10.0

TABLES = """
CREATE TABLE runs (id INTEGER PRIMARY KEY, key TEXT UNIQUE NOT NULL, data TEXT, names TEXT, score TEXT,
    code TEXT);
CREATE TABLE sessions (id INTEGER PRIMARY KEY, run INTEGER NOT NULL, host TEXT, pid INTEGER, started TEXT,
    ended TEXT, status TEXT);
CREATE TABLE families (run INTEGER NOT NULL, target INTEGER NOT NULL, parents TEXT NOT NULL, score REAL,
    computed INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (run, target, parents)) WITHOUT ROWID;
CREATE TABLE tests (run INTEGER NOT NULL, source INTEGER NOT NULL, target INTEGER NOT NULL,
    given TEXT NOT NULL, level REAL NOT NULL, surrogates INTEGER NOT NULL, te REAL,
    p_value REAL, null_mean REAL, nulls BLOB,
    computed INTEGER NOT NULL DEFAULT 1, UNIQUE (run, source, target, given, level, surrogates));
CREATE TABLE pasts (run INTEGER NOT NULL, target INTEGER NOT NULL, past TEXT NOT NULL,
    computed INTEGER NOT NULL DEFAULT 1, PRIMARY KEY (run, target)) WITHOUT ROWID;
"""
READ_FAMILY = "SELECT score FROM families WHERE run=? AND target=? AND parents=?"
READ_TEST = """SELECT te, p_value, nulls, null_mean FROM tests
    WHERE run=? AND source=? AND target=? AND given=? AND level=? AND surrogates=?"""
WRITE_FAMILY = """INSERT INTO families (run, target, parents, score) VALUES (?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET computed = computed + 1"""
WRITE_TEST = """INSERT INTO tests (run, source, target, given, level, surrogates, te, p_value, nulls, null_mean)
    VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET computed = computed + 1"""
READ_PAST = "SELECT past FROM pasts WHERE run=? AND target=?"
WRITE_PAST = """INSERT INTO pasts (run, target, past) VALUES (?, ?, ?)
    ON CONFLICT DO UPDATE SET computed = computed + 1"""
# A test that was not stopped early holds at any level.
FULL = -1.0


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
        """Return the answers that are there, each as its kind of question has it (`work.Answer`)."""
        found = {}
        with _explained(self.path):
            for question in questions:
                row = self._read_one(question)
                if row is not None:
                    found[question] = row
        return found

    def write(self, answers: Mapping[Question, Any]) -> None:
        """Keep answers; when this returns, a kill of the process cannot lose them."""
        families, tests, pasts = [], [], []
        for question, answer in answers.items():
            if question.kind == "past":
                pasts.append((self._run, question.args[0], json.dumps(answer[:4])))
            elif question.kind == "family":
                families.append((self._run, *_family(question), float(answer)))
            else:
                null = np.asarray(answer.null, np.float64).tobytes()
                tests.append(
                    (self._run, *_link(question), answer.value, answer.p_value, null, answer.null_mean)
                )
        with _explained(self.path), self._transaction():
            self._db.executemany(WRITE_FAMILY, families)
            self._db.executemany(WRITE_TEST, tests)
            self._db.executemany(WRITE_PAST, pasts)

    def close(self, status: str = "finished") -> None:
        """Note how the session ended and close the file."""
        with suppress(sqlite3.Error):  # what is finished is in the file; a full disk has been reported before
            self._db.execute(
                "UPDATE sessions SET ended=?, status=? WHERE id=?", (_now(), status, self._session)
            )
        self._db.close()

    def _read_one(self, question: Question) -> Any:
        if question.kind == "past":
            row = self._db.execute(READ_PAST, (self._run, *question.args)).fetchone()
            return row and _past(row[0])
        if question.kind == "family":
            row = self._db.execute(READ_FAMILY, (self._run, *_family(question))).fetchone()
            return row and _number(row[0])
        *link, asked, surrogates = _link(question)
        for level in {asked, FULL}:
            row = self._db.execute(READ_TEST, (self._run, *link, level, surrogates)).fetchone()
            if row:
                value, p_value, null, mean = row
                return Significance(_number(value), _number(p_value), np.frombuffer(null), _number(mean))
        return None

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
            self._say_changes(key, description)
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

    def _say_changes(self, key: str, description: Mapping[str, Any]) -> None:
        """Say, where the file holds other runs and not this one, what differs from the last of them."""
        held = self._db.execute("SELECT key, data, names, score, code FROM runs ORDER BY id").fetchall()
        if not held or key in [row[0] for row in held]:
            return
        _, data, names, score, code = held[-1]
        last = {"data": data, "names": json.loads(names), "score": json.loads(score), "code": code}
        now = json.loads(json.dumps({name: description[name] for name in last}))
        log.info(
            "%s holds no run of this kind, so all is computed anew and kept beside the others; "
            "against the last run there: %s",
            self.path,
            "; ".join(_changes(last, now)),
        )

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
    families, tests = (
        db.execute(
            f"SELECT count(*), coalesce(sum(computed > 1), 0) FROM {table} WHERE run=?", (run,)
        ).fetchone()
        for table in ("families", "tests")
    )
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
        "families": families[0],
        "tests": tests[0],
        "computed_twice": families[1] + tests[1],
        "status": status or ("running" if _alive(host, pid) else "stopped"),
    }


def _changes(last: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    """Say what differs between two descriptions of runs, in words."""
    said = []
    if last["names"] != now["names"]:
        said.append(f"other nodes ({len(now['names'])}, not {len(last['names'])})")
    if last["data"] != now["data"]:
        said.append("other data")
    if last["code"] != now["code"]:
        said.append(f"another version ({now['code']}, not {last['code']})")
    before, after = _flat(last["score"]), _flat(now["score"])
    for name in [*before, *(name for name in after if name not in before)]:
        if before.get(name) != after.get(name):
            said.append(f"{name} is {after.get(name)}, not {before.get(name)}")
    return said


def _flat(value: object, name: str = "score") -> dict[str, object]:
    """Return ``{"score.alpha": 0.99, ...}`` of options within options."""
    if not isinstance(value, Mapping):
        return {name: value}
    found: dict[str, object] = {}
    for key, item in value.items():
        found |= _flat(item, name if key == "type" else f"{name}.{key}")
    return found


def _family(question: Question) -> tuple[int, str]:
    target, parents = question.args
    return int(target), " ".join(map(str, parents))


def _past(text: str) -> Past:
    own, lags, sources, further = json.loads(text)
    return Past(tuple(own), tuple(map(tuple, lags)), tuple(sources), tuple(further))


def _link(question: Question) -> tuple[int, int, str, float, int]:
    source, target, given = question.args
    level = FULL if question.level is None else question.level
    return int(source), int(target), " ".join(map(str, given)), level, question.surrogates or 0


def _number(value: float | None) -> float:
    """SQLite has no NaN and keeps nothing in its place."""
    return float("nan") if value is None else value


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
        raise InputError(f"{path} was written by another version of enmesh; give another file name")
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
