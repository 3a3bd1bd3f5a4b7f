"""Linear links over several lags: all together, or the best at a divided level? Prints the tables of docs/lags.md.

    python benchmarks/lags.py            the table of the docs
    python benchmarks/lags.py --quick    a tenth of the repetitions

A source drives a target at one lag, chosen anew for every data set, or with equal coefficients at all lags up to L, of
the same total strength. The test of all lags together asks whether 2 N T of L lags exceeds the chi-square quantile of L
degrees of freedom; the divided level takes the best lag and divides by L. Both hold their level. Every data set has its
own seed.
"""

import argparse

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

LEVEL = 0.01
LAGS = (3, 5, 10)
STRENGTH = 0.15


def pair(n, kind, max_lag, seed):
    """Two AR(1) processes with .5; a drives b at one lag, at all up to L, or not at all."""
    rng = np.random.default_rng([10, seed])
    a = np.zeros((max_lag, 2, 2))
    a[0, 0, 0] = a[0, 1, 1] = 0.5
    if kind == "one lag":
        a[rng.integers(max_lag), 1, 0] = STRENGTH
    elif kind == "all lags":
        a[:, 1, 0] = STRENGTH / np.sqrt(max_lag) * rng.choice([-1, 1], max_lag)
    return em.simulate.var(coefficients=a, n=n, names=["a", "b"], seed=seed)


def found(n, kind, max_lag, seed):
    """Whether the test of all lags together and the divided level find the link."""
    series = pair(n, kind, max_lag, seed)
    together = em.Lags({("a", "b"): tuple(range(1, max_lag + 1))})
    asked = {"estimator": em.Gaussian(), "n_surrogates": 0}
    return [
        em.significance(series, "a", "b", embedding=together, **asked).p_value <= LEVEL,
        em.significance(series, "a", "b", max_lag=max_lag, **asked).p_value <= LEVEL,
    ]


def table(n, repeats, jobs, first_seed):
    yield f"| N = {n}, lags up to | link | all lags together | best lag, divided level |"
    yield "|---|---|---|---|"
    for max_lag in LAGS:
        for kind in ("one lag", "all lags", "none"):
            hits = Parallel(n_jobs=jobs)(delayed(found)(n, kind, max_lag, first_seed + i) for i in range(repeats))
            shares = " | ".join(f"{share:.3f}" for share in np.mean(hits, axis=0))
            yield f"| {max_lag} | {kind} | {shares} |"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the repetitions")
    parser.add_argument("--jobs", type=int, default=-1, help="workers; -1: one per core")
    parser.add_argument("--first-seed", type=int, default=9_000_000)
    options = parser.parse_args()
    for n in (300, 1000):
        print("\n".join(table(n, 100 if options.quick else 1000, options.jobs, options.first_seed)), end="\n\n")


if __name__ == "__main__":
    main()
