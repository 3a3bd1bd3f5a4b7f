"""The time-series graph: a line per node, a column per time, an arrow from (source, t - lag) to (target, t)."""

from collections.abc import Mapping, Sequence
from math import ceil
from typing import TYPE_CHECKING

import numpy as np

from enmesh.draw.arrows import arrow, lags_of, strongest_of
from enmesh.draw.ink import Ink
from enmesh.draw.labels import short, width
from enmesh.draw.shapes import Edge, chain, passes
from enmesh.draw.subject import Candidate

if TYPE_CHECKING:
    from matplotlib.axes import Axes


STEP, ROW = 5.0, 2.2  # least room between two times, and between two nodes, in units of the other drawings
PER_ROW, WIDEST = 0.25, 60.0  # more room between times for more nodes, up to a picture so wide
DOT = 0.36  # radius of a node at a time
INCH = 0.24  # per unit
MOST_COPIES = 30  # links up to which those that ended earlier are drawn too
BENDS = (0.0, 0.05, -0.05, 0.09, -0.09, 0.14, -0.14, 0.2, -0.2, 0.28, -0.28)


def timegraph_size(names: Sequence[str], links: "Mapping[Edge, Candidate | None]") -> tuple[float, float]:
    """Return the figure size in inches."""
    names_room = 0.075 * max(width(label) for label in short(names, 40))
    return 2.4 + names_room + INCH * _step(links, len(names)) * _reach(links), 1.6 + INCH * ROW * len(names)


def timelines(ax: "Axes", names: Sequence[str], links: "Mapping[Edge, Candidate | None]", ink: Ink) -> None:
    """Draw the dots and the arrows; arrows end at the last time, paler copies of them one step earlier each."""
    reach, step, rows = _reach(links), _step(links, len(names)), len(names)
    times, heights = step * np.arange(-reach, 1), -ROW * np.arange(rows)
    low, high = heights[-1] - 0.6, 0.6
    points, strongest = 72 * INCH, strongest_of(links)
    for height in heights:
        ax.plot(times[[0, -1]], [height, height], color=ink.empty, lw=0.8, zorder=1)
    dots = np.array([(time, height) for height in heights for time in times])
    for (i, j), link in sorted(links.items()):
        for lag in lags_of(link):
            for back in range(int(min(reach - lag, reach - 1)) + 1 if len(links) <= MOST_COPIES else 1):
                start = np.array([-step * (lag + back), heights[i]])
                end = np.array([-step * back, heights[j]])
                path = _path(start, end, dots)
                arrow(
                    ax, path, link, ink, points, strongest=strongest, alpha=1.0 if back == 0 else 0.16,
                    gid=f"link-{i}-{j}-lag-{lag}-{back}",
                )  # fmt: skip
                low, high = min(low, path[:, 1].min()), max(high, path[:, 1].max())
    ax.plot(*dots.T, "o", ms=2 * DOT * points, mfc=ink.box, mec=ink.border, mew=0.9, zorder=3)
    ax.set_xticks(times, [f"t − {lag}" if lag else "t" for lag in range(reach, -1, -1)], fontsize=8)
    ax.set_yticks(heights, list(short(names, 40)), fontsize=9, parse_math=False)
    ax.set(xlim=(times[0] - 1.2, 1.6), ylim=(low - 0.6, high + 0.6))
    ax.set_aspect("equal", anchor="NW")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _reach(links: "Mapping[Edge, Candidate | None]") -> int:
    """Return how many steps back the picture goes."""
    return ceil(max(2, *(lag for link in links.values() for lag in lags_of(link)))) if links else 2


def _step(links: "Mapping[Edge, Candidate | None]", rows: int) -> float:
    """Return the room between two times: with many nodes arrows are steep and need more."""
    return max(STEP, min(PER_ROW * rows, WIDEST / _reach(links)))


def _path(start: np.ndarray, end: np.ndarray, dots: np.ndarray) -> np.ndarray:
    """Return the gentlest way between two dots that passes no other dot: straight, in an arc, or between the rows.

    An arrow never leaves the time between its ends, so that none seems to begin before its source.
    """
    ends = (np.abs(dots - start).max(1) < 1e-9) | (np.abs(dots - end).max(1) < 1e-9)
    along = end - start
    reach = 2.0 + 0.5 * max(BENDS) * float(np.hypot(*along))
    low, high = np.minimum(start, end) - reach, np.maximum(start, end) + reach
    others = dots[~ends & (dots >= low).all(1) & (dots <= high).all(1)]
    size = np.array([2 * DOT + 0.2] * 2)
    middle, aside = (start + end) / 2, np.array([along[1], -along[0]])
    for bend in BENDS:
        path = _arc(start, end, middle + bend * aside)
        if start[0] <= path[:, 0].min() and not any(passes(path, dot, size, 0.0) for dot in others):
            return path
    return _between_rows(start, end, np.unique(dots[:, 0]))


def _arc(start: np.ndarray, end: np.ndarray, over: np.ndarray) -> np.ndarray:
    """Return the curve from rim to rim of two dots that is drawn towards a third point."""
    first, last = (at + (DOT + 0.06) * (over - at) / np.hypot(*(over - at)) for at in (start, end))
    return np.array([first, (first + 2 * over) / 3, (last + 2 * over) / 3, last])


def _between_rows(start: np.ndarray, end: np.ndarray, times: np.ndarray) -> np.ndarray:
    """Return the way that crosses each time half way between two rows, where no dot is, and bends between times.

    Arrows that cross at one place are set apart a little, by the rows that they join.
    """
    rim = np.array([DOT + 0.06, 0.0])
    rows = np.round(np.array([start[1], end[1]]) / ROW).astype(int)
    apart = 0.16 * (int(3 * rows[0] + rows[1]) % 5 - 2)
    knots = [start + rim, start + 1.5 * rim]
    for time in times[(times > start[0] + 1e-9) & (times < end[0] - 1e-9)]:
        straight = start[1] + (end[1] - start[1]) * (time - start[0]) / (end[0] - start[0])
        gap = ROW * (np.floor(straight / ROW) + 0.5) + apart
        knots += [np.array([time - 2 * DOT, gap]), np.array([time + 2 * DOT, gap])]
    return chain([*knots, end - 1.5 * rim, end - rim])
