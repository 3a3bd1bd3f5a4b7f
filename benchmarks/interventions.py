"""Interventions: the fitted model under an intervention, beside the simulator under the same one.

    python benchmarks/interventions.py [recordings, first seed]

Five systems: a vector autoregression with feedback, maps with products, bounded Henon maps, a network whose noise
depends on a parent, and coupled states. One recording of 2,000 samples of each is fitted, told the graph. The change of
the mean of each node that is not set, at horizons 1 to 10, is compared to that of 200,000 runs of the simulator.
A standard error is a quarter of the width of the 95 % interval. A second count, over several recordings, says how often
the truth lies within two.
"""

import sys
import warnings

import numpy as np
import pandas as pd

import enmesh as em
from effects import LOOP, PARENTS, henon, loop, products
from enmesh.model import fit

N, RUNS, HORIZON = 2000, 200_000, 10


def spread(x, e):
    """The noise of b grows with a, and c follows the square of b."""
    a, b, c = x.T
    moved = [0.5 * a + e[:, 0], 0.4 * b + 0.3 * a + np.exp(0.35 * np.clip(a, -3, 3)) * e[:, 1] * 0.5]
    return np.stack([*moved, 0.4 * c + 0.2 * np.clip(b, -3, 3) ** 2 + e[:, 2]], axis=1)


def states(x, e):
    """Three nodes of two states: b follows a, c the exclusive or of a and b, each with errors."""
    from scipy.special import ndtr

    u, (a, b, _) = ndtr(e), x.T
    stays = np.where(a == b, 0.85, 0.5)
    p = np.stack([0.2 + 0.6 * a, stays * a + (1 - stays) * (1 - a), 0.1 + 0.8 * np.abs(a - b)], axis=1)
    return (u < p).astype(float)


SYSTEMS = {  # equations, parents, what is set, how
    "VAR, feedback": (loop, LOOP, {"a": 1.5}, "hold"),
    "products": (products, PARENTS, {"a": 1.2}, "hold"),
    "bounded Henon": (henon, PARENTS, {"a": 0.5}, "pulse"),
    "noise depends on a parent": (spread, {"a": (), "b": ("a",), "c": ("b",)}, {"a": 1.0}, "hold"),
    "states": (states, PARENTS, {"a": 1}, "hold"),
}


def recording(step, n, seed):
    rng, x, kept = np.random.default_rng(seed), np.zeros((1, 3)), []
    for _ in range(n + 200):
        x = step(x, rng.standard_normal(x.shape))
        kept.append(x[0])
    return np.array(kept[200:])


def truth(step, values, kind):
    rng = np.random.default_rng(5)
    x = np.zeros((RUNS, 3))
    for _ in range(200):
        x = step(x, rng.standard_normal(x.shape))
    other, found = x.copy(), []
    for place, value in values.items():
        other[:, "abc".index(place)] = value
    for _ in range(HORIZON):
        e = rng.standard_normal(x.shape)
        x, other = step(x, e), step(other, e)
        if kind == "hold":
            for place, value in values.items():
                other[:, "abc".index(place)] = value
        found.append((other.mean(axis=0), (other - x).mean(axis=0), (other - x).std(axis=0) / np.sqrt(RUNS)))
    return [np.array(one) for one in zip(*found)]


def main(recordings, first):
    warnings.simplefilter("ignore")
    rows = []
    for name, (step, parents, values, kind) in SYSTEMS.items():
        _, change, error = truth(step, values, kind)
        free = [i for i, node in enumerate(parents) if node not in values or kind == "pulse"]
        far = []
        for seed in range(first, first + recordings):
            data = recording(step, N, [seed, 3])
            series = em.Series(data.astype(int) if step is states else data, names=list(parents))
            found = fit(series, parents).intervene(values, HORIZON, kind=kind, seed=seed)
            width = (found.change_high - found.change_low).to_numpy() / 4
            there = np.abs(found.change.to_numpy() - change) / np.sqrt(width**2 + error**2 + 1e-24)
            far.append(there[:, free][change[:, free] != 0])
        one, far = far[0], np.concatenate(far)
        rows.append((name, kind, len(one), one.max(), (one <= 2).mean(), (far <= 2).mean(), np.sqrt(np.mean(far**2))))
        print(*rows[-1], flush=True)
    columns = ["system", "kind", "values", "largest_se", "within_2_first", "within_2_all", "rms_se"]
    print(pd.DataFrame(rows, columns=columns).to_string(float_format="{:.3f}".format))


if __name__ == "__main__":
    main(*(int(one) for one in (sys.argv[1:] or (40, 0))))
