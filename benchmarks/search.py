"""How large a problem `Exact` proves, and how often each heuristic finds the optimum.

    python benchmarks/search.py               sizes and times of proven optima
    python benchmarks/search.py --hit-rates   hits of every heuristic on 100 random tables

Tables are drawn by `enmesh.search.random_tables.RandomTable`; in all of them the best parents of
each node alone make cycles.
"""

import argparse
import time

from enmesh.search import RPDAG, BasinFlooding, Exact, HillClimb, Problem, Tabu
from random_tables import RandomTable

SIZES = [
    RandomTable(n_nodes=10, max_parents=9),
    RandomTable(n_nodes=14, max_parents=4),
    RandomTable(n_nodes=18, max_parents=4),
    RandomTable(n_nodes=18, max_parents=4, noise=1.0),
    RandomTable(n_nodes=30, max_parents=3, candidates=10),
    RandomTable(n_nodes=40, max_parents=3, candidates=8),
    RandomTable(n_nodes=40, max_parents=3, candidates=10),
    RandomTable(n_nodes=40, max_parents=3, candidates=12),
    RandomTable(n_nodes=40, max_parents=3, candidates=12, noise=1.0),
    RandomTable(n_nodes=60, max_parents=3, candidates=8),
]
HEURISTICS = [HillClimb(restarts=0), HillClimb(), Tabu(restarts=0), Tabu(), BasinFlooding(), RPDAG(restarts=0), RPDAG()]
LIMIT = 120.0


def problem_of(table: RandomTable) -> Problem:
    return Problem(n_nodes=table.n_nodes, max_parents=table.max_parents, candidates=table.sources())


def sizes() -> None:
    heads = ["nodes", "parents up to", "candidates", "noise", "families"]
    heads += ["edges", "gap", "proven", "seconds"]
    print("|", " | ".join(heads), "|")
    print("|---" * len(heads) + "|")
    for table in SIZES:
        scores, problem = table.draw(), problem_of(table)
        start = time.perf_counter()
        found = Exact(time_limit=LIMIT).run(scores, problem)
        seconds = time.perf_counter() - start
        cells = [table.n_nodes, table.max_parents, table.candidates or "all", table.noise, found.evaluated]
        cells += [sum(map(len, found.parents)), f"{found.gap:.3f}", "yes" if found.optimal else "no", f"{seconds:.1f}"]
        print("|", " | ".join(map(str, cells)), "|", flush=True)


def hit_rates(count: int) -> None:
    tables = [RandomTable(n_nodes=8, max_parents=3, seed=seed) for seed in range(count)]
    optima = [Exact().run(table.draw(), problem_of(table)) for table in tables]
    assert all(best.optimal and best.gap > 0 for best in optima)
    print("| search | optimum found | families evaluated, mean | seconds, mean |")
    print("|---|---|---|---|")
    for search in HEURISTICS:
        start = time.perf_counter()
        runs = [search.run(table.draw(), problem_of(table)) for table in tables]
        seconds = (time.perf_counter() - start) / count
        hits = sum(run.parents == best.parents for run, best in zip(runs, optima))
        families = sum(run.evaluated for run in runs) / count
        print(f"| `{search!r}` | {hits} of {count} | {families:.0f} | {seconds:.2f} |", flush=True)


if __name__ == "__main__":
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--hit-rates", action="store_true", help="compare the heuristics")
    arguments.add_argument("--tables", type=int, default=100, help="number of random tables (default 100)")
    given = arguments.parse_args()
    hit_rates(given.tables) if given.hit_rates else sizes()
