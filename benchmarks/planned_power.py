"""Power: what `em.plan` and `em.power` predict, beside the share of simulated recordings in which the link is found.

    python benchmarks/planned_power.py [repetitions]

Thirty settings: linear links tested by F (sizes, memory, levels, lags searched), states counted, and
maps whose power is predicted by simulation from a model that was fitted to one pilot recording.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.linalg import solve_discrete_lyapunov

import enmesh as em
from enmesh.model import fit
from enmesh.significance import f_p_value

LINEAR = [  # n, own, coupling, level, lags searched, lag of the link
    (60, 0.5, 0.35, 0.01, 1, 1), (60, 0.0, 0.45, 0.05, 1, 1), (100, 0.5, 0.25, 0.01, 1, 1),
    (100, 0.5, 0.25, 0.05, 1, 1), (100, 0.9, 0.12, 0.01, 1, 1), (200, 0.5, 0.2, 0.01, 1, 1),
    (200, 0.8, 0.12, 0.05, 1, 1), (300, 0.5, 0.15, 0.01, 1, 1), (300, 0.0, 0.2, 0.001, 1, 1),
    (500, 0.5, 0.12, 0.01, 1, 1), (500, 0.9, 0.06, 0.01, 1, 1), (1000, 0.5, 0.08, 0.01, 1, 1),
    (1000, 0.5, 0.08, 0.001, 1, 1), (2000, 0.5, 0.06, 0.01, 1, 1), (100, 0.0, 0.3, 0.01, 5, 3),
    (200, 0.0, 0.25, 0.05, 5, 2), (300, 0.0, 0.2, 0.01, 10, 7), (500, 0.0, 0.15, 0.01, 5, 5),
    (500, 0.3, 0.15, 0.05, 3, 1), (1000, 0.3, 0.1, 0.01, 5, 1),
]  # fmt: skip
STATES = [  # n, states, concentration, level, seed
    (100, 2, 2.0, 0.01, 3), (200, 2, 4.0, 0.05, 5), (400, 2, 6.0, 0.01, 8), (300, 3, 3.0, 0.01, 2),
    (600, 3, 8.0, 0.05, 4), (1000, 3, 9.0, 0.01, 6),
]  # fmt: skip
MAPS = [(60, 0.05), (80, 0.05), (100, 0.05), (140, 0.05)]  # n, level


def found(series, level, lags=1):
    """Whether a regression on b's last sample and a's best lag finds the link: F test, p times the lags."""
    how = {"max_lag": lags} if lags > 1 else {}
    test = em.significance(series, "a", "b", estimator=em.Gaussian(), embedding=em.Embedding(), n_surrogates=0, **how)
    n = len(series) - lags
    return lags * f_p_value(2 * n * test.value, 1, n, n - 3) <= level


def truth(own, coupling, lag):
    """Transfer entropy of a on b at the lag, given b one sample before, from the stationary covariance."""
    size = lag + 1  # b, a now ... a lag - 1 before
    a = np.zeros((size, size))
    a[0, 0], a[0, lag], a[1, 1] = own, coupling, own
    a[2:, 1:-1] += np.eye(size - 2)
    q = np.zeros((size, size))
    q[0, 0] = q[1, 1] = 1
    s = solve_discrete_lyapunov(a, q)
    left = s[lag, lag] - s[lag, 0] ** 2 / s[0, 0]
    return np.log(1 + coupling**2 * left) / 2


def linear(repetitions):
    for n, own, coupling, level, lags, lag in LINEAR:
        te = truth(own, coupling, lag)
        predicted = em.plan(te=te, samples=n, level=level, max_lag=lags).of(te)
        hits = 0
        for seed in range(repetitions):
            series = em.simulate.var("a>b", n=n, own=own, coupling=coupling, lags=lag, seed=seed)
            hits += found(series, level, lags)
        yield f"linear, own {own}, lag {lag} of {lags}", n, level, te, predicted, hits / repetitions


def counted(repetitions):
    for n, states, concentration, level, seed in STATES:
        # one table: a long recording is cut into many
        series = em.simulate.markov(
            "a>b", n=(n + 20) * repetitions, states=states, concentration=concentration, seed=seed
        )
        n_long = len(series) - 1
        dof = (states - 1) ** 2 * states
        te = em.transfer_entropy(series, "a", "b", estimator=em.Discrete(), embedding=em.Embedding()) - dof / (
            2 * n_long
        )
        predicted = em.plan(te=te, samples=n, level=level, states=states).of(te)
        how = {"estimator": em.Discrete(), "embedding": em.Embedding(), "n_surrogates": 0}
        parts = [series.trials[0][k * (n + 20) : k * (n + 20) + n] for k in range(repetitions)]
        tests = (em.significance(series.with_trials([part]), "a", "b", **how) for part in parts)
        hits = sum(test.p_value <= level for test in tests)
        yield f"{states} states", n, level, te, predicted, hits / repetitions


def mapped(repetitions):
    how = {"map": "logistic", "noise": 0.05, "coupling": 0.03}
    pilot = em.simulate.coupled_map("a>b", n=1000, seed=1, **how)
    model = fit(pilot, pilot.truth)
    estimator = em.Regression(features="quadratic")
    for n, level in MAPS:
        predicted = em.power(model, level=level, samples=[n], n=repetitions, estimator=estimator, n_surrogates=199)
        row = predicted.table.iloc[0]
        hits = 0
        for seed in range(repetitions):
            series = em.simulate.coupled_map("a>b", n=n, seed=1000 + seed, **how)
            test = {"estimator": estimator, "embedding": em.Embedding(), "n_surrogates": 199}
            hits += em.significance(series, "a", "b", **test, seed=seed).p_value <= level
        yield "maps, from a pilot", n, level, row.te, row.power, hits / repetitions


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    rows = []
    for kind in (linear, counted, mapped):
        for row in kind(repetitions):
            rows.append((*row, row[4] - row[5]))
            print(*row, flush=True)
    frame = pd.DataFrame(rows, columns=["kind", "samples", "level", "te", "predicted", "simulated", "difference"])
    print(frame.to_string(float_format="{:.4f}".format))
    near = (frame.difference.abs() <= 0.05).sum()
    print(f"largest difference {frame.difference.abs().max():.3f}, {near} of {len(frame)} within .05")
