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
from dataclasses import replace
from functools import partial
from string import Template
from typing import Any

import numpy as np

from enmesh.draw import answer, arrows, cautions
from enmesh.draw.curves import raster
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange, arrange_at
from enmesh.draw.places import Places, places_of
from enmesh.draw.plot import block_order, ends_in
from enmesh.draw.report import cite, more, words
from enmesh.draw.report.more import asset, embed, figure, filled, table, text
from enmesh.draw.shapes import POINTS, THIN, Edge, extremes
from enmesh.draw.subject import LEVEL, UNTESTED, Candidate, Network, all_tests
from enmesh.draw.tags import tag_size
from enmesh.errors import first_few, refuse_if
from enmesh.late import lazy_import
from enmesh.options import plain

PICTURE = ("base.js", "panel.js", "ways.js", "graph.js", "view.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "timegraph.js", "charts.js", "outlook.js", "copy.js", "paper.js", "start.js")
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
MOST_ON_CIRCLE = 60  # nodes up to which the page has a circle to choose
OLD_POINTS = 400  # of the previews that version 0.2 wrote: every so many-th sample, which leaves out the end
DIGITS = 5  # of places and shapes
ERRORS = {"Ragwitz": True, "ActiveStorage": False, "Cao": False}  # whether a low value is good
EVIDENCE = (
    "given", "low", "high", "scatter", "curve", "lags", "lag_te", "chance", "times", "local", "sentence",
    "effect_error",
)  # fmt: skip
NUMBER_DIGITS = 9  # of values that are shown, so that rounding them again for show does no harm
MOST_PAIRS = 10_000  # on a page: of a hundred nodes all, filtered within a tenth of a second
TOLD_IF = re.compile(r'<li data-if="(\w+)">(.*\n)')
SECTION = re.compile(r'<section id="([\w-]+)"(?: data-short="([^"]+)")?[^>]*>\s*<h2>(.*?)</h2>')
# What a browser may run and show: nothing but the scripts and style sheets of the page itself, by their hashes.
POLICY = (
    "default-src 'none'; script-src {script}; style-src {style}; style-src-attr 'unsafe-inline'; img-src data: blob:"
)
PARTS = {"script": re.compile("<script>(.*?)</script>", re.S), "style": re.compile("<style[^>]*>(.*?)</style>", re.S)}


def html_of(result: Any, *, title: str, notes: str, **where: Any) -> str:
    """Return the page of a network, of several by their names, or of another result.

    ``where`` are positions, projection and background of `places.places_of`, for a network alone.
    """
    own: dict[str, Any] = {"title": title, "notes": notes}
    if given := [name for name, value in where.items() if value]:
        refuse_if(
            type(result).__name__ != "Network",
            f"{', '.join(given)}: leave them out: only the page of one network has places",
        )
        positions, how, behind = (where.get(name) for name in ("positions", "projection", "background"))
        return page(result, places=places_of(result.names, positions, projection=how or "", background=behind), **own)
    match type(result).__name__:
        case "Comparison":
            return sealed(more.comparison_page(result, **own))
        case "Group":
            return page(result.network, more.group_section(result), **own)
        case "Stability":
            return sealed(more.stability_page(result, **own))
        case "Regimes":
            networks, sections, said = more.regimes_parts(result)
            return several(networks, sections, title=f"{title}: {said}" if title else said, notes=notes)
        case "Windows":
            first, own["said"], own["script"] = more.player(result), more.window_headline(result), asset("windows.js")
            warned = [said for said in result.network.warnings if "parts of the record" not in said]
            return page(
                replace(result.network, warnings=tuple(warned)), more.windows_section(result), first=first, **own
            )
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


def page(
    network: Network, sections: str = "", *, title: str = "", notes: str = "", script: str = "", first: str = "",
    said: str = "", places: Places | None = None,
) -> str:  # fmt: skip
    """Return the page as HTML; the same network gives the same text.

    ``sections`` are further ones (`report.more`), ``script`` what they need; ``title`` stands over the finding, and
    ``notes`` (paragraphs between blank lines) and ``first`` before all else; ``said`` takes the place of the headline.
    The nodes stand at ``places``, where they are given.
    """
    network, outlook = network.with_evidence(), lazy_import("outlook")(network)
    facts = words.facts(network)
    sentences = TOLD_IF.sub(lambda item: f"<li>{item[2]}" if item[1] in facts else "", asset("body.html"))
    further = _events(network) + more.pairs_within(network) + more.hidden_section(network) + sections
    body = Template(sentences).substitute(
        _parts(network), notes=more.own_notes(notes), first=first, more=further,
        outlook=asset("outlook.html") if outlook else "",
    )  # fmt: skip
    name = title or words.recording(network)
    headline = said or words.headline(network)
    return sealed(filled(
        "page.html", title=text(": ".join(filter(None, [name, headline]))), recording=_recorded(network, title),
        contents="".join(f'<a href="#{at}">{brief or heading}</a>' for at, brief, heading in SECTION.findall(body)),
        headline=text(headline), body=body, style=asset("page.css"),
        script="\n".join([*map(asset, SCRIPTS[:-1]), script, asset(SCRIPTS[-1])]),
        data=embed(contents(network, places=places) | {"outlook": outlook}),
    ))  # fmt: skip


def _parts(network: Network) -> dict[str, Any]:
    """Return what stands in the body of the page."""
    known, dt = network.provenance, network.provenance.get("dt")
    every = known.get("every") or (f"{dt:g}" if dt not in (None, 1) else "")
    chosen = [(what, *map(words.fewer_digits, reason)) for what, *reason in network.choices]
    origin = {key: known[key] for key in KNOWN if key in known} | known
    steps = cautions.planned(network)
    return {
        "warnings": _plan(network, steps),
        "network": _network_section(network),
        "answer": answer_section(network, steps),
        "level": LEVEL,
        "one_in": round(1 / LEVEL),
        "whole": " of the first trial" if (known.get("trials") or 1) > 1 else " recording",
        "step": text(f"(a sample every {every})" if every else "in samples"),
        "past": text(words.past(network)),
        "standing": text(words.standing(network)),
        "choices": table(("Choice", "Value", "Reason"), chosen) if chosen else ALL_GIVEN,
        "paragraph": text(words.paragraph(network)),
        "works": more.items(words.references(network)),
        "caption": text(words.caption(network)),
        "provenance": _terms((KNOWN.get(key, key), value) for key, value in origin.items()),
        "options": text(json.dumps(network.options, indent=2, ensure_ascii=False, default=str)),
    }


def answer_section(network: Network, steps: list[cautions.Step]) -> str:
    """Return the answer beside the network: in words, how sure, what to do; and all links as a list to listen to."""
    sure, found = answer.surety(network), bool(len(network) or network.removed)
    told = f"About 1 in {round(1 / LEVEL)} solid links is expected to be false." if sure.solid else ""
    caution = ""
    if steps:
        count = f"{len(steps)} caution{'s' * (len(steps) > 1)}"
        kinds = text(first_few(list(dict.fromkeys(step.kind for step in steps)), 4))
        caution = f'<p class="caution"><a href="#warnings">{count}</a>: {kinds}.</p>'
    return more.answer_block(
        answer.sentences(network), str(sure) * found, (told, *answer.certainty(network)) * found,
        *answer.following(network), caution=caution, heard=answer.heard(network),
    )  # fmt: skip


def _plan(network: Network, steps: list[cautions.Step]) -> str:
    """Return the cautions in the order in which to act on them; nothing where there are none."""
    items = []
    for at, step in enumerate(steps):
        advice = f"<b>{'Do this first: ' if at == 0 else ''}{text(step.advice)}</b> " if step.advice else ""
        gone = ""
        if step.removes is not None:
            left = len(steps) - step.removes
            known = "if those on the network do not change"
            gone = f"<p>Cautions now: {len(steps)}. With this command: {left}, {known}.</p>"
        items.append(f"<li>{advice}{text(step.reason.replace('->', '→'))}{more.copied(step.command)}{gone}</li>")
    title = f"{len(steps)} cautions" if len(steps) > 1 else "One caution"
    return f'<section id="warnings" class="note"><h2>{title}</h2><ol>{"".join(items)}</ol></section>' if items else ""


def several(networks: Mapping[str, Network], sections: str = "", *, title: str = "", notes: str = "") -> str:
    """Return one page of several networks: side by side, every link in all of them, and the whole page of each.

    ``sections`` come after the networks.
    """
    import pandas as pd

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
    order = sorted(often, key=lambda edge: (-often[edge], edge))
    rows = [[names[i], names[j], *(own.get((i, j), math.nan) for own in te.values())] for i, j in order]
    pages = {name: page(network, title=name) for name, network in shown.items()}
    frames = "".join(
        f'<details class="whole"><summary>{text(name)}: {text(words.headline(network))}</summary>'
        f'<iframe title="{text(name)}" loading="lazy" sandbox="allow-scripts allow-downloads allow-modals" '
        f'srcdoc="{text(pages[name])}"></iframe></details>'
        for name, network in shown.items()
    )
    html = more.small_page(
        "several.html", "who drives whom", title or f"{len(networks)} networks of {len(names)} nodes",
        pd.DataFrame(rows, columns=["source", "target", *networks]), "", notes, sections=sections, frames=frames,
        sides=more.side_by_side(names, looks), answer=_answer_of_several(shown),
        table=table(("link", *networks), [[f"{source} → {target}", *values] for source, target, *values in rows]),
    )  # fmt: skip
    return sealed(html, pages.values())


def _answer_of_several(networks: Mapping[str, Network]) -> str:
    """Return which links all networks have and which only some, and how sure those of each are."""
    links = Counter(link for network in networks.values() for link in network)
    count = len(networks)
    said = [
        f"In {'all' if all_ else 'some'} networks: {first_few([f'{s} → {t}' for s, t in found], 4)}."
        for all_ in (True, False)
        if (found := [link for link, times in links.most_common() if (times == count) == all_])
    ]
    sure = [f"{name}: {answer.surety(network)}" for name, network in list(networks.items())[:4]]
    more_ = f"; and {count - 4} more" if count > 4 else ""
    power = [f"{name}: {told}" for name, network in list(networks.items())[:2] if (told := answer.reach(network))]
    advice = "Open a network below for its evidence, cautions and next step."
    return more.answer_block(said or ["No network has a link."], "; ".join(sure) + more_, power, advice)


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    return sealed(filled(
        "inline.html", title=text(words.headline(network)), network=_network_section(network), style=asset("page.css"),
        script="\n".join(map(asset, PICTURE)), data=embed(contents(network, whole=False)),
    ))  # fmt: skip


def _network_section(network: Network) -> str:
    html = asset("network.html").replace("lag in samples", f"lag in {arrows.lag_unit(network)}")
    return html.replace("(nats)", f"({answer.unit(network)})")


def _recorded(network: Network, title: str) -> str:
    """Return the line over the headline: a title of one's own, the recording, its size and the date."""
    known, nodes = network.provenance, len(network.names)
    parts = [text(part) for part in (title, words.recording(network)) if part]
    parts = [f"<b>{part}</b>" for part in parts[:1]] + parts[1:]
    sizes = [f"{nodes} node{'s' * (nodes != 1)}"]
    for key in ("samples", "events", "trials"):
        count = known.get(key)
        if isinstance(count, int) and count > 1:
            step = f" every {known['every']}" if key == "samples" and known.get("every") else ""
            sizes.append(f"{count:,} {key}{step}")
    parts.append(text(", ".join(sizes)))
    parts += [text(known[key]) for key in ("date", "time") if known.get(key)][:1]
    return f'<p class="recording">{" · ".join(parts)}</p>'


def _events(network: Network) -> str:
    """Return the section with the raster; nothing where the data are samples."""
    known = network.provenance
    if not known.get("shown") or "events" not in known:
        return ""
    (start, stop), names = map(float, known["shown"]), network.names[:MOST_ROWS]
    whole = float(known.get("duration", stop))
    everything = stop - start >= 0.999 * whole
    part = f"all {whole:.4g} units" if everything else f"the first {stop - start:.3g} of {whole:.4g} units"
    times = [network.preview.get(name, ()) for name in names]
    more = f" The first {MOST_ROWS} nodes." if len(network.names) > MOST_ROWS else ""
    return (
        '<section id="raster"><h2>Events</h2><p class="quiet">Each mark is an event, over time: '
        f"{part} of the recording.{more}</p>"
        f'<div class="scroll">{figure(partial(raster, names, times, start, stop))}</div></section>'
    )


def _terms(rows: Iterable[tuple[str, Any]]) -> str:
    shown = ((name, ", ".join(map(str, v)) if isinstance(v, (list, tuple)) else v) for name, v in rows)
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(v)}</dd></div>" for name, v in shown if v not in (None, ""))


def contents(network: Network, *, whole: bool = True, places: Places | None = None) -> dict[str, Any]:
    """Return the page's data as plain lists and numbers, or what the network alone is drawn from.

    ``links`` has a row per tested pair or edge: source, target, te, p, q, lags, 1 for an edge, histogram of surrogate
    values ``[low, high, counts]``, effect, strongest lag, and where a bootstrap was made, stability. The network alone
    has rows of edges, without histograms.
    """
    network = network.with_evidence()
    edges, shares, known = arrows.links_of(network), arrows.shares_of(network), network.provenance
    place = {name: i for i, name in enumerate(network.names)}
    tests = {(place[c.source], place[c.target]): c for c in network.candidates if whole}
    tested = all_tests(network)[len(network.candidates) :] if whole else []
    further = sorted(tested, key=lambda test: test.p_value)[: max(0, MOST_PAIRS - len(tests))]
    in_use = {lag for test in (*edges.values(), *tests.values(), *further) for lag in arrows.lags_of(test)}
    evidence = {}  # what stands behind each link; numbers that ``links`` has are left out
    for about in network.evidence.values():
        bars = histogram(about["null"]) if about.get("by_formula") else None
        ends = f"{place[about['source']]} {place[about['target']]}"
        evidence[ends] = {key: about.get(key) for key in EVIDENCE} | {"null": bars}
    signs, usual = arrows.signs_of(network), arrows.usual_lags(edges)
    tags, rows = arrows.tags_of(edges, signs), sorted((edges | tests).items())
    drawn = {tall: arrange(network.names, edges, tall=tall, words=tags) for tall in (False, True)}
    layouts = {"from left": drawn[False], "from above": drawn[True]}
    if 2 < len(network.names) <= MOST_ON_CIRCLE:
        layouts["circle"] = arrange(network.names, edges, circle=True, words=tags)
    if places is not None:
        layouts["places"] = arrange_at(network.names, edges, places, words=tags)
    data = {
        "names": list(network.names),
        "labels": list(short(network.names, 24)),
        "level": LEVEL,
        "recording": words.recording(network),
        "layouts": [_layout(drawing) | {"name": name} for name, drawing in layouts.items()],
        "widths": [THIN, plain(arrows.thickest(len(edges), bool(drawn[False].turns.any())), DIGITS)],
        "signs": {f"{i} {j}": sign for (i, j), sign in sorted(signs.items()) if sign},
        "halos": len(edges) <= arrows.MOST_HALOS and bool(arrows.spans_of(network)),
        "usual": arrows.lag_text(usual) if usual and (arrows.tags_of(edges) or usual != (1,)) else "",
        "later": {f"{lag:g}": answer.later(network, lag) for lag in sorted(in_use)},
        "loops": _in_loops(network, edges),
        "removed": _removed(network, tests),
        "badges": _badges(network),
        **({"background": _backdrop(layouts["places"], places)} if places and places.picture else {}),
        "tags": [[*edge, tag, *plain(tag_size(tag), DIGITS)] for edge, tag in sorted(tags.items())],
        "palest": arrows.PALEST,
        "dt": known.get("dt") or 1,
        **({"units": [answer.unit(network), arrows.lag_unit(network)]} if "events" in known else {}),
        "evidence": evidence,
        "links": [_link(pair, test, pair in edges, shares, whole) for pair, test in rows],
        "pairs": [_numbers(place, test) for test in further],
        "beyond": len(tested) - len(further),
    }
    if whole:
        preview = {} if "shown" in known else network.preview
        data["order"] = block_order(network)[0]
        data["bib"] = cite.bibtex(words.references(network))
        data["preview"] = [plain(extremes(preview.get(name, ()), POINTS), DIGITS) for name in network.names]
        data["span"] = _span(network) if preview else None
        data["criteria"] = [_criterion(network.criteria.get(name)) for name in network.names]
    return data


def _backdrop(drawing: Layout, places: Places) -> dict[str, Any]:
    """Return the picture behind the nodes and where it is, with y downward."""
    left, right, bottom, top = ends_in(drawing, places)
    where = {"x": left, "y": -top, "width": right - left, "height": top - bottom}
    return {"address": places.address} | {name: plain(value, DIGITS) for name, value in where.items()}


def _numbers(place: Mapping[str, int], test: Candidate) -> list[Any]:
    """Return one row of ``pairs``, of which nothing but the numbers is known: source, target, te, p, q, lag."""
    numbers = plain((test.te, test.p_value, test.q_value), NUMBER_DIGITS)
    return [place[test.source], place[test.target], *numbers, arrows.lags_of(test)[0]]


def _in_loops(network: Network, edges: Iterable[Edge]) -> list[str]:
    """Return the links that are part of a loop."""
    group = {name: at for at, part in enumerate(answer.loops(network)) for name in part}
    names = network.names
    return [f"{i} {j}" for i, j in sorted(edges) if names[i] in group and group[names[i]] == group.get(names[j])]


def _removed(network: Network, tests: Mapping[Edge, Candidate]) -> list[list[Any]]:
    """Return the links that were left out to avoid feedback: ends, transfer entropy, p, q and lags."""
    place = {name: i for i, name in enumerate(network.names)}
    found = []
    for source, target in network.removed:
        if source in place and target in place:
            test = tests.get((place[source], place[target]), UNTESTED)
            numbers = plain((test.te, test.p_value, test.q_value), NUMBER_DIGITS)
            found.append([place[source], place[target], *numbers, list(arrows.lags_of(test))])
    return found


def _badges(network: Network) -> dict[str, list[str]]:
    """Return the cautions that name each node."""
    found: dict[str, list[str]] = {}
    for step in cautions.plan(network):
        for node in step.nodes:
            found.setdefault(str(network.names.index(node)), []).append(step.advice or step.message)
    return found


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
    lags = [] if test is UNTESTED else list(arrows.lags_of(test))
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
