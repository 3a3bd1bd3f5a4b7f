"""The parts of the page that are text: each function returns HTML in which every given word is escaped."""

import json
from collections.abc import Iterable
from html import escape

from enmesh.draw.report import words
from enmesh.draw.report.methods import paragraph, references


def text(value) -> str:
    """Return a value as text that HTML cannot read as markup."""
    return escape(str(value))


def facts(network) -> str:
    """Return the handful of numbers under the headline."""
    known = network.provenance
    rows = [("nodes", len(network.names))]
    rows += [(key, f"{known[key]:,}") for key in ("samples", "trials") if isinstance(known.get(key), int)]
    rows += [("links with q ≤ 0.05", words.sure_links(network))] if network.candidates else []
    score = network.options.get("score") or {}
    kinds = (score.get("type"), (score.get("estimator") or {}).get("type"))
    rows += [("score, estimator", " · ".join(filter(None, kinds)))] if any(kinds) else []
    rows += [("families scored", f"{network.evaluated:,}")] if network.evaluated else []
    return "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in rows)


def warnings(network) -> str:
    """Return the hazards as a list; nothing when there were none."""
    if not network.warnings:
        return ""
    title = "Read this first" if len(network.warnings) > 1 else "One caution"
    return f'<section id="warnings" class="note"><h2>{title}</h2>{_list(network.warnings)}</section>'


def meaning(network) -> str:
    """Return what an arrow means and what it does not."""
    yes, no = _list(words.MEANS), _list(words.notes(network))
    return f"<div><h3>An arrow means</h3>{yes}</div><div><h3>It does not mean</h3>{no}</div>"


def choices(network) -> str:
    """Return what was chosen for the user, and why."""
    if not network.choices:
        return "<p>Every option was given; nothing was chosen automatically.</p>"
    head = "<tr><th scope=col>Choice</th><th scope=col>Value</th><th scope=col>Reason</th></tr>"
    rows = "".join(
        f"<tr><th scope=row>{text(what)}</th><td>{text(value)}</td><td>{text(why)}</td></tr>"
        for what, value, why in network.choices
    )
    return (
        f'<div class="scroll"><table class="plain"><thead>{head}</thead><tbody>{rows}</tbody></table></div>'
    )


def methods(network) -> str:
    """Return the paragraph for a paper, and its references."""
    cited = "".join(f"<li>{text(work)}</li>" for work in references(network))
    return f'<p id="paragraph">{text(paragraph(network))}</p><ol class="works">{cited}</ol>'


def provenance(network) -> str:
    """Return where the result comes from, and all options as they were."""
    rows = "".join(
        f"<div><dt>{text(k)}</dt><dd>{text(_flat(v))}</dd></div>" for k, v in network.provenance.items()
    )
    options = text(json.dumps(network.options, indent=2, ensure_ascii=False, default=str))
    return f"<dl class=rows>{rows}</dl><details><summary>All options</summary><pre>{options}</pre></details>"


def _list(items: Iterable[str]) -> str:
    return "<ul>" + "".join(f"<li>{text(item)}</li>" for item in items) + "</ul>"


def _flat(value):
    return ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
