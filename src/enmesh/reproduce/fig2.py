"""Figure 2: three coupled logistic maps (eq. coupled-map), their series and phase portraits.

The paper gives M = 3, N = 10,000, tau 1 and kappa 2. Graph and strength, which it does not give, are v1 > v2 > v3,
coupling .3 and r = 4 here, without noise.
"""

from matplotlib.figure import Figure

from enmesh.data.series import Series
from enmesh.reproduce import Job
from enmesh.reproduce.outcome import INK, Outcome, figure
from enmesh.simulate import coupled_map

QUICK = FULL = {"n": 10_000}
GRAPH, COUPLING, R = "v1>v2>v3", 0.3, 4.0
SHOWN = 200  # measurements in the top row


def experiment(job: Job, *, n: int) -> Outcome:
    """Simulate and draw: first measurements above, (y_n, y_{n+1}) below."""
    series = coupled_map(GRAPH, n, map="logistic", r=R, coupling=COUPLING, seed=job.seed)
    frame = series.to_dataframe()
    spread = [f"{name}: {column.mean():.3f} +- {column.std():.3f}" for name, column in frame.items()]
    frame.insert(0, "n", range(1, n + 1))
    summary = (
        f"Figure 2: coupled logistic maps {GRAPH}, r = {R:g}, coupling {COUPLING:g}, no noise, {n} measurements\n"
        f"mean and standard deviation: {', '.join(spread)}"
    )
    return Outcome({"fig2": frame}, {"fig2": _draw(series)}, summary)


def _draw(series: Series) -> Figure:
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
    return drawn
