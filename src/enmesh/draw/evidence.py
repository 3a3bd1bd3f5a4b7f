"""Pictures of what stands behind links: one link in four panels, every pair at every lag, limits of all links."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.draw.ink import Ink, axes, caption, checked, dress, ink_of, save
from enmesh.draw.labels import short
from enmesh.draw.subject import Network
from enmesh.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PAIRS_DRAWN = 24  # nodes up to which every pair has a panel


def explained(about: Any, path: str | Path | None = None, *, theme: str = "auto") -> "Figure":
    """Draw an `Explanation`: scatter, lags, chance and time; save it if a path is given; return the figure."""
    import matplotlib as mpl

    from enmesh.draw.fitted import families

    ink = ink_of(theme, None)
    where = None if path is None else checked(path)
    with mpl.rc_context({"font.family": families()}):
        frame = axes((9.0, 6.4), ink, screen=path is None)
        places = [
            (0.07, 0.56, 0.4, 0.36),
            (0.58, 0.56, 0.4, 0.36),
            (0.07, 0.05, 0.4, 0.36),
            (0.58, 0.05, 0.4, 0.36),
        ]
        frame.set_axis_off()
        caption(frame, about.sentence, ink)
        for box, paint in zip(places, (_scatter, _lags, _null, _local)):
            panel = dress(frame.inset_axes(box), ink)
            panel.spines[["top", "right"]].set_visible(False)
            panel.tick_params(labelsize=8)
            paint(panel, about, ink)
            for part in (panel.xaxis.label, panel.yaxis.label):
                part.set_fontsize(8)
                part.set_parse_math(False)
    if where is not None:
        save(frame.figure.figure, where)
    return frame.figure.figure


def _scatter(ax: "Axes", about: Any, ink: Ink) -> None:
    source, target = short((about.source, about.target), 24)
    if len(about.scatter):
        ax.plot(*about.scatter.T, ".", color=ink.ramp[1], ms=4, alpha=0.6)
        ax.plot(*about.curve.T, color=ink.mark, lw=2)
    ax.set(
        xlabel=f"{source}, {about.lag} earlier, less what is given", ylabel=f"{target}, less what is given"
    )


def _lags(ax: "Axes", about: Any, ink: Ink) -> None:
    if len(about.lags):
        lag_stems(ax, about.lags, about.lag_te, about.chance, ink)
        ax.plot([about.lag], [about.lag_te[about.lags.index(about.lag)]] if about.lag in about.lags else [0], "D",
                color=ink.mark, ms=6, zorder=4)  # fmt: skip
    ax.set(xlabel="lag (samples); grey: what chance reaches in 95 %", ylabel="transfer entropy (nats)")
    ax.locator_params(axis="x", integer=True)


def _null(ax: "Axes", about: Any, ink: Ink) -> None:
    if len(about.null):
        ax.hist(about.null, bins="sqrt", color=ink.null)
    ax.axvline(about.te, color=ink.mark, lw=2)
    ax.axvspan(about.low, about.high, color=ink.mark, alpha=0.15, lw=0)
    ax.set_yticks([])
    how = "distribution by formula" if about.by_formula else "surrogates"
    ax.set_xlabel(f"bars: {how}; line: measured, with 95 % limits (nats)")


def _local(ax: "Axes", about: Any, ink: Ink) -> None:
    ax.axhline(0, color=ink.faint, lw=0.8)
    ax.plot(about.times, about.local, color=ink.ramp[1], lw=1.2)
    ax.set(xlabel="sample", ylabel="local transfer entropy (nats)")


def lag_stems(ax: "Axes", lags: Any, te: np.ndarray, chance: float, ink: Ink) -> None:
    """Draw transfer entropy at each lag over the band of chance."""
    ax.axhspan(0, chance, color=ink.null, alpha=0.5, lw=0)
    ax.vlines(lags, 0, te, color=ink.ramp[1], lw=1.6)
    ax.plot(lags, te, "o", color=ink.ramp[1], ms=2.6)
    ax.set_xlim(0.3, max(lags) + 0.7)


def lags(network: Network, ax: "Axes", ink: Ink, colour: str = "auto") -> None:
    """Draw transfer entropy at every lag for every pair, row drives column, over chance; links are framed."""
    found, te, chance = network.lag_grid()
    names, count = short(network.names, 16), len(network.names)
    top = float(np.nanmax(te, initial=0.0)) * 1.05 or 1.0
    chosen = network.adjacency
    small = max(4.0, 9 - count / 4)
    ax.set_axis_off()
    side = 1 / count
    for i in range(count):
        for j in range(count):
            box = (j * side + 0.06 * side, 1 - (i + 0.9) * side, 0.88 * side, 0.8 * side)
            panel = dress(ax.inset_axes(box), ink)
            panel.set(xticks=[], yticks=[], ylim=(0, top))
            if i == 0:
                panel.set_title(names[j], fontsize=small, color=ink.text, parse_math=False)
            if j == 0:
                panel.set_ylabel(
                    names[i], fontsize=small, rotation=0, ha="right", va="center", parse_math=False
                )
            if i == j:
                panel.set_facecolor(ink.empty)
                panel.spines[:].set_visible(False)
                continue
            lag_stems(panel, found, te[i, j], chance[i, j], ink)
            panel.spines[:].set(
                color=ink.mark if chosen[i, j] else ink.empty, lw=1.6 if chosen[i, j] else 0.8
            )
    caption(
        ax,
        f"row drives column, at lags 1 to {found[-1]}, all up to {top:.2g} nats, by regression with squares given the "
        "target's past and parents; grey: what chance reaches in 95 % at one lag; framed: in the network",
        ink,
    )


def lags_size(network: Network) -> tuple[float, float]:
    """Return the figure size in inches; refuse more pairs than can be seen."""
    count = len(network.names)
    if count > MOST_PAIRS_DRAWN:
        raise InputError(
            f"{count} nodes make {count * (count - 1)} pairs, too many to see; draw the network of up to "
            f"{MOST_PAIRS_DRAWN} nodes"
        )
    side = min(1.5 * count, 3 + 0.75 * count)
    return side + 1.2, 0.8 * side + 0.9


def intervals(network: Network, ax: "Axes", ink: Ink, colour: str = "auto") -> None:
    """Draw the transfer entropy of every link with its 95 % limits, strongest first; hollow: q above 0.05."""
    found = _limits(network)
    names = short([f"{row['source']} → {row['target']}" for row in found], 60)
    for at, row in enumerate(found):
        sure = (row["q_value"] if row["q_value"] is not None else 1.0) <= 0.05
        ax.plot(
            [row["low"], row["high"]], [at, at], color=ink.ramp[1], lw=2, solid_capstyle="round", zorder=2
        )
        ax.plot(
            [row["te"]], [at], "o", mfc=ink.ramp[1] if sure else ink.paper, mec=ink.ramp[1], ms=6, zorder=3
        )
    ax.axvline(0, color=ink.faint, lw=0.8)
    ax.set_yticks(range(len(names)), list(names), fontsize=8, parse_math=False)
    ax.invert_yaxis()
    ax.set_xlabel("transfer entropy (nats)")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)
    ax.grid(axis="x", color=ink.empty, lw=0.8)
    ax.set_axisbelow(True)
    caption(ax, "each link with its 95 % limits, strongest first; hollow: q above 0.05", ink)


def intervals_size(network: Network) -> tuple[float, float]:
    """Return the figure size in inches."""
    longest = max(len(f"{row['source']} → {row['target']}") for row in _limits(network))
    return 4.6 + 0.07 * min(longest, 60), 1.3 + 0.24 * len(_limits(network))


def _limits(network: Network) -> list[dict[str, Any]]:
    known = [row for row in network.with_evidence().evidence.values() if row.get("low") is not None]
    if not known:
        raise InputError(
            "no limits to draw: there is no link, or its data are neither in memory nor in the file"
        )
    return sorted(known, key=lambda row: -(row["te"] or 0.0))
