"""Small networks that stand in a page as SVG, several of them in one arrangement so that they can be compared."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.report.sections import text
from enmesh.draw.shapes import THICK, THIN, Edge, headed, sampled

UNIT = 20  # pixels
MOST_SIDES = 24  # networks beside each other


class Line(NamedTuple):
    """How an arrow looks: width from 0 to 1, colour, whether it is dashed."""

    width: float
    colour: str = "var(--s1)"
    dashed: bool = False


def network_svg(names: Sequence[str], links: Mapping[Edge, Line], drawing: Layout, label: str) -> str:
    """Return a network as SVG; ``drawing`` has a path for each of its links."""
    left, right, bottom, top = drawing.extent
    parts = [_arrow(edge, links[edge], drawing) for edge in sorted(links)]
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


def _arrow(edge: Edge, look: Line, drawing: Layout) -> str:
    width = THIN + (THICK - THIN) * min(max(look.width, 0.0), 1.0)
    shaft, head = headed(sampled(drawing.paths[edge], 12), width)
    way = "M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in shaft)
    tip = "M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in head) + "Z"
    dash = ' stroke-dasharray="0.3 0.15"' if look.dashed else ""
    return (
        f'<g data-pair="{edge[0]} {edge[1]}" style="color:{look.colour}"><path class="way" d="{way}" '
        f'stroke-width="{width:.3f}"{dash}/><path class="tip" d="{tip}"/></g>'
    )


def side_by_side(names: Sequence[str], networks: Mapping[str, Mapping[Edge, Line]]) -> str:
    """Return networks of the same nodes beside each other, each with its name, all nodes in the same places."""
    shown = dict(list(networks.items())[:MOST_SIDES])
    drawing = arrange(short(names, 24), sorted({edge for links in shown.values() for edge in links}))
    figures = [
        f"<figure><figcaption>{text(name)}</figcaption>{network_svg(names, links, drawing, name)}</figure>"
        for name, links in shown.items()
    ]
    more = f"<p>and {len(networks) - MOST_SIDES} more</p>" if len(networks) > MOST_SIDES else ""
    return f'<div class="sides">{"".join(figures)}</div>{more}'
