"""The page to share: one HTML file with everything in it, which opens offline and loads nothing.

Sentences and tables stand in the file as text; pictures are drawn in the browser from the data block, by plain
JavaScript without a library, so that the page stays small: about 60 kB for five nodes.
"""

import base64
import hashlib
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from string import Template
from typing import Any

import numpy as np

from enmesh.draw.arrows import PALEST, lag_tags, lag_unit, lags_of, links_of, shares_of, thickest
from enmesh.draw.curves import raster
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.plot import block_order
from enmesh.draw.report import more, words
from enmesh.draw.report.more import asset, figure, table, text
from enmesh.draw.shapes import POINTS, THIN, Edge, extremes
from enmesh.draw.subject import LEVEL, UNTESTED, Candidate, Network
from enmesh.draw.tags import tag_size
from enmesh.options import plain

PICTURE = ("base.js", "panel.js", "graph.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "timegraph.js", "charts.js")
# How the page calls what a result knows of its origin; other keys are shown as they are.
KNOWN = {
    "file": "file", "date": "date", "command": "command", "data": "digest of the data", "nodes": "nodes",
    "trials": "trials", "samples": "samples", "events": "events", "duration": "observed time",
    "shown": "raster from, to", "dt": "sampling step (dt)", "enmesh": "enmesh version", "python": "Python version",
    "numpy": "NumPy version",
}  # fmt: skip
ALL_GIVEN = "<p>Every option was given; nothing was chosen automatically.</p>"
MOST_ROWS = 60  # of a raster
MOST_BINS = 24
OLD_POINTS = 400  # of the previews that version 0.2 wrote: every so many-th sample, which leaves out the end
DIGITS = 5  # of places and shapes
ERRORS = {"Ragwitz": True, "ActiveStorage": False, "Cao": False}  # whether a low value is good
EVIDENCE = (
    "given", "low", "high", "scatter", "curve", "lags", "lag_te", "chance", "times", "local", "sentence",
)  # fmt: skip
NUMBER_DIGITS = 9  # of values that are shown, so that rounding them again for show does no harm
TOLD_IF = re.compile(r'<li data-if="(\w+)">(.*\n)')
SECTION = re.compile(r'<section id="(\w+)"[^>]*>\s*<h2>(.*?)</h2>')
# What a browser may run and show: nothing but the scripts and style sheets of the page itself, by their hashes.
POLICY = "default-src 'none'; script-src {script}; style-src {style}; style-src-attr 'unsafe-inline'; img-src data:"
PARTS = {
    "script": re.compile("<script>(.*?)</script>", re.S),
    "style": re.compile("<style[^>]*>(.*?)</style>", re.S),
}


def html_of(result: Any, *, title: str, notes: str) -> str:
    """Return the page of a network, of several by their names, or of another result."""
    own = {"title": title, "notes": notes}
    match type(result).__name__:
        case "Comparison":
            return sealed(more.comparison_page(result, **own))
        case "Group":
            return page(result.network, more.group_section(result), **own)
        case "Windows":
            return page(result.network, more.windows_section(result), script=asset("windows.js"), **own)
    return several(result, **own) if isinstance(result, Mapping) else page(result, **own)


def sealed(html: str, frames: Iterable[str] = ()) -> str:
    """Return a page with the policy that lets its own scripts and styles through, and those of pages in its frames.

    >>> sealed('<meta content="$policy"><script>1</script>').count("'sha256-")
    1
    """
    texts = [html, *frames]
    hashes = {
        kind: " ".join(dict.fromkeys(_hash(part) for one in texts for part in found.findall(one))) or "'none'"
        for kind, found in PARTS.items()
    }
    return html.replace("$policy", POLICY.format(**hashes), 1)


def _hash(part: str) -> str:
    digest = hashlib.sha256(part.encode("utf-8", "backslashreplace")).digest()
    return f"'sha256-{base64.b64encode(digest).decode()}'"


def page(network: Network, sections: str = "", *, title: str = "", notes: str = "", script: str = "") -> str:
    """Return the page as HTML; the same network gives the same text.

    ``sections`` are further ones (`report.more`), ``script`` what they need; ``title`` stands over the finding, and
    ``notes`` (paragraphs between blank lines) before all else.
    """
    known, dt = network.provenance, network.provenance.get("dt")
    every = known.get("every") or (f"{dt:g}" if dt not in (None, 1) else "")
    warnings = _items(message.replace("->", "→") for message in network.warnings)
    first = "Read this first" if len(network.warnings) > 1 else "One caution"
    noted = f'<section id="warnings" class="note"><h2>{first}</h2><ul>{warnings}</ul></section>'
    chosen = [(what, *map(words.fewer_digits, reason)) for what, *reason in network.choices]
    origin = {key: known[key] for key in KNOWN if key in known} | known
    facts = words.facts(network)
    sentences = TOLD_IF.sub(lambda item: f"<li>{item[2]}" if item[1] in facts else "", asset("body.html"))
    body = Template(sentences).substitute(
        notes=more.own_notes(notes),
        warnings=noted if warnings else "",
        network=_network_section(network),
        more=_events(network) + sections,
        level=LEVEL,
        one_in=round(1 / LEVEL),
        whole=" of the first trial" if (known.get("trials") or 1) > 1 else " recording",
        step=text(f"(a sample every {every})" if every else "in samples"),
        past=text(words.past(network)),
        choices=table(("Choice", "Value", "Reason"), chosen) if chosen else ALL_GIVEN,
        paragraph=text(words.paragraph(network)),
        works=_items(words.references(network)),
        provenance=_terms((KNOWN.get(key, key), value) for key, value in origin.items()),
        options=text(json.dumps(network.options, indent=2, ensure_ascii=False, default=str)),
    )
    name = title or words.recording(network)
    html = Template(asset("page.html")).substitute(
        title=text(": ".join(filter(None, [name, words.headline(network)]))),
        contents="".join(f'<a href="#{anchor}">{heading}</a>' for anchor, heading in SECTION.findall(body)),
        recording=_recorded(network, title),
        headline=text(words.headline(network)),
        standing=text(words.standing(network)),
        facts=_facts(network),
        body=body,
        style=asset("page.css"),
        script="\n".join([*map(asset, SCRIPTS), script]),
        data=embed(contents(network)),
    )
    return sealed(html)


def several(networks: Mapping[str, Network], *, title: str = "", notes: str = "") -> str:
    """Return one page of several networks: side by side, every link in all of them, and the whole page of each."""
    shown = {name: network.with_evidence() for name, network in networks.items()}
    names = list(dict.fromkeys(name for network in shown.values() for name in network.names))
    place = {name: i for i, name in enumerate(names)}
    te = {
        name: {(place[row.source], place[row.target]): float(row.te) for row in network.edges.itertuples()}
        for name, network in shown.items()
    }
    often = Counter(edge for own in te.values() for edge in own)
    top = max((value for own in te.values() for value in own.values() if value > 0), default=1.0)
    looks = {
        name: {edge: (float(np.nan_to_num(value)) / top, more.PLAIN) for edge, value in own.items()}
        for name, own in te.items()
    }
    rows = [
        [f"{names[i]} → {names[j]}", *(own.get((i, j), math.nan) for own in te.values())]
        for i, j in sorted(often, key=lambda edge: (-often[edge], edge))
    ]
    pages = {name: page(network, title=name) for name, network in shown.items()}
    frames = "".join(
        f'<details class="whole"><summary>{text(name)}: {text(words.headline(network))}</summary>'
        f'<iframe title="{text(name)}" loading="lazy" sandbox="allow-scripts allow-downloads allow-modals" '
        f'srcdoc="{text(pages[name])}"></iframe></details>'
        for name, network in shown.items()
    )
    html = Template(asset("several.html")).substitute(
        title=text(title or "Networks"),
        headline=text(title or f"{len(networks)} networks of {len(names)} nodes"),
        notes=more.own_notes(notes),
        sides=more.side_by_side(names, looks),
        table=table(("link", *networks), rows),
        frames=frames,
        style=asset("page.css"),
    )
    return sealed(html, pages.values())


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    html = Template(asset("inline.html")).substitute(
        title=text(words.headline(network)),
        network=_network_section(network),
        style=asset("page.css"),
        script="\n".join(asset(name) for name in PICTURE),
        data=embed(contents(network, whole=False)),
    )
    return sealed(html)


def _network_section(network: Network) -> str:
    html = asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}")
    return html.replace("(nats)", f"({words.te_unit(network)})")


def _recorded(network: Network, title: str) -> str:
    """Return the line over the headline: a title of one's own, the recording and the date; the first is bold."""
    known = network.provenance
    parts = [text(part) for part in (title, words.recording(network)) if part]
    parts = [f"<b>{part}</b>" for part in parts[:1]] + parts[1:]
    parts += [text(known[key]) for key in ("date", "time") if known.get(key)][:1]
    return f'<p class="recording">{" · ".join(parts)}</p>' if parts else ""


def _events(network: Network) -> str:
    """Return the section with the raster; nothing where the data are samples."""
    known = network.provenance
    if not known.get("shown") or "events" not in known:
        return ""
    (start, stop), names = map(float, known["shown"]), network.names[:MOST_ROWS]
    times = [network.preview.get(name, ()) for name in names]
    more = f" The first {MOST_ROWS} nodes." if len(network.names) > MOST_ROWS else ""
    return (
        '<section id="raster"><h2>Events</h2><p class="quiet">Each mark is an event, over time: the beginning of the '
        f"recording, {start:.4g} to {stop:.4g} of {known.get('duration', stop):.4g} units.{more}</p>"
        f'<div class="scroll">{figure(partial(raster, names, times, start, stop))}</div></section>'
    )


def _facts(network: Network) -> str:
    """Return the handful of numbers under the headline."""
    known = network.provenance
    counts = {key: known.get(key) for key in ("samples", "events", "trials")}
    score = network.options.get("score") or {}
    scores = [one for _, one in score.get("groups") or [("", score)]]  # of one per target, all of them
    types = [part.get("type") for one in scores for part in (one, one.get("estimator") or {})]
    kinds = dict.fromkeys(filter(None, types))
    rows = [
        ("nodes", len(network.names)),
        *((key, f"{count:,}") for key, count in counts.items() if isinstance(count, int) and count > 1),
        *[(f"links with q ≤ {LEVEL}", words.sure_links(network))] * bool(network.candidates),
        *[("score, estimator", " · ".join(kinds))] * bool(kinds),
        *[("families scored", f"{network.evaluated:,}")] * bool(network.evaluated),
    ]
    return _terms(rows)


def _terms(rows: Iterable[tuple[str, Any]]) -> str:
    shown = ((name, ", ".join(map(str, v)) if isinstance(v, (list, tuple)) else v) for name, v in rows)
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in shown)


def _items(items: Iterable[str]) -> str:
    return "".join(f"<li>{text(item)}</li>" for item in items)


def contents(network: Network, *, whole: bool = True) -> dict[str, Any]:
    """Return the page's data as plain lists and numbers, or what the network alone is drawn from.

    ``links`` has a row per tested pair or edge: source, target, te, p, q, lags, 1 for an edge, histogram of surrogate
    values ``[low, high, counts]``, effect, strongest lag, and where a bootstrap was made, stability. The network alone
    has rows of edges, without histograms.
    """
    edges, shares, known = links_of(network), shares_of(network), network.provenance
    network = network.with_evidence()
    place = {name: i for i, name in enumerate(network.names)}
    tests = {(place[c.source], place[c.target]): c for c in network.candidates if whole}
    evidence = {}  # what stands behind each link; numbers that ``links`` has are left out
    for about in network.evidence.values():
        bars = histogram(about["null"]) if about.get("by_formula") else None
        ends = f"{place[about['source']]} {place[about['target']]}"
        evidence[ends] = {key: about.get(key) for key in EVIDENCE} | {"null": bars}
    tags, rows = lag_tags(edges), sorted((edges | tests).items())
    drawn = [arrange(network.names, edges, tall=tall, words=tags) for tall in (False, True)]
    data = {
        "names": list(network.names),
        "labels": list(short(network.names, 24)),
        "level": LEVEL,
        "recording": words.recording(network),
        "layouts": [_layout(drawing) for drawing in drawn],
        "widths": [THIN, plain(thickest(len(edges), bool(drawn[0].turns.any())), DIGITS)],
        "tags": [[*edge, tag, *plain(tag_size(tag), DIGITS)] for edge, tag in sorted(tags.items())],
        "palest": PALEST,
        "dt": known.get("dt") or 1,
        **({"units": [words.te_unit(network), lag_unit(network)]} if "events" in known else {}),
        "evidence": evidence,
        "links": [_link(pair, test, pair in edges, shares, whole) for pair, test in rows],
    }
    if whole:
        preview = {} if "shown" in known else network.preview
        data["order"] = block_order(network)[0]
        data["preview"] = [plain(extremes(preview.get(name, ()), POINTS), DIGITS) for name in network.names]
        data["span"] = _span(network) if preview else None
        data["criteria"] = [_criterion(network.criteria.get(name)) for name in network.names]
    return data


def embed(data: Any) -> str:
    """Return JSON that may stand in a script element: no character in it can end the element.

    >>> embed(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    made = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def histogram(values: Iterable[float]) -> list[Any] | None:
    """Return ``[low, high, counts]`` of surrogate values; None without any."""
    finite = np.array([value for value in values if math.isfinite(value)])
    if not len(finite):
        return None
    counts, borders = np.histogram(finite, bins=min(MOST_BINS, math.ceil(math.sqrt(len(finite))) + 1))
    return plain([borders[0], borders[-1], counts], DIGITS)


def _layout(drawing: Layout) -> dict[str, Any]:
    """Return boxes, paths and places of lags, with y downward as in SVG."""
    down = np.array([1.0, -1.0])
    paths = sorted(drawing.paths.items())
    (x, y), (width, height) = (drawing.centres * down).T, drawing.sizes.T
    boxes = {"x": x, "y": y, "width": width, "height": height, "turn": -np.degrees(drawing.turns)}
    return plain(boxes, DIGITS) | {
        "lines": plain(drawing.lines),
        "paths": [[i, j, plain((path * down).ravel(), 4)] for (i, j), path in paths],
        "tags": [[i, j, *plain((x, -y), 4)] for (i, j), (x, y) in sorted(drawing.tags.items())],
    }


def _link(pair: Edge, test: Candidate, selected: bool, shares: Mapping[Edge, float], bars: bool) -> list[Any]:
    """Return one row of ``links``."""
    numbers = plain((test.te, test.p_value, test.q_value), NUMBER_DIGITS)
    lags = [] if test is UNTESTED else list(lags_of(test))
    stable = [shares.get(pair, math.nan)] if shares else []
    more = plain([test.effect, float(test.lag), *stable], DIGITS)
    return [*pair, *numbers, lags, int(selected), histogram(test.null) if bars else None, *more]


def _span(network: Network) -> list[Any] | None:
    """Return the time that the previews cover and its unit; None where the first trial's length is not known."""
    known = network.provenance
    lengths = known.get("lengths") or ([known.get("samples")] if known.get("trials", 1) == 1 else [])
    points = max(map(len, network.preview.values()), default=0)
    if not points or not lengths or not isinstance(lengths[0], int):
        return None
    old = points == OLD_POINTS < lengths[0]
    covered, dt = (points - 1) * (lengths[0] // points) if old else lengths[0] - 1, known.get("dt", 1)
    if dt in (None, 1):
        return [covered, "samples"]
    return [plain(covered * dt, DIGITS), f"units of time, dt = {dt:g}"]


def _criterion(table: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """Return ``{dims, delays, best, values, error}``; None where dimension and delay were not chosen.

    ``error`` says whether a low value is good: of an unknown method, whether the choice is nearer to the lowest.
    """
    if not isinstance(table, Mapping) or not {"dims", "delays", "best", "values"} <= set(table):
        return None
    shown, values = {key: table[key] for key in ("dims", "delays", "best")}, np.array(table["values"], float)
    chosen = values[table["dims"].index(table["best"][0]), table["delays"].index(table["best"][1])]
    error = bool(2 * chosen <= np.nanmin(values) + np.nanmax(values))
    error = ERRORS.get(table.get("method", ""), error)
    return shown | {"values": plain(table["values"], DIGITS), "error": error}
