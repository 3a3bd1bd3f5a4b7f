"""Pictures of a network: the graph, the matrix of transfer entropies, the embedding criterion, the nulls.

Each is a function of an `enmesh.Network` and, if wanted, of Matplotlib axes to draw into; it returns the axes.
`draw` picks one by name and saves it. In the graph an arrow's width is its transfer entropy and its colour
the q-value; an arrow with a q-value above `LEVEL` is dashed, so that colour is never the only sign.
"""

import math
from collections.abc import Callable
from pathlib import Path

import numpy as np

from enmesh.draw.layout import Layout, arrange, shorten
from enmesh.errors import InputError

LEVEL = 0.05  # q-value above which a link is drawn as doubtful
SMALLEST_Q = 1e-3  # end of the colour scale
SUFFIXES = (".png", ".svg", ".pdf")
MOST_PANELS = 48
INK, FAINT, PILL, MARK = "#22252b", "#8b909a", "#f3f1ec", "#c2410c"


def draw(network, path: str | Path | None = None, *, kind: str = "graph", ax=None):
    """Draw a network, save the picture if a path is given, and return the axes.

    Parameters
    ----------
    network
        What to draw.
    path
        Where to save it; ``.png``, ``.svg`` or ``.pdf``.
    kind
        ``"graph"``, ``"matrix"``, ``"embedding"`` or ``"nulls"``: the function of that name.
    ax
        Matplotlib axes to draw into; by default a new figure of a fitting size.
    """
    if kind not in KINDS:
        raise InputError(f"kind={kind!r} is not a picture; choose one of {', '.join(KINDS)}")
    if path is None:
        return KINDS[kind](network, ax)
    path = _checked(path)
    if ax is None:
        ax = _paper(_size(network, kind))
    KINDS[kind](network, ax)
    save(ax.figure, path)
    return ax


def graph(network, ax=None):
    """Draw who drives whom: width = transfer entropy, colour = q-value, dashed = q above 0.05."""
    drawing, links = _layout(network), _links(network)
    ax = ax if ax is not None else _screen(_size(network, "graph"))
    left, right, bottom, top = drawing.extent
    ax.set(xlim=(left - 0.6, right + 0.6), ylim=(bottom - 0.6, top + 0.6), aspect="equal")
    ax.set_axis_off()
    pills = _pills(ax, drawing)
    strongest = max((link.te for link in links.values() if link and link.te > 0), default=1.0)
    norm, colours = _q_scale()
    for (i, j), link in sorted(links.items()):
        ends = drawing.centres[i], drawing.centres[j], pills[i], pills[j]
        _arrow(ax, ends, drawing.bends[i, j], link, strongest, lambda q: colours(norm(q)))
    _graph_key(ax, links, strongest)
    return ax


def matrix(network, ax=None):
    """Draw the transfer entropy of every tested pair, row drives column; selected links are framed."""
    from matplotlib.patches import Rectangle

    ax = ax if ax is not None else _screen(_size(network, "matrix"))
    size = len(network.names)
    te = np.full((size, size), np.nan)
    place = {name: i for i, name in enumerate(network.names)}
    for tested in network.candidates:
        te[place[tested.source], place[tested.target]] = tested.te
    known = te[np.isfinite(te)]
    top = known.max() if known.size and known.max() > 0 else 1.0
    ax.set_facecolor("#e9e7e2")
    image = ax.imshow(te, cmap="Blues", vmin=0, vmax=top)
    for source, target in np.argwhere(network.adjacency):
        ax.add_patch(Rectangle((target - 0.5, source - 0.5), 1, 1, fill=False, ec=MARK, lw=1.6, zorder=3))
    if size <= 8:
        for (i, j), value in np.ndenumerate(te):
            if np.isfinite(value):
                ax.text(
                    j,
                    i,
                    f"{value:.3f}",
                    ha="center",
                    va="center",
                    fontsize=8,
                    color="w" if value > 0.6 * top else INK,
                )
    _name_ticks(ax, network.names)
    extend = "min" if known.size and known.min() < 0 else "neither"
    bar = ax.figure.colorbar(image, ax=ax, shrink=0.8, extend=extend)
    bar.set_label("transfer entropy (nats)")
    bar.outline.set_visible(False)
    ax.set(xlabel="target", ylabel="source")
    ax.set_title("row drives column; framed: in the network", fontsize=9, color=FAINT, loc="left")
    return ax


def embedding(network, ax=None):
    """Draw, per node, the criterion by which dimension and delay were chosen, and the choice."""
    if not network.criteria:
        raise InputError("the embedding was given, not chosen from the data; there is no criterion to draw")
    ax = ax if ax is not None else _screen(_size(network, "embedding"))
    panels = _panels(ax, len(network.criteria))
    for panel, (name, table) in zip(panels, network.criteria.items()):
        values = np.array(table["values"], float)
        dims, delays, (dim, delay) = list(table["dims"]), list(table["delays"]), table["best"]
        row, column = dims.index(dim), delays.index(delay)
        # The best cell is the darkest, whether the criterion is an error or a gain.
        lowest = 2 * values[row, column] <= np.nanmin(values) + np.nanmax(values)
        panel.imshow(values, cmap="GnBu_r" if lowest else "GnBu", aspect="auto", origin="lower")
        panel.plot(column, row, "o", mfc=MARK, mec="w", mew=1.2, ms=7)
        panel.set_xticks(range(len(delays)), delays)
        panel.set_yticks(range(len(dims)), dims)
        panel.tick_params(labelsize=7, length=0)
        panel.spines[:].set_visible(False)
        panel.set_title(f"{shorten(name)}: {dim}, {delay}", fontsize=8, parse_math=False)
    method = next(iter(network.criteria.values())).get("method", "criterion")
    ax.set_title(
        f"{method}: dimension (up) and delay (right); dot: chosen",
        fontsize=9,
        color=FAINT,
        loc="left",
        pad=8,
    )
    return ax


def nulls(network, ax=None):
    """Draw, per link, the surrogate values (bars) and the measured transfer entropy (line).

    Without any link, the tested pairs with the smallest p-values are shown.
    """
    shown = _with_null(network)
    if not shown:
        raise InputError("no surrogate values to draw: the links were tested by a formula, or not at all")
    ax = ax if ax is not None else _screen(_size(network, "nulls"))
    for panel, tested in zip(_panels(ax, len(shown)), shown):
        panel.hist(tested.null, bins="sqrt", color="#b9c4d6")
        panel.axvline(tested.te, color=MARK, lw=1.8)
        title = f"{shorten(tested.source)} → {shorten(tested.target)}\nq = {tested.q_value:.2g}"
        panel.set_title(title, fontsize=7, parse_math=False)
        panel.tick_params(labelsize=6, length=2)
        panel.set_yticks([])
        panel.locator_params(axis="x", nbins=3)
        panel.margins(x=0.12)
        panel.spines[["left", "right", "top"]].set_visible(False)
    title = "bars: surrogates without the link; line: measured (transfer entropy in nats)"
    ax.set_title(title, fontsize=9, color=FAINT, loc="left", pad=8)
    return ax


KINDS: dict[str, Callable] = {"graph": graph, "matrix": matrix, "embedding": embedding, "nulls": nulls}


def _layout(network) -> Layout:
    return arrange(network.names, [tuple(edge) for edge in np.argwhere(network.adjacency).tolist()])


def _links(network) -> dict:
    """Return ``{(i, j): its test}`` for the edges; None where an edge was not tested."""
    tested = {(c.source, c.target): c for c in network.candidates}
    edges = np.argwhere(network.adjacency).tolist()
    return {(i, j): tested.get((network.names[i], network.names[j])) for i, j in edges}


def _with_null(network) -> list:
    """Return the links with surrogate values, strongest first; without a link the pairs nearest to one."""
    able = [c for c in network.candidates if c.null]
    chosen = sorted((c for c in able if c.selected), key=lambda c: (-c.te, c.source, c.target))
    return chosen[:MOST_PANELS] or sorted(able, key=lambda c: (c.p_value, -c.te, c.source, c.target))[:12]


def _pills(ax, drawing):
    """Draw the nodes and return their outlines, to which the arrows are cut."""
    from matplotlib.patches import FancyBboxPatch, PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    pills = []
    for label, (x, y), width in zip(drawing.labels, drawing.centres, drawing.widths):
        shape = f"round,pad=0,rounding_size={0.5}"
        pill = FancyBboxPatch(
            (x - width / 2, y - 0.5), width, 1, boxstyle=shape, fc=PILL, ec="#c9c5bb", lw=0.8, zorder=3
        )
        pills.append(ax.add_patch(pill))
        # As outlines in data units the text keeps to its pill however the axes are resized.
        text = TextPath((0, 0), label.replace("$", r"\$"), size=1.0)
        box = text.get_extents()
        scale = min(0.56, (width - 0.5) / max(box.width, 1e-9))
        place = Affine2D().translate(-(box.x0 + box.x1) / 2, -0.36).scale(scale).translate(x, y)
        ax.add_patch(PathPatch(text.transformed(place), fc=INK, ec="none", zorder=4))
    return pills


def _arrow(ax, ends, bend, link, strongest, colour):
    """Draw one arrow: a shaft, dashed when in doubt, and a head that is never dashed."""
    from matplotlib.patches import FancyArrowPatch

    start, end, tail, head = ends
    width = 0.9 + 3.6 * max(link.te, 0) / strongest if link and math.isfinite(link.te) else 0.9
    known = link is not None and math.isfinite(link.q_value)
    dash = "-" if known and link.q_value <= LEVEL else (0, (3, 1.4))
    size = 9 + 4 * width
    common = {"color": colour(link.q_value) if known else FAINT, "patchA": tail, "patchB": head, "zorder": 2}
    # Arrows lie within the limits of the axes: measuring them again for the figure's layout only costs time.
    common |= {
        "connectionstyle": f"arc3,rad={bend}",
        "shrinkA": 1,
        "mutation_scale": size,
        "in_layout": False,
    }
    shaft = {
        "arrowstyle": "-",
        "lw": width,
        "linestyle": dash,
        "shrinkB": 1 + 0.35 * size,
        "capstyle": "butt",
    }
    ax.add_patch(FancyArrowPatch(start, end, **common, **shaft))
    ax.add_patch(FancyArrowPatch(start, end, **common, arrowstyle="-|>", lw=0, shrinkB=1))


def _q_scale():
    """Return the norm and the colours of q-values: dark blue is sure, orange is not."""
    import matplotlib as mpl

    sure_to_not = mpl.colors.LinearSegmentedColormap.from_list(
        "q", ["#16306b", "#3f6fb5", "#b0699b", "#e07b39", "#f0b27a"]
    )
    return mpl.colors.LogNorm(SMALLEST_Q, 1.0, clip=True), sure_to_not


def _graph_key(ax, links, strongest):
    import matplotlib as mpl

    if not links:
        ax.set_title("no link found", fontsize=9, color=FAINT, loc="left")
        return
    said = f"width: transfer entropy, up to {strongest:.3g} nats; dashed: q above {LEVEL}"
    ax.set_title(said, fontsize=9, color=FAINT, loc="left")
    norm, colours = _q_scale()
    ticks = [SMALLEST_Q, 0.01, LEVEL, 0.2, 1]
    bar = ax.figure.colorbar(
        mpl.cm.ScalarMappable(norm, colours), ax=ax, shrink=0.6, aspect=28, extend="min", pad=0.02
    )
    bar.set_ticks(ticks, labels=["≤0.001" if q == SMALLEST_Q else f"{q:g}" for q in ticks], fontsize=8)
    bar.minorticks_off()
    bar.set_label("q-value", fontsize=9)
    bar.outline.set_visible(False)


def _name_ticks(ax, names):
    size = 9 if len(names) <= 12 else max(4, 200 / len(names))
    labels = [shorten(name) for name in names]
    turned = max(map(len, labels)) > 3
    ax.set_xticks(range(len(names)), labels, rotation=90 if turned else 0, fontsize=size, parse_math=False)
    ax.set_yticks(range(len(names)), labels, fontsize=size, parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _panels(ax, count):
    """Return ``count`` small axes in a grid inside ``ax``, whose own frame is hidden."""
    columns, rows = _grid(count)
    ax.set_axis_off()
    panels = []
    for at in range(count):
        row, column = divmod(at, columns)
        box = ((column + 0.08) / columns, 1 - (row + 0.82) / rows, 0.84 / columns, 0.68 / rows)
        panels.append(ax.inset_axes(box))
    return panels


def _grid(count):
    columns = min(count, max(3, math.ceil(math.sqrt(1.6 * count))))
    return columns, math.ceil(count / columns)


def _size(network, kind):
    """Return a figure's (width, height) in inches that keeps its text readable."""
    if kind == "graph":
        left, right, bottom, top = _layout(network).extent
        return max(5.0, 0.26 * (right - left) + 2.2), max(2.4, 0.26 * (top - bottom) + 1.2)
    if kind == "matrix":
        side = min(12.0, 3.2 + 0.22 * len(network.names))
        return side + 1.6, side + 0.4
    count = len(network.criteria) if kind == "embedding" else len(_with_null(network))
    columns, rows = _grid(max(count, 1))
    return max(5.0, 1.9 * columns), 0.8 + 1.6 * rows


def _screen(size):
    """Return axes of a pyplot figure, which notebooks and windows show."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=size, layout="constrained")[1]


def _paper(size):
    """Return axes of a figure of its own: saving needs no display and touches no global state."""
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").subplots()


def _checked(path) -> Path:
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot tell the format of {path.name!r}; end the name in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to save {path.name} in; make it first")
    return path


def save(figure, path: Path) -> None:
    """Save without the date and with fixed ids: the same network gives the same bytes."""
    import matplotlib as mpl

    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[path.suffix.lower()]
    try:
        with mpl.rc_context({"svg.hashsalt": "enmesh"}):
            figure.savefig(path, dpi=160, metadata=undated)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
