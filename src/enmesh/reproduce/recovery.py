"""One cell of the recovery experiment: simulate a known network, infer it by each score, compare.

A cell's surrogates are drawn once: the test of a step serves every alpha.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.embedding.choose import choose_embedding, embedding_method
from enmesh.errors import InputError
from enmesh.estimators import KSG, Gaussian
from enmesh.measures import parent_indices
from enmesh.scores import TE, TEA, TEE, Scorer
from enmesh.search import Exact
from enmesh.search.base import Family, Problem
from enmesh.search.graphs import Parents, edges
from enmesh.simulate import coupled_flow, coupled_map
from enmesh.tasks import run

NETWORKS = {
    "3 empty": "a, b, c",
    "3 chain": "a>b>c",
    "3 fork": "a>b, a>c",
    "3 collider": "a>c, b>c",
    "3 full": "a>b, a>c, b>c",
    "4 empty": "a, b, c, d",
    "4 chain": "a>b>c>d",
    "4 fork": "a>b, a>c, a>d",
    "4 collider": "a>d, b>d, c>d",
    "4 diamond": "a>b, a>c, b>d, c>d",
    "4 full": "a>b, a>c, a>d, b>c, b>d, c>d",
}
MAP_NOISE = 0.001  # dynamic noise of the maps
FLOW_STEP = 0.2  # sampling step of the flows, in their unit of time


class Cell(NamedTuple):
    """What is simulated: a system on a network with its strengths, length and seed."""

    system: str
    network: str
    coupling: float
    obs_noise: float
    n: int
    seed: int


def simulated(cell: Cell) -> Series:
    """Return a cell's series: logistic maps, or Lorenz and Rossler flows by turns."""
    graph, strengths = parents_of(NETWORKS[cell.network]), cell._asdict()
    how = {name: strengths[name] for name in ("coupling", "obs_noise", "n", "seed")}
    if cell.system == "logistic":
        return coupled_map(graph, **how, noise=MAP_NOISE)
    turns = {name: ("lorenz", "rossler")[place % 2] for place, name in enumerate(graph)}
    return coupled_flow(graph, **how, system=turns, dt=FLOW_STEP)


def recover(cell: Cell, alphas: Sequence[float], n_surrogates: int) -> list[dict[str, Any]]:
    """Return for each score and alpha the counts of true and false edges and non-edges, and the graph found.

    A system that diverges is reported, not hidden: its one row has an ``error``.
    """
    try:
        series = simulated(cell)
    except InputError as error:
        return [{"error": str(error)}]
    truth, pairs = edges(parent_indices(series, series.truth)), series.n_nodes * (series.n_nodes - 1)
    rows = []
    for score, alpha, parents in found(series, alphas, n_surrogates, cell.seed):
        kept = edges(parents)
        true, false = len(kept & truth), len(kept - truth)
        counts = {"tp": true, "fp": false, "fn": len(truth) - true, "tn": pairs - len(truth) - false}
        graph = sorted(f"{series.names[source]}>{series.names[target]}" for source, target in kept)
        rows.append({"score": score, "alpha": alpha} | counts | {"graph": ", ".join(graph)})
    return rows


def found(
    series: Series, alphas: Sequence[float], n_surrogates: int, seed: int
) -> Iterator[tuple[str, float, Parents]]:
    """Yield ``(score, alpha, best acyclic graph)``; embeddings are chosen from the data, once per estimator.

    TE has alpha 0: no penalty. The graphs are those of `enmesh.infer` with the same score.
    """
    near, line = (choose_embedding(series, embedding_method(kind)) for kind in (KSG(), Gaussian()))
    tee = TEE(embedding=near, alpha=max(alphas), n_surrogates=n_surrogates, seed=seed)
    yield "TE", 0.0, best_graph(TE(embedding=near).bind(series))
    for alpha in alphas:
        yield "TEA", alpha, best_graph(TEA(embedding=line, alpha=alpha).bind(series))
    scorer = tee.bind(series)
    test = cache(lambda link: run(scorer.test(link)))
    for alpha in alphas:
        yield "TEE", alpha, best_graph(replace(tee, alpha=alpha).bind(series), test)


def best_graph(scorer: Scorer[Any], test: Any = None) -> Parents:
    """Return the acyclic graph with the best score; ``test`` gives the edge tests where they are known already."""
    nodes = scorer.transfers.blocks.n_nodes

    def score(target: int, parents: tuple[int, ...]) -> float:
        if test is None:
            return scorer.family_score(target, parents)
        return scorer.combine(target, parents, {link: test(link) for link in scorer.tests(target, parents)})

    def evaluate(asked: Sequence[Family]) -> np.ndarray:
        return np.array([score(*family) for family in asked])

    return Exact().run(evaluate, Problem(n_nodes=nodes, max_parents=nodes - 1)).parents
