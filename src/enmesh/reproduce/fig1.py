"""Figure 1: what a transfer entropy must exceed, in theory (TEA, eq. g-tea) and by surrogates (TEE, eq. g-tee).

1000 samples of two Gaussian variables with correlation .05, alpha = .9. The samples are made to have that very
correlation, given the target's past: then 2 N T = -N ln(1 - .05^2) = 2.503 nats whatever the seed, just under the
chi-square quantile 2.706. The null distribution of 2 N T is chi-square in nats alone: with log2, as the paper writes,
2 N T would read 3.611 and the same measurement would pass.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.embedding import Embedding
from enmesh.estimators import Gaussian, Kernel
from enmesh.measures import transfer_entropy
from enmesh.reproduce.outcome import DARK, GREY, INK, MARK, Job, Outcome, figure
from enmesh.scores import TEA, score_graph
from enmesh.significance import significance
from enmesh.surrogates import Permute

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Test = dict[str, Any]
QUICK = FULL = {"n": 1000, "n_points": 100}
CORRELATION, ALPHA, WIDTH = 0.05, 0.9, 0.5


def experiment(job: Job, *, n: int, n_points: int) -> Outcome:
    """Compare the measurement with both penalties, and say what bits would do."""
    import pandas as pd

    series = correlated(n, CORRELATION, job.seed)
    tea, tea_points = _analytic(series, n, n_points, job.seed)
    tee, tee_points = _empirical(series, n_points, job.seed)
    bits = _verdict("TEA", "2NT", "bits", tea["measured"] / np.log(2), tea["penalty"])
    tests = pd.DataFrame([tea, bits, tee])
    probability = np.arange(1, n_points + 1) / n_points
    points = pd.concat(
        pd.DataFrame({"score": name, "value": np.sort(values), "probability": probability})
        for name, values in (("TEA", tea_points), ("TEE", tee_points))
    )
    return Outcome(
        tables={"fig1": points, "fig1_tests": tests},
        figures={"fig1": _draw(points, tea, tee, n)},
        summary=_summary(tea, bits, tee, n),
    )


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


def _analytic(series: Series, n: int, n_points: int, seed: int) -> tuple[Test, np.ndarray]:
    """2 N T against the chi-square distribution with one degree of freedom."""
    measured = 2 * n * transfer_entropy(series, "x", "y", estimator=Gaussian(), embedding=Embedding())
    score = score_graph(series, {"y": ["x"]}, TEA(embedding=Embedding(), alpha=ALPHA)).total
    points = np.random.default_rng([seed, 1]).chisquare(1, n_points)
    return _verdict("TEA", "2NT", "nats", measured, measured - score), points


def _empirical(series: Series, n_points: int, seed: int) -> tuple[Test, np.ndarray]:
    """T of the box kernel against permutations of the source."""
    test = significance(
        series,
        "x",
        "y",
        estimator=Kernel(width=WIDTH),
        embedding=Embedding(),
        surrogate=Permute(),
        n_surrogates=n_points,
        seed=seed,
    )
    return _verdict("TEE", "T", "nats", test.value, test.quantile(ALPHA)), test.null


def _verdict(score: str, quantity: str, unit: str, measured: float, penalty: float) -> Test:
    return {
        "score": score,
        "quantity": quantity,
        "unit": unit,
        "measured": measured,
        "penalty": penalty,
        "difference": measured - penalty,
        "dependent": measured > penalty,
    }


def _draw(points: "pd.DataFrame", tea: Test, tee: Test, n: int) -> "Figure":
    from scipy.special import chdtr

    drawn, axes = figure(9.2, 4.5, 1, 2)
    labels = (
        f"(a) TEA: chi-square, 1 degree of freedom\n2NT (nats), N = {n}",
        f"(b) TEE: box kernel, width {WIDTH:g}, surrogates\nT (nats)",
    )
    for ax, test, label in zip(axes[0], (tea, tee), labels):
        _panel(ax, points[points.score == test["score"]], test)
        title, unit = label.split("\n")
        ax.set_title(title, fontsize=10, loc="left")
        ax.set_xlabel(unit)
    grid = np.linspace(0, axes[0, 0].get_xlim()[1], 400)
    axes[0, 0].plot(grid, chdtr(1, grid), color=MARK, lw=1, zorder=2, label="chi-square distribution")
    axes[0, 0].set_xlim(0, None)
    axes[0, 0].set_ylabel("probability of a smaller value if independent")
    for ax in axes[0]:
        ax.legend(fontsize=7.5, loc="upper center", bbox_to_anchor=(0.5, -0.16), ncols=2, frameon=False)
    return drawn


def _panel(ax: "Axes", points: "pd.DataFrame", test: Test) -> None:
    """Draw one distribution, what it lets pass for independent, and the measurement."""
    measured, penalty = test["measured"], test["penalty"]
    low, high = min(points.value.min(), measured), max(points.value.max(), measured)
    margin = 0.05 * (high - low)
    ax.axvspan(low - margin, penalty, color=GREY, lw=0, label=f"independent (below the {ALPHA:g} quantile)")
    difference = f"measurement minus penalty: {measured - penalty:+.3g}"
    ax.axvspan(min(measured, penalty), max(measured, penalty), color=DARK, lw=0, label=difference)
    ax.axvline(measured, color="black", lw=2, label=f"measured: {measured:.4g}")
    ax.plot(
        points.value,
        points.probability,
        "o",
        color=INK,
        ms=2.6,
        zorder=3,
        label=f"{len(points)} sampled points",
    )
    ax.axhline(ALPHA, color=INK, lw=0.6, ls=":")
    ax.set(xlim=(low - margin, high + margin), ylim=(0, 1.02))


def _summary(tea: Test, bits: Test, tee: Test, n: int) -> str:
    def said(test: Test) -> str:
        return (
            f"  {test['quantity']} = {test['measured']:.4g} {test['unit']}, penalty {test['penalty']:.4g}, "
            f"difference {test['difference']:+.4g}: {'dependent' if test['dependent'] else 'independent'}"
        )

    return "\n".join(
        [
            f"Figure 1: {n} samples of two Gaussian variables, correlation {CORRELATION:g}, alpha {ALPHA:g}",
            "TEA, linear Gaussian against chi-square:",
            said(tea),
            f"  Note: the chi-square distribution holds in nats. Read in bits, {bits['measured']:.4g} against the same "
            f"{bits['penalty']:.4g}, the verdict would be {'dependent' if bits['dependent'] else 'independent'}.",
            f"TEE, box kernel (width {WIDTH:g} standard deviations) against permutations:",
            said(tee),
        ]
    )
