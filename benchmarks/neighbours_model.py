"""How good is the choice between trees and lists by which neighbours are counted (`enmesh.neighbours.cpu.for_lists`)?

python benchmarks/neighbours_model.py             measure, and print what the choices cost beyond the best ones
python benchmarks/neighbours_model.py times.json  the same, and keep the times; a file that is there is read instead

One thread, CPU time, least of a few runs. The points are lags of autoregressive series, as in a transfer entropy;
lists are timed on four stretches of points.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from enmesh.neighbours import cpu, lists
from enmesh.neighbours.lanes import SHORTS

DIMS = (
    (1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 1, 5), (1, 1, 8), (3, 1, 1), (3, 1, 2), (3, 1, 3), (3, 1, 6),
    (6, 1, 1), (6, 1, 3), (6, 1, 6), (2, 1, 2), (2, 2, 4), (1, 3, 3),
)  # fmt: skip
SIZES = (300, 1_000, 4_000, 16_000, 64_000)
BATCHES = (2, 4, 8, 16, 32, 40, 64, 96, 192, 199, 384)
RADII = (0.2, 0.5, 1.0)
STRETCHES, POINTS = 4, 1024


def lags(rng, n, width):
    """Return (n, width) lags of an autoregressive series of unit variance."""
    noise = rng.normal(size=n + width + 50)
    series = np.zeros_like(noise)
    for t in range(1, len(noise)):
        series[t] = 0.5 * series[t - 1] + noise[t]
    series /= series.std()
    return np.stack([series[50 + width - lag :][:n] for lag in range(width)], axis=1)


def least(work, repeats):
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return best


def by_lists(neighbours, x, kinds, walk):
    """Seconds that lists take for the questions x, all points."""
    n = x.shape[1]
    run = min(n, POINTS) // STRETCHES
    out = np.empty((kinds, *x.shape[:2]), np.int32)

    order = neighbours._listed.tree.order
    codes = lists.encode(x, order)

    def work():
        for lo in np.linspace(0, n - run, STRETCHES).astype(int):
            walk(codes, out, int(lo), int(lo) + run)

    return least(lambda: lists.encode(x, order), 2) + least(work, 2) * n / (run * STRETCHES)


def times(n, dims, k=0, radius=0.0):
    """Measure one problem; return (n, dx, dy, dz, k) and the seconds of a question by trees, listing and one walk."""
    rng = np.random.default_rng(1)
    x, y, z = (lags(rng, n, width) for width in dims)
    x = np.stack([np.roll(x, int(shift), axis=0) for shift in rng.integers(20, n - 20, 96)])
    neighbours = cpu.Neighbours(y, z)
    points = neighbours._listed
    if k:
        ask = lambda: neighbours.ksg(x[:1], k)  # noqa: E731
        walk = lambda *args: lists.ksg(points, args[0], k, 1, *args[1:])  # noqa: E731
    else:
        ask = lambda: neighbours.within(x[:1], radius)  # noqa: E731
        fixed = lambda: neighbours.within(x[:0], radius)  # noqa: E731

        def walk(x, *args):
            return lists.box(points._replace(spans=neighbours._spans(-1)), x, radius, *args)

    ask()
    repeats = 3 if n < 20_000 else 1
    question = least(ask, repeats) - (0.0 if k else least(fixed, repeats))
    few, many = (by_lists(neighbours, x[:b], 3 if k else 2, walk) for b in (32, 96))
    walked = min(max((many - few) / 2, few / 20), 0.95 * few)
    return (n, *dims, k), (max(question, 1e-9 * n), few - walked, walked)


def measure():
    """Yield problems with their times; trees must answer single questions while they are timed."""
    cpu.for_lists = lambda n, dz, k, b: 0
    for n in SIZES:
        for dims in DIMS:
            if n == SIZES[-1] and sum(dims) > 7:
                continue
            for k in (1, 4, 16) if n == 4_000 else (4,):
                yield times(n, dims, k=k)
            if dims[1] == 1 and n < SIZES[-1]:
                for radius in RADII:
                    yield times(n, dims, radius=radius)


def spent(took, listed, b):
    """Return the seconds of b questions of which lists answer some."""
    question, listing, walk = took
    by_lists = listing + -(-listed // SHORTS) * walk if listed else 0.0
    return by_lists + (b - listed) * question


def judged(rows, for_lists):
    """Print how often the choice is not the faster one, and how much it then costs."""
    regrets = []
    for (n, _, _, dz, k), took in rows:
        for b in BATCHES:
            best = min(spent(took, listed, b) for listed in (0, b - b % SHORTS, b))
            regrets.append(spent(took, for_lists(n, dz, k, b), b) / best)
    worse = np.array(regrets) - 1
    print(
        f"{len(worse)} choices: {np.mean(worse > 0.1):.1%} cost over 10 % more than the best, the worst "
        f"{worse.max():.0%}, the mean {worse.mean():.1%}"
    )


def main():
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for_lists = cpu.for_lists
    if kept and kept.exists():
        rows = json.loads(kept.read_text())
    else:
        rows = list(measure())
        if kept:
            kept.write_text(json.dumps(rows))
    for name, kind in (("KSG", True), ("box kernel", False)):
        print(name, end=": ")
        judged([row for row in rows if bool(row[0][4]) == kind], for_lists)


if __name__ == "__main__":
    main()
