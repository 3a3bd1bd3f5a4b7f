"""Pictures of results around a network: lag profile, stability, group, comparison, windows, one link, limits, events.

Each takes a result and where the picture goes (`style.picture`), and returns the axes; `Shown.plot` picks one.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from numpy.typing import ArrayLike

from enmesh.draw.labels import flat, short
from enmesh.draw.plot import draw_intervals, draw_lags, draw_null
from enmesh.draw.shapes import Edge
from enmesh.draw.style import caption, coloured, draw_matrix, matrix_size, picture
from enmesh.draw.subject import LEVEL, Network, Result

WRITTEN = 12  # nodes up to which a matrix has its numbers in the cells
MOST_TICKS = 12  # along time
MOST_LINKS = 12  # all are drawn over time; of more, those in the network or significant in a window


def lag_profile(profile: Result, **where: Any) -> Axes:
    """Draw transfer entropy over the source's lag, and a band of what chance gives."""
    lags, best = profile.lags, profile.best
    with picture((6.4, 3.8), **where) as (ax, theme):
        band: dict[str, Any] = {"color": theme.null, "lw": 0, "alpha": 0.7, "label": "chance", "zorder": 1}
        ax.fill_between(lags, profile.low, profile.high, **band)
        ax.axhline(0, color=theme.faint, lw=0.8, zorder=1)
        ax.plot(lags, profile.te, "o-", color=theme.ramp[1], ms=4, lw=1.5, label="measured", zorder=3)
        at = profile.te[list(lags).index(best)]
        ax.plot([best], [at], "D", color=theme.mark, ms=8, label=f"best lag: {best}", zorder=4)
        if len(profile.tested) > 1:
            together = f"lags {', '.join(map(str, profile.tested))} together: {profile.value:.3g} nats"
            ax.axhline(profile.value, color=theme.mark, lw=1.2, ls="--", label=together, zorder=2)
        ax.set(xlabel="lag (samples)", ylabel="transfer entropy, each lag alone (nats)")
        ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False, fontsize=8, labelcolor=theme.text)
        given = f" given {', '.join(profile.given)}" if profile.given else ""
        tested = f"lag{'s' * (len(profile.tested) > 1)} {', '.join(map(str, profile.tested))}"
        how = f"{tested}; the choice among {len(lags)} lags is counted"
        if len(profile.null):
            how = f"the best of {len(lags)} lags, chosen so in surrogates"
        link = flat(f"{profile.source} → {profile.target}{given}")
        caption(ax, f"{link}\np = {profile.p_value:.2g} ({how})", theme)
    return ax


def stability(found: Result, *, network: Network | None = None, **where: Any) -> Axes:
    """Draw in what share of cuts each link was found; those of ``network`` are framed."""
    return _shares(found.frequency, "cuts whose two halves have it", network, where)


def group(found: Result, **where: Any) -> Axes:
    """Draw in what share of subjects each link was found; those of the group's network are framed."""
    return _shares(found.share, "subjects with it", found.network, where)


MOST_BRIDGES = 8  # pairs whose statistic is drawn


def _shares(shares: Any, of: str, network: Network | None, where: dict[str, Any]) -> Axes:
    few, framed = len(shares) <= WRITTEN, () if network is None else network.adjacency
    framing = "; framed: in the network" if np.any(framed) else ""
    text = f"how often row drives column is found{', in percent' * few}{framing}"
    written = (lambda share: f"{100 * share:.0f}") if few else None
    return _square(shares, 1.0, f"share of {of}", text, where, framed=framed, written=written)


def te_matrix(found: Result, **where: Any) -> Axes:
    """Draw the transfer entropy of every pair; those with q up to 0.05 are framed."""
    top, framed = float(np.nanmax(found.te, initial=0.0)) or 1.0, found.q_value.to_numpy(float) <= LEVEL
    how = f"{found.asked}; " if found.asked else ""
    text = f"{how}row drives column; framed: q up to {LEVEL:g}"
    return _square(found.te, top, "transfer entropy (nats)", text, where, framed=framed)


def _square(frame: Any, top: float, label: str, text: str, where: dict[str, Any], **how: Any) -> Axes:
    names = list(frame.columns)
    with picture(matrix_size(names), **where) as (ax, theme):
        draw_matrix(ax, frame.to_numpy(float), "heat", (0.0, top), theme, rows=names, label=label, **how)
        caption(ax, text, theme)
    return ax


def comparison(found: Result, **where: Any) -> Axes:
    """Draw what grew (triangle up, q up to 0.05) and what fell (down): second less first, row drives column."""
    names, change = list(found.difference.columns), found.difference.to_numpy(float)
    sure, most = found.q_value.to_numpy(float) <= LEVEL, float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    with picture(matrix_size(names), **where) as (ax, theme):
        label = "change of transfer entropy (nats)"
        draw_matrix(ax, change, "change", (-most, most), theme, rows=names, label=label)
        lines: dict[str, Any] = {"fill": False, "hatch": theme.hatch, "ec": theme.faint, "lw": 0}
        for i, j in np.argwhere(change < 0) if theme.hatch else ():
            ax.add_patch(Rectangle((j - 0.5, i - 0.5), 1, 1, **lines))
        side = float(np.clip(120 / len(names), 3, 9))
        for marker, mask in (("^", sure & (change > 0)), ("v", sure & (change < 0))):
            rows, columns = np.nonzero(mask)
            ax.plot(columns, rows, marker, ms=side, mfc=theme.text, mec=theme.paper, mew=0.8, ls="none")
        hatched = "; hatched: less than before" if theme.hatch else ""
        triangles = f"triangle up: grew, down: fell (q up to {LEVEL:g})"
        first, second = found.labels
        caption(ax, f"{second} less {first}; row drives column; {triangles}{hatched}", theme)
    return ax


def over_time(found: Result) -> tuple[list[float], str, list[Edge], np.ndarray, np.ndarray]:
    """Return what is drawn of windows: their middles and the unit, the links, (window, link) values and q-values."""
    pairs = [(i, j) for i, j in np.ndindex(found.network.adjacency.shape) if i != j]
    if len(pairs) > MOST_LINKS:
        shown = found.network.adjacency | found.on.any(0)
        pairs = [pair for pair in pairs if shown[pair]] or pairs[:MOST_LINKS]
    rows, columns = map(list, zip(*pairs))
    times = ((found.starts + found.width / 2) * found.dt).tolist()
    step = str(found.network.provenance.get("every") or "").split(" ", 1)
    unit = "samples" if found.dt == 1 else "time units"
    if len(step) == 2:  # "0.5 s", "1 day": middles in that unit
        times, unit = [float(step[0]) * time / found.dt for time in times], step[1]
    return times, unit, pairs, found.te[:, rows, columns], found.q_value[:, rows, columns]


def windows(found: Result, **where: Any) -> Axes:
    """Draw transfer entropy over time: a row per link, a column per window, a dot where q is up to 0.05."""
    times, unit, pairs, te, q_value = over_time(found)
    links = [f"{found.network.names[i]} → {found.network.names[j]}" for i, j in pairs]
    longest = max(map(len, short(links, 40)))
    size = 3.4 + 0.085 * longest + min(8.0, 0.16 * len(times)), 1.5 + 0.24 * len(links)
    with picture(size, **where) as (ax, theme):
        top, label = float(np.nanmax(te, initial=0.0)) or 1.0, "transfer entropy (nats)"
        draw_matrix(ax, te.T, "heat", (0.0, top), theme, rows=links, columns=[], label=label)
        ax.set_aspect("auto")
        ax.plot(*np.nonzero(q_value <= LEVEL), "o", ms=3.5, mfc=theme.mark, mec=theme.paper, mew=0.6)
        every = -(-len(times) // MOST_TICKS)
        ax.set_xticks(range(0, len(times), every), [f"{time:g}" for time in times[::every]], fontsize=8)
        ax.set_xlabel(f"middle of the window ({unit})")
        caption(ax, f"each link over time; dot: q up to {LEVEL:g}", theme)
    return ax


def regimes(found: Result, **where: Any) -> Axes:
    """Draw the statistic of the pairs that change most along the record, and the change points."""
    size = np.abs(found.sums).max(axis=-1)
    pairs = sorted(map(tuple, np.argwhere(size > found.limit)), key=lambda pair: -size[pair])[:MOST_BRIDGES]
    with picture((7.2, 3.4), **where) as (ax, theme):
        for i, j in pairs:
            name = " → ".join(short([found.network.names[i], found.network.names[j]], 24))
            ax.plot(found.times * found.dt, found.sums[i, j], lw=1.4, label=name)
        for height in (-found.limit, found.limit):
            ax.axhline(height, color=theme.faint, lw=0.8, ls="--")
        for point in found.change_points:
            ax.axvline(point * found.dt, color=theme.mark, lw=1.6)
        ax.axhline(0, color=theme.faint, lw=0.8)
        if pairs:
            ax.legend(fontsize=7, frameon=False, ncols=2)
        ax.set(xlabel="sample" if found.dt == 1 else "time", ylabel="sum (standard deviations)")
        what = "links that change" if pairs else "no link changes"
        caption(ax, f"{what}; without a change at most 5 % cross the dashed lines; vertical: change points", theme)
    return ax


def explanation(about: Result, **where: Any) -> Any:
    """Draw scatter, lags, chance and local values of a link in four panels; return the figure."""
    with picture((9.0, 6.4), **where) as (ax, theme):
        ax.set_axis_off()
        caption(ax, about.sentence, theme)
        places = [(x, y, 0.4, 0.36) for y in (0.56, 0.05) for x in (0.07, 0.58)]
        scatter, lags, null, local = found = [coloured(ax.inset_axes(box), theme) for box in places]
        source, target = short((about.source, about.target), 24)
        if len(about.scatter):
            scatter.plot(*about.scatter.T, ".", color=theme.ramp[1], ms=4, alpha=0.6)
            scatter.plot(*about.curve.T, color=theme.mark, lw=2)
        earlier = f"{source}, {about.lag} earlier (residual)"
        scatter.set(xlabel=earlier, ylabel=f"{target} (residual)")
        if len(about.lags):
            draw_lags(lags, about.lags, about.lag_te, about.chance, theme)
            at = about.lag_te[about.lags.index(about.lag)] if about.lag in about.lags else 0
            lags.plot([about.lag], [at], "D", color=theme.mark, ms=6, zorder=4)
        lags.set(xlabel="lag (samples); grey: 95 % of chance", ylabel="TE, each lag alone (nats)")
        lags.locator_params(axis="x", integer=True)
        draw_null(null, about, theme)
        null.axvspan(about.low, about.high, color=theme.mark, alpha=0.15, lw=0)
        how = "distribution by formula" if about.by_formula else "surrogates"
        null.set_xlabel(f"bars: {how}; line: measured, with 95 % limits (nats)")
        local.axhline(0, color=theme.faint, lw=0.8)
        local.plot(about.times, about.local, color=theme.ramp[1], lw=1.2)
        local.set(xlabel="sample", ylabel="local transfer entropy (nats)")
        for panel in found:
            panel.tick_params(labelsize=8)
            for part in (panel.xaxis.label, panel.yaxis.label):
                part.set(fontsize=8, parse_math=False)
    return ax.figure


def interval(found: Result, **where: Any) -> Axes:
    """Draw a transfer entropy between its limits."""
    with picture((4.6, 0.9), **where) as (ax, theme):
        draw_intervals(ax, [(found.low, found.value, found.high, False)], theme)
        ax.set_yticks([])
    return ax


def raster(names: Sequence[str], times: Sequence[ArrayLike], start: float, stop: float, **where: Any) -> Axes:
    """Draw a mark for every event, a row per node."""
    with picture((7.2, 1.2 + 0.28 * len(names)), **where) as (ax, theme):
        ax.eventplot([np.asarray(t) for t in times], colors=theme.ramp[1], linelengths=0.7, linewidths=0.9)
        ax.set_yticks(range(len(names)), short(names, 24), fontsize=8)
        ax.set(xlim=(start, stop), ylim=(len(names) - 0.4, -0.6), xlabel="time")
        caption(ax, f"events from {start:.4g} to {stop:.4g}", theme)
    return ax


PICTURES: dict[str, Callable[..., Any]] = {
    "LagProfile": lag_profile, "Stability": stability, "Group": group, "TEMatrix": te_matrix, "Comparison": comparison,
    "Windows": windows, "Regimes": regimes, "Explanation": explanation, "Interval": interval,
}  # fmt: skip
