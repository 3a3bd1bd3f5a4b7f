"""What an experiment returns, and how that becomes files."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure

INK, GREY, DARK, LIGHT, MARK = "#22252b", "#d9d9d9", "#7f7f7f", "#b9c4d6", "#c2410c"


class Outcome(NamedTuple):
    """Tables and pictures by file stem, and a few lines that say what they show."""

    tables: Mapping[str, pd.DataFrame]
    figures: Mapping[str, Figure]
    summary: str


def figure(width: float, height: float, rows: int, columns: int, **options: Any) -> tuple[Figure, np.ndarray]:
    """Return a figure of its own (no pyplot, no display) and its axes ``(rows, columns)``; sizes in inches."""
    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = drawn.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return drawn, axes


def legend_below(drawn: Figure, ax: Axes) -> None:
    """Put the legend of one panel below all of them."""
    shown = ax.get_legend_handles_labels()
    drawn.legend(*shown, loc="outside lower center", ncols=3, fontsize=8, frameon=False)


def write(outcome: Outcome, name: str, out: Path) -> list[Path]:
    """Write tables as CSV, pictures as PNG and SVG, the summary as text; return the paths."""
    from enmesh.draw.style import save

    paths = []
    for stem, table in outcome.tables.items():
        paths.append(out / f"{stem}.csv")
        table.to_csv(paths[-1], index=False)
    for stem, drawn in outcome.figures.items():
        for suffix in (".png", ".svg"):
            paths.append(out / f"{stem}{suffix}")
            save(drawn, paths[-1])
    paths.append(out / f"{name}.txt")
    paths[-1].write_text(outcome.summary + "\n", encoding="utf-8")
    return paths


def arrows(graph: Mapping[str, Iterable[str]]) -> str:
    """Return ``{target: parents}`` as text such as ``a>b, b>c``; ``none`` without an edge.

    >>> arrows({"a": (), "b": ("a",), "c": ("a", "b")})
    'a>b, a>c, b>c'
    """
    pairs = ((source, target) for target, sources in graph.items() for source in sources)
    return ", ".join(map(">".join, pairs)) or "none"
