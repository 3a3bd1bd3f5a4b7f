"""What the page says of a result, in plain words: the finding, how sure it is, what an arrow means, the methods.

Every sentence of the methods paragraph follows from the options and the provenance; what it says of an estimator,
score, surrogate, search or embedding method is said by its class.
"""

import math
import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any

from enmesh.draw.answer import surety, unit
from enmesh.draw.report import cite
from enmesh.draw.subject import LEVEL, Network, all_tests

GRID = (
    "The own past of each node: embedding dimension upward, delay to the right. Darker cells predict better. The dot "
    "is the choice. It is often not the darkest cell: several dimensions can predict equally well, within the error "
    "of the estimate. The smallest of these is taken, because a longer past can hide the drivers of the node."
)


def recording(network: Network) -> str:
    """Return the name of the file that was read; nothing where it is not known."""
    known = network.provenance.get("file")
    return PurePath(str(known).replace("\\", "/")).name if known else ""


def fewer_digits(text: str) -> str:
    """Return a text with long fractions cut to four digits.

    >>> fewer_digits("alpha 0.992424, 17 of 0.05")
    'alpha 0.9924, 17 of 0.05'
    """
    return re.sub(r"\d+\.\d{5,}(?!\d*e)", lambda found: f"{float(found[0]):.4g}", str(text))


def past(network: Network) -> str:
    """Return how the past of each node was chosen, in a sentence or two."""
    if "events" in network.provenance:
        return "Events have histories in continuous time instead of lags. The table of links has their time scales."
    if any("dims" in table and "delays" in table for table in network.criteria.values()):
        return GRID
    lags = sorted({lag for c in network.candidates for lag in c.lags})
    if network.criteria:
        return f"Lags were chosen from the data, pair by pair; those in use: {', '.join(map(str, lags))} samples."
    chosen = [str(value) for what, value, _ in network.choices if what in ("lags", "embedding")]
    if chosen:
        return f"Lags were chosen from the data: {'; '.join(chosen)}."
    given = "The embedding was given, not chosen from the data; its numbers are in the methods below."
    return given if lags in ([], [1]) else f"{given} Lags tested: {', '.join(map(str, lags))} samples."


def headline(network: Network) -> str:
    """Return the finding in one sentence: links found among those that were tested, and how many are doubtful."""
    found, possible = len(network), len(network.names) * (len(network.names) - 1)
    if not possible:
        return "One node: no link is possible."
    tested = sum(math.isfinite(c.q_value) for c in all_tests(network))
    sure = surety(network).solid if tested else found
    few = f" {tested:,} of {possible:,} possible pairs were tested." if 0 < tested < possible else ""
    if not found:
        return f"No link found among {possible:,} possible.{few}"
    if not sure:
        doubtful = f"{found} {'is' if found == 1 else 'are'} doubtful."
        return f"No sure link among {possible:,} possible; {doubtful}{few}"
    more = f" {found - sure} more {'is' if found - sure == 1 else 'are'} doubtful." if found > sure else ""
    if few:
        return f"{sure:,} link{'s' * (sure > 1)} found.{more}{few}"
    return f"{sure:,} of {possible:,} possible links found.{more}"


def standing(network: Network) -> str:
    """Return among what the network is the best, and what was left out."""
    options = network.options
    kind = "without feedback" if options.get("acyclic", True) else "with feedback allowed"
    limit = options.get("max_parents")
    most = f" and at most {limit} driver{'s' * (limit != 1)} of a node" if limit else ""
    among = f"among all networks of the tested links, {kind}{most}"
    sentences = [f"This is the best network found {among}. A better one may exist."]
    if network.optimal:
        sentences = [f"This network has the highest score {among} (proven)."]
    elif math.isfinite(network.bound):
        above = network.bound - network.score
        sentences = [f"This is the best network found {among}. No other scores more than {above:.3g} higher."]
    if network.evaluated:
        sentences.append(f"{network.evaluated:,} sets of drivers were compared.")
    if network.removed:
        listed = ", ".join(f"{source} → {target}" for source, target in network.removed[:6])
        more = f" and {len(network.removed) - 6} more" if len(network.removed) > 6 else ""
        cost = f" This costs {network.gap:.3g} of the score." if math.isfinite(network.gap) else ""
        sentences.append(f"Left out to avoid cycles: {listed}{more}.{cost}")
    return " ".join(sentences)


def caption(network: Network) -> str:
    """Return the caption of the figure of the network."""
    size = network.provenance.get("samples") or network.provenance.get("events")
    what = "samples" if network.provenance.get("samples") else "events"
    from_ = f" inferred from {size:,} {what}" if size else ""
    sure = surety(network)
    doubt = f" Dashed: q > {LEVEL:g} ({sure.doubtful})." if sure.doubtful else ""
    left = f" Dotted: left out because feedback was not allowed ({sure.left_out})." if sure.left_out else ""
    return (
        f"Directed network of {len(network.names)} nodes{from_} by transfer entropy. Arrows: {len(network)} links, "
        f"{sure.solid} with q ≤ {LEVEL:g}; width: transfer entropy in {unit(network)}.{doubt}{left} Colour: linear "
        "effect in standard deviations, grey where its sign is not established. Pale band: as wide as the 95 % "
        "interval."
    )


def links(network: Network) -> Any:
    """Return a table of the links, strongest first, with the words that stand over its columns."""
    edges = network.edges
    lags = [", ".join(f"{lag:g}" for lag in found) for found in edges["lags"]]
    shown = edges.iloc[:, :5].assign(lag=lags)
    shown.columns = ["source", "target", f"TE ({unit(network)})", "p", "q", "lag"]
    return shown.assign(stability=edges["stability"]) if edges["stability"].notna().any() else shown


def facts(network: Network) -> set[str]:
    """Return which of the page's sentences on the meaning of an arrow hold of a network (``data-if``)."""
    told = {
        "samples": "events" not in network.provenance,
        "events": "events" in network.provenance,
        "signed": any(math.isfinite(c.effect) for c in network.candidates),
        "halved": bool(network.stability),
        "acyclic": bool(network.options.get("acyclic", False)),
        "cyclic": network.options.get("acyclic") is False,
        "limits": any(row.get("low") is not None for row in network.evidence.values()),
        "negative": any(c.te < 0 for c in all_tests(network)),
    }
    return {fact for fact, holds in told.items() if holds}


def paragraph(network: Network) -> str:
    """Return the methods of this run as one paragraph."""
    known, options, nodes = network.provenance, network.options, len(network.names)
    score, what = options.get("score") or {}, "events" if "events" in known else "samples"
    trials = f" in {known['trials']} trials" if known.get("trials", 1) not in (None, 1) else ""
    size = f" ({known[what]} {what}{trials})" if known.get(what) else ""
    version = f" {known['enmesh']}" if "enmesh" in known else ""
    sentences = [
        f"Directed coupling among {nodes} nodes{size} was inferred by transfer entropy (Schreiber 2000) following "
        f"Cliff, Prokopenko and Fitch (2016), with enmesh{version}."
    ]
    if prepared := ", ".join(map(str, known.get("prepared") or ())):
        sentences.append(f"The recording was prepared before: {prepared}.")
    if how := _sentence(score.get("estimator")):
        sentences.append(f"Transfer entropy was estimated with {how}, in nats.")
    sentences.append(_embedding(network, score))
    by_links = score.get("type") == "LinkTest"
    if how := _sentence(score):
        sentences.append(f"{'Links were found' if by_links else 'Each node was scored'} by {how}.")
    if how := _sentence(options.get("search")):
        cycles = "acyclic network" if options.get("acyclic", True) else "network, cycles allowed,"
        limit = options.get("max_parents")
        most = f" with at most {limit} parents per node" if limit else ""
        proof = "is proven optimal" if network.optimal else "is not proven optimal"
        sentences.append(f"The best directed {cycles}{most} was found by {how}. It {proof} among the tested links.")
        if options.get("seed") is not None:
            sentences.append(f"Random numbers were seeded with {options['seed']}.")
    if tested := len(all_tests(network)):
        surrogates, possible = max(len(c.null) for c in all_tests(network)), nodes * (nodes - 1)
        how = f"against {surrogates} surrogates" if surrogates else "against its analytic null distribution"
        how = "in this way" if by_links else how
        which = f"{tested} candidate" if tested < possible else f"the {possible} possible"
        rest = f", counting all {possible} possible links" if tested < possible else ""
        sentences.append(
            f"Each of {which} links was then tested {how}, given the other parents of its target, and the p-values "
            f"were turned into q-values (Benjamini and Hochberg 1995){rest}."
        )
    if _halved(network):
        sentences.append(
            f"The inference was repeated on {options['bootstrap']} halves of the data, in complementary pairs (Shah "
            "and Samworth 2013); the stability of a link is the share of pairs in which both halves have it."
        )
    sure = f"; {surety(network).solid} with q up to {LEVEL}" if tested else ""
    sentences.append(f"The network has {len(network)} {'link' if len(network) == 1 else 'links'}{sure}.")
    return " ".join(filter(None, sentences))


def references(network: Network) -> tuple[str, ...]:
    """Return the works that the paragraph cites, the method's own first."""
    return cite.works(network, paragraph(network))


def _halved(network: Network) -> bool:
    return bool(network.stability and network.options.get("bootstrap"))


def _embedding(network: Network, score: Mapping[str, Any]) -> str:
    given = score.get("embedding") or {}
    if score.get("type") == "LinkTest":
        reach = given.get("searched") or score.get("max_lag")
        return (
            f"Own pasts and sources up to lag {reach} were chosen by forward selection. The p-value of a source allows "
            "for the choice of its lags, but not for the choice of the other sources."
        )
    if given.get("type") == "Lags" and given.get("searched"):
        return (
            f"The lags of own pasts and sources were chosen from the data, up to lag {given['searched']}; surrogates "
            "made the same choice."
        )
    if given.get("type") == "Lags":
        return "Sources and own pasts were taken at given lags."
    dims, delays, lags = (_span(given.get(part, 1)) for part in ("dim", "delay", "lag"))
    chosen = [method.sentence() for method in cite.criteria(network)]
    how = f", chosen per node by {' and '.join(chosen)}" if chosen else ""
    lag = f" and source lag {lags}" if lags != "1" else ""
    return f"Each node's past was embedded with dimension {dims}, delay {delays}{lag}{how}." if given else ""


def _sentence(described: Any) -> str:
    method = cite.described_method(described)
    return method.sentence() if method is not None else (described or {}).get("type", "")


def _span(value: Any) -> str:
    """Return one number, or the range of one per node."""
    if isinstance(value, int):
        return str(value)
    numbers = list(dict(value).values())
    return str(numbers[0]) if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"
