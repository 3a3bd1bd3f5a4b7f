"""How sure is sure? Simulates stability, coverage, comparisons, groups and windows, and prints a table of each.

    python benchmarks/sureness.py [stability coverage comparison group windows] [--scale 0.2] [--jobs N]

``--scale`` is the share of the repetitions: 1 is 200 draws of each case (5 seeds of stability). Every repetition has
its own seed; results do not depend on the number of workers.
"""

import argparse
import time
import warnings
from collections.abc import Callable

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

SCORE = em.TEA(embedding=em.Embedding())
FIVE = "a>b, b>c, c>d, a>e"
TEN = "a>b, b>c, c>d, d>e, a>f, f>g, g>h, c>i, i>j"


def maps(n, seed, graph="a>b", **rest):
    return em.simulate.coupled_map(graph, n=n, seed=seed, **({"coupling": 0.2, "noise": 0.05} | rest))


def repeated(function: Callable, jobs: int, *arguments) -> list:
    """Return function(seed) for each seed, in order."""
    return Parallel(jobs)(delayed(_quietly)(function, *given) for given in zip(*arguments))


def _quietly(function, *given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", em.HazardWarning)
        return function(*given)


# --- stability --------------------------------------------------------------------------------------------------------

STABLE = {
    "five logistic maps, n = 1000, defaults": (lambda s: maps(1000, s, FIVE, coupling=0.3, noise=0.01), {}),
    "ten-node VAR, n = 1000, defaults": (lambda s: em.simulate.var(TEN, n=1000, seed=s), {}),
    "ten-node VAR, n = 1000, linear at lag 1": (
        lambda s: em.simulate.var(TEN, n=1000, seed=s),
        {"score": SCORE},
    ),
}


def frequencies(name: str, seed: int, n: int, **how) -> tuple[np.ndarray, np.ndarray]:
    """Return the shares of true links and of absent ones."""
    make, options = STABLE[name]
    series = make(seed)
    shares = em.bootstrap(series, n, seed=seed, **how, **options).frequency.to_numpy()
    true = np.zeros(shares.shape, bool)
    for target, sources in series.truth.items():
        true[[series.index(source) for source in sources], series.index(target)] = True
    absent = ~true & ~np.eye(len(shares), dtype=bool)
    return np.where(true, shares, np.nan), np.where(absent, shares, np.nan)


def stability(scale, jobs):
    print("| system | networks | true: least, mean of seeds | absent: largest, largest mean of seeds, mean |")
    print("|---|---|---|---|")
    n = max(10, int(50 * scale))
    for name in STABLE:
        found = [_quietly(lambda s, name=name: frequencies(name, s, n, n_jobs=jobs), s) for s in range(5)]
        true, absent = (np.stack(part) for part in zip(*found))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # pairs that are not of this kind
            means = np.nanmean(true, 0), np.nanmean(absent, 0)
        print(
            f"| {name} | 5 x {n} | {np.nanmin(true):.2f}, {np.nanmin(means[0]):.2f} | "
            f"{np.nanmax(absent):.2f}, {np.nanmax(means[1]):.2f}, {np.nanmean(absent):.3f} |",
            flush=True,
        )


# --- coverage ---------------------------------------------------------------------------------------------------------

LONG, LONG_SEED = 100_000, 10**6
COVERED = {
    "AR, coupling .4": lambda n, s: em.simulate.var("a>b", n=n, coupling=0.4, seed=s),
    "AR, coupling .1": lambda n, s: em.simulate.var("a>b", n=n, coupling=0.1, seed=s),
    "maps, noise .1": lambda n, s: maps(n, s, noise=0.1),
    "maps, noise .05": maps,
}


def truth_of(name: str, estimator: em.Gaussian | em.KSG) -> float:
    """Return the value that many samples give; of AR it is linear, and so the Gaussian one."""
    linear = isinstance(estimator, em.Gaussian) or name.startswith("AR")
    series = COVERED[name](LONG * (4 if linear else 1), LONG_SEED)
    return em.transfer_entropy(series, "a", "b", estimator=em.Gaussian() if linear else estimator)


def covered(name: str, estimator, truth: float, seed: int, n: int = 500, level: float = 0.9) -> bool:
    found = em.interval(COVERED[name](n, seed), "a", "b", estimator=estimator, level=level, seed=seed)
    return found.low <= truth <= found.high


def coverage(scale, jobs):
    print("| system, N = 500 | estimator | truth | coverage of 90 % intervals | draws |")
    print("|---|---|---|---|---|")
    draws = max(20, int(200 * scale))
    for estimator in (em.Gaussian(), em.KSG()):
        for name in COVERED:
            truth = truth_of(name, estimator)
            ask = lambda s, e=estimator, name=name, truth=truth: covered(name, e, truth, s)  # noqa: E731
            share = np.mean(repeated(ask, jobs, range(draws)))
            print(
                f"| {name} | {type(estimator).__name__} | {truth:.4f} | {share:.3f} | {draws} |", flush=True
            )


# --- comparison -------------------------------------------------------------------------------------------------------

COEFFICIENTS = np.diag([0.5] * 5)
for source, target in ((0, 1), (1, 2), (2, 3), (0, 4)):
    COEFFICIENTS[target, source] = 0.5


def recording(halved: bool, n: int, seed: int) -> em.Series:
    matrix = COEFFICIENTS.copy()
    matrix[3, 2] *= 0.5 if halved else 1.0  # c > d: nothing is downstream of d, so nothing else changes
    return em.simulate.var(coefficients=matrix, n=n, seed=seed, names=list("abcde"))


def no_difference(seed: int, n: int = 1000, count: int = 999) -> bool:
    """Whether anything is found between two recordings of the same system."""
    pair = recording(False, n, 2 * seed), recording(False, n, 2 * seed + 1)
    return bool((em.compare(*pair, count, seed, score=SCORE).q_value.to_numpy() <= 0.05).any())


def halved(seed: int, n: int = 1000, count: int = 999) -> tuple[bool, int]:
    """Whether the halved link c > d is found to have fallen, and how many others are found."""
    found = em.compare(
        recording(False, n, 2 * seed), recording(True, n, 2 * seed + 1), count, seed, score=SCORE
    )
    sure = found.q_value.to_numpy() <= 0.05
    return bool(sure[2, 3] and found.difference.loc["c", "d"] < 0), int(sure.sum() - sure[2, 3])


def no_difference_of_subjects(seed: int, paired: bool) -> bool:
    sides = [[recording(False, 200, 100 * seed + 50 * side + s) for s in range(10)] for side in (0, 1)]
    return bool((em.compare(*sides, 999, seed, paired=paired, score=SCORE).q_value.to_numpy() <= 0.05).any())


def comparison(scale, jobs):
    draws = max(20, int(200 * scale))
    print("| comparison of VARs of five nodes | share | repetitions |")
    print("|---|---|---|")
    share = np.mean(repeated(no_difference, jobs, range(draws)))
    print(f"| same system, 1000 samples each: any q up to .05 | {share:.3f} | {draws} |", flush=True)
    for paired in (False, True):
        ask = lambda s, paired=paired: no_difference_of_subjects(s, paired)  # noqa: E731
        share = np.mean(repeated(ask, jobs, range(draws)))
        kind = "10 pairs" if paired else "10 and 10 subjects"
        print(f"| same system, {kind} of 200 samples: any q up to .05 | {share:.3f} | {draws} |", flush=True)
    found = repeated(halved, jobs, range(draws))
    place, others = np.mean([one for one, _ in found]), np.mean([many > 0 for _, many in found])
    print(f"| c > d halved, 1000 samples each: found, and fell | {place:.3f} | {draws} |")
    print(f"| c > d halved: anything else found | {others:.3f} | {draws} |", flush=True)


# --- groups -----------------------------------------------------------------------------------------------------------


def subjects(seed: int, count: int = 20, n: int = 200, coupling: float = 0.15) -> list[em.Series]:
    return [em.simulate.var(FIVE, n=n, coupling=coupling, seed=1000 * seed + s) for s in range(count)]


def f1_of(found: np.ndarray, true: np.ndarray) -> float:
    return float(2 * (found & true).sum() / (found.sum() + true.sum()))


def group_scores(seed: int) -> tuple[float, float, float, float]:
    """Return F1 of the group's network and of the test across subjects; shares of true and absent links alone."""
    members = subjects(seed)
    found = em.group(members, score=SCORE, seed=seed)
    names = members[0].names
    true = np.array([[i in members[0].truth[j] for j in names] for i in names])
    absent = ~true & ~np.eye(len(names), dtype=bool)
    second = found.q_value.to_numpy() <= 0.05
    share = found.share.to_numpy()
    return f1_of(found.network.adjacency, true), f1_of(second, true), share[true].mean(), share[absent].mean()


def group(scale, jobs):
    draws = max(10, int(100 * scale))
    f1, second, alone, false = np.mean(repeated(group_scores, jobs, range(draws)), axis=0)
    print("| 20 subjects of 200 samples, coupling .15 | mean | repetitions |")
    print("|---|---|---|")
    print(f"| F1 of the group's network | {f1:.3f} | {draws} |")
    print(f"| F1 of the test across subjects, q up to .05 | {second:.3f} | {draws} |")
    print(f"| share of subjects who show a true link alone | {alone:.3f} | {draws} |")
    print(f"| share of subjects who show an absent link alone | {false:.3f} | {draws} |", flush=True)


# --- windows ----------------------------------------------------------------------------------------------------------


def switched(seed: int, n: int = 1000) -> em.Series:
    """b drives c in the second half only; a drives b throughout."""
    before = em.simulate.var("a>b, c", n=n, seed=2 * seed).values
    after = em.simulate.var("a>b, b>c", n=n, seed=2 * seed + 1).values
    return em.Series(np.concatenate([before, after]), names=["a", "b", "c"])


def switched_trials(seed: int, trials: int = 30, n: int = 60) -> em.Series:
    halves = [
        [em.simulate.var(graph, n=n, seed=10_000 * seed + 2 * i + late).values for i in range(trials)]
        for late, graph in enumerate(("a>b, c", "a>b, b>c"))
    ]
    return em.Series([np.concatenate(pair) for pair in zip(*halves)], names=["a", "b", "c"])


def right_windows(seed: int, trials: bool) -> tuple[float, float, float]:
    """Return how often b > c is on after and before the switch, and an absent link anywhere."""
    series, half, width = (switched_trials(seed), 60, 20) if trials else (switched(seed), 1000, 250)
    found = em.windows(series, width, width // 2, score=SCORE)
    late, early = found.starts >= half, found.starts + width <= half
    on = found.on
    absent = on[:, [1, 2, 2, 0], [0, 0, 1, 2]]
    return on[late, 1, 2].mean(), on[early, 1, 2].mean(), absent.mean()


def windows(scale, jobs):
    draws = max(10, int(100 * scale))
    print("| a link that switches on halfway | on after | on before | absent links on | repetitions |")
    print("|---|---|---|---|---|")
    for trials, kind in ((False, "one recording, windows of 250"), (True, "30 trials, windows of 20")):
        ask = lambda s, trials=trials: right_windows(s, trials)  # noqa: E731
        after, before, absent = np.mean(repeated(ask, jobs, range(draws)), axis=0)
        print(f"| {kind} | {after:.3f} | {before:.3f} | {absent:.4f} | {draws} |", flush=True)


TABLES = {f.__name__: f for f in (stability, coverage, comparison, group, windows)}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tables", nargs="*", metavar="TABLE", help=", ".join(TABLES))
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    unknown = set(options.tables) - set(TABLES)
    if unknown:
        parser.error(f"there is no table {', '.join(sorted(unknown))}")
    for name in options.tables or TABLES:
        began = time.perf_counter()
        print(f"\n## {name}\n")
        TABLES[name](options.scale, options.jobs)
        print(f"\n{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
