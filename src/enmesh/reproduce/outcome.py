"""What an experiment is told, what it returns, and how that becomes files."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

INK, GREY, DARK, LIGHT, MARK = "#22252b", "#d9d9d9", "#7f7f7f", "#b9c4d6", "#c2410c"


@dataclass(frozen=True, kw_only=True)
class Job:
    """Where an experiment may keep what is finished, its seed, its workers, and who hears of progress."""

    out: Path
    seed: int = 0
    n_jobs: int = 1
    progress: Any = False


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Tables (DataFrames) and pictures (Matplotlib figures) by file stem, and a few lines that say what they show."""

    tables: "Mapping[str, pd.DataFrame]" = field(default_factory=dict)
    figures: "Mapping[str, Figure]" = field(default_factory=dict)
    summary: str = ""


def figure(
    width: float, height: float, rows: int = 1, columns: int = 1, **options: Any
) -> "tuple[Figure, np.ndarray]":
    """Return a figure of its own (no pyplot, no display) and its axes ``(rows, columns)``; sizes in inches."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(width, height), layout="constrained")
    axes = drawn.subplots(rows, columns, squeeze=False, **options)
    for ax in axes.flat:
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(labelsize=8)
    return drawn, axes


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
    return (
        ", ".join(f"{source}>{target}" for target, sources in graph.items() for source in sources) or "none"
    )
