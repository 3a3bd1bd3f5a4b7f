"""How well a run foretells its end: the time left that it says, beside the time that was left.

    python benchmarks/progress.py [--half tuned|aside] [--only WORD] [--cpu] [--phases]

Every whole run is looked at in steps of a hundredth of its time, from a tenth to 95 % of it. What it said last is met
if it is within a factor of 1.5 of the truth, or within a second. Constants of the forecast may be looked for among the
tuned cases alone; those set aside differ from them in size, seed and number of links. With --cpu time is that of the
processor, for machines that others use as well; with --phases each run's work, seconds and pace by phase follow.
"""

import argparse
import time
import warnings
from typing import NamedTuple

import numpy as np

import enmesh as em
from enmesh.inference import progress as watched
from profile_infer import lorenz96

FACTOR, GRACE = 1.5, 1.0
STEPS = np.arange(0.10, 0.951, 0.01)


def random_graph(nodes, links, seed):
    """Return a graph without cycles, with so many links drawn at random; nodes are in any order."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(nodes)
    pairs = [(order[j], order[i]) for i in range(nodes) for j in range(i)]
    graph = {f"n{i}": [] for i in range(nodes)}
    for at in rng.permutation(len(pairs))[:links]:
        source, target = pairs[at]
        graph[f"n{target}"].append(f"n{source}")
    return graph


def maps(nodes, links, samples, seed):
    graph = random_graph(nodes, links, seed)
    return em.simulate.coupled_map(graph, n=samples, coupling=0.3, noise=0.001, seed=seed)


def var(nodes, links, samples, seed):
    return em.simulate.var(random_graph(nodes, links, seed), n=samples, seed=seed)


def flow(nodes, links, samples, seed):
    return em.simulate.coupled_flow(random_graph(nodes, links, seed), n=samples, seed=seed)


def at_lag_1(**more):
    return {"score": em.TEE(estimator=em.KSG(), embedding=em.Embedding()), **more}


def embedded(**more):
    return {"score": em.TEE(estimator=em.KSG(), embedding=em.Embedding(dim=2)), "search": em.Exact(), **more}


def linear(**more):
    return {"score": em.TEA(estimator=em.Gaussian(), embedding=em.Embedding()), **more}


def lags(most, **more):
    return {"estimator": "ksg", "max_lag": most, **more}


TWO = {"n_jobs": 2}
# Name, data, options of infer.
TUNED = [
    ("5 maps, 5 links, N = 1,000, defaults", lambda: maps(5, 5, 1000, 0), {}),
    ("8 maps, 6 links, N = 600, defaults, 2 jobs", lambda: maps(8, 6, 600, 1), TWO),
    ("5 maps, 4 links, N = 1,000, KSG, lags to 5", lambda: maps(5, 4, 1000, 2), lags(5)),
    ("Lorenz-96, 10 nodes, N = 400, defaults", lambda: lorenz96(10, 400), {"acyclic": False}),
    ("Lorenz-96, 8 nodes, N = 600, KSG at lag 1", lambda: lorenz96(8, 600), at_lag_1(acyclic=False)),
    ("VAR, 12 nodes, 15 links, N = 800, defaults", lambda: var(12, 15, 800, 0), {}),
    ("VAR, 30 nodes, 30 links, N = 300, KSG at lag 1", lambda: var(30, 30, 300, 1), at_lag_1()),
    ("20 maps, 25 links, N = 500, KSG at lag 1", lambda: maps(20, 25, 500, 0), at_lag_1()),
    ("3 flows, 2 links, N = 600, defaults", lambda: flow(3, 2, 600, 0), {}),
    ("6 maps, 7 links, N = 1,500, KSG dim 2", lambda: maps(6, 7, 1500, 3), embedded()),
    ("8 VAR nodes, 8 links, N = 800, KSG dim 2, 2 jobs", lambda: var(8, 8, 800, 4), embedded(**TWO)),
    ("VAR, 30 nodes, 30 links, N = 1,000, linear", lambda: var(30, 30, 1000, 0), linear(max_parents=3)),
    ("VAR, 60 nodes, 60 links, N = 1,000, defaults", lambda: var(60, 60, 1000, 0), {"max_parents": 3}),
]
ASIDE = [
    ("5 maps, 8 links, N = 600, defaults, 2 jobs", lambda: maps(5, 8, 600, 5), TWO),
    ("7 maps, 4 links, N = 1,500, defaults", lambda: maps(7, 4, 1500, 6), {}),
    ("6 maps, 9 links, N = 700, KSG, lags to 3", lambda: maps(6, 9, 700, 7), lags(3)),
    ("Lorenz-96, 7 nodes, N = 700, defaults", lambda: lorenz96(7, 700), {}),
    ("Lorenz-96, 12 nodes, N = 400, KSG at lag 1", lambda: lorenz96(12, 400), at_lag_1(acyclic=False)),
    ("VAR, 9 nodes, 6 links, N = 1,500, defaults", lambda: var(9, 6, 1500, 8), {}),
    ("VAR, 20 nodes, 60 links, N = 500, KSG at lag 1", lambda: var(20, 60, 500, 9), at_lag_1()),
    ("15 maps, 10 links, N = 900, KSG at lag 1, 2 jobs", lambda: maps(15, 10, 900, 10), at_lag_1(**TWO)),
    ("4 flows, 4 links, N = 800, defaults", lambda: flow(4, 4, 800, 11), {}),
    ("4 maps, 3 links, N = 2,000, KSG dim 2", lambda: maps(4, 3, 2000, 12), embedded()),
    ("7 VAR nodes, 12 links, N = 500, KSG dim 2", lambda: var(7, 12, 500, 13), embedded()),
    (
        "VAR, 20 nodes, 40 links, N = 700, linear, 2 jobs",
        lambda: var(20, 40, 700, 14),
        linear(max_parents=4, **TWO),
    ),
    ("VAR, 80 nodes, 120 links, N = 2,000, defaults", lambda: var(80, 120, 2000, 15), {"max_parents": 3}),
]


class Told(NamedTuple):
    """What a run said: when, and how much would be left; how long it took; its work and seconds by phase."""

    at: np.ndarray
    left: np.ndarray
    seconds: float
    phases: list[tuple[str, float, float]]


def listen(series, options, clock):
    """Run an inference and note everything that it says of its time left."""
    said, runs = [], []
    tell, options = watched.RunProgress._tell, dict(options)

    def noted(self, *words):
        said.append((clock(), np.nan if self.left is None else self.left))
        runs[:] = [self]
        tell(self, *words)

    watched.RunProgress._tell = noted
    began = clock()
    try:
        em.infer(series, **options)
    finally:
        watched.RunProgress._tell = tell
    seconds = clock() - began
    at, left = np.array(said).T
    phases = [(p.name, p.done, p.seconds) for p in runs[0]._phases.values()]
    return Told(at - began, left, seconds, phases)


class Verdict(NamedTuple):
    """Share of the time in which what was said is met, the worst factor, and the longest silence."""

    met: float
    worst: float
    silence: float


def judge(told):
    """Look at what was said last, at every hundredth of the run."""
    times = STEPS * told.seconds
    last = np.searchsorted(told.at, times, side="right") - 1
    said = np.where(last >= 0, told.left[np.maximum(last, 0)], np.nan)
    left = told.seconds - times
    factor = np.maximum(said / left, left / np.maximum(said, 1e-9))
    good = (np.abs(said - left) <= GRACE) | (factor <= FACTOR)
    far = np.where(np.abs(said - left) <= GRACE, 1.0, np.where(np.isnan(factor), np.inf, factor))
    silence = np.diff(np.concatenate([[0.0], told.at, [told.seconds]])).max() / told.seconds
    return Verdict(float(good.mean()), float(far.max()), float(silence))


def print_half(title, cases, options):
    print(
        f"\n| {title} | seconds | met | worst factor | updates | longest silence |\n|---|---|---|---|---|---|"
    )
    shares = []
    for name, series, given in cases:
        if options.only and options.only not in name:
            continue
        told = listen(series(), given, time.process_time if options.cpu else time.monotonic)
        found = judge(told)
        shares.append(found.met)
        print(
            f"| {name} | {told.seconds:.1f} | {found.met:.0%} | {found.worst:.2g} | {len(told.at)} "
            f"| {found.silence:.0%} |",
            flush=True,
        )
        for phase, work, seconds in told.phases if options.phases else ():
            pace = 1e6 * seconds / work if work else 0.0
            print(f"    {phase}: {seconds:.2f} s, work {work:.0f}, {pace:.3g} s for a million")
    if shares:
        print(f"| all | | {np.mean(shares):.0%} | | | |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--half", choices=("tuned", "aside"))
    parser.add_argument("--only", help="cases whose names have this in them")
    parser.add_argument("--cpu", action="store_true")
    parser.add_argument("--phases", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    em.infer(maps(3, 2, 300, 0), estimator="ksg", max_lag=2)  # loads compiled code
    if options.cpu:
        watched.RunProgress.__init__.__kwdefaults__["clock"] = time.process_time
    for half, cases in (("tuned", TUNED), ("aside", ASIDE)):
        if options.half in (None, half):
            print_half(half, cases, options)


if __name__ == "__main__":
    main()
