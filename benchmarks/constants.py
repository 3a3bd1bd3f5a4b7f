"""What each constant of the default test is worth: it is changed alone, and a mixed set of systems is inferred again.

    python benchmarks/constants.py [--first-seed 0] [--only NAME ...] [--seeds 1]

The set has lines, maps, sines, variances, cubics, products, pairs, predators, rings, flows, common factors, and nodes
without links. Prints true / false / missed links of systems with links, false links of those without, and CPU seconds.
Every variation runs in a process of its own, on one core.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np

import accuracy
import enmesh as em
import false_links
import kinds
import sizes

Variation = dict[str, object]
VARIATIONS: dict[str, list[Variation]] = {
    "functions of a variable and of a residual, 4": [
        {
            f"{module}.FUNCTIONS": k
            for module in ("functions", "samples", "known", "ladder", "selection", "within.pairs")
        }
        for k in (3, 5)
    ],
    "power of the size of a normal score, 1.5": [{"functions.POWER": 1.0}, {"functions.POWER": 2.0}],
    "share of a function that is left by those before it, .8": [{"functions.DEPENDENT": k} for k in (0.2, 0.6)],
    "values of a target of states, 10": [{"samples.STATES": 5}, {"samples.STATES": 20}],
    "slow functions of time, 3": [{"samples.SLOW": 2}, {"samples.SLOW": 5}],
    "memories of the common volatility, .05 and .2": [{"samples.MEMORIES": (0.1,)}, {"samples.MEMORIES": (0.02, 0.1)}],
    "share of the samples that a basis may have functions, .25": [{"known.SHARE": 0.12}, {"known.SHARE": 0.5}],
    "functions of a basis at most, 160": [{"known.LARGEST": 80}, {"known.LARGEST": 320}],
    "share that known sources leave unexplained, .005": [{"known.IMPRECISION": k} for k in (0.002, 0.02)],
    "harmonics of the common period, 12": [{"samples.HARMONICS": k} for k in (2, 6)],
    "partners, 8": [{"known.PARTNERS": 4}, {"known.PARTNERS": 16}],
    "error below which a larger model is taken, .99": [
        {"known.SIMPLER": k, "selection.SIMPLER": k} for k in (0.98, 0.997)
    ],
    "error below which a common period is taken, and by which a variable may raise it, .95": [
        {"selection.TIMELY": 0.9},
        {"selection.TIMELY": 0.99},
    ],
    "weights of the rungs": [
        {"ladder.WEIGHTS": dict.fromkeys((True, False), (0.2,) * 5)},
        {"ladder.WEIGHTS": dict.fromkeys((True, False), (0.75, 0.08, 0.07, 0.05, 0.05))},
    ],
    "weight of all lags together, .05": [{"ladder.TOGETHER": 0.02}, {"ladder.TOGETHER": 0.2}],
    "circular shifts, 100": [{"ladder.SHIFTS": 50}, {"ladder.SHIFTS": 200}],
    "shifts that are made first, 20": [{"ladder.FEW": 10}, {"ladder.FEW": 100}],
    "p-value up to which shifts are made, .05": [
        {"ladder.LOOK": 0.02, "selection.LOOK": 0.02, "together.LOOK": 0.02},
        {"ladder.LOOK": 0.2, "selection.LOOK": 0.2, "together.LOOK": 0.2},
    ],
    "p-values are combined up to, .99": [{"ladder.CAPPED": 0.9}, {"ladder.CAPPED": 0.999}],
    "level of forward selection, 5 times": [{"selection.LOOSE": 2.0}, {"selection.LOOSE": 20.0}],
    "lengths of own pasts, 1, 2, 3, 5": [{"selection.OWN": (1, 2)}, {"selection.OWN": (1, 2, 3, 4, 5)}],
    "candidates of each rung, 2": [{"selection.PROMISING": 4}, {"selection.PROMISING": 8}],
    "variables of which products are formed, 300": [{"together.MOST": 100}, {"together.MOST": 600}],
    "share of the level for products, .1": [{"together.TENTH": 0.03}, {"together.TENTH": 0.3}],
}


def systems(seed: int) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Yield values and links ``[source, target]`` of one system of each kind."""

    def sized(made: tuple) -> tuple[np.ndarray, np.ndarray]:
        series, truth, _ = made
        linked = np.zeros((series.n_nodes, series.n_nodes), bool)
        linked[tuple(np.array(list(truth)).T)] = True
        return series.values, linked

    yield from (kinds.CASES[name](seed) for name in kinds.CASES)
    for kind in kinds.PAIRS.values():
        x, pairs = kinds.together(kind, seed)
        linked = np.zeros((x.shape[1], x.shape[1]), bool)
        for target, both in pairs.items():
            linked[list(both), target] = True
        yield x, linked
    yield from (sized(sizes.novelli(kind, 10, 1000, seed)) for kind in ("var", "map"))
    yield sized(sizes.novelli("map", 40, 1000, seed))
    yield sized(sizes.random_var(40, 500, 60, 5, seed))
    yield from (sized(sizes.lorenz96(10, n, seed)) for n in (250, 1000))
    yield sized(sizes.factors(seed))
    for parents in ({"a": [], "b": ["a"], "c": ["b"]}, {"a": [], "b": [], "c": ["a", "b"]}):
        for dt in (0.05, 0.2):
            case = accuracy.flow(parents, 1000, dt, seed)
            linked = np.zeros((3, 3), bool)
            linked[tuple(np.array(list(case.links)).T)] = True
            yield case.series.values, linked


def judged(first: int, seeds: int) -> dict[str, object]:
    """Infer all systems; return counts of links, false links without any, and CPU seconds."""
    warnings.simplefilter("ignore")
    counts, alone, began = np.zeros(3, int), 0, time.process_time()
    for seed in range(first, first + seeds):
        for x, linked in systems(seed):
            found = em.infer(em.Series(x), progress=False).adjacency
            counts += [(found & linked).sum(), (found & ~linked).sum(), (linked & ~found).sum()]
        for place, process in enumerate(false_links.PROCESSES.values()):
            values = process(np.random.default_rng([seed, place]), 400, 6)
            missing = "drop" if np.isnan(values).any() else "raise"
            alone += len(em.infer(em.Series(values, missing=missing), progress=False))
    return {"counts": counts.tolist(), "alone": alone, "seconds": time.process_time() - began}


def changed(variation: Variation, first: int, seeds: int) -> str:
    """Return a row of the table for one variation, from a process of its own."""
    env = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    spoken = {name: repr(value) for name, value in variation.items()}
    told = subprocess.run(
        [sys.executable, __file__, "--run", json.dumps(spoken), "--first-seed", str(first), "--seeds", str(seeds)],
        env=env, capture_output=True, text=True, check=True,
    )  # fmt: skip
    found = json.loads(told.stdout.splitlines()[-1])
    true, false, missed = found["counts"]
    f1 = 2 * true / (2 * true + false + missed)
    return f"{true} / {false} / {missed} | {f1:.3f} | {found['alone']} | {found['seconds']:.0f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=[""], help="beginnings of names")
    parser.add_argument("--run", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run is not None:
        for name, value in json.loads(options.run).items():
            module, constant = name.rsplit(".", 1)
            place = f"enmesh.{module}" if "." in module else f"enmesh.links.{module}"
            setattr(importlib.import_module(place), constant, eval(value))
        print(json.dumps(judged(options.first_seed, options.seeds)))
        return
    print("| constant | changed to | true / false / missed | F1 | false where none is | CPU s |")
    print("|---|---|---|---|---|---|")
    rows = [("as it is", [{}])] if "" in options.only else []
    chosen = [(name, some) for name, some in VARIATIONS.items() if name.startswith(tuple(options.only))]
    for name, variations in [*rows, *chosen]:
        for variation in variations:
            told = ", ".join(dict.fromkeys(str(value) for value in variation.values()))
            print(f"| {name} | {told} | {changed(variation, options.first_seed, options.seeds)} |", flush=True)


if __name__ == "__main__":
    main()
