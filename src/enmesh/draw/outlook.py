"""Pictures of what a model says: forecasts, skill, effects, interventions, power, parts."""

from collections.abc import Callable
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from enmesh.draw.labels import short
from enmesh.draw.style import caption, coloured, picture
from enmesh.draw.subject import Result

MOST_PANELS = 6  # nodes that are drawn; of more, those that move most
FADED = 0.22


def _band(ax: Axes, x: Any, low: Any, high: Any, colour: Any) -> None:
    x, low, high = (np.asarray(one, float) for one in (x, low, high))
    ax.fill_between(x, low, high, color=colour, alpha=FADED, lw=0)


def _panels(ax: Axes, names: list[str], theme: Any) -> list[Axes]:
    """Return a row of axes per name, one below the other, in place of the axes."""
    ax.set_axis_off()
    size = 1 / len(names)
    made = [coloured(ax.inset_axes((0, 1 - (i + 1) * size + 0.03, 1, size - 0.07)), theme) for i in range(len(names))]
    for panel, name in zip(made, short(names, 24)):
        panel.set_ylabel(name, fontsize=8, parse_math=False)
        panel.tick_params(labelsize=8)
        panel.tick_params(labelbottom=panel is made[-1])
    return made


def effect(found: Result, **where: Any) -> Axes:
    """Draw an effect over the horizon with its limits, and the direct part."""
    with picture((6.4, 3.8), **where) as (ax, theme):
        x = found.total.index
        _band(ax, x, found.low, found.high, theme.ramp[1])
        ax.axhline(0, color=theme.faint, lw=0.8)
        ax.plot(x, found.total, "o-", color=theme.ramp[1], ms=4, lw=1.6, label="total")
        ax.plot(x, found.direct["total"], "s--", color=theme.mark, ms=4, lw=1.2, label="direct")
        for place, name in enumerate(list(found.through)[:3]):
            style = (":", "-.", (0, (5, 1)))[place]
            ax.plot(x, found.through[name], ls=style, color=theme.text, lw=1.2, label=f"through {name}")
        ax.set(xlabel="samples after the change")
        ax.set_ylabel(f"change of {found.target}", parse_math=False)
        ax.locator_params(axis="x", integer=True)
        ax.legend(frameon=False, fontsize=8, labelcolor=theme.text)
        caption(ax, f"{found.sentence}\nBand: {found.confidence:.0%} interval", theme)
    return ax


def intervention(found: Result, **where: Any) -> Axes:
    """Draw the nodes with the intervention and without it."""
    names = list(found.change.abs().max().sort_values(ascending=False).index[:MOST_PANELS])
    with picture((6.4, 1.2 + 1.2 * len(names)), **where) as (ax, theme):
        caption(ax, f"{found.sentence}\nDashed: without the intervention; band: {found.confidence:.0%} interval", theme)
        for panel, name in zip(_panels(ax, names, theme), names):
            x = found.mean.index
            _band(panel, x, found.low[name], found.high[name], theme.mark)
            panel.plot(x, found.mean[name], "o-", color=theme.mark, ms=3, lw=1.5)
            panel.plot(x, found.baseline[name], "--", color=theme.text, lw=1.2)
            panel.locator_params(axis="x", integer=True)
    return ax


def forecast(found: Result, **where: Any) -> Axes:
    """Draw what was, and what is expected with its limits."""
    names = list(found.mean.columns[:MOST_PANELS])
    with picture((7.2, 1.2 + 1.2 * len(names)), **where) as (ax, theme):
        caption(ax, f"Forecast and its {found.confidence:.0%} limits", theme)
        before = np.arange(1 - len(found.past), 1)
        for panel, name in zip(_panels(ax, names, theme), names):
            panel.plot(before, found.past[name], color=theme.text, lw=1.0)
            _band(panel, found.mean.index, found.low[name], found.high[name], theme.ramp[1])
            panel.plot(found.mean.index, found.mean[name], color=theme.ramp[1], lw=1.6)
            panel.axvline(0, color=theme.faint, lw=0.8, ls=":")
    return ax


def skill(found: Result, **where: Any) -> Axes:
    """Draw whether the network predicts: errors beside those of the own past, and calibration."""
    near = found.table[found.table.horizon == 1]
    with picture((7.6, max(3.4, 1.6 + 0.28 * len(near))), **where) as (ax, theme):
        caption(ax, f"Does it predict? {found.sentence}", theme)
        ax.set_axis_off()
        left = coloured(ax.inset_axes((0.1, 0.12, 0.46, 0.84)), theme)
        right = coloured(ax.inset_axes((0.7, 0.12, 0.3, 0.84)), theme)
        y = np.arange(len(near))[::-1]
        for column, marker, colour, label in (
            ("network", "o", theme.mark, "network"), ("all_nodes", "s", theme.ramp[1], "all nodes"),
        ):  # fmt: skip
            left.plot(near[column] / near.own_past, y, marker, color=colour, ms=6, label=label, ls="none")
        left.axvline(1, color=theme.text, lw=0.8, ls="--")
        left.set_yticks(y, short(list(near.node), 24), fontsize=8, parse_math=False)
        left.set_xlabel("error ÷ error with the own past alone", fontsize=8)
        left.legend(frameon=False, fontsize=8, labelcolor=theme.text)
        right.plot([0, 1], [0, 1], color=theme.faint, lw=0.8)
        right.plot(found.calibration.expected, found.calibration.observed, "o-", color=theme.mark, ms=3, lw=1.2)
        right.set(xlim=(0, 1), ylim=(0, 1))
        right.set_xlabel("expected share below", fontsize=8)
        right.set_ylabel("observed share below", fontsize=8)
        for panel in (left, right):
            panel.tick_params(labelsize=8)
    return ax


def power(found: Result, **where: Any) -> Axes:
    """Draw the probability to find a link: over samples where a transfer entropy was asked about, else over nats."""
    curve = found.curve()
    by_samples = curve.index.name == "samples"
    with picture((6.4, 3.8), **where) as (ax, theme):
        ax.plot(curve.index, curve.to_numpy(), color=theme.ramp[1], lw=1.8)
        ax.axhline(found.share, color=theme.faint, lw=0.8, ls="--")
        at = found.samples_needed() if by_samples else found.smallest
        ax.plot([at], [found.share], "D", color=theme.mark, ms=7)
        said: dict[str, Any] = {"textcoords": "offset points", "color": theme.text, "fontsize": 9}
        ax.annotate(f"{at:,}" if by_samples else f"{at:.3g} nats", (at, found.share), (8, -14), **said)
        ax.set_xscale("log")
        of_samples, of_nats = f"samples (link of {found.te or 0:g} nats)", "transfer entropy (nats), {:,} samples"
        label = of_samples if by_samples else of_nats.format(found.samples)
        ax.set(xlabel=label, ylabel="probability to find the link", ylim=(0, 1.02))
        caption(ax, found.sentence, theme)
    return ax


def simulated_power(found: Result, **where: Any) -> Axes:
    """Draw the share of simulated recordings in which each link was found, over their length."""
    with picture((6.4, 3.8), **where) as (ax, theme):
        for place, ((source, target), rows) in enumerate(found.table.groupby(["source", "target"], sort=False)):
            colour = theme.colours("ramp")(0.2 + 0.7 * (place % 6) / 5)
            label = short([f"{source} → {target}"], 40)[0]
            ax.errorbar(rows.samples, rows.power, rows.error, fmt="o-", color=colour, ms=4, lw=1.4, label=label)
        ax.axhline(found.share, color=theme.faint, lw=0.8, ls="--")
        ax.set_xscale("log")
        ax.set(xlabel="samples", ylabel="share of recordings with the link", ylim=(0, 1.02))
        ax.legend(frameon=False, fontsize=8, labelcolor=theme.text)
        caption(ax, f"{found.repetitions} simulated recordings of each length, level {found.level:g}", theme)
    return ax


def parts(found: Result, **where: Any) -> Axes:
    """Draw the parts with their limits; a filled mark has a p-value of at most 0.05."""
    atoms = found.atoms[(found.atoms.value.abs() > 1e-9) | (len(found.sources) == 2)]
    with picture((6.8, 1.5 + 0.32 * len(atoms)), **where) as (ax, theme):
        colours = {"unique": theme.ramp[1], "redundant": theme.text, "synergistic": theme.mark}
        for y, row in zip(range(len(atoms))[::-1], atoms.itertuples()):
            colour = colours[row.kind]
            ax.plot([row.low, row.high], [y, y], color=colour, lw=2)
            ax.plot([row.value], [y], "o", color=colour, ms=8, mfc=colour if row.p_value <= 0.05 else theme.paper)
        words = [f"{row.part} ({row.kind})" for row in atoms.itertuples()]
        ax.set_yticks(range(len(atoms))[::-1], short(words, 60), fontsize=8, parse_math=False)
        ax.axvline(0, color=theme.faint, lw=0.8)
        ax.set(xlabel="nats", ylim=(-0.6, len(atoms) - 0.4))
        caption(ax, f"{found.sentence}\nLine: {found.confidence:.0%} limits; filled: p up to 0.05", theme)
    return ax


PICTURES: dict[str, Callable[..., Any]] = {
    "Effect": effect, "Intervention": intervention, "Forecast": forecast, "Skill": skill, "Power": power,
    "SimulatedPower": simulated_power, "Parts": parts,
}  # fmt: skip
