"""What a notebook shows of results: an interactive network, small pictures and tables, in its own colours."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.draw.report.more import Markup, asset, figure, heat_map, table, text
from enmesh.draw.report.page import inline
from enmesh.draw.report.words import headline, links, standing
from enmesh.draw.shapes import edges_of, extremes
from enmesh.draw.subject import LEVEL, Network, Series

MOST_ROWS = 12
POINTS = 320
LOWEST, TALLEST = 440, 700  # pixels of the frame


def face(title: str, *parts: str) -> str:
    """Return a result for a notebook: a sentence in bold, then its parts."""
    style = f"<style>{asset('notebook.css')}</style>"
    return f'<div class="enmesh">{style}<p><b>{text(title)}</b></p>{"".join(parts)}</div>'


def network_html(network: Network) -> str:
    """Return the finding, the network as a picture in a frame that loads nothing, and the strongest links."""
    shown = links(network)
    height = min(LOWEST + 6 * len(network.names), TALLEST)
    frame = (
        '<iframe title="network" sandbox="allow-scripts allow-downloads" loading="lazy" '
        f'style="width:100%;height:{height}px;border:0" srcdoc="{text(inline(network))}"></iframe>'
    )
    listed = _table(list(shown), shown.head(MOST_ROWS).to_numpy(object).tolist(), len(shown), "links")
    return face(headline(network), f"<p>{text(standing(network))}</p>", frame, listed)


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


def te_matrix_html(names: Sequence[str], te: np.ndarray, p_value: np.ndarray, q_value: np.ndarray) -> str:
    """Return the heat map of a matrix of transfer entropies and its strongest pairs."""
    top = float(np.nanmax(te, initial=0.0)) or 1.0
    pairs = sorted(edges_of(np.isfinite(te)), key=lambda pair: (-te[pair], pair))
    arrows = {(i, j): f"{names[i]} → {names[j]}" for i, j in pairs}
    picture = heat_map(
        names, te, q_value, lambda i, j: f"{arrows[i, j]}: {te[i, j]:.4g} nats, q {q_value[i, j]:.3g}",
        "Transfer entropy, row drives column", top=top,
    )  # fmt: skip
    parts = (te, p_value, q_value)
    rows = [[arrows[pair], *(float(part[pair]) for part in parts)] for pair in pairs[:MOST_ROWS]]
    title = (
        f"Transfer entropy of {len(pairs)} pairs, row drives column, up to {top:.3g} nats; dot: q ≤ {LEVEL}"
    )
    return face(title, picture, table(("link", "TE (nats)", "p", "q"), rows))


def explanation_html(about: Any) -> str:
    """Return a link with its numbers, shape, lags, chance and local values."""
    numbers = [
        ("transfer entropy (nats)", f"{about.te:.4g} ({about.low:.3g} to {about.high:.3g})"),
        ("p-value, q-value", f"{about.p_value:.3g}, {about.q_value:.3g}"),
        ("lag", f"{about.lag}"),
        ("effect (standard deviations)", f"{about.effect:+.3g}"),
    ]
    return face(f"{about.source} → {about.target}", table(("", ""), numbers), figure(about.plot))


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
