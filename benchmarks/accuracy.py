"""How accurate `infer` is with its defaults, on public recordings and on simulated systems with known links.

    python benchmarks/accuracy.py [--data FOLDER] [--jobs N] [--only NAME ...]
    python benchmarks/accuracy.py --scaling     nearest neighbours on z-scores and on normal scores, side by side

Prints a table: F1 with true / false / missed links added up over the files of a set, share of right lags where they are
known, and CPU seconds. Cycles are allowed. The public sets are read from FOLDER (by default ../shared/data beside the
project) and left out where they are not there.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from joblib import Parallel, delayed

import enmesh as em

SHARED = Path(__file__).parents[2] / "shared" / "data"
STRUCTURES = {"chain": "a>b>c", "fork": "a>b, a>c", "collider": "a>c, b>c", "diamond": "a>b, a>c, b>d, c>d"}


class Case(NamedTuple):
    """One series and its links ``{(source, target): lags or None}``, by position."""

    set: str
    series: em.Series
    links: dict
    options: dict


def matrix(path: Path) -> np.ndarray:
    return np.loadtxt(path, delimiter=",", skiprows=1, usecols=None, dtype=str)[:, 1:].astype(int)


def links_of(truth: np.ndarray) -> dict:
    return {(int(i), int(j)): None for i, j in np.argwhere(truth)}


def public(folder: Path) -> Iterator[Case]:
    """Yield the public recordings with known links."""
    for name in ("fork", "v_structure"):
        values = np.load(folder / "assaad_structures" / f"{name}.npz")["X"]
        truth = links_of(matrix(folder / "assaad_structures" / f"{name}_truth.csv"))
        for n in (1000, 250):
            for one in values:
                yield Case(f"{name}, T = {n}", em.Series(one[:n]), truth, {})
    for n in (1000, 250):
        truth = links_of(matrix(folder / "lorenz96_f10" / "truth.csv"))
        for one in np.load(folder / "lorenz96_f10" / f"F10_T{n}.npz")["X"][:3]:
            yield Case(f"Lorenz-96 F = 10, T = {n}", em.Series(one), truth, {})
    for n in (1000, 500):
        for i in (1, 2, 3):
            base = folder / "var3_sparse" / f"T{n}_d{i}"
            series = em.read(base.with_suffix(".csv"))
            yield Case(f"sparse VAR(3), T = {n}", series, links_of(matrix(Path(f"{base}_truth.csv"))), {})
    trials = np.load(folder / "trentool_lorenz2" / "lorenz2.npz")["X"]
    for draw in range(3):
        chosen = np.random.default_rng(draw).choice(len(trials), 8, replace=False)
        series = em.Series([trials[k] for k in chosen], names=["A", "B"])
        yield Case("two Lorenz systems, 8 trials", series, {(0, 1): (45,)}, {"max_lag": 50})
    furnace = em.read(folder / "gas_furnace" / "gas_furnace.csv")
    yield Case("gas furnace", furnace, {(0, 1): None}, {})


def simulated(seeds: int = 10) -> Iterator[Case]:
    """Yield systems with known links and lags."""
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 7])
        names = [f"x{i}" for i in range(10)]
        graph = {name: [] for name in names}
        for target in range(1, 10):
            for source in rng.choice(target, min(target, int(rng.integers(1, 3))), replace=False):
                graph[names[target]].append(names[source])
        lags = {(s, t): int(rng.integers(1, 6)) for t, parents in graph.items() for s in parents}
        yield known("VAR, 10 nodes, lags 1 to 5", em.simulate.var(graph, n=1000, seed=seed, lags=lags))
    for seed in range(seeds):
        rng = np.random.default_rng([seed, 8])
        graph = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}
        lags = {(s, t): int(rng.integers(1, 5)) for t, parents in graph.items() for s in parents}
        series = em.simulate.coupled_map(graph, n=1000, noise=0.05, seed=seed, lags=lags)
        yield known("logistic maps, 5 nodes, lags 1 to 4", series)
    for seed in range(seeds):
        graph = {"a": [], "b": ["a"], "c": ["a"], "d": ["b", "c"], "e": ["d"]}
        yield known("logistic maps, 5 nodes, lag 1", em.simulate.coupled_map(graph, n=1000, noise=0.01, seed=seed))
    for dt in (0.2, 0.05):
        for name, graph in STRUCTURES.items():
            for seed in range(9 if dt == 0.2 else 4):
                yield flow(graph, 1000, dt, seed, f"flows: {name}, step {dt}")


def flow(graph: str, n: int, dt: float, seed: int, name: str = "flows") -> Case:
    """Simulate Lorenz and Rössler systems in turn, of which one coordinate is seen."""
    system = {node: ("lorenz", "rossler")[i % 2] for i, node in enumerate(sorted(set(graph) & set("abcd")))}
    series = em.simulate.coupled_flow(graph, n=n, system=system, coupling=1.5, dt=dt, seed=seed)
    return known(name, series, lags=False)


def known(name: str, series: em.Series, lags: bool = True) -> Case:
    place = {node: i for i, node in enumerate(series.names)}
    links = {
        (place[s], place[t]): series.truth_lags[s, t] if lags else None
        for t, parents in series.truth.items()
        for s in parents
    }
    return Case(name, series, links, {})


def judged(case: Case, estimator: em.KSG | None = None) -> dict:
    """Infer one case; return counts of true, false and missed links, right lags, links with known lags, CPU time.

    The estimator is that of the defaults unless one is given.
    """
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        network = em.infer(case.series, acyclic=False, estimator=estimator, **case.options)
    spent = time.process_time() - began
    names = case.series.names
    lags = {(c.source, c.target): c.lag for c in network.candidates if c.selected}
    found = {(names.index(s), names.index(t)) for s, t in network}
    true = found & case.links.keys()
    timed = [edge for edge in true if case.links[edge]]
    right = sum(
        abs(lags[names[s], names[t]] - case.links[s, t][0]) <= (2 if case.links[s, t][0] > 20 else 0) for s, t in timed
    )
    return {
        "set": case.set,
        "counts": (len(true), len(found) - len(true), len(case.links) - len(true)),
        "lags": (right, len(timed)),
        "seconds": spent,
    }


def f1(true: int, false: int, missed: int) -> float:
    return 2 * true / max(1, 2 * true + false + missed)


def all_judged(asked: list[tuple[Case, em.KSG | None]], jobs: int) -> list[dict]:
    """Judge cases side by side, and say how far it is."""
    found = []
    for row in Parallel(n_jobs=jobs, batch_size=1, return_as="generator")(delayed(judged)(*one) for one in asked):
        found.append(row)
        print(f"\r{len(found)} of {len(asked)} recordings", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    return found


def default_table(cases: list[Case], jobs: int) -> Iterator[str]:
    """Judge the defaults."""
    results = all_judged([(case, None) for case in cases], jobs)
    yield "| set | files | F1 | true / false / missed | right lags | CPU s a file |"
    yield "|---|---|---|---|---|---|"
    for name in dict.fromkeys(case.set for case in cases):
        rows = [row for row in results if row["set"] == name]
        counts = np.sum([row["counts"] for row in rows], axis=0)
        right, timed = np.sum([row["lags"] for row in rows], axis=0)
        seconds = np.mean([row["seconds"] for row in rows])
        lags = f"{right} of {timed}" if timed else ""
        found = in_words(counts).replace(", ", " | ")
        yield f"| {name} | {len(rows)} | {found} | {lags} | {seconds:.1f} |"


SCALINGS = tuple(
    em.KSG(normalise=scaling, residual=residual) for residual in ("none", "quadratic") for scaling in ("zscore", "rank")
)


def scaling_table(cases: list[Case], jobs: int) -> Iterator[str]:
    """Judge nearest neighbours with either scaling, without residuals and with them."""
    asked = [(case, estimator) for case in cases for estimator in SCALINGS]
    results = all_judged(asked, jobs)
    yield "| F1, true / false / missed | files | z-scores | ranks | z-scores, residuals | ranks, residuals |"
    yield "|---|---|---|---|---|---|"
    for name in dict.fromkeys(case.set for case in cases):
        cells = []
        for estimator in SCALINGS:
            rows = [row for (case, how), row in zip(asked, results) if case.set == name and how is estimator]
            cells.append(in_words(np.sum([row["counts"] for row in rows], axis=0)))
        yield f"| {name} | {len(rows)} | {' | '.join(cells)} |"


def in_words(counts: np.ndarray) -> str:
    return f"{f1(*counts):.2f}, {' / '.join(map(str, counts))}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path, default=SHARED)
    parser.add_argument("--jobs", type=int, default=-1)
    parser.add_argument("--only", nargs="*", help="names of sets, or the beginnings of names")
    parser.add_argument("--skip", nargs="*", default=[], help="beginnings of names that are left out")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--scaling", action="store_true", help="compare z-scores with normal scores")
    options = parser.parse_args()
    cases = [*(public(options.data) if options.data.is_dir() else ()), *simulated(options.seeds)]
    if options.only:
        cases = [case for case in cases if case.set.startswith(tuple(options.only))]
    cases = [case for case in cases if not case.set.startswith(tuple(options.skip))]
    cases.sort(key=lambda case: -case.series.values.size * case.options.get("max_lag", 5))  # long ones first
    table = scaling_table if options.scaling else default_table
    for line in table(cases, options.jobs):
        print(line, flush=True)


if __name__ == "__main__":
    main()
