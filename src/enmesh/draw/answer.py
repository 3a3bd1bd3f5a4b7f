"""The answer in words: who drives whom, after how long, how strongly, how sure that is, and what to do next.

Page, notebook and terminal say the same sentences. The transfer entropy of a link is everywhere the network's own.
"""

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enmesh.draw.cautions import plan, repeated
from enmesh.draw.subject import LEVEL, Network, all_tests
from enmesh.errors import InputError, first_few
from enmesh.late import lazy_import

SENTENCES = 3
ERRORS, STRAIGHT = 2.0, 2 / 3  # standard errors that make a sign, and the least share on a straight line
USUAL_LEVEL = 0.01  # error rate of a link where the run does not say
CHI2 = 5.991464547107979  # 95 % point of chi-square with two degrees of freedom
LONG = ((86400.0, "day"), (3600.0, "h"), (60.0, "min"))
NUMBERED = {"samples": "sample", "time units": "time"}  # units that are no unit of time
PLURAL = ("day", "week", "month", "year", "sample")


@dataclass(frozen=True, kw_only=True)
class Surety:
    """How many links are solid (q at most 0.05), doubtful, and left out because they would close a loop."""

    solid: int
    doubtful: int
    left_out: int

    def __str__(self) -> str:
        counts = [(self.solid, "solid"), (self.doubtful, "doubtful"), (self.left_out, "left out")]
        return ", ".join(f"{count} {word}" for count, word in counts if count or word != "left out")


def surety(network: Network) -> Surety:
    """Return how many links are solid, doubtful and left out."""
    solid = sum(c.selected and c.q_value <= LEVEL for c in network.candidates)
    return Surety(solid=solid, doubtful=len(network) - solid, left_out=len(network.removed))


def unit(network: Network) -> str:
    """Return what a transfer entropy is measured in: nats, or for events a rate."""
    estimator = (network.options.get("score") or {}).get("estimator") or {}
    per = {"time": "unit of time"}.get(estimator.get("per", "time"), "event")
    return f"nats per {per}" if "events" in network.provenance else "nats"


def later(network: Network, lag: float) -> str:
    """Return a lag in the unit of the recording: ``"8 ms"``, ``"3 months"``, ``"2 samples"``."""
    if "events" in network.provenance:
        return f"{lag:.3g} {_plural('unit', lag)} of time"
    if lag == 0:
        return "less than one sample"
    samples = f"{lag:g} {_plural('sample', lag)}"
    step = re.fullmatch(r"([-+.\de]+) ?(.*)", str(network.provenance.get("every") or ""))
    if not step:
        return samples
    value, name = lag * float(step[1]), step[2]
    if not name:
        return f"{samples} ({value:.4g} {_plural('time unit', value)})"
    return in_units(value, name)


def in_units(value: float, name: str) -> str:
    """Return a time in the unit that reads best.

    >>> in_units(0.008, "s"), in_units(7200, "s"), in_units(3, "months"), in_units(1, "day")
    ('8 ms', '2 h', '3 months', '1 day')
    """
    name = name.removesuffix("s") if name.removesuffix("s") in PLURAL else name
    if name == "s" and value < 1:
        value, name = (1000 * value, "ms") if value >= 1e-3 else (1e6 * value, "µs")
    elif name == "s":
        size, name = next(((size, long) for size, long in LONG if value >= 2 * size), (1.0, "s"))
        value /= size
    return f"{value:.4g} {_plural(name, value)}"


def spell(time: float, unit: str) -> str:
    """Return a time of a recording with its unit: ``"sample 100"``, ``"time 0.5"``, ``"3 days"``."""
    if unit in NUMBERED:
        return f"{NUMBERED[unit]} {time:g}"
    return f"{time:g} {_plural(unit.removesuffix('s') if unit.removesuffix('s') in PLURAL else unit, time)}"


def _plural(name: str, value: float) -> str:
    return f"{name}s" if name in (*PLURAL, "unit", "time unit") and value != 1 else name


def sentences(network: Network) -> list[str]:
    """Return at most three sentences: the strongest links, and who drives most or the feedback."""
    edges = network.edges
    if not len(edges):
        return _nothing(network)
    rows = edges.to_dict("records")
    if len(rows) <= SENTENCES:
        return [link_sentence(network, row) for row in rows]
    return [*(link_sentence(network, row) for row in rows[: SENTENCES - 1]), _hubs(rows)]


def link_sentence(network: Network, row: Mapping[str, Any]) -> str:
    """Return a link in words; ``row`` is one of `Network.edges`."""
    source, target = row["source"], row["target"]
    drives = "drives" if row["q_value"] <= LEVEL else "may drive"
    if not math.isfinite(row["te"]):
        return f"{source} drives {target} (not tested)."
    about = network.evidence.get(f"{source}>{target}") or {}
    limits = ""
    if about.get("low") is not None and about.get("high") is not None:
        limits = f" (95 % interval {about['low']:.3g} to {about['high']:.3g})"
    return f"{source} {drives} {target} after {later(network, row['lag'])}: {row['te']:.3g} {unit(network)}{limits}."


def _hubs(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return who drives most nodes, and who is driven by most."""
    out, into = Counter(row["source"] for row in rows), Counter(row["target"] for row in rows)
    (first, most), (last, by) = out.most_common(1)[0], into.most_common(1)[0]
    if most == 1 and by == 1:
        return f"{len(rows)} links in all. No node drives more than one other, and none has more than one driver."
    nodes = f"{most} {'node' if most == 1 else 'nodes'}"
    return f"{first} drives the most nodes ({nodes}); {last} has the most drivers ({by})."


def _nothing(network: Network) -> list[str]:
    """Return what an empty network says: nothing found, what would have been missed, which pair came nearest."""
    if len(network.names) < 2:
        return ["A link needs two nodes."]
    said = ["This does not prove that there is no link."]
    said += filter(None, [reach(network)])
    tested = [c for c in all_tests(network) if math.isfinite(c.p_value)]
    if tested:
        near = min(tested, key=lambda c: (c.p_value, c.source, c.target))
        p = f"{near.p_value:.2g}"
        pair = f"{near.source} → {near.target}"
        said.append(f"The smallest p-value is {p}, of {pair} ({near.te:.2g} {unit(network)}); it is not significant.")
    return said


def certainty(network: Network) -> list[str]:
    """Return sentences on loops, on links that a hidden driver may make, and on what the recording could show."""
    return [part for part in (feedback(network), hidden_drivers(network), reach(network)) if part]


def hidden_drivers(network: Network) -> str:
    """Return which links may come from a driver that was not recorded."""
    found = [f"{c.source} → {c.target}" for c in network.candidates if c.selected and c.hidden]
    return f"An effect within one sample, or a hidden driver, may cause {first_few(found, 4)}." if found else ""


def weakest(network: Network, samples: int = 0) -> Any:
    """Return the `Power` of a network, or of its test on so many samples; None where it is not known."""
    known = network.provenance
    if not isinstance(known.get("samples"), int) or "events" in known or len(network.names) < 2:
        return None
    try:
        found = lazy_import("power")(network)
    except InputError:  # states were counted, and the series that says how many there are is not in memory
        return None
    return replace(found, samples=samples, trials=1) if samples else found


def reach(network: Network) -> str:
    """Return which links the recording could show at all, and how many samples would show weaker ones."""
    return _reach_of_events(network) if "events" in network.provenance else missed(weakest(network))


def missed(found: Any, where: str = "With") -> str:
    """Return a `Power` as a sentence on the links that are found, and those that are missed; nothing without one."""
    if found is None:
        return ""
    if not math.isfinite(found.smallest):
        return f"{where} {found.samples:,} samples no link can be shown; record more."
    fewer = found.smallest / 4
    needed = round_up(found.samples_needed(fewer))
    return (
        f"{where} {found.samples:,} samples, 4 of 5 {found.kind}links of {found.smallest:.2g} nats are found; "
        f"weaker links are often missed. Links of {fewer:.2g} nats need about {needed:,} samples."
    )


def _reach_of_events(network: Network) -> str:
    """Return what a recording of events could show, from the spread of the surrogates.

    With a link of T nats the estimate varies more than without it: by 2 T / N for N units of time, or events.
    """
    from scipy.special import ndtri

    known, score = network.provenance, network.options.get("score") or {}
    spread = [float(np.std(c.null)) for c in network.candidates if len(c.null)]
    size = known["events"] if "event" in unit(network) else known.get("duration")
    if not spread or not size:
        return ""
    beyond = ndtri(score.get("alpha") or 1 - USUAL_LEVEL)

    def smallest(times: float) -> float:
        """Return the least T that is found in 4 of 5 recordings so many times as long."""
        sd, found = float(np.median(spread)) / math.sqrt(times), 0.0
        for _ in range(40):
            found = beyond * sd + ndtri(0.8) * math.sqrt(sd**2 + 2 * found / (times * size))
        return found

    return (
        f"With {known['events']:,} events, about 4 of 5 links of {smallest(1):.2g} {unit(network)} are found; weaker "
        f"links are often missed. Links of {smallest(4):.2g} need about four times as many."
    )


def round_up(count: int) -> int:
    """Return a number of two digits and zeros that is not smaller.

    >>> round_up(1234), round_up(99)
    (1300, 99)
    """
    unit = 10 ** max(0, len(str(count)) - 2)
    return -(-count // unit) * unit


def loops(network: Network) -> list[tuple[str, ...]]:
    """Return the groups of nodes that drive one another in circles, largest first, in the order of the network."""
    import networkx as nx

    graph = nx.DiGraph([(s, t) for t in network.names for s in network.parents[t]])
    place = {name: at for at, name in enumerate(network.names)}
    found = [tuple(sorted(part, key=place.__getitem__)) for part in nx.strongly_connected_components(graph)]
    return sorted((part for part in found if len(part) > 1), key=lambda part: (-len(part), place[part[0]]))


def feedback(network: Network) -> str:
    """Return a sentence on the loops of a network, or on the links that were left out to avoid them."""
    found = loops(network)
    if network.removed:
        listed = ", ".join(f"{source} → {target}" for source, target in network.removed[:3])
        more = f" and {len(network.removed) - 3} more" if len(network.removed) > 3 else ""
        return f"Left out because feedback was not allowed: {listed}{more} (dotted)."
    if not found:
        return ""
    some = "; ".join(" ⇄ ".join(part) if len(part) == 2 else _ring(part) for part in found[:2])
    more = f"; {len(found) - 2} more" if len(found) > 2 else ""
    return f"Feedback: {some}{more}."


def _ring(part: Sequence[str]) -> str:
    return f"a loop of {', '.join(part)}" if len(part) <= 4 else f"{len(part)} nodes drive one another in loops"


def following(network: Network) -> tuple[str, str]:
    """Return what to do next: a sentence, and a command that does it."""
    steps = plan(network)
    if steps and steps[0].advice:
        return steps[0].advice, steps[0].command
    if network.removed:
        return "Allow feedback, and compare.", repeated(network, "--allow-cycles", "acyclic=False")
    if "events" in network.provenance:
        return _more_surrogates(network)
    if not len(network):
        longest = 2 * max([5, *(max(c.lags) for c in network.candidates)])
        if not network.candidates:
            return "", ""
        return "Test longer lags, or record more samples.", repeated(
            network, f"--max-lag {longest:g}", f"max_lag={longest:g}"
        )
    if not network.stability:
        again = repeated(network, "--bootstrap 100", "bootstrap=100")
        return "Test whether each link is found again in halves of the data.", again
    return "", ""


def _more_surrogates(network: Network) -> tuple[str, str]:
    """Return the next step for events: more surrogates for the least sure link, or else for the nearest to one."""
    tested = [c for c in network.candidates if math.isfinite(c.p_value)]
    links = [c for c in tested if c.selected]
    if not tested:
        return "", ""
    way = (max if links else min)(links or tested, key=lambda c: (c.p_value, -c.te))
    given = [name for name in network.parents[way.target] if name != way.source]
    more = f", given={given!r}" if given else ""
    what = "link with the largest p-value" if links else "pair with the smallest p-value"
    ask = f"em.significance(events, {way.source!r}, {way.target!r}{more}, n_surrogates=999)"
    return f"Test the {what}, {way.source} → {way.target}, with more surrogates.", ask


def effect_sign(about: Mapping[str, Any] | None) -> str:
    """Return ``"up"`` or ``"down"`` for a straight effect of at least two standard errors, ``"curved"``, or nothing.

    ``about`` is what `Network.evidence` holds of a link.
    """
    if not about or not math.isfinite(about.get("effect") or math.nan):
        return ""
    if _is_curved(about):
        return "curved"
    error = about.get("effect_error") or math.nan
    if not abs(about["effect"]) >= ERRORS * error:
        return ""
    return "up" if about["effect"] > 0 else "down"


def _is_curved(about: Mapping[str, Any]) -> bool:
    """Return whether a link that is not doubtful bends.

    That is where a straight line leaves a third of the smooth curve through the scatter unexplained, and the linear
    effect, in its standard errors, accounts for less than two thirds of the transfer entropy (2 N T = t^2).
    """
    q, curve = about.get("q_value"), about.get("curve")
    curve = np.array([] if curve is None else curve, float).reshape(-1, 2)
    if q is None or q > LEVEL or len(curve) < 3 or not (np.ptp(curve, axis=0) > 0).all():
        return False
    if np.corrcoef(curve.T)[0, 1] ** 2 >= STRAIGHT:
        return False
    error, chance = about.get("effect_error"), about.get("chance")
    if not error or not chance or not about.get("te"):
        return True
    linear = (about["effect"] / error) ** 2 * chance / CHI2  # chance is the 95 % point of chi-square(2) over 2 N
    return bool(linear < STRAIGHT * about["te"])


def heard(network: Network) -> list[str]:
    """Return every link in words, strongest first, for those who listen to the page."""
    signs = {"up": "raises it", "down": "lowers it", "curved": "curved dependence"}
    said = []
    for row in network.edges.to_dict("records"):
        sure = "solid" if row["q_value"] <= LEVEL else "doubtful"
        sign = signs.get(effect_sign(network.evidence.get(f"{row['source']}>{row['target']}")), "")
        said.append(f"{link_sentence(network, row)} {', '.join(filter(None, (sure, sign)))}")
    said += [f"{s} → {t} was left out because it would close a loop." for s, t in network.removed]
    return said
