"""The page to share: one HTML file with everything in it, which opens offline and loads nothing.

Sentences and tables are written here and stand in the file as text. Pictures are drawn in the browser from
the data block, by a few hundred lines of plain JavaScript without a library, so that the page stays small:
about 60 kB for five nodes. A content security policy forbids it to fetch anything.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from string import Template
from typing import Any

from enmesh.draw.arrows import lag_unit
from enmesh.draw.curves import raster
from enmesh.draw.report import words
from enmesh.draw.report.contents import contents, embed, picture_contents
from enmesh.draw.report.methods import paragraph, references
from enmesh.draw.report.more import PLAIN, asset, figure, side_by_side, table, text
from enmesh.draw.subject import LEVEL, Network
from enmesh.errors import InputError

PICTURE = ("base.js", "panel.js", "graph.js", "export.js")
SCRIPTS = (*PICTURE, "table.js", "timegraph.js", "charts.js")
# How the page calls what a result knows of its origin; other keys are shown as they are.
KNOWN = {
    "file": "file", "date": "date", "command": "command", "data": "digest of the data", "nodes": "nodes",
    "trials": "trials", "samples": "samples", "events": "events", "duration": "observed time",
    "shown": "raster from, to", "dt": "sampling step (dt)", "enmesh": "enmesh version", "python": "Python version",
    "numpy": "NumPy version",
}  # fmt: skip
MOST_ROWS = 60  # of a raster
SECTION = re.compile(r'<section id="(\w+)"[^>]*>\s*<h2>(.*?)</h2>')


def save(html: str, path: str | Path) -> Path:
    """Write a page and return its path."""
    path = Path(path)
    if not path.parent.is_dir():
        raise InputError(f"there is no folder {path.parent} to write {path.name} in; make it first")
    try:
        path.write_text(html, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from None
    return path


def page(network: Network, more: str = "", *, title: str = "", notes: str = "", script: str = "") -> str:
    """Return the page as HTML; the same network gives the same text.

    ``more`` are further sections (`report.more`), ``script`` what they need; ``title`` stands over the finding, and
    ``notes`` (paragraphs between blank lines) before all else.
    """
    body = Template(asset("body.html")).substitute(
        notes=_own_notes(notes),
        warnings=_warnings(network),
        network=_network_section(network),
        more=_events(network) + more,
        means=_items(words.meanings(network)),
        means_not=_items(words.notes(network)),
        recordings=_recordings(network),
        past=text(words.past(network)),
        choices=_choices(network),
        paragraph=text(paragraph(network)),
        works=_items(references(network)),
        provenance=_provenance(network),
        options=text(json.dumps(network.options, indent=2, ensure_ascii=False, default=str)),
    )
    name = title or words.recording(network)
    return Template(asset("page.html")).substitute(
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


def several(networks: Mapping[str, Network], *, title: str = "", notes: str = "") -> str:
    """Return one page of several networks: side by side, every link in all of them, and the whole page of each."""
    shown = {name: network.with_evidence() for name, network in networks.items()}
    names = list(dict.fromkeys(name for network in shown.values() for name in network.names))
    place = {name: i for i, name in enumerate(names)}
    te = {
        name: {(place[row.source], place[row.target]): float(row.te) for row in network.edges.itertuples()}
        for name, network in shown.items()
    }
    top = max((value for own in te.values() for value in own.values() if value > 0), default=1.0)
    looks = {
        name: {edge: (0.0 if math.isnan(value) else value / top, PLAIN) for edge, value in own.items()}
        for name, own in te.items()
    }
    often = Counter(edge for own in te.values() for edge in own)
    edges = sorted(often, key=lambda edge: (-often[edge], edge))
    values = {edge: [own.get(edge, math.nan) for own in te.values()] for edge in edges}
    rows = [[f"{names[i]} → {names[j]}", *values[i, j]] for i, j in edges]
    frames = "".join(
        f'<details class="whole"><summary>{text(name)}: {text(words.headline(network))}</summary>'
        f'<iframe title="{text(name)}" loading="lazy" sandbox="allow-scripts allow-downloads allow-modals" '
        f'srcdoc="{text(page(network, title=name))}"></iframe></details>'
        for name, network in shown.items()
    )
    return Template(asset("several.html")).substitute(
        title=text(title or "Networks"),
        headline=text(title or f"{len(networks)} networks of {len(names)} nodes"),
        notes=_own_notes(notes),
        sides=side_by_side(names, looks),
        table=table(("link", *networks), rows),
        frames=frames,
        style=asset("page.css"),
    )


def inline(network: Network) -> str:
    """Return the interactive network alone as HTML, for a frame in a notebook."""
    return Template(asset("inline.html")).substitute(
        title=text(words.headline(network)),
        network=_network_section(network),
        style=asset("page.css"),
        script="\n".join(asset(name) for name in PICTURE),
        data=embed(picture_contents(network)),
    )


def _network_section(network: Network) -> str:
    return asset("network.html").replace("lag in samples", f"lag in {lag_unit(network)}")


def _recorded(network: Network, title: str = "") -> str:
    """Return the line over the headline: a title of one's own, the recording and the date; the first is bold."""
    known = network.provenance
    parts = [text(part) for part in (title, words.recording(network)) if part]
    parts = [f"<b>{part}</b>" for part in parts[:1]] + parts[1:]
    parts += [text(known[key]) for key in ("date", "time") if known.get(key)][:1]
    return f'<p class="recording">{" · ".join(parts)}</p>' if parts else ""


def _recordings(network: Network) -> str:
    """Return how to read the small pictures of the recordings."""
    dt, trials = network.provenance.get("dt"), network.provenance.get("trials", 1)
    first = " of the first trial" if isinstance(trials, int) and trials > 1 else ""
    every = network.provenance.get("every") or (f"{dt:g}" if dt not in (None, 1) else "")
    unit = f"(a sample every {every})" if every else "in samples"
    return text(
        f"The whole{first or ' recording'} of each node, each on its own scale, over time {unit}; below it its range. "
        "Of many samples the smallest and the largest of each piece are drawn. Gaps are missing values."
    )


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
    kinds = dict.fromkeys(_kinds(network.options.get("score")))
    rows = [
        ("nodes", len(network.names)),
        *((key, f"{count:,}") for key, count in counts.items() if isinstance(count, int) and count > 1),
        *[(f"links with q ≤ {LEVEL}", words.sure_links(network))] * bool(network.candidates),
        *[("score, estimator", " · ".join(kinds))] * bool(kinds),
        *[("families scored", f"{network.evaluated:,}")] * bool(network.evaluated),
    ]
    return _terms(rows)


def _kinds(score: Any) -> Iterable[str]:
    """Yield the types of a score and its estimator; of one per target those of all of them."""
    if isinstance(score, dict) and score.get("groups"):
        for _, one in score["groups"]:
            yield from _kinds(one)
    elif isinstance(score, dict):
        yield from filter(None, (score.get("type"), (score.get("estimator") or {}).get("type")))


def _own_notes(notes: str) -> str:
    """Return the author's notes as a section, a paragraph for each part between blank lines; nothing without any."""
    paragraphs = "".join(f"<p>{text(part.strip())}</p>" for part in notes.split("\n\n") if part.strip())
    return f'<section id="notes"><h2>Notes</h2>{paragraphs}</section>' if paragraphs else ""


def _warnings(network: Network) -> str:
    """Return the hazards as a list; nothing when there were none."""
    if not network.warnings:
        return ""
    title = "Read this first" if len(network.warnings) > 1 else "One caution"
    items = _items(message.replace("->", "→") for message in network.warnings)
    return f'<section id="warnings" class="note"><h2>{title}</h2><ul>{items}</ul></section>'


def _choices(network: Network) -> str:
    """Return what was chosen for the user, and why."""
    if not network.choices:
        return "<p>Every option was given; nothing was chosen automatically.</p>"
    rows = [(what, *map(words.fewer_digits, reason)) for what, *reason in network.choices]
    return table(("Choice", "Value", "Reason"), rows)


def _provenance(network: Network) -> str:
    """Return where the result comes from."""
    first = {key: network.provenance[key] for key in KNOWN if key in network.provenance}
    known = {**first, **network.provenance}.items()
    flat = {key: ", ".join(map(str, v)) if isinstance(v, (list, tuple)) else v for key, v in known}
    return _terms((KNOWN.get(key, key), value) for key, value in flat.items())


def _terms(rows: Iterable[tuple[str, Any]]) -> str:
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)


def _items(items: Iterable[str]) -> str:
    return "".join(f"<li>{text(item)}</li>" for item in items)
