"""What a notebook shows of a Network and of a Series: the interactive picture, small tables; names are escaped."""

import math
from collections.abc import Sequence
from html import escape
from typing import Any

import numpy as np

from enmesh.draw.arrows import lags_of, shares_of
from enmesh.draw.envelope import extremes
from enmesh.draw.report import inline
from enmesh.draw.report.sections import text
from enmesh.draw.report.words import headline, standing
from enmesh.draw.subject import Candidate, Network, Series

MOST_ROWS = 12
POINTS = 320
LOWEST, TALLEST = 440, 700  # pixels of the frame
NUMBER = ' style="text-align:right;font-variant-numeric:tabular-nums"'


def network_html(network: Network) -> str:
    """Return the finding, the network as an interactive picture, and the strongest links.

    The picture stands in a frame of its own, which loads nothing; where a notebook does not show frames, the table
    remains.
    """
    tested = {(c.source, c.target): c for c in network.candidates}
    links = [(s, t, tested.get((s, t))) for t in network.names for s in network.parents[t]]
    links.sort(key=lambda link: (-link[2].te if link[2] else math.inf, link[0], link[1]))
    shares, place = shares_of(network), {name: i for i, name in enumerate(network.names)}
    head = ("source", "target", "TE (nats)", "p", "q", "lag", *["stability"] * bool(shares))
    rows = [[_cell(source), _cell(target), *_numbers(test)] for source, target, test in links[:MOST_ROWS]]
    for row, (source, target, _) in zip(rows, links):
        row += [_number(shares.get((place[source], place[target]), math.nan))] * bool(shares)
    table = _table(head, rows, len(links), "links") if rows else ""
    said = f"<p><b>{text(headline(network))}</b> {text(standing(network))}</p>"
    return f"<div>{said}{_frame(network)}{table}</div>"


def series_html(series: Series) -> str:
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
    until = (len(first) - 1) * series.dt
    table = _table(
        ("node", "lowest", "highest", f"first trial, time 0 to {until:g}"), rows, series.n_nodes, "nodes"
    )
    return f"<div><p><b>Series</b> {text(said)}</p>{table}</div>"


def _frame(network: Network) -> str:
    height = min(LOWEST + 6 * len(network.names), TALLEST)
    style = f"width:100%;height:{height}px;border:0"
    kept = 'sandbox="allow-scripts allow-downloads" loading="lazy"'
    return f'<iframe title="network" {kept} style="{style}" srcdoc="{escape(inline(network))}"></iframe>'


def _table(head: Sequence[str], rows: list[list[str]], total: int, what: str) -> str:
    titles = "".join(f"<th>{text(title)}</th>" for title in head)
    body = "".join(f"<tr>{''.join(row)}</tr>" for row in rows)
    more = f"<p>and {total - MOST_ROWS} more {what}</p>" if total > MOST_ROWS else ""
    return f"<table><thead><tr>{titles}</tr></thead><tbody>{body}</tbody></table>{more}"


def _cell(name: Any) -> str:
    return f'<td style="text-align:left">{text(name)}</td>'


def _numbers(test: Candidate | None) -> list[str]:
    if test is None:
        return [_number(math.nan)] * 3 + [_number(1)]
    lags = ", ".join(map(str, lags_of(test)))
    return [*map(_number, (test.te, test.p_value, test.q_value)), f"<td{NUMBER}>{text(lags)}</td>"]


def _number(value: float) -> str:
    return f"<td{NUMBER}>{'–' if math.isnan(value) else f'{value:.3g}'}</td>"


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
