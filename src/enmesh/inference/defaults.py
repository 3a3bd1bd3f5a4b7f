"""What `infer` chooses where the user leaves a choice open, from the data and with its reason."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Pasts, reach
from enmesh.embedding.base import chosen_embedding
from enmesh.embedding.choose import embedding_method
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian
from enmesh.options import brief, whole
from enmesh.scores import TEA, TEE, Score
from enmesh.search import Exact, Independent
from enmesh.search.base import Search
from enmesh.significance import least_surrogates

# A column with at most this many different integers is taken for states, one with more for measurements.
MOST_STATES = 10
# Nearest neighbours are the default up to this many samples x pairs of nodes; beyond, the linear model.
KSG_WORK = 150_000
# Confidence level of the default score; raised with the number of pairs, so that about one false link is let in.
ALPHA = 0.99
# Excess kurtosis beyond which single samples dominate a z-score, and normal scores are used instead.
HEAVY_TAILS = 10.0
# Parents of a node that are usual.
FEW_PARENTS = 3


@dataclass
class Choices:
    """What was chosen for the user, and why."""

    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, value: Any, reason: str) -> Any:
        """Record a choice and return its value."""
        shown = brief(value) if isinstance(value, Estimator) else str(value)
        self.entries.append((what, shown, reason))
        return value


def default_estimator(series: Series, choices: Choices, *, analytic: bool = False) -> Estimator:
    """Choose how densities are estimated, from the kind and the amount of data alone.

    ``analytic`` asks for an estimator with a known null distribution, as TEA and the criteria need.
    """
    if series.is_integer and max(len(np.unique(c)) for c in series.values.T) <= MOST_STATES:
        return choices.add("estimator", Discrete(), f"integers with at most {MOST_STATES} states")
    if analytic:
        return choices.add(
            "estimator", Gaussian(), "continuous, and the score needs a known null distribution"
        )
    work = sum(series.lengths) * series.n_nodes * (series.n_nodes - 1)
    if work > KSG_WORK:
        reason = f"samples x pairs = {work:,} is over {KSG_WORK:,}, where nearest neighbours get slow"
        return choices.add("estimator", Gaussian(), reason)
    tails = _excess_kurtosis(series)
    if tails > HEAVY_TAILS:
        return choices.add(
            "estimator", KSG(normalise="rank"), f"continuous with heavy tails (excess kurtosis {tails:.0f})"
        )
    return choices.add("estimator", KSG(), "continuous; no assumption on its distribution")


def default_score(series: Series, seed: int, choices: Choices, estimator: Estimator | None = None) -> Score:
    """Choose the score that suits the estimator, and its alpha by the number of pairs."""
    estimator = estimator or default_estimator(series, choices)
    pairs = max(1, series.n_nodes * (series.n_nodes - 1))
    alpha = max(ALPHA, round(1 - 1 / pairs, 6))
    if estimator.analytic:
        score, reason = TEA(estimator=estimator, alpha=alpha), "its null distribution is known"
    else:
        count = max(199, least_surrogates(alpha))
        score = TEE(estimator=estimator, alpha=alpha, n_surrogates=count, seed=seed)
        reason = f"{type(estimator).__name__} has no known null: {count} surrogates"
    if alpha > ALPHA:
        reason += f"; about one false link is to be expected among {pairs} pairs"
    choices.add("score", f"{type(score).__name__}, alpha {alpha:g}", reason)
    return score


def default_search(acyclic: bool, choices: Choices) -> Search:
    """Choose the search that proves its optimum."""
    search: Search = Exact() if acyclic else Independent()
    choices.add("search", type(search).__name__, "finds the best graph and proves it")
    return search


def embedded(series: Series, score: Score, choices: Choices) -> tuple[Score, dict[str, Any]]:
    """Return the score with its embedding, and the criterion it was chosen by."""
    if score.embedding is not None:
        return score, {}
    method = embedding_method(score.estimator)
    tables = method.tables(series)
    embedding = chosen_embedding(tables)
    choices.add(
        "embedding", _in_words(embedding, series.names), f"{type(method).__name__}, from each node's own past"
    )
    return score.embedded(embedding), {name: table.to_dict() for name, table in tables.items()}


def _in_words(embedding: Embedding, names: tuple[str, ...]) -> str:
    """Return dims and delays of a few nodes one by one, of many as ranges."""
    per = embedding.per_node(names)
    if len(names) <= 6:
        return ", ".join(f"{name}: dim {k} delay {t}" for name, k, t in zip(names, per["dim"], per["delay"]))
    ranges = {what: sorted(set(per[what])) for what in ("dim", "delay")}
    return ", ".join(
        f"{what} {found[0]}" + f" to {found[-1]}" * (len(found) > 1) for what, found in ranges.items()
    )


def parent_limit(series: Series, score: Score, given: int | None, choices: Choices) -> int:
    """Return the largest number of parents of a node: as given, or what the samples bear."""
    others = series.n_nodes - 1
    if given is not None:
        return min(whole("max_parents", given), others)
    pasts: Pasts = score.embedding or Embedding()
    n = sum(length - reach(pasts, series.names) for length in series.lengths)
    widths = [max(map(len, pasts.table(series.names).values()))]
    states = [len(np.unique(column)) for column in series.values.T] if score.estimator.discrete else []
    bearable, reason = score.estimator.bearable_parents(n, widths, states)
    limit = min(others, bearable, FEW_PARENTS)
    return choices.add(
        "max_parents", limit, reason if limit == bearable else "few drivers per node are usual"
    )


def _excess_kurtosis(series: Series) -> float:
    values = series.values[np.isfinite(series.values).all(1)] if not series.is_integer else series.values
    centred = values - values.mean(0)
    return float(((centred**4).mean(0) / (centred**2).mean(0) ** 2 - 3).max())
