"""What all pictures share: colours for light, dark and grey paper, figures, small panels, saving.

The colours of q-values go from far off the paper (sure) to near it (not sure) in lightness too, so that they are told
apart in print without colour and with any kind of colour vision; doubt is shown by dashes or hollow marks as well.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from textwrap import wrap
from typing import TYPE_CHECKING, Any

from enmesh.draw.labels import short
from enmesh.draw.subject import LEVEL
from enmesh.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.cm import ScalarMappable
    from matplotlib.colorbar import Colorbar
    from matplotlib.colors import Colormap, Normalize
    from matplotlib.figure import Figure

SMALLEST_Q = 1e-3  # end of the colour scale
SUFFIXES = (".png", ".svg", ".pdf")
USUAL_SHARE = 0.775  # of a figure's width that its axes have before the figure is laid out
INCH_PER_POINT = 0.0073  # of a letter, for each point of its size
LONGEST_BAR = 2.6  # inches of a colour scale, however tall the picture


@dataclass(frozen=True, kw_only=True)
class Ink:
    """Colours of a picture. ``sure`` goes from q = 0.001 to 1; ``heat`` from nothing to much; ``fell`` and
    ``grew`` are the ends of a difference; without colours, what fell is hatched too."""

    paper: str
    text: str
    faint: str
    box: str
    border: str
    mark: str
    null: str
    empty: str
    sure: tuple[str, ...]
    heat: tuple[str, ...]
    fell: str
    grew: str
    hatch: str = ""


INKS = {
    "light": Ink(
        paper="#ffffff", text="#22252b", faint="#6f757f", box="#f3f1ec", border="#c9c5bb", mark="#c2410c",
        null="#b9c4d6", empty="#e9e7e2", sure=("#16306b", "#3f6fb5", "#b0699b", "#e07b39", "#f0b27a"),
        heat=("#f7fbff", "#9ecae1", "#4292c6", "#08306b"), fell="#b35806", grew="#2166ac",
    ),
    "dark": Ink(
        paper="#15171b", text="#e8e6e1", faint="#a2a7b1", box="#262a32", border="#555c69", mark="#ff9a5c",
        null="#4c586e", empty="#2e323a", sure=("#b5d6ff", "#86aff2", "#b27fb8", "#bd7048", "#8f6238"),
        heat=("#1b1f27", "#2c4a75", "#5d93d6", "#c6e0ff"), fell="#f0a35e", grew="#7db2ff",
    ),
    "grey": Ink(
        paper="#ffffff", text="#111111", faint="#666666", box="#f2f2f2", border="#aaaaaa", mark="#000000",
        null="#c4c4c4", empty="#e6e6e6", sure=("#000000", "#3c3c3c", "#666666", "#8c8c8c", "#b0b0b0"),
        heat=("#fafafa", "#bdbdbd", "#737373", "#111111"), fell="#8c8c8c", grew="#333333", hatch="////",
    ),
}  # fmt: skip


def ink_of(theme: str, ax: "Axes | None") -> Ink:
    """Return the colours of a theme; ``"auto"`` is dark where the figure, or Matplotlib's style, is dark."""
    import matplotlib as mpl

    if theme != "auto":
        if theme not in INKS:
            raise InputError(
                f"theme={theme!r} is not a set of colours; choose one of auto, {', '.join(INKS)}"
            )
        return INKS[theme]
    ground = ax.figure.get_facecolor() if ax is not None else mpl.rcParams["figure.facecolor"]
    red, green, blue, alpha = mpl.colors.to_rgba(ground)
    dark = alpha > 0 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.3
    return INKS["dark" if dark else "light"]


def picture(
    paint: "Callable[[Axes, Ink], None]",
    size: "Callable[[], tuple[float, float]]",
    *,
    path: str | Path | None,
    ax: "Axes | None",
    theme: str,
) -> "Axes":
    """Make a picture: paint it into ``ax`` or a new figure, save it if a path is given, return the axes."""
    ink = ink_of(theme, ax)
    where = None if path is None else checked(path)
    if ax is None:
        ax = axes(size(), ink, screen=path is None)
    paint(dress(ax, ink), ink)
    if where is not None:
        save(ax.figure.figure, where)  # of a subfigure, the figure that it is part of
    return ax


def axes(size: tuple[float, float], ink: Ink, *, screen: bool = True) -> "Axes":
    """Return axes of a new figure: one that notebooks and windows show, or one for saving only.

    A figure for saving needs no display and touches no global state.
    """
    from matplotlib.figure import Figure

    if screen:
        import matplotlib.pyplot as plt

        figure = plt.figure(figsize=size, layout="constrained")
    else:
        figure = Figure(figsize=size, layout="constrained")
    figure.set_facecolor(ink.paper)
    return dress(figure.subplots(), ink)


def dress(ax: "Axes", ink: Ink) -> "Axes":
    """Give axes the colours of a theme and return them."""
    ax.set_facecolor("none")
    ax.tick_params(colors=ink.text)
    for part in (ax.xaxis.label, ax.yaxis.label, ax.title):
        part.set_color(ink.text)
    for spine in ax.spines.values():
        spine.set_color(ink.faint)
    return ax


def caption(ax: "Axes", said: str, ink: Ink) -> None:
    """Write how to read the picture above it, on lines that fit its width; names are not read as formulas."""
    names = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0) if ax.axison else 0
    room = ax.bbox.width / ax.figure.dpi / USUAL_SHARE - 0.07 * names - 0.3 * ax.axison
    words = fitted(said.split("\n"), room, 9)
    ax.set_title("\n".join(words), fontsize=9, color=ink.faint, loc="left", pad=8, parse_math=False)


def fitted(lines: Sequence[str], room: float, size: float) -> list[str]:
    """Return lines of text broken so that each fits into ``room`` inches in letters of ``size`` points."""
    letters = max(24, int(room / (INCH_PER_POINT * size)))
    return [part for line in lines for part in wrap(line, letters)]


def q_scale(ink: Ink) -> tuple["Normalize", "Colormap"]:
    """Return the norm and the colours of q-values."""
    import matplotlib as mpl

    colours = mpl.colors.LinearSegmentedColormap.from_list("q", list(ink.sure))
    return mpl.colors.LogNorm(SMALLEST_Q, 1.0, clip=True), colours


def heat(ink: Ink) -> "Colormap":
    """Return the colours from nothing to much."""
    import matplotlib as mpl

    return mpl.colors.LinearSegmentedColormap.from_list("heat", list(ink.heat))


def q_bar(ax: "Axes", ink: Ink) -> None:
    """Draw the scale of q-values beside the axes."""
    import matplotlib as mpl

    norm, colours = q_scale(ink)
    ticks = [SMALLEST_Q, 0.01, LEVEL, 0.2, 1]
    bar = colour_bar(ax, mpl.cm.ScalarMappable(norm, colours), "q-value", ink, extend="min")
    bar.set_ticks(ticks, labels=["≤0.001" if q == SMALLEST_Q else f"{q:g}" for q in ticks], fontsize=8)
    bar.minorticks_off()


def colour_bar(
    ax: "Axes", shown: "ScalarMappable", label: str, ink: Ink, *, extend: str = "neither"
) -> "Colorbar":
    """Draw a named colour scale beside the axes, of a size that does not grow with the picture."""
    tall, wide = ax.bbox.height / ax.figure.dpi, ax.bbox.width / ax.figure.dpi
    share = min(0.8, LONGEST_BAR / tall)
    bar = ax.figure.colorbar(
        shown, ax=ax, shrink=share, aspect=24, extend=extend, pad=0.02, fraction=min(0.15, 0.7 / wide),
        panchor=False,
    )  # fmt: skip
    bar.set_label(label, fontsize=9, color=ink.text)
    bar.ax.tick_params(colors=ink.text, labelsize=8)
    bar.outline.set_visible(False)
    return bar


def name_ticks(ax: "Axes", columns: Sequence[str], rows: Sequence[str]) -> None:
    """Write names along a matrix: every one, no two alike, in a size that fits."""
    across, down = short(columns, 40), short(rows, 40)
    turned = max(map(len, across)) > 3
    ax.set_xticks(
        range(len(across)), list(across), rotation=90 if turned else 0, fontsize=_tick_size(len(across)),
        parse_math=False,
    )  # fmt: skip
    ax.set_yticks(range(len(down)), list(down), fontsize=_tick_size(len(down)), parse_math=False)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _tick_size(count: int) -> float:
    return 9 if count <= 12 else max(4.5, 9 - count / 20)


def matrix_size(rows: Sequence[str], columns: Sequence[str]) -> tuple[float, float]:
    """Return the figure size (inches) of a matrix with names along it."""
    across, down = (
        max(map(len, short(names, 40)), default=1) * 0.011 * _tick_size(len(names))
        for names in (columns, rows)
    )
    cells = [min(12.0, 2.2 + 0.2 * len(names)) for names in (columns, rows)]
    return cells[0] + down + 1.6, cells[1] + across + 0.9


def panels(ax: "Axes", count: int, ink: Ink) -> list["Axes"]:
    """Return ``count`` small axes in a grid inside ``ax``, whose own frame is hidden."""
    columns, rows = grid(count)
    ax.set_axis_off()
    found = []
    for at in range(count):
        row, column = divmod(at, columns)
        box = ((column + 0.08) / columns, 1 - (row + 0.82) / rows, 0.84 / columns, 0.66 / rows)
        found.append(dress(ax.inset_axes(box), ink))
    return found


def grid(count: int) -> tuple[int, int]:
    """Return the columns and rows of ``count`` panels."""
    columns = min(count, max(3, math.ceil(math.sqrt(1.6 * count))))
    return columns, math.ceil(count / columns)


def checked(path: Any) -> Any:
    """Return the path of a picture, or say why nothing can be saved there; an open file is taken as it is (png)."""
    if hasattr(path, "write"):
        return path
    path = Path(path)
    if path.suffix.lower() not in SUFFIXES:
        raise InputError(f"cannot tell the format of {path.name!r}; end the name in {', '.join(SUFFIXES)}")
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to save {path.name} in; make it first")
    return path


def save(figure: "Figure", path: Any) -> None:
    """Save without the date and with fixed ids: the same network gives the same bytes."""
    import matplotlib as mpl

    suffix = getattr(path, "suffix", ".png").lower()
    undated = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}[suffix]
    try:
        with mpl.rc_context({"svg.hashsalt": "enmesh"}):
            figure.savefig(path, dpi=160, metadata=undated, facecolor=figure.get_facecolor())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None
