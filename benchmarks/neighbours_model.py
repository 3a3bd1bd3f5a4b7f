"""Fit the model by which neighbours are counted by trees or by lists (`enmesh.neighbours.model`).

python benchmarks/neighbours_model.py             measure, print the coefficients and how good the choices are
python benchmarks/neighbours_model.py times.json  the same, and keep the times; a file that is there is read instead

One thread, CPU time, least of a few runs. The points are lags of autoregressive series, as in a transfer entropy;
lists are timed on four stretches of points. Copy the coefficients into src/enmesh/neighbours/model.py after a change
of the kernels.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

from enmesh.neighbours import cpu, lists, model

DIMS = (
    (1, 1, 1), (1, 1, 2), (1, 1, 3), (1, 1, 5), (1, 1, 8), (3, 1, 1), (3, 1, 2), (3, 1, 3), (3, 1, 6),
    (6, 1, 1), (6, 1, 3), (6, 1, 6), (2, 1, 2), (2, 2, 4), (1, 3, 3),
)  # fmt: skip
SIZES = (300, 1_000, 4_000, 16_000, 64_000)
BATCHES = (2, 4, 8, 16, 32, 64, 96, 192, 384)
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
    """Measure one problem; return it and the seconds of a question by trees, of listing and of one walk."""
    rng = np.random.default_rng(1)
    x, y, z = (lags(rng, n, width) for width in dims)
    x = np.stack([np.roll(x, int(shift), axis=0) for shift in rng.integers(20, n - 20, 96)])
    neighbours = cpu.Neighbours(y, z)
    points = neighbours._listed
    if k:
        problem = model.Workload(n, *dims, k=k)
        ask = lambda: neighbours.ksg(x[:1], k)  # noqa: E731
        walk = lambda *args: lists.ksg(points, args[0], k, 1, *args[1:])  # noqa: E731
    else:
        problem = model.Workload(n, *dims, in_z=float(neighbours.within(x[:1], radius)[3].mean()))
        ask = lambda: neighbours.within(x[:1], radius)  # noqa: E731
        fixed = lambda: neighbours.within(x[:0], radius)  # noqa: E731

        def walk(x, *args):
            return lists.box(points._replace(spans=neighbours._spans(-1)), x, radius, *args)

    ask()
    repeats = 3 if n < 20_000 else 1
    question = least(ask, repeats) - (0.0 if k else least(fixed, repeats))
    few, many = (by_lists(neighbours, x[:b], 3 if k else 2, walk) for b in (32, 96))
    walked = min(max((many - few) / 2, few / 20), 0.95 * few)
    return problem, (max(question, 1e-9 * n), few - walked, walked)


def measure():
    """Yield problems with their times; trees must answer single questions while they are timed."""
    model.for_lists = lambda problem, b: 0
    for n in SIZES:
        for dims in DIMS:
            if n == SIZES[-1] and sum(dims) > 7:
                continue
            for k in (1, 4, 16) if n == 4_000 else (4,):
                yield times(n, dims, k=k)
            if dims[1] == 1 and n < SIZES[-1]:
                for radius in RADII:
                    yield times(n, dims, radius=radius)


def fitted(name, features, rows, which):
    """Print the coefficients of one part of the cost; return them and the standard deviation of the error."""
    seconds = np.array([took[which] / problem.n for problem, took in rows])
    design = np.array([features(problem) for problem, _ in rows])
    coefficients = np.linalg.lstsq(design, np.log(seconds), rcond=None)[0].round(3)
    error = np.log(seconds) - design @ coefficients
    values = ", ".join(map(str, coefficients.tolist()))
    print(f"{name} = ({values})  # {np.exp(error.std()) - 1:.0%} off, typically", flush=True)
    setattr(model, name, tuple(coefficients))


def judged(rows, for_lists):
    """Print how often the choice is not the faster one, and how much it then costs."""
    regrets = []
    for problem, took in rows:
        true = model.Cost(*took)
        for b in BATCHES:
            seconds = [model._mixed(true, count, b) for count in {0, b - b % model.GROUP, b}]
            regrets.append(model._mixed(true, for_lists(problem, b), b) / min(seconds))
    worse = np.array(regrets) - 1
    print(
        f"{len(worse)} choices: {np.mean(worse > 0.1):.1%} cost over 10 % more than the best, the worst "
        f"{worse.max():.0%}, the mean {worse.mean():.1%}"
    )


def main():
    kept = Path(sys.argv[1]) if len(sys.argv) > 1 else None
    for_lists = model.for_lists
    if kept and kept.exists():
        rows = [(model.Workload(*problem), tuple(took)) for problem, took in json.loads(kept.read_text())]
    else:
        rows = list(measure())
        if kept:
            kept.write_text(json.dumps(rows))
    ksg, box = ([row for row in rows if bool(row[0].k) == kind] for kind in (True, False))
    parts = (
        ("TREES", model.tree_features, 0),
        ("LISTING", model.list_features, 1),
        ("WALK", model.list_features, 2),
    )
    for kind, rows in (("KSG", ksg), ("BOX", box)):
        for name, features, which in parts:
            fitted(f"{kind}_{name}", features, rows, which)
        judged(rows, for_lists)


if __name__ == "__main__":
    main()
