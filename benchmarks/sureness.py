"""How sure is sure? Simulates stability, coverage, comparisons, groups and windows: a table of what was to be shown.

    python benchmarks/sureness.py --jobs 16                       # everything; about 8 minutes on 16 cores
    python benchmarks/sureness.py --only group windows --scale 0.1

``--scale`` is the share of the repetitions: 1 is 200 draws of each case (stability: 5 seeds of 30 networks). Every
repetition has its own seed; results do not depend on the number of workers.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed

import enmesh as em
from enmesh.inference.store import runs
from enmesh.inference.work import single_thread
from enmesh.sureness.stability import frequency_of, half_network
from enmesh.sureness.units import units_of

FIRST_SEED = 0
SCORE = em.TEA(embedding=em.Embedding())
FIVE = "a>b, b>c, c>d, a>e"
TEN = "a>b, b>c, c>d, d>e, a>f, f>g, g>h, c>i, i>j"


def maps(n, seed, graph="a>b", **rest):
    return em.simulate.coupled_map(graph, n=n, seed=seed, **({"coupling": 0.2, "noise": 0.05} | rest))


Line = tuple[str, str, str, bool]
"""What was simulated, what it must show, what was measured, and whether it holds."""


def seeds(count: int) -> range:
    """Return so many seeds, from ``--first-seed`` on."""
    return range(FIRST_SEED, FIRST_SEED + count)


def repeated(function: Callable, jobs: int, arguments: Iterable) -> list:
    """Return function(argument) for each, or function(*argument) where it is a tuple, in order."""
    given = [one if isinstance(one, tuple) else (one,) for one in arguments]
    return Parallel(jobs, batch_size=1)(delayed(_quietly)(function, *one) for one in given)


def _quietly(function, *given):
    with warnings.catch_warnings(), single_thread():
        warnings.simplefilter("ignore", em.HazardWarning)
        return function(*given)


# --- stability --------------------------------------------------------------------------------------------------------

STABLE = {
    "five logistic maps, n = 1000, defaults": (lambda s: maps(1000, s, FIVE, coupling=0.3, noise=0.01), {}),
    "ten-node VAR, n = 1000, defaults": (lambda s: em.simulate.var(TEN, n=1000, seed=s), {}),
    "ten-node VAR, n = 1000, linear at lag 1": (lambda s: em.simulate.var(TEN, n=1000, seed=s), {"score": SCORE}),
}


def links_of_half(name: str, seed: int, i: int) -> list:
    """Return the links of the i-th network of a system."""
    make, options = STABLE[name]
    return half_network(units_of(make(seed), None, options), seed, i, options)


def shares(name: str, seed: int, networks: list) -> tuple[np.ndarray, np.ndarray]:
    """Return the stability of true links and of absent ones."""
    series = STABLE[name][0](seed)
    found = frequency_of(series.names, networks).to_numpy()
    true = np.array([[i in series.truth[j] for j in series.names] for i in series.names])
    return found[true], found[~true & ~np.eye(len(true), dtype=bool)]


def stability(scale: float, jobs: int) -> Iterator[Line]:
    count, several = max(4, 2 * round(15 * scale)), seeds(max(1, round(5 * scale)))
    asked = [(name, seed, i) for name in STABLE for seed in several for i in range(count)]
    networks = dict(zip(asked, repeated(links_of_half, jobs, asked)))
    for name in STABLE:
        runs = [[networks[name, seed, i] for i in range(count)] for seed in several]
        true, absent = map(np.stack, zip(*(shares(name, seed, run) for seed, run in zip(several, runs))))
        least, most = true.min(), absent.max()
        said = (
            f"least {least:.2f}; most {most:.2f} in one seed, {absent.mean(0).max():.2f} as a mean of seeds, "
            f"{absent.mean():.4f} on average ({len(several)} seeds x {count // 2} cuts)"
        )
        yield f"stability: {name}", "true > .9, absent < .1", said, bool(least > 0.9 and most < 0.1)
    same = resumed_is_the_same()
    yield "stability: killed in the middle and resumed", "the same numbers", "same" if same else "not", same


KILLED = """
import sys, enmesh as em
series = em.simulate.var("a>b, b>c", n=300, coupling=0.2, seed=1)
em.stability(series, n=400, score=em.TEA(embedding=em.Embedding()), store=sys.argv[1])
"""


def resumed_is_the_same() -> bool:
    """Kill a process in the middle of its networks, go on from its file, and compare with a run in one go."""
    series = em.simulate.var("a>b, b>c", n=300, coupling=0.2, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "boot.db"
        process = subprocess.Popen([sys.executable, "-c", KILLED, str(store)])
        while process.poll() is None and _kept(store) < 10:
            time.sleep(0.01)
        stopped = process.poll() is None
        process.kill()
        process.wait()
        kept = _kept(store)
        resumed = em.stability(series, n=400, score=SCORE, store=store)
    whole = em.stability(series, n=400, score=SCORE)
    return stopped and 10 <= kept < 400 and resumed.frequency.equals(whole.frequency)


def _kept(store: Path) -> int:
    return sum(run["answers"] for run in runs(store)) if store.exists() and store.stat().st_size else 0


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


def coverage(scale: float, jobs: int) -> Iterator[Line]:
    draws = max(10, round(200 * scale))
    cases = [(name, estimator) for estimator in (em.Gaussian(), em.KSG()) for name in COVERED]
    truths = repeated(truth_of, jobs, cases)
    asked = [(*case, truth, seed) for case, truth in zip(cases, truths) for seed in seeds(draws)]
    held = np.reshape(repeated(covered, jobs, asked), (len(cases), draws)).mean(1)
    for (name, estimator), truth, share in zip(cases, truths, held):
        said = f"{share:.3f} of {draws} (truth {truth:.4f} nats)"
        what = f"coverage of 90 % intervals: {type(estimator).__name__}, {name}, N = 500"
        yield what, ".85 to .95", said, bool(0.85 <= share <= 0.95)


# --- comparison -------------------------------------------------------------------------------------------------------

COEFFICIENTS = np.diag([0.5] * 5)
for source, target in ((0, 1), (1, 2), (2, 3), (0, 4)):
    COEFFICIENTS[target, source] = 0.5


def recording(halved: bool, n: int, seed: int) -> em.Series:
    matrix = COEFFICIENTS.copy()
    matrix[3, 2] *= 0.5 if halved else 1.0  # c > d: nothing is downstream of d, so nothing else changes
    return em.simulate.var(coefficients=matrix, n=n, seed=seed, names=list("abcde"))


def no_difference(seed: int, n: int = 1000, count: int = 499) -> bool:
    """Whether anything is found between two recordings of the same system."""
    pair = recording(False, n, 2 * seed), recording(False, n, 2 * seed + 1)
    return bool((em.compare(*pair, count, seed, score=SCORE).q_value.to_numpy() <= 0.05).any())


def halved(seed: int, n: int = 1000, count: int = 499) -> tuple[bool, bool]:
    """Whether the halved link c > d is found to have fallen, and whether anything else is found."""
    found = em.compare(recording(False, n, 2 * seed), recording(True, n, 2 * seed + 1), count, seed, score=SCORE)
    sure = found.q_value.to_numpy() <= 0.05
    return bool(sure[2, 3] and found.difference.loc["c", "d"] < 0), bool(sure.sum() > sure[2, 3])


def no_difference_of_subjects(seed: int, paired: bool) -> bool:
    sides = [[recording(False, 200, 100 * seed + 50 * side + s) for s in range(10)] for side in (0, 1)]
    return bool((em.compare(*sides, 499, seed, paired=paired, score=SCORE).q_value.to_numpy() <= 0.05).any())


def comparison(scale: float, jobs: int) -> Iterator[Line]:
    draws = max(10, round(200 * scale))
    kinds: dict[str, Callable] = {
        "recordings of 1000 samples": no_difference,
        "10 and 10 subjects of 200 samples": partial(no_difference_of_subjects, paired=False),
        "10 pairs of 200 samples": partial(no_difference_of_subjects, paired=True),
    }
    for kind, ask in kinds.items():
        share = np.mean(repeated(ask, jobs, seeds(draws)))
        yield (f"no difference, {kind}: any q up to .05", "at most .05", f"{share:.3f} of {draws}", bool(share <= 0.05))
    place, others = np.mean(repeated(halved, jobs, seeds(draws)), axis=0)
    yield "one link halved: found, and fell", "at least .9", f"{place:.3f} of {draws}", bool(place >= 0.9)
    yield "one link halved: anything else found", "", f"{others:.3f} of {draws}", True


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


def group(scale: float, jobs: int) -> Iterator[Line]:
    draws = max(5, round(100 * scale))
    f1, second, alone, false = np.mean(repeated(group_scores, jobs, seeds(draws)), axis=0)
    who = "20 subjects of 200 samples, links of .15"
    yield f"{who}: F1 of the group's network", "at least .95", f"{f1:.3f} of {draws}", bool(f1 >= 0.95)
    yield f"{who}: F1 of the test across subjects", "", f"{second:.3f} of {draws}", True
    said = f"{alone:.3f} (absent links {false:.3f})"
    yield f"{who}: share who show a true link alone", "under .5", said, bool(alone < 0.5)


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


def windows(scale: float, jobs: int) -> Iterator[Line]:
    draws = max(5, round(100 * scale))
    kinds = {"one recording of 2000 samples, windows of 250": False, "30 trials of 120 samples, windows of 20": True}
    for kind, trials in kinds.items():
        found = repeated(partial(right_windows, trials=trials), jobs, seeds(draws))
        after, before, absent = np.mean(found, axis=0)
        said = f"on {after:.3f} after, {before:.3f} before; absent links {absent:.4f} of {draws}"
        held = bool(after > 0.9 and before < 0.05 and absent < 0.05)
        yield f"a link that switches on halfway: {kind}", "on after only", said, held


TABLES = {f.__name__: f for f in (stability, coverage, comparison, group, windows)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=TABLES, default=list(TABLES), metavar="TABLE")
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--first-seed", type=int, default=0)
    options = parser.parse_args()
    globals()["FIRST_SEED"] = options.first_seed
    print("| what | must show | measured | held |\n|---|---|---|---|", flush=True)
    for name in options.only:
        began = time.perf_counter()
        for what, wanted, measured, held in TABLES[name](options.scale, options.jobs):
            print(f"| {what} | {wanted} | {measured} | {'yes' if held else 'NO'} |", flush=True)
        print(f"{name}: {time.perf_counter() - began:.0f} s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
