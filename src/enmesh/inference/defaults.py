"""What `infer` chooses where the user leaves a choice open, from the data and with its reason.

The estimator and its null distribution follow from what the data show (`evidence`): states are counted, columns of
several kinds are measured together, and numbers are asked by a linear test, by nearest neighbours, or by both,
target by target. The lags of sources are found from the data too; what was chosen is tested as it was chosen.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding, Lagged, Lags, Pasts, reach
from enmesh.embedding.base import chosen_embedding
from enmesh.embedding.choose import embedding_method
from enmesh.embedding.nonuniform import NonUniform, Past
from enmesh.errors import InputError, hazard
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Mixed
from enmesh.estimators.ksg import MOST, USUAL
from enmesh.estimators.scaling import normal_scores, zscore
from enmesh.inference import evidence
from enmesh.inference.diagnostics import common_variance, shared_variance_limit
from enmesh.inference.evaluate import Evaluator
from enmesh.options import brief, whole
from enmesh.scores import TEA, TEE, Link, PerTarget, Score
from enmesh.search import Exact, Independent
from enmesh.search.base import Problem, Search
from enmesh.significance import least_surrogates, warn_of_many_lags

# A column with at most this many different integers is taken for states, one with more for measurements.
MOST_STATES = 10
# Nearest neighbours are asked up to this many samples x pairs of nodes; beyond, the linear test alone.
NEIGHBOUR_WORK = 150_000
# Confidence level of the default score; raised with the number of pairs, so that about one false link is let in.
ALPHA = 0.99
# Share of the variance that the own past leaves: below, the series is smooth, and its residuals are mostly noise.
SMOOTH = 0.1
# A curve predicts clearly better than a line if its squared error is below this share of the line's.
CLEARLY = 0.9
# Share of the level that nearest neighbours get where both tests are made; the linear test gets the rest.
NEIGHBOUR_SHARE = 0.4
# Samples from which on nearest neighbours are asked by default, and from which on lags of smooth series are searched.
FEW_SAMPLES, FEW_SMOOTH = 100, 500
# Share of the variance that waves through the own past leave at most where dynamics follow a law.
LAW = 0.2
# Excess kurtosis beyond which single samples dominate a z-score, and normal scores are used instead.
HEAVY_TAILS = 10.0
# Parents of a node that are usual; more are tried where the data call for them.
FEW_PARENTS = 3
# Surrogates of a test by default.
SURROGATES = 199

Evaluators = Callable[[Any], Evaluator]
"""Makes an evaluator of a score, or of a race of lagged variables, for the series at hand."""


@dataclass
class Choices:
    """What was chosen for the user, and why."""

    entries: list[tuple[str, str, str]] = field(default_factory=list)

    def add(self, what: str, value: Any, reason: str) -> Any:
        """Record a choice and return its value."""
        shown = brief(value) if isinstance(value, Estimator) else str(value)
        self.entries.append((what, shown, reason))
        return value


class Plan(NamedTuple):
    """What is to be searched: a score with its pasts, the sources each target may have, and the embedding criteria.

    ``nulls`` are null distributions of tests that the choice of pasts has made already.
    """

    score: Score
    candidates: tuple[tuple[int, ...], ...] | None = None
    criteria: Mapping[str, Any] = {}
    nulls: Mapping[Link, np.ndarray] = {}


# --- estimator and score ------------------------------------------------------------------------------------------


def default_estimator(series: Series, choices: Choices, *, analytic: bool = False) -> Estimator:
    """Choose one estimator for all targets, from the kind and the amount of data.

    ``analytic`` asks for an estimator with a known null distribution, as TEA and the criteria need.
    """
    kinds = _by_kind(series)
    if isinstance(kinds, Discrete):
        return choices.add(
            "estimator", kinds, f"states: at most {MOST_STATES} different values in each column"
        )
    if analytic:
        return choices.add(
            "estimator", Gaussian(normalise="rank"), "numbers, and the score needs a known null distribution"
        )
    if kinds is not None:
        return choices.add("estimator", kinds, "columns of numbers and of states together")
    if _work(series) > NEIGHBOUR_WORK:
        reason = f"samples x pairs = {_work(series):,} is over {NEIGHBOUR_WORK:,}, where nearest neighbours get slow"
        return choices.add("estimator", Gaussian(normalise="rank"), reason)
    estimator, why = _neighbours(series)
    return choices.add("estimator", estimator, f"numbers; {why}")


def default_score(
    series: Series,
    seed: int,
    choices: Choices,
    estimator: Estimator | None = None,
    alpha: float | None = None,
) -> Score:
    """Choose the score that suits an estimator, and its alpha by the number of pairs; the embedding is left open."""
    estimator = estimator or default_estimator(series, choices)
    pairs = max(1, series.n_nodes * (series.n_nodes - 1))
    level = _alpha(series) if alpha is None else alpha
    score: Score
    if estimator.analytic:
        null = "chi2" if estimator.discrete else "shift"
        score = TEA(estimator=estimator, alpha=level, null=null)
        reason = "its null distribution is known" + (
            ", widened for memory and changes of variance" if null != "chi2" else ""
        )
    else:
        count = max(SURROGATES, least_surrogates(level))
        score = TEE(estimator=estimator, alpha=level, n_surrogates=count, seed=seed)
        reason = f"{type(estimator).__name__} has no known null: {count} surrogates"
    if level > ALPHA and alpha is None:
        reason += f"; about one false link is to be expected among {pairs} pairs"
    choices.add("score", f"{type(score).__name__}, alpha {level:g}", reason)
    return score


def _alpha(series: Series) -> float:
    pairs = max(1, series.n_nodes * (series.n_nodes - 1))
    return max(ALPHA, round(1 - 1 / pairs, 6))


def _by_kind(series: Series) -> Estimator | None:
    """Return the estimator that the kinds of columns call for; None for numbers alone."""
    states = [
        kind == "text" or (kind == "integer" and len(np.unique(column[np.isfinite(column)])) <= MOST_STATES)
        for kind, column in zip(series.kinds, series.values.T.astype(float))
    ]
    if all(states):
        return Discrete()
    return Mixed() if any(states) else None


def _work(series: Series) -> int:
    return sum(series.lengths) * series.n_nodes * (series.n_nodes - 1)


def _neighbours(series: Series) -> tuple[KSG, str]:
    """Return nearest neighbours that suit the dynamics of at least half of the nodes.

    If these follow a law (waves predict them, and clearly better than a curve), neighbours look at what waves leave;
    normal scores would bend the law, and are used for heavy tails only. Smooth series of other kinds are taken as they
    are. Of noisy ones neighbours see what a parabola leaves; more of them, unless the dynamics are curved, whose
    structure is fine.
    """
    scaling = "zscore" if _excess_kurtosis(series) <= HEAVY_TAILS else "rank"
    gain, left_by_waves = evidence.own_waves(series, zscore if scaling == "zscore" else normal_scores)
    if np.mean((gain < CLEARLY) & (left_by_waves < LAW)) >= 0.5:
        return KSG(k=USUAL, normalise=scaling, residual="features"), (
            f"dynamics of a law: waves through the own past leave {np.median(left_by_waves):.0%} of the "
            "variance unexplained, clearly less than curves, and neighbours look at that"
        )
    left = _left_by_own_past(series)
    if left < SMOOTH:
        return KSG(normalise=scaling if sum(series.lengths) < FEW_SMOOTH else "rank"), (
            f"smooth: the own past leaves {left:.1%} of the variance unexplained"
        )
    curved = np.mean(evidence.own_curvature(series) < CLEARLY) >= 0.5
    near = USUAL if curved else _many_neighbours(sum(series.lengths))
    return KSG(k=near, normalise="rank", residual="quadratic"), (
        f"the own past leaves {left:.0%} of the variance unexplained, neighbours look at residuals"
    )


def _many_neighbours(n: int) -> int:
    """Return how many neighbours find weak links among noise in n samples; even more would be slow."""
    return min(MOST, max(USUAL, round(n**0.5 / 3)))


def _left_by_own_past(series: Series) -> float:
    """Return the share of variance that the own past leaves unexplained, of the node in the middle."""
    return float(np.median(evidence.unexplained_by_own_past(series, evidence.own_memory(series))))


def _excess_kurtosis(series: Series) -> float:
    values = series.values[np.isfinite(series.values).all(1)].astype(float)
    centred = values - values.mean(0)
    return float(((centred**4).mean(0) / np.maximum((centred**2).mean(0), 1e-300) ** 2 - 3).max())


# --- pasts ----------------------------------------------------------------------------------------------------------


class Reach(NamedTuple):
    """How far back sources are looked for: all lags together by a linear test, and the lags that race."""

    together: int
    raced: int


def chosen_reach(series: Series, max_lag: int | None, choices: Choices, *, linear: bool = True) -> Reach:
    """Return how far back sources are looked for: as given, or from the data; all lags together if ``linear``."""
    most = max(1, min(max(series.lengths) - 2, sum(series.lengths) // 4))
    if max_lag is not None:
        raced = min(whole("max_lag", max_lag, 1), most)
        together = evidence.lag_order(series, raced) if linear and not _by_kind(series) else raced
        return Reach(together, raced)
    bearable = evidence.largest_lag(series)
    usual = min(evidence.USUAL_LAG, bearable)
    if _by_kind(series) is not None:
        choices.add("max_lag", usual, "usual; max_lag searches further")
        return Reach(usual, usual)
    order = evidence.lag_order(series, bearable)
    smooth = _left_by_own_past(series) < SMOOTH
    raced = usual if smooth else max(usual, order)
    reason = f"nodes are predicted best from {order} lag{'s' * (order > 1)} of all, of up to {bearable} that were tried"
    choices.add("max_lag", raced, "usual for smooth series" if smooth else reason)
    return Reach(order, raced)


def joint_lags(series: Series, max_lag: int) -> Lags:
    """Return all lags up to ``max_lag`` of every source together, and own pasts as long as each node's memory."""
    memory = evidence.own_memory(series)
    return Lags(
        {
            (source, target): tuple(range(1, (max(memory[i], max_lag) if source == target else max_lag) + 1))
            for i, target in enumerate(series.names)
            for source in series.names
        }
    )


def planned(
    series: Series, score: Score, max_lag: int | None, evaluators: Evaluators, choices: Choices
) -> Plan:
    """Return a score that was given with its pasts, found from the data where they are left open."""
    if score.embedding is not None:
        if max_lag is not None:
            raise InputError("max_lag and an embedding are both given; leave one of them out")
        return Plan(score)
    if max_lag == 1:
        return _self_predicted(series, score, choices)
    linear = isinstance(score.estimator, Gaussian)
    far = chosen_reach(series, max_lag, choices, linear=linear)
    if linear:
        lag = far.together
        words = f"1 to {lag} of every source together" if lag > 1 else "1 of every source"
        choices.add("lags", words, "a linear test bears all lags at once")
        return Plan(score.embedded(joint_lags(series, lag)))
    lags, pasts = _raced(series, _race(score, far.raced), evaluators)
    choices.add(
        "lags", _in_words(pasts, series.names), "found by a race of lagged variables, tested as found"
    )
    raced = score.embedded(lags)
    return Plan(raced, tuple(past.sources for past in pasts), nulls=_nulls(raced, pasts))


def _nulls(score: Score, pasts: Sequence[Past]) -> dict[Link, np.ndarray]:
    """Return the null distributions that a race has made and the score needs, if it samples as the race did."""
    count = getattr(score, "n_surrogates", 0)
    return {
        Link(source, target, given): null
        for target, past in enumerate(pasts)
        for source, given, null in past.nulls
        if len(null) == count
    }


def by_evidence(
    series: Series, seed: int, max_lag: int | None, evaluators: Evaluators, choices: Choices
) -> Plan:
    """Choose estimator, null distribution and pasts from the data."""
    numbers = _by_kind(series) is None
    both = numbers and _work(series) <= NEIGHBOUR_WORK and max_lag != 1
    if both and common_variance(series) > shared_variance_limit(series):
        estimator = choices.add(
            "estimator",
            Gaussian(normalise="rank"),
            "changes of variance are common, which neighbours take for links",
        )
        return planned(series, default_score(series, seed, choices, estimator), max_lag, evaluators, choices)
    if both and sum(series.lengths) < FEW_SAMPLES:
        reason = f"{sum(series.lengths)} samples are too few for nearest neighbours"
        estimator = choices.add("estimator", Gaussian(normalise="rank"), reason)
        return planned(series, default_score(series, seed, choices, estimator), max_lag, evaluators, choices)
    if both:
        estimator, why = _neighbours(series)
        if _left_by_own_past(series) >= SMOOTH:
            return _two_tests(series, estimator, why, seed, max_lag, evaluators, choices)
        if max_lag is None and sum(series.lengths) < FEW_SMOOTH:
            choices.add(
                "max_lag", 1, f"smooth, and {sum(series.lengths)} samples are too few to tell lags apart"
            )
            max_lag = 1
    score = default_score(series, seed, choices)
    if numbers and not both and max_lag != 1:
        _warn_if_not_linear(series)
    return planned(series, score, max_lag, evaluators, choices)


def _shared_levels(series: Series) -> tuple[float, float]:
    """Return the confidence levels of the linear test and of neighbours where both are made."""
    error = 1 - _alpha(series)
    return round(1 - (1 - NEIGHBOUR_SHARE) * error, 6), round(1 - NEIGHBOUR_SHARE * error, 6)


def default_surrogates(series: Series) -> int:
    """Return how many surrogates a test by neighbours has by default; 0 where neighbours are not asked."""
    if _work(series) > NEIGHBOUR_WORK:
        return 0
    return max(SURROGATES, least_surrogates(_shared_levels(series)[1]))


def _two_tests(
    series: Series,
    neighbours: KSG,
    why: str,
    seed: int,
    max_lag: int | None,
    evaluators: Evaluators,
    choices: Choices,
) -> Plan:
    """Test every target's sources linearly and by neighbours, which share the level; keep the test that suits.

    Where the linear test explains a target as well as a curve does, neighbours look for sources beyond its own.
    Neighbours are taken where a curve through the own past, or through the variables they chose, predicts the target
    clearly better, out of sample, than a line: a line cannot condition nonlinear dynamics away. Otherwise the larger
    set of sources is taken if it contains the other, the linear test where they are equal, and the one that predicts
    better if they conflict.
    """
    level, free_level = _shared_levels(series)
    far = chosen_reach(series, max_lag, choices)
    linear = TEA(
        estimator=Gaussian(normalise="rank"),
        embedding=joint_lags(series, far.together),
        alpha=level,
        null="shift",
    )
    count = default_surrogates(series)
    free = TEE(estimator=neighbours, alpha=free_level, n_surrogates=count, seed=seed)
    found, known = _best_sources(series, linear, evaluators)
    straight = evidence.own_curvature(series) >= CLEARLY
    explained = tuple(
        (series.names[v.node], series.names[i], v.lag)
        for i, some in enumerate(known)
        if straight[i] and _is_straight(series, far.together, i, set(found[i]), some)
        for v in some
    )
    race = replace(_race(free, far.raced), known=explained)
    lags, pasts = _raced(series, race, evaluators)
    free = TEE(estimator=neighbours, embedding=lags, alpha=free_level, n_surrogates=count, seed=seed)
    takes = [
        bool(straight[i]) and _prefers_linear(series, far.together, i, set(found[i]), past)
        for i, past in enumerate(pasts)
    ]
    _note_two_tests(series, linear, free, why, pasts, takes, choices)
    everyone = range(series.n_nodes)
    candidates = tuple(
        tuple(j for j in everyone if j != i) if takes[i] else pasts[i].sources for i in everyone
    )
    score = PerTarget({name: linear if straight else free for name, straight in zip(series.names, takes)})
    nulls = {link: null for link, null in _nulls(free, pasts).items() if not takes[link.target]}
    return Plan(score, candidates, nulls=nulls)


def _note_two_tests(
    series: Series,
    linear: TEA,
    free: TEE,
    reason: str,
    pasts: list[Past],
    takes: list[bool],
    choices: Choices,
) -> None:
    """Record which test each target was left to, at which level, and the lags that were found."""
    names = {
        True: [n for n, t in zip(series.names, takes) if t],
        False: [n for n, t in zip(series.names, takes) if not t],
    }
    for kind, how in ((True, linear.estimator), (False, free.estimator)):
        if names[kind]:
            who = "all targets" if len(names[kind]) == series.n_nodes else ", ".join(names[kind])
            why = (
                "finds as much or more" if kind else f"suits dynamics or links that are not linear; {reason}"
            )
            choices.add(
                "estimator",
                f"{brief(how)} for {who}",
                f"both tests were made and share the level; this one {why}",
            )
    choices.add(
        "score",
        _score_words(takes, linear.alpha, free.alpha),
        f"two tests share the level of {1 - _alpha(series):.2g}",
    )
    if not all(takes):
        choices.add(
            "lags",
            _in_words(pasts, series.names, takes),
            "found by a race of lagged variables, tested as found",
        )


def _score_words(takes: list[bool], level: float, free_level: float) -> str:
    said = [f"TEA, alpha {level:g}"] * any(takes) + [f"TEE, alpha {free_level:g}"] * (not all(takes))
    return "; ".join(said)


def _best_sources(
    series: Series, score: TEA, evaluators: Evaluators
) -> tuple[tuple[tuple[int, ...], ...], list[list[Lagged]]]:
    """Return each target's best sources by a score, cycles allowed, and each of them at its strongest lag."""
    limit = min(series.n_nodes - 1, FEW_PARENTS)
    with evaluators(score) as evaluate:
        nodes = range(series.n_nodes)
        everyone = tuple(tuple(j for j in nodes if j != i) for i in nodes)
        problem = Problem(
            n_nodes=series.n_nodes, max_parents=limit, acyclic=False, bounds=evaluate.scorer.bounds(everyone)
        )
        found = Independent().run(evaluate, problem).parents
        transfers = evaluate.scorer.transfers
        strongest = [
            [transfers.strongest(j, i, [p for p in some if p != j]) for j in some]
            for i, some in enumerate(found)
        ]
        return found, strongest


def _prefers_linear(series: Series, lag: int, target: int, linear: set[int], past: Past) -> bool:
    """Whether a target is left to the linear test: see `_two_tests`."""
    free = set(past.sources)
    chosen = [Lagged(target, at) for at in past.own]
    chosen += [Lagged(j, at) for j in past.sources for at in past.lags[j]]
    if not linear and not free:
        return True
    line, curve = _prediction_errors(series, lag, target, linear, chosen)
    if curve < CLEARLY * line:
        return False
    if linear >= free or free > linear:
        return linear >= free
    return line <= curve


def _is_straight(series: Series, lag: int, target: int, linear: set[int], known: Sequence[Lagged]) -> bool:
    """Whether no curve through the own past and the strongest lags of the linear sources predicts clearly better."""
    line, curve = _prediction_errors(series, lag, target, linear, [Lagged(target, 1), *known])
    return curve >= CLEARLY * line


def _prediction_errors(
    series: Series, lag: int, target: int, linear: set[int], chosen: Sequence[Lagged]
) -> tuple[float, float]:
    """Return the errors of predicting a target by a line on all lags of its linear sources, and by a curve.

    The curve goes through the lagged variables that were chosen.
    """
    after, before = evidence.lagged_rows(evidence.scored(series), max(lag, *(v.lag for v in chosen)))
    y = after[:, target]
    line = np.concatenate([before[:, :lag, j] for j in (target, *sorted(linear))], axis=1)
    columns = np.column_stack([before[:, v.lag - 1, v.node] for v in chosen])
    return evidence.prediction_error(line, y), evidence.prediction_error(evidence.curve(columns), y)


def _warn_if_not_linear(series: Series) -> None:
    """Warn of targets that squares and products of their own past predict better than a linear model."""
    memory = evidence.own_memory(series)
    after, before = evidence.lagged_rows(evidence.scored(series), max(memory))
    step = max(1, len(after) // 5000)
    gains = {}
    for i, order in enumerate(memory):
        y, own = after[::step, i], before[::step, :order, i]
        bent = np.column_stack([own, own**2, np.abs(own)])
        gains[series.names[i]] = 1 - evidence.prediction_error(bent, y) / evidence.prediction_error(own, y)
    bent_nodes = [name for name, gain in gains.items() if gain > 0.05]
    if bent_nodes:
        listed = ", ".join(bent_nodes[:5]) + (
            f" and {len(bent_nodes) - 5} more" if len(bent_nodes) > 5 else ""
        )
        hazard(
            f"the dynamics of {listed} are not linear (up to {max(gains.values()):.0%} less error of prediction), but "
            "the data are too large for nearest neighbours by default; name the estimator ksg to find nonlinear links"
        )


def _self_predicted(series: Series, score: Score, choices: Choices) -> Plan:
    """Return the paper's procedure: kappa and tau of each node from its own series, sources at lag 1."""
    method = embedding_method(score.estimator)
    tables = method.tables(series)
    embedding = chosen_embedding(tables)
    words = _embedding_words(embedding, series.names)
    choices.add("embedding", words, f"{type(method).__name__}, from each node's own past")
    return Plan(score.embedded(embedding), None, {name: table.to_dict() for name, table in tables.items()})


def _race(score: Score, max_lag: int) -> NonUniform:
    sampling = {name: getattr(score, name) for name in ("surrogate", "seed") if hasattr(score, name)}
    alpha = getattr(score, "alpha", ALPHA)
    if not score.estimator.analytic:
        sampling["n_surrogates"] = max(SURROGATES, least_surrogates(alpha))
    return NonUniform(max_lag=max_lag, estimator=score.estimator, alpha=max(alpha, 0.5), **sampling)


def _raced(series: Series, method: NonUniform, evaluators: Evaluators) -> tuple[Lags, list[Past]]:
    if method.count:
        warn_of_many_lags(method.max_lag, sum(series.lengths))
    with evaluators(method) as evaluate:
        pasts = evaluate.pasts(range(series.n_nodes))
    return method.lags(pasts, series.names), pasts


def _in_words(pasts: list[Past], names: tuple[str, ...], skipped: list[bool] | None = None) -> str:
    """Return the chosen lags of a few targets one by one, of many as a range."""
    shown = [i for i in range(len(names)) if skipped is None or not skipped[i]]
    if len(names) <= 6:
        return "; ".join(
            f"{names[i]}: own {_numbers(pasts[i].own)}"
            + "".join(f", {names[j]} {_numbers(pasts[i].lags[j])}" for j in pasts[i].sources)
            for i in shown
        )
    lags = sorted({lag for i in shown for j in pasts[i].sources for lag in pasts[i].lags[j]})
    return f"sources at lags {lags[0]} to {lags[-1]}" if lags else "no source was chosen"


def _numbers(lags: tuple[int, ...]) -> str:
    return ", ".join(map(str, lags))


def _embedding_words(embedding: Embedding, names: tuple[str, ...]) -> str:
    """Return dims and delays of a few nodes one by one, of many as ranges."""
    per = embedding.per_node(names)
    if len(names) <= 6:
        return ", ".join(f"{name}: dim {k} delay {t}" for name, k, t in zip(names, per["dim"], per["delay"]))
    ranges = {what: sorted(set(per[what])) for what in ("dim", "delay")}
    return ", ".join(
        f"{what} {found[0]}" + f" to {found[-1]}" * (len(found) > 1) for what, found in ranges.items()
    )


# --- search -----------------------------------------------------------------------------------------------------------


def default_search(acyclic: bool, choices: Choices) -> Search:
    """Choose the search that proves its optimum."""
    search: Search = Exact() if acyclic else Independent()
    choices.add("search", type(search).__name__, "finds the best graph and proves it")
    return search


def bearable_parents(series: Series, score: Score) -> tuple[int, str]:
    """Return how many parents of a node can be estimated from the samples, and the reason."""
    parts = [part for _, part in score.scores] if isinstance(score, PerTarget) else [score]
    found = []
    for part in dict.fromkeys(parts):
        pasts: Pasts = part.embedding or Embedding()
        n = sum(max(0, length - reach(pasts, series.names)) for length in series.lengths)
        table = pasts.table(series.names)
        widths = [max(len(lags) for pair, lags in table.items() if pair[0] != pair[1])]
        states = [len(np.unique(column)) for column in series.values.T] if part.estimator.discrete else []
        found.append(part.estimator.bearable_parents(n, widths, states))
    return min(found)
