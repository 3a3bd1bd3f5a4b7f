"""Cautions on links: dependence within one sample, hidden drivers, coarse sampling, links that change."""

from collections.abc import Sequence

from enmesh.errors import first_few
from enmesh.network.network import LEVEL, Network

SURE = 0.01  # error rate of a caution, over all pairs or links (Bonferroni)
SUSPECT = 0.01  # p-value up to which dependence within one sample counts as a sign of a hidden driver
SHARE = 0.5  # of the value of a link that this dependence must have (chosen on maps and VAR with two nodes hidden)
CHANGE = "links change"  # how the caution begins
Pair = tuple[str, str]


def cautions(network: Network, changes: Sequence[tuple[float, str, str]]) -> list[str]:
    """Return the cautions, first those on dependence within one sample; ``changes`` are p-values of links."""
    rows = sorted(network.together, key=lambda row: row[3])
    pairs = [(a, b) for a, b, _, _, q in rows if q <= LEVEL]
    found = []
    if rows and rows[0][3] * len(rows) <= SURE:
        asked = network.options.get("within_sample")
        found += [*(undirected(network) if asked else dependence(network, pairs)), *coarse_sampling(network, pairs)]
    return [*found, *changing(changes)]


def dependence(network: Network, pairs: Sequence[Pair]) -> list[str]:
    """Return the sentence on pairs that depend on each other within one sample, and on the links it puts in doubt."""
    said = f"within one sample: {first_few([f'{a} and {b}' for a, b in pairs], 4)} depend on each other given all pasts"
    links = [f"{s} -> {t}" for s, t in could_pass(network, pairs)]
    doubt = f"{first_few(links, 6)} may be indirect or come from a hidden driver" if links else (
        "A hidden driver, or an effect faster than one sample, may cause this"
    )  # fmt: skip
    return [f"{said}. {doubt}; within_sample=True tests the links given such pairs"]


def undirected(network: Network) -> list[str]:
    """Return the sentence on pairs of which both directions fit."""
    pairs = [f"{a} and {b}" for a, b, mark, *_ in network.marks if mark in ("---", "<->")]
    if not pairs:
        return []
    return [
        f"no direction within one sample: {first_few(pairs, 4)} depend on each other, and both directions fit. A "
        "hidden driver can cause this; if you know the direction, give tiers= or required="
    ]


def coarse_sampling(network: Network, pairs: Sequence[Pair]) -> list[str]:
    """Return the sentence on coarse sampling where pairs that depend within one sample are those linked at lag 1.

    An effect that takes less than one sample acts within it, and through the memory of its source at lag 1 too: the
    same pairs show both (Fisher's exact test). A hidden driver of nodes that drive no other does not do this.
    """
    from scipy.stats import hypergeom

    lags = network.edges[["source", "target", "lags"]].itertuples(index=False)
    near = {frozenset((s, t)) for s, t, some in lags if min((lag for lag in some if lag), default=0) == 1}
    both = sum(frozenset(pair) in near for pair in pairs)
    if float(hypergeom.sf(both - 1, len(network.together), len(near), len(pairs))) > SURE:
        return []
    return [
        f"coarse sampling: {both} of {len(pairs)} pairs that depend on each other within one sample also have a link "
        "at lag 1. Effects may take less than one sample; a recording with half the step would show who drives whom"
    ]


def changing(changes: Sequence[tuple[float, str, str]]) -> list[str]:
    """Return the sentence on links that change along the recording."""
    least = SURE / max(len(changes), 1)
    links = [f"{source} -> {target}" for p, source, target in sorted(changes) if p <= least]
    if not links:
        return []
    return [
        f"{CHANGE} along the recording: {first_few(links, 6)} (p = {min(changes)[0]:.2g}). One network does not "
        "hold throughout; em.regimes(series) finds when they change"
    ]


def could_pass(network: Network, pairs: Sequence[Pair]) -> list[Pair]:
    """Return the links whose source reaches the target through its own past, or another target, within one sample."""
    dependent, ways = {frozenset(pair) for pair in pairs}, reached(network)
    return [(s, t) for s, t in network if any(frozenset((k, t)) in dependent for k in ways[s] - {t})]


def reached(network: Network) -> dict[str, set[str]]:
    """Return of every node itself and the nodes it drives."""
    found = {name: {name} for name in network.names}
    for source, target in network:
        found[source].add(target)
    return found


def hidden_suspected(network: Network) -> set[Pair]:
    """Return the links that a hidden driver may make.

    Its target depends within one sample on the source, or on another node that the source drives, and no edge of lag 0
    explains this. The dependence has at least `SHARE` of the value of the link.
    """
    known = {frozenset(row[:2]) for row in network.marks if row[2] in ("-->", "<--")}
    value = {frozenset(row[:2]): row[2] for row in network.together if row[3] <= SUSPECT}
    ways, found = reached(network), set()
    for one in network.candidates:
        if one.selected and one.lag > 0:
            pairs = {frozenset((k, one.target)) for k in ways[one.source]} - known
            if max((value.get(pair, 0.0) for pair in pairs), default=0.0) > SHARE * one.te:
                found.add((one.source, one.target))
    return found


def feedback_at_one_lag(network: Network, a: str, b: str) -> bool:
    """Return whether two nodes drive each other at the same lag."""
    lags = {(c.source, c.target): {*c.lags} - {0} for c in network.candidates if c.selected}
    return bool(lags.get((a, b), set()) & lags.get((b, a), set()))
