"""Cautions as a plan: which to act on first, the one command that does it, and which cautions it removes.

A caution is a sentence of `Network.warnings`. What to do is recognised by the remedy that it names.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from enmesh import late
from enmesh.draw.subject import Network
from enmesh.errors import InputError, collected_hazards

MOST_NODES = 200  # up to which the cautions after the first step are computed
LONGEST_KIND = 28  # characters of the words before the colon of a caution
CLAUSE = r"[;.] [^;.]*(\b(series|em)\.\w+\(|\b(na|tiers|within_sample)=).*$"  # what to do, in the words of Python
MOST_TYPED = 12  # nodes or windows that a command lists


@dataclass(frozen=True, kw_only=True)
class Step:
    """One caution: the sentence, the nodes it names, and where there is one, what to do and the command for it."""

    message: str
    nodes: tuple[str, ...] = ()
    rank: int = 99
    advice: str = ""
    command: str = ""
    removes: int | None = None  # cautions that are gone after the command, where that was computed

    @property
    def kind(self) -> str:
        """What the caution is about, in a few words: those before its colon, or else what to do."""
        kind, colon, _ = self.message.partition(":")
        if colon and len(kind) <= LONGEST_KIND:
            return kind
        return self.advice.rstrip(".").lower() or " ".join(self.message.split()[:6]) + " …"

    @property
    def reason(self) -> str:
        """The caution without a last clause in the words of Python, where the command says what to type."""
        return re.sub(CLAUSE, "", self.message) if self.command else self.message


# Remedies in the order in which they are to be tried, wrong values first, since they make other cautions: how a message
# names one, what to do, and the words for it in the shell and in Python. {0} is what the message says; the rest is
# filled in by `_words`. A command with words that are not known is left out.
REMEDIES = (
    (r"na='([^']*)'", "Read {0} as a missing value.", "--na {typed}", "em.infer({read})"),
    (r"series\.mask\(", "Look at the odd samples of {nodes}, and mask them.", "{masks}",
     "em.infer(series.mask({rows}))"),
    (r"^synchronis", "Leave out {other}: it repeats another node.", "--columns {columns}",
     "em.infer(series.select({kept}))"),
    (r"series\.detrend\(\)", "Remove the trend of {nodes}.", "--detrend", "em.infer(series.detrend())"),
    (r"series\.deseason\(period=(\d+)\)", "Remove the period of {0} samples, if it comes from outside.", "--season {0}",
     "em.infer(series.deseason({0}))"),
    (r"series\.difference\(\)", "Take differences: {nodes} may not be stationary.", "--difference",
     "em.infer(series.difference())"),
    (r"^within one sample:", "Orient the links within one sample, or record faster.", "--within-sample",
     "em.infer(series, within_sample=True)"),
    (r"^coarse sampling:", "Record with a smaller step, if you can.", "", ""),
    (r"at lag (\d+), the largest", "Test longer lags.", "--max-lag {double}", "em.infer(series, max_lag={double})"),
    (r"(?:max_parents=|at most )(\d+).*raise max_parents", "Allow more parents of a node.", "--max-parents {double}",
     "em.infer(series, max_parents={double})"),
    (r"allow cycles", "Allow feedback.", "--allow-cycles", "em.infer(series, acyclic=False)"),
    (r"^no direction within one sample:", "Say which node comes first, if you know: {first}, say.", "",
     "em.infer(series, within_sample=True, tiers=[[{first!r}], [{other!r}]])"),
    (r"^links change", "Infer one network for each part between changes.", "enmesh regimes {file}",
     "em.regimes(series)"),
    (r"parts of the record", "Look at the links over time.", "", "em.windows(series, width={width}, step={step})"),
)  # fmt: skip
PREPARED: dict[str, Callable[..., Any]] = {
    "--na {typed}": lambda series, words: series.mask(_equal(series, words["0"])),
    "{masks}": lambda series, words: series.mask(words["odd"]),
    "--columns {columns}": lambda series, words: series.select([n for n in series.names if n != words["other"]]),
    "--detrend": lambda series, _: series.detrend(),
    "--difference": lambda series, _: series.difference(),
    "--season {0}": lambda series, words: series.deseason(int(words["0"])),
}


def plan(network: Network) -> list[Step]:
    """Return the cautions of a network, what to do first first; those without a remedy come last."""
    steps = [_step(network, message) for message in network.warnings]
    return [step for _, step in sorted(enumerate(steps), key=lambda found: (found[1].rank, found[0]))]


def planned(network: Network) -> list[Step]:
    """Return the plan, with the number of cautions that its first command removes where the data are in memory."""
    steps = plan(network)
    if steps and steps[0].command and (found := _after(network, steps[0])) is not None:
        steps[0] = replace(steps[0], removes=found)
    return steps


def repeated(network: Network, flag: str, python: str) -> str:
    """Return the command of a network with one more option, or another command, in the language it was given in."""
    typed = network.provenance.get("command")
    if typed and flag:
        return flag if flag.startswith("enmesh ") else f"{typed} {flag}"
    return python if python.startswith("em.") or not python else f"em.infer(series, {python})"


def _step(network: Network, message: str) -> Step:
    nodes = named(network, message)
    for rank, (pattern, advice, flag, python) in enumerate(REMEDIES):
        if found := re.search(pattern, message):
            words = _words(network, message, nodes, found.groups())
            flag, python = (_filled(part, words) for part in (flag, python))
            command = repeated(network, flag, python)
            return Step(message=message, nodes=nodes, rank=rank, advice=_filled(advice, words), command=command)
    return Step(message=message, nodes=nodes)


def _filled(text: str, words: Mapping[str, Any]) -> str:
    """Return a text with its words; nothing where one of them is not known."""
    asked = re.findall(r"\{(\w+)", text)
    return text.format(*[words.get("0")], **words) if all(words.get(name) for name in asked) else ""


def _words(network: Network, message: str, nodes: tuple[str, ...], said: tuple[str, ...]) -> dict[str, Any]:
    """Return what advice and commands are filled with; empty what is not known."""
    known, series = network.provenance, getattr(network, "series", None)
    file, other = known.get("file"), nodes[-1] if nodes else "one"
    kept = [name for name in network.names if name != other]
    typable = len(kept) <= MOST_TYPED and all(re.fullmatch(r"[\w.-]+", name) for name in kept)
    trials = known.get("lengths") or getattr(series, "lengths", ()) or [known.get("samples") or 0]
    words = {
        "nodes": ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "") or "the nodes",
        "first": nodes[0] if nodes else "", "other": other, "file": file or "",
        "columns": ",".join(kept) if typable else "",
        "kept": kept if len(kept) <= MOST_TYPED else f"[n for n in series.names if n != {other!r}]",
        "width": f"{min(trials) // 8 or ''}", "step": f"{min(trials) // 32 or ''}",
    }  # fmt: skip
    if said:
        values = said[0].split(", ")
        cells = "|".join(f"(series.values == {value})" for value in values)
        cells = cells if len(values) == 1 else f"({cells})"
        read = f"em.read({file!r}, na={values})" if file else f"series.mask({cells}.any(axis=1))"
        words |= {"0": said[0], "typed": ",".join(values), "read": read}
        words["double"] = str(2 * int(said[0])) if said[0].isdecimal() else ""
    if "series.mask(" in message and hasattr(series, "mask"):
        words |= _odd(series, message.partition(":")[0], nodes)
    return words


def _odd(series: Any, kind: str, nodes: tuple[str, ...]) -> dict[str, Any]:
    """Return the samples of spikes or of a stuck sensor as words, where they are few windows."""
    odd = late.lazy_import("odd samples")(series, kind, nodes)
    edges = np.flatnonzero(np.diff(np.r_[False, odd, False]))
    windows = list(zip(edges[::2].tolist(), edges[1::2].tolist()))
    if not 0 < len(windows) <= MOST_TYPED:
        return {}
    parts = [f"*range({a}, {b})" if b > a + 1 else f"{a}" for a, b in windows]
    rows = f"slice{windows[0]}" if len(windows) == 1 else f"[{', '.join(parts)}]"
    return {"odd": odd, "rows": rows, "masks": " ".join(f"--mask {a + 1}:{b}" for a, b in windows)}


def _equal(series: Any, said: str) -> np.ndarray:
    """Return which samples hold one of the values, ``"-999, 99"``."""
    return np.asarray(np.isin(series.values, [float(value) for value in said.split(", ")]).any(axis=1))


def named(network: Network, message: str) -> tuple[str, ...]:
    """Return the nodes that a caution names: in brackets, in a list, before a colon, or at the ends of an arrow."""
    found = []
    for name in network.names:
        odd = re.escape(name)
        ends = rf"(?<![^\s(,]){odd}(?=[),:]| and | share | lies far| is far| ->|$)|-> ?{odd}(?=[\s),:]|$)"
        pairs = (message[: one.start()] for one in re.finditer(rf" and {odd}(?=[\s),:]|$)", message))
        listed = (f" {before}".endswith((f" {other}", f"({other}")) for before in pairs for other in network.names)
        if re.search(ends, message) or any(listed):
            found.append(name)
    return tuple(found)


def _after(network: Network, step: Step) -> int | None:
    """Return how many cautions on the data are gone after the first step; None where that cannot be computed."""
    pattern, _, flag, _ = REMEDIES[step.rank]
    series, found = network.series, re.search(pattern, step.message)
    if found is None or flag not in PREPARED or not hasattr(series, "detrend") or len(network.names) > MOST_NODES:
        return None
    diagnose = late.lazy_import("diagnose")
    try:
        with collected_hazards(show=False):
            prepared = PREPARED[flag](series, _words(network, step.message, step.nodes, found.groups()))
            before, after = (len(diagnose(one, max_parents=1)) for one in (series, prepared))
    except InputError:  # of states, say, which have no trend
        return None
    return before - after
