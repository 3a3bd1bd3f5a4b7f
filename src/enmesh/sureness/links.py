"""Every pair of nodes asked the same question in several recordings: one score, the same parents given."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.inference.network import Network
from enmesh.options import restore
from enmesh.scores.base import Link, Parents, Score, Scorer
from enmesh.significance import q_values
from enmesh.tasks import run

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Tested:
    """Transfer entropy, p-value and value less what chance gives, ``(M, M)``, row drives column; no diagonal."""

    te: np.ndarray
    p_value: np.ndarray
    corrected: np.ndarray


def score_of(network: Network) -> Score:
    """Return the score that a network was inferred with, pasts included."""
    return restore(network.options["score"])


def parents_in(networks: Sequence[Network]) -> tuple[Parents, ...]:
    """Return for each node the positions of all parents it has in any of the networks."""
    together = np.logical_or.reduce([network.adjacency for network in networks])
    return tuple(tuple(np.flatnonzero(column).tolist()) for column in together.T)


def without_choices(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of `infer` less those that a score takes the place of."""
    taken = ("score", "estimator", "embedding", "alpha", "surrogate", "n_surrogates", "max_lag")
    return {name: value for name, value in options.items() if name not in taken}


def questions(parents: Sequence[Parents]) -> list[Link]:
    """Return every pair, given the target's other parents."""
    nodes = range(len(parents))
    return [Link(j, i, tuple(p for p in parents[i] if p != j)) for i in nodes for j in nodes if i != j]


def tests_of(series: Series, score: Score, parents: Sequence[Parents], level: float | None) -> Tested:
    """Test every pair given the target's other parents; no further than ``level`` asks (`significance.sampled`)."""
    scorer = score.bind(series)
    te, p_value, corrected = np.full((3, series.n_nodes, series.n_nodes), np.nan)
    for link in questions(parents):
        test = run(scorer.test(link, level))
        te[link.source, link.target] = test.value
        p_value[link.source, link.target] = test.p_value
        corrected[link.source, link.target] = test.corrected
    return Tested(te, p_value, corrected)


def values(series: Series, score: Score, parents: Sequence[Parents]) -> np.ndarray:
    """Return the transfer entropy of every pair given the target's other parents, ``(M, M)``.

    Where the mean under independence is known (Gaussian, Regression, Discrete) it is subtracted, so that recordings of
    different lengths can be compared.
    """
    scorer: Scorer[Any] = score.bind(series)
    found = np.full((series.n_nodes, series.n_nodes), np.nan)
    for source, target, given in questions(parents):
        transfers = scorer.of_target(target).transfers
        x, y, z = transfers.variables([source], target, given)
        chance = transfers.dof(x, y, z) / (2 * transfers.blocks.n) if transfers.estimator.analytic else 0.0
        found[source, target] = transfers.cmi(x, y, z) - chance
    return found


def freedom(series: Series, score: Score, parents: Sequence[Parents]) -> tuple[np.ndarray, np.ndarray]:
    """Return degrees of freedom d and samples N, ``(M, M)``: without a link 2 N T is chi-square with d of them.

    Missing where the estimator has no known distribution.
    """
    scorer: Scorer[Any] = score.bind(series)
    dof, samples = np.full((2, series.n_nodes, series.n_nodes), np.nan)
    for source, target, given in questions(parents):
        transfers = scorer.of_target(target).transfers
        if transfers.estimator.analytic:
            dof[source, target] = transfers.dof(*transfers.variables([source], target, given))
            samples[source, target] = transfers.blocks.n
    return dof, samples


def q_of(p_value: np.ndarray) -> np.ndarray:
    """Return Benjamini-Hochberg q-values over all entries that are not missing, in the same shape."""
    q, known = np.full(p_value.shape, np.nan), np.isfinite(p_value)
    q[known] = q_values(p_value[known])
    return q


def frame(names: Sequence[str], matrix: np.ndarray) -> "pd.DataFrame":
    """Return a matrix with names, row drives column."""
    import pandas as pd

    return pd.DataFrame(matrix, list(names), list(names))
