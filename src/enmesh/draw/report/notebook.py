"""What a notebook shows of a Series and of a Network: small tables in which every name is escaped."""

import math

import numpy as np

from enmesh.draw.report.sections import text
from enmesh.draw.report.words import headline, standing

MOST_ROWS = 12
POINTS = 160
NUMBER = ' style="text-align:right;font-variant-numeric:tabular-nums"'


def network_html(network) -> str:
    """Return the finding and the strongest links."""
    edges = network.edges
    head = ("source", "target", "TE (nats)", "p", "q", "lag")
    rows = [
        [
            _cell(row.source),
            _cell(row.target),
            *(_number(v) for v in (row.te, row.p_value, row.q_value, row.lag)),
        ]
        for row in edges.head(MOST_ROWS).itertuples()
    ]
    table = _table(head, rows, len(edges), "links") if rows else ""
    return f"<div><p><b>{text(headline(network))}</b> {text(standing(network))}</p>{table}</div>"


def series_html(series) -> str:
    """Return one line per node: name, range and a picture of its first trial."""
    first, pooled = series.trials[0], series.values
    rows = [
        [
            _cell(name),
            _number(np.nanmin(pooled[:, i])),
            _number(np.nanmax(pooled[:, i])),
            f"<td>{_spark(first[:, i])}</td>",
        ]
        for i, name in enumerate(series.names[:MOST_ROWS])
    ]
    trials = f"{len(series.trials)} trial{'s' * (len(series.trials) > 1)}"
    said = f"{series.n_nodes} nodes, {trials}, {sum(series.lengths)} samples, dt = {series.dt:g}"
    table = _table(("node", "lowest", "highest", "first trial"), rows, series.n_nodes, "nodes")
    return f"<div><p><b>Series</b> {text(said)}</p>{table}</div>"


def _table(head, rows, total, what):
    titles = "".join(f"<th>{text(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    more = f"<p>and {total - MOST_ROWS} more {what}</p>" if total > MOST_ROWS else ""
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(name):
    return f'<td style="text-align:left">{text(name)}</td>'


def _number(value):
    return f"<td{NUMBER}>{'–' if math.isnan(value) else f'{value:.3g}'}</td>"


def _spark(values) -> str:
    """Return a small SVG line; a missing value breaks it."""
    shown = np.asarray(values[:: math.ceil(len(values) / POINTS)], float)
    low, high = np.nanmin(shown, initial=np.inf), np.nanmax(shown, initial=-np.inf)
    path, pen = [], "M"
    for x, value in zip(np.linspace(0, 160, len(shown)), shown):
        if np.isfinite(value):
            path.append(f"{pen}{x:.1f} {23 - 22 * (value - low) / (high - low or 1):.1f}")
        pen = "L" if np.isfinite(value) else "M"
    line = f'<path d="{"".join(path)}" fill="none" stroke="currentColor" stroke-width="1"/>'
    return f'<svg width="160" height="24" viewBox="0 0 160 24" role="img" aria-label="preview">{line}</svg>'
