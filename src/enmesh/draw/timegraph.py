"""The time-series graph: a line per node, a column per time, an arrow from (source, t - lag) to (target, t)."""

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes

from enmesh.draw.arrows import Links, Scale, arrow, lags_of, scale_of
from enmesh.draw.labels import short, width
from enmesh.draw.shapes import arc, chain, passes
from enmesh.draw.style import Theme

STEP, ROW = 5.0, 2.2  # least room between two times, and between two nodes, in units of the other drawings
PER_ROW, WIDEST = 0.7, 60.0  # more room between times for more nodes, up to a picture so wide
DOT = 0.36  # radius of a node at a time
MANY = 14  # rows above which they stand closer
CLOSE = 1.3  # room between two nodes then
INCH, SMALL = 0.24, 0.17  # per unit, and with many rows
BENDS = (0.0, 0.05, -0.05, 0.09, -0.09, 0.14, -0.14, 0.2, -0.2, 0.28, -0.28)


def timegraph_size(names: Sequence[str], links: Links, linked: Sequence[int]) -> tuple[float, float]:
    """Return the figure size in inches."""
    room = 0.092 * max(width(label) for label in short(names, 40))
    pitch, inch = _pitch(len(linked))
    across = -inch * min(_times(links, len(linked)).values())
    return max(4.6 + 0.8 * room, 1.6 + room + across), 1.9 + inch * pitch * len(linked)


def draw_timegraph(
    ax: Axes, names: Sequence[str], links: Links, linked: Sequence[int], theme: Theme, colour: str
) -> Scale:
    """Draw the dots and the arrows, which end at the last time; return the scale of the arrows."""
    times = _times(links, len(linked))
    pitch, inch = _pitch(len(linked))
    scale = scale_of(links, theme, colour, points=72 * inch)
    heights = {node: -pitch * at for at, node in enumerate(linked)}
    low, high, first = min(heights.values()) - 0.6, 0.6, min(times.values())
    ax.hlines(list(heights.values()), first, 0, color=theme.empty, lw=0.8, zorder=1)
    dots = np.array([(time, height) for height in heights.values() for time in times.values()])
    for (i, j), link in sorted(links.items()):
        for lag in lags_of(link):
            path = _path(np.array([times[lag], heights[i]]), np.array([0.0, heights[j]]), dots)
            arrow(ax, path, link, scale, gid=f"link-{i}-{j}-lag-{lag}")
            low, high = min(low, path[:, 1].min()), max(high, path[:, 1].max())
    ax.plot(*dots.T, "o", ms=2 * DOT * scale.points, mfc=theme.box, mec=theme.border, mew=0.9, zorder=3)
    ax.set_xticks(list(times.values()), [f"t − {lag}" if lag else "t" for lag in times], fontsize=8)
    labels, size = short(names, 40), 9 if len(linked) <= MANY else 7
    ax.set_yticks(list(heights.values()), [labels[node] for node in heights], fontsize=size, parse_math=False)
    ax.set(xlim=(first - 1.2, 1.6), ylim=(low - 0.6, high + 0.6))
    ax.set_aspect("equal", anchor="NW")
    ax.xaxis.tick_top()
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    return scale


def _pitch(rows: int) -> tuple[float, float]:
    """Return the room between two nodes, and the inches of a unit."""
    return (ROW, INCH) if rows <= MANY else (CLOSE, SMALL)


def _times(links: Links, rows: int) -> dict[float, float]:
    """Return where now and each lag in use stand; with many nodes arrows are steep and need more room."""
    lags = sorted({lag for link in links.values() for lag in lags_of(link)}) or [1]
    step = max(STEP, min(PER_ROW * rows, WIDEST / len(lags)))
    return {lag: -step * at for at, lag in enumerate([0, *lags])}


def _path(start: np.ndarray, end: np.ndarray, dots: np.ndarray) -> np.ndarray:
    """Return the gentlest way between two dots that passes no other dot: straight, in an arc, or between the rows.

    An arrow never leaves the time between its ends, so that none seems to begin before its source.
    """
    along = end - start
    reach = 2.0 + 0.5 * max(BENDS) * float(np.hypot(*along))
    near = (dots >= np.minimum(start, end) - reach) & (dots <= np.maximum(start, end) + reach)
    others = dots[near.all(1) & (dots != start).any(1) & (dots != end).any(1)]
    size = np.array([2 * DOT + 0.2] * 2)
    middle, aside = (start + end) / 2, np.array([along[1], -along[0]])
    for bend in BENDS:
        over = middle + bend * aside
        first, last = (
            at + (DOT + 0.06) * (over - at) / np.hypot(*(over - at)) for at in (start, end)
        )  # at the rims
        path = arc(first, over, last)
        if start[0] <= path[:, 0].min() and not any(passes(path, dot, size, 0.0) for dot in others):
            return path
    return _between_rows(start, end, dots)


def _between_rows(start: np.ndarray, end: np.ndarray, dots: np.ndarray) -> np.ndarray:
    """Return the way that crosses each time half way between two rows, where no dot is, and bends between times.

    Arrows that cross at one place are set apart a little, by the rows that they join.
    """
    times, pitch = np.unique(dots[:, 0]), float(np.diff(np.unique(dots[:, 1])).min(initial=ROW))
    rim = np.array([DOT + 0.06, 0.0])
    rows = np.round(np.array([start[1], end[1]]) / pitch).astype(int)
    apart = 0.07 * pitch * (int(3 * rows[0] + rows[1]) % 5 - 2)
    knots = [start + rim, start + 1.5 * rim]
    for time in times[(times > start[0] + 1e-9) & (times < end[0] - 1e-9)]:
        straight = start[1] + (end[1] - start[1]) * (time - start[0]) / (end[0] - start[0])
        gap = pitch * (np.floor(straight / pitch) + 0.5) + apart
        knots += [np.array([time - 2 * DOT, gap]), np.array([time + 2 * DOT, gap])]
    return chain([*knots, end - 1.5 * rim, end - rim])
