"""What commands print: tables and sentences that fit the terminal, or strict JSON."""

import json
import math
import os
import shutil
import sys
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from enmesh.draw.labels import short
from enmesh.draw.labels import width as letters
from enmesh.options import plain

if TYPE_CHECKING:
    from enmesh.inference.network import Network


def table(columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None) -> None:
    """Print a table; numbers stand right and are never cut: on a narrow terminal names are shortened."""
    cells = [[_cell(value) for value in row] for row in rows]
    right = [all(_is_number(row[i]) for row in cells) for i in range(len(columns))]
    if sys.stdout.isatty():
        cells = _narrowed(columns, cells, right, shutil.get_terminal_size().columns)
    widths = [max(map(cell_len, column)) for column in zip(columns, *cells)]
    if title:
        say(title)
    bold = sys.stdout.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"
    for at, row in enumerate([list(columns), *cells]):
        parts = [
            " " * (width - cell_len(cell)) + cell if number else cell + " " * (width - cell_len(cell))
            for cell, width, number in zip(row, widths, right)
        ]
        line = "  ".join(parts).rstrip()
        print(f"\x1b[1m{line}\x1b[0m" if bold and at == 0 else line)


def _narrowed(
    columns: Sequence[str], rows: list[list[str]], right: Sequence[bool], room: int
) -> list[list[str]]:
    """Return the rows with words cut in the middle, the longest first, until a line fits."""
    widths = [max(map(cell_len, column)) for column in zip(columns, *rows)]
    words = [i for i, number in enumerate(right) if not number]
    over = sum(widths) + 2 * (len(widths) - 1) - room
    limits = {i: widths[i] for i in words}
    while over > 0 and limits and max(limits.values()) > 6:
        longest = max(limits, key=lambda i: limits[i])
        limits[longest] -= 1
        over -= 1
    cut = {i: short([row[i] for row in rows], limits[i]) for i in words if limits[i] < widths[i]}
    return [[cut[i][at] if i in cut else cell for i, cell in enumerate(row)] for at, row in enumerate(rows)]


def say(words: str, stream: Any = None) -> None:
    """Print a sentence; on a terminal it is broken between words."""
    stream = stream or sys.stdout
    room = shutil.get_terminal_size().columns
    if stream.isatty() and len(words) > room:
        words = textwrap.fill(words, max(room, 20), subsequent_indent="  ", break_on_hyphens=False)
    print(words, file=stream)


def cell_len(text: str) -> int:
    """Return how many columns a terminal takes for a text."""
    return int(letters(text))


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return "" if math.isnan(value) else f"{value:.4g}"
    return str(value)


def _is_number(text: str) -> bool:
    try:
        float(text or "0")
    except ValueError:
        return False
    return True


def as_json(data: Any) -> None:
    """Print data as strict JSON: what is not a finite number becomes null."""
    print(json.dumps(plain(data), indent=1, allow_nan=False))


def embedding(value: Any, names: Sequence[str]) -> str:
    """Say an embedding as the options that give it; one number where all nodes share it."""
    parts = []
    for field, numbers in value.per_node(tuple(names)).items():
        if field != "lag" or set(numbers) != {1}:
            each = ",".join(f"{name}={number}" for name, number in zip(names, numbers))
            parts.append(f"--{field} {numbers[0] if len(set(numbers)) == 1 else each}")
    return " ".join(parts)


def network(
    found: "Network", files: Sequence[Path] = (), truth: Mapping[str, Sequence[str]] | None = None
) -> None:
    """Print the links of a network, how good it is, what was chosen and where the files are."""
    from enmesh.draw.report.words import fewer_digits, headline

    edges = found.edges
    columns = ["source", "target", "TE (nats)", "p", "q", "lag"]
    lags = [", ".join(str(lag) for lag in found) for found in edges["lags"]]
    rows = [[*row[:5], said] for row, said in zip(edges.itertuples(index=False), lags)]
    if edges["stability"].notna().any():
        columns.append("stability")
        rows = [[*row, share] for row, share in zip(rows, edges["stability"])]
    if truth is not None:
        columns.append("in truth")
        for row in rows:
            row.append("yes" if row[0] in truth[row[1]] else "no")
    say(headline(found))
    if rows:
        table(columns, rows)
    if truth is not None:
        say(_against(found, truth))
    say(verdict(found))
    for what, value, reason in found.choices:
        say(fewer_digits(f"chosen {what}: {value} ({reason})"))
    if files:
        say(f"files in {files[0].parent}: {', '.join(file.name for file in files)}")


def verdict(found: "Network") -> str:
    """Say in one sentence whether the network is the best there is, and what acyclicity cost."""
    if found.optimal:
        said = f"Proven optimal: score {found.score:.6g}"
    elif math.isfinite(found.bound):
        said = (
            f"Best found: score {found.score:.6g}, proven to be at most {found.bound - found.score:.3g} short"
        )
    else:
        said = f"Best found: score {found.score:.6g}, without proof"
    if not found.options.get("acyclic", True):
        return f"{said}; cycles allowed."
    if not found.removed:
        return f"{said}; acyclicity cost nothing." if found.gap == 0 else f"{said}."
    listed = ", ".join(f"{source}>{target}" for source, target in found.removed)
    return f"{said}; acyclicity costs {found.gap:.3g} and removed {listed}."


def _against(found: "Network", truth: Mapping[str, Sequence[str]]) -> str:
    true = {(source, target) for target, sources in truth.items() for source in sources}
    mine = {(source, target) for target, sources in found.parents.items() for source in sources}
    missed = ", ".join(f"{s}>{t}" for s, t in sorted(true - mine)) or "none"
    extra = ", ".join(f"{s}>{t}" for s, t in sorted(mine - true)) or "none"
    return f"Truth has {len(true)} links; {len(true & mine)} found, missed: {missed}, false: {extra}."


def network_json(found: "Network", files: Sequence[Path] = ()) -> dict[str, Any]:
    """Return what `infer --json` prints."""
    keep = ("names", "parents", "score", "optimal", "bound", "gap", "removed", "options", "provenance")
    return {
        **{name: getattr(found, name) for name in keep},
        "edges": found.edges.to_dict("records"),
        "choices": [dict(zip(("what", "value", "reason"), choice)) for choice in found.choices],
        "warnings": found.warnings,
        "files": [str(file) for file in files],
    }
