"""Pictures of a network: each a function of it, the wished colour of arrows, and where it goes (`style.picture`).

An arrow's width is its transfer entropy, its colour the signed effect, the strength or the lag. Colour is never the
only sign: an arrow with a q-value above 0.05 is dashed, one with a negative effect has a hollow head.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from rich.cells import cell_len

from enmesh.draw import arrows
from enmesh.draw.circle import blocks
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange, arrange_at, graph_of, scale_of
from enmesh.draw.places import Places, places_of
from enmesh.draw.shapes import chain, edges_of, passes
from enmesh.draw.style import Theme, caption, coloured, draw_matrix, matrix_size, picture
from enmesh.draw.subject import LEVEL, Candidate, Network, all_tests
from enmesh.errors import InputError, refuse_if

STEP, ROW = 5.0, 2.2  # of a time-series graph: least room between two times, and between two nodes
PER_ROW, WIDEST = 0.7, 60.0  # more room between times for more nodes, up to a picture so wide
DOT = 0.36  # radius of a node at a time
MANY = 14  # rows above which they stand closer
CLOSE = 1.3  # room between two nodes then
INCH, SMALL = 0.24, 0.17  # per unit, and with many rows
MOST_PANELS = 48
MOST_PAIRS_DRAWN = 24  # nodes up to which every pair has a panel
SHEET = (11.0, 8.0)  # inches, which a picture should fit on
WRITTEN = 8  # nodes up to which a matrix has its numbers in the cells


def draw(
    network: Network, path: Any = None, *, kind: str = "graph", colour: str = "auto",
    places: Mapping[str, Any] | None = None, **where: Any,
) -> Axes:  # fmt: skip
    """Draw a network, save the picture if a path is given, and return the axes; arguments as of `Network.plot`.

    ``theme="auto"`` takes dark colours where the figure, or Matplotlib's style, is dark; ``colour="auto"`` the effect
    where it is known.
    """
    refuse_if(kind not in KINDS, f"kind={kind!r} is not a picture; choose one of {', '.join(KINDS)}")
    given = {name: value for name, value in (places or {}).items() if value is not None and not _is_empty(value)}
    refuse_if(
        bool(given) and kind != "graph",
        f"{', '.join(given)}: only kind='graph' has places; leave them out for {kind!r}",
    )
    return KINDS[kind](network, colour, path=path, **given, **where)


def _is_empty(value: Any) -> bool:
    return isinstance(value, str) and not value


def graph(
    network: Network, colour: str, *, circle: bool = False, positions: Any = None, projection: str = "",
    background: Any = None, **where: Any,
) -> Axes:  # fmt: skip
    """Draw who drives whom; on a ``circle`` all nodes stand around it, by blocks, with the arrows inside.

    ``positions``, ``projection`` and ``background`` put the nodes where they are (`places.places_of`).
    """
    network = network.with_evidence()
    places = places_of(network.names, positions, projection=projection, background=background)
    links = arrows.links_of(network)
    drawing = _layout(network, circle)
    if places is not None:
        drawing = arrange_at(network.names, links, places, words=arrows.tags_of(links, arrows.signs_of(network)))
    lags, same = "", arrows.usual_lags(links)
    if same and same != (1,):
        rest = " unless written" if arrows.tags_of(links) else ""
        lags = f"lag{'s' * (len(same) > 1)} of every link{rest}: {arrows.lag_text(same)} {arrows.lag_unit(network)}"
    elif arrows.tags_of(links):
        usual = "; 1 sample where none is written" if same else ""
        lags = f"at the arrows: lag in {arrows.lag_unit(network)}{usual}"
    told = {
        "pale: seldom found again in halves of the data": bool(arrows.shares_of(network)),
        "pale band: as wide as the 95 % interval": bool(arrows.spans_of(network)) and len(links) <= arrows.MOST_HALOS,
        f"{arrows.CURVED}: curved": "curved" in arrows.signs_of(network).values(),
        "dotted: left out to avoid feedback": bool(network.removed),
        lags: bool(lags),
    }
    with picture(arrows.size_of(drawing, network.names), **where) as (ax, theme):
        if places is not None and places.picture is not None:
            _backdrop(ax, places, drawing)
        scale = arrows.draw_network(ax, drawing, network, theme, colour)
        scale.draw_key(ax, "; ".join(text for text, holds in told.items() if holds))
    return ax


def _backdrop(ax: Axes, places: Places, drawing: Layout) -> None:
    """Draw a picture behind the nodes, pale."""
    from matplotlib.image import imread

    path, ends = places.picture, places.ends
    if path is None or ends is None:
        return
    refuse_if(path.suffix.lower() == ".svg", f"{path.name} is for the page only; give a png or jpg")
    left, right, bottom, top = ends_in(drawing, places)
    image = imread(path)
    ax.imshow(image, extent=(left, right, bottom, top), alpha=0.5, zorder=0, aspect="auto")


def ends_in(drawing: Layout, places: Places) -> tuple[float, float, float, float]:
    """Return the ends of a background in the units of a drawing."""
    scale = scale_of(places, float(drawing.sizes[:, 0].mean()))
    low = places.points.min(axis=0)
    left, right, bottom, top = places.ends or (0.0, 0.0, 0.0, 0.0)
    return ((left - low[0]) * scale, (right - low[0]) * scale, (bottom - low[1]) * scale, (top - low[1]) * scale)


def _layout(network: Network, circle: bool = False) -> Layout:
    """Return the drawing; one that is too long for a sheet goes from top to bottom if it is larger there."""

    def shrunk(drawing: Layout) -> float:
        width, height = arrows.size_of(drawing)
        return min(1.0, SHEET[0] / width, SHEET[1] / height)

    links = arrows.links_of(network)
    words = arrows.tags_of(links, arrows.signs_of(network))
    wide = arrange(network.names, links, circle=circle, words=words)
    if circle or shrunk(wide) == 1:
        return wide
    tall = arrange(network.names, links, tall=True, words=words)
    return tall if shrunk(tall) > 1.25 * shrunk(wide) else wide


def timegraph(network: Network, colour: str, **where: Any) -> Axes:
    """Draw a line per linked node and a column per lag in use: an arrow from (source, t - lag) to (target, t)."""
    network = network.with_evidence()
    links, names, signs = arrows.links_of(network), network.names, arrows.signs_of(network)
    linked = sorted({node for edge in links for node in edge}) or list(range(len(names)))
    lags = sorted({lag for link in links.values() for lag in arrows.lags_of(link)}) or [1]
    # Many rows make steep arrows, which need room.
    step = max(STEP, min(PER_ROW * len(linked), WIDEST / len(lags)))
    times = {lag: -step * at for at, lag in enumerate([0, *lags])}
    first, room = min(times.values()), 0.092 * max(map(cell_len, short(names, 40)))
    pitch, inch = (ROW, INCH) if len(linked) <= MANY else (CLOSE, SMALL)
    size = max(5.2 + 0.8 * room, 1.6 + room - inch * first), 1.9 + inch * pitch * len(linked)
    with picture(size, **where) as (ax, theme):
        scale = arrows.Scale(links, theme, colour, points=72 * inch, signs=signs)
        heights = {node: -pitch * at for at, node in enumerate(linked)}
        low, high = min(heights.values()) - 0.6, 0.6
        ax.hlines(list(heights.values()), first, 0, color=theme.empty, lw=0.8, zorder=1)
        dots = np.array([(time, height) for height in heights.values() for time in times.values()])
        for (i, j), link in sorted(links.items()):
            for lag in arrows.lags_of(link):
                path = _path(np.array([times[lag], heights[i]]), np.array([0.0, heights[j]]), dots)
                scale.draw(ax, path, link, gid=f"link-{i}-{j}-lag-{lag}", sign=signs.get((i, j), ""))
                low, high = min(low, path[:, 1].min()), max(high, path[:, 1].max())
        ax.plot(*dots.T, "o", ms=2 * DOT * scale.points, mfc=theme.box, mec=theme.border, mew=0.9, zorder=3)
        ax.set_xticks(list(times.values()), [f"t − {lag}" if lag else "t" for lag in times], fontsize=8)
        labels, letters = [short(names, 40)[node] for node in linked], 9 if len(linked) <= MANY else 7
        ax.set_yticks(list(heights.values()), labels, fontsize=letters, parse_math=False)
        ax.set(xlim=(first - 1.2, 1.6), ylim=(low - 0.6, high + 0.6))
        ax.set_aspect("equal", anchor="NW")
        ax.xaxis.tick_top()
        ax.tick_params(length=0)
        ax.spines[:].set_visible(False)
        alone = len(names) - len(linked)
        scale.draw_key(ax, f"not drawn: {alone} without a link" if alone else "")
    return ax


def _path(start: np.ndarray, end: np.ndarray, dots: np.ndarray) -> np.ndarray:
    """Return a way between two dots that passes no other dot: straight, or half way between two rows at each time.

    An arrow never leaves the time between its ends, so that none seems to begin before its source. Arrows that pass
    between the same rows are set apart a little, by the rows that they join.
    """
    rim = (DOT + 0.06) * (end - start) / np.hypot(*(end - start))
    straight = np.linspace(start + rim, end - rim, 4)
    others = dots[(dots != start).any(1) & (dots != end).any(1)]
    if not any(passes(straight, dot, np.full(2, 2 * DOT + 0.2), 0.0) for dot in others):
        return straight
    times, pitch = np.unique(dots[:, 0]), float(np.diff(np.unique(dots[:, 1])).min(initial=ROW))
    rows = np.round(np.array([start[1], end[1]]) / pitch).astype(int)
    apart = 0.07 * pitch * (int(3 * rows[0] + rows[1]) % 5 - 2)
    rim = np.array([DOT + 0.06, 0.0])
    knots = [start + rim, start + 1.5 * rim]
    for time in times[(times > start[0] + 1e-9) & (times < end[0] - 1e-9)]:
        height = np.interp(time, *np.array([start, end]).T)
        gap = pitch * (np.floor(height / pitch) + 0.5) + apart
        knots += [np.array([time - 2 * DOT, gap]), np.array([time + 2 * DOT, gap])]
    return chain([*knots, end - 1.5 * rim, end - rim])


def matrix(network: Network, colour: str, **where: Any) -> Axes:
    """Draw the transfer entropy of every tested pair, row drives column, by blocks; links are framed."""
    order, borders = block_order(network)
    names = [network.names[node] for node in order]
    place = {name: i for i, name in enumerate(names)}
    te = np.full((len(names), len(names)), np.nan)
    for tested in all_tests(network):
        te[place[tested.source], place[tested.target]] = tested.te
    top = max(float(np.nanmax(te, initial=0.0)), 0.0) or 1.0
    with picture(matrix_size(names), **where) as (ax, theme):
        draw_matrix(
            ax, te, "heat", (0.0, top), theme, rows=names, label="transfer entropy (nats)",
            framed=network.adjacency[np.ix_(order, order)],
            written=(lambda te: f"{te:z.3f}".replace("-", "−")) if len(names) <= WRITTEN else None,
        )  # fmt: skip
        for border in borders:
            ax.axhline(border - 0.5, color=theme.faint, lw=0.8, zorder=2)
            ax.axvline(border - 0.5, color=theme.faint, lw=0.8, zorder=2)
        by_blocks = "; lines between blocks" if borders else ""
        caption(ax, f"row drives column; framed: in the network{by_blocks}", theme)
    return ax


def nulls(network: Network, colour: str, **where: Any) -> Axes:
    """Draw, per link (without any, per pair nearest to one), surrogate values as bars and the measured as a line."""
    able = sorted((c for c in network.candidates if c.null), key=lambda c: (-c.te, c.source, c.target))
    refuse_if(
        not able,
        "no surrogate values to draw: the links were tested by a formula, or not at all; ask with n_surrogates=199",
    )
    links = [c for c in able if c.selected][:MOST_PANELS]
    shown = links or sorted(able, key=lambda c: c.p_value)[:12]
    columns = min(len(shown), max(3, math.ceil(math.sqrt(1.6 * len(shown)))))
    rows = math.ceil(len(shown) / columns)
    with picture((max(5.0, 1.9 * columns), 0.8 + 1.6 * rows), **where) as (ax, theme):
        ax.set_axis_off()
        for at, tested in enumerate(shown):
            row, column = divmod(at, columns)
            box = ((column + 0.08) / columns, 1 - (row + 0.82) / rows, 0.84 / columns, 0.66 / rows)
            panel = coloured(ax.inset_axes(box), theme)
            draw_null(panel, tested, theme)
            source, target = short((tested.source, tested.target), 18)
            title = f"{source} → {target}\nq = {tested.q_value:.2g}"
            panel.set_title(title, fontsize=7, color=theme.text, parse_math=False)
            panel.tick_params(labelsize=6, length=2)
            panel.locator_params(axis="x", nbins=3)
            panel.margins(x=0.12)
            panel.spines["left"].set_visible(False)
        caption(ax, "bars: surrogates without the link; line: measured (transfer entropy in nats)", theme)
    return ax


def draw_null(ax: Axes, tested: Candidate, theme: Theme) -> None:
    """Draw what chance gives, and the measured value."""
    if len(tested.null):
        ax.hist(tested.null, bins="sqrt", color=theme.null)
    ax.axvline(tested.te, color=theme.mark, lw=1.8)
    ax.set_yticks([])


def block_order(network: Network) -> tuple[list[int], list[int]]:
    """Return the nodes by blocks of links, in the order of their first nodes, and where a further block begins."""
    graph = graph_of(len(network.names), edges_of(network.adjacency))
    groups = sorted(sorted(group) for group in blocks(graph))
    begins = np.cumsum([len(group) for group in groups])[:-1].tolist()
    return [node for group in groups for node in group], begins


def lags(network: Network, colour: str, **where: Any) -> Axes:
    """Draw transfer entropy at every lag for every pair, row drives column, over chance; links are framed."""
    count = len(network.names)
    if count > MOST_PAIRS_DRAWN:
        much = f"{count} nodes make {count * (count - 1)} pairs, too many to see"
        raise InputError(f"{much}; draw the network of up to {MOST_PAIRS_DRAWN} nodes")
    found, te, chance = network.lag_grid()
    top = float(np.nanmax(te, initial=0.0)) * 1.05 or 1.0
    across = min(1.5 * count, 3 + 0.75 * count)
    names, side = short(network.names, 16), 1 / count
    written: dict[str, Any] = {"fontsize": max(4.0, 9 - count / 4), "parse_math": False}
    text = (
        f"another measure than the network's: each lag alone (1 to {found[-1]}), by quadratic regression given the "
        f"target's past and parents, up to {top:.2g} nats; row drives column; grey: 95 % of chance; framed: links"
    )
    with picture((across + 1.2, 0.8 * across + 0.9), **where) as (ax, theme):
        ax.set_axis_off()
        for (i, j), link in np.ndenumerate(network.adjacency):
            box = (j * side + 0.06 * side, 1 - (i + 0.9) * side, 0.88 * side, 0.8 * side)
            panel = coloured(ax.inset_axes(box), theme)
            panel.set(xticks=[], yticks=[], ylim=(0, top))
            if i == 0:
                panel.set_title(names[j], color=theme.text, **written)
            if j == 0:
                panel.set_ylabel(names[i], rotation=0, ha="right", va="center", **written)
            if i == j:
                panel.set_facecolor(theme.empty)
                panel.spines[:].set_visible(False)
            else:
                draw_lags(panel, found, te[i, j], chance[i, j], theme)
                panel.spines[:].set(visible=True, color=theme.mark if link else theme.empty, lw=1.6 if link else 0.8)
        caption(ax, text, theme)
    return ax


def draw_lags(ax: Axes, lags: Any, te: np.ndarray, chance: Any, theme: Theme) -> None:
    """Draw transfer entropy at each lag over the band of chance."""
    ax.axhspan(0, chance, color=theme.null, alpha=0.5, lw=0)
    ax.vlines(lags, 0, te, color=theme.ramp[1], lw=1.6)
    ax.plot(lags, te, "o", color=theme.ramp[1], ms=2.6)
    ax.set_xlim(0.3, max(lags) + 0.7)


def intervals(network: Network, colour: str, **where: Any) -> Axes:
    """Draw the transfer entropy of every link with its 95 % limits, strongest first; hollow: q above 0.05."""
    known = [row for row in network.with_evidence().evidence.values() if row.get("low") is not None]
    refuse_if(
        not known, "no limits to draw: there is no link, or its data are not in memory nor in the file; run infer again"
    )
    found = sorted(known, key=lambda row: -(row["te"] or 0.0))
    names = short([f"{row['source']} → {row['target']}" for row in found], 60)
    hollow = [row["q_value"] is None or row["q_value"] > LEVEL for row in found]
    rows = [(row["low"], row["te"], row["high"], doubt) for row, doubt in zip(found, hollow)]
    with picture((4.6 + 0.07 * max(map(len, names)), 1.3 + 0.24 * len(names)), **where) as (ax, theme):
        draw_intervals(ax, rows, theme)
        ax.set_yticks(range(len(names)), list(names), fontsize=8, parse_math=False)
        ax.invert_yaxis()
        ax.grid(axis="x", color=theme.empty, lw=0.8)
        ax.set_axisbelow(True)
        caption(ax, "each link with its 95 % limits, strongest first; hollow: q above 0.05", theme)
    return ax


def draw_intervals(ax: Axes, rows: Sequence[tuple[float, float, float, bool]], theme: Theme) -> None:
    """Draw rows of transfer entropies between their limits, ``(low, value, high, is hollow)``, over an axis from 0."""
    colour = theme.ramp[1]
    for at, (low, value, high, hollow) in enumerate(rows):
        ax.plot([low, high], [at, at], color=colour, lw=2, solid_capstyle="round", zorder=2)
        ax.plot([value], [at], "o", mfc=theme.paper if hollow else colour, mec=colour, ms=6, zorder=3)
    ax.axvline(0, color=theme.faint, lw=0.8)
    ax.set_xlabel("transfer entropy (nats)")
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)


KINDS: dict[str, Callable[..., Axes]] = {
    "graph": graph, "matrix": matrix, "timegraph": timegraph, "circle": partial(graph, circle=True),
    "lags": lags, "intervals": intervals, "nulls": nulls,
}  # fmt: skip
