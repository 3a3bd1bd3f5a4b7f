"""Every pair of nodes asked the same question in several recordings: one score, the same parents given."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.inference.network import Network
from enmesh.options import restore
from enmesh.scores.base import Link, Parents, Score
from enmesh.significance import q_values
from enmesh.tasks import run

if TYPE_CHECKING:
    import pandas as pd


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


def tests_of(series: Series, score: Score, parents: Sequence[Parents], level: float | None) -> np.ndarray:
    """Test every pair given the target's other parents, no further than ``level`` asks (`significance.sampled`).

    Return ``(3, source, target)``: transfer entropy, p-value, and value less what chance gives; no diagonal.
    """
    scorer, found = score.bind(series), np.full((3, series.n_nodes, series.n_nodes), np.nan)
    for link in questions(parents):
        test = run(scorer.test(link, level))
        found[:, link.source, link.target] = test.value, test.p_value, test.corrected
    return found


def values(series: Series, score: Score, parents: Sequence[Parents]) -> np.ndarray:
    """Measure every pair given the target's other parents: ``(3, source, target)``.

    These are the transfer entropy, less its mean under independence where that is known (Gaussian, Regression,
    Discrete), so that recordings of different lengths can be compared; and degrees of freedom d and samples N, missing
    elsewhere: without a link 2 N T is chi-square with d of them.
    """
    scorer, found = score.bind(series), np.full((3, series.n_nodes, series.n_nodes), np.nan)
    for source, target, given in questions(parents):
        transfers = scorer.of_target(target).transfers
        x, y, z = transfers.variables([source], target, given)
        value, n = transfers.cmi(x, y, z), transfers.blocks.n
        if transfers.estimator.analytic:
            dof = transfers.dof(x, y, z)
            found[:, source, target] = value - dof / (2 * n), dof, n
        else:
            found[0, source, target] = value
    return found


def q_of(p_value: np.ndarray) -> np.ndarray:
    """Return Benjamini-Hochberg q-values over all entries that are not missing, in the same shape."""
    q, known = np.full(p_value.shape, np.nan), np.isfinite(p_value)
    q[known] = q_values(p_value[known])
    return q


def pair_table(parts: "Mapping[str, pd.DataFrame]") -> "pd.DataFrame":
    """Return frames that have row drives column as one, with a row per pair, smallest p-value first."""
    import pandas as pd

    names = np.array(parts["p_value"].columns)
    source, target = np.nonzero(~np.eye(len(names), dtype=bool))
    columns = {name: part.to_numpy(float)[source, target] for name, part in parts.items()}
    made = pd.DataFrame({"source": names[source], "target": names[target], **columns})
    return made.sort_values(["p_value", "source", "target"], ignore_index=True)


def frame(names: Sequence[str], matrix: np.ndarray) -> "pd.DataFrame":
    """Return a matrix with names, row drives column."""
    import pandas as pd

    return pd.DataFrame(matrix, list(names), list(names))
