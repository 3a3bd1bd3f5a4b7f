"""Figures 1 and 2 of the paper.

Figure 1: what a transfer entropy must exceed, in theory (TEA, eq. g-tea) and by surrogates (TEE, eq. g-tee). 1000
samples of two Gaussian variables with correlation .05, alpha = .9. The samples are made to have that very correlation,
given the target's past: then 2 N T = -N ln(1 - .05^2) = 2.503 nats whatever the seed, just under the chi-square
quantile 2.706. The null distribution of 2 N T is chi-square in nats alone: with log2, as the paper writes, 2 N T would
read 3.611 and the same measurement would pass.

Figure 2: three coupled logistic maps (eq. coupled-map), their series and phase portraits. The paper gives M = 3,
N = 10,000, tau 1 and kappa 2. Graph and strength, which it does not give, are v1 > v2 > v3, coupling .3 and r = 4 here,
without noise.
"""

from typing import Any

import numpy as np
import pandas as pd
from matplotlib.figure import Figure
from scipy.special import chdtr

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import Gaussian, Kernel
from enmesh.measures import transfer_entropy
from enmesh.scores import TEA, score_graph
from enmesh.significance import significance
from enmesh.simulate import coupled_map
from enmesh.surrogates import Permute
from enmesh_reproduce import Job
from enmesh_reproduce.outcome import DARK, GREY, INK, MARK, Outcome, figure

CORRELATION, ALPHA, WIDTH = 0.05, 0.9, 0.5
GRAPH, COUPLING, R = "v1>v2>v3", 0.3, 4.0
SHOWN = 200  # measurements in the top row of figure 2


def fig1(job: Job, *, n: int = 1000, n_points: int = 100) -> Outcome:
    """Compare the measurement with both penalties, and say what bits would do."""
    series = correlated(n, CORRELATION, job.seed)
    how: dict[str, Any] = {"embedding": Embedding()}
    # 2 N T against the chi-square distribution with one degree of freedom
    measured = 2 * n * transfer_entropy(series, "x", "y", estimator=Gaussian(), **how)
    penalty = measured - score_graph(series, {"y": ["x"]}, TEA(**how, alpha=ALPHA)).total
    chi2 = np.random.default_rng([job.seed, 1]).chisquare(1, n_points)
    # T of the box kernel against permutations of the source
    sampled: dict[str, Any] = {"surrogate": Permute(), "n_surrogates": n_points, "seed": job.seed}
    test = significance(series, "x", "y", estimator=Kernel(width=WIDTH), **how, **sampled)
    rows = [
        ("TEA", "2NT", "nats", measured, penalty),
        ("TEA", "2NT", "bits", measured / np.log(2), penalty),
        ("TEE", "T", "nats", test.value, test.quantile(ALPHA)),
    ]
    tests = pd.DataFrame(rows, columns=["score", "quantity", "unit", "measured", "penalty"])
    tests["difference"] = tests.measured - tests.penalty
    tests["dependent"] = tests.difference > 0
    probability = np.arange(1, n_points + 1) / n_points
    points = pd.concat(
        pd.DataFrame({"score": name, "value": np.sort(values), "probability": probability})
        for name, values in (("TEA", chi2), ("TEE", test.null))
    )
    verdict = {True: "dependent", False: "independent"}
    tea, bits, tee = tests.itertuples()
    results = [
        f"  {test.quantity} = {test.measured:.4g} {test.unit}, penalty {test.penalty:.4g}, "
        f"difference {test.difference:+.4g}: {verdict[bool(test.dependent)]}"
        for test in (tea, tee)
    ]
    summary = (
        f"Figure 1: {n} samples of two Gaussian variables, correlation {CORRELATION:g}, alpha {ALPHA:g}\n"
        f"TEA, linear Gaussian against chi-square:\n{results[0]}\n"
        f"  Note: the chi-square distribution holds in nats. Read in bits, {bits.measured:.4g} against the same "
        f"{bits.penalty:.4g}, the verdict would be {verdict[bool(bits.dependent)]}.\n"
        f"TEE, box kernel (width {WIDTH:g} standard deviations) against permutations:\n{results[1]}"
    )
    return Outcome({"fig1": points, "fig1_tests": tests}, {"fig1": _draw(points, tests, n)}, summary)


def correlated(n: int, rho: float, seed: int) -> Series:
    """Return white Gaussian x and y, the correlation of x_n and y_{n+1} given y_n being ``rho`` in these samples."""
    rng = np.random.default_rng(seed)
    y = rng.standard_normal(n + 1)
    before, after = y[:-1], y[1:]
    noise = _direction(rng.standard_normal(n), before, after)
    x = np.sqrt(n) * (rho * _direction(after, before) + np.sqrt(1 - rho**2) * noise)
    return Series(np.column_stack([np.append(x, rng.standard_normal()), y]), ["x", "y"])


def _direction(values: np.ndarray, *known: np.ndarray) -> np.ndarray:
    """Return the part of ``values`` that a constant and ``known`` do not explain, with length 1."""
    basis = np.linalg.qr(np.column_stack([np.ones(len(values)), *known]))[0]
    rest = values - basis @ (basis.T @ values)
    return rest / np.linalg.norm(rest)


def _draw(points: pd.DataFrame, tests: pd.DataFrame, n: int) -> Figure:
    """Draw both distributions, what they let pass for independent, and the measurements."""
    drawn, (axes,) = figure(9.2, 4.5, 1, 2)
    of_nats = tests[tests.unit == "nats"]
    for ax, (_, part), measured, penalty in zip(axes, points.groupby("score"), of_nats.measured, of_nats.penalty):
        low, high = min(part.value.min(), measured), max(part.value.max(), measured)
        margin = 0.05 * (high - low)
        ax.axvspan(low - margin, penalty, color=GREY, lw=0, label=f"independent (below the {ALPHA:g} quantile)")
        difference = f"measurement minus penalty: {measured - penalty:+.3g}"
        ax.axvspan(min(measured, penalty), max(measured, penalty), color=DARK, lw=0, label=difference)
        ax.axvline(measured, color="black", lw=2, label=f"measured: {measured:.4g}")
        dots: dict[str, Any] = {"color": INK, "ms": 2.6, "zorder": 3, "label": f"{len(part)} sampled points"}
        ax.plot(part.value, part.probability, "o", **dots)
        ax.axhline(ALPHA, color=INK, lw=0.6, ls=":")
        ax.set(xlim=(low - margin, high + margin), ylim=(0, 1.02))
    left, right = axes
    left.set_title("(a) TEA: chi-square, 1 degree of freedom", fontsize=10, loc="left")
    left.set(xlabel=f"2NT (nats), N = {n}", ylabel="probability of a smaller value if independent")
    grid = np.linspace(0, left.get_xlim()[1], 400)
    left.plot(grid, chdtr(1, grid), color=MARK, lw=1, zorder=2, label="chi-square distribution")
    left.set_xlim(0, None)
    right.set_title(f"(b) TEE: box kernel, width {WIDTH:g}, surrogates", fontsize=10, loc="left")
    right.set_xlabel("T (nats)")
    for ax in axes:
        ax.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    return drawn


def fig2(job: Job, *, n: int = 10_000) -> Outcome:
    """Simulate and draw: first measurements above, (y_n, y_{n+1}) below."""
    series = coupled_map(GRAPH, n, map="logistic", r=R, coupling=COUPLING, seed=job.seed)
    frame = series.to_dataframe()
    spread = [f"{name}: {column.mean():.3f} +- {column.std():.3f}" for name, column in frame.items()]
    frame.insert(0, "n", range(1, n + 1))
    summary = (
        f"Figure 2: coupled logistic maps {GRAPH}, r = {R:g}, coupling {COUPLING:g}, no noise, {n} measurements\n"
        f"mean and standard deviation: {', '.join(spread)}"
    )
    drawn, axes = figure(10.5, 5.8, 2, 3, height_ratios=(1, 1.7))
    axes[0, 0].set_ylabel("$y_n$ (dimensionless)")
    axes[1, 0].set_ylabel("$y_{n+1}$ (dimensionless)")
    unit = (-0.03, 1.03)
    for name, above, below, y in zip(series.names, *axes, series.values.T):
        above.plot(range(1, len(y[:SHOWN]) + 1), y[:SHOWN], color=INK, lw=0.7)
        above.set(ylim=unit, xlabel="time n (samples)")
        above.set_title(name, fontsize=10)
        below.plot(y[:-1], y[1:], ".", color=INK, ms=1.2, mew=0, alpha=0.6, rasterized=True)
        below.set(xlim=unit, ylim=unit, aspect="equal", xlabel="$y_n$ (dimensionless)")
    return Outcome({"fig2": frame}, {"fig2": drawn}, summary)
