"""The parts of the page that are text: each function returns HTML in which every given word is escaped."""

import json
from collections.abc import Iterable
from html import escape
from typing import Any

from enmesh.draw.report import words
from enmesh.draw.report.methods import paragraph, references
from enmesh.draw.subject import Network

# How the page calls what a result knows of its origin; other keys are shown as they are.
KNOWN = {
    "file": "file",
    "date": "date",
    "command": "command",
    "data": "digest of the data",
    "nodes": "nodes",
    "trials": "trials",
    "samples": "samples",
    "events": "events",
    "duration": "observed time",
    "shown": "raster from, to",
    "dt": "sampling step (dt)",
    "enmesh": "enmesh version",
    "python": "Python version",
    "numpy": "NumPy version",
}


def text(value: Any) -> str:
    """Return a value as text that HTML cannot read as markup."""
    return escape(str(value))


def recorded(network: Network, title: str = "") -> str:
    """Return the line over the headline: a title of one's own, the recording and the date."""
    known = network.provenance
    own = [f"<b>{text(title)}</b>"] if title else []
    name, date = words.recording(network), known.get("date") or known.get("time")
    parts = [*own, text(name) if own else f"<b>{text(name)}</b>"] if name else own
    parts += [text(date)] if date else []
    return f'<p class="recording">{" · ".join(parts)}</p>' if parts else ""


def recordings(network: Network) -> str:
    """Return how to read the small pictures of the recordings."""
    dt, trials = network.provenance.get("dt"), network.provenance.get("trials", 1)
    first = " of the first trial" if isinstance(trials, int) and trials > 1 else ""
    every = network.provenance.get("every") or (f"{dt:g}" if dt not in (None, 1) else "")
    unit = f"(a sample every {every})" if every else "in samples"
    return text(
        f"The whole{first or ' recording'} of each node, each on its own scale, over time {unit}; below it its range. "
        "Of many samples the smallest and the largest of each piece are drawn. Gaps are missing values."
    )


def facts(network: Network) -> str:
    """Return the handful of numbers under the headline."""
    known = network.provenance
    rows: list[tuple[str, Any]] = [("nodes", len(network.names))]
    rows += [(key, f"{known[key]:,}") for key in ("samples", "events", "trials") if _several(known.get(key))]
    rows += [("links with q ≤ 0.05", words.sure_links(network))] if network.candidates else []
    kinds = list(dict.fromkeys(_kinds(network.options.get("score"))))
    rows += [("score, estimator", " · ".join(kinds))] if kinds else []
    rows += [("families scored", f"{network.evaluated:,}")] if network.evaluated else []
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)


def _several(count: Any) -> bool:
    return isinstance(count, int) and count > 1


def _kinds(score: Any) -> Iterable[str]:
    """Yield the types of a score and its estimator; of one per target those of all of them."""
    if isinstance(score, dict) and score.get("groups"):
        for _, one in score["groups"]:
            yield from _kinds(one)
    elif isinstance(score, dict):
        yield from filter(None, (score.get("type"), (score.get("estimator") or {}).get("type")))


def own_notes(notes: str) -> str:
    """Return the author's notes as a section, a paragraph for each part between blank lines; nothing without any."""
    parts = [part.strip() for part in notes.split("\n\n") if part.strip()]
    said = "".join(f"<p>{text(part)}</p>" for part in parts)
    return f'<section id="notes"><h2>Notes</h2>{said}</section>' if said else ""


def warnings(network: Network) -> str:
    """Return the hazards as a list; nothing when there were none."""
    if not network.warnings:
        return ""
    title = "Read this first" if len(network.warnings) > 1 else "One caution"
    said = _list([message.replace("->", "→") for message in network.warnings])
    return f'<section id="warnings" class="note"><h2>{title}</h2>{said}</section>'


def meaning(network: Network) -> str:
    """Return what an arrow means and what it does not."""
    yes, no = _list(words.meanings(network)), _list(words.notes(network))
    return f"<div><h3>An arrow means</h3>{yes}</div><div><h3>It does not mean</h3>{no}</div>"


def choices(network: Network) -> str:
    """Return what was chosen for the user, and why."""
    if not network.choices:
        return "<p>Every option was given; nothing was chosen automatically.</p>"
    head = "<tr><th scope=col>Choice</th><th scope=col>Value</th><th scope=col>Reason</th></tr>"
    rows = "".join(
        f"<tr><th scope=row>{text(what)}</th><td>{text(words.fewer_digits(value))}</td>"
        f"<td>{text(words.fewer_digits(why))}</td></tr>"
        for what, value, why in network.choices
    )
    return (
        f'<div class="scroll"><table class="plain"><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    )


def methods(network: Network) -> str:
    """Return the paragraph for a paper, and its references."""
    cited = "".join(f"<li>{text(work)}</li>" for work in references(network))
    return f'<p id="paragraph">{text(paragraph(network))}</p><ol class="works">{cited}</ol>'


def provenance(network: Network) -> str:
    """Return where the result comes from, and all options as they were."""
    known = network.provenance
    keys = [*(key for key in KNOWN if key in known), *(key for key in known if key not in KNOWN)]
    rows = "".join(
        f"<div><dt>{text(KNOWN.get(key, key))}</dt><dd>{text(_flat(known[key]))}</dd></div>" for key in keys
    )
    options = text(json.dumps(network.options, indent=2, ensure_ascii=False, default=str))
    return f"<dl class=rows>{rows}</dl><details><summary>All options</summary><pre>{options}</pre></details>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def _flat(value: Any) -> Any:
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
