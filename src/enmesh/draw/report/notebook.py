"""What a notebook shows of results: an interactive network, small pictures and tables, in its own colours."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from enmesh.draw import answer, cautions
from enmesh.draw.report import more
from enmesh.draw.report.more import Markup, asset, figure, table, text
from enmesh.draw.report.page import inline
from enmesh.draw.report.words import headline, links
from enmesh.draw.shapes import edges_of, extremes
from enmesh.draw.subject import LEVEL, Network, Result, Series

MOST_ROWS = 12
POINTS = 320
LOWEST, TALLEST = 440, 700  # pixels of the frame


def face(title: str, *parts: str) -> str:
    """Return a result for a notebook: a sentence in bold, then its parts."""
    style = f"<style>{asset('notebook.css')}</style>"
    return f'<div class="enmesh">{style}<p><b>{text(title)}</b></p>{"".join(parts)}</div>'


def network_html(network: Network) -> str:
    """Return the finding, the network as a picture in a frame that loads nothing, and the strongest links."""
    network = network.with_evidence()
    shown = links(network)
    height = min(LOWEST + 6 * len(network.names), TALLEST)
    frame = (
        '<iframe title="network" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="width:100%;height:{height}px;border:0" srcdoc="{text(inline(network))}"></iframe>'
    )
    listed = _table(list(shown), shown.head(MOST_ROWS).to_numpy(object).tolist(), len(shown), "links")
    sure = text(" ".join([f"How sure: {answer.surety(network)}.", *answer.certainty(network)]))
    said = "".join(f"<li>{text(one)}</li>" for one in answer.sentences(network))
    steps = [f"<li>{text(step.advice or step.message)}</li>" for step in cautions.plan(network)]
    plan = f"<p>Cautions, in the order to act on:</p><ol>{''.join(steps)}</ol>" if steps else ""
    return face(headline(network), f"<ul>{said}</ul><p>{sure}</p>", frame, listed, plan)


def series_html(series: Series) -> str:
    """Return one line per node: name, range and a picture of its first trial."""
    first, pooled = series.trials[0], series.values
    head = ("node", "lowest", "highest", f"first trial, time 0 to {(len(first) - 1) * series.dt:g}")
    rows = [
        [name, float(np.nanmin(pooled[:, i])), float(np.nanmax(pooled[:, i])), Markup(_spark(first[:, i]))]
        for i, name in enumerate(series.names[:MOST_ROWS])
    ]
    trials = f"{len(series.trials)} trial{'s' * (len(series.trials) > 1)}"
    size = f"{series.n_nodes} nodes, {trials}, {sum(series.lengths)} samples, dt = {series.dt:g}"
    return face(f"Series: {size}", _table(head, rows, series.n_nodes, "nodes"))


def te_matrix(found: Result) -> str:
    """Return the heat map of a matrix of transfer entropies and its strongest pairs."""
    names = list(found.te.columns)
    te, p, q = (part.to_numpy(float) for part in (found.te, found.p_value, found.q_value))
    pairs = sorted(edges_of(np.isfinite(te)), key=lambda pair: (-te[pair], pair))
    rows = [[f"{names[i]} → {names[j]}", te[i, j], p[i, j], q[i, j]] for i, j in pairs[:MOST_ROWS]]
    top = float(np.nanmax(te, initial=0.0)) or 1.0
    picture = more.heat_map(found.te, q, "{:.4g} nats".format, top=top)
    asked = f" ({found.asked})" if found.asked else ""
    title = f"Transfer entropy of {len(pairs)} pairs{asked}, row drives column, up to {top:.3g} nats"
    return face(f"{title}; dot: q ≤ {LEVEL}", picture, table(("link", "TE (nats)", "p", "q"), rows))


def explanation(about: Result) -> str:
    """Return a link with its numbers, shape, lags, chance and local values."""
    numbers = [
        ("transfer entropy (nats)", f"{about.te:.4g} ({about.low:.3g} to {about.high:.3g})"),
        ("p-value, q-value", f"{about.p_value:.3g}, {about.q_value:.3g}"),
        ("lag", f"{about.lag}"),
        ("effect (standard deviations)", f"{about.effect:+.3g}"),
    ]
    return face(f"{about.source} → {about.target}", table(("", ""), numbers), figure(about.plot))


def lag_profile(found: Result) -> str:
    """Return the profile with its strongest lag."""
    link = " given ".join(filter(None, [f"{found.source} → {found.target}", ", ".join(found.given)]))
    return face(f"{link}: strongest at lag {found.best}, p = {found.p_value:.3g}", figure(found.plot))


def interval(found: Result) -> str:
    """Return the limits as a sentence and a picture."""
    limits = f"between {found.low:.4g} and {found.high:.4g} ({found.level:.0%}; {found.how})"
    return face(f"{found.value:.4g} nats, {limits}", figure(found.plot))


def stability(found: Result) -> str:
    """Return the shares as a heat map."""
    title = "Stability: share of cuts into halves in which both show the link, row drives column"
    return face(f"{title} ({found.networks} networks)", more.stability_map(found))


def comparison(found: Result) -> str:
    """Return what grew and what fell, both networks, and every pair."""
    parts = more.comparison_parts(found)
    title = Markup(f"{parts['headline']} {parts['sentences']}")
    return face(title, parts["sides"], parts["picture"], parts["table"])


def _table(head: Sequence[str], rows: list[list[Any]], total: int, what: str) -> str:
    more = f"<p>and {total - MOST_ROWS} more {what}</p>" if total > MOST_ROWS else ""
    return table(head, rows) + more if rows else ""


def _spark(values: np.ndarray) -> str:
    """Return a small SVG line; a missing value breaks it."""
    shown = extremes(values, POINTS)
    low, high = np.nanmin(shown, initial=np.inf), np.nanmax(shown, initial=-np.inf)
    path, pen = [], "M"
    for x, value in zip(np.linspace(0, 160, len(shown)), shown):
        if np.isfinite(value):
            path.append(f"{pen}{x:.1f} {23 - 22 * (value - low) / (high - low or 1):.1f}")
        pen = "L" if np.isfinite(value) else "M"
    line = f'<path d="{"".join(path)}" fill="none" stroke="currentColor" stroke-width="1"/>'
    return f'<svg width="160" height="24" viewBox="0 0 160 24" role="img" aria-label="preview">{line}</svg>'


FACES: dict[str, Callable[[Any], str]] = {
    "TEMatrix": te_matrix, "Explanation": explanation, "LagProfile": lag_profile, "Interval": interval,
    "Stability": stability, "Comparison": comparison,
    "Group": lambda found: face(f"Group of {found.subjects} subjects", more.group_section(found)),
    "Regimes": lambda found: face(more.regimes_parts(found)[2], figure(found.plot), more.regimes_parts(found)[1]),
    "Windows": lambda found: face(f"Links in {len(found.starts)} windows", more.windows_section(found)),
}  # fmt: skip
