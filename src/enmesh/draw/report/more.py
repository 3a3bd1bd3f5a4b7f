"""What pages say beyond one network: links over time, subjects of a group, differences between two recordings.

Each takes plain numbers, as `draw.curves` does, and returns HTML.
"""

import json
import math
from collections.abc import Mapping, Sequence
from importlib.resources import files
from string import Template
from typing import Any

import numpy as np

from enmesh.draw.labels import short
from enmesh.draw.layout import arrange
from enmesh.draw.report.svg import PLAIN, heat_map, network_svg, side_by_side, text
from enmesh.draw.shapes import Edge, edges_of
from enmesh.draw.subject import LEVEL

MOST_COLUMNS = 240  # of a picture over time; of more windows every second, third ... is drawn
MOST_TICKS = 12


def asset(name: str) -> str:
    """Return a file of the page's own."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def windows_section(**parts: Any) -> str:
    """Return the section of links over time; the parts are those of `windows_body`."""
    return _section("windows", "Over time", *windows_body(**parts))


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
    every, top = math.ceil(len(times) / MOST_COLUMNS), float(np.nanmax(te, initial=0.0)) or 1.0
    shown, shown_te, shown_q = times[::every], te[::every].T, q_value[::every].T
    ticks = math.ceil(len(shown) / MOST_TICKS)
    picture = heat_map(
        links, shown_te, shown_q,
        lambda i, j: f"{links[i]}, window around {shown[j]:g}: {shown_te[i, j]:.4g} nats, q {shown_q[i, j]:.3g}",
        "Transfer entropy of each link over time", top=top,
        columns=["" if at % ticks else f"{time:g}" for at, time in enumerate(shown)],
    )  # fmt: skip
    best = np.argmax(np.nan_to_num(te, nan=-np.inf), axis=0)
    rows = [
        [link, f"{(q_value[:, k] <= LEVEL).sum()} of {len(times)}", te[best[k], k], f"{times[best[k]]:g}"]
        for k, link in enumerate(links)
    ]
    skipped = f" Every {every}th window is drawn." if every > 1 else ""
    how = (
        f"Transfer entropy of each link in windows of the recording, given the parents in the network above; across: "
        f"middle of the window, in {unit}. Dot: q ≤ {LEVEL:g}, counting all windows and links. Strongest colour: "
        f"{top:.3g} nats.{skipped}"
    )
    head = ("link", "windows with it", "largest TE (nats)", f"at ({unit})")
    ever = np.flatnonzero((q_value <= LEVEL).any(0)).tolist() if pairs else []
    slider = (
        _slider(names, [pairs[k] for k in ever], times, te[:, ever] / top, q_value[:, ever], unit)
        if ever
        else ""
    )
    return how, slider + picture + table(head, rows)


def _slider(
    names: Sequence[str],
    pairs: Sequence[Edge],
    times: Sequence[float],
    size: np.ndarray,
    q: np.ndarray,
    unit: str,
) -> str:
    """Return the network of one window, and a slider over the windows; windows.js moves it."""
    drawing = arrange(short(names, 24), pairs)
    picture = network_svg(dict.fromkeys(pairs, (1.0, PLAIN)), drawing, "Network of one window")
    data = {"times": list(times), "pairs": [f"{i} {j}" for i, j in pairs]}
    data |= {
        "te": np.maximum(np.nan_to_num(size), 0).round(3).tolist(),
        "on": (q <= LEVEL).astype(int).tolist(),
    }
    label = f'middle of the window: <output id="window-time"></output> {text(unit)}'
    moved = f'<input id="window" type="range" min="0" max="{len(times) - 1}" value="0">'
    bar = f'<label class="slider">{label} {moved}</label>'
    return f"<div id=\"window-net\" data-windows='{text(json.dumps(data))}'>{bar}{picture}</div>"


def shares_map(names: Sequence[str], share: np.ndarray, q_value: np.ndarray, of: str) -> str:
    """Return shares from 0 to 1 as a heat map, row drives column; a dot where q is at most 0.05."""

    def told(i: int, j: int) -> str:
        q = f", q {q_value[i, j]:.3g}" if np.isfinite(q_value[i, j]) else ""
        return f"{names[i]} → {names[j]}: {share[i, j]:.0%} of {of}{q}"

    return heat_map(names, share, q_value, told, f"Share of {of} with each link, row drives column", top=1.0)


def group_section(names: Sequence[str], **parts: Any) -> str:
    """Return the section of a group; the parts are those of `group_body`."""
    return _section("subjects", "Subjects", *group_body(names, **parts))


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
    how = (
        f"The network above is that of {subjects} subjects taken together. Colour: share of subjects in whose own "
        f"network the link stands, row drives column. Dot: q ≤ {LEVEL:g} in the test across subjects, whether the link "
        "would be found in other subjects like these; its TE is the mean over subjects less what chance gives."
    )
    head = ("link", "subjects", "mean TE (nats)", "p", "q")
    alone = {name: dict.fromkeys(edges_of(links), (0.5, PLAIN)) for name, links in (own or {}).items()}
    sides = f"<h3>Each subject's own network</h3>{side_by_side(names, alone)}" if alone else ""
    return how, shares_map(names, share, q_value, "subjects") + table(head, rows) + sides


def comparison_page(names: Sequence[str], *, exchanged: str, title: str = "", **parts: Any) -> str:
    """Return the page of a comparison: what grew, what fell, every pair, and how it was tested."""
    body = comparison_body(names, **parts)
    plain = {name: text(value) for name, value in body.items() if name not in ("picture", "table", "sides")}
    return Template(asset("comparison.html")).substitute(
        body | plain,
        title=text(f"{title}: " if title else ""),
        level=f"{LEVEL:g}",
        exchanged=text(exchanged),
        style=asset("page.css"),
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
    """Return the parts of a comparison: headline, what changed, both networks, heat map, table.

    ``first`` and ``second`` are transfer entropies, ``own`` the links ``(M, M)`` of both networks.
    """
    change, sure = second - first, q_value <= LEVEL
    arrows = {pair: f"{names[pair[0]]} → {names[pair[1]]}" for pair in _ranked(p_value)}
    values = (first, second, change, p_value, q_value)
    rows = [[arrow, *(float(part[pair]) for part in values)] for pair, arrow in arrows.items()]
    most = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    picture = heat_map(
        names, change, q_value,
        lambda i, j: f"{arrows[i, j]}: {change[i, j]:+.4g} nats, q {q_value[i, j]:.3g}",
        "Change of transfer entropy, row drives column", top=most, signed=True,
    )  # fmt: skip
    changed = {
        "Grew": [arrow for pair, arrow in arrows.items() if sure[pair] and change[pair] > 0],
        "Fell": [arrow for pair, arrow in arrows.items() if sure[pair] and change[pair] < 0],
    }
    sentences = [
        f"{what}: {', '.join(found[:12])}{' …' * (len(found) > 12)}."
        for what, found in changed.items()
        if found
    ]
    count = sum(map(len, changed.values()))
    differ = f"{count or 'None'} of {len(arrows)} pairs {'differ' if count > 1 else 'differs'}."
    top = float(np.nanmax([first, second], initial=0.0)) or 1.0
    colours = np.where(~sure, "var(--soft)", np.where(change > 0, "var(--grew)", "var(--fell)"))
    looks = {
        name: {(i, j): (te[i, j] / top, colours[i, j]) for i, j in edges_of(links)}
        for name, te, links in zip(labels, (first, second), own)
    }
    return {
        "headline": differ,
        "said": " ".join(sentences) or f"No difference has q ≤ {LEVEL:g}.",
        "sides": side_by_side(names, looks) if looks else "",
        "first": labels[0],
        "second": labels[1],
        "most": f"{most:.3g}",
        "picture": picture,
        "table": table(("link", f"TE {labels[0]}", f"TE {labels[1]}", "difference", "p", "q"), rows),
    }


def table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table; floats are written short and stand right."""
    right = [' class="number"' * isinstance(value, float) for value in (rows[0] if rows else head)]
    titles = "".join(f"<th scope=col{side}>{text(title)}</th>" for title, side in zip(head, right))
    lines = "".join("<tr>" + "".join(map(_cell, row)) + "</tr>" for row in rows)
    inside = f"<thead><tr>{titles}</tr></thead><tbody>{lines}</tbody>"
    return f'<div class="scroll"><table class="plain">{inside}</table></div>'


def _cell(value: Any) -> str:
    if isinstance(value, float):
        return f'<td class="number">{"–" if math.isnan(value) else f"{value:.3g}".replace("-", "−")}</td>'
    return f"<td>{text(value)}</td>"


def _section(name: str, title: str, how: str, body: str) -> str:
    return f'<section id="{name}"><h2>{title}</h2><p class="quiet">{text(how)}</p>{body}</section>'


def _ranked(p_value: np.ndarray) -> list[tuple[int, int]]:
    """Return all pairs, smallest p-value first."""
    pairs = [(i, j) for i, j in np.ndindex(p_value.shape) if i != j]
    return sorted(pairs, key=lambda pair: (float(np.nan_to_num(p_value[pair], nan=2.0)), pair))
