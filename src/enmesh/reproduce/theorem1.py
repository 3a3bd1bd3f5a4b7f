"""Theorem 1: D_KL(p_D || p_B) = S_Y - sum_i T_{parents -> i} (eq. kl-te), for all 25 acyclic graphs on three nodes.

Both sides are computed on their own: the divergence directly (eq. kl-div), stochastic interaction and transfer
entropies each by their definition. The smallest divergence is the floor TC(Y_{n+1} | all pasts), which no graph
removes. By Corollary 1 every graph that contains the truth reaches it; so "the truth is at the minimum" reads: the
truth reaches the floor within estimation error, and no graph that lacks one of its edges does. Error is judged by a
test of what each family leaves unexplained, T(non-parents -> i | parents), against chance.

The identity is exact for Gaussian and Discrete. KSG does not obey the chain rule: there the two sides differ by the
estimation error, which the table shows.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh import measures
from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import KSG, Discrete, Gaussian
from enmesh.reproduce.outcome import DARK, INK, LIGHT, MARK, Job, Outcome, arrows, figure
from enmesh.search.graphs import Parents, all_dags
from enmesh.significance import significance
from enmesh.simulate import coupled_map, markov, var

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Graph = Mapping[str, Sequence[str]]
QUICK = {"n": 2000, "n_surrogates": 499}
FULL = {"n": 10_000, "n_surrogates": 999}
TRUTH = "a>b>c"
LEVEL = 0.01  # p-value under which a graph's divergence is above the floor

SYSTEMS = {
    "linear (VAR), Gaussian": (lambda n, seed: var(TRUTH, n=n, seed=seed), Gaussian()),
    "logistic maps, KSG": (
        lambda n, seed: coupled_map(TRUTH, n=n, coupling=0.3, noise=0.1, seed=seed),
        KSG(),
    ),
    "Markov chains, discrete": (lambda n, seed: markov(TRUTH, n=n, states=2, seed=seed), Discrete()),
}


def experiment(job: Job, *, n: int, n_surrogates: int) -> Outcome:
    """Tabulate both sides of the theorem for every graph and system."""
    import pandas as pd

    parts = []
    for name, (simulate, estimator) in SYSTEMS.items():
        test = {"n_surrogates": 0 if estimator.analytic else n_surrogates, "seed": job.seed}
        rows = list(
            both_sides(simulate(n, job.seed), {"estimator": estimator, "embedding": Embedding()}, test)
        )
        parts.append(pd.DataFrame(rows).assign(system=name))
    table = pd.concat(parts, ignore_index=True)
    table = table[["system", *table.columns.drop("system")]]
    return Outcome(tables={"theorem1": table}, figures={"theorem1": _draw(table)}, summary=_summary(table, n))


def both_sides(series: Series, how: dict[str, Any], test: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield for every acyclic graph, few edges first, both sides of the theorem (nats) and the test of the floor."""
    interaction = measures.stochastic_interaction(series, **how)
    floor = measures.kl_floor(series, **how)
    truth = _edges(series.truth or {})
    p_values: dict[tuple[str, tuple[str, ...]], float] = {}
    for graph in sorted(
        (_named(series, parents) for parents in all_dags(series.n_nodes)), key=_few_edges_first
    ):
        divergence = measures.kl_divergence(series, graph, **how, form="direct")
        transfers = [measures.transfer_entropy(series, list(p), i, **how) for i, p in graph.items() if p]
        for i, parents in graph.items():
            if (i, parents) not in p_values:
                p_values[i, parents] = _p_unexplained(series, i, parents, how | test)
        yield {
            "graph": arrows(graph),
            "edges": len(_edges(graph)),
            "kl": divergence,
            "s": interaction,
            "sum_t": sum(transfers),
            "s_minus_sum_t": interaction - sum(transfers),
            "identity_error": divergence - (interaction - sum(transfers)),
            "floor": floor,
            "above_floor": divergence - floor,
            "p_at_floor": min(1.0, len(graph) * min(p_values[family] for family in graph.items())),
            "contains_truth": truth <= _edges(graph),
            "is_truth": truth == _edges(graph),
        }


def _p_unexplained(series: Series, target: str, parents: Sequence[str], how: dict[str, Any]) -> float:
    """p-value of T(all others -> target | parents); 1 where there are no others."""
    others = [name for name in series.names if name != target and name not in parents]
    return significance(series, others, target, given=list(parents), **how).p_value if others else 1.0


def _named(series: Series, parents: Parents) -> dict[str, tuple[str, ...]]:
    return {name: tuple(series.names[j] for j in some) for name, some in zip(series.names, parents)}


def _edges(graph: Graph) -> frozenset[tuple[str, str]]:
    return frozenset((source, target) for target, sources in graph.items() for source in sources)


def _few_edges_first(graph: Graph) -> tuple[int, str]:
    return len(_edges(graph)), arrows(graph)


def _draw(table: "pd.DataFrame") -> "Figure":
    systems = list(dict.fromkeys(table.system))
    drawn, axes = figure(11.5, 6.6, 1, len(systems), sharey=True)
    for ax, name in zip(axes[0], systems):
        _panel(ax, table[table.system == name].reset_index(drop=True))
        ax.set_title(name, fontsize=10, loc="left")
    graphs = table[table.system == systems[0]].graph.str.replace(">", " → ")
    axes[0, 0].set_yticks(range(len(graphs)), graphs, fontsize=7.5)
    axes[0, 0].set_ylabel("candidate graph")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    drawn.legend(handles, labels, loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return drawn


def _panel(ax: "Axes", rows: "pd.DataFrame") -> None:
    """Stack the divergence and the transfer entropies of every graph: by the theorem all stacks end at S."""
    place = np.arange(len(rows))
    at_floor = rows.p_at_floor >= LEVEL
    ax.barh(place, rows.kl, color=DARK, height=0.7, label="KL divergence, computed directly")
    ax.barh(place, rows.sum_t, left=rows.kl, color=LIGHT, height=0.7, label="sum of transfer entropies")
    ax.axvline(rows.s[0], color=INK, lw=1.2, label="stochastic interaction S")
    ax.axvline(rows.floor[0], color=MARK, lw=1.2, ls="--", label="floor that no graph removes")
    ax.plot(rows.kl[at_floor], place[at_floor], "o", color=MARK, ms=5, label=f"at the floor (p ≥ {LEVEL:g})")
    low, high = min(0.0, rows.kl.min()), max(rows.s[0], (rows.kl + rows.sum_t).max())
    margin = 0.04 * (high - low)
    span = {"left": low - margin, "width": high - low + 2 * margin}
    ax.barh(place[rows.is_truth], **span, color="none", ec=MARK, lw=1.4, height=0.95, label="the truth")
    ax.set(xlabel="nats", xlim=(low - 1.5 * margin, high + 1.5 * margin), ylim=(len(rows) - 0.4, -0.6))
    ax.tick_params(axis="y", length=0)


def _summary(table: "pd.DataFrame", n: int) -> str:
    lines = [
        f"Theorem 1: KL = S - sum T for all 25 acyclic graphs on three nodes; truth {TRUTH}, N = {n}, nats"
    ]
    for name, rows in table.groupby("system", sort=False):
        truth = rows[rows.is_truth].iloc[0]
        reach = rows[rows.p_at_floor >= LEVEL]
        below = rows[~rows.contains_truth]
        lines += [
            f"{name}: S = {truth.s:.4f}, floor {truth.floor:.4f}; largest |KL - (S - sum T)| = "
            f"{rows.identity_error.abs().max():.2g}",
            f"  truth: {truth.above_floor:+.5f} above the floor (p = {truth.p_at_floor:.2g}); nearest graph without "
            f"all its edges: {below.above_floor.min():+.5f} (p = {below.p_at_floor.max():.2g})",
            f"  at the floor: {'; '.join(reach.graph)}",
        ]
    return "\n".join(lines)
