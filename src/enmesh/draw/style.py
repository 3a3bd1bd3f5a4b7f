"""What all pictures share: colours for light, dark and grey paper, figures, captions, matrices, saving.

Ramps go from far off the paper to near it in lightness too, or the other way, so that they are told apart in print
without colour and with any kind of colour vision; doubt is shown by dashes, a negative effect by a hollow head as well.
"""

import importlib
import tomllib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from importlib.resources import files
from pathlib import Path
from textwrap import wrap
from types import SimpleNamespace
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.cm import ScalarMappable
from matplotlib.colorbar import Colorbar
from matplotlib.colors import Colormap, LinearSegmentedColormap
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.patches import Rectangle
from matplotlib.text import Text

from enmesh.draw.labels import short
from enmesh.errors import InputError

# Formats of pictures, with what leaves out the date.
SUFFIXES: dict[str, Any] = {".png": {}, ".svg": {"Date": None}, ".pdf": {"CreationDate": None}}
USUAL_SHARE = 0.775  # of a figure's width that its axes have before the figure is laid out
INCH_PER_POINT = 0.0073  # of a letter, for each point of its size
LONGEST_BAR = 2.6  # inches of a colour scale, however tall the picture


class Theme(SimpleNamespace):
    """Colours of a picture.

    ``ramp`` goes from small to large, ``strength`` (lines) and ``heat`` (areas) from little to much; ``negative``,
    ``neutral`` and ``positive`` are for what has a sign; without colours negative cells are hatched too.
    """

    def colours(self, name: str) -> Colormap:
        """Return the scale ``"heat"``, ``"strength"``, ``"ramp"``, ``"effect"`` (arrows) or ``"change"`` (cells)."""
        # Without colours, heads tell the sign of an effect.
        ends = (self.text, self.text) if self.hatch else (self.negative, self.positive)
        change = (self.negative, self.heat[0], self.positive)
        stops = vars(self) | {"effect": (ends[0], self.neutral, ends[1]), "change": change}
        return LinearSegmentedColormap.from_list(name, list(stops[name]))


DATA = tomllib.loads(files(__package__).joinpath("style.toml").read_text(encoding="utf-8"))
THEMES = {name: Theme(**colours) for name, colours in DATA["themes"].items()}


@contextmanager
def picture(
    size: tuple[float, float], *, path: Any = None, ax: Axes | None = None, theme: str = "auto"
) -> Iterator[tuple[Axes, Theme]]:
    """Give ``ax``, or the axes of a new figure of a size (inches), to be painted with a theme; then save the figure.

    Theme ``"auto"`` is dark where the figure, or Matplotlib's style, is dark. A figure that is only saved needs no
    display and touches no global state. Functions of one picture hand ``path`` (``.png``, ``.svg``, ``.pdf``), ``ax``
    and ``theme`` on to here, as ``where``.
    """
    if theme == "auto":
        ground = ax.figure.get_facecolor() if ax is not None else mpl.rcParams["figure.facecolor"]
        red, green, blue, alpha = mpl.colors.to_rgba(ground)
        theme = "dark" if alpha > 0 and 0.2126 * red + 0.7152 * green + 0.0722 * blue < 0.3 else "light"
    if theme not in THEMES:
        raise InputError(f"theme={theme!r} is not a set of colours; choose one of auto, {', '.join(THEMES)}")
    colours = THEMES[theme]
    if path is not None and not hasattr(path, "write"):  # an open file is taken as it is (png)
        path = Path(path)
        if path.suffix.lower() not in SUFFIXES:
            endings = ", ".join(SUFFIXES)
            raise InputError(f"cannot tell the format of {path.name!r}; end the name in {endings}")
        if not path.parent.is_dir():
            raise InputError(f"there is no folder {path.parent} to save {path.name} in; make it first")
    if ax is None:
        made: Any = Figure if path is not None else importlib.import_module("matplotlib.pyplot").figure
        ax = made(figsize=size, layout="constrained", facecolor=colours.paper).subplots()
    with mpl.rc_context({"font.family": families()}):  # names in any script
        yield coloured(ax, colours), colours
    if path is not None:
        save(ax.figure.figure, path)  # of a subfigure, the figure that it is part of


def coloured(ax: Axes, theme: Theme) -> Axes:
    """Give axes the colours of a theme and return them."""
    ax.set_facecolor("none")
    ax.tick_params(colors=theme.text)
    for part in (ax.xaxis.label, ax.yaxis.label, ax.title):
        part.set_color(theme.text)
    ax.spines[:].set_color(theme.faint)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def caption(ax: Axes, text: str, theme: Theme) -> None:
    """Write how to read the picture above it, on lines that fit its width; names are not read as formulas."""
    names = max((len(label.get_text()) for label in ax.get_yticklabels()), default=0) if ax.axison else 0
    room = ax.bbox.width / ax.figure.dpi / USUAL_SHARE - 0.07 * names - 0.3 * ax.axison
    lines = fitted(text.split("\n"), 0.94 * room, 9)
    ax.set_title("\n".join(lines), fontsize=9, color=theme.faint, loc="left", pad=8, parse_math=False)


def fitted(lines: Sequence[str], room: float, size: float) -> list[str]:
    """Return lines of text broken so that each fits into ``room`` inches in letters of ``size`` points."""
    letters = max(24, int(room / (INCH_PER_POINT * size)))
    return [part for line in lines for part in wrap(line, letters)]


def colour_bar(
    ax: Axes, shown: ScalarMappable, label: str, theme: Theme, *, below: bool = False, extend: str = "neither"
) -> Colorbar:
    """Draw a named colour scale beside or below the axes, of a size that does not grow with the picture."""
    tall, wide = ax.bbox.height / ax.figure.dpi, ax.bbox.width / ax.figure.dpi
    side = {"location": "bottom", "anchor": (0.0, 1.0)} if below else {"panchor": False}
    bar = ax.figure.colorbar(
        shown, ax=ax, shrink=min(0.8, LONGEST_BAR / (wide if below else tall)), aspect=30 if below else 24,
        extend=extend, pad=0.02, fraction=min(0.15, 0.6 / (tall if below else wide)), **side,
    )  # fmt: skip
    bar.set_label(label, fontsize=8 if below else 9, color=theme.text)
    bar.ax.tick_params(colors=theme.text, labelsize=8)
    bar.outline.set_visible(False)
    return bar


def draw_matrix(
    ax: Axes, values: np.ndarray, colours: str, limits: tuple[float, float], theme: Theme, *, rows: Sequence[str],
    columns: Sequence[str] | None = None, label: str, framed: "np.ndarray | tuple[()]" = (),
    written: Callable[[float], str] | None = None,
) -> None:  # fmt: skip
    """Draw a matrix with a colour scale; what is not known is blank, ``framed`` cells have a frame.

    Without names of ``columns`` the rows drive the columns. ``written`` gives the number in a cell.
    """
    ax.set_facecolor(theme.empty)
    image = ax.imshow(values, cmap=theme.colours(colours), vmin=limits[0], vmax=limits[1])
    for i, j in np.argwhere(framed):
        ax.add_patch(Rectangle((j - 0.44, i - 0.44), 0.88, 0.88, fill=False, ec=theme.mark, lw=1.6, zorder=3))
    if written is not None:
        for i, j in np.argwhere(np.isfinite(values)):
            colour = theme.paper if values[i, j] > 0.6 * limits[1] else theme.text
            ax.text(j, i, written(values[i, j]), ha="center", va="center", fontsize=8, color=colour)
    for axis, names in ((ax.xaxis, rows if columns is None else columns), (ax.yaxis, rows)):
        axis.set_ticks(range(len(names)), short(names, 40), fontsize=_tick_size(len(names)), parse_math=False)
    if columns is None:
        turned = max(map(len, short(rows, 40))) > 3
        ax.tick_params(axis="x", rotation=90 if turned else 0)
        ax.set(xlabel="target", ylabel="source")
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    below = np.nanmin(values, initial=0.0) < limits[0]
    colour_bar(ax, image, label, theme, extend="min" if below else "neither")


def _tick_size(count: int) -> float:
    return 9 if count <= 12 else max(4.5, 9 - count / 20)


def matrix_size(names: Sequence[str]) -> tuple[float, float]:
    """Return the figure size (inches) of a matrix with names along both sides."""
    label = max(map(len, short(names, 40)), default=1) * 0.011 * _tick_size(len(names))
    cells = min(12.0, 2.2 + 0.2 * len(names))
    return cells + label + 1.6, cells + label + 0.9


def save(figure: Figure, path: Any) -> None:
    """Save without the date and with fixed ids: the same network gives the same bytes."""
    undated = SUFFIXES[getattr(path, "suffix", ".png").lower()]
    try:
        with mpl.rc_context({"svg.hashsalt": "enmesh", "svg.fonttype": "none", "font.family": families()}):
            figure.savefig(path, dpi=160, metadata=undated, facecolor=figure.get_facecolor())
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from None


@cache
def families() -> list[str]:
    """Return the fonts to ask for a letter, in order; all of them are installed."""
    there = {font.name for font in fontManager.ttflist}
    usual = [name for name in mpl.rcParams["font.sans-serif"] if name in there][:1]
    further = [name for name in DATA["fonts"]["further"] if name in there]
    return list(dict.fromkeys([*(usual or ["DejaVu Sans"]), *further]))


class FittedText(Text):
    """A line of text ``unit`` high in data units, smaller where it would be wider than ``room``."""

    def __init__(self, x: float, y: float, text: str, *, unit: float, room: float, **style: Any):
        style |= {"ha": "center", "va": "center_baseline", "rotation_mode": "anchor", "parse_math": False}
        super().__init__(x, y, text, **style)
        self.set_fontfamily(families())
        self.unit, self.room = unit, room
        self.set_in_layout(False)

    def draw(self, renderer: Any) -> None:
        """Set the size that fits now, and draw."""
        (x0, _), (x1, _) = self.get_transform().transform([(0.0, 0.0), (1.0, 0.0)])
        per_unit = abs(x1 - x0)
        self.set_fontsize(max(per_unit * self.unit * 72 / self.figure.dpi, 0.5))
        wide, _, _ = renderer.get_text_width_height_descent(self.get_text(), self.get_fontproperties(), False)
        self.set_fontsize(self.get_fontsize() * min(1.0, self.room * per_unit / max(wide, 1e-9)))
        super().draw(renderer)
