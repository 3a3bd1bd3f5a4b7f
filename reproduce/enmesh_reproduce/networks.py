"""Recovery of known networks: coupled logistic maps and Lorenz-Rossler flows on small acyclic graphs.

Three and four nodes, empty, chain, fork, collider, diamond and full, over coupling strength, observation noise,
number of samples N and confidence alpha, several seeds each. Every finished cell goes to ``networks.db``; a run
that was stopped and is started again in the same folder takes up where it was.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from enmesh.data.graph_input import parents_of
from enmesh.data.series import Series
from enmesh.draw.style import THEMES, draw_matrix
from enmesh.embedding.choose import choose_embedding, embedding_method
from enmesh.errors import InputError
from enmesh.estimators import KSG, Gaussian
from enmesh.inference.workers import in_order
from enmesh.measures import parent_indices
from enmesh.scores import TE, TEA, TEE, Scorer
from enmesh.search import Exact
from enmesh.search.base import Family, Problem
from enmesh.search.graphs import Parents, edges
from enmesh.simulate import coupled_flow, coupled_map
from enmesh.tasks import run
from enmesh_reproduce import Job
from enmesh_reproduce.outcome import Outcome, figure

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
Rows = list[dict[str, Any]]
Panel = tuple[str, str, str, pd.DataFrame, Callable[[pd.DataFrame], pd.DataFrame]]

FORMAT = 1  # raised whenever the same cell gives another result than before
USUAL = {"logistic": 0.3, "lorenz-rossler": 1.5}  # coupling at which the other factors are compared
IN_WORDS = {
    "logistic": f"Coupled logistic maps, r = 4, dynamic noise {MAP_NOISE:g}",
    "lorenz-rossler": f"Coupled Lorenz and Rossler flows by turns, sampled every {FLOW_STEP:g} time units",
}
THREE, FOUR = (tuple(name for name in NETWORKS if name.startswith(size)) for size in "34")


class Cell(NamedTuple):
    """What is simulated: a system on a network with its strengths, length and seed."""

    system: str
    network: str
    coupling: float
    obs_noise: float
    n: int
    seed: int


def grid(system: str, networks: Any, coupling: Any, n: Any, obs_noise: Any = (0.0,)) -> list[tuple[Any, ...]]:
    """Return all combinations of these, as cells without a seed."""
    return list(product([system], networks, coupling, obs_noise, n))


ALL, LENGTHS = THREE + FOUR, (250, 500, 1000, 2000)
QUICK = (
    grid("logistic", THREE, (0.1, 0.3, 0.5), (500,), (0.0, 0.02, 0.1)),
    grid("logistic", THREE, (0.3,), LENGTHS),
    grid("logistic", FOUR, (0.3,), (500,)),
    grid("lorenz-rossler", THREE, (0.5, 1.0, 1.5), (500,), (0.0, 0.5, 2.0)),
    grid("lorenz-rossler", THREE, (1.5,), (250, 500, 1000)),
    grid("lorenz-rossler", FOUR, (1.5,), (500,)),
)
FULL = (
    grid("logistic", ALL, (0.05, 0.1, 0.2, 0.3, 0.4, 0.5), LENGTHS, (0.0, 0.01, 0.02, 0.05, 0.1)),
    grid("lorenz-rossler", ALL, (0.25, 0.5, 0.75, 1.0, 1.5), LENGTHS, (0.0, 0.2, 0.5, 1.0, 2.0)),
)


def networks(
    job: Job, *, grids: Any = None, full: bool = False, seeds: int = 2, n_surrogates: int = 99, usual_n: int = 500,
    alphas: Sequence[float] = (0.9, 0.95, 0.99),
) -> Outcome:  # fmt: skip
    """Compute the cells that are missing, and tabulate and draw all of them."""
    grids, wanted = grids or (FULL if full else QUICK), range(job.seed, job.seed + seeds)
    # Seed by seed: what is there early is balanced.
    cells = list(dict.fromkeys(Cell._make([*one, seed]) for cells in grids for seed in wanted for one in cells))
    results = computed(job, cells, tuple(alphas), n_surrogates)
    diverged = [f"{cell}: {rows[0]['error']}" for cell, rows in results.items() if "error" in rows[0]]
    runs = pd.DataFrame([cell._asdict() | row for cell, rows in results.items() for row in rows if "error" not in row])
    runs.insert(1, "nodes", runs.network.str[0].astype(int))
    runs["network"] = pd.Categorical(runs.network, list(NETWORKS))  # sorts as listed
    factors = ["system", "nodes", "coupling", "obs_noise", "n", "score", "alpha"]
    by_network = measured(runs, [*factors[:2], "network", *factors[2:]])
    tables = {"networks_runs": runs, "networks": measured(runs, factors), "networks_each": by_network}
    lines = [f"Recovery of known networks: {len(cells)} simulations, {seeds} seeds, alpha {max(alphas):g}"]
    shown = ["nodes", "n", "score", "runs", "precision", "recall", "fpr", "f1", "f1_mean"]
    for system in dict.fromkeys(runs.system):
        usual = at(runs[runs.system == system], max(alphas), coupling=USUAL[system], obs_noise=0.0)
        if len(usual):
            lines += ["", f"{IN_WORDS[system]}, coupling {USUAL[system]:g}, no observation noise"]
            lines.append(measured(usual, shown[:3])[shown].to_string(index=False, float_format="{:.2f}".format))
    lines += ["", *(f"left out, {why}" for why in diverged)] if diverged else []
    return Outcome(tables, _figures(runs, max(alphas), usual_n), "\n".join(lines))


def computed(job: Job, cells: Sequence[Cell], alphas: tuple[float, ...], n_surrogates: int) -> dict[Cell, Rows]:
    """Return the results of all cells in their order, from the store where they are there."""
    formats = "/".join(map(str, [FORMAT, TE.FORMAT, TEA.FORMAT, TEE.FORMAT]))
    recipe = {"type": "networks", "alphas": list(alphas), "n_surrogates": n_surrogates}
    description = {"data": "simulated", "names": [], "score": recipe, "code": formats}
    given = [(cell, alphas, n_surrogates) for cell in cells]
    how = {"n_jobs": job.n_jobs, "progress": job.progress, "store": job.out / "networks.db"}
    return dict(zip(cells, in_order(recover, given, names=cells, description=description, **how)))


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
    near, line = (choose_embedding(series, embedding_method(kind, series)) for kind in (KSG(), Gaussian()))
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
    test = test or (lambda link: run(scorer.test(link)))

    def score(target: int, parents: tuple[int, ...]) -> float:
        return scorer.combine(target, parents, {link: test(link) for link in scorer.tests(target, parents)})

    def evaluate(asked: Sequence[Family]) -> np.ndarray:
        return np.array([score(*family) for family in asked])

    return Exact().run(evaluate, Problem(n_nodes=nodes, max_parents=nodes - 1)).parents


def measured(runs: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """Return precision, recall, false positive rate and F1 of the counts added up, by factors.

    ``f1_mean`` is the mean of every run's own F1 = 2 tp / (2 tp + fp + fn), 1 where nothing was to be found and nothing
    was. Precision is missing where no edge was found, recall and F1 where there was none to find.
    """
    own = 2 * runs.tp / (2 * runs.tp + runs.fp + runs.fn).replace(0, np.nan)
    grouped = runs.assign(f1_mean=own.fillna(1.0), runs=1).groupby(by, observed=True)
    sums = grouped[["runs", "tp", "fp", "fn", "tn"]].sum()
    table = sums.assign(
        precision=sums.tp / (sums.tp + sums.fp).replace(0, np.nan),
        recall=sums.tp / (sums.tp + sums.fn).replace(0, np.nan),
        fpr=sums.fp / (sums.fp + sums.tn),
        f1=2 * sums.tp / (2 * sums.tp + sums.fp + sums.fn).where(sums.tp + sums.fn > 0),
        f1_mean=grouped.f1_mean.mean(),
    )
    return table.reset_index()


def at(runs: pd.DataFrame, alpha: float, **values: Any) -> pd.DataFrame:
    """Return the runs with these values of factors; TE, which has no alpha, is kept at any."""
    keep = (runs.alpha == alpha) | (runs.score == "TE")
    for factor, value in values.items():
        keep &= runs[factor] == value
    return runs[keep]


def _figures(runs: pd.DataFrame, alpha: float, usual_n: int) -> dict[str, Figure]:
    """Return a figure for every system and number of nodes: a row of heat maps per score."""
    made = {}
    for system, nodes in dict.fromkeys(zip(runs.system, runs.nodes)):
        part = runs[(runs.system == system) & (runs.nodes == nodes)]
        scores, panels = list(dict.fromkeys(part.score)), list(_panels(part, system, alpha, usual_n))
        if not panels:
            continue
        # A column each where there is one map per score.
        shape = (len(scores), len(panels)) if len(panels) > 1 else (1, len(scores))
        drawn, axes = figure(1.6 + 3.6 * shape[1], 2.8 * shape[0] + 0.6, *shape)
        seeds = f"{nodes} nodes, {part.seed.nunique()} seeds, alpha {alpha:g} where not varied"
        drawn.suptitle(f"{IN_WORDS[system]}; {seeds}", fontsize=10.5, x=0.01, ha="left")
        for ax, (name, (title, across, down, chosen, table)) in zip(axes.flat, product(scores, panels)):
            shown = table(chosen[chosen.score == name])
            draw_matrix(
                ax, shown.to_numpy(float), "heat", (0.0, 1.0), THEMES["light"], rows=list(shown.index),
                columns=list(shown.columns), label="fraction", written="{:.2f}".format,
            )  # fmt: skip
            ax.set(xlabel=across, ylabel=down, aspect="auto")
            ax.set_title(f"{name}: {title}", fontsize=8.5, loc="left")
        made[f"networks_{system}_{nodes}"] = drawn
    return made


def _panels(runs: pd.DataFrame, system: str, alpha: float, usual_n: int) -> Iterator[Panel]:
    """Yield ``(title, axis labels, runs, table)`` for each comparison; ``table`` makes of runs what is drawn."""
    usual = USUAL[system]
    strengths = at(runs, alpha, n=usual_n)
    if strengths.groupby(["coupling", "obs_noise"]).ngroups > 1:
        across = f"coupling ({'dimensionless' if system == 'logistic' else 'per time unit'})"
        down = "observation noise, s.d.\n(units of the state)"
        yield (f"mean F1, N = {usual_n}", across, down, strengths, lambda part: _f1(part, "obs_noise", "coupling"))
    lengths = runs[(runs.coupling == usual) & (runs.obs_noise == 0)]
    if lengths.n.nunique() > 1:
        across = "alpha (confidence; 0: no penalty)"
        yield (f"mean F1, coupling {usual:g}", across, "N (samples)", lengths, lambda part: _f1(part, "n", "alpha"))
    each = at(runs, alpha, n=usual_n, coupling=usual, obs_noise=0.0)
    if len(each):
        yield f"N = {usual_n}, coupling {usual:g}", "fraction", "network", each, _rates


def _f1(runs: pd.DataFrame, down: str, across: str) -> pd.DataFrame:
    table = measured(runs, [down, across]).pivot(index=down, columns=across, values="f1_mean")
    return table.rename("{:g}".format, axis=0).rename("{:g}".format, axis=1)


def _rates(runs: pd.DataFrame) -> pd.DataFrame:
    """Return precision, recall, false positive rate and F1 of every network."""
    table = measured(runs, ["network"])
    table = table.set_index(table.network.astype(str).str[2:]).rename(columns={"fpr": "FPR", "f1_mean": "mean F1"})
    return table[["precision", "recall", "FPR", "mean F1"]]
