"""A ledger of finished cells: one JSON object a line, appended as each is done, so that a killed run goes on."""

import json
import os
from pathlib import Path
from typing import Any


class Ledger:
    """Results by key, kept in a file. A line that a kill cut off is dropped, and its cell is computed again.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "cells.jsonl"
    >>> Ledger(path).add({"n": 100}, [1, 2])
    >>> Ledger(path).get({"n": 100})
    [1, 2]
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._known: dict[str, Any] = {}
        if path.exists():
            self._read()

    def get(self, key: dict[str, Any]) -> Any:
        """Return the result of a cell, None where there is none yet."""
        return self._known.get(_text(key))

    def add(self, key: dict[str, Any], result: Any) -> None:
        """Append a result; it is on the disk when this returns."""
        self._known[_text(key)] = result
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"key": key, "result": result}) + "\n")
            file.flush()
            os.fsync(file.fileno())

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        whole = text[: text.rfind("\n") + 1]
        if whole != text:  # the next line must not be glued to a torn one
            os.truncate(self.path, len(whole.encode()))
        for line in whole.splitlines():
            entry = json.loads(line)
            self._known[_text(entry["key"])] = entry["result"]


def _text(value: dict[str, Any]) -> str:
    return json.dumps(value, sort_keys=True)
