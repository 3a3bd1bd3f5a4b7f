"""What the page says of a result, in plain words: the finding, how sure it is, what an arrow means, the methods.

Every sentence of the methods paragraph follows from the options and the provenance; what it says of an estimator,
score, surrogate, search or embedding method is said by its class.
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from enmesh.draw.subject import LEVEL, Network
from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.options import known_options, restore

GRID = (
    "How much of its own past each node needs: dimension upward, delay to the right, darker is better. The dot is "
    "the choice. It is often not on the darkest cell: of the dimensions that predict as well as the best one, as "
    "far as the recording can tell, the smallest is taken, because a longer past can hide who drives the node."
)
CLIFF = (
    "Cliff, O. M., Prokopenko, M. and Fitch, R. (2016). Inferring Coupling of Distributed Dynamical Systems "
    "via Transfer Entropy. Preprint; extended in Entropy 20(2), 51 (2018), doi:10.3390/e20020051."
)
SCHREIBER = "Schreiber, T. (2000). Measuring Information Transfer. Physical Review Letters 85, 461."
BENJAMINI = (
    "Benjamini, Y. and Hochberg, Y. (1995). Controlling the False Discovery Rate: a Practical and Powerful "
    "Approach to Multiple Testing. Journal of the Royal Statistical Society B 57, 289."
)
SHAH = (
    "Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability "
    "selection. Journal of the Royal Statistical Society B 75, 55."
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


def te_unit(network: Network) -> str:
    """Return what transfer entropy is in: of samples nats, of events a rate."""
    estimator = (network.options.get("score") or {}).get("estimator") or {}
    per = {"time": "unit of time"}.get(estimator.get("per", "time"), "event")
    return f"nats per {per}" if "events" in network.provenance else "nats"


def past(network: Network) -> str:
    """Return how the past of each node was chosen, in a sentence or two."""
    if "events" in network.provenance:
        return "Histories in continuous time take the place of lags; the table of links has the time scale of each."
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
    """Return the finding in one sentence: links with q up to 0.05, and how many more the score kept."""
    found, possible = len(network), len(network.names) * (len(network.names) - 1)
    if not possible:
        return "One node: no link is possible."
    tested = any(math.isfinite(c.q_value) for c in network.candidates)
    sure = sure_links(network) if tested else found
    if not found:
        return f"No link found among {possible} possible."
    if not sure:
        kept = f"{found} {'was' if found == 1 else 'were'} kept by the score."
        return f"No link among {possible} possible has q ≤ {LEVEL:g}; {kept}"
    more = f" {found - sure} more kept by the score." if found > sure else ""
    return f"{sure} of {possible} possible links found.{more}"


def standing(network: Network) -> str:
    """Return how good the network is among all that were allowed, and how many of its links are sure."""
    sentences = ["The best network found; a better one may exist."]
    if network.optimal:
        sentences = ["Proven optimal: no allowed network has a higher score."]
    elif math.isfinite(network.bound):
        above = network.bound - network.score
        sentences = [f"The best network found; no allowed one can score more than {above:.3g} higher."]
    found, sure = len(network), sure_links(network)
    if found and network.candidates and sure == found:
        sentences.append(f"{'Every' if found > 1 else 'The'} link has q ≤ {LEVEL}.")
    elif found and network.candidates:
        has = "has" if sure == 1 else "have"
        sentences.append(f"{sure} of the {found} {has} q ≤ {LEVEL}; doubtful links are dashed.")
    if network.removed:
        listed = ", ".join(f"{source} → {target}" for source, target in network.removed[:6])
        more = f" and {len(network.removed) - 6} more" if len(network.removed) > 6 else ""
        sentences.append(f"Left out to avoid cycles: {listed}{more}.")
    return " ".join(sentences)


def links(network: Network) -> Any:
    """Return a table of the links, strongest first, with the words that stand over its columns."""
    edges = network.edges
    lags = [", ".join(f"{lag:g}" for lag in found) for found in edges["lags"]]
    shown = edges.iloc[:, :5].assign(lag=lags)
    shown.columns = ["source", "target", f"TE ({te_unit(network)})", "p", "q", "lag"]
    return shown.assign(stability=edges["stability"]) if edges["stability"].notna().any() else shown


def facts(network: Network) -> set[str]:
    """Return which of the page's sentences on the meaning of an arrow hold of a network (``data-if``)."""
    told = {
        "samples": "events" not in network.provenance,
        "events": "events" in network.provenance,
        "signed": any(math.isfinite(c.effect) for c in network.candidates),
        "halved": bool(network.stability),
        "acyclic": bool(network.options.get("acyclic", False)),
        "negative": any(c.te < 0 for c in network.candidates),
    }
    return {fact for fact, holds in told.items() if holds}


def sure_links(network: Network) -> int:
    """Return the number of links with a q-value up to `LEVEL`."""
    return sum(c.selected and c.q_value <= LEVEL for c in network.candidates)


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
    if how := _sentence(score):
        sentences.append(f"Each node was scored by {how}.")
    if how := _sentence(options.get("search")):
        cycles = "acyclic network" if options.get("acyclic", True) else "network, cycles allowed,"
        limit = options.get("max_parents")
        most = f" with at most {limit} parents per node" if limit else ""
        proof = "is proven optimal" if network.optimal else "is not proven optimal"
        sentences.append(f"The best directed {cycles}{most} was found by {how} and {proof}.")
        if options.get("seed") is not None:
            sentences.append(f"Random numbers were seeded with {options['seed']}.")
    if tested := len(network.candidates):
        surrogates, possible = max(len(c.null) for c in network.candidates), nodes * (nodes - 1)
        how = f"against {surrogates} surrogates" if surrogates else "against its analytic null distribution"
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
    sure = f"; {sure_links(network)} with q up to {LEVEL}" if tested else ""
    sentences.append(f"The network has {len(network)} {'link' if len(network) == 1 else 'links'}{sure}.")
    return " ".join(filter(None, sentences))


def references(network: Network) -> tuple[str, ...]:
    """Return the works that the paragraph cites, the method's own first."""
    used = [*filter(None, map(_method, _described(network.options))), *_criteria(network)]
    cited = [work for method in used for work in method.references]
    last = [BENJAMINI] * bool(network.candidates) + [SHAH] * _halved(network)
    return tuple(dict.fromkeys([CLIFF, SCHREIBER, *cited, *last]))


def _halved(network: Network) -> bool:
    return bool(network.stability and network.options.get("bootstrap"))


def _embedding(network: Network, score: Mapping[str, Any]) -> str:
    given = score.get("embedding") or {}
    groups = [(one.get("embedding") or {}).get("searched") or 0 for _, one in score.get("groups") or ()]
    if any(groups):
        return (
            f"Lagged variables of own pasts and sources up to lag {max(groups)} were selected from the data for each "
            "target (forward selection); tests count the choices."
        )
    if given.get("type") == "Lags" and given.get("searched"):
        return (
            f"The lags of own pasts and sources were chosen from the data, up to lag {given['searched']}; surrogates "
            "made the same choice."
        )
    if given.get("type") == "Lags":
        return "Sources and own pasts were taken at given lags."
    dims, delays, lags = (_span(given.get(part, 1)) for part in ("dim", "delay", "lag"))
    chosen = [method.sentence() for method in _criteria(network)]
    how = f", chosen per node by {' and '.join(chosen)}" if chosen else ""
    lag = f" and source lag {lags}" if lags != "1" else ""
    return f"Each node's past was embedded with dimension {dims}, delay {delays}{lag}{how}." if given else ""


def _described(options: Any) -> Iterator[Mapping[str, Any]]:
    """Yield every option in plain data, outer ones first."""
    if isinstance(options, Mapping):
        if "type" in options:
            yield options
        for part in options.values():
            yield from _described(part)


def _method(described: Any) -> Method | None:
    """Return the method that plain data describe; None for what is no method, or not known here."""
    try:
        found = restore(described)
    except (InputError, TypeError):
        return None
    return found if isinstance(found, Method) else None


def _sentence(described: Any) -> str:
    method = _method(described)
    return method.sentence() if method is not None else (described or {}).get("type", "")


def _criteria(network: Network) -> list[Method]:
    """Return the methods that chose dimensions and delays."""
    used = {table.get("method") for table in network.criteria.values()}
    return [cls() for cls in known_options() if cls.__name__ in used and issubclass(cls, Method)]


def _span(value: Any) -> str:
    """Return one number, or the range of one per node."""
    if isinstance(value, int):
        return str(value)
    numbers = list(dict(value).values())
    return str(numbers[0]) if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"
