"""Non-uniform embedding: the lagged variables of a target and of its sources, chosen from the data one after the other.

For a target the candidates are every node at every lag from 1 to L, the target's own lags among them. Starting from the
own value one sample before, the candidate that says most of the next value, given those chosen already, is tested,
and chosen if it passes (forward selection). The test compares the best lag of a source with the best lag of a shifted
source, one shift for all lags, so that it holds for what was chosen. A node whose best candidate fails takes no further
part, nor is one tested that does not stand out among the candidates. In the end each chosen source is tested with all
its lags together, given the rest, and the weakest that fails is dropped, until none fails. (Own lags compete with those
of sources: a long own past that is chosen first would explain the target by what its drivers left in it, and hide
them. For regressions, which see innovations, the own past comes first: `embedding.forward`.)

After Faes, Nollo and Porta, Phys. Rev. E 83, 051112 (2011), and Wollstadt et al., J. Open Source Softw. 4, 1081 (2019).
"""

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import field
from itertools import groupby
from math import comb
from typing import Any, ClassVar

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding.base import EmbeddingMethod
from enmesh.embedding.forward import ForwardSelection, Past
from enmesh.embedding.lagged import Lagged, Lags
from enmesh.errors import InputError
from enmesh.estimators import KSG, Estimator, Gaussian
from enmesh.measures import Transfers
from enmesh.options import option, whole_fields
from enmesh.significance import Sampling, Significance, analytic, check_surrogates, drawn, sampled, usual_surrogates
from enmesh.surrogates import CircularShift, Surrogate
from enmesh.tasks import Task, ready, run

# A candidate stands out if it says so many standard deviations more than the candidate in the middle; with fewer
# candidates than the second number the middle is not known. A source that passes a test at .01 stands out by 2.3.
STANDS_OUT, MANY_CANDIDATES = 2.0, 30
# Pairs of nodes up to which sources that were not selected are named with their best lag, to be tested too.
MOST_PAIRS = 400
# A candidate is chosen without further surrogates if the first ones put it at this share of the level; what is chosen
# is tested with all of them in the end. 52 flows had as many true and false links as without this. Of four recordings
# most tests that passed stood out by 5 to 30 standard deviations of the first surrogates, none that failed by over 2.6.
CLEARLY = 0.01


@option
class NonUniform(EmbeddingMethod):
    """Lags of own pasts and of sources, chosen from the data for each target; gives `Lags`.

    Parameters
    ----------
    max_lag
        Largest lag that is tried.
    estimator
        Any; with the one used for transfer entropy the choice suits it.
    alpha
        Confidence level of the tests.
    surrogate, n_surrogates, seed
        How the null distribution is sampled. None takes the analytic one where the estimator has it, else 199.
    candidates
        ``{target: sources}``: the sources that a target may have; targets that are not named may have any.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, lags=4, seed=0)
    >>> lags = em.choose_embedding(series, em.NonUniform(max_lag=5, estimator=em.Gaussian()))
    >>> lags.table(series.names)[0, 1]
    (4,)
    """

    cli_name = "nonuniform"
    cli_options = ("max_lag",)
    summary = "lags of own past and of every source, found together; tested as they were found"
    phrase = "a non-uniform embedding (Faes et al. 2011) with lags up to {max_lag}"
    references = (
        "Faes, L., Nollo, G. and Porta, A. (2011). Information-Based Detection of Nonlinear Granger Causality in "
        "Multivariate Processes via a Nonuniform Embedding Technique. Physical Review E 83, 051112.",
    )
    FORMAT: ClassVar[int] = 3

    max_lag: int = 5
    estimator: Estimator = field(default_factory=KSG)
    alpha: float = 0.99
    surrogate: Surrogate = field(default_factory=CircularShift)
    n_surrogates: int | None = None
    seed: int = 0
    candidates: Any = ()

    def __post_init__(self) -> None:
        whole_fields(self, max_lag=1, seed=0)
        given = self.candidates.items() if isinstance(self.candidates, Mapping) else self.candidates
        named = tuple(sorted((str(target), tuple(map(str, sources))) for target, sources in given))
        object.__setattr__(self, "candidates", named)
        if not 0.5 <= self.alpha < 1:
            raise InputError(f"alpha={self.alpha!r} is not possible; give a confidence level such as 0.99")
        if self.count or not self.estimator.analytic:
            check_surrogates(self.count, self.alpha)

    @property
    def count(self) -> int:
        """Number of surrogates of a test; 0 for the analytic null distribution."""
        if self.n_surrogates is not None:
            return self.n_surrogates
        return 0 if self.estimator.analytic else usual_surrogates(self.alpha)

    def choose(self, series: Series) -> Lags:
        """Return the lags of every pair."""
        selection = self.bind(series)
        return self.lags([run(selection.find(i))[0] for i in range(series.n_nodes)], series.names)

    def lags(self, pasts: Sequence[Past], names: Sequence[str]) -> Lags:
        """Return what was found for each target as lags of pairs; of large networks those of selected sources alone."""
        nodes = range(len(names))
        all_pairs = len(names) * (len(names) - 1) <= MOST_PAIRS
        found = {(names[i], names[i]): past.own for i, past in enumerate(pasts)}
        for i, past in enumerate(pasts):
            sources = nodes if all_pairs else past.sources
            found |= {(names[j], names[i]): past.lags[j] for j in sources if i != j}
        return Lags(found, searched=self.max_lag)

    def allowed_sources(self, series: Series) -> list[list[int]] | None:
        """Return the sources that each target may have, by position; None for any."""
        if not self.candidates:
            return None
        given = {series.index(target): sorted(series.indices(sources)) for target, sources in self.candidates}
        return [given.get(i, [j for j in range(series.n_nodes) if j != i]) for i in range(series.n_nodes)]

    def bind(self, series: Series) -> Any:
        """Return the selection on a series: by regression where the estimator is one, else by tests of candidates."""
        features = getattr(self.estimator, "features", "")
        regression = isinstance(self.estimator, Gaussian) or features in ("linear", "quadratic")
        if not self.count and regression:
            return ForwardSelection(self, series)
        return TestedSelection(self, series)


class TestedSelection:
    """Forward selection for the targets of one series, each step by a test with surrogates, or by an analytic one."""

    def __init__(self, method: NonUniform, series: Series):
        self.score = method
        self.transfers = Transfers(series, method.estimator, Lags(searched=method.max_lag))
        blocks = self.transfers.blocks
        states = [arity for arity in blocks.arity if arity] or [0]
        self._most = 1 + method.estimator.max_parents_for(blocks.n, [1], states)[0]
        self._sampling = Sampling(method.surrogate, method.count, method.seed)
        self._level = 1 - method.alpha
        self._allowed = method.allowed_sources(series)

    def find(self, target: int) -> Task[tuple[Past]]:
        """Choose the lagged variables of one target; a task that waits while a test is computed."""
        y = Lagged(target, 0)
        chosen, best = yield from self._grown(y)
        chosen = yield from self._pruned(y, chosen)
        return (self._past(target, chosen, best),)

    def _grown(self, y: Lagged) -> Task[tuple[list[Lagged], dict[int, int]]]:
        """Choose one variable after the other; return them and every node's best lag."""
        chosen = [Lagged(y.node, 1)]
        nodes = range(self.transfers.blocks.n_nodes)
        open_ = list(nodes) if self._allowed is None else [y.node, *self._allowed[y.node]]
        best = dict.fromkeys(nodes, 1)
        while open_ and len(chosen) < self._most:
            z = in_order(y, chosen)
            free = [v for j in open_ for v in self.transfers.blocks.choices(j) if v not in z]
            values = dict(zip(free, self.transfers.each(free, y, z))) if free else {}
            taken = {variable.node for variable in chosen}
            best |= {node: leader.lag for node, leader in _leaders(values).items() if node not in taken}
            leader = yield from self._first_to_pass(y, z, open_, values)
            if leader is None:
                break
            chosen.append(leader)
        return chosen, best

    def _first_to_pass(
        self, y: Lagged, z: Sequence[Lagged], open_: list[int], values: dict[Lagged, float]
    ) -> Task[Lagged | None]:
        """Return the first candidate that passes its test; a node whose best candidate fails takes no further part."""
        leaders, enough = _leaders(values), _stands_out(np.array(list(values.values())))
        for leader in sorted(leaders.values(), key=lambda v: (-values[v], v.node)):
            if values[leader] < enough:
                return None
            free = [variable for variable in values if variable.node == leader.node]
            test = yield from self._test([leader], y, z, free, values[leader], clear=CLEARLY * self._level)
            if test.p_value <= self._level:
                return leader
            open_.remove(leader.node)
        return None

    def twin(self) -> "TestedSelection":
        """Return a selection for another thread: the same data, prepared objects of its own."""
        twin = copy(self)
        twin.transfers = self.transfers.twin()
        return twin

    def _test(
        self,
        x: Sequence[Lagged],
        y: Lagged,
        z: Sequence[Lagged],
        free: Sequence[Lagged],
        value: float | None,
        clear: float = 0.0,
    ) -> Task[Significance]:
        """Test the lags x of a node, chosen among ``free``, given z; each surrogate chooses as many of its own.

        A test that is ``clear`` has few surrogates (`significance.sampled`).
        """
        transfers, sampling = self.transfers, self._sampling
        if not sampling.count:
            return (yield from ready(analytic(transfers, x, y, z, comb(len(free), len(x)))))
        surrogates = drawn(transfers, (list(free), y, list(z)), sampling, len(x), in_parts=True)
        value = transfers.cmi(x, y, z) if value is None else value
        return (yield from sampled(surrogates, sampling.count, value, self._level, clear))

    def _pruned(self, y: Lagged, chosen: list[Lagged]) -> Task[list[Lagged]]:
        """Drop the weakest source that fails a test of all its lags given the rest, until none fails."""
        while True:
            sources = sorted({variable.node for variable in chosen} - {y.node})
            tests = {}
            for j in sources:
                x = [variable for variable in chosen if variable.node == j]
                z = in_order(y, [variable for variable in chosen if variable.node != j])
                tests[j] = yield from self._test(x, y, z, self.transfers.blocks.choices(j), None)
            failed = [j for j in sources if tests[j].p_value > self._level]
            if not failed:
                return chosen
            weakest = min(failed, key=lambda j: (tests[j].value, j))
            chosen = [variable for variable in chosen if variable.node != weakest]

    def _past(self, target: int, chosen: Sequence[Lagged], best: dict[int, int]) -> Past:
        def lags(node: int) -> tuple[int, ...]:
            return tuple(sorted(variable.lag for variable in chosen if variable.node == node))

        nodes = range(self.transfers.blocks.n_nodes)
        sources = tuple(j for j in nodes if j != target and lags(j))
        listed = tuple(lags(j) or (best[j],) for j in nodes)
        return Past(lags(target), listed, sources)


def _stands_out(values: np.ndarray) -> float:
    """Return the value from which on a candidate stands out: so many standard deviations, of most, over the middle."""
    if len(values) < MANY_CANDIDATES:
        return -np.inf
    middle = np.median(values)
    return float(middle + STANDS_OUT * 1.4826 * np.median(np.abs(values - middle)))


def _leaders(values: dict[Lagged, float]) -> dict[int, Lagged]:
    """Return for each node the candidate that says most, of equal ones that with the smallest lag."""
    by_node = groupby(sorted(values), key=lambda v: v.node)
    return {node: max(group, key=lambda v: (values[v], -v.lag)) for node, group in by_node}


def in_order(y: Lagged, variables: Sequence[Lagged]) -> list[Lagged]:
    """Return lagged variables as `Transfers.variables` orders them: the target's own first, then node by node."""
    return sorted(variables, key=lambda v: (v.node != y.node, v.node, v.lag))
