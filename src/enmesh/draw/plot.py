"""Pictures of a network: graph, circle, time-series graph, matrix, embedding criterion, surrogate values.

Each is a function of an `enmesh.Network` and, if wanted, of Matplotlib axes to draw into; it returns the axes.
`draw` picks one by name and saves it. An arrow's width is its transfer entropy, its colour the q-value; an arrow
with a q-value above 0.05 is dashed, so that colour is never the only sign. Where a bootstrap was made, arrows of graph
and circle that were seldom found again are pale.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.draw.arrows import (
    common_lags,
    lag_tags,
    lag_unit,
    links_of,
    shares_of,
    show,
    size_of,
    strongest_of,
)
from enmesh.draw.circle import blocks
from enmesh.draw.ink import (
    LEVEL,
    Ink,
    caption,
    colour_bar,
    grid,
    heat,
    matrix_size,
    name_ticks,
    panels,
    picture,
    q_bar,
    save,
)  # fmt: skip
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.subject import Candidate, Network
from enmesh.draw.timegraph import timegraph_size, timelines
from enmesh.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes


__all__ = ["KINDS", "LEVEL", "circle", "draw", "embedding", "graph", "matrix", "nulls", "save", "timegraph"]

MOST_PANELS = 48
GAINS = {"Ragwitz": -1, "ActiveStorage": 1, "Cao": 1}  # whether a high value of the criterion is good
SHEET = (11.0, 8.0)  # inches, which a picture should fit on
WRITTEN = 8  # nodes up to which a matrix has its numbers in the cells


def draw(
    network: Network,
    path: str | Path | None = None,
    *,
    kind: str = "graph",
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw a network, save the picture if a path is given, and return the axes.

    Parameters
    ----------
    network
        What to draw.
    path
        Where to save it; ``.png``, ``.svg`` or ``.pdf``.
    kind
        ``"graph"``, ``"matrix"``, ``"timegraph"``, ``"circle"``, ``"embedding"`` or ``"nulls"``: the function of
        that name.
    ax
        Matplotlib axes to draw into; by default a new figure of a fitting size.
    theme
        ``"light"``, ``"dark"`` or ``"grey"`` (for print); ``"auto"`` takes dark colours where the figure, or
        Matplotlib's style, is dark.
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not a picture; choose one of {', '.join(KINDS)}")
    paint, size = KINDS[kind]
    return picture(
        lambda ax, ink: paint(network, ax, ink), lambda: size(network), path=path, ax=ax, theme=theme
    )


def graph(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw who drives whom: width = transfer entropy, colour = q-value, dashed = q above 0.05."""
    _graph(network, _layout(network), ax, ink)


def circle(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw all nodes around one circle, ordered by blocks, and the arrows inside it."""
    _graph(network, _layout(network, circle=True), ax, ink)


def timegraph(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw a line per node and a column per time: an arrow from (source, t - lag) to (target, t) for each lag."""
    links = links_of(network)
    timelines(ax, network.names, links, ink)
    _graph_key(ax, links, ink, "pale: the same links earlier")


def matrix(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw the transfer entropy of every tested pair, row drives column, by blocks; links are framed."""
    from matplotlib.patches import Rectangle

    order, borders = block_order(network)
    names = [network.names[node] for node in order]
    place = {name: i for i, name in enumerate(names)}
    te = np.full((len(names), len(names)), np.nan)
    for tested in network.candidates:
        te[place[tested.source], place[tested.target]] = tested.te
    known = te[np.isfinite(te)]
    top = known.max() if known.size and known.max() > 0 else 1.0
    ax.set_facecolor(ink.empty)
    image = ax.imshow(te, cmap=heat(ink), vmin=0, vmax=top)
    for source, target in np.argwhere(network.adjacency[np.ix_(order, order)]):
        ax.add_patch(Rectangle((target - 0.5, source - 0.5), 1, 1, fill=False, ec=ink.mark, lw=1.6, zorder=3))
    for border in borders:
        ax.axhline(border - 0.5, color=ink.faint, lw=0.8, zorder=2)
        ax.axvline(border - 0.5, color=ink.faint, lw=0.8, zorder=2)
    if len(names) <= WRITTEN:
        for (i, j), value in np.ndenumerate(te):
            if np.isfinite(value):
                colour = ink.paper if value > 0.6 * top else ink.text
                ax.text(j, i, _written(value), ha="center", va="center", fontsize=8, color=colour)
    name_ticks(ax, names, names)
    extend = "min" if known.size and known.min() < 0 else "neither"
    colour_bar(ax, image, "transfer entropy (nats)", ink, extend=extend)
    ax.set(xlabel="target", ylabel="source")
    by_blocks = "; lines between blocks" if borders else ""
    caption(ax, f"row drives column; framed: in the network{by_blocks}", ink)


def embedding(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw, per node, the criterion by which dimension and delay were chosen, and the choice."""
    for panel, (name, table) in zip(panels(ax, len(network.criteria), ink), network.criteria.items()):
        values = np.array(table["values"], float)
        dims, delays, (dim, delay) = list(table["dims"]), list(table["delays"]), table["best"]
        row, column = dims.index(dim), delays.index(delay)
        colours = heat(ink).reversed() if is_error(table) else heat(ink)  # the best cell is the strongest
        panel.imshow(values, cmap=colours, aspect="auto", origin="lower")
        panel.plot(column, row, "o", mfc=ink.mark, mec=ink.paper, mew=1.2, ms=7)
        panel.set_xticks(range(len(delays)), delays)
        panel.set_yticks(range(len(dims)), dims)
        panel.tick_params(labelsize=7, length=0)
        panel.spines[:].set_visible(False)
        title = f"{short([name], 24)[0]}: {dim}, {delay}"
        panel.set_title(title, fontsize=8, color=ink.text, parse_math=False)
    method = next(iter(network.criteria.values())).get("method", "criterion")
    caption(
        ax,
        f"{method}: dimension (up) and delay (right), darker is better. Dot: the choice, the smallest "
        "dimension that is as good as the best; it need not lie on the darkest cell",
        ink,
    )


def nulls(network: Network, ax: "Axes", ink: Ink) -> None:
    """Draw, per link, the surrogate values (bars) and the measured transfer entropy (line).

    Without any link, the tested pairs with the smallest p-values are shown.
    """
    shown = _with_null(network)
    for panel, tested in zip(panels(ax, len(shown), ink), shown):
        panel.hist(tested.null, bins="sqrt", color=ink.null)
        panel.axvline(tested.te, color=ink.mark, lw=1.8)
        source, target = short((tested.source, tested.target), 18)
        title = f"{source} → {target}\nq = {tested.q_value:.2g}"
        panel.set_title(title, fontsize=7, color=ink.text, parse_math=False)
        panel.tick_params(labelsize=6, length=2)
        panel.set_yticks([])
        panel.locator_params(axis="x", nbins=3)
        panel.margins(x=0.12)
        panel.spines[["left", "right", "top"]].set_visible(False)
    caption(ax, "bars: surrogates without the link; line: measured (transfer entropy in nats)", ink)


def _written(value: float) -> str:
    """Return a number for a cell: three digits, and no minus before a zero."""
    said = f"{value:.3f}".replace("-", "−")
    return "0.000" if said == "−0.000" else said


def is_error(table: Mapping[str, Any]) -> bool:
    """Return whether a low value of an embedding criterion is good: an error to be small, not a gain.

    Of a method that is not known here, the choice tells: it is nearer to the good end.
    """
    if table.get("method") in GAINS:
        return GAINS[table["method"]] < 0
    values = np.array(table["values"], float)
    chosen = values[table["dims"].index(table["best"][0]), table["delays"].index(table["best"][1])]
    return bool(2 * chosen <= np.nanmin(values) + np.nanmax(values))


def block_order(network: Network) -> tuple[list[int], list[int]]:
    """Return the nodes by blocks of links, and where a further block begins.

    Blocks come in the order of their first node, and nodes within a block in the order of the series.
    """
    import networkx as nx

    linked: nx.DiGraph[int] = nx.DiGraph()
    linked.add_nodes_from(range(len(network.names)))
    linked.add_edges_from((i, j) for i, j in np.argwhere(network.adjacency).tolist())
    groups = sorted(sorted(group) for group in blocks(linked))
    begins = np.cumsum([len(group) for group in groups])[:-1].tolist()
    return [node for group in groups for node in group], begins


def _layout(network: Network, circle: bool = False) -> Layout:
    """Return the drawing; one that is too long for a sheet goes from top to bottom if it is larger there."""
    edges = [(i, j) for i, j in np.argwhere(network.adjacency).tolist()]
    words = lag_tags(links_of(network))
    wide = arrange(network.names, edges, circle=circle, words=words)
    if circle or _scale(wide) == 1:
        return wide
    tall = arrange(network.names, edges, tall=True, words=words)
    return tall if _scale(tall) > 1.25 * _scale(wide) else wide


def _scale(drawing: Layout) -> float:
    """Return by how much a picture must be shrunk to fit on a sheet; 1 where it fits."""
    width, height = size_of(drawing)
    return min(1.0, SHEET[0] / width, SHEET[1] / height)


def _graph(network: Network, drawing: Layout, ax: "Axes", ink: Ink) -> None:
    links, shares = links_of(network), shares_of(network)
    show(ax, drawing, links, network.names, ink, shares)
    same = common_lags(links)
    lags = f"lags of every link: {same} samples" if same else ""
    lags = f"at the arrows: lag in {lag_unit(network)}" if lag_tags(links) else lags
    pale = "pale: seldom found again in halves of the data" if shares else ""
    _graph_key(ax, links, ink, "; ".join(filter(None, (pale, lags))))


def _graph_key(ax: "Axes", links: "dict[tuple[int, int], Candidate | None]", ink: Ink, more: str) -> None:
    if not links:
        caption(ax, "no link found", ink)
        return
    said = f"width: transfer entropy, up to {strongest_of(links):.3g} nats; dashed: q above {LEVEL}"
    caption(ax, f"{said}\n{more}" if more else said, ink)
    q_bar(ax, ink)


def _with_null(network: Network) -> "list[Candidate]":
    """Return the links with surrogate values, strongest first; without a link the pairs nearest to one."""
    able = [c for c in network.candidates if c.null]
    if not able:
        raise InputError("no surrogate values to draw: the links were tested by a formula, or not at all")
    chosen = sorted((c for c in able if c.selected), key=lambda c: (-c.te, c.source, c.target))
    return chosen[:MOST_PANELS] or sorted(able, key=lambda c: (c.p_value, -c.te, c.source, c.target))[:12]


def _panels_size(count: int) -> tuple[float, float]:
    columns, rows = grid(max(count, 1))
    return max(5.0, 1.9 * columns), 0.8 + 1.6 * rows


def _embedding_size(network: Network) -> tuple[float, float]:
    if not network.criteria:
        raise InputError("the embedding was given, not chosen from the data; there is no criterion to draw")
    return _panels_size(len(network.criteria))


Picture = Callable[[Network, "Axes", Ink], None]
KINDS: "dict[str, tuple[Picture, Callable[[Network], tuple[float, float]]]]" = {
    "graph": (graph, lambda network: size_of(_layout(network), network.names)),
    "matrix": (matrix, lambda network: matrix_size(network.names, network.names)),
    "timegraph": (timegraph, lambda network: timegraph_size(network.names, links_of(network))),
    "circle": (circle, lambda network: size_of(_layout(network, circle=True), network.names)),
    "embedding": (embedding, _embedding_size),
    "nulls": (nulls, lambda network: _panels_size(len(_with_null(network)))),
}
