"""What commands print: tables and sentences that fit the terminal, or strict JSON."""

import json
import math
import os
import re
import shutil
import sys
import textwrap
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from enmesh.data.numbers import as_number
from enmesh.data.table import visible
from enmesh.draw import answer, cautions
from enmesh.draw.report.words import fewer_digits, headline, links, standing
from enmesh.errors import HazardWarning
from enmesh.network.network import Network
from enmesh.options import plain


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table; numbers stand right and are never cut: on a narrow terminal words are broken."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    cells = [[_cell(value) for value in row] for row in rows]
    made = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for name, column in zip(columns, zip(*cells)):
        number = all(as_number(cell or "0") is not None for cell in column)
        made.add_column(Text(name), justify="right" if number else "left", no_wrap=number, overflow="fold")
    for row in cells:
        made.add_row(*map(Text, row))
    colours: Any = None if os.environ.get("NO_COLOR") else "auto"
    width = None if sys.stdout.isatty() else 100_000
    console = Console(file=sys.stdout, width=width, color_system=colours)
    with console.capture() as drawn:
        console.print(made)
    if title:
        say(title)
    print("\n".join(line.rstrip() for line in drawn.get().splitlines()))


def say(words: str, stream: Any = None) -> None:
    """Print a sentence; on a terminal it is broken between words."""
    stream = stream or sys.stdout
    room = shutil.get_terminal_size().columns
    if stream.isatty() and len(words) > room:
        words = textwrap.fill(words, max(room, 20), subsequent_indent="  ", break_on_hyphens=False)
    print(words, file=stream)


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def as_json(data: Any) -> None:
    """Print data as strict JSON: what is not a finite number becomes null, a path its name."""
    print(json.dumps(plain(data), indent=1, allow_nan=False, default=str))


def embedding(value: Any, names: Sequence[str]) -> str:
    """Say an embedding as the options that give it; one number where all nodes share it."""
    parts = []
    for field, numbers in value.per_node(tuple(names)).items():
        if field != "lag" or set(numbers) != {1}:
            each = ",".join(f"{name}={number}" for name, number in zip(names, numbers))
            parts.append(f"--{field} {numbers[0] if len(set(numbers)) == 1 else each}")
    return " ".join(parts)


def network(found: Network, files: Sequence[Path] = (), truth: Mapping[str, Sequence[str]] | None = None) -> None:
    """Print the answer, the table of links, the cautions as a plan, the choices, and where the files are."""
    found = found.with_evidence()
    shown = links(found)
    if truth is not None:
        shown["in truth"] = ["yes" if s in truth[t] else "no" for s, t in zip(shown.source, shown.target)]
    say(headline(found))
    for sentence in answer.sentences(found):
        say(f"  {sentence}")
    if len(shown) or found.removed:
        say(f"How sure: {answer.surety(found)}.")
        for line in answer.certainty(found):
            say(f"  {line}")
    if len(shown):
        table([*map(str, shown)], shown.itertuples(index=False))
    if truth is not None:
        say(_against(found, truth))
    steps = cautions.planned(found)
    for at, step in enumerate(steps):
        say(f"{'cautions:' if at == 0 else '         '} {at + 1}. {_caution(step, at == 0, len(steps))}")
    advice, command = answer.following(found)
    if not (steps and steps[0].advice) and advice:
        say(f"next: {advice}{f' Type: {command}' if command else ''}")
    for at, (what, value, reason) in enumerate(found.choices):
        say(fewer_digits(f"{'choices:' if at == 0 else '        '} {what} {value} ({reason})"))
    say(f"found as: {standing(found)} Score {found.score:.6g}.")
    where(files)


def where(files: Sequence[Path]) -> None:
    """Print in which folder files are, and their names."""
    if files:
        say(f"files in {files[0].parent}: {', '.join(file.name for file in files)}")


def _caution(step: cautions.Step, first: bool, count: int) -> str:
    """Return a caution in one line: what to do, why, the command, and how many cautions it removes."""
    advice = f"{'Do this first: ' if first else ''}{step.advice} " if step.advice else ""
    gone = f" (cautions now: {count}; with this command: {count - step.removes})" if step.removes is not None else ""
    return f"{advice}{step.reason}.{f' Type: {step.command}' if step.command else ''}{gone}"


@contextmanager
def held_hazards() -> Iterator[dict[str, None]]:
    """Hold back hazards, each once, and all other warnings for good."""
    held: dict[str, None] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.simplefilter("always", HazardWarning)
        warnings.showwarning = lambda message, *_, **__: held.setdefault(str(message))
        yield held


@contextmanager
def cautions_in_order(shown: list[str]) -> Iterator[None]:
    """Hold back hazards until the end, and leave out those that were ``shown`` in the meantime."""
    held: dict[str, None] = {}
    try:
        with held_hazards() as held:
            yield
    finally:
        for message in held:
            if message not in shown:
                warnings.warn(message, HazardWarning, stacklevel=3)


def _against(found: Network, truth: Mapping[str, Sequence[str]]) -> str:
    graphs = truth, found.parents
    true, mine = ({f"{s}>{t}" for t, parents in graph.items() for s in parents} for graph in graphs)
    missed, extra = (", ".join(sorted(links)) or "none" for links in (true - mine, mine - true))
    return f"Truth has {len(true)} links; {len(true & mine)} found, missed: {missed}, false: {extra}."


def network_json(found: Network, files: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what `infer --json` prints."""
    keep = ("names", "parents", "score", "optimal", "bound", "gap", "removed", "options", "provenance")
    return {
        **{name: getattr(found, name) for name in keep},
        "edges": found.edges.to_dict("records"),
        "choices": [dict(zip(("what", "value", "reason"), choice)) for choice in found.choices],
        "warnings": found.warnings,
        "files": files,
    }


# Marks of our own in plain letters, for terminals without them.
PLAIN = str.maketrans(dict(zip("≤≥–—…→↗↘κτ", ("<=", ">=", "-", "-", "...", "->", "/", "\\", "kappa", "tau"))))
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
