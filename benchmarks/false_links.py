"""Links that `infer` finds with its defaults between nodes that are not coupled, for many kinds of process.

    python benchmarks/false_links.py [--nodes 6] [--samples 200 500 2000] [--seeds 20] [--first-seed 1000] [--remedy]
                                     [--regression quadratic]

Prints links found per 1,000 pairs; the default level lets in 10 (fewer for many nodes), with the standard error of so
many pairs. A cell over two standard errors is marked. With ``--remedy`` the processes for which a warning names a step
of preparing (a trend, a common period, random walks) are prepared that way first. ``--regression`` asks no defaults but
TEA of a regression with such features and ``null="shift"``, on an embedding from the data.
"""

import argparse
import warnings

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

BURN = 300


def autoregression(phi: float, noise: np.ndarray) -> np.ndarray:
    from scipy.signal import lfilter

    return lfilter([1.0], [1.0, -phi], noise, axis=0)


def white(rng, n, m):
    return rng.normal(size=(n, m))


def ar(phi):
    return lambda rng, n, m: autoregression(phi, rng.normal(size=(n + BURN, m)))[BURN:]


def correlated_noise(rng, n, m):
    factor = np.linalg.cholesky(np.full((m, m), 0.6) + 0.4 * np.eye(m))
    return autoregression(0.7, rng.normal(size=(n + BURN, m)) @ factor.T)[BURN:]


def heavy_tails(rng, n, m):
    return rng.standard_t(2, size=(n, m))


def garch(rng, n, m):
    values, variance = np.zeros((n + BURN, m)), np.ones(m)
    noise = rng.normal(size=values.shape)
    for t in range(1, len(values)):
        variance = 0.1 + 0.2 * values[t - 1] ** 2 + 0.7 * variance
        values[t] = np.sqrt(variance) * noise[t]
    return values[BURN:]


def random_walks(rng, n, m):
    return np.cumsum(rng.normal(size=(n, m)), axis=0)


def trends(rng, n, m):
    slopes = rng.choice([-1, 1], m) * rng.uniform(2, 5, m)
    return ar(0.5)(rng, n, m) + np.linspace(0, 1, n)[:, None] * slopes


def common_period(rng, n, m):
    return ar(0.5)(rng, n, m) + 2 * np.sin(2 * np.pi * np.arange(n)[:, None] / 25 + rng.uniform(0, 2 * np.pi, m))


def common_variance(rng, n, m):
    scale = np.exp(0.8 * autoregression(0.98, 0.3 * rng.normal(size=(n + BURN, 1))))[BURN:]
    return rng.normal(size=(n, m)) * scale


def logistic(rng, n, m):
    return em.simulate.coupled_map({f"x{i}": [] for i in range(m)}, n=n, seed=int(rng.integers(2**31))).values


def wrapped(rng, n, m):
    x, noise = rng.random((n + BURN, m)), 0.1 * rng.normal(size=(n + BURN, m))
    for t in range(1, len(x)):
        u = 0.5 * x[t - 1] + 0.2
        x[t] = (4 * u * (1 - u) + noise[t]) % 1
    return x[BURN:]


def lorenz(rng, n, m):
    nodes = {f"x{i}": [] for i in range(m)}
    return em.simulate.coupled_flow(nodes, n=n, system="lorenz", dt=0.1, seed=int(rng.integers(2**31))).values


def rounded(rng, n, m):
    return np.round(2 * ar(0.5)(rng, n, m)) / 2


def smooth(rng, n, m):
    noise = rng.normal(size=(n + 8, m))
    return np.lib.stride_tricks.sliding_window_view(noise, 9, axis=0).mean(-1)


def one_period(rng, n, m):
    from scipy.signal import lfilter

    radius, cycle = 0.97, 12.0
    weights = [1.0, -2 * radius * np.cos(2 * np.pi / cycle), radius**2]
    return lfilter([1.0], weights, rng.normal(size=(n + BURN, m)), axis=0)[BURN:]


def roessler(rng, n, m):
    nodes = {f"x{i}": [] for i in range(m)}
    return em.simulate.coupled_flow(nodes, n=n, system="rossler", dt=0.3, seed=int(rng.integers(2**31))).values


def chain(states: int, order: int):
    def made(rng, n, m):
        """Markov chains whose next state depends on the last ones by tables of their own."""
        tables = rng.dirichlet(np.full(states, 3.0), size=(m, *[states] * order)).cumsum(-1)
        x, chance = rng.integers(0, states, (n + BURN, m)), rng.random((n + BURN, m))
        for t in range(order, len(x)):
            for i in range(m):
                x[t, i] = (chance[t, i] > tables[i][tuple(x[t - order : t, i])]).sum().clip(0, states - 1)
        return x[BURN:].astype(float)

    return made


def counts(rng, n, m):
    return rng.poisson(np.exp(0.5 * ar(0.8)(rng, n, m))).astype(float)


def missing(rng, n, m):
    x = ar(0.7)(rng, n, m)
    x[rng.random(x.shape) < 0.2] = np.nan
    return x


def masked(rng, n, m):
    x = ar(0.7)(rng, n, m)
    for first in rng.integers(0, n - n // 20, 3):
        x[first : first + n // 20] = np.nan
    return x


def rain(rng, n, m):
    """Zeros, and gamma variables in a twentieth of the samples."""
    return rng.gamma(2, size=(n, m)) * (rng.random((n, m)) < 0.05)


def sawtooth(rng, n, m):
    """A common season that is no sine, with a phase of its own in each node."""
    return 2 * ((np.arange(n)[:, None] / 24.3 + rng.random(m)) % 1) + ar(0.5)(rng, n, m)


PROCESSES = {
    "white noise": white,
    "AR .9": ar(0.9),
    "AR .98": ar(0.98),
    "AR .7, correlated noise (.6)": correlated_noise,
    "heavy tails (t, 2 degrees)": heavy_tails,
    "GARCH": garch,
    "random walks": random_walks,
    "linear trends + AR .5": trends,
    "a common period, random phases, + AR .5": common_period,
    "common changes of variance": common_variance,
    "logistic maps": logistic,
    "Lorenz, x every .1": lorenz,
    "rounded to halves": rounded,
    "smooth (moving average of 9)": smooth,
    "noisy maps modulo 1": wrapped,
    "AR .95": ar(0.95),
    "AR(2) of one period": one_period,
    "Rössler, x every .3": roessler,
    "chains of 2 states": chain(2, 1),
    "chains of 4 states": chain(4, 1),
    "chains of 2 states, order 3": chain(2, 3),
    "counts": counts,
    "20 % missing": missing,
    "three gaps of a twentieth": masked,
    "rain in 5 % of samples": rain,
    "a common sawtooth + AR .5": sawtooth,
}
REMEDIES = {
    "random walks": lambda series: series.difference(),
    "linear trends + AR .5": lambda series: series.detrend(),
    "a common period, random phases, + AR .5": lambda series: series.deseason(period=25),
}


def found(process: str, n: int, m: int, seed: int, remedy: bool, features: str | None) -> tuple[int, tuple[str, ...]]:
    """Return the number of links found, and what was warned of."""
    rng = np.random.default_rng([seed, n, m, list(PROCESSES).index(process)])
    values = PROCESSES[process](rng, n, m)
    series = em.Series(values, missing="drop" if np.isnan(values).any() else "raise")
    if remedy and process in REMEDIES:
        series = REMEDIES[process](series)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        given = {}
        if features:
            score = em.TEA(estimator=em.Regression(features), null="shift")
            given = {"score": score.with_embedding(series)}
        network = em.infer(series, acyclic=False, **given)
    return len(network), network.warnings


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--nodes", type=int, default=6)
    parser.add_argument("--samples", type=int, nargs="+", default=[200, 500, 2000])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", nargs="*")
    parser.add_argument("--remedy", action="store_true")
    parser.add_argument("--regression", choices=["linear", "quadratic", "fourier", "basis"])
    options = parser.parse_args()
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    names = [name for name in PROCESSES if not options.only or name.startswith(tuple(options.only))]
    pairs = options.nodes * (options.nodes - 1)
    level = min(0.01, 1 / pairs)
    error = np.sqrt(level * (1 - level) / (pairs * len(seeds)))
    print(f"{options.nodes} nodes, {len(seeds)} seeds from {options.first_seed}; nominal {1000 * level:.1f}, "
          f"standard error {1000 * error:.1f}")  # fmt: skip
    print("| process | " + " | ".join(f"N = {n}" for n in options.samples) + " | warned |")
    print("|---|" + "---|" * (len(options.samples) + 1))
    for name in names:
        rates, warned = [], set()
        for n in options.samples:
            here = Parallel(n_jobs=options.jobs, batch_size=1)(
                delayed(found)(name, n, options.nodes, seed, options.remedy, options.regression) for seed in seeds
            )
            rate = sum(count for count, _ in here) / (pairs * len(seeds))
            digits = 2 if level < 0.001 else 0
            stars = "*" * sum(rate > level + k * error for k in (2, 3))
            rates.append(f"{1000 * rate:.{digits}f}{stars}")
            warned |= {message.split(":")[0][:60] for _, messages in here for message in messages}
        print(f"| {name} | {' | '.join(rates)} | {'; '.join(sorted(warned))[:160]} |", flush=True)


if __name__ == "__main__":
    main()
