"""What pages say beyond one network: links over time, subjects of a group, differences between two recordings."""

import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from html import escape
from importlib.resources import files
from pathlib import Path
from string import Template
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from enmesh.draw.answer import NUMBERED, later, missed, spell, weakest
from enmesh.draw.curves import MOST_TICKS, over_time
from enmesh.draw.labels import short
from enmesh.draw.layout import Layout, arrange
from enmesh.draw.shapes import THICK, THIN, Edge, edges_of, headed, sampled
from enmesh.draw.style import THEMES
from enmesh.draw.subject import LEVEL, Network, Result
from enmesh.options import plain

Look = tuple[float, str]  # width of an arrow from 0 to 1, and colour
PLAIN = "var(--s1)"
UNIT = 20  # pixels
OFTEN, SELDOM = 0.5, 0.1  # shares of cuts from which a link is solid, and drawn
MOST_SIDES, FEW_SIDES = 24, 4  # networks beside each other, and so few that each is large
MANY_HALVES = 100  # networks of halves that make shares fine
MOST_ROWS = 40  # of a table that lists all links or pairs
MOST_COLUMNS = 240  # of a picture over time; of more windows every second, third ... is drawn


def asset(name: str) -> str:
    """Return a file of the page's own."""
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def filled(name: str, **parts: Any) -> str:
    """Return a file of the page's own with its parts."""
    return Template(asset(name)).substitute(parts)


def embed(data: Any) -> str:
    """Return JSON that may stand in a script element: no character in it can end the element.

    >>> embed(["</script>"])
    '["\\\\u003c/script\\\\u003e"]'
    """
    made = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return made.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class Markup(str):
    """HTML that stands as it is."""


def text(value: Any) -> str:
    """Return a value as text that HTML cannot read as markup, but for `Markup`."""
    return value if isinstance(value, Markup) else escape(str(value))


def network_svg(links: Mapping[Edge, Look], drawing: Layout, label: str, doubtful: Collection[Edge] = ()) -> str:
    """Return a network as SVG; ``drawing`` has a path for each of its links, of which the ``doubtful`` are dashed."""
    left, right, bottom, top = drawing.extent
    parts = []
    for (i, j), (share, colour) in sorted(links.items()):
        width = THIN + (THICK - THIN) * min(max(share, 0.0), 1.0)
        dashes = f' stroke-dasharray="{0.2 + 1.4 * width:.2f} {0.12 + 0.7 * width:.2f}"' if (i, j) in doubtful else ""
        ends = headed(sampled(drawing.paths[i, j], 12), width)
        way, tip = ("M" + "L".join(f"{x:.2f} {-y:.2f}" for x, y in end) for end in ends)
        parts.append(
            f'<g data-pair="{i} {j}" style="color:{colour}"><path class="way" d="{way}" '
            f'stroke-width="{width:.3f}"{dashes}/><path class="tip" d="{tip}Z"/></g>'
        )
    for (x, y), (width, height), lines in zip(drawing.centres, drawing.sizes, drawing.lines):
        box = f'x="{x - width / 2:.2f}" y="{-y - height / 2:.2f}" width="{width:.2f}" height="{height:.2f}" rx="0.5"'
        words = "".join(
            f'<text x="{x:.2f}" y="{-y + 0.19 + 0.62 * (k - (len(lines) - 1) / 2):.2f}">{text(line)}</text>'
            for k, line in enumerate(lines)
        )
        parts.append(f"<rect {box}/>{words}")
    wide, tall = right - left + 1, top - bottom + 1
    size = f'viewBox="{left - 0.5:.2f} {-top - 0.5:.2f} {wide:.2f} {tall:.2f}" width="{UNIT * wide:.0f}"'
    return f'<svg class="small" {size} role="img" aria-label="{text(label)}">{"".join(parts)}</svg>'


def arranged(names: Sequence[str], edges: Iterable[Edge]) -> list[Layout]:
    """Return the layouts of a network from left to right and from top to bottom."""
    edges = list(edges)
    return [arrange(short(names, 24), edges, tall=tall) for tall in (False, True)]


def both_ways(links: Mapping[Edge, Look], drawn: list[Layout], label: str, doubtful: Collection[Edge] = ()) -> str:
    """Return a network in both layouts: from left to right and, for a narrow screen, from top to bottom."""
    wide, tall = (network_svg(links, drawing, label, doubtful) for drawing in drawn)
    return f'<div class="lying">{wide}</div><div class="upright">{tall}</div>'


def side_by_side(names: Sequence[str], networks: Mapping[str, Mapping[Edge, Look]]) -> str:
    """Return networks of the same nodes beside each other, each with its name, all nodes in the same places."""
    shown = dict(list(networks.items())[:MOST_SIDES])
    drawing = arrange(short(names, 24), {edge for links in shown.values() for edge in links})
    figures = [
        f"<figure><figcaption>{text(name)}</figcaption>{network_svg(links, drawing, name)}</figure>"
        for name, links in shown.items()
    ]
    more = f"<p>and {len(networks) - MOST_SIDES} more</p>" if len(networks) > MOST_SIDES else ""
    few = ' style="--least:22rem"' * (len(shown) <= FEW_SIDES)
    return f'<div class="sides"{few}>{"".join(figures)}</div>{more}'


def heat_map(values: Any, q_value: Any, label: Callable[[float], str], *, top: float, signed: bool = False) -> str:
    """Return a frame as a table of coloured cells: nodes that drive nodes, or links over the middles of windows.

    Pointing at a cell shows the ``label`` of its value. Values go from 0 to ``top`` or, where they are ``signed``,
    as far both ways. Cells with q at most 0.05 carry a dot or, signed, a triangle up or down.
    """
    rows, columns, numbers = list(values.index), list(values.columns), values.to_numpy(float)
    q, square = np.asarray(q_value, float), rows == columns

    def cell(i: int, j: int) -> str:
        value, name, mark = numbers[i, j], "heat", "•"
        if not math.isfinite(value):
            return "<td></td>"
        share = 0.05 + 0.95 * max(value, 0) / top
        if signed:
            name, mark = ("grew", "▲") if value > 0 else ("fell", "▼")
            share = abs(value) / top
        where = f"{rows[i]} → {rows[j]}" if square else f"{rows[i]}, window around {columns[j]:g}"
        title = f"{where}: {label(value)}" + (f", q {q[i, j]:.3g}" if math.isfinite(q[i, j]) else "")
        sign = f'<b class="sign">{mark}</b>' if q[i, j] <= LEVEL else ""
        return f'<td title="{text(title)}" style="--c:var(--{name});--s:{100 * share:.0f}%">{sign}</td>'

    down, ticks = short(rows, 24), math.ceil(len(columns) / MOST_TICKS)
    across = down if square else ["" if j % ticks else f"{time:g}" for j, time in enumerate(columns)]
    wide = max(3.0, min(40.0, 760 / len(across)))
    turned = " class=turned" * (not square or max(map(len, across)) > 4)
    lines = ["<td></td>" + "".join(f"<th{turned}><span>{text(name)}</span></th>" for name in across)]
    for i, name in enumerate(down):
        lines.append(f"<th>{text(name)}</th>" + "".join(cell(i, j) for j in range(len(across))))
    size = f"--wide:{wide:.1f}px;--tall:{wide if square else 22:.1f}px"
    inside = "".join(f"<tr>{line}</tr>" for line in lines)
    return f'<div class="scroll"><table class="map" style="{size}">{inside}</table></div>'


def figure(plot: Callable[..., Any]) -> str:
    """Return what ``plot(path=..., theme=...)`` draws as SVG without ground, its words in the colour of the page."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "picture.svg"
        plot(path=path, theme="light")
        drawn = path.read_text(encoding="utf-8")
    drawn = re.sub(r'(?s)<(style|metadata).*?</\1>|xmlns:xlink="[^"]*"', "", drawn[drawn.index("<svg") :])
    light = THEMES["light"]
    return re.sub(f"{light.text}|{light.faint}", "currentColor", drawn.replace(light.paper, "none"))


def windows_section(found: Result) -> str:
    """Return the section of links over time: a heat map and a table."""
    import pandas as pd

    names = found.network.names
    times, unit, pairs, te, q_value = over_time(found)
    links = [f"{names[i]} → {names[j]}" for i, j in pairs]
    every, top = math.ceil(len(times) / MOST_COLUMNS), float(np.nanmax(te, initial=0.0)) or 1.0
    shown = pd.DataFrame(te[::every].T, links, times[::every])
    picture = heat_map(shown, q_value[::every].T, "{:.4g} nats".format, top=top)
    best = np.argmax(np.nan_to_num(te, nan=-np.inf), axis=0)
    rows = [
        [link, f"{(q_value[:, k] <= LEVEL).sum()} of {len(times)}", te[best[k], k], f"{times[best[k]]:g}"]
        for k, link in enumerate(links)
    ]
    skipped = f" Every {every}th window is drawn." if every > 1 else ""
    how = (
        "Transfer entropy of each link (rows) in each window of the recording (columns: middle of the window, in "
        f"{unit}), given the parents in the network of the whole recording. Dot: q ≤ {LEVEL:g}, counting all windows "
        f"and links. Strongest colour: {top:.3g} nats.{skipped}"
    )
    head = ("link", "windows with it", "largest TE (nats)", f"at ({unit})")
    return _section("windows", "Every window", how, f'<div data-every="{every}">{picture}</div>' + table(head, rows))


def regimes_parts(found: Result) -> tuple[dict[str, Any], str, str]:
    """Return the networks of regimes by the samples they hold for, a section on what changes, and a headline."""
    networks = {f"samples {a + 1} to {b}": network for (a, b), network in zip(found.bounds, found.networks)}
    count = len(found.change_points)
    said = "No change of the links was found."
    if count:
        at = ", ".join(f"{point + 1} (p = {p:.2g})" for point, p in zip(found.change_points, found.p_values))
        said = f"The links change {'once' if count == 1 else f'{count} times'}, at sample {at}."
    rows = [
        [f"{r.source} → {r.target}", r.at + 1, float(r.before), float(r.after), float(r.p_value), float(r.q_value)]
        for r in found.changes.itertuples()
    ]
    head = ("link", "changes at sample", "TE before (nats)", "TE after", "p", "q")
    how = (
        "Each line is a cumulative sum of how well a source predicts the residual of a target. Its slope changes where "
        "the link changes. Without a change it crosses the dashed lines in at most 5 % of recordings. The p-values "
        f"allow for the search for the time. Error rate of a change point: {found.level:g}."
    )
    changes = _section("changing", "What changes", how, figure(found.plot) + (table(head, rows) if rows else ""))
    return networks, changes, said


def player(found: Result) -> str:
    """Return the network of one window with a button that plays all of them; windows.js moves it."""
    names, (times, unit, pairs, te, q_value) = found.network.names, over_time(found)
    ever = np.flatnonzero((q_value <= LEVEL).any(0)).tolist()
    drawn, top = [pairs[k] for k in ever], float(np.nanmax(te, initial=0.0)) or 1.0
    data = {
        "times": times, "pairs": [f"{i} {j}" for i, j in drawn],
        "te": np.maximum(np.nan_to_num(te[:, ever] / top), 0).round(3).tolist(),
        "on": (q_value[:, ever] <= LEVEL).astype(int).tolist(),
    }  # fmt: skip
    return filled(
        "player.html", data=text(json.dumps(data)), last=len(times) - 1, level=f"{LEVEL:g}",
        answer=_window_answer(found), what=NUMBERED.get(unit, "time"), unit="" if unit in NUMBERED else f" {unit}",
        picture=both_ways(dict.fromkeys(drawn, (1.0, PLAIN)), arranged(names, drawn), "Network of one window"),
    )  # fmt: skip


def _window_answer(found: Result) -> str:
    """Return the answer beside the player: which links come and go, how sure that is, and what to do next."""
    share, width = found.on.mean(0), found.width
    sure = f"{len(found.starts)} windows of {width:,} samples: q ≤ {LEVEL:g}, counting all windows and links"
    power = missed(weakest(found.network, width), "In a window of")
    if not share.any():
        advice = "Take wider windows.", f"em.windows(series, width={2 * width}, step={max(width // 2, 1)})"
    elif ((share > 0) & (share < 1)).any():
        advice = "Find out when the links change, and infer one network for each part.", "em.regimes(series)"
    else:
        advice = "No link comes or goes: use the network of the whole recording.", ""
    return answer_block(window_sentences(found), sure, [power], *advice, name="window-words")


def window_headline(found: Result) -> str:
    """Return how many links come and go, in one sentence."""
    share = found.on.mean(0)
    always, sometimes = int((share == 1).sum()), int(((share > 0) & (share < 1)).sum())
    return f"{len(found.starts)} windows: {always} link{'s' * (always != 1)} in all of them, {sometimes} in some."


def window_sentences(found: Result) -> list[str]:
    """Return when, after how long and how strongly the links are there that change most, in words."""
    times, unit, pairs, te, q_value = over_time(found)
    names, on, network = found.network.names, q_value <= LEVEL, found.network
    lags = {(c.source, c.target): c.lag for c in network.candidates}
    share = on.mean(0)
    sometimes = sorted(np.flatnonzero((share > 0) & (share < 1)), key=lambda k: (abs(share[k] - 0.5), k))[:3]
    said = []
    for k in [*sometimes, *np.flatnonzero(share == 1)[: 5 - len(sometimes)]]:
        source, target = names[pairs[k][0]], names[pairs[k][1]]
        there, values = [times[w] for w in np.flatnonzero(on[:, k])], te[on[:, k], k]
        after = f" after {later(network, lags[source, target])}" if (source, target) in lags else ""
        if len(there) == len(times):
            when = "in every window"
        elif len(there) == 1:
            when = f"in 1 of {len(times)} windows, around {spell(there[0], unit)}"
        else:
            named = unit in NUMBERED
            ends = (spell(there[0], unit), f"{there[-1]:g}") if named else (f"{there[0]:g}", spell(there[-1], unit))
            when = f"in {len(there)} of {len(times)} windows, from {' to '.join(ends)}"
        size = f"{values.min():.2g}" if len(there) == 1 else f"{values.min():.2g} to {values.max():.2g}"
        said.append(f"{source} drives {target}{after} {when}: {size} nats.")
    return said or ["No link is found in any window."]


def answer_block(
    said: Iterable[str], sure: str = "", notes: Iterable[str] = (), advice: str = "", command: str = "",
    *, caution: str = "", name: str = "answer", heard: Iterable[str] = (),
) -> str:  # fmt: skip
    """Return what stands beside a picture: the answer in words, how sure it is, cautions, and what to do next."""
    parts = [f'<h2>In words</h2><ul class="said">{items(said)}</ul>']
    if sure:
        told = "".join(f"<p>{text(note)}</p>" for note in notes if note)
        parts.append(f'<h2>How sure</h2><p class="sure"><b>{text(sure)}</b></p>{told}')
    parts.append(caution)
    if advice:
        parts.append(f"<h2>Do this next</h2><p>{text(advice)}</p>{copied(command)}")
    if listed := items(heard):
        parts.append(f'<ul class="heard" aria-label="All links, strongest first">{listed}</ul>')
    return f'<div id="{name}" class="answer" role="region" aria-label="The answer">{"".join(parts)}</div>'


def items(shown: Iterable[str]) -> str:
    """Return the items of a list."""
    return "".join(f"<li>{text(one)}</li>" for one in shown)


def copied(command: str) -> str:
    """Return a command with a button that copies it."""
    button = '<button type="button" class="copies">Copy</button>'
    return f'<p class="command"><code>{text(command)}</code>{button}</p>' if command else ""


def small_page(body: str, about: str, headline: str, frame: Any, title: str, notes: str, **parts: Any) -> str:
    """Return a page without a network that can be explored; it saves the table ``frame`` as CSV."""
    rows = [list(frame.columns), *plain(frame.to_numpy(object).tolist())]
    name = ": ".join(filter(None, (title, about, headline)))
    return filled(
        "shell.html", title=text(name), about=text(about), headline=text(headline), notes=own_notes(notes),
        body=filled(body, **parts), rows=embed(rows), script=asset("copy.js") + asset("small.js"),
        style=asset("page.css"),
    )  # fmt: skip


def group_section(found: Result) -> str:
    """Return the section on the subjects of a group."""
    rows = [
        [f"{row.source} → {row.target}", percent(row.share), row.te, row.p_value, row.q_value]
        for row in found.links.itertuples()
    ]
    how = (
        f"The network is that of all {found.subjects} subjects together. Colour: share of subjects whose own network "
        f"has the link; row drives column. Dot: q ≤ {LEVEL:g} in the test across subjects, which asks whether other "
        "subjects like these would have the link. Its TE is the mean over subjects, less the mean expected by chance."
    )
    head = ("link", "subjects", "mean TE (nats)", "p", "q")
    alone = {name: dict.fromkeys(edges_of(links), (0.5, PLAIN)) for name, links in found.own.items()}
    sides = f"<h3>Each subject's own network</h3>{side_by_side(found.network.names, alone)}" if alone else ""
    picture = heat_map(found.share, found.q_value, lambda share: f"{percent(share)} of subjects", top=1.0)
    return _section("subjects", "Subjects", how, picture + table(head, rows) + sides)


def comparison_page(found: Result, *, title: str = "", notes: str = "") -> str:
    """Return the page of a comparison: what grew, what fell, every pair, and how it was tested."""
    parts = comparison_parts(found) | {"level": f"{LEVEL:g}", "exchanged": text(found.exchanged)}
    headline, stage = parts.pop("headline"), _compared(found)
    about = "what grew and what fell"
    return small_page("comparison.html", about, headline, found.links, title, notes, stage=stage, **parts)


def _compared(found: Result) -> str:
    """Return both networks in one layout with a divider, side by side, and the difference, beside the answer."""
    if not found.networks:
        return _comparison_answer(found)
    looks, (changed, doubtful) = _looks(found), _changes(found)
    drawn = arranged(list(found.difference.columns), {edge for one in [*looks.values(), changed] for edge in one})
    above, below = (both_ways(links, drawn, name) for name, links in looks.items())
    return filled(
        "stage.html", first=text(found.labels[0]), second=text(found.labels[1]), above=above, below=below,
        difference=both_ways(changed, drawn, "Difference", doubtful), level=f"{LEVEL:g}",
        answer=_comparison_answer(found),
    )  # fmt: skip


def _comparison_answer(found: Result) -> str:
    """Return how many pairs differ surely, how that was tested, which changes would be missed, and what to do next."""
    q_value = found.links.q_value
    count, near = int((q_value <= LEVEL).sum()), int((q_value <= 2 * LEVEL).sum())
    doubtful = f", {near - count} more with q up to {2 * LEVEL:g}" if near > count else ""
    sure = f"{count} of {len(q_value)} pairs: q ≤ {LEVEL:g}{doubtful}"
    known = [(name, power) for name, net in zip(found.labels, found.networks) if (power := weakest(net))]
    known = [(name, power) for name, power in known if math.isfinite(power.smallest)]
    sizes = "; ".join(f"{name}: {power.samples:,} samples, {power.smallest:.2g} nats" for name, power in known)
    weaker = f"Links below these sizes are often missed, and so are smaller changes. {sizes}." if known else ""
    if count:
        advice = "Compare further recordings of both sides, to see whether the changes are general."
        command = "" if "subjects" in found.exchanged else "em.compare(firsts, seconds)"
    else:
        advice = "Exchange labels more often: then p-values can be smaller. Or record more."
        command = "em.compare(first, second, n_permutations=9999)"
    return answer_block(change_sentences(found), sure, [f"How: {found.exchanged}.", weaker], advice, command)


def change_sentences(found: Result) -> list[str]:
    """Return the surest changes in words, or that there is none."""
    links = found.links
    rows = [row for row in links.itertuples() if row.q_value <= LEVEL]
    if not rows:
        near = next(links.itertuples(), None)
        least = f" The nearest is {near.source} → {near.target} (p = {near.p_value:.2g})." if near is not None else ""
        return [f"No pair of nodes differs between {found.labels[0]} and {found.labels[1]}.{least}"]
    said = []
    for row in rows[:4]:
        way, ends = "grew" if row.difference > 0 else "fell", f"{signed(row.first)} to {signed(row.second)}"
        said.append(f"{row.source} → {row.target} {way} from {ends} nats (q = {row.q_value:.2g}).")
    return [*said, *([f"{len(rows) - 4} more pairs differ."] if len(rows) > 4 else [])]


def percent(share: float) -> str:
    """Return a share in percent.

    >>> percent(0.5)
    '50\u202f%'
    """
    return f"{100 * share:.0f}\u202f%"


def signed(value: float) -> str:
    """Return a number with a true minus."""
    return f"{value:.2g}".replace("-", "−")


def _looks(found: Result) -> dict[str, dict[Edge, Look]]:
    """Return the links of both networks, coloured where they changed."""
    first, second, change, q_value = (
        frame.to_numpy(float) for frame in (found.first, found.second, found.difference, found.q_value)
    )
    top = float(np.nanmax([first, second], initial=0.0)) or 1.0
    colours = np.where(change > 0, "var(--grew)", "var(--fell)")
    colours[~(q_value <= LEVEL)] = "var(--soft)"
    return {
        name: {(i, j): (te[i, j] / top, colours[i, j]) for i, j in edges_of(network.adjacency)}
        for name, te, network in zip(found.labels, (first, second), found.networks)
    }


def _changes(found: Result) -> tuple[dict[Edge, Look], set[Edge]]:
    """Return the change of each link of either network or that is significant, and those that may be chance."""
    change, q_value = found.difference.to_numpy(float), found.q_value.to_numpy(float)
    either = np.logical_or.reduce([network.adjacency for network in found.networks])
    edges = edges_of((either | (q_value <= LEVEL)) & np.isfinite(change))
    top = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    colour = {True: "var(--grew)", False: "var(--fell)"}
    looks = {(i, j): (abs(change[i, j]) / top, colour[bool(change[i, j] > 0)]) for i, j in edges}
    return looks, {(i, j) for i, j in edges if not q_value[i, j] <= LEVEL}


def stability_page(found: Result, *, title: str = "", notes: str = "") -> str:
    """Return the page of a stability: the links that are found again, every pair, and how it was done."""
    import pandas as pd

    names, shares = list(found.frequency.columns), found.frequency.to_numpy(float)
    ends = sorted(edges_of(np.nan_to_num(shares) > 0), key=lambda edge: (-shares[edge], edge))
    looks: dict[Edge, Look] = {edge: (shares[edge], PLAIN) for edge in ends if shares[edge] >= SELDOM}
    seldom = {edge for edge in looks if shares[edge] < OFTEN}
    often = [edge for edge in ends if shares[edge] >= OFTEN]
    rows = [(names[i], names[j], float(shares[i, j])) for i, j in ends]
    said = [f"{source} → {target} is found again in {percent(share)} of the cuts." for source, target, share in rows]
    sure = f"{len(often)} solid, {len(ends) - len(often)} doubtful"
    told = ["If the recording is long enough, a true link is found in both halves of nearly every cut. A false link is "
            "seldom found twice.", missed(found.power, "In a half of")]  # fmt: skip
    advice = "See the links of the whole recording, each with its stability."
    if found.networks < MANY_HALVES:
        more = f"{MANY_HALVES // 2} cuts ({MANY_HALVES} networks) instead of {found.networks // 2}"
        advice = f"For finer shares make {more}. The command also infers the whole recording."
    command = f"em.infer(series, bootstrap={max(found.networks, MANY_HALVES)})"
    units = "whole trials" if found.block is None else f"blocks of {found.block} samples"
    listed = [[f"{source} → {target}", percent(share)] for source, target, share in rows]
    return small_page(
        "stability.html", "would each link be found again?",
        f"{len(often)} of {len(names) * (len(names) - 1)} possible links are found again in most cuts.",
        pd.DataFrame(rows, columns=["source", "target", "share"]), title, notes,
        picture=both_ways(looks, arranged(names, looks), "Links found again", seldom),
        answer=answer_block(said[:3] or ["No link is found again in any cut."], sure, told, advice, command),
        seldom=percent(SELDOM), often=percent(OFTEN), heat=stability_map(found),
        table=table(("link", "cuts with it in both halves"), listed) if rows else "",
        how=f"{found.networks} networks were inferred, two for each cut of the recording into halves made of {units}.",
    )  # fmt: skip


def stability_map(found: Result) -> str:
    """Return the shares of a stability as a heat map."""
    untested = np.full(found.frequency.shape, np.nan)
    return heat_map(found.frequency, untested, lambda share: f"{percent(share)} of cuts", top=1.0)


def comparison_parts(found: Result) -> dict[str, str]:
    """Return what page and notebook say and show of a comparison."""
    names, links, labels = list(found.difference.columns), found.links, found.labels
    change = found.difference.to_numpy(float)
    most = float(np.nanmax(np.abs(change), initial=0.0)) or 1.0
    picture = heat_map(found.difference, found.q_value, "{:+.4g} nats".format, top=most, signed=True)
    count = int((links.q_value <= LEVEL).sum())
    looks = _looks(found) if found.networks else {}
    numbers = links[["first", "second", "difference", "p_value", "q_value"]].to_numpy().tolist()
    rows = [[arrow, *values] for arrow, values in zip(links.source + " → " + links.target, numbers)]
    return {
        "headline": f"{count or 'None'} of {len(links)} pairs {'differ' if count > 1 else 'differs'}.",
        "sentences": text(" ".join(change_sentences(found))),
        "sides": side_by_side(names, looks) if looks else "",
        "first": text(labels[0]),
        "second": text(labels[1]),
        "most": f"{most:.3g}",
        "picture": picture,
        "table": table(("link", f"TE {labels[0]}", f"TE {labels[1]}", "difference", "p", "q"), rows),
    }


def pairs_within(network: Network) -> str:
    """Return the section on pairs that depend on each other within one sample; nothing where there are none."""
    if not network.marks:
        return ""
    marks = {
        "-->": "{a} drives {b}",
        "<--": "{b} drives {a}",
        "---": "direction not known",
        "<->": "a hidden driver of both",
    }
    rows = [
        [f"{row.a}, {row.b}", marks[row.mark].format(a=row.a, b=row.b), row.p_value, row.reason]
        for row in network.within.itertuples()
    ]
    how = "These pairs depend on each other in the same sample, given the past of all nodes."
    return _section("within", "Within one sample", how, shortened(("pair", "finding", "p", "why"), rows))


def hidden_section(network: Network) -> str:
    """Return the section on how strong a hidden driver must be to explain each link away."""
    edges = network.edges
    edges = edges[edges["robust"].notna()].sort_values("robust")
    if not len(edges):
        return ""
    rows = [
        [f"{row.source} → {row.target}", row.robust, row.strongest, *("yes" if one else "no" for one in row[-2:])]
        for row in edges.itertuples()
    ]
    how = (
        "A link may come from a hidden driver that explains at least this share of the residual variance of both its "
        "source and its target (partial R²; Cinelli and Hazlett 2020). For comparison: the strongest other driver that "
        "was recorded. Suggested: yes if the data suggest a hidden driver, or an effect within one sample that is "
        "not in the network. The target then depends within one sample on the source, or on another node that the "
        "source drives. This dependence, in nats, is at least half of the transfer entropy of the link. Fragile: yes "
        "if the link would not be significant, given a hidden driver as strong as the median link here."
    )
    head = ("link", "hidden driver needed (R²)", "strongest recorded (R²)", "suggested", "fragile")
    return _section("hidden-drivers", "Hidden drivers", how, shortened(head, rows))


def shortened(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    """Return a table of the first rows, and how many more there are."""
    more = f'<p class="quiet">and {len(rows) - MOST_ROWS} more</p>' if len(rows) > MOST_ROWS else ""
    return table(head, rows[:MOST_ROWS]) + more


def own_notes(notes: str) -> str:
    """Return the author's notes as a section, a paragraph for each part between blank lines; nothing without any."""
    paragraphs = "".join(f"<p>{text(part.strip())}</p>" for part in notes.split("\n\n") if part.strip())
    return f'<section id="notes"><h2>Notes</h2>{paragraphs}</section>' if paragraphs else ""


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
