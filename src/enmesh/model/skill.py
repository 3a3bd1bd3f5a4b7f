"""Skill: does the network predict? Out of sample, beside the own past alone and beside all nodes.

Rolling origin: coefficients are fitted to the samples before an origin and judged on those after it, up to the next
origin. The graph is not found again: judge it on samples that it was not inferred from.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.model.equations import Equations
from enmesh.model.fit import Data, Links, fitted
from enmesh.model.nodes import Curve, inputs
from enmesh.model.outlook import Drawn
from enmesh.options import whole

if TYPE_CHECKING:
    import pandas as pd

CONTENDERS = ("network", "own past", "all nodes")
SHARES = np.linspace(0.05, 0.95, 19)  # of the calibration
MOST_ORIGINS, PATHS = 100, 40  # of forecasts by simulation, for horizons over 1 of curved nodes
ORDERS = 5  # lags of all nodes among which the full regression chooses


@dataclass(frozen=True, repr=False)
class Skill(Drawn):
    """How well a network predicts samples that it was not fitted to.

    Attributes
    ----------
    table
        A row per node and horizon: errors of the network, of the own past and of all nodes (root mean square; of
        states, in nats at horizon 1), and ``against_own``, ``against_all``: by which share the squared error
        (of states, the loss) of the network is smaller; negative where it is larger.
    links
        A row per link: ``cost``, by how many nats per sample the one-step prediction of the target gets worse
        without the link, and its standard error.
    calibration
        ``expected`` and ``observed``: the share of one-step values under each quantile of their predicted distribution.
    against_own, against_all
        The shares over all nodes at horizon 1 (mean over nodes).
    covered
        Share of one-step values within their 95 % limits.
    tested, origins
        Number of samples that were predicted, and how often the model was fitted.
    seen
        Whether the graph was inferred from these samples, so that its skill is too good.
    """

    table: "pd.DataFrame"
    links: "pd.DataFrame"
    calibration: "pd.DataFrame"
    against_own: float
    against_all: float
    covered: float
    tested: int
    origins: int
    seen: bool

    @property
    def sentence(self) -> str:
        """Does it predict? In words."""

        def said(share: float, whom: str) -> str:
            return f"{abs(share):.1%} {'smaller' if share > 0 else 'larger'} than {whom}"

        text = (
            f"One sample ahead the network's squared error is {said(self.against_own, 'with the own past alone')} and "
            f"{said(self.against_all, 'with all nodes')} ({self.tested} samples, {self.origins} fits)."
        )
        if self.against_own <= 0:
            text += " The links do not help to predict these samples."
        elif self.against_all < 0:
            text += " To predict, take all nodes."
        return text + f" {self.covered:.0%} of the values lie within 95 % limits."

    def __repr__(self) -> str:
        shown = self.table.to_string(float_format="{:.4g}".format, index=False)
        links = self.links.to_string(float_format="{:.4g}".format, index=False) if len(self.links) else ""
        seen = "\nThe graph was inferred from samples that are predicted here." if self.seen else ""
        return f"{self.sentence}\n{shown}\n{links}{seen}"


def skill(
    model: Equations,
    series: Any = None,
    *,
    horizons: Sequence[int] = (1,),
    origins: int = 5,
    first: float = 0.5,
    seed: int = 0,
) -> Skill:
    """Return how well the network predicts a recording out of sample.

    Parameters
    ----------
    series
        The recording; by default the fitted one. The graph should come from other samples, or from those before
        ``first``.
    horizons
        How many samples ahead.
    origins
        How often coefficients are fitted anew, to all samples before an origin.
    first
        Share of the samples before the first origin.
    seed
        Seed of simulated forecasts, of nodes with curves at horizons over 1.
    """
    series = model.series if series is None else series
    refuse_if(series is None, "the series is not in memory; give the recording to predict")
    if isinstance(horizons, str) or not np.iterable(horizons):
        raise InputError(f"horizons={horizons!r} is no list of numbers; give the samples ahead, as (1, 5)")
    ahead, seed = tuple(sorted({whole("horizon", h, 1) for h in horizons} | {1})), whole("seed", seed)
    possible = isinstance(first, Real) and 0 < float(first) < 1
    refuse_if(not possible, f"first={first!r} is not possible; give a share of the samples, such as 0.5")
    given = Series.of(series)
    data, judge = model.data(given), _Judge(model, ahead, seed)
    rows = data.complete(data.rows(model.span), model.span + 1)
    cuts = np.linspace(first * len(rows), len(rows), whole("origins", origins, 1) + 1).astype(int)
    refuse_if(
        cuts[0] < 20 or np.diff(cuts).min() < 2, f"too few samples to judge: {len(rows)}; give more, or fewer origins"
    )
    for start, stop in zip(cuts[:-1], cuts[1:]):
        judge.fold(data, rows[start], rows[start:stop])
    refuse_if({*ahead} - judge.reached, f"horizon {ahead[-1]} is too long for these samples; give a shorter one")
    seen = bool(model.digest) and given.digest == model.digest
    if seen:
        hazard("the graph was inferred from the samples that it predicts here; infer it from the first part of them")
    return judge.result(len(rows) - int(cuts[0]), origins, seen)


class _Judge:
    """Collects losses of all contenders, fold by fold."""

    def __init__(self, model: Equations, ahead: tuple[int, ...], seed: int):
        self.model, self.ahead, self.seed = model, ahead, seed
        self.losses: dict[tuple[str, int, int], list[np.ndarray]] = {}
        self.densities: dict[tuple[str, int], list[np.ndarray]] = {}
        self.ranks: list[np.ndarray] = []
        self.reached = {1}  # horizons that some samples lie within

    def fold(self, data: Data, origin: int, rows: np.ndarray) -> None:
        """Fit all contenders to the samples before an origin, and judge them on rows after it."""
        size = len(self.model.names)
        past = _before(data, int(origin))
        graphs: dict[str, Links] = {"network": self.model.links, "own past": dict.fromkeys(range(size), ())}
        nodes = {name: fitted(past, links) for name, links in graphs.items()}
        full, nodes["all nodes"] = _all_nodes(past, self.model)
        graphs["all nodes"] = full
        for name in CONTENDERS:
            made = Equations.of(past, graphs[name], nodes[name])
            there = data.complete(rows[rows >= made.span], made.span + 1)
            self._one_ahead(name, nodes[name], data, rows)
            for h in self.ahead[1:]:
                self._ahead(name, made, data, there, h)
        for target, pairs in self.model.links.items():
            for source in {s for s, _ in pairs}:
                less = {target: tuple(pair for pair in pairs if pair[0] != source)}
                node = fitted(past, less, only=[target])[target]
                density = node.log_density(inputs(data.values, rows, node.terms), data.values[rows, target])
                self.densities.setdefault((f"without {source}", target), []).append(density)

    def _one_ahead(self, name: str, nodes: Mapping[int, Any], data: Data, rows: np.ndarray) -> None:
        for i, node in nodes.items():
            x, y = inputs(data.values, rows, node.terms), data.values[rows, i]
            density = node.log_density(x, y)
            self.densities.setdefault((name, i), []).append(density)
            loss = (y - node.mean(x, node.best)) ** 2 if isinstance(node, Curve) else -density
            self.losses.setdefault((name, i, 1), []).append(loss)
            if name == "network" and isinstance(node, Curve):
                self.ranks.append(node.rank(x, y))

    def _ahead(self, name: str, model: Equations, data: Data, rows: np.ndarray, horizon: int) -> None:
        """Judge forecasts of curves at a horizon: the mean of simulated continuations."""
        lengths = np.cumsum([len(trial) for trial in data.trials])
        ends = lengths[np.searchsorted(lengths, rows, side="right")]
        rows = rows[rows + horizon - 1 < ends]
        if not len(rows):
            return
        self.reached.add(horizon)
        rows = rows[np.unique(np.linspace(0, len(rows) - 1, MOST_ORIGINS).astype(int))]
        linear = all(node.linear for node in model.nodes.values())
        paths = 1 if linear else PATHS
        start = np.repeat(data.histories(rows - 1, model.span), paths, axis=0)
        rng = np.random.default_rng([self.seed, horizon])
        noise = None if linear else model.shocks(rng, len(start), horizon)
        found = model.run(start, horizon, noise)[:, -1].reshape(len(rows), paths, -1).mean(axis=1)
        for i, node in model.nodes.items():
            if isinstance(node, Curve):
                loss = (data.values[rows + horizon - 1, i] - found[:, i]) ** 2
                self.losses.setdefault((name, i, horizon), []).append(loss[~np.isnan(loss)])

    def result(self, tested: int, origins: int, seen: bool) -> Skill:
        """Return what was collected."""
        import pandas as pd

        rows = []
        for i, name in enumerate(self.model.names):
            for h in self.ahead:
                if ("network", i, h) not in self.losses:
                    continue
                mean = [float(np.concatenate(self.losses[who, i, h]).mean()) for who in CONTENDERS]
                shown = np.sqrt(mean) if isinstance(self.model.nodes[i], Curve) else mean
                rows.append((name, h, *shown, 1 - mean[0] / mean[1], 1 - mean[0] / mean[2]))
        columns = ["node", "horizon", "network", "own_past", "all_nodes", "against_own", "against_all"]
        table = pd.DataFrame(rows, columns=columns)
        ranks = np.concatenate(self.ranks) if self.ranks else np.empty(0)
        observed = [float((ranks <= share).mean()) if len(ranks) else np.nan for share in SHARES]
        covered = float(((ranks > 0.025) & (ranks < 0.975)).mean()) if len(ranks) else np.nan
        near = table[table.horizon == 1]
        return Skill(
            table=table,
            links=self._costs(),
            calibration=pd.DataFrame({"expected": SHARES, "observed": observed}),
            against_own=float(near.against_own.mean()),
            against_all=float(near.against_all.mean()),
            covered=covered,
            tested=tested,
            origins=origins,
            seen=seen,
        )

    def _costs(self) -> "pd.DataFrame":
        import pandas as pd

        from enmesh.explain import long_run_variance

        rows = []
        for target, pairs in self.model.links.items():
            for source in sorted({s for s, _ in pairs}):
                less = np.concatenate(self.densities[f"without {source}", target])
                gain = np.concatenate(self.densities["network", target]) - less
                error = np.sqrt(long_run_variance(gain, np.array([0, len(gain)])) / len(gain))
                ends = self.model.names[source], self.model.names[target]
                rows.append((*ends, float(gain.mean()), float(error)))
        frame = pd.DataFrame(rows, columns=["source", "target", "cost", "error"])
        return frame.sort_values("cost", ascending=False, ignore_index=True)


def _before(data: Data, row: int) -> Data:
    """Return the samples before a row."""
    trials, first = [], 0
    for trial in data.trials:
        if row > first:
            trials.append(trial[: row - first])
        first += len(trial)
    return Data(data.names, tuple(trials), data.states)


def _all_nodes(past: Data, model: Equations) -> tuple[Links, dict[int, Any]]:
    """Return the regression of each node on all nodes at lags 1 to p, with p of the best criterion; and its fit."""
    size, n = len(past.names), len(past.values)
    longest = max([1, *(lag for pairs in model.links.values() for _, lag in pairs)])
    best, least = None, np.inf
    for order in range(1, max(ORDERS, longest) + 1):
        if size * order + 12 > n // 3 and best is not None:
            break
        lags = range(1, order + 1)
        links = {i: tuple((j, lag) for j in range(size) if j != i for lag in lags) for i in range(size)}
        try:
            nodes = fitted(past, links, own_past=None if past.states else order, basis="linear")
        except InputError:
            if best is None:
                raise
            break
        curves = [node for node in nodes.values() if isinstance(node, Curve)]
        used = sum(len(node.beta) for node in curves)
        criterion = sum(2 * node.n * np.log(node.sigma) for node in curves) + used * np.log(n)
        if criterion < least or best is None:
            best, least = (links, nodes), criterion
    assert best is not None
    return best
