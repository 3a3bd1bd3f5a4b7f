"""Pictures of what lies around a network: lag profile, stability, comparison, windows.

Each takes plain numbers, so that any result can be drawn; saves to ``path`` if one is given (``.png``, ``.svg``,
``.pdf``), draws into Matplotlib's ``ax`` if one is given, in the colours of ``theme`` (see `plot.draw`), and returns
the axes.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from enmesh.draw.ink import (
    LEVEL,
    Ink,
    caption,
    colour_bar,
    heat,
    matrix_size,
    name_ticks,
    picture,
)  # fmt: skip
from enmesh.draw.labels import flat, short
from enmesh.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.colors import Colormap
    from matplotlib.image import AxesImage

WRITTEN = 12  # nodes up to which a matrix has its numbers in the cells
MOST_TICKS = 12  # along time


def lag_profile(
    lags: Sequence[int],
    te: ArrayLike,
    *,
    low: ArrayLike | None = None,
    high: ArrayLike | None = None,
    best: int | None = None,
    p_value: float | None = None,
    title: str = "",
    path: str | Path | None = None,
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw transfer entropy over the source's lag.

    Parameters
    ----------
    lags, te
        Lags in samples and the transfer entropy at each, in nats.
    low, high
        Lower and upper limit, per lag, of what chance gives: a band.
    best
        The lag that was chosen; marked.
    p_value
        Of the best lag, chosen as it was; written above.
    title
        What is drawn, such as ``"a → b"``.
    path, ax, theme
        As in `plot.draw`.
    """
    values = _row("te", te, len(lags))
    band = (
        None if low is None or high is None else (_row("low", low, len(lags)), _row("high", high, len(lags)))
    )
    if best is not None and best not in lags:
        raise InputError(f"best={best} is not one of the lags drawn; give one of {list(lags)}")

    def paint(ax: "Axes", ink: Ink) -> None:
        if band is not None:
            ax.fill_between(lags, *band, color=ink.null, lw=0, alpha=0.7, label="chance", zorder=1)
        ax.axhline(0, color=ink.faint, lw=0.8, zorder=1)
        ax.plot(lags, values, "o-", color=ink.ramp[1], ms=4, lw=1.5, label="measured", zorder=3)
        if best is not None:
            at = values[list(lags).index(best)]
            ax.plot([best], [at], "D", color=ink.mark, ms=8, label=f"best lag: {best}", zorder=4)
        ax.set(xlabel="lag (samples)", ylabel="transfer entropy (nats)")
        ax.locator_params(axis="x", integer=True)
        ax.spines[["top", "right"]].set_visible(False)
        ax.legend(frameon=False, fontsize=8, labelcolor=ink.text)
        p = (
            ""
            if p_value is None
            else f"p = {p_value:.2g} (the best of {len(lags)} lags, chosen so in surrogates)"
        )
        caption(ax, "\n".join(filter(None, [flat(title) if title else "", p])), ink)

    return picture(paint, lambda: (6.4, 3.8), path=path, ax=ax, theme=theme)


def stability(
    names: Sequence[str],
    frequency: ArrayLike,
    *,
    selected: ArrayLike | None = None,
    of: str = "cuts whose two halves have it",
    path: str | Path | None = None,
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw in how many cuts, or subjects, each link was found, row drives column; ``selected`` links are framed.

    ``frequency`` is ``(M, M)`` with shares from 0 to 1, ``selected`` ``(M, M)`` of truth values; ``of`` says of what
    they are shares.
    """
    shares = _square("frequency", frequency, names)
    framed = np.zeros(shares.shape, bool) if selected is None else _square("selected", selected, names) > 0
    known = shares[np.isfinite(shares)]
    if known.size and (known.min() < 0 or known.max() > 1):
        raise InputError(f"frequency goes from {known.min():g} to {known.max():g}; give shares from 0 to 1")

    def paint(ax: "Axes", ink: Ink) -> None:
        image = _cells(ax, shares, heat(ink), (0.0, 1.0), ink)
        if len(names) <= WRITTEN:
            _write(ax, [[f"{100 * v:.0f}" for v in row] for row in shares], shares > 0.6, ink)
        _frames(ax, framed, ink)
        name_ticks(ax, names, names)
        ax.set(xlabel="target", ylabel="source")
        colour_bar(ax, image, f"share of {of}", ink)
        framing = "; framed: in the network" if framed.any() else ""
        percent = ", in percent" if len(names) <= WRITTEN else ""
        caption(ax, f"how often row drives column is found{percent}{framing}", ink)

    return picture(paint, lambda: matrix_size(names, names), path=path, ax=ax, theme=theme)


def comparison(
    names: Sequence[str],
    difference: ArrayLike,
    q_value: ArrayLike | None = None,
    *,
    level: float = LEVEL,
    labels: tuple[str, str] = ("first", "second"),
    path: str | Path | None = None,
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw what grew and what fell: differences of transfer entropy (second less first), row drives column.

    Cells with ``q_value`` up to ``level`` carry a triangle, up where the link grew and down where it fell, so that
    the sign is seen in print too.
    """
    change = _square("difference", difference, names)
    sure = np.zeros(change.shape, bool) if q_value is None else _square("q_value", q_value, names) <= level

    def paint(ax: "Axes", ink: Ink) -> None:
        import matplotlib as mpl

        ends = mpl.colors.LinearSegmentedColormap.from_list("change", [ink.fell, ink.heat[0], ink.grew])
        most = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
        image = _cells(ax, change, ends, (-most, most), ink)
        if ink.hatch:
            _hatched(ax, change < 0, ink)
        side = float(np.clip(120 / len(names), 3, 9))
        for marker, mask in (("^", sure & (change > 0)), ("v", sure & (change < 0))):
            rows, columns = np.nonzero(mask)
            ax.plot(columns, rows, marker, ms=side, mfc=ink.text, mec=ink.paper, mew=0.8, ls="none")
        name_ticks(ax, names, names)
        ax.set(xlabel="target", ylabel="source")
        colour_bar(ax, image, "change of transfer entropy (nats)", ink)
        hatched = "; hatched: less than before" if ink.hatch else ""
        sides = f"{labels[1]} less {labels[0]}; "
        caption(
            ax, f"{sides}row drives column; triangle up: grew, down: fell (q up to {level:g}){hatched}", ink
        )

    return picture(paint, lambda: matrix_size(names, names), path=path, ax=ax, theme=theme)


def windows(
    times: Sequence[float],
    links: Sequence[str],
    te: ArrayLike,
    *,
    q_value: ArrayLike | None = None,
    level: float = LEVEL,
    unit: str = "samples",
    path: str | Path | None = None,
    ax: "Axes | None" = None,
    theme: str = "auto",
) -> "Axes":
    """Draw transfer entropy over windows of time: a row per link, a column per window.

    Parameters
    ----------
    times
        Middle of each window.
    links
        Name of each link, such as ``"a → b"``.
    te
        ``(window, link)`` in nats; NaN where it is not known.
    q_value
        ``(window, link)``; cells up to ``level`` carry a dot.
    unit
        Of ``times``.
    path, ax, theme
        As in `plot.draw`.
    """
    shape = len(times), len(links)
    values = _table("te", te, shape)
    sure = np.zeros(shape, bool) if q_value is None else _table("q_value", q_value, shape) <= level

    def paint(ax: "Axes", ink: Ink) -> None:
        top = float(np.nanmax(values, initial=0.0)) or 1.0
        image = _cells(ax, values.T, heat(ink), (0.0, top), ink)
        ax.set_aspect("auto")
        at, row = np.nonzero(sure)
        ax.plot(at, row, "o", ms=3.5, mfc=ink.mark, mec=ink.paper, mew=0.6, ls="none")
        name_ticks(ax, [""] * len(times), links)
        every = -(-len(times) // MOST_TICKS)
        ax.set_xticks(
            range(0, len(times), every), [f"{time:g}" for time in times[::every]], fontsize=8, rotation=0
        )
        ax.set_xlabel(f"middle of the window ({unit})")
        colour_bar(ax, image, "transfer entropy (nats)", ink)
        dots = f"; dot: q up to {level:g}" if q_value is not None else ""
        caption(ax, f"each link over time{dots}", ink)

    def size() -> tuple[float, float]:
        longest = max(map(len, short(links, 40)), default=1)
        return 3.4 + 0.085 * longest + min(8.0, 0.16 * len(times)), 1.5 + 0.24 * len(links)

    return picture(paint, size, path=path, ax=ax, theme=theme)


def _row(what: str, values: ArrayLike, count: int) -> np.ndarray:
    return _table(what, values, (count,))


def _square(what: str, values: ArrayLike, names: Sequence[str]) -> np.ndarray:
    return _table(what, values, (len(names), len(names)))


def _table(what: str, values: ArrayLike, shape: tuple[int, ...]) -> np.ndarray:
    """Return an array of floats, or say what shape is needed."""
    table = np.asarray(values, float)
    if table.shape != shape or not table.size:
        raise InputError(f"{what} has the shape {table.shape}; it must be {shape}, and not empty")
    return table


def _cells(
    ax: "Axes", values: np.ndarray, colours: "Colormap", limits: tuple[float, float], ink: Ink
) -> "AxesImage":
    """Draw a matrix as coloured cells; what is not known is blank."""
    ax.set_facecolor(ink.empty)
    return ax.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1])


def _write(ax: "Axes", texts: list[list[str]], reversed_: np.ndarray, ink: Ink) -> None:
    for i, row in enumerate(texts):
        for j, text in enumerate(row):
            if text != "nan":
                colour = ink.paper if reversed_[i, j] else ink.text
                ax.text(j, i, text, ha="center", va="center", fontsize=8, color=colour)


def _hatched(ax: "Axes", mask: np.ndarray, ink: Ink) -> None:
    """Draw thin lines over cells, which tell them from others where there is no colour."""
    from matplotlib.patches import Rectangle

    for i, j in np.argwhere(mask):
        cell = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, hatch=ink.hatch, ec=ink.faint, lw=0)
        ax.add_patch(cell)


def _frames(ax: "Axes", mask: np.ndarray, ink: Ink) -> None:
    from matplotlib.patches import Rectangle

    for i, j in np.argwhere(mask):
        ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, ec=ink.mark, lw=1.6, zorder=3))
