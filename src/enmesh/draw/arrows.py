"""Nodes and arrows of a `Layout` in Matplotlib axes, and the key to the arrows' width and colour."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import groupby, permutations
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colors import Normalize
from matplotlib.lines import Line2D
from matplotlib.patches import FancyBboxPatch, PathPatch, Polygon
from matplotlib.path import Path
from matplotlib.ticker import MaxNLocator
from matplotlib.transforms import Affine2D

from enmesh.draw.answer import effect_sign
from enmesh.draw.labels import key
from enmesh.draw.layout import Layout, around
from enmesh.draw.shapes import CORNER, THICK, THIN, Edge, edges_of, headed, sampled
from enmesh.draw.style import USUAL_SHARE, FittedText, Theme, caption, colour_bar, fitted
from enmesh.draw.subject import LEVEL, UNTESTED, Candidate, Network
from enmesh.draw.tags import SIZE, tag_size
from enmesh.errors import InputError

TEXT, PITCH = 0.56, 0.62  # size of the text and distance of its lines, in units of the layout
KEY_SIZE = 7  # points of the key under the drawing
MOST_HALOS = 60  # links up to which intervals are drawn
PALEST = 0.2  # opacity of an arrow that was never found again
MOST_PARTS = 4  # lags, or runs of them, written at an arrow
CURVED = "∿"
INCH = 0.26  # of a new figure, per unit
LEAST = (13.0, 2.2)  # units shown across and up, so that two or three nodes are not drawn huge
COLOURS = {  # what the colour of an arrow can say, and the scale of colours for it
    "effect": ("effect on the target (standard deviations)", "effect"),
    "te": ("transfer entropy (nats)", "strength"),
    "lag": ("lag (samples)", "ramp"),
}

Links = Mapping[Edge, Candidate]


def links_of(network: Network) -> dict[Edge, Candidate]:
    """Return ``{(i, j): its test}`` for the edges; `UNTESTED` where an edge was not tested."""
    tested = {(c.source, c.target): c for c in network.candidates}
    names = network.names
    return {(i, j): tested.get((names[i], names[j]), UNTESTED) for i, j in edges_of(network.adjacency)}


def signs_of(network: Network) -> dict[Edge, str]:
    """Return ``{(i, j): "up", "down", "curved" or ""}`` for the links about which the network holds evidence."""
    place = {name: i for i, name in enumerate(network.names)}
    rows = network.evidence.values()
    return {(place[row["source"]], place[row["target"]]): effect_sign(row) for row in rows}


def spans_of(network: Network) -> dict[Edge, tuple[float, float]]:
    """Return ``{(i, j): (low, high)}``, the 95 % limits of the links about which the network holds evidence."""
    place = {name: i for i, name in enumerate(network.names)}
    rows = [row for row in network.evidence.values() if row.get("low") is not None]
    return {(place[row["source"]], place[row["target"]]): (row["low"], row["high"]) for row in rows}


def shares_of(network: Network) -> dict[Edge, float]:
    """Return ``{(i, j): stability}`` for all pairs whose stability is known."""
    pairs = {f"{a}>{b}": (i, j) for (i, a), (j, b) in permutations(enumerate(network.names), 2)}
    shares = {pairs[link]: share for link, share in network.stability.items() if link in pairs}
    return {pair: share for pair, share in sorted(shares.items()) if math.isfinite(share)}


def lags_of(link: Candidate) -> tuple[float, ...]:
    """Return the lags of a link, in samples or, of events, in time."""
    return tuple(int(lag) if lag == int(lag) else float(lag) for lag in link.lags)


def lag_unit(network: Network) -> str:
    """Return what lags are counted in."""
    return "units of time" if "events" in network.provenance else "samples"


def lag_text(lags: Sequence[float]) -> str:
    """Return lags as a reader writes them.

    >>> lag_text((3,)), lag_text((1, 2, 3, 4, 9)), lag_text((1, 3, 5, 7, 9))
    ('3', '1–4, 9', '1, 3, …, 9')
    """
    parts: list[str] = []
    for _, group in groupby(enumerate(sorted(lags)), lambda numbered: numbered[1] - numbered[0]):
        run = [lag for _, lag in group]  # one after the other
        parts += [f"{run[0]}–{run[-1]}"] if len(run) > 2 else map(str, run)
    return ", ".join(parts if len(parts) <= MOST_PARTS else [*parts[:2], "…", parts[-1]])


def usual_lags(links: Links) -> tuple[float, ...]:
    """Return the lags that most of the links share and that are said once; none where no more than half share them."""
    lags = Counter(map(lags_of, links.values()))
    (found, count), *_ = lags.most_common(1) or [((), 0)]
    return found if count > 1 and 2 * count > len(links) else () if found != (1,) or count < len(links) else found


def tags_of(links: Links, signs: Mapping[Edge, str] = MappingProxyType({})) -> dict[Edge, str]:
    """Return what is written on the arrows: lags that are not the usual ones, and a wave where a link is curved."""
    usual = usual_lags(links)
    lags = {edge: lag_text(lags_of(link)) for edge, link in links.items() if lags_of(link) != usual}
    waves = {edge: CURVED for edge in links if signs.get(edge) == "curved"}
    return {edge: " ".join(filter(None, (lags.get(edge), waves.get(edge)))) for edge in sorted(lags | waves)}


class Scale:
    """What colour and width mean for the arrows of one picture; a unit of the drawing is ``points`` wide.

    The colour says what is ``wanted``; ``"auto"`` is the effect where it is known for any link, else the strength.
    """

    def __init__(
        self, links: Links, theme: Theme, wanted: str, *, thick: float = THICK, points: float,
        signs: Mapping[Edge, str] | None = None,
    ):  # fmt: skip
        if wanted not in ("auto", *COLOURS):
            raise InputError(f"colour={wanted!r} is not known; choose one of auto, {', '.join(COLOURS)}")
        if wanted == "auto":
            wanted = "effect" if any(math.isfinite(link.effect) for link in links.values()) else "te"
        values = [abs(getattr(link, wanted)) for link in links.values()]
        top = max(filter(math.isfinite, values), default=0.0) or 1.0
        low, high = {"effect": (-1.0, 1.0), "te": (0.0, top), "lag": (1.0, max(top, 2.0))}[wanted]
        self.colours = ScalarMappable(Normalize(low, high, clip=True), theme.colours(COLOURS[wanted][1]))
        self.links, self.theme, self.name, self.thick, self.points = links, theme, wanted, thick, points
        self.signs = signs or {}
        self.strongest = max((link.te for link in links.values() if link.te > 0), default=1.0)  # the thickest

    def _signed(self) -> set[Edge]:
        return {edge for edge in self.links if self.signs.get(edge) in ("up", "down")}

    def width(self, te: float) -> float:
        """Return the width of an arrow, in units of the drawing."""
        share = min(max(te, 0) / self.strongest, 1) if math.isfinite(te) else 0.0
        return THIN + (self.thick - THIN) * share

    def colour(self, link: Candidate, sign: str) -> Any:
        """Return the colour of an arrow: of an effect grey, unless its sign is sure."""
        value = getattr(link, self.name)
        if self.name == "effect" and sign not in ("up", "down"):
            return self.theme.neutral
        return self.colours.to_rgba(value) if math.isfinite(value) else self.theme.faint

    def halo(self, ax: Axes, path: np.ndarray, link: Candidate, low: float, high: float) -> None:
        """Draw a pale band around an arrow, as wide as its interval on the scale of widths."""
        reach = (self.thick - THIN) * (min(high, 2 * self.strongest) - max(low, 0.0)) / self.strongest
        line = {"lw": (self.width(link.te) + reach) * self.points, "capstyle": "butt", "zorder": 1}
        shaft, _ = headed(sampled(path), self.thick)
        patch = PathPatch(Path(shaft), fc="none", ec=self.theme.null, alpha=0.8, in_layout=False, **line)
        patch.set_gid("halo")
        ax.add_artist(patch)

    def draw(
        self, ax: Axes, path: np.ndarray, link: Candidate, *, gid: str, alpha: float = 1.0, sign: str = ""
    ) -> None:
        """Draw one arrow: a shaft, dashed when in doubt, and a head, never dashed, hollow for a negative effect."""
        width, colour = self.width(link.te), self.colour(link, sign)
        shaft, head = headed(sampled(path), width)
        style = "-" if link.q_value <= LEVEL else (0, (3, 1.4))
        inside = self.theme.paper if sign == "down" else colour
        # As artists, not patches: all lie within the limits of the axes, and measuring them again only costs time.
        common: dict[str, Any] = {"ec": colour, "zorder": 2, "in_layout": False, "alpha": alpha}
        line = {"lw": width * self.points, "ls": style, "capstyle": "butt", "joinstyle": "round", "gid": gid}
        ax.add_artist(PathPatch(Path(shaft), fc="none", **line, **common))
        ax.add_artist(Polygon(head, fc=inside, lw=0.9, **common))

    def draw_key(self, ax: Axes, more: str) -> None:
        """Say above and below the picture how to read it; ``more`` is said too."""
        if not self.links:
            caption(ax, "no link found", self.theme)
            return
        doubtful = any(not link.q_value <= LEVEL for link in self.links.values())
        dashed = f"dashed: doubtful (q above {LEVEL})" if doubtful else ""
        grey = "grey: sign not sure" if self.name == "effect" and len(self._signed()) < len(self.links) else ""
        caption(ax, "; ".join(filter(None, ["width: transfer entropy", grey, dashed, more])), self.theme)
        shares, faint = (0.25, 0.5, 1.0), self.theme.faint
        widths = [self.points * (THIN + (self.thick - THIN) * share) for share in shares]
        words = [f"{share * self.strongest:.2g}" for share in shares]
        words[-1] += " nats" + " (hollow head: negative effect)" * ("down" in self.signs.values())
        ax.legend(
            [Line2D([], [], color=faint, lw=width) for width in widths], words,
            loc="upper right" if ax.axison else "upper left", bbox_to_anchor=(float(ax.axison), 0), ncols=3,
            frameon=False, fontsize=8, handlelength=1.6, labelcolor=self.theme.text, columnspacing=1.2,
            borderaxespad=0, borderpad=0.2,
        )  # fmt: skip
        if self.name == "effect" and not self._signed():
            return
        bar = colour_bar(ax, self.colours, COLOURS[self.name][0], self.theme, below=True)
        if self.name == "effect":
            bar.set_ticks([-1, 0, 1], labels=["−1", "0", "1"])
        else:
            bar.locator = MaxNLocator(5, integer=self.name == "lag")
            bar.update_ticks()


def thickest(count: int, circle: bool) -> float:
    """Return the width of the strongest of so many arrows: many, or on a circle, are drawn thinner."""
    most = 0.65 * THICK if circle else THICK
    return float(np.clip(THICK * np.sqrt(60 / max(count, 1)), 1.6 * THIN, most))


def size_of(drawing: Layout, names: Sequence[str] = ()) -> tuple[float, float]:
    """Return the figure size in inches at which a drawing's text, and the key of ``names``, is readable."""
    left, right, bottom, top = drawing.extent
    width = max(4.6, INCH * max(right - left, LEAST[0]) + 0.6)
    under = 1.6 / 72 * KEY_SIZE * len(fitted(key(names, drawing.labels), width, KEY_SIZE))
    return width, INCH * max(top - bottom + 1.2, LEAST[1]) + 1.45 + under


def draw_network(ax: Axes, drawing: Layout, network: Network, theme: Theme, colour: str) -> Scale:
    """Draw boxes, arrows (pale: not stable), lags, the key of shortened names; return the scale of the arrows."""
    left, right, bottom, top = drawing.extent
    aside, above = (max(0.6, (least - side) / 2) for least, side in zip(LEAST, (right - left, top - bottom)))
    ax.set(xlim=(left - aside, right + aside), ylim=(bottom - above, top + above))
    ax.set_aspect("equal", anchor="NW")  # hung from the words above it, which so have all the width
    ax.set_axis_off()
    links, shares = links_of(network), shares_of(network)
    units = np.array([right - left + 2 * aside, top - bottom + 2 * above])
    points = float((ax.bbox.size / units).min()) * 72 / ax.figure.dpi  # before the figure's layout is done
    thick = thickest(len(links), bool(drawing.turns.any()))
    signs, spans = signs_of(network), spans_of(network) if len(links) <= MOST_HALOS else {}
    scale = Scale(links, theme, colour, thick=thick, points=max(points, 1.0), signs=signs)
    for (i, j), link in sorted(links.items()):
        alpha = PALEST + (1 - PALEST) * shares.get((i, j), 1.0)
        if (i, j) in spans:
            scale.halo(ax, drawing.paths[i, j], link, *spans[i, j])
        scale.draw(ax, drawing.paths[i, j], link, gid=f"link-{i}-{j}", alpha=alpha, sign=signs.get((i, j), ""))
    _ghosts(ax, drawing, network, theme, scale.points)
    written: dict[str, Any] = {"color": theme.text, "transform": ax.transData}
    style: dict[str, Any] = {"fc": theme.box, "ec": theme.border, "lw": 0.8, "zorder": 3}
    for at, ((x, y), size, turn) in enumerate(zip(drawing.centres, drawing.sizes, drawing.turns)):
        _box(ax, x, y, size, turn, radius=CORNER, gid=f"node-{at}", **style)
        lines = drawing.lines[at]
        upright = bool(turn) and len(lines) == 1 and len(lines[0]) <= 2  # turned, b would read as q
        room, angle = (size.min() - 0.2, 0.0) if upright else (size[0] - 0.5, math.degrees(turn))
        how = written | {"unit": TEXT, "room": room, "rotation": angle, "zorder": 4}
        for k, words in enumerate(lines):
            up = PITCH * ((len(lines) - 1) / 2 - k)
            ax.add_artist(FittedText(x - up * math.sin(turn), y + up * math.cos(turn), words, **how))
    style = {"fc": theme.paper, "ec": "none", "alpha": 0.9, "zorder": 5}
    for edge, (x, y) in drawing.tags.items():
        size = np.array(tag_size(drawing.words[edge]))
        _box(ax, x, y, size, 0.0, radius=size[1] / 3, gid="lag", **style)
        ax.add_artist(FittedText(x, y, drawing.words[edge], unit=SIZE, room=size[0], zorder=6, **written))
    keys = fitted(key(network.names, drawing.labels), ax.bbox.width / ax.figure.dpi / USUAL_SHARE, KEY_SIZE)
    if keys:
        under: dict[str, Any] = {"transform": ax.transAxes, "va": "top", "parse_math": False}
        ax.text(0, -0.02, "\n".join(keys), fontsize=KEY_SIZE, color=theme.faint, **under)
    return scale


def _ghosts(ax: Axes, drawing: Layout, network: Network, theme: Theme, points: float) -> None:
    """Draw the links that were left out because they would close a loop: dotted, with an open head."""
    place = {name: i for i, name in enumerate(network.names)}
    for source, target in network.removed:
        i, j = place[source], place[target]
        shaft, head = headed(sampled(around(drawing, i, j)), THIN)
        line: dict[str, Any] = {"ec": theme.faint, "zorder": 1.5, "in_layout": False}
        patch = PathPatch(Path(shaft), fc="none", lw=1.6 * THIN * points, ls=(0, (0.1, 1.8)), capstyle="round", **line)
        patch.set_gid(f"ghost-{i}-{j}")
        ax.add_artist(patch)
        ax.add_artist(PathPatch(Path(head[[1, 0, 3]]), fc="none", lw=1.0, **line))


def _box(ax: Axes, x: float, y: float, size: np.ndarray, turn: float, *, radius: float, **style: Any) -> None:
    place, shape = Affine2D().rotate_around(x, y, turn) + ax.transData, f"round,pad=0,rounding_size={radius}"
    (left, bottom), (width, height) = (x, y) - size / 2, size
    ax.add_artist(FancyBboxPatch((left, bottom), width, height, boxstyle=shape, transform=place, **style))
