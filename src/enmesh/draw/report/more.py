"""What pages say beyond one network: links over time, subjects of a group, differences between two recordings.

Each takes plain numbers, as `draw.curves` does, and returns HTML. Pictures are drawn here as SVG that stands in the
page, in colours that follow light and dark; pointing at a cell tells its numbers.
"""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from enmesh.draw.labels import short
from enmesh.draw.layout import arrange
from enmesh.draw.report.sections import text
from enmesh.draw.report.small import Line, network_svg, side_by_side
from enmesh.draw.shapes import Edge
from enmesh.draw.subject import LEVEL

MOST_COLUMNS = 240  # of a picture over time; of more windows every second, third ... is drawn
MOST_TICKS = 12
FONT = 12.0  # pixels


def windows_section(**parts: Any) -> str:
    """Return the section of links over time; the parts are those of `windows_body`."""
    told, body = windows_body(**parts)
    return _section("windows", "Over time", told, body)


def windows_body(
    *,
    times: Sequence[float],
    links: Sequence[str],
    te: np.ndarray,
    q_value: np.ndarray,
    unit: str,
    names: Sequence[str] = (),
    pairs: Sequence[Edge] = (),
) -> tuple[str, str]:
    """Return how to read links over time, and a heat map, a table, and the network of each window behind a slider.

    ``te`` and ``q_value`` are (window, link); ``pairs`` are the links as positions in ``names``.
    """
    every = math.ceil(len(times) / MOST_COLUMNS)
    shown = slice(None, None, every)
    top = float(np.nanmax(te, initial=0.0)) or 1.0
    picture = heat_map(
        links,
        _ticked([f"{time:g}" for time in times[shown]]),
        te[shown].T,
        lambda value: f"color-mix(in oklab, var(--heat) {5 + 95 * max(value, 0) / top:.0f}%, var(--paper))",
        marks=np.where(q_value[shown].T <= LEVEL, "•", ""),
        said=lambda i, j: (
            f"{links[i]}, window around {times[::every][j]:g}: {te[shown][j, i]:.4g} nats, q {q_value[shown][j, i]:.3g}"
        ),
        label="Transfer entropy of each link over time",
        square=False,
    )
    rows = []
    for k, link in enumerate(links):
        on = q_value[:, k] <= LEVEL
        best = int(np.nanargmax(te[:, k])) if np.isfinite(te[:, k]).any() else 0
        rows.append([link, f"{int(on.sum())} of {len(times)}", te[best, k], f"{times[best]:g}"])
    skipped = f" Every {every}th window is drawn." if every > 1 else ""
    told = (
        f"Transfer entropy of each link in windows of the recording, given the parents in the network above; across: "
        f"middle of the window, in {unit}. Dot: q ≤ {LEVEL:g}, counting all windows and links. Strongest colour: "
        f"{top:.3g} nats.{skipped}"
    )
    head = ("link", "windows with it", "largest TE (nats)", f"at ({unit})")
    ever = np.flatnonzero((q_value <= LEVEL).any(0)).tolist() if pairs else []
    there = [pairs[k] for k in ever]
    slider = _slider(names, there, times, te[:, ever] / top, q_value[:, ever], unit) if there else ""
    return told, slider + picture + table(head, rows)


def _slider(
    names: Sequence[str],
    pairs: Sequence[Edge],
    times: Sequence[float],
    size: np.ndarray,
    q: np.ndarray,
    unit: str,
) -> str:
    """Return the network of one window, and a slider over the windows; windows.js moves it."""
    drawing = arrange(short(names, 24), sorted(pairs))
    picture = network_svg(names, {pair: Line(1.0) for pair in pairs}, drawing, "Network of one window")
    widths = [[round(max(float(np.nan_to_num(v)), 0.0), 3) for v in row] for row in size]
    data = {"times": list(times), "pairs": [f"{i} {j}" for i, j in pairs], "te": widths}
    data["on"] = [[int(v <= LEVEL) for v in row] for row in q]
    label = f'middle of the window: <output id="window-time"></output> {text(unit)}'
    moved = f'<input id="window" type="range" min="0" max="{len(times) - 1}" value="0">'
    bar = f'<label class="slider">{label} {moved}</label>'
    return f"<div id=\"window-net\" data-windows='{text(json.dumps(data))}'>{bar}{picture}</div>"


def shares_map(names: Sequence[str], share: np.ndarray, q_value: np.ndarray, of: str) -> str:
    """Return shares from 0 to 1 as a heat map, row drives column; a dot where q is at most 0.05."""
    return heat_map(
        names,
        names,
        share,
        lambda value: f"color-mix(in oklab, var(--heat) {5 + 95 * value:.0f}%, var(--paper))",
        marks=np.where(q_value <= LEVEL, "•", ""),
        said=lambda i, j: (
            f"{names[i]} → {names[j]}: {share[i, j]:.0%} of {of}"
            + (f", q {q_value[i, j]:.3g}" if np.isfinite(q_value[i, j]) else "")
        ),
        label=f"Share of {of} with each link, row drives column",
    )


def group_section(names: Sequence[str], **parts: Any) -> str:
    """Return the section of a group; the parts are those of `group_body`."""
    told, body = group_body(names, **parts)
    return _section("subjects", "Subjects", told, body)


def group_body(
    names: Sequence[str],
    *,
    share: np.ndarray,
    te: np.ndarray,
    p_value: np.ndarray,
    q_value: np.ndarray,
    subjects: int,
    own: "Mapping[str, np.ndarray] | None" = None,
) -> tuple[str, str]:
    """Return how to read a group, and in how many subjects each link stands alone with the test across subjects.

    ``own`` are the links ``(M, M)`` of each subject's own network, by the subject's name.
    """
    rows = [
        [f"{names[i]} → {names[j]}", f"{share[i, j]:.0%}", te[i, j], p_value[i, j], q_value[i, j]]
        for i, j in _ranked(p_value)
    ]
    told = (
        f"The network above is that of {subjects} subjects taken together. Colour: share of subjects in whose own "
        f"network the link stands, row drives column. Dot: q ≤ {LEVEL:g} in the test across subjects, whether the link "
        "would be found in other subjects like these; its TE is the mean over subjects less what chance gives."
    )
    head = ("link", "subjects", "mean TE (nats)", "p", "q")
    alone = {
        name: {(i, j): Line(0.5) for i, j in np.argwhere(links > 0).tolist()}
        for name, links in (own or {}).items()
    }
    sides = f"<h3>Each subject's own network</h3>{side_by_side(names, alone)}" if alone else ""
    return told, shares_map(names, share, q_value, "subjects") + table(head, rows) + sides


def comparison_page(names: Sequence[str], *, exchanged: str, title: str = "", **parts: Any) -> str:
    """Return the page of a comparison: what grew, what fell, every pair, and how it was tested."""
    body = comparison_body(names, **parts)
    return Template(files(__package__).joinpath("comparison.html").read_text(encoding="utf-8")).substitute(
        {
            name: value if name in ("picture", "table", "sides") else text(value)
            for name, value in body.items()
        },
        title=text(f"{title}: " if title else ""),
        level=f"{LEVEL:g}",
        exchanged=text(exchanged),
        style=files(__package__).joinpath("page.css").read_text(encoding="utf-8"),
    )


def comparison_body(
    names: Sequence[str],
    *,
    first: np.ndarray,
    second: np.ndarray,
    p_value: np.ndarray,
    q_value: np.ndarray,
    labels: tuple[str, str] = ("first", "second"),
    own: Sequence[np.ndarray] = (),
) -> dict[str, str]:
    """Return the parts of a comparison: headline, what was said, both networks, heat map, table.

    ``first`` and ``second`` are transfer entropies, ``own`` the links ``(M, M)`` of both networks.
    """
    change = second - first
    most = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    sure = q_value <= LEVEL
    picture = heat_map(
        names,
        names,
        change,
        lambda value: (
            f"color-mix(in oklab, var({'--grew' if value > 0 else '--fell'}) {100 * abs(value) / most:.0f}%, "
            "var(--paper))"
        ),
        marks=np.where(sure, np.where(change > 0, "▲", "▼"), ""),
        said=lambda i, j: f"{names[i]} → {names[j]}: {change[i, j]:+.4g} nats, q {q_value[i, j]:.3g}",
        label="Change of transfer entropy, row drives column",
    )
    pairs = _ranked(p_value)
    rows = [
        [
            f"{names[i]} → {names[j]}",
            *(float(part[i, j]) for part in (first, second, change, p_value, q_value)),
        ]
        for i, j in pairs
    ]
    grew, fell = ([pair for pair in pairs if sure[pair] and sign * change[pair] > 0] for sign in (1, -1))
    said = [
        f"{what}: {', '.join(f'{names[i]} → {names[j]}' for i, j in found[:12])}{' …' if len(found) > 12 else ''}."
        for what, found in (("Grew", grew), ("Fell", fell))
        if found
    ]
    changed = len(grew) + len(fell)
    verb = "differs" if changed == 1 else "differ"
    headline = (
        f"{changed} of {len(pairs)} pairs {verb}." if changed else f"None of {len(pairs)} pairs differs."
    )
    top = max(float(np.nanmax(part, initial=0.0)) for part in (first, second)) or 1.0
    looks = {
        name: {
            (i, j): Line(te[i, j] / top, _changed(change[i, j]) if sure[i, j] else "var(--soft)")
            for i, j in np.argwhere(links > 0).tolist()
        }
        for name, te, links in zip(labels, (first, second), own)
    }
    return {
        "headline": headline,
        "said": " ".join(said) or f"No difference has q ≤ {LEVEL:g}.",
        "sides": side_by_side(names, looks) if looks else "",
        "first": labels[0],
        "second": labels[1],
        "most": f"{most:.3g}",
        "picture": picture,
        "table": table(("link", f"TE {labels[0]}", f"TE {labels[1]}", "difference", "p", "q"), rows),
    }


def _changed(value: float) -> str:
    return "var(--grew)" if value > 0 else "var(--fell)"


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table; floats are written short and stand right."""
    right = [' class="number"' * isinstance(value, float) for value in (rows[0] if rows else head)]
    titles = "".join(f"<th scope=col{side}>{text(title)}</th>" for title, side in zip(head, right))
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    inside = f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody>"
    return f'<div class="scroll"><table class="plain">{inside}</table></div>'


def heat_map(
    rows: Sequence[str],
    columns: Sequence[str],
    values: np.ndarray,
    colour: Callable[[float], str],
    *,
    marks: np.ndarray,
    said: Callable[[int, int], str],
    label: str,
    square: bool = True,
) -> str:
    """Return a matrix of coloured cells as SVG; ``marks`` stand in the cells, ``said`` tells a cell's numbers."""
    down, across = short(rows, 24), short(columns, 24) if square else tuple(columns)
    count = max(len(columns), 1)
    wide = max(3.0, min(40.0, 760 / count))
    tall = wide if square else 22.0
    left = 8 + 0.62 * FONT * max(map(len, down), default=1)
    upright = square and max(map(len, across), default=1) * 0.62 * FONT < wide
    top = 20 if upright else 8 + 0.62 * FONT * max(map(len, across), default=1)
    parts = [
        f'<text x="{left - 5:.1f}" y="{top + (i + 0.5) * tall + 4:.1f}" text-anchor="end">{text(name)}</text>'
        for i, name in enumerate(down)
    ]
    for j, name in enumerate(across):
        x, y = left + (j + 0.5) * wide + 4 * (not upright), top - 5
        turn = 'text-anchor="middle"' if upright else ""
        place = f"translate({x:.1f} {y:.1f}) rotate({0 if upright else -90})"
        parts += [f'<text transform="{place}" {turn}>{text(name)}</text>'] * bool(name)
    for (i, j), value in np.ndenumerate(values):
        x, y = left + j * wide, top + i * tall
        if not math.isfinite(value):
            parts.append(
                f'<rect class="self" x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}"/>'
            )
            continue
        parts.append(
            f'<rect x="{x:.1f}" y="{y:.1f}" width="{wide:.1f}" height="{tall:.1f}" style="fill:{colour(value)}">'
            f"<title>{text(said(i, j))}</title></rect>"
        )
        if marks[i, j]:
            place = f'x="{x + wide / 2:.1f}" y="{y + tall / 2 + 4:.1f}"'
            parts.append(f'<text class="sign" {place} text-anchor="middle">{marks[i, j]}</text>')
    width, height = left + count * wide + 4, top + len(rows) * tall + 4
    size = f'width="{width:.0f}" height="{height:.0f}" viewBox="0 0 {width:.0f} {height:.0f}"'
    drawn = f'<svg class="map" {size} role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'
    return f'<div class="scroll">{drawn}</div>'


def _section(name: str, title: str, told: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2><p class="quiet">{text(told)}</p>{body}</section>'


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="number">{"–" if math.isnan(value) else f"{value:.3g}".replace("-", "−")}</td>'
    return f"<td>{text(value)}</td>"


def _ticked(labels: Sequence[str]) -> list[str]:
    """Return the labels with all but a dozen left empty."""
    every = math.ceil(len(labels) / MOST_TICKS)
    return [label if at % every == 0 else "" for at, label in enumerate(labels)]


def _ranked(p_value: np.ndarray) -> list[tuple[int, int]]:
    """Return all pairs, smallest p-value first."""
    pairs = [(i, j) for i in range(len(p_value)) for j in range(len(p_value)) if i != j]
    return sorted(pairs, key=lambda pair: (float(np.nan_to_num(p_value[pair], nan=2.0)), pair))
