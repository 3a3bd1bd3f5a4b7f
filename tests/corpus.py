"""A corpus of 120 text files as the world writes them: dialects, encodings, clocks and headers, combined.

Each file holds the same two nodes. `files` says of each which words of `enmesh.read` it needs; `table` is what
docs/data.md shows.
"""

from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pandas as pd

N = 48
VALUES = np.random.default_rng(8).normal(size=(N, 2)).round(3) * [1, 1000]
VALUES[:, 1] = VALUES[:, 1].round(1) + 4000.0
# Delimiter, decimal mark, thousands mark, suffix.
DIALECTS = {
    "commas": (",", ".", "", "csv"),
    "semicolons": (";", ".", "", "csv"),
    "semicolons, decimal commas": (";", ",", "", "csv"),
    "semicolons, 1.234,5": (";", ",", ".", "csv"),
    'commas, "1,234.5"': (",", ".", ",", "csv"),
    "tabs": ("\t", ".", "", "tsv"),
    "tabs, decimal commas": ("\t", ",", "", "csv"),
    "bars": ("|", ".", "", "csv"),
    "spaces": (" ", ".", "", "txt"),
    "spaces, decimal commas": (" ", ",", "", "txt"),
}
ENCODINGS = {"utf-8": "", "utf-8-sig": "", "utf-16": "", "latin-1": "encoding"}
DAYS, NIGHT = pd.date_range("2020-01-20", periods=N), pd.date_range("2020-01-01 23:40", periods=N, freq="min")
# Name, cells, step, word that is needed.
CLOCKS = {
    "none": ("", None, 1, ""),
    "seconds": ("time", [f"{0.5 * i:g}" for i in range(N)], 0.5, ""),
    "2020-01-31": ("date", DAYS.strftime("%Y-%m-%d"), 86400, ""),
    "31.01.2020": ("Datum", DAYS.strftime("%d.%m.%Y"), 86400, ""),
    "31.01.20": ("day", DAYS.strftime("%d.%m.%y"), 86400, "date_format"),
    "1990M01": ("period", [f"{1990 + i // 12}M{i % 12 + 1:02d}" for i in range(N)], 1, ""),
    "1990Q1": ("quarter", [f"{1990 + i // 4}Q{i % 4 + 1}" for i in range(N)], 3, ""),
    "past midnight": ("clock", NIGHT.strftime("%H:%M:%S"), 60, ""),
    "unix": ("ts", [str(1_600_000_000 + 10 * i) for i in range(N)], 10, ""),
    "newest first": ("date", DAYS[::-1].strftime("%Y-%m-%d"), 86400, "time"),
    "restarts": ("t", [str(i % (N // 2)) for i in range(N)], 1, ""),
}
HEADERS = {
    "names": "",
    "quoted": "",
    "0, 1": "",
    "none": "",
    "comment": "",
    "units": "",
    "preamble": "skip",
    "index": "",
}
GIVEN = {"encoding": "latin-1", "date_format": "%d.%m.%y", "time": "sort"}


@dataclass(frozen=True)
class File:
    """One file: how it was made, its bytes, what `enmesh.read` must be told and what must come of it."""

    made: tuple[str, str, str, str]
    suffix: str
    data: bytes
    names: tuple[str, ...]
    dt: float
    lengths: tuple[int, ...]
    values: np.ndarray
    words: dict = field(default_factory=dict)


def _number(value, decimal, thousands):
    text = f"{value:,.3f}" if thousands else f"{value:.3f}"
    text = text.replace(",", "\0").replace(".", decimal).replace("\0", thousands)
    return text


def _rows(dialect, clock, header):
    delimiter, decimal, thousands, _ = DIALECTS[dialect]
    name, cells, _, _ = CLOCKS[clock]
    order = VALUES[::-1] if clock == "newest first" else VALUES
    rows = [[_number(value, decimal, thousands) for value in row] for row in order]
    rows = [[f'"{cell}"' if delimiter in cell else cell for cell in row] for row in rows]
    names, units = (["0", "1"] if header == "0, 1" else ["ä", "b"]), ["mV", "mV"]
    if cells is not None:
        rows = [[cell.replace(".", decimal) if clock == "seconds" else cell, *row] for cell, row in zip(cells, rows)]
        names, units = [name, *names], ["s", *units]
    if header == "index":
        rows = [[str(i), *row] for i, row in enumerate(rows)] if cells is None else rows
        names = ["", *names] if cells is None else ["", *names[1:]]
    return rows, names, units


def _file(dialect, encoding, clock, header):
    delimiter, _, _, suffix = DIALECTS[dialect]
    rows, names, units = _rows(dialect, clock, header)
    lines = [delimiter.join(row) for row in rows]
    first = delimiter.join(f'"{name}"' if header == "quoted" else name for name in names)
    above = {
        "none": [],
        "comment": ["# made by hand", f"# {first}"],
        "units": [first, delimiter.join(units)],
        "preamble": ["Recorded by a machine", "", "with care; it is said: in 2020", first],
    }.get(header, [first])
    text = "\r\n".join([*above, *lines, ""])
    words = {word: GIVEN.get(word) for word in (ENCODINGS[encoding], CLOCKS[clock][3]) if word}
    words |= {"skip": 3} if header == "preamble" else {}
    if "ä" not in text:
        words.pop("encoding", None)
    nodes = (
        ("x0", "x1")
        if header == "none" and clock == "none"
        else ("x1", "x2")
        if header == "none"
        else tuple(names[-2:])
    )
    lengths = (N // 2, N // 2) if clock == "restarts" else (N,)
    made = (dialect, encoding, clock, header)
    return File(made, suffix, text.encode(encoding), nodes, CLOCKS[clock][2], lengths, VALUES, words)


def files():
    """Return 120 files: every pair of a dialect and a clock, with encodings and headers in turn."""
    pairs = [pair for pair in product(DIALECTS, CLOCKS) if not (pair[0].startswith("spaces") and pair[1] == "none")]
    made = []
    for number, (dialect, clock) in enumerate(pairs + pairs[::9]):
        header, encoding = (list(HEADERS)[(number * 5 + number // 8) % 8], list(ENCODINGS)[(number + number // 4) % 4])
        if clock == "restarts" and header in ("none", "comment") and header == "none":
            header = "names"
        if header == "index" and dialect.startswith("spaces"):
            header = "quoted"
        made.append(_file(dialect, encoding, clock, header))
    return made[:120]


def table():
    """Return the table of docs/data.md: how many files have each property, and the word that it needs."""
    every = files()
    lines = ["| Files | How they are written | Word that is needed |", "| --- | --- | --- |"]
    for position, properties in enumerate((DIALECTS, ENCODINGS, CLOCKS, HEADERS)):
        for name in properties:
            found = [file for file in every if file.made[position] == name]
            word = {"latin-1": "encoding", "preamble": "skip"}.get(name) or (CLOCKS[name][3] if position == 2 else "")
            kind = ("cells", "encoding", "clock", "header")[position]
            lines.append(f"| {len(found)} | {kind}: {name.replace('|', 'bars')} | {f'`{word}`' if word else 'none'} |")
    return "\n".join(lines)
