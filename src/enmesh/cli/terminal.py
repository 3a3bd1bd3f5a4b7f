"""A stream that a terminal of any kind can show: names cannot command it, and marks that it lacks are spelled out."""

import re
from typing import Any

from enmesh.data.table import visible

# Marks of our own in plain letters, for terminals without them.
PLAIN = str.maketrans(
    {
        "≤": "<=",
        "≥": ">=",
        "–": "-",
        "—": "-",
        "…": "...",
        "→": "->",
        "↗": "/",
        "↘": "\\",
        "κ": "kappa",
        "τ": "tau",
    }
)
# What colours a text; a line is cut at these and what lies between is made visible.
COLOUR = re.compile(r"(\x1b\[[0-9;]*m|\n|\t)")


class SafeStream:
    """A text stream that spells out what its encoding lacks, and with ``escape`` what would command a terminal."""

    def __init__(self, stream: Any, escape: bool = False):
        self._stream, self._escape = stream, escape

    def write(self, text: str) -> int:
        """Write text that can be shown; return the length of what was given."""
        if self._escape and not (text.isascii() and text.isprintable()):
            parts = COLOUR.split(text)
            text = "".join(part if at % 2 else visible(part) for at, part in enumerate(parts))
        encoding = getattr(self._stream, "encoding", None) or "utf-8"
        try:
            text.encode(encoding)
        except UnicodeEncodeError:
            text = text.translate(PLAIN).encode(encoding, "backslashreplace").decode(encoding)
        self._stream.write(text)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)
