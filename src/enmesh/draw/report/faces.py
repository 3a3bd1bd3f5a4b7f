"""What a notebook shows of results that are no network: a small picture and a table, in its own colours."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.draw.report.more import (
    comparison_body,
    group_body,
    heat_map,
    shares_map,
    table,
    windows_body,
)
from enmesh.draw.report.sections import text
from enmesh.draw.subject import LEVEL

# Colours that stand on light and dark ground alike: a notebook does not say which it has.
STYLE = (
    "--heat:#3b76c4;--paper:transparent;--raised:transparent;--ink:currentColor;--soft:#7b818c;--line:#88888855;"
    "--mark:#d0591c;--null:#9fb0c9;--grew:#3f7fd0;--fell:#d0701f;--s1:#5b8cc7;--pill:#88888822;--pill-line:#888888aa"
)
SHEET = (
    "<style>.enmesh svg text{font:12px sans-serif;fill:currentColor}.enmesh .map rect{stroke:#88888855;"
    "stroke-width:.6}.enmesh .self{fill:#88888833}.enmesh .small text{font-size:.54px;text-anchor:middle}"
    ".enmesh .small rect{fill:var(--pill);stroke:var(--pill-line);stroke-width:.035}.enmesh .way{fill:none;"
    "stroke:currentColor}.enmesh .tip{fill:currentColor}.enmesh .sides{display:flex;flex-wrap:wrap;gap:1rem}"
    ".enmesh figure{margin:0}.enmesh .scroll{overflow-x:auto}.enmesh svg{max-width:100%}"
    ".enmesh .number{text-align:right}"
    ".enmesh [type=range],.enmesh .slider{display:none}</style>"
)
MOST_ROWS = 12


def face(said: str, *parts: str) -> str:
    """Return a result for a notebook: a sentence in bold, then its parts."""
    return f'<div class="enmesh" style="{STYLE}">{SHEET}<p><b>{text(said)}</b></p>{"".join(parts)}</div>'


def te_matrix_html(names: Sequence[str], te: np.ndarray, p_value: np.ndarray, q_value: np.ndarray) -> str:
    """Return the heat map of a matrix of transfer entropies and its strongest pairs."""
    top = float(np.nanmax(te, initial=0.0)) or 1.0
    picture = heat_map(
        names, names, te,
        lambda value: f"color-mix(in oklab, var(--heat) {5 + 95 * max(value, 0) / top:.0f}%, var(--paper))",
        marks=np.where(q_value <= LEVEL, "•", ""),
        said=lambda i, j: f"{names[i]} → {names[j]}: {te[i, j]:.4g} nats, q {q_value[i, j]:.3g}",
        label="Transfer entropy, row drives column",
    )  # fmt: skip
    pairs = sorted(
        ((i, j) for i, j in np.argwhere(np.isfinite(te)).tolist()), key=lambda pair: (-te[pair], pair)
    )
    rows = [
        [f"{names[i]} → {names[j]}", *(float(part[i, j]) for part in (te, p_value, q_value))]
        for i, j in pairs[:MOST_ROWS]
    ]
    said = (
        f"Transfer entropy of {len(pairs)} pairs, row drives column, up to {top:.3g} nats; dot: q ≤ {LEVEL:g}"
    )
    return face(said, picture, table(("link", "TE (nats)", "p", "q"), rows))


def stability_html(names: Sequence[str], share: np.ndarray, networks: int) -> str:
    """Return how often each link was found again, as a heat map."""
    said = f"Stability: share of cuts into halves in which both show the link, row drives column ({networks} networks)"
    return face(said, shares_map(names, share, np.full(share.shape, np.nan), "cuts"))


def group_html(names: Sequence[str], **parts: Any) -> str:
    """Return the subjects of a group."""
    return face(f"Group of {parts['subjects']} subjects", group_body(names, **parts)[1])


def windows_html(**parts: Any) -> str:
    """Return the links over time."""
    return face(f"Links in {len(parts['times'])} windows", windows_body(**parts)[1])


def comparison_html(names: Sequence[str], **parts: Any) -> str:
    """Return what grew and what fell."""
    body = comparison_body(names, **parts)
    return face(f"{body['headline']} {body['said']}", body["sides"], body["picture"], body["table"])


def interval_html(said: str, low: float, value: float, high: float) -> str:
    """Return a value between its limits on a line from 0."""
    top = max(high, value, 1e-12) * 1.15
    x = {
        name: 10 + 300 * part / top for name, part in (("low", low), ("value", max(value, 0)), ("high", high))
    }
    line = (
        f'<line x1="10" x2="310" y1="20" y2="20" stroke="var(--line)"/><line x1="{x["low"]:.1f}" x2="{x["high"]:.1f}" '
        f'y1="20" y2="20" stroke="var(--heat)" stroke-width="4"/><circle cx="{x["value"]:.1f}" cy="20" r="6" '
        f'fill="var(--mark)"/>'
    )
    words = "".join(
        f'<text x="{at:.1f}" y="{y}" text-anchor="middle">{part:.3g}</text>'
        for at, y, part in ((x["low"], 40, low), (x["high"], 40, high), (x["value"], 10, value))
    )
    return face(said, f'<svg width="330" height="46" viewBox="0 0 330 46" role="img">{line}{words}</svg>')


def lag_profile_html(said: str, lags: Sequence[int], te: np.ndarray, high: np.ndarray, best: int) -> str:
    """Return transfer entropy over lags with what chance gives."""
    return face(said, stems(lags, te, high, best))


def stems(lags: Sequence[int], te: np.ndarray, chance: Any, best: int) -> str:
    """Return a small SVG of values at lags, over the band of chance."""
    chance = np.broadcast_to(np.asarray(chance, float), len(lags))
    top = max(float(np.nanmax(te, initial=0)), float(np.nanmax(chance, initial=0)), 1e-12) * 1.1
    step = min(28.0, 520 / len(lags))

    def y(value: float) -> float:
        return 110 - 100 * max(float(value), 0.0) / top

    parts = []
    for k, (lag, value) in enumerate(zip(lags, te)):
        x, colour = 50 + step * (k + 0.5), "var(--mark)" if lag == best else "var(--heat)"
        parts.append(
            f'<rect x="{x - step / 2:.1f}" width="{step:.1f}" y="{y(chance[k]):.1f}" height="{110 - y(chance[k]):.1f}" '
            f'fill="var(--null)" opacity=".4"/>'
        )
        if math.isfinite(value):
            parts.append(
                f'<line x1="{x:.1f}" x2="{x:.1f}" y1="110" y2="{y(value):.1f}" stroke="{colour}" stroke-width="2"/>'
                f'<circle cx="{x:.1f}" cy="{y(value):.1f}" r="3" fill="{colour}">'
                f"<title>lag {lag}: {value:.4g}</title></circle>"
            )
        if lag == best or lag in (lags[0], lags[-1]):
            parts.append(f'<text x="{x:.1f}" y="125" text-anchor="middle">{lag}</text>')
    parts.append(
        f'<text x="44" y="16" text-anchor="end">{top / 1.1:.2g}</text><text x="44" y="113" text-anchor="end">0</text>'
    )
    wide = 60 + step * len(lags)
    return (
        f'<svg width="{wide:.0f}" height="130" viewBox="0 0 {wide:.0f} 130" role="img">{"".join(parts)}</svg>'
    )


def explanation_html(about: Any) -> str:
    """Return a link with its numbers, shape and lags."""
    numbers = [
        ("transfer entropy (nats)", f"{about.te:.4g} ({about.low:.3g} to {about.high:.3g})"),
        ("p-value, q-value", f"{about.p_value:.3g}, {about.q_value:.3g}"),
        ("lag", f"{about.lag}"),
        ("effect (standard deviations)", f"{about.effect:+.3g}"),
    ]
    parts = [table(("", ""), numbers)]
    if len(about.scatter):
        parts.append(_scatter(about.scatter, about.curve))
    if len(about.lags):
        parts.append(stems(about.lags, about.lag_te, about.chance, about.lag))
    return face(f"{about.source} → {about.target}", f"<p>{text(about.sentence)}</p>", *parts)


def _scatter(points: np.ndarray, curve: np.ndarray) -> str:
    low, span = points.min(0), np.maximum(np.ptp(points, axis=0), 1e-12)

    def place(at: np.ndarray) -> str:
        x, y = (at - low) / span
        return f"{8 + 264 * x:.1f} {172 - 164 * y:.1f}"

    dots = "".join(f"M{place(point)}h0" for point in points)
    line = "M" + "L".join(map(place, curve)) if len(curve) else ""
    return (
        '<svg width="280" height="180" viewBox="0 0 280 180" role="img" aria-label="target against source">'
        f'<path d="{dots}" fill="none" stroke="var(--heat)" stroke-width="3" stroke-linecap="round" opacity=".6"/>'
        f'<path d="{line}" fill="none" stroke="var(--mark)" stroke-width="2.4"/></svg>'
    )
