"""The data block of the page: what its pictures are drawn from, thinned to what an eye can see."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from enmesh.draw.arrows import PALEST, lag_tags, lags_of, links_of, shares_of, thickest
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.plot import block_order, is_error
from enmesh.draw.report.words import recording
from enmesh.draw.shapes import THIN, Edge, extremes
from enmesh.draw.subject import LEVEL, UNTESTED, Candidate, Network
from enmesh.draw.tags import tag_size

MOST_BINS = 24
MOST_POINTS = 720  # of a preview
OLD_POINTS = 400  # of the previews that version 0.2 wrote: every so many-th sample, which leaves out the end
DIGITS = 5  # of places and shapes
EVIDENCE = (
    "given", "low", "high", "scatter", "curve", "lags", "lag_te", "chance", "times", "local", "sentence",
)  # fmt: skip
NUMBER_DIGITS = 9  # of values that are shown, so that rounding them again for show does no harm


def contents(network: Network) -> dict[str, Any]:
    """Return the page's data as plain lists and numbers.

    ``links`` has a row per tested pair or edge: source, target, te, p, q, lags, 1 for an edge, histogram, effect,
    strongest lag, and where a bootstrap was made, stability.
    The histogram ``[low, high, counts]`` stands for the surrogate values, so that the page stays small with
    thousands of pairs and a thousand surrogates each.
    """
    place = {name: i for i, name in enumerate(network.names)}
    tests = {(place[c.source], place[c.target]): c for c in network.candidates}
    edges, shares, recorded = links_of(network), shares_of(network), "shown" not in network.provenance
    return picture_contents(network) | {
        "order": block_order(network)[0],
        "links": [
            _link(pair, tests.get(pair, UNTESTED), pair in edges, shares)
            for pair in sorted(edges.keys() | tests.keys())
        ],
        "preview": [
            _rounded(extremes(network.preview.get(name, ()) if recorded else (), MOST_POINTS))
            for name in network.names
        ],
        "span": _span(network) if recorded else None,
        "criteria": [_criterion(network.criteria.get(name)) for name in network.names],
    }


def picture_contents(network: Network) -> dict[str, Any]:
    """Return what the network alone is drawn from: names, layouts, links of the network without histograms."""
    edges, shares = links_of(network), shares_of(network)
    network = network.with_evidence()
    words = lag_tags(edges)
    drawn = [arrange(network.names, edges, tall=tall, words=words) for tall in (False, True)]
    return {
        "names": list(network.names),
        "labels": list(short(network.names, 24)),
        "level": LEVEL,
        "recording": recording(network),
        "layouts": [_layout(drawing) for drawing in drawn],
        "widths": [THIN, _round(thickest(len(edges), bool(drawn[0].turns.any())))],
        "tags": [[*edge, text, *_rounded(tag_size(text))] for edge, text in sorted(words.items())],
        "palest": PALEST,
        "dt": network.provenance.get("dt") or 1,
        "evidence": _evidence(network),
        "links": [_link(edge, test, True, shares, thin=True) for edge, test in sorted(edges.items())],
    }


def embed(data: Any) -> str:
    """Return JSON that may stand in a script element: no character in it can end the element.

    >>> embed(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def histogram(values: Iterable[float]) -> list[Any] | None:
    """Return ``[low, high, counts]`` of surrogate values; None without any."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        return None
    counts, borders = np.histogram(finite, bins=min(MOST_BINS, math.ceil(math.sqrt(len(finite))) + 1))
    return [_round(borders[0]), _round(borders[-1]), counts.tolist()]


def _layout(drawing: Layout) -> dict[str, Any]:
    """Return boxes, paths and places of lags, with y downward as in SVG."""
    down = np.array([1.0, -1.0])
    paths = sorted(drawing.paths.items())
    return {
        "x": _rounded(drawing.centres[:, 0]),
        "y": _rounded(-drawing.centres[:, 1]),
        "width": _rounded(drawing.sizes[:, 0]),
        "height": _rounded(drawing.sizes[:, 1]),
        "turn": _rounded(-np.degrees(drawing.turns)),
        "lines": [list(lines) for lines in drawing.lines],
        "paths": [[i, j, _rounded((path * down).ravel(), 4)] for (i, j), path in paths],
        "tags": [[i, j, *_rounded((x, -y), 4)] for (i, j), (x, y) in sorted(drawing.tags.items())],
    }


def _link(
    pair: Edge, test: Candidate, selected: bool, shares: Mapping[Edge, float], thin: bool = False
) -> list[Any]:
    """Return one row of ``links``; ``thin`` leaves out the histogram."""
    numbers = _rounded((test.te, test.p_value, test.q_value), NUMBER_DIGITS)
    lags = [] if test is UNTESTED else list(lags_of(test))
    bars = None if thin else histogram(test.null)
    stable = [_round(shares.get(pair, math.nan))] if shares else []
    return [*pair, *numbers, lags, int(selected), bars, _round(test.effect), _round(test.lag), *stable]


def _evidence(network: Network) -> dict[str, Any]:
    """Return what stands behind each link, by the positions of its ends; numbers that ``links`` has are left out."""
    place = {name: i for i, name in enumerate(network.names)}
    found = {}
    for about in network.evidence.values():
        bars = histogram(about["null"]) if about.get("by_formula") else None
        row = {key: about.get(key) for key in EVIDENCE} | {"null": bars}
        found[f"{place[about['source']]} {place[about['target']]}"] = row
    return found


def _span(network: Network) -> list[Any] | None:
    """Return the time that the previews cover and its unit; None where the first trial's length is not known."""
    known = network.provenance
    lengths = known.get("lengths") or ([known.get("samples")] if known.get("trials", 1) == 1 else [])
    points = max(map(len, network.preview.values()), default=0)
    if not points or not lengths or not isinstance(lengths[0], int):
        return None
    old = points == OLD_POINTS < lengths[0]
    covered, dt = (points - 1) * (lengths[0] // points) if old else lengths[0] - 1, known.get("dt", 1)
    return [covered, "samples"] if dt in (None, 1) else [_round(covered * dt), f"units of time, dt = {dt:g}"]


def _criterion(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return ``{dims, delays, best, values, error}``; None where dimension and delay were not chosen."""
    if not table or not {"dims", "delays", "best", "values"} <= set(table):
        return None
    shown = {key: table[key] for key in ("dims", "delays", "best")}
    return shown | {"values": [_rounded(row) for row in table["values"]], "error": is_error(table)}


def _rounded(values: Iterable[float], digits: int = DIGITS) -> list[float | None]:
    return [_round(value, digits) for value in values]


def _round(value: float, digits: int = DIGITS) -> float | None:
    """Return a float of a few digits; None for what JSON has no number for."""
    return float(f"{value:.{digits}g}") if math.isfinite(value) else None
