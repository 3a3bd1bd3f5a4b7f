"""Effects: do 95 % limits hold the truth in 95 %, how near are they, and beside tigramite's CausalEffects told the same graph.

    python benchmarks/effects.py [repetitions]

Systems: two vector autoregressions and three noisy maps. The truth of a linear system is a product of matrices; that of a
map is the mean difference of 400,000 pairs of runs of the true equations that differ in the change alone.
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


# --- systems: name, parents, equations, noise, source, target, change --------------------------------------------------


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
    g = lambda z: 1.2 - 0.6 * z**2 / (1 + 0.1 * z**2)
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


def states(step, n, seed, paths=None):
    rng = np.random.default_rng(seed)
    size = 1 if paths is None else paths
    x = np.zeros((size, 3))
    if paths is not None:
        for _ in range(200):
            x = step(x, rng.standard_normal(x.shape))
        return x
    kept = []
    for t in range(n + 200):
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


def tigramite_effects(values, parents, change):
    """Return total effects of a on c at each horizon by CausalEffects with linear regression, told the same graph."""
    from sklearn.linear_model import LinearRegression
    from tigramite import data_processing as pp
    from tigramite.causal_effects import CausalEffects

    names, found = list(parents), []
    for horizon in HORIZONS:
        graph = np.zeros((3, 3, 2), dtype="<U3")
        graph[:] = ""
        for target, sources in parents.items():
            for source in (target, *sources):
                graph[names.index(source), names.index(target), 1] = "-->"
        effects = CausalEffects(
            graph, graph_type="stationary_dag", X=[(0, -horizon)], Y=[(2, 0)], hidden_variables=None, verbosity=0
        )
        effects.fit_total_effect(pp.DataFrame(values), LinearRegression(), adjustment_set="optimal")
        high, low = (effects.predict_total_effect(np.array([[x]])) for x in (change, 0.0))
        found.append(float(np.ravel(high)[0] - np.ravel(low)[0]))
    return np.array(found)


def wright(values, parents, change):
    """Return total effects by tigramite's path coefficients, for linear systems."""
    from sklearn.linear_model import LinearRegression
    from tigramite import data_processing as pp
    from tigramite.causal_effects import CausalEffects

    names, found = list(parents), []
    for horizon in HORIZONS:
        graph = np.zeros((3, 3, 2), dtype="<U3")
        for target, sources in parents.items():
            for source in (target, *sources):
                graph[names.index(source), names.index(target), 1] = "-->"
        effects = CausalEffects(graph, graph_type="stationary_dag", X=[(0, -horizon)], Y=[(2, 0)], verbosity=0)
        effects.fit_wright_effect(pp.DataFrame(values), method="links_coeffs" if False else "parents")
        found.append(float(np.ravel(effects.predict_wright_effect(np.array([[change]])))[0]
                           - np.ravel(effects.predict_wright_effect(np.array([[0.0]])))[0]))
    return np.array(found)


def main(repetitions):
    warnings.simplefilter("ignore")
    rows = []
    for name, (step, parents, linear) in SYSTEMS.items():
        started, change = time.time(), 0.7
        for hold in (False, True):
            true = {what: truth(step, change, hold, what == "direct", 4000 if linear else 400_000) for what in ("total", "direct")}
            got = {what: [] for what in true}
            peers = {"optimal": [], "wright": []}
            for seed in range(repetitions):
                values = states(step, N, [seed, 1])
                model = fit(em.Series(values, names=list(parents)), parents)
                found = model.effect("a", "c", change=change, horizon=max(HORIZONS), hold=hold, seed=seed)
                got["total"].append(np.array([found.total, found.low, found.high]))
                got["direct"].append(found.direct.to_numpy().T)
                if not hold:
                    for kind, ask in (("optimal", tigramite_effects), ("wright", wright)):
                        try:
                            peers[kind].append(ask(values, parents, change))
                        except Exception as error:
                            peers[kind].append(np.full(len(HORIZONS), np.nan))
                            if seed == 0:
                                print(kind, type(error).__name__, error)
            for what, (mean, error) in true.items():
                all_of = np.array(got[what])
                for place, h in enumerate(HORIZONS):
                    value, low, high = all_of[:, :, h - 1].T
                    inside = (low <= mean[h - 1]) & (mean[h - 1] <= high)
                    row = {"system": name, "hold": hold, "effect": what, "horizon": h, "truth": mean[h - 1],
                           "coverage": inside.mean(), "rmse": np.sqrt(np.mean((value - mean[h - 1]) ** 2))}
                    if what == "total" and not hold:
                        row |= {kind: np.sqrt(np.mean((np.array(each)[:, place] - mean[h - 1]) ** 2)) for kind, each in peers.items()}
                    rows.append(row)
        print(f"{name}: {time.time() - started:.0f} s", flush=True)
    frame = pd.DataFrame(rows)
    print(frame.to_string(float_format="{:.4f}".format))
    moved = frame[frame.truth.abs() > 1e-9]
    print(f"coverage of all: {moved.coverage.mean():.4f}, lowest {moved.coverage.min():.3f}, highest {moved.coverage.max():.3f}")
    for name, one in moved.groupby("system"):
        print(f"{name}: {one.coverage.mean():.4f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 200)
