"""Cautions as a plan: which to act on first, the one command that does it, and which cautions it removes.

A caution is a sentence of `Network.warnings`. What to do is recognised by the remedy that it names.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from enmesh import late
from enmesh.draw.subject import Network
from enmesh.errors import InputError

MOST_NODES = 200  # up to which the cautions after the first step are computed
LONGEST_KIND = 28  # characters of the words before the colon of a caution


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


# Remedies in the order in which they are to be tried, wrong values first, since they make other cautions: how a message
# names one, what to do, and the words for it in the shell and in Python; {0} is what the message says, {nodes} are the
# nodes that it names, {other} is the last of them.
REMEDIES = (
    (r"na='([^']*)'", "Read {0} as a missing value.", "--na {0}", "em.infer(em.read({file}, na=['{0}']))"),
    (r"series\.mask\(", "Look at the odd samples of {nodes}, and mask them.", "--mask FROM:TO",
     "em.infer(series.mask(ROWS))"),
    (r"^synchronis", "Leave out {other}: it repeats another node.", "", "em.infer(series.select(KEPT))"),
    (r"series\.detrend\(\)", "Remove the trend of {nodes}.", "--detrend", "em.infer(series.detrend())"),
    (r"series\.deseason\(period=(\d+)\)", "Remove the common period of {0} samples.", "--season {0}",
     "em.infer(series.deseason({0}))"),
    (r"series\.difference\(\)", "Take differences: {nodes} may not be stationary.", "--difference",
     "em.infer(series.difference())"),
    (r"^within one sample:", "Orient the links within one sample, or record faster.", "--within-sample",
     "em.infer(series, within_sample=True)"),
    (r"^coarse sampling:", "Record with a smaller step, if you can.", "", ""),
    (r"at lag (\d+), the largest", "Test longer lags.", "--max-lag {double}", "em.infer(series, max_lag={double})"),
    (r"raise max_parents", "Allow more parents of a node.", "--max-parents MORE", "em.infer(series, max_parents=MORE)"),
    (r"allow cycles", "Allow feedback.", "--allow-cycles", "em.infer(series, acyclic=False)"),
    (r"^no direction within one sample:", "Say which of two nodes comes first, if you know.", "",
     "em.infer(series, within_sample=True, tiers=[[FIRST], [SECOND]])"),
    (r"^links change", "Infer one network for each part between changes.", "enmesh regimes", "em.regimes(series)"),
    (r"parts of the record", "Look at the links over time.", "", "em.windows(series, width={width}, step={step})"),
)  # fmt: skip
PREPARED: dict[str, Callable[..., Any]] = {
    "--detrend": lambda series, _: series.detrend(),
    "--difference": lambda series, _: series.difference(),
    "--season {0}": lambda series, words: series.deseason(int(words[0])),
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
    if typed and flag.startswith("enmesh "):
        return f"{flag} {network.provenance.get('file') or 'FILE'}"
    if typed and flag:
        return f"{typed} {flag}"
    return python if python.startswith("em.") else f"em.infer(series, {python})"


def _step(network: Network, message: str) -> Step:
    nodes = named(network, message)
    for rank, (pattern, advice, flag, python) in enumerate(REMEDIES):
        if not (found := re.search(pattern, message)):
            continue
        words = {"nodes": _few(nodes) or "the nodes", "other": nodes[-1] if nodes else "one"}
        known = network.provenance
        shortest = min(known.get("lengths") or [known.get("samples") or 0])  # of the trials
        words |= {"width": f"{shortest // 8 or 'WIDTH'}", "step": f"{shortest // 32 or 'STEP'}"}
        words["file"] = repr(known["file"]) if known.get("file") else "FILE"
        words["double"] = str(2 * int(found[1])) if "lag" in pattern and found.groups() else ""
        told, typed, code = (part.format(*found.groups(), **words) for part in (advice, flag, python))
        kept = [name for name in network.names if name != words["other"]]
        code = code.replace("KEPT", str(kept) if len(kept) <= 12 else f"[n for n in series if n != {nodes[-1:]!r}]")
        command = repeated(network, _columns(kept) if pattern.startswith("^sync") else typed, code)
        return Step(message=message, nodes=nodes, rank=rank, advice=told, command=command)
    return Step(message=message, nodes=nodes)


def _columns(kept: list[str]) -> str:
    """Return the option that keeps nodes, where their names can be typed."""
    typable = len(kept) <= 12 and all(re.fullmatch(r"[\w.-]+", name) for name in kept)
    return f"--columns {','.join(kept)}" if typable else ""


def _few(nodes: tuple[str, ...]) -> str:
    return ", ".join(nodes[:3]) + (f" and {len(nodes) - 3} more" if len(nodes) > 3 else "")


def named(network: Network, message: str) -> tuple[str, ...]:
    """Return the nodes that a caution names: in brackets, before a colon, or at the ends of an arrow."""
    found = set()
    for name in network.names:
        odd = re.escape(name)
        if re.search(rf"(?<![^\s(,]){odd}(?=[),:]| and | share | ->|$)|(?:-> ?|and ){odd}(?=[\s),:]|$)", message):
            found.add(name)
    return tuple(name for name in network.names if name in found)


def _after(network: Network, step: Step) -> int | None:
    """Return how many cautions on the data are gone after the first step; None where that cannot be computed."""
    pattern, _, flag, _ = REMEDIES[step.rank]
    series = network.series
    if flag not in PREPARED or not hasattr(series, "detrend") or len(network.names) > MOST_NODES:
        return None
    diagnose = late.lazy_import("diagnose")
    found = re.search(pattern, step.message)
    try:
        prepared = PREPARED[flag](series, found.groups() if found else ())
    except InputError:  # of states, say, which have no trend
        return None
    before, after = (len(diagnose(one, max_parents=1)) for one in (series, prepared))
    return before - after
