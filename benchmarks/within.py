"""Effects within one sample: who orients them, and how many lagged links are false without that.

    python benchmarks/within.py networks --method enmesh --seeds 0:12 --out enmesh.csv
    python benchmarks/within.py networks --method pcmci+ --seeds 0:12 --out pcmci.csv       # needs tigramite
    python benchmarks/within.py networks --method var-lingam --seeds 0:12 --out lingam.csv  # needs lingam
    python benchmarks/within.py table enmesh.csv pcmci.csv lingam.csv
    python benchmarks/within.py null --seeds 0:40
    python benchmarks/within.py calm --seeds 0:40
    python benchmarks/within.py warned --seeds 0:3
    python benchmarks/within.py hidden --seeds 0:10
    python benchmarks/within.py robust --seeds 0:40
    python benchmarks/within.py regimes --seeds 0:20

`networks` needs numpy and the package of the method alone, so that packages which need other versions run elsewhere.
200 seeds are what the documentation asks for: `--seeds 0:200`.
"""

import argparse
import csv
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

KINDS = ("linear, Gaussian", "linear, not Gaussian", "nonlinear, Gaussian", "nonlinear, not Gaussian")
SHAPES = (
    lambda v: v,
    lambda v: np.tanh(2 * v),
    lambda v: 0.7 * v * (1 + 1.5 * np.exp(-v * v)),
    lambda v: 1.2 * np.sin(1.5 * v),
)
LAGS = 3
LEVEL = 0.01
Pair = tuple[int, int]


def network(seed: int, n: int = 1000) -> tuple[np.ndarray, dict[Pair, int], set[Pair]]:
    """Return a recording of 6 to 12 nodes, its lagged links with their lags, and its links within one sample.

    The kind is `KINDS[seed % 4]`. Each node has memory of .3 to .7; there are as many lagged links as nodes, at lags 1
    to 3, with weights of .25 to .5, and .7 times as many within one sample, with weights of .3 to .6.
    """
    rng = np.random.default_rng([47, seed])
    nodes, bent, odd = int(rng.integers(6, 13)), seed % 4 > 1, seed % 2 == 1
    order, own = rng.permutation(nodes), rng.uniform(0.3, 0.7, nodes)
    lagged: dict[Pair, tuple[int, float, Any]] = {}
    now: dict[Pair, tuple[float, Any]] = {}

    def weight(low: float, high: float) -> tuple[float, Any]:
        return rng.uniform(low, high) * rng.choice([-1, 1]), SHAPES[int(rng.integers(1, 4)) if bent else 0]

    for _ in range(nodes):
        a, b = map(int, rng.choice(nodes, 2, replace=False))
        lagged[a, b] = (int(rng.integers(1, LAGS + 1)), *weight(0.25, 0.5))
    for _ in range(max(3, int(0.7 * nodes))):
        a, b = sorted(rng.choice(nodes, 2, replace=False))
        now[int(order[a]), int(order[b])] = weight(0.3, 0.6)
    noise = rng.normal(size=(n + 200, nodes))
    if odd:
        for i, kind in enumerate(rng.integers(3, size=nodes)):
            noise[:, i] = (
                rng.laplace(size=len(noise)) / 2**0.5,
                rng.uniform(-(3**0.5), 3**0.5, len(noise)),
                rng.exponential(size=len(noise)) - 1,
            )[kind]
    x = np.zeros_like(noise)
    for t in range(LAGS, len(x)):
        for i in order:
            x[t, i] = own[i] * x[t - 1, i] + noise[t, i]
            x[t, i] += sum(w * f(x[t - lag, a]) for (a, b), (lag, w, f) in lagged.items() if b == i)
            x[t, i] += sum(w * f(x[t, a]) for (a, b), (w, f) in now.items() if b == i)
        if np.abs(x[t]).max() > 50:  # unstable: another one
            return network(seed + 10000 * 4, n)
    return x[200:], {pair: one[0] for pair, one in lagged.items()}, {*now}


class Answer(tuple):
    """Pairs within one sample, those that are oriented, and lagged links: with and without within-sample edges."""


def by_enmesh(x: np.ndarray) -> tuple[set[frozenset[int]], set[Pair], set[Pair], set[Pair]]:
    import enmesh as em

    series = em.Series(x)
    place = {name: i for i, name in enumerate(series.names)}

    def lagged(net: Any) -> set[Pair]:
        rows = net.edges.itertuples()
        return {(place[r.source], place[r.target]) for r in rows if max(r.lags) > 0}

    plain = em.infer(series, progress=False)
    net = em.infer(series, within_sample=True, progress=False)
    near, arrows = set(), set()
    for row in net.within.itertuples():
        a, b = place[row.a], place[row.b]
        near.add(frozenset((a, b)))
        arrows |= {(a, b)} if row.mark == "-->" else {(b, a)} if row.mark == "<--" else set()
    return near, arrows, lagged(net), lagged(plain)


def by_pcmci(x: np.ndarray) -> tuple[set[frozenset[int]], set[Pair], set[Pair], set[Pair]]:
    from tigramite import data_processing
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    frame = data_processing.DataFrame(x)
    graph = PCMCI(dataframe=frame, cond_ind_test=ParCorr()).run_pcmciplus(tau_max=LAGS, pc_alpha=LEVEL)[
        "graph"
    ]
    nodes = x.shape[1]
    near = {frozenset((i, j)) for i in range(nodes) for j in range(i) if graph[i, j, 0]}
    arrows = {(i, j) for i in range(nodes) for j in range(nodes) if graph[i, j, 0] == "-->"}
    lagged = {
        (i, j)
        for i in range(nodes)
        for j in range(nodes)
        if i != j and any(graph[i, j, k] for k in range(1, LAGS + 1))
    }
    return near, arrows, lagged, lagged


def by_lingam(x: np.ndarray) -> tuple[set[frozenset[int]], set[Pair], set[Pair], set[Pair]]:
    import lingam

    model = lingam.VARLiNGAM(lags=LAGS, prune=True, random_state=0)
    model.fit(x)
    first, *rest = model.adjacency_matrices_
    arrows = {(int(j), int(i)) for i, j in np.argwhere(first != 0)}
    lagged = {(int(j), int(i)) for one in rest for i, j in np.argwhere(one != 0) if i != j}
    return {frozenset(pair) for pair in arrows}, arrows, lagged, lagged


METHODS = {"enmesh": by_enmesh, "pcmci+": by_pcmci, "var-lingam": by_lingam}
COUNTS = ("near", "near_false", "near_missed", "arrows", "arrows_false", "arrows_missed")
COUNTS += ("lagged", "lagged_false", "plain", "plain_false", "links")


def networks(method: str, seeds: range, out: Path | None, n: int) -> None:
    """Print a row of counts for every network, and write them."""
    file = out.open("a", newline="") if out else sys.stdout
    rows = csv.writer(file)
    for seed in seeds:
        x, lagged, now = network(seed, n)
        began = time.process_time()
        near, arrows, found, plain = METHODS[method](x)
        truth, links = {frozenset(pair) for pair in now}, {*lagged}
        counts = [len(near & truth), len(near - truth), len(truth - near)]
        counts += [len(arrows & now), len(arrows - now), len(now - arrows)]
        counts += [len(found & links), len(found - links), len(plain & links), len(plain - links), len(links)]
        rows.writerow([method, seed, KINDS[seed % 4], *counts, round(time.process_time() - began, 2)])
        file.flush()


def f1(true: float, false: float, missed: float) -> float:
    return 2 * true / max(2 * true + false + missed, 1)


def table(files: list[Path]) -> None:
    """Print F1 of the skeleton and of directions, and false lagged links, for each kind and method."""
    rows = [row for file in files for row in csv.reader(file.open())]
    print("kind, method, networks, skeleton F1, orientation F1, false lagged links (without), CPU s each")
    halves = {
        "all": "",
        "Gaussian half": ", Gaussian",
        "not Gaussian half": "not G",
        "linear half": "linear, ",
        "nonlinear half": "nonlin",
    }
    for kind in (*KINDS, *halves):
        for method in METHODS:
            key = halves.get(kind, kind)
            some = [
                r
                for r in rows
                if r[0] == method
                and (
                    r[2] == kind
                    or (
                        kind in halves
                        and (r[2].startswith(key) if "linear" in kind or "nonlinear" in kind else key in r[2])
                    )
                )
            ]
            if some:
                t = dict(zip(COUNTS, np.array([r[3:14] for r in some], float).sum(axis=0)))
                skeleton = f1(t["near"], t["near_false"], t["near_missed"])
                arrows = f1(t["arrows"], t["arrows_false"], t["arrows_missed"])
                cost = np.mean([float(r[14]) for r in some])
                print(
                    f"{kind}; {method}; {len(some)}; {skeleton:.3f}; {arrows:.3f}; {t['lagged_false']:.0f} ({t['plain_false']:.0f}); {cost:.1f}"
                )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=["networks", "table"])
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--method", choices=[*METHODS], default="enmesh")
    parser.add_argument("--seeds", default="0:12")
    parser.add_argument("--out", type=Path)
    parser.add_argument("-n", type=int, default=1000)
    given = parser.parse_args()
    first, last = map(int, given.seeds.split(":"))
    warnings.simplefilter("ignore")
    if given.what == "table":
        table(given.files)
    else:
        networks(given.method, range(first, last), given.out, given.n)


if __name__ == "__main__":
    main()
