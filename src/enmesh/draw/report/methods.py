"""The methods paragraph, ready to paste: every sentence follows from the options and the provenance."""

from collections.abc import Mapping
from typing import Any

from enmesh.draw.report.words import LEVEL, sure_links

CLIFF = (
    "Cliff, O. M., Prokopenko, M. and Fitch, R. (2016). Inferring Coupling of Distributed Dynamical Systems "
    "via Transfer Entropy. Preprint; extended in Entropy 20(2), 51 (2018), doi:10.3390/e20020051."
)
SCHREIBER = "Schreiber, T. (2000). Measuring Information Transfer. Physical Review Letters 85, 461."
KRASKOV = (
    "Kraskov, A., Stögbauer, H. and Grassberger, P. (2004). Estimating Mutual Information. "
    "Physical Review E 69, 066138."
)
FRENZEL = (
    "Frenzel, S. and Pompe, B. (2007). Partial Mutual Information for Coupling Analysis of Multivariate Time "
    "Series. Physical Review Letters 99, 204101."
)
RAGWITZ = (
    "Ragwitz, M. and Kantz, H. (2002). Markov Models from Data by Simple Nonlinear Time Series Predictors in "
    "Delay Embedding Spaces. Physical Review E 65, 056201."
)
LIZIER = (
    "Lizier, J. T., Prokopenko, M. and Zomaya, A. Y. (2012). Local Measures of Information Storage in "
    "Complex Distributed Computation. Information Sciences 208, 39."
)
CAO = (
    "Cao, L. (1997). Practical Method for Determining the Minimum Embedding Dimension of a Scalar Time "
    "Series. Physica D 110, 43."
)
VINH = (
    "Vinh, N. X., Chetty, M., Coppel, R. and Wangikar, P. P. (2011). GlobalMIT: Learning Globally Optimal "
    "Dynamic Bayesian Network with the Mutual Information Test Criterion. Bioinformatics 27, 2765."
)
BENJAMINI = (
    "Benjamini, Y. and Hochberg, Y. (1995). Controlling the False Discovery Rate: a Practical and Powerful "
    "Approach to Multiple Testing. Journal of the Royal Statistical Society B 57, 289."
)

EMBEDDINGS = {
    "Ragwitz": ("the criterion of Ragwitz and Kantz (2002)", RAGWITZ),
    "ActiveStorage": ("the active information storage (Lizier et al. 2012)", LIZIER),
    "Cao": ("the method of Cao (1997)", CAO),
}
SURROGATES = {
    "CircularShift": "circular shifts of the source",
    "Permute": "permutations of the source's embedded samples",
    "Bootstrap": "bootstrap samples of the source",
    "LocalPermute": "local permutations of the source among near conditions",
}
SEARCHES = {
    "Exact": "an exact search",
    "Exhaustive": "enumeration of all networks",
    "HillClimb": "greedy hill climbing with restarts",
    "Tabu": "tabu search",
    "BasinFlooding": "basin flooding",
    "RPDAG": "a search over restricted partially directed graphs",
    "Independent": "choosing each node's parents on their own",
}


def paragraph(network) -> str:
    """Return the methods of this run as one paragraph."""
    sentences = (_data, _estimate, _embedding, _score, _search, _tests, _result)
    return " ".join(filter(None, (sentence(network) for sentence in sentences)))


def references(network) -> tuple[str, ...]:
    """Return the works that the paragraph cites, the method's own first."""
    score = _score_options(network)
    estimator = _type(score.get("estimator"))
    chosen = [CLIFF, SCHREIBER]
    chosen += [KRASKOV, FRENZEL] if estimator == "KSG" else []
    chosen += [VINH] if _type(score) == "MIT" else []
    chosen += [EMBEDDINGS[method][1] for method in _criteria_methods(network) if method in EMBEDDINGS]
    return (*chosen, *([BENJAMINI] if network.candidates else []))


def _data(network):
    known = network.provenance
    samples, trials = known.get("samples"), known.get("trials", 1)
    size = (
        f" ({samples} samples{f' in {trials} trials' if trials and trials != 1 else ''})" if samples else ""
    )
    version = f" {known['enmesh']}" if "enmesh" in known else ""
    return (
        f"Directed coupling among {len(network.names)} nodes{size} was inferred by transfer entropy "
        f"(Schreiber 2000) following Cliff, Prokopenko and Fitch (2016), with enmesh{version}."
    )


def _estimate(network):
    options = _score_options(network).get("estimator") or {}
    scaling = {"zscore": "z-scored", "rank": "rank-normalised"}.get(options.get("normalise"), "normalised")
    said = {
        "KSG": f"nearest neighbours (k = {options.get('k')}, algorithm {options.get('algorithm')}, maximum "
        f"norm, {scaling} values; Kraskov et al. 2004, Frenzel and Pompe 2007)",
        "Gaussian": "a linear-Gaussian model",
        "Discrete": "plug-in frequencies of the discrete states",
        "Kernel": f"a box kernel of width {options.get('width')}",
    }.get(_type(options), _type(options))
    if not said:
        return ""
    theiler = (
        f" Samples less than {options['theiler']} steps apart were not neighbours."
        if options.get("theiler")
        else ""
    )
    return f"Transfer entropy was estimated with {said}, in nats.{theiler}"


def _embedding(network):
    given = _score_options(network).get("embedding") or {}
    if not given:
        return ""
    dims, delays, lags = (_span(given.get(part, 1)) for part in ("dim", "delay", "lag"))
    methods = _criteria_methods(network)
    how = (
        f", chosen per node by {' and '.join(EMBEDDINGS.get(m, (m,))[0] for m in methods)}" if methods else ""
    )
    lag = f" and source lag {lags}" if lags != "1" else ""
    return f"Each node's past was embedded with dimension {dims}, delay {delays}{lag}{how}."


def _score(network):
    options = _score_options(network)
    alpha = options.get("alpha")
    surrogates = SURROGATES.get(_type(options.get("surrogate")), "surrogates")
    said = {
        "TE": "the collective transfer entropy from its parents",
        "TEA": "2N times the transfer entropy from its parents less the quantile of its analytic null "
        f"distribution (TEA, α = {alpha})",
        "TEE": "the transfer entropy from its parents less the quantile of "
        f"{options.get('n_surrogates')} surrogates, {surrogates} (TEE, α = {alpha})",
        "MIT": f"the mutual information test (MIT, α = {alpha}; Vinh et al. 2011)",
        "Criterion": f"the {str(options.get('kind')).upper()} criterion",
    }.get(_type(options), _type(options))
    return f"Each node was scored by {said}." if said else ""


def _search(network):
    options = network.options
    kind = _type(options.get("search"))
    if not kind:
        return ""
    allowed = (
        "directed acyclic network" if options.get("acyclic", True) else "directed network, cycles allowed,"
    )
    most = f" with at most {options['max_parents']} parents per node" if options.get("max_parents") else ""
    proof = "and is proven optimal" if network.optimal else "and is not proven optimal"
    seed = f" Random numbers were seeded with {options['seed']}." if options.get("seed") is not None else ""
    return f"The best {allowed}{most} was found by {SEARCHES.get(kind, kind)} {proof}.{seed}"


def _tests(network):
    if not network.candidates:
        return ""
    surrogates = max(len(c.null) for c in network.candidates)
    how = f"against {surrogates} surrogates" if surrogates else "against its analytic null distribution"
    possible, tested = len(network.names) * (len(network.names) - 1), len(network.candidates)
    which = (
        f"Each of the {possible} possible links"
        if tested == possible
        else f"Each of {tested} candidate links"
    )
    rest = "" if tested == possible else f", counting all {possible} possible links"
    return (
        f"{which} was then tested {how}, given the other parents of its target, and the p-values were turned "
        f"into q-values (Benjamini and Hochberg 1995){rest}."
    )


def _result(network):
    found = sum(len(parents) for parents in network.parents.values())
    sure = f"; {sure_links(network)} with q up to {LEVEL}" if network.candidates else ""
    return f"The network has {found} {'link' if found == 1 else 'links'}{sure}."


def _score_options(network) -> Mapping[str, Any]:
    return network.options.get("score") or {}


def _type(options) -> str:
    return options.get("type", "") if isinstance(options, Mapping) else ""


def _criteria_methods(network):
    return sorted({table["method"] for table in network.criteria.values() if table.get("method")})


def _span(value) -> str:
    """Return one number, or the range of one per node."""
    if isinstance(value, int):
        return str(value)
    numbers = [number for _, number in value] if not isinstance(value, Mapping) else list(value.values())
    return str(numbers[0]) if len(set(numbers)) == 1 else f"{min(numbers)} to {max(numbers)}"
