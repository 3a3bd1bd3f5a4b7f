"""The methods paragraph, ready to paste: every sentence follows from the options and the provenance.

What is said of an estimator, score, surrogate, search or embedding method is said by its class.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from enmesh.draw.report.words import sure_links
from enmesh.draw.subject import LEVEL, Network
from enmesh.errors import InputError
from enmesh.methods import Method
from enmesh.options import known_options, restore

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


def paragraph(network: Network) -> str:
    """Return the methods of this run as one paragraph."""
    sentences = (_data, _embedding, _search, _tests, _stability, _result)
    return " ".join(filter(None, (sentence(network) for sentence in sentences)))


def references(network: Network) -> tuple[str, ...]:
    """Return the works that the paragraph cites, the method's own first."""
    used = [*filter(None, map(_method, _described(network.options))), *_criteria(network)]
    cited = [work for method in used for work in method.references]
    last = [BENJAMINI] * bool(network.candidates) + [SHAH] * bool(_stability(network))
    return tuple(dict.fromkeys([CLIFF, SCHREIBER, *cited, *last]))


def _data(network: Network) -> str:
    known = network.provenance
    what = "events" if "events" in known else "samples"
    trials = f" in {known['trials']} trials" if known.get("trials", 1) not in (None, 1) else ""
    size = f" ({known[what]} {what}{trials})" if known.get(what) else ""
    version = f" {known['enmesh']}" if "enmesh" in known else ""
    prepared = ", ".join(map(str, known.get("prepared") or ()))
    first = f" The recording was prepared before: {prepared}." if prepared else ""
    how = _sentence(_score(network).get("estimator"))
    estimated = f" Transfer entropy was estimated with {how}, in nats." if how else ""
    return (
        f"Directed coupling among {len(network.names)} nodes{size} was inferred by transfer entropy "
        f"(Schreiber 2000) following Cliff, Prokopenko and Fitch (2016), with enmesh{version}.{first}{estimated}"
    )


def _embedding(network: Network) -> str:
    given = _score(network).get("embedding") or {}
    groups = [
        (score.get("embedding") or {}).get("searched") or 0
        for _, score in _score(network).get("groups") or ()
    ]
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


def _search(network: Network) -> str:
    options, score = network.options, _sentence(_score(network))
    scored = f"Each node was scored by {score}. " if score else ""
    how = _sentence(options.get("search"))
    if not how:
        return scored.rstrip()
    cycles = "acyclic network" if options.get("acyclic", True) else "network, cycles allowed,"
    most = f" with at most {options['max_parents']} parents per node" if options.get("max_parents") else ""
    proof = "and is proven optimal" if network.optimal else "and is not proven optimal"
    seed = f" Random numbers were seeded with {options['seed']}." if options.get("seed") is not None else ""
    return f"{scored}The best directed {cycles}{most} was found by {how} {proof}.{seed}"


def _tests(network: Network) -> str:
    if not network.candidates:
        return ""
    surrogates = max(len(c.null) for c in network.candidates)
    how = f"against {surrogates} surrogates" if surrogates else "against its analytic null distribution"
    possible, tested = len(network.names) * (len(network.names) - 1), len(network.candidates)
    which = f"{tested} candidate" if tested < possible else f"the {possible} possible"
    rest = f", counting all {possible} possible links" if tested < possible else ""
    return (
        f"Each of {which} links was then tested {how}, given the other parents of its target, and the p-values were "
        f"turned into q-values (Benjamini and Hochberg 1995){rest}."
    )


def _stability(network: Network) -> str:
    count = network.options.get("bootstrap")
    if not network.stability or not count:
        return ""
    return (
        f"The inference was repeated on {count} halves of the data, in complementary pairs (Shah and Samworth 2013); "
        "the stability of a link is the share of pairs in which both halves have it."
    )


def _result(network: Network) -> str:
    sure = f"; {sure_links(network)} with q up to {LEVEL}" if network.candidates else ""
    return f"The network has {len(network)} {'link' if len(network) == 1 else 'links'}{sure}."


def _score(network: Network) -> Mapping[str, Any]:
    return network.options.get("score") or {}


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
