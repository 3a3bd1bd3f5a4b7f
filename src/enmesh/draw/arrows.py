"""Nodes and arrows of a `Layout` in Matplotlib axes: boxes with their text, arrows with their lags."""

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from enmesh.draw.ink import LEVEL, USUAL_SHARE, Ink, fitted, q_scale
from enmesh.draw.labels import key
from enmesh.draw.layout import Layout
from enmesh.draw.shapes import CORNER, THICK, THIN, Edge, headed, sampled
from enmesh.draw.subject import Candidate, Network
from enmesh.draw.tags import SIZE, tag_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.transforms import Affine2D


TEXT, PITCH = 0.56, 0.62  # size of the text and distance of its lines, in units of the layout
KEY_SIZE = 7  # points of the key under the drawing
PALEST = 0.2  # opacity of an arrow that was never found again
MOST_PARTS = 4  # lags, or runs of them, written at an arrow
INCH = 0.26  # of a new figure, per unit
LEAST = (13.0, 4.0)  # units shown across and up, so that two or three nodes are not drawn huge


def links_of(network: Network) -> "dict[Edge, Candidate | None]":
    """Return ``{(i, j): its test}`` for the edges; None where an edge was not tested."""
    tested = {(c.source, c.target): c for c in network.candidates}
    edges = np.argwhere(network.adjacency).tolist()
    return {(i, j): tested.get((network.names[i], network.names[j])) for i, j in edges}


def shares_of(network: Network) -> dict[Edge, float]:
    """Return ``{(i, j): stability}`` for all pairs whose stability is known."""
    names = network.names
    pairs = [(i, j) for i in range(len(names)) for j in range(len(names)) if network.stability and i != j]
    shares = {(i, j): network.stability.get(f"{names[i]}>{names[j]}", math.nan) for i, j in pairs}
    return {pair: share for pair, share in shares.items() if math.isfinite(share)}


def lags_of(link: Candidate | None) -> tuple[float, ...]:
    """Return the lags of a link, in samples or, of events, in time; one sample where it was not tested."""
    lags = (1,) if link is None else getattr(link, "lags", None) or (link.lag,)
    return tuple(int(lag) if lag == int(lag) else float(lag) for lag in lags)


def lag_unit(network: Network) -> str:
    """Return what lags are counted in."""
    return "units of time" if "events" in network.provenance else "samples"


def lag_text(lags: Sequence[float]) -> str:
    """Return lags as a reader writes them.

    >>> lag_text((3,)), lag_text((1, 2, 3, 4, 9)), lag_text((1, 3, 5, 7, 9))
    ('3', '1–4, 9', '1, 3, …, 9')
    """
    runs: list[list[float]] = []
    for lag in sorted(lags):
        if runs and lag == runs[-1][-1] + 1:
            runs[-1].append(lag)
        else:
            runs.append([lag])
    parts: list[str] = []
    for run in runs:
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts if len(parts) <= MOST_PARTS else [*parts[:2], "…", parts[-1]])


def common_lags(links: Mapping[Edge, Candidate | None]) -> str:
    """Return the several lags that all links share, as they do with one embedding for all; else nothing."""
    found = {lags_of(link) for link in links.values()}
    same = found.pop() if len(found) == 1 and len(links) > 1 else ()
    return lag_text(same) if len(same) > 1 else ""


def lag_tags(links: Mapping[Edge, Candidate | None]) -> dict[Edge, str]:
    """Return the lags to write on the arrows; nothing when every lag is one sample or `common_lags` says all."""
    lags = {edge: lags_of(link) for edge, link in links.items()}
    if all(found == (1,) for found in lags.values()) or common_lags(links):
        return {}
    return {edge: lag_text(found) for edge, found in lags.items()}


def size_of(drawing: Layout, names: Sequence[str] = ()) -> tuple[float, float]:
    """Return the figure size in inches at which a drawing's text, and the key of ``names``, is readable."""
    left, right, bottom, top = drawing.extent
    width = max(5.0, INCH * (right - left) + 2.2)
    under = 1.6 / 72 * KEY_SIZE * len(fitted(key(names, drawing.labels), width, KEY_SIZE))
    return width, max(2.4, INCH * (top - bottom) + 1.5) + under


def show(
    ax: "Axes",
    drawing: Layout,
    links: "Mapping[Edge, Candidate | None]",
    names: tuple[str, ...],
    ink: Ink,
    shares: Mapping[Edge, float],
) -> None:
    """Draw a whole network: boxes, arrows, lags, and the key of names that were shortened.

    An arrow whose share of networks that have it is known (``shares``) is the paler the smaller it is.
    """
    left, right, bottom, top = drawing.extent
    aside, above = (max(0.6, (least - side) / 2) for least, side in zip(LEAST, (right - left, top - bottom)))
    ax.set(xlim=(left - aside, right + aside), ylim=(bottom - above, top + above))
    ax.set_aspect(
        "equal", anchor="NW"
    )  # the drawing hangs from the words above it, which so have all the width
    ax.set_axis_off()
    points = _points_per_unit(ax)
    strongest, thick = strongest_of(links), thickest(len(links), bool(drawing.turns.any()))
    for edge, link in sorted(links.items()):
        gid = f"link-{edge[0]}-{edge[1]}"
        alpha = PALEST + (1 - PALEST) * shares.get(edge, 1.0)
        path = drawing.paths[edge]
        arrow(ax, path, link, ink, points, strongest=strongest, thick=thick, gid=gid, alpha=alpha)
    boxes(ax, drawing, ink)
    for edge, (x, y) in drawing.tags.items():
        _tag(ax, drawing.words[edge], x, y, ink)
    said = fitted(key(names, drawing.labels), ax.bbox.width / ax.figure.dpi / USUAL_SHARE, KEY_SIZE)
    if said:
        ax.text(
            0, -0.02, "\n".join(said), transform=ax.transAxes, va="top", fontsize=KEY_SIZE, color=ink.faint,
            parse_math=False,
        )  # fmt: skip


def strongest_of(links: "Mapping[Edge, Candidate | None]") -> float:
    """Return the largest transfer entropy among the links, 1 where none is over 0."""
    return max((link.te for link in links.values() if link and link.te > 0), default=1.0)


def thickest(count: int, circle: bool) -> float:
    """Return the width of the strongest of so many arrows: many, or on a circle, are drawn thinner."""
    most = 0.65 * THICK if circle else THICK
    return float(np.clip(THICK * np.sqrt(60 / max(count, 1)), 1.6 * THIN, most))


def boxes(ax: "Axes", drawing: Layout, ink: Ink) -> None:
    """Draw the nodes."""
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.transforms import Affine2D

    for at, ((x, y), (width, height), turn) in enumerate(zip(drawing.centres, drawing.sizes, drawing.turns)):
        place = Affine2D().rotate(turn).translate(x, y)
        box = FancyBboxPatch(
            (-width / 2, -height / 2), width, height, boxstyle=f"round,pad=0,rounding_size={CORNER}",
            fc=ink.box, ec=ink.border, lw=0.8, zorder=3, gid=f"node-{at}", transform=place + ax.transData,
        )  # fmt: skip
        ax.add_artist(box)
        lines = drawing.lines[at]
        for k, words in enumerate(lines):
            _words(ax, words, place, PITCH * ((len(lines) - 1) / 2 - k), width - 0.5, ink.text)


def _words(
    ax: "Axes", words: str, place: "Affine2D", height: float, room: float, colour: str,
    *, zorder: int = 4, size: float = TEXT,
) -> None:  # fmt: skip
    """Write a line as outlines in data units: it keeps to its box however the axes are resized."""
    from matplotlib.patches import PathPatch
    from matplotlib.textpath import TextPath
    from matplotlib.transforms import Affine2D

    text = TextPath((0, 0), words.replace("$", r"\$"), size=1.0)
    left, right = (text.vertices[:, 0].min(), text.vertices[:, 0].max()) if len(text.vertices) else (0.0, 1.0)
    scale = min(size, room / max(right - left, 1e-9))
    inside = Affine2D().translate(-(left + right) / 2, -0.36).scale(scale).translate(0, height)
    ax.add_artist(PathPatch(text.transformed(inside + place), fc=colour, ec="none", zorder=zorder))


def _tag(ax: "Axes", words: str, x: float, y: float, ink: Ink) -> None:
    from matplotlib.patches import FancyBboxPatch
    from matplotlib.transforms import Affine2D

    width, height = tag_size(words)
    shape = f"round,pad=0,rounding_size={height / 3}"
    ax.add_artist(
        FancyBboxPatch(
            (x - width / 2, y - height / 2), width, height, boxstyle=shape, fc=ink.paper, ec="none", zorder=5,
            alpha=0.9, gid="lag",
        )
    )  # fmt: skip
    _words(ax, words, Affine2D().translate(x, y), 0.0, width, ink.text, zorder=6, size=SIZE)


def arrow(
    ax: "Axes", path: np.ndarray, link: Candidate | None, ink: Ink, points: float,
    *, strongest: float, thick: float = THICK, gid: str = "", alpha: float = 1.0,
) -> None:  # fmt: skip
    """Draw one arrow: a shaft, dashed when in doubt, and a head that is never dashed."""
    from matplotlib.patches import PathPatch, Polygon
    from matplotlib.path import Path

    width = THIN
    if link is not None and math.isfinite(link.te):
        width += (thick - THIN) * min(max(link.te, 0) / strongest, 1)
    known = link is not None and math.isfinite(link.q_value)
    norm, colours = q_scale(ink)
    colour = colours(norm(link.q_value)) if link is not None and known else ink.faint
    sure = link is not None and known and link.q_value <= LEVEL
    shaft, head = headed(sampled(path), width)
    style = "-" if sure else (0, (3, 1.4))
    # As artists, not patches: all lie within the limits of the axes, and measuring them again only costs time.
    ax.add_artist(
        PathPatch(
            Path(shaft), fc="none", ec=colour, lw=width * points, ls=style, capstyle="butt", joinstyle="round",
            zorder=2, gid=gid, in_layout=False, alpha=alpha,
        )
    )  # fmt: skip
    ax.add_artist(Polygon(head, fc=colour, ec="none", zorder=2, in_layout=False, alpha=alpha))


def _points_per_unit(ax: "Axes") -> float:
    """Return how many points wide a unit of the drawing is, before the figure's layout is done."""
    width, height = ax.bbox.width * 72 / ax.figure.dpi, ax.bbox.height * 72 / ax.figure.dpi
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    return max(min(width / (right - left), height / (top - bottom)), 1.0)
