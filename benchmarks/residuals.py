"""What residuals do for the estimate by neighbours, on data whose value is known.

    python benchmarks/residuals.py                 the table of docs/estimators.md, 200 data sets a cell
    python benchmarks/residuals.py --draws 20      fewer data sets
    python benchmarks/residuals.py --jobs 16       so many processes

Prints a Markdown table: mean (and mean absolute error) of I(x ; y | z), by kind of residual, for as many neighbours as
`KSG` takes where none are given (4; of residuals 4 with 500 samples, 9 with 2,000), and for 7. Every data set has its
own seed; results do not depend on the number of processes.
"""

import argparse
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

KNOWN = 0.05  # nats, of all data below
SHARE = np.sqrt(1 - np.exp(-2 * KNOWN))  # the correlation of two normal numbers that share them
KINDS = ("none", "linear", "quadratic", "features")


def innovations(rng, n):
    """Two normal series that share 0.05 nats."""
    a, b = rng.normal(size=(2, n))
    return np.stack([a, SHARE * a + np.sqrt(1 - SHARE**2) * b])


def smooth_past(n, seed, toward):
    """x and y that z explains by 99 %, each in its direction ``toward (2, dz)``."""
    rng = np.random.default_rng(seed)
    z = rng.normal(size=(n, toward.shape[1]))
    x, y = toward @ z.T + np.sqrt(1 / 0.99 - 1) * innovations(rng, n)
    return x, y, z


def alike(n, seed):
    """Both rise with z: plain neighbours take what is left of z for a part of the link, and are right by chance."""
    return smooth_past(n, seed, np.array([[1.0], [1.0]]))


def opposed(n, seed):
    """One rises with z, the other falls."""
    return smooth_past(n, seed, np.array([[1.0], [-1.0]]))


def one_column(n, seed):
    """Alike or opposed, with equal chance."""
    return smooth_past(n, seed, _directions(1, seed))


def three_columns(n, seed):
    return smooth_past(n, seed, _directions(3, seed))


def _directions(columns, seed):
    """Directions of x and y at random."""
    toward = np.random.default_rng([1, seed]).normal(size=(2, columns))
    return toward / np.linalg.norm(toward, axis=1, keepdims=True)


def chaotic_past(n, seed):
    """x and y that are the next two values of a logistic map at z, and innovations of .01."""
    rng = np.random.default_rng(seed)
    a, b = 0.01 * innovations(rng, n)
    z = np.sin(np.pi / 2 * rng.random(n)) ** 2
    x = 4 * z * (1 - z)
    return x + a, 4 * x * (1 - x) + b, z


def independent_past(n, seed):
    rng = np.random.default_rng(seed)
    return *innovations(rng, n), rng.normal(size=n)


def no_past(n, seed):
    return *innovations(np.random.default_rng(seed), n), None


DATA = {
    "normal, z of one column, either way": one_column,
    "normal, z of one column, opposed": opposed,
    "normal, z of three columns": three_columns,
    "logistic map, noise .01": chaotic_past,
}
HARMLESS = {"normal, z of one column, alike": alike, "independent z": independent_past, "no z": no_past}


class Errors(NamedTuple):
    """Of estimates of the known value: their mean, what it is off by, and the mean absolute error."""

    mean: float
    bias: float
    error: float
    standard_error: float

    def __str__(self):
        return f"{self.mean:.3f} ({self.error:.4f})"


def errors(data, n, residual, k, draws, jobs=1):
    """Estimate the value of so many data sets, with k neighbours or as many as are usual (None)."""
    make, estimator = (DATA | HARMLESS)[data], em.KSG(k=k, residual=residual)
    values = np.array(Parallel(n_jobs=jobs)(delayed(estimate)(make, n, s, estimator) for s in range(draws)))
    off = np.abs(values - KNOWN)
    return Errors(values.mean(), values.mean() - KNOWN, off.mean(), off.std(ddof=1) / np.sqrt(draws))


def estimate(make, n, seed, estimator):
    return em.cmi(*make(n, seed), estimator=estimator)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--draws", type=int, default=200, help="data sets a cell")
    parser.add_argument("--jobs", type=int, default=1, help="processes; -1: one per core")
    options = parser.parse_args()
    kinds = " | ".join(f'`"{kind}"`' for kind in KINDS)
    print(f"| {KNOWN} nats, {options.draws} data sets | N | k | {kinds} |")
    print("|---" * (3 + len(KINDS)) + "|")
    for data in DATA | HARMLESS:
        for n in (500, 2000):
            for k in (None, 7):
                cells = [errors(data, n, kind, k, options.draws, options.jobs) for kind in KINDS]
                print(f"| {data} | {n} | {k or 'usual'} | {' | '.join(map(str, cells))} |", flush=True)


if __name__ == "__main__":
    main()
