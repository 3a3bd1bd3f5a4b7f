"""Theorem 1 and Corollary 1, on all acyclic graphs of a few nodes.

Theorem 1: D_KL(p_D || p_B) = S_Y - sum_i T_{parents -> i} (eq. kl-te). Both sides are computed on their own: the
divergence directly (eq. kl-div), stochastic interaction and transfer entropies each by their definition. The smallest
divergence is the floor TC(Y_{n+1} | all pasts), which no graph removes and every graph that contains the truth reaches;
so "the truth is at the minimum" reads: the truth reaches the floor within estimation error, and no graph that lacks one
of its edges does. Error is judged by a test of what each family leaves unexplained, T(non-parents -> i | parents). The
identity is exact for Gaussian and Discrete; KSG does not obey the chain rule.

Corollary 1: the least divergence is the most transfer entropy (eq. argmin), and that is never enough to stop. T grows
with every further parent, so the naive score (eq. g-kl) takes as many edges as an acyclic graph can hold; the penalties
of TEA (eq. g-tea) and TEE (eq. g-tee) stop at the edges that carry information. KSG estimates need not grow with the
parent set (their bias falls with the dimension): there the naive score may stop by itself, which is luck and no test.
"""

from collections.abc import Iterator, Mapping
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure

from enmesh import measures
from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Kernel
from enmesh.scores import TE, TEA, TEE, Score
from enmesh.search.graphs import Parents, all_dags, edges
from enmesh.significance import significance
from enmesh.simulate import coupled_map, markov, var
from enmesh_reproduce import Job
from enmesh_reproduce.outcome import DARK, INK, LIGHT, MARK, Outcome, arrows, figure, legend_below

CHAIN = "a>b>c"
LEVEL = 0.01  # p-value under which a graph's divergence is above the floor
DIAMOND = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
TRUE_EDGES = sum(map(len, DIAMOND.values()))
ALPHA = 0.99
SCALES = {"TE": "sum of T (nats)", "TEA": "sum of 2NT - penalty (nats)", "TEE": "sum of T - penalty (nats)"}


def systems(truth: Any, noise: float) -> dict[str, tuple[Any, Estimator]]:
    """Return a simulator and an estimator by name."""
    maps = partial(coupled_map, truth, coupling=0.3, noise=noise)
    return {
        "linear (VAR), Gaussian": (partial(var, truth), Gaussian()),
        "logistic maps, box kernel": (maps, Kernel(width=0.5)),
        "logistic maps, KSG": (maps, KSG()),
        "Markov chains, discrete": (partial(markov, truth, states=2), Discrete()),
    }


def theorem1(job: Job, *, n: int = 2000, n_surrogates: int = 499) -> Outcome:
    """Tabulate both sides of the theorem for every graph and system."""
    rows = []
    for system, (simulate, estimator) in systems(CHAIN, noise=0.1).items():
        if isinstance(estimator, Kernel):
            continue
        how = {"estimator": estimator, "embedding": Embedding()}
        test = {"n_surrogates": 0 if estimator.analytic else n_surrogates, "seed": job.seed}
        sides = both_sides(simulate(n=n, seed=job.seed), how, test)
        rows += [{"system": system} | row for row in sides]
    table = pd.DataFrame(rows)
    lines = [f"Theorem 1: KL = S - sum T for all 25 acyclic graphs on three nodes; truth {CHAIN}, N = {n}, nats"]
    for name, part in table.groupby("system", sort=False):
        truth = part[part.is_truth].iloc[0]
        reach, below = part[part.p_at_floor >= LEVEL], part[~part.contains_truth]
        lines += [
            f"{name}: S = {truth.s:.4f}, floor {truth.floor:.4f}; largest |KL - (S - sum T)| = "
            f"{part.identity_error.abs().max():.2g}",
            f"  truth: {truth.above_floor:+.5f} above the floor (p = {truth.p_at_floor:.2g}); nearest graph without "
            f"all its edges: {below.above_floor.min():+.5f} (p = {below.p_at_floor.max():.2g})",
            f"  at the floor: {'; '.join(reach.graph)}",
        ]
    return Outcome({"theorem1": table}, {"theorem1": _stacks(table)}, "\n".join(lines))


def both_sides(series: Series, how: Mapping[str, Any], test: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield for every acyclic graph, few edges first, both sides of the theorem (nats) and the test of the floor."""
    interaction = measures.stochastic_interaction(series, **how)
    floor = measures.instantaneous_dependence(series, **how)
    truth = edges(measures.parent_indices(series, series.truth))

    @cache
    def p_unexplained(target: int, parents: tuple[int, ...]) -> float:
        """p-value of T(all others -> target | parents); 1 where there are no others."""
        others = [j for j in range(series.n_nodes) if j != target and j not in parents]
        return significance(series, others, target, given=parents, **how, **test).p_value if others else 1.0

    graphs = [(_named(series, parents), parents) for parents in all_dags(series.n_nodes)]
    for graph, parents in sorted(graphs, key=lambda pair: (len(edges(pair[1])), arrows(pair[0]))):
        divergence = measures.kl_divergence(series, graph, **how, form="direct")
        transfer = sum(measures.transfer_entropy(series, p, i, **how) for i, p in graph.items() if p)
        yield {
            "graph": arrows(graph),
            "edges": len(edges(parents)),
            "kl": divergence,
            "s": interaction,
            "sum_t": transfer,
            "s_minus_sum_t": interaction - transfer,
            "identity_error": divergence - (interaction - transfer),
            "floor": floor,
            "above_floor": divergence - floor,
            "p_at_floor": min(1.0, len(graph) * min(p_unexplained(*family) for family in enumerate(parents))),
            "contains_truth": truth <= edges(parents),
            "is_truth": truth == edges(parents),
        }


def _named(series: Series, parents: Parents) -> dict[str, list[str]]:
    return {name: [series.names[j] for j in drivers] for name, drivers in zip(series.names, parents)}


def corollary1(job: Job, *, n: int = 1000, seeds: int = 3, n_surrogates: int = 99) -> Outcome:
    """Find the best graph of every size under each score, for several simulations of each system."""
    rows = []
    for system, (simulate, estimator) in systems(DIAMOND, noise=0.01).items():
        for seed in range(job.seed, job.seed + seeds):
            series = simulate(n=n, seed=seed)
            for name, score in scores(estimator, n_surrogates, seed).items():
                sized = best_by_size(series, score)
                rows += [{"system": system, "score": name, "seed": seed} | row for row in sized]
    sizes = pd.DataFrame(rows)
    kept = sizes[sizes.chosen].drop(columns="chosen").reset_index(drop=True)
    means = kept.groupby(["system", "score"], sort=False)[["edges", "true", "false"]].mean().reset_index()
    summary = (
        f"Corollary 1: edges kept by each score; four nodes, truth {arrows(DIAMOND)} ({TRUE_EDGES} edges), "
        f"at most 6 edges, N = {n}, alpha {ALPHA:g}; means over {seeds} simulations\n"
        f"{means.to_string(index=False, float_format='{:.2f}'.format)}"
    )
    return Outcome({"corollary1": sizes, "corollary1_kept": kept}, {"corollary1": _lines(sizes)}, summary)


def scores(estimator: Estimator, n_surrogates: int, seed: int) -> dict[str, Score]:
    """Return the scores an estimator can have; TEA needs a known null distribution."""
    common: dict[str, Any] = {"estimator": estimator, "embedding": Embedding()}
    named: dict[str, Score] = {"TE": TE(**common)}
    if estimator.analytic:
        named["TEA"] = TEA(**common, alpha=ALPHA)
    named["TEE"] = TEE(**common, alpha=ALPHA, n_surrogates=n_surrogates, seed=seed)
    return named


def best_by_size(series: Series, score: Score) -> list[dict[str, Any]]:
    """Return the best acyclic graph with 0, 1, ... edges; ``chosen`` marks the best of all."""
    local = cache(score.bind(series).family_score)
    best: dict[int, tuple[float, Parents]] = {}
    for parents in all_dags(series.n_nodes):
        total, size = sum(local(*family) for family in enumerate(parents)), len(edges(parents))
        if size not in best or total > best[size][0]:
            best[size] = total, parents
    chosen = max(best, key=lambda size: (best[size][0], -size))
    truth, rows = edges(measures.parent_indices(series, series.truth)), []
    for size, (total, parents) in sorted(best.items()):
        found = edges(parents)
        counts = {"edges": size, "true": len(found & truth), "false": len(found - truth)}
        graph = arrows(_named(series, parents))
        rows.append(counts | {"value": total, "graph": graph, "chosen": size == chosen})
    return rows


def _stacks(table: pd.DataFrame) -> Figure:
    """Stack the divergence and the transfer entropies of every graph: by the theorem all stacks end at S."""
    drawn, (axes,) = figure(11.5, 6.6, 1, table.system.nunique(), sharey=True)
    for ax, (name, rows) in zip(axes, table.groupby("system", sort=False)):
        rows, place = rows.reset_index(drop=True), np.arange(len(rows))
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
        ax.set_title(name, fontsize=10, loc="left")
    axes[0].set_yticks(range(len(rows)), rows.graph.str.replace(">", " → "), fontsize=7.5)
    axes[0].set_ylabel("candidate graph")
    legend_below(drawn, axes[0])
    return drawn


def _lines(sizes: pd.DataFrame) -> Figure:
    systems = list(dict.fromkeys(sizes.system))
    drawn, axes = figure(10.5, 9.5, len(systems), len(SCALES), sharex=True)
    labels = "best graph of that size, one line a simulation", "best of all sizes: what the score keeps"
    for ax, (system, name) in zip(axes.flat, product(systems, SCALES)):
        ax.set_title(f"{name}: {system}", fontsize=9, loc="left")
        rows = sizes[(sizes.system == system) & (sizes.score == name)]
        if rows.empty:
            where: dict[str, Any] = {"transform": ax.transAxes, "ha": "center", "va": "center"}
            ax.text(0.5, 0.5, "no known null distribution:\nTEE instead", **where, fontsize=8.5, color=DARK)
            ax.set_yticks([])
            continue
        ax.axvline(TRUE_EDGES, color=DARK, lw=1, ls=":", label="edges of the truth")
        for _, line in rows.groupby("seed"):
            ax.plot(line.edges, line.value, color=INK, lw=0.9, marker=".", ms=4, label=labels[0])
            best = line[line.chosen]
            ax.plot(best.edges, best.value, "o", color=MARK, ms=7, zorder=3, label=labels[1])
            labels = ("_nolegend_",) * 2
        ax.set_ylabel(SCALES[name], fontsize=8.5)
    for ax in axes[-1]:
        ax.set_xlabel("edges of the graph (number)")
    legend_below(drawn, axes[0, 0])
    return drawn
