"""Power: what `em.plan` and `em.power` predict, beside the share of simulated recordings in which the link is found.

    python benchmarks/planned_power.py [repetitions] [first seed] [kinds]

Settings: linear links by the default test (20: sizes, memory, levels, lags, further parents), by one regression (4),
between two states by the default test (2), by counting (3), and maps whose power is simulated from a model that was
fitted to one pilot recording (3).
"""

import sys
import warnings

import numpy as np
import pandas as pd
from scipy.linalg import solve_discrete_lyapunov

import enmesh as em
from enmesh.model import fit

LINEAR = [  # n, own, coupling, level, lags searched, lag of the link, further parents of the target
    (100, 0.5, 0.30, 0.01, 1, 1, 0), (100, 0.0, 0.40, 0.01, 5, 3, 0), (100, 0.5, 0.35, 0.05, 5, 1, 0),
    (150, 0.3, 0.30, 0.01, 5, 2, 1), (200, 0.5, 0.20, 0.01, 1, 1, 0), (200, 0.5, 0.25, 0.01, 5, 1, 0),
    (200, 0.0, 0.25, 0.05, 5, 2, 0), (200, 0.8, 0.15, 0.05, 3, 1, 0), (300, 0.5, 0.15, 0.01, 1, 1, 0),
    (300, 0.0, 0.20, 0.001, 1, 1, 0), (300, 0.0, 0.20, 0.01, 10, 7, 0), (300, 0.3, 0.25, 0.001, 5, 4, 2),
    (500, 0.5, 0.12, 0.01, 5, 1, 0), (500, 0.0, 0.18, 0.01, 5, 5, 0), (500, 0.3, 0.15, 0.05, 3, 1, 1),
    (500, 0.8, 0.10, 0.01, 5, 1, 0), (1000, 0.3, 0.10, 0.01, 5, 1, 0), (1000, 0.5, 0.10, 0.001, 5, 3, 0),
    (1000, 0.5, 0.08, 0.01, 10, 6, 2), (2000, 0.5, 0.06, 0.01, 5, 1, 0),
]  # fmt: skip
REGRESSION = [  # n, own, coupling, level, lags searched, lag of the link
    (60, 0.5, 0.35, 0.01, 1, 1), (200, 0.8, 0.12, 0.05, 1, 1), (500, 0.0, 0.15, 0.01, 5, 5),
    (1000, 0.5, 0.08, 0.001, 1, 1),
]  # fmt: skip
STATES = [  # n, states, concentration, level, seed
    (120, 2, 4.0, 0.05, 5), (120, 2, 6.0, 0.01, 8), (400, 3, 9.0, 0.01, 6),
]  # fmt: skip
BINARY = [(200, 0.30, 0.2, 0.01, 1), (400, 0.25, 0.0, 0.01, 5)]  # n, link, own, level, lags searched
MAPS = [("logistic", 100), ("logistic", 200), ("tent", 200)]  # map, n
PILOT = 20_000


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


def linear(repetitions, first):
    for n, own, coupling, level, lags, lag, others in LINEAR:
        te = truth(own, coupling, lag)
        predicted = em.plan(te=te, samples=n, level=level, max_lag=lags, parents=others, memory=own).of(te)
        names = ["d", "e"][:others]
        graph = ", ".join(f"{name}>b" for name in ["a", *names])
        hits = 0
        for seed in range(first, first + repetitions):
            series = em.simulate.var(graph, n=n, own=own, coupling=coupling, lags={("a", "b"): lag}, seed=seed)
            hits += em.significance(series, "a", "b", given=names, max_lag=lags).p_value <= level
        kind = f"linear, own {own}, lag {lag} of {lags}, {others} more parents"
        yield kind, n, level, te, predicted, hits / repetitions


def regression(repetitions, first):
    for n, own, coupling, level, lags, lag in REGRESSION:
        te = truth(own, coupling, lag)
        predicted = em.plan(te=te, samples=n, level=level, max_lag=lags, test="linear").of(te)
        how = {"estimator": em.Gaussian(), "embedding": em.Embedding(), "n_surrogates": 0, "max_lag": lags}
        hits = 0
        for seed in range(first, first + repetitions):
            series = em.simulate.var("a>b", n=n, own=own, coupling=coupling, lags=lag, seed=seed)
            hits += em.significance(series, "a", "b", **how).p_value <= level
        yield f"one regression, own {own}, lag {lag} of {lags}", n, level, te, predicted, hits / repetitions


def counted(repetitions, first):
    for n, states, concentration, level, seed in STATES:
        # one table: a long recording is cut into many
        how = {"n": (n + 20) * repetitions, "states": states, "concentration": concentration}
        series = em.simulate.markov("a>b", seed=first + seed, **how)
        dof = (states - 1) ** 2 * states
        told = em.transfer_entropy(series, "a", "b", estimator=em.Discrete(), embedding=em.Embedding())
        te = told - dof / (2 * (len(series) - 1))
        predicted = em.plan(te=te, samples=n, level=level, states=states, max_lag=1).of(te)
        how = {"estimator": em.Discrete(), "embedding": em.Embedding(), "n_surrogates": 0}
        parts = [series.trials[0][k * (n + 20) : k * (n + 20) + n] for k in range(repetitions)]
        tests = (em.significance(series.with_trials([part]), "a", "b", **how) for part in parts)
        hits = sum(test.p_value <= level for test in tests)
        yield f"{states} states", n, level, te, predicted, hits / repetitions


def binary(repetitions, first):
    """The probability of a 1 is .5, moved by the last states of both, which are -1/2 and 1/2, times link and own."""
    for n, link, own, level, lags in BINARY:
        cells = 0.5 + (np.array([-1, 1, -1, 1]) * link + np.array([-1, -1, 1, 1]) * own) / 2
        told = np.array([p * np.log(p) + (1 - p) * np.log(1 - p) for p in cells])
        pooled = 0.5 + np.array([-1, 1]) * own / 2
        te = told.mean() - np.mean([p * np.log(p) + (1 - p) * np.log(1 - p) for p in pooled])
        predicted = em.plan(te=te, samples=n, level=level, max_lag=lags, memory=0).of(te)
        hits = 0
        for seed in range(first, first + repetitions):
            rng = np.random.default_rng([seed, 9])
            a, u, b = rng.integers(0, 2, n), rng.random(n), np.zeros(n, int)
            for t in range(1, n):
                b[t] = u[t] < 0.5 + (a[t - 1] - 0.5) * link + (b[t - 1] - 0.5) * own
            series = em.Series(np.column_stack([a, b]), names=["a", "b"])
            hits += em.significance(series, "a", "b", max_lag=lags).p_value <= level
        yield f"two states, default test, {lags} lags", n, level, te, predicted, hits / repetitions


def mapped(repetitions, first):
    """Pilot and recordings have different seeds; the pilot is long, as its own error shows in the power."""
    for kind, n in MAPS:
        how = {"map": kind, "noise": 0.05, "coupling": 0.05}
        pilot = em.simulate.coupled_map("a>b", n=PILOT, seed=first, **how)
        predicted = em.power(fit(pilot, pilot.truth), samples=[n], n=repetitions, seed=first)
        row, hits = predicted.table.iloc[0], 0
        for seed in range(first + 1, first + 1 + repetitions):
            series = em.simulate.coupled_map("a>b", n=n, seed=seed, **how)
            hits += em.significance(series, "a", "b", max_lag=5).p_value <= predicted.level
        yield f"{kind} map, from a pilot", n, predicted.level, row.te, row.power, hits / repetitions


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 1000
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    kinds = {"linear": linear, "regression": regression, "binary": binary, "states": counted, "maps": mapped}
    rows = []
    for kind in sys.argv[3:] or kinds:
        for row in kinds[kind](repetitions, first):
            rows.append((*row, row[4] - row[5]))
            print(*row, flush=True)
    frame = pd.DataFrame(rows, columns=["kind", "samples", "level", "te", "predicted", "simulated", "difference"])
    print(frame.to_string(float_format="{:.4f}".format))
    near = (frame.difference.abs() <= 0.05).sum()
    print(f"largest difference {frame.difference.abs().max():.3f}, {near} of {len(frame)} within .05")
