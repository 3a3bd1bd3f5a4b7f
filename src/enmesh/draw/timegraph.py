"""The time-series graph: a line per node, a column per time, an arrow from (source, t - lag) to (target, t)."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from enmesh.draw.arrows import arrow, lags_of, strongest_of
from enmesh.draw.ink import Ink
from enmesh.draw.labels import short, width
from enmesh.draw.shapes import Edge, passes
from enmesh.draw.subject import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


STEP, ROW = 5.0, 2.2  # between two times and between two nodes, in units of the other drawings
DOT = 0.36  # radius of a node at a time
INCH = 0.24  # per unit
MOST_COPIES = 30  # links up to which those that ended earlier are drawn too
BENDS = (0.0, 0.05, -0.05, 0.09, -0.09, 0.14, -0.14, 0.2, -0.2, 0.28, -0.28, 0.4, -0.4, 0.55, -0.55)


def timegraph_size(names: Sequence[str], links: "Mapping[Edge, Candidate | None]") -> tuple[float, float]:
    """Return the figure size in inches."""
    names_room = 0.075 * max(width(label) for label in short(names, 40))
    return 2.4 + names_room + INCH * STEP * _reach(links), 1.6 + INCH * ROW * len(names)


def timelines(ax: "Axes", names: Sequence[str], links: "Mapping[Edge, Candidate | None]", ink: Ink) -> None:
    """Draw the dots and the arrows; arrows end at the last time, paler copies of them one step earlier each."""
    reach, rows = _reach(links), len(names)
    times, heights = STEP * np.arange(-reach, 1), -ROW * np.arange(rows)
    low, high = heights[-1] - 0.6, 0.6
    points, strongest = 72 * INCH, strongest_of(links)
    for height in heights:
        ax.plot(times[[0, -1]], [height, height], color=ink.empty, lw=0.8, zorder=1)
    dots = np.array([(time, height) for height in heights for time in times])
    for (i, j), link in sorted(links.items()):
        for lag in lags_of(link):
            for back in range(min(reach - lag, reach - 1) + 1 if len(links) <= MOST_COPIES else 1):
                start = np.array([-STEP * (lag + back), heights[i]])
                end = np.array([-STEP * back, heights[j]])
                path = _path(start, end, dots)
                arrow(
                    ax, path, link, ink, points, strongest=strongest, alpha=1.0 if back == 0 else 0.16,
                    gid=f"link-{i}-{j}-lag-{lag}-{back}",
                )  # fmt: skip
                low, high = min(low, path[:, 1].min()), max(high, path[:, 1].max())
    ax.plot(*dots.T, "o", ms=2 * DOT * points, mfc=ink.box, mec=ink.border, mew=0.9, zorder=3)
    ax.set_xticks(times, [f"t − {lag}" if lag else "t" for lag in range(reach, -1, -1)], fontsize=8)
    ax.set_yticks(heights, list(short(names, 40)), fontsize=9, parse_math=False)
    ax.set(xlim=(times[0] - 1.2, 1.6), ylim=(low - 0.6, high + 0.6), aspect="equal")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _reach(links: "Mapping[Edge, Candidate | None]") -> int:
    """Return how many steps back the picture goes."""
    return max(2, *(lag for link in links.values() for lag in lags_of(link))) if links else 2


def _path(start: np.ndarray, end: np.ndarray, dots: np.ndarray) -> np.ndarray:
    """Return the gentlest arc between two dots that passes no other dot."""
    ends = (np.abs(dots - start).max(1) < 1e-9) | (np.abs(dots - end).max(1) < 1e-9)
    low, high = np.minimum(start, end) - 2.0, np.maximum(start, end) + 2.0
    others = dots[~ends & (dots >= low).all(1) & (dots <= high).all(1)]
    size = np.array([2 * DOT + 0.2] * 2)

    def bent(bend: float) -> np.ndarray:
        along = end - start
        control = (start + end) / 2 + bend * np.array([along[1], -along[0]])
        out, into = control - start, control - end
        first, last = (
            start + (DOT + 0.06) * out / np.hypot(*out),
            end + (DOT + 0.06) * into / np.hypot(*into),
        )
        return np.array([first, (first + 2 * control) / 3, (last + 2 * control) / 3, last])

    return min(
        (bent(bend) for bend in BENDS), key=lambda path: sum(passes(path, dot, size, 0.0) for dot in others)
    )
