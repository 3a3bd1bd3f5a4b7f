"""What the colour of an arrow says: the signed linear effect, the strength, or the lag; and the key that tells it."""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from enmesh.draw.ink import Ink, colour_bar
from enmesh.draw.shapes import THIN, Edge
from enmesh.draw.subject import Candidate
from enmesh.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Links = Mapping[Edge, Candidate | None]
VALUES: dict[str, tuple[str, Callable[[Candidate], float]]] = {
    "effect": ("effect on the target (standard deviations)", lambda link: getattr(link, "effect", math.nan)),
    "te": ("transfer entropy (nats)", lambda link: link.te),
    "lag": ("lag (samples)", lambda link: float(link.lag)),
}


@dataclass(frozen=True)
class Scale:
    """A scale of colours for the arrows of one picture."""

    name: str
    norm: Any
    colours: Any
    ink: Ink

    def colour(self, link: Candidate | None) -> Any:
        """Return the colour of an arrow; a faint one where its value is not known."""
        value = math.nan if link is None else VALUES[self.name][1](link)
        return self.colours(self.norm(value)) if math.isfinite(value) else self.ink.faint


def scale_of(links: Links, ink: Ink, wanted: str = "auto") -> Scale:
    """Return the scale for these links; ``"auto"`` is the effect where it is known for any, else the strength."""
    import matplotlib as mpl

    known = {name: _known(links, name) for name in VALUES}
    if wanted not in ("auto", *VALUES):
        raise InputError(f"colour={wanted!r} is not known; choose one of auto, {', '.join(VALUES)}")
    name = wanted if wanted != "auto" else "effect" if known["effect"] else "te"
    top = max(map(abs, known[name]), default=0.0) or 1.0
    low, high = {"effect": (-top, top), "te": (0.0, top), "lag": (1.0, max(top, 2.0))}[name]
    ends = (
        (ink.text, ink.text) if ink.hatch else (ink.fell, ink.grew)
    )  # without colours the heads tell the sign
    stops = {"effect": [ends[0], ink.plain, ends[1]], "te": list(ink.strength), "lag": list(ink.ramp)}[name]
    colours = mpl.colors.LinearSegmentedColormap.from_list(name, stops)
    return Scale(name, mpl.colors.Normalize(low, high, clip=True), colours, ink)


def draw_key(ax: "Axes", links: Links, scale: Scale, thick: float, points: float) -> None:
    """Draw below the picture what colours and widths mean."""
    import matplotlib as mpl
    import matplotlib.ticker

    strongest, ink = strongest_of(links), scale.ink
    shares = (0.25, 0.5, 1.0)
    lines = [
        mpl.lines.Line2D([], [], color=ink.faint, lw=points * (THIN + (thick - THIN) * share))
        for share in shares
    ]
    words = [f"{share * strongest:.2g}" for share in shares]
    words[-1] += " nats" + (
        " (hollow head: negative effect)" if any(v < 0 for v in _known(links, "effect")) else ""
    )
    corner: Literal["upper right", "upper left"] = (
        "upper right" if ax.axison else "upper left"
    )  # beside names
    ax.legend(
        lines, words, loc=corner, bbox_to_anchor=(float(ax.axison), 0), ncols=3, frameon=False, fontsize=8,
        handlelength=1.6, labelcolor=ink.text, columnspacing=1.2, borderaxespad=0, borderpad=0.2,
    )  # fmt: skip
    bar = colour_bar(
        ax, mpl.cm.ScalarMappable(scale.norm, scale.colours), VALUES[scale.name][0], ink, below=True
    )
    bar.locator = mpl.ticker.MaxNLocator(5, integer=scale.name == "lag")
    bar.update_ticks()


def is_negative(link: Candidate | None) -> bool:
    """Whether a link has a negative effect."""
    return link is not None and getattr(link, "effect", math.nan) < 0


def strongest_of(links: Links) -> float:
    """Return the largest transfer entropy among the links, 1 where none is over 0."""
    return max((link.te for link in links.values() if link and link.te > 0), default=1.0)


def _known(links: Links, name: str) -> list[float]:
    values = (VALUES[name][1](link) for link in links.values() if link is not None)
    return [value for value in values if math.isfinite(value)]
