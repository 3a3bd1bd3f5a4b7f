"""Pictures that stand in a page as SVG: networks, matrices of cells, and what Matplotlib draws."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from html import escape
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.shapes import THICK, THIN, Edge, headed, sampled
from enmesh.draw.style import THEMES
from enmesh.draw.subject import LEVEL

UNIT = 20  # pixels
MOST_SIDES = 24  # networks beside each other
LETTER = 7.44  # pixels of a letter along a matrix, wide


class Markup(str):
    """HTML that stands as it is."""


def text(value: Any) -> str:
    """Return a value as text that HTML cannot read as markup, but for `Markup`."""
    return value if isinstance(value, Markup) else escape(str(value))


def mixed(share: float, colour: str) -> str:
    """Return a colour of the page, mixed by the browser so that it follows light and dark."""
    return f"color-mix(in oklab, var(--{colour}) {100 * share:.0f}%, var(--paper))"


Look = tuple[float, str]  # width of an arrow from 0 to 1, and colour
PLAIN = "var(--s1)"


def network_svg(links: Mapping[Edge, Look], drawing: Layout, label: str) -> str:
    """Return a network as SVG; ``drawing`` has a path for each of its links."""
    left, right, bottom, top = drawing.extent
    parts = []
    for (i, j), (share, colour) in sorted(links.items()):
        width = THIN + (THICK - THIN) * min(max(share, 0.0), 1.0)
        ends = headed(sampled(drawing.paths[i, j], 12), width)
        way, tip = ("M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in end) for end in ends)
        parts.append(
            f'<g data-pair="{i} {j}" style="color:{colour}"><path class="way" d="{way}" '
            f'stroke-width="{width:.3f}"/><path class="tip" d="{tip}Z"/></g>'
        )
    for (x, y), (width, height), lines in zip(drawing.centres, drawing.sizes, drawing.lines):
        box = f'x="{x - width / 2:.2f}" y="{-y - height / 2:.2f}" width="{width:.2f}" height="{height:.2f}" rx="0.5"'
        words = "".join(
            f'<text x="{x:.2f}" y="{-y + 0.19 + 0.62 * (k - (len(lines) - 1) / 2):.2f}">{text(line)}</text>'
            for k, line in enumerate(lines)
        )
        parts.append(f"<rect {box}/>{words}")
    wide, tall = right - left + 1, top - bottom + 1
    size = f'viewBox="{left - 0.5:.2f} {-top - 0.5:.2f} {wide:.2f} {tall:.2f}" width="{UNIT * wide:.0f}"'
    return f'<svg class="small" {size} role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'


def side_by_side(names: Sequence[str], networks: Mapping[str, Mapping[Edge, Look]]) -> str:
    """Return networks of the same nodes beside each other, each with its name, all nodes in the same places."""
    shown = dict(list(networks.items())[:MOST_SIDES])
    drawing = arrange(short(names, 24), {edge for links in shown.values() for edge in links})
    figures = [
        f"<figure><figcaption>{text(name)}</figcaption>{network_svg(links, drawing, name)}</figure>"
        for name, links in shown.items()
    ]
    more = f"<p>and {len(networks) - MOST_SIDES} more</p>" if len(networks) > MOST_SIDES else ""
    return f'<div class="sides">{"".join(figures)}</div>{more}'


def heat_map(
    rows: Sequence[str],
    values: np.ndarray,
    q_value: np.ndarray,
    told: Callable[[int, int], str],
    label: str,
    *,
    top: float,
    signed: bool = False,
    columns: Sequence[str] = (),
) -> str:
    """Return a matrix of coloured cells as SVG; pointing at one tells its numbers (``told``).

    Values go from 0 to ``top`` or, where they are ``signed``, as far both ways. Cells with q at most 0.05 carry a dot
    or, signed, a triangle up or down. Without other ``columns`` a row drives a column, and cells are squares.
    """
    down, across = short(rows, 24), columns or short(rows, 24)
    wide = max(3.0, min(40.0, 760 / len(across)))
    tall, longest = 22.0 if columns else wide, LETTER * max(map(len, across))
    upright = not columns and longest < wide
    left, above = 8 + LETTER * max(map(len, down)), 20 if upright else 8 + longest
    parts = [
        f'<text x="{left - 5:.1f}" y="{above + (i + 0.5) * tall + 4:.1f}" text-anchor="end">{text(name)}</text>'
        for i, name in enumerate(down)
    ]
    for j, name in enumerate(across):
        x, turn, anchor = (0, 0, "middle") if upright else (4, -90, "start")
        place = f"translate({left + (j + 0.5) * wide + x:.1f} {above - 5:.1f}) rotate({turn})"
        parts += [f'<text transform="{place}" text-anchor="{anchor}">{text(name)}</text>'] * bool(name)
    for (i, j), value in np.ndenumerate(values):
        x, y = left + j * wide, above + i * tall
        box = f'x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"'
        if not math.isfinite(value):
            parts.append(f'<rect class="self" {box}/>')
            continue
        sign, mark = ("grew", "▲") if value > 0 else ("fell", "▼")
        fill = mixed(abs(value) / top, sign) if signed else mixed(0.05 + 0.95 * max(value, 0) / top, "heat")
        parts.append(f'<rect {box} style="fill:{fill}"><title>{text(told(i, j))}</title></rect>')
        if q_value[i, j] <= LEVEL:
            middle = f'x="{x + wide / 2:.1f}" y="{y + tall / 2 + 4:.1f}" text-anchor="middle"'
            parts.append(f'<text class="sign" {middle}>{mark if signed else "•"}</text>')
    width, height = left + len(across) * wide + 4, above + len(down) * tall + 4
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    drawn = f'<svg class="map" {size} role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'
    return f'<div class="scroll">{drawn}</div>'


def figure(plot: Callable[..., Any]) -> str:
    """Return what ``plot(path=..., theme=...)`` draws as SVG without ground, its words in the colour of the page."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        plot(path=path, theme="light")
        drawn = path.read_text(encoding="utf-8")
    drawn = re.sub(
        r'<(style|metadata).*?</\1>|xmlns:xlink="[^"]*"', "", drawn[drawn.index("<svg") :], flags=re.S
    )
    return drawn.replace(THEMES["light"].paper, "none").replace(THEMES["light"].text, "currentColor")
