"""What does each estimator find? Simulates, tests every pair, and prints the section Power of docs/estimators.md.

    python benchmarks/power.py --jobs 16    the tables of the docs, in some minutes
    python benchmarks/power.py --quick      two data sets of 300 samples a cell

Every ordered pair (source, target) is tested by 199 circular shifts of the source, given the target's own past and its
other true parents; a link is found if p <= .01. Every data set has its own seed; results do not depend on the number of
workers.
"""

import argparse
import sys
import warnings
from itertools import permutations

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

LEVEL, SURROGATES = 0.01, 199
FIRST_SEED = 7_000_000
GRAPH = "a>b, b>c, a>d, c>d"


def autoregressive(n, seed):
    return em.simulate.var(GRAPH, n=n, coupling=0.15, own=0.5, seed=seed)


def sparse_var(n, seed):
    """Six nodes, lags 1 to 3; every link acts at one lag."""
    rng = np.random.default_rng([3, seed])
    lags = np.zeros((3, 6, 6))
    for target in range(6):
        lags[:2, target, target] = 0.4, -0.2
        for source in rng.choice([j for j in range(6) if j != target], size=2, replace=False):
            lags[rng.integers(3), target, source] = rng.choice([-1, 1]) * 0.2
    return em.simulate.var(coefficients=lags, n=n, seed=seed)


def maps(n, seed):
    return em.simulate.coupled_map(GRAPH, n=n, coupling=0.1, noise=0.02, seed=seed)


def flows(n, seed):
    systems = {"a": "lorenz", "b": "rossler", "c": "lorenz", "d": "rossler"}
    return em.simulate.coupled_flow(GRAPH, n=n, system=systems, coupling=1.5, dt=0.2, seed=seed)


def heavy_tails(n, seed):
    """Autoregressive, driven by what tanh leaves of the parents, with Student's t noise of 2 degrees of freedom."""
    rng = np.random.default_rng([4, seed])
    noise = rng.standard_t(2, size=(n + 200, 4))
    parents = ((), (0,), (1,), (0, 2))
    values = np.zeros_like(noise)
    for t in range(1, len(values)):
        values[t] = 0.4 * values[t - 1] + noise[t]
        for target, sources in enumerate(parents):
            values[t, target] += 0.6 * sum(np.tanh(values[t - 1, j]) for j in sources)
    names = ["a", "b", "c", "d"]
    truth = {names[i]: [names[j] for j in sources] for i, sources in enumerate(parents)}
    return em.Series(values[200:], names=names, truth=truth)


SYSTEMS = {
    "AR(1), coupling .15": (autoregressive, em.Embedding()),
    "VAR(3), coupling .2": (sparse_var, em.Embedding(dim=3)),
    "logistic maps, coupling .1": (maps, em.Embedding()),
    "Lorenz and Rossler, step .2": (flows, em.Embedding(dim=2)),
    "tanh, noise of t(2)": (heavy_tails, em.Embedding()),
}


def as_it_is(series):
    return series


def as_bins(series):
    return series.discretise(3)


ESTIMATORS = {
    "Gaussian": (em.Gaussian(), as_it_is),
    "Gaussian, rank": (em.Gaussian(normalise="rank"), as_it_is),
    "KSG": (em.KSG(), as_it_is),
    "KSG, rank": (em.KSG(normalise="rank"), as_it_is),
    "KSG, linear residuals": (em.KSG(normalise="rank", residual="linear"), as_it_is),
    "KSG, quadratic residuals": (em.KSG(normalise="rank", residual="quadratic"), as_it_is),
    "KSG, features": (em.KSG(normalise="rank", residual="features"), as_it_is),
    "Kernel": (em.Kernel(), as_it_is),
    "Mixed": (em.Mixed(), as_it_is),
    "Discrete, 3 bins": (em.Discrete(), as_bins),
    "Ordinal, order 3": (em.Ordinal(), as_it_is),
}


def found(system, estimator, n, seed):
    """Test all pairs of one data set: (true links found, true links, false ones found, pairs without a link)."""
    make, embedding = SYSTEMS[system]
    how, prepare = ESTIMATORS[estimator]
    series = make(n, seed)
    truth = series.truth
    series = prepare(series)
    counts = np.zeros(4, int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", em.HazardWarning)
        for source, target in permutations(series.names, 2):
            given = [parent for parent in truth.get(target, ()) if parent != source]
            asked = {"given": given, "estimator": how, "embedding": embedding, "seed": seed}
            test = em.significance(series, source, target, n_surrogates=SURROGATES, **asked)
            place = 0 if source in truth.get(target, ()) else 2
            counts[[place, place + 1]] += test.p_value <= LEVEL + 1e-12, 1
    return counts


def table(n, draws, jobs):
    cells = [(system, estimator) for estimator in ESTIMATORS for system in SYSTEMS]
    asked = [(*cell, n, FIRST_SEED + draw) for cell in cells for draw in range(draws)]
    counted = Parallel(n_jobs=jobs, return_as="generator")(delayed(found)(*one) for one in asked)
    sums = {cell: np.zeros(4, int) for cell in cells}
    for done, (one, counts) in enumerate(zip(asked, counted), 1):
        sums[one[:2]] += counts
        print(f"\rN = {n}: {done} of {len(asked)} data sets", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    lines = [f"| N = {n} | {' | '.join(SYSTEMS)} |", "|---" * (1 + len(SYSTEMS)) + "|"]
    for estimator in ESTIMATORS:
        row = [sums[system, estimator] for system in SYSTEMS]
        shown = [f"{hits / true:.2f}, {1000 * false / none:.0f}" for hits, true, false, none in row]
        lines.append(f"| {estimator} | {' | '.join(shown)} |")
    sizes = [sums[system, next(iter(ESTIMATORS))] for system in SYSTEMS]
    lines.append(f"| links, other pairs | {' | '.join(f'{true}, {none}' for _, true, _, none in sizes)} |")
    return lines


INTRODUCTION = """## Power

Made by `python benchmarks/power.py`. The share of true links that one test at level .01 finds, and how many of 1,000
pairs without a link it takes for one (nominal 10), each given the target's own past and its other true parents; 199
circular shifts of the source. Deterministic flows leave no pair without a trace of the other: there the second number
is no error rate. Nor is it for estimators that do not see all that the parents say: what lines, three bins or order
patterns leave of a driver can be seen in another source.
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two data sets of 300 samples a cell")
    parser.add_argument("--samples", type=int, nargs="+", default=[500], help="lengths of the data sets")
    parser.add_argument("--draws", type=int, default=20, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=-1, help="workers; -1: one per core")
    options = parser.parse_args()
    sizes = [(300, 2)] if options.quick else [(n, options.draws) for n in options.samples]
    lines = [INTRODUCTION]
    for n, draws in sizes:
        lines += [*table(n, draws, options.jobs), ""]
    print("\n".join(lines))


if __name__ == "__main__":
    main()
