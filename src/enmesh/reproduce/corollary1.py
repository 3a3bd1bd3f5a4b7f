"""Corollary 1: the least divergence is the most transfer entropy (eq. argmin), and that is never enough to stop.

T grows with every further parent, so the naive score (eq. g-kl) takes as many edges as an acyclic graph can
hold; the penalties of TEA (eq. g-tea) and TEE (eq. g-tee) stop at the edges that carry information. Shown on
four nodes, a diamond: the best score among all acyclic graphs with 0, 1, ... 6 edges. KSG estimates need not grow
with the parent set (their bias falls with the dimension): there the naive score may stop by itself, which is luck
and no test.
"""

from functools import cache
from itertools import product
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import KSG, Discrete, Estimator, Gaussian, Kernel
from enmesh.measures import parent_indices
from enmesh.reproduce import Job
from enmesh.reproduce.outcome import DARK, INK, MARK, Outcome, arrows, figure, legend_below
from enmesh.scores import TE, TEA, TEE, Score
from enmesh.search.graphs import Parents, all_dags, edges
from enmesh.simulate import coupled_map, markov, var

QUICK = {"n": 1000, "seeds": 3, "n_surrogates": 99}
FULL = {"n": 2000, "seeds": 20, "n_surrogates": 199}
TRUTH = {"a": (), "b": ("a",), "c": ("a",), "d": ("b", "c")}
TRUE_EDGES = sum(map(len, TRUTH.values()))
ALPHA = 0.99


def _maps(**size: Any) -> Series:
    return coupled_map(TRUTH, coupling=0.3, noise=0.01, **size)


SYSTEMS = {
    "linear (VAR), Gaussian": (lambda **size: var(TRUTH, **size), Gaussian()),
    "logistic maps, box kernel": (_maps, Kernel(width=0.5)),
    "logistic maps, KSG": (_maps, KSG()),
    "Markov chains, discrete": (lambda **size: markov(TRUTH, states=2, **size), Discrete()),
}
SCALES = {"TE": "sum of T (nats)", "TEA": "sum of 2NT - penalty (nats)", "TEE": "sum of T - penalty (nats)"}


def experiment(job: Job, *, n: int, seeds: int, n_surrogates: int) -> Outcome:
    """Find the best graph of every size under each score, for several simulations of each system."""
    rows = []
    for system, (simulate, estimator) in SYSTEMS.items():
        for seed in range(job.seed, job.seed + seeds):
            series = simulate(n=n, seed=seed)
            for name, score in scores(estimator, n_surrogates, seed).items():
                sized = best_by_size(series, score)
                rows += [{"system": system, "score": name, "seed": seed} | row for row in sized]
    sizes = pd.DataFrame(rows)
    kept = sizes[sizes.chosen].drop(columns="chosen").reset_index(drop=True)
    tables = {"corollary1": sizes, "corollary1_kept": kept}
    return Outcome(tables, {"corollary1": _draw(sizes)}, _summary(kept, n))


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
    truth, rows = edges(parent_indices(series, series.truth)), []
    for size, (total, parents) in sorted(best.items()):
        found = edges(parents)
        named = {name: [series.names[j] for j in drivers] for name, drivers in zip(series.names, parents)}
        counts = {"edges": size, "true": len(found & truth), "false": len(found - truth)}
        rows.append(counts | {"value": total, "graph": arrows(named), "chosen": size == chosen})
    return rows


def _draw(sizes: pd.DataFrame) -> Figure:
    drawn, axes = figure(10.5, 9.5, len(SYSTEMS), len(SCALES), sharex=True)
    labels = "best graph of that size, one line a simulation", "best of all sizes: what the score keeps"
    for ax, (system, name) in zip(axes.flat, product(SYSTEMS, SCALES)):
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


def _summary(kept: pd.DataFrame, n: int) -> str:
    most = len(TRUTH) * (len(TRUTH) - 1) // 2
    means = kept.groupby(["system", "score"], sort=False)[["edges", "true", "false"]].mean().reset_index()
    return (
        f"Corollary 1: edges kept by each score; four nodes, truth {arrows(TRUTH)} ({TRUE_EDGES} edges), "
        f"at most {most} edges, N = {n}, alpha {ALPHA:g}; means over {kept.seed.nunique()} simulations\n"
        f"{means.to_string(index=False, float_format='{:.2f}'.format)}"
    )
