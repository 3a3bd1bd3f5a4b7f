"""Effects: do 95 % limits hold the truth in 95 %, and how near are estimates beside tigramite's CausalEffects?

    python benchmarks/effects.py coverage 200 0      # repetitions, first seed
    python benchmarks/effects.py beside 40 0         # needs tigramite and scikit-learn

All are told the same graph. Systems: two vector autoregressions and three noisy maps. The truth is the mean difference
of pairs of runs of the true equations that differ in the change alone: 400,000 of them, 4,000 where all is linear.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd

import enmesh as em
from enmesh.model import fit

HORIZONS = (1, 3, 10)
N = 500


# --- systems ------------------------------------------------------------------------------------------------


def chain(x, e):
    a, b, c = x.T
    return np.stack([0.6 * a, 0.4 * b + 0.5 * a, 0.5 * c + 0.4 * b + 0.3 * a], axis=1) + e


def loop(x, e):
    a, b, c = x.T
    return np.stack([0.5 * a - 0.3 * c, 0.5 * b + 0.5 * a, 0.4 * c + 0.5 * b + 0.2 * a], axis=1) + e


def squares(x, e):
    a, b, c = x.T
    return np.stack([0.6 * a, 0.4 * b + 0.3 * a**2, 0.4 * c + 0.5 * b - 0.3 * a], axis=1) + e


def products(x, e):
    a, b, c = x.T
    return np.stack([0.5 * a + 0.3, 0.3 * b + 0.5 * a, 0.4 * c + 0.4 * a * b + 0.2 * a], axis=1) + e


def henon(x, e):
    a, b, c = x.T

    def g(z):
        return 1.2 - 0.6 * z**2 / (1 + 0.1 * z**2)

    return np.stack([g(a), 0.6 * g(b) + 0.4 * a, 0.5 * g(c) + 0.3 * b + 0.3 * a], axis=1) + 0.3 * e


PARENTS = {"a": (), "b": ("a",), "c": ("b", "a")}
LOOP = {"a": ("c",), "b": ("a",), "c": ("b", "a")}
SYSTEMS = {
    "VAR, chain": (chain, PARENTS, True),
    "VAR, feedback": (loop, LOOP, True),
    "map, squares": (squares, PARENTS, False),
    "map, products": (products, PARENTS, False),
    "map, bounded Henon": (henon, PARENTS, False),
}
# About half a standard deviation of the source, so that few changed values lie outside the data.
CHANGES = dict.fromkeys(SYSTEMS, 0.7) | {"map, bounded Henon": 0.25}


def states(step, n, seed, paths=None):
    rng = np.random.default_rng(seed)
    size = 1 if paths is None else paths
    x = np.zeros((size, 3))
    if paths is not None:
        for _ in range(200):
            x = step(x, rng.standard_normal(x.shape))
        return x
    kept = []
    for _ in range(n + 200):
        x = step(x, rng.standard_normal(x.shape))
        kept.append(x[0])
    return np.array(kept[200:])


def truth(step, change, hold, direct, paths=400_000):
    """Mean difference of the target at each horizon, with its standard error."""
    rng = np.random.default_rng(99)
    base = states(step, 0, 98, paths)
    other = base.copy()
    other[:, 0] += change
    found = []
    for _ in range(max(HORIZONS)):
        e = rng.standard_normal(base.shape)
        base, other = step(base, e), step(other, e)
        if hold:
            other[:, 0] = base[:, 0] + change
        if direct:
            other[:, 1] = base[:, 1]
        found.append((other - base)[:, 2])
    return np.array([one.mean() for one in found]), np.array([one.std() / np.sqrt(paths) for one in found])


def graph_of(parents):
    """Return the graph as tigramite takes it: every link and every own past at lag 1."""
    graph, names = np.full((len(parents), len(parents), 2), "", dtype="<U3"), list(parents)
    for target, sources in parents.items():
        for source in (target, *sources):
            graph[names.index(source), names.index(target), 1] = "-->"
    return graph


def asked_of(parents):
    """Return tigramite's CausalEffects of the graph for each horizon; to make them takes longer than to ask them."""
    from tigramite.causal_effects import CausalEffects

    how = {"graph_type": "stationary_dag", "Y": [(2, 0)], "verbosity": 0}
    return {horizon: CausalEffects(graph_of(parents), X=[(0, -horizon)], **how) for horizon in HORIZONS}


def peers(values, asked, change):
    """Return total effects of a on c by tigramite, told the graph: ``{how: effect at each horizon}``.

    Adjustment sets with a linear and with a quadratic regression (averaged over values of a), and path coefficients.
    """
    from sklearn.linear_model import LinearRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import PolynomialFeatures
    from tigramite import data_processing as pp

    found = {"linear": [], "quadratic": [], "paths": []}
    at = np.quantile(values[:, 0], np.linspace(0.01, 0.99, 40))[:, None]
    for one in asked.values():
        frame = pp.DataFrame(values)
        models = {"linear": LinearRegression(), "quadratic": make_pipeline(PolynomialFeatures(2), LinearRegression())}
        for name, model in models.items():
            one.fit_total_effect(frame, model, adjustment_set="optimal")
            high, low = (np.ravel(one.predict_total_effect(at + by)) for by in (change, 0.0))
            found[name].append(float(np.mean(high - low)))
        one.fit_wright_effect(frame, method="parents")
        high, low = (np.ravel(one.predict_wright_effect(np.array([[by]]))) for by in (change, 0.0))
        found["paths"].append(float(high[0] - low[0]))
    return {name: np.array(each) for name, each in found.items()}


def ours(values, parents, change, hold, seed, own_past=None):
    model = fit(em.Series(values, names=list(parents)), parents, own_past=own_past)
    return model.effect("a", "c", change=change, horizon=max(HORIZONS), hold=hold, seed=seed)


def coverage(repetitions, first, held=(False,)):
    """How often limits hold the truth; the own past is chosen in each recording."""
    rows = []
    for name, (step, parents, linear) in SYSTEMS.items():
        started, change = time.process_time(), CHANGES[name]
        for hold in held:
            paths = 4000 if linear else 400_000
            got = {"total": [], "direct": []}
            for seed in range(first, first + repetitions):
                found = ours(states(step, N, [seed, 1]), parents, change, hold, seed)
                got["total"].append([found.total, found.low, found.high])
                got["direct"].append(found.direct.to_numpy().T)
            for what, each in got.items():
                mean, _ = truth(step, change, hold, what == "direct", paths)
                for h in HORIZONS:
                    value, low, high = np.array(each)[:, :, h - 1].T
                    inside = ((low <= mean[h - 1]) & (mean[h - 1] <= high)).mean()
                    error = np.sqrt(np.mean((value - mean[h - 1]) ** 2))
                    rows.append((name, "kept up" if hold else "pulse", what, h, mean[h - 1], error, inside))
        print(f"{name}: {time.process_time() - started:.0f} CPU s", flush=True)
    frame = pd.DataFrame(rows, columns=["system", "change", "effect", "horizon", "truth", "rmse", "coverage"])
    print(frame.to_string(float_format="{:.4f}".format, index=False))
    for what in ("system", "effect", "horizon", "change"):
        print(frame.groupby(what).coverage.mean().round(4).to_dict())
    inside = frame.coverage.between(0.93, 0.97).mean()
    print(f"coverage of all: {frame.coverage.mean():.4f}, {frame.coverage.min():.3f} to {frame.coverage.max():.3f}")
    print(f"{inside:.0%} of the cells within .93 to .97")


def beside(repetitions, first):
    """Root mean squared error of total effects, all told graph and lags."""
    for name, (step, parents, linear) in SYSTEMS.items():
        change = CHANGES[name]
        mean, _ = truth(step, change, False, False, 4000 if linear else 400_000)
        mean, errors, asked = mean[np.array(HORIZONS) - 1], {}, asked_of(parents)
        for seed in range(first, first + repetitions):
            values = states(step, N, [seed, 1])
            found = ours(values, parents, change, False, seed, own_past=1).total[list(HORIZONS)].to_numpy()
            for who, each in {"enmesh": found, **peers(values, asked, change)}.items():
                errors.setdefault(who, []).append((each - mean) ** 2)
        print(name, {who: np.sqrt(np.mean(each, axis=0)).round(4).tolist() for who, each in errors.items()}, flush=True)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, repetitions, first = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    {"coverage": coverage, "beside": beside}[what](repetitions, first)
