"""A raster: when each node had its events."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from enmesh.draw.ink import Ink, caption, picture
from enmesh.draw.labels import short

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def raster(
    names: Sequence[str],
    times: Sequence[np.ndarray],
    start: float,
    stop: float,
    *,
    path: str | Path | None = None,
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw a mark for every event, a row per node; ``path``, ``ax`` and ``theme`` as in `plot.draw`."""

    def paint(ax: "Axes", ink: Ink) -> None:
        ax.eventplot([np.asarray(t) for t in times], colors=ink.sure[1], linelengths=0.7, linewidths=0.9)
        ax.set_yticks(range(len(names)), short(names, 24), fontsize=8)
        ax.set(xlim=(start, stop), ylim=(len(names) - 0.4, -0.6), xlabel="time")
        ax.spines[["top", "right"]].set_visible(False)
        caption(ax, f"events from {start:.4g} to {stop:.4g}", ink)

    return picture(paint, lambda: (7.2, 1.2 + 0.28 * len(names)), path=path, ax=ax, theme=theme)
