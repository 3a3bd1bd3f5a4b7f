"""The data block of the page: what its pictures are drawn from, thinned to what an eye can see."""

import json
import math
from typing import Any

import numpy as np

from enmesh.draw.layout import arrange

MOST_BINS = 24
MOST_POINTS = 360  # of a preview
DIGITS = 5  # of places and shapes
NUMBER_DIGITS = 9  # of values that are shown, so that rounding them again for show does no harm


def contents(network) -> dict[str, Any]:
    """Return the page's data as plain lists and numbers.

    ``links`` has a row per tested pair or edge: source, target, te, p, q, lag, 1 for an edge, histogram.
    The histogram ``[low, high, counts]`` stands for the surrogate values, so that the page stays small with
    thousands of pairs and a thousand surrogates each.
    """
    edges = [tuple(edge) for edge in np.argwhere(network.adjacency).tolist()]
    wide, tall = (arrange(network.names, edges, tall=tall) for tall in (False, True))
    return {
        "names": list(network.names),
        "labels": list(wide.labels),
        "width": _rounded(wide.widths),
        "layouts": [_layout(wide), _layout(tall)],
        "links": _links(network, set(edges)),
        "preview": [_thinned(network.preview.get(name, ())) for name in network.names],
        "criteria": [_criterion(network.criteria.get(name)) for name in network.names],
    }


def embed(data: Any) -> str:
    """Return JSON that may stand in a script element: no character in it can end the element.

    >>> embed(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def histogram(values) -> list | None:
    """Return ``[low, high, counts]`` of surrogate values; None without any."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        return None
    counts, borders = np.histogram(finite, bins=min(MOST_BINS, math.ceil(math.sqrt(len(finite))) + 1))
    return [_round(borders[0]), _round(borders[-1]), counts.tolist()]


def _layout(drawing):
    """Return places with y downward, as in SVG, and the bend of each edge."""
    x, y = drawing.centres.T
    bends = [[i, j, bend] for (i, j), bend in sorted(drawing.bends.items())]
    return {"x": _rounded(x), "y": _rounded(-y), "bends": bends}


def _links(network, edges):
    place = {name: i for i, name in enumerate(network.names)}
    tests = {(place[c.source], place[c.target]): c for c in network.candidates}
    return [_link(pair, tests.get(pair), pair in edges) for pair in sorted(edges | tests.keys())]


def _link(pair, test, selected):
    if test is None:
        return [*pair, None, None, None, None, int(selected), None]
    numbers = _rounded((test.te, test.p_value, test.q_value), NUMBER_DIGITS)
    return [*pair, *numbers, int(test.lag), int(selected), histogram(test.null)]


def _thinned(values):
    step = math.ceil(len(values) / MOST_POINTS) or 1
    return _rounded(values[::step], 4)


def _criterion(table):
    """Return ``{dims, delays, best, values}``; None where the embedding was given."""
    if not table:
        return None
    shown = {key: table[key] for key in ("dims", "delays", "best")}
    return shown | {"values": [_rounded(row) for row in table["values"]]}


def _rounded(values, digits=DIGITS):
    return [_round(value, digits) for value in values]


def _round(value, digits=DIGITS):
    """Return a float of a few digits; None for what JSON has no number for."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
