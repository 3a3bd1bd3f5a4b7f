"""Effects within one sample: who orients them, and how many lagged links are false without that.

    python benchmarks/within.py networks --method enmesh --seeds 0:12 --out enmesh.csv
    python benchmarks/within.py networks --method pcmci+ --seeds 0:12 --out pcmci.csv       # needs tigramite
    python benchmarks/within.py networks --method var-lingam --seeds 0:12 --out lingam.csv  # needs lingam
    python benchmarks/within.py table enmesh.csv pcmci.csv lingam.csv
    python benchmarks/within.py calm --seeds 0:40
    python benchmarks/within.py audit --seeds 0:20
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


Found = tuple[set[frozenset[int]], set[Pair], set[Pair], set[Pair]]
"""Pairs within one sample, oriented ones, lagged links, and lagged links where nothing within one sample is asked."""


def by_enmesh(x: np.ndarray) -> Found:
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


def by_pcmci(x: np.ndarray) -> Found:
    from tigramite import data_processing
    from tigramite.independence_tests.parcorr import ParCorr
    from tigramite.pcmci import PCMCI

    frame = data_processing.DataFrame(x)
    graph = PCMCI(dataframe=frame, cond_ind_test=ParCorr()).run_pcmciplus(tau_max=LAGS, pc_alpha=LEVEL)["graph"]
    nodes = x.shape[1]
    near = {frozenset((i, j)) for i in range(nodes) for j in range(i) if graph[i, j, 0]}
    arrows = {(i, j) for i in range(nodes) for j in range(nodes) if graph[i, j, 0] == "-->"}
    lagged = {
        (i, j) for i in range(nodes) for j in range(nodes) if i != j and any(graph[i, j, k] for k in range(1, LAGS + 1))
    }
    return near, arrows, lagged, lagged


def by_lingam(x: np.ndarray) -> Found:
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


HALVES = {
    "Gaussian half": KINDS[::2],
    "not Gaussian half": KINDS[1::2],
    "linear half": KINDS[:2],
    "nonlinear half": KINDS[2:],
}


def table(files: list[Path]) -> None:
    """Print F1 of the skeleton and of directions, and false lagged links, for each kind and method."""
    rows = [row for file in files for row in csv.reader(file.open())]
    print("kind; method; networks; skeleton F1; orientation F1; false lagged links (without); CPU s each")
    for kind, kinds in {**{one: (one,) for one in KINDS}, **HALVES, "all": KINDS}.items():
        for method in METHODS:
            some = [row for row in rows if row[0] == method and row[2] in kinds]
            if not some:
                continue
            t = dict(zip(COUNTS, np.array([row[3:14] for row in some], float).sum(axis=0)))
            near, arrows = (f1(*(t[name + end] for end in ("", "_false", "_missed"))) for name in ("near", "arrows"))
            cost = np.mean([float(row[14]) for row in some])
            false = f"{t['lagged_false']:.0f} ({t['plain_false']:.0f})"
            print(f"{kind}; {method}; {len(some)}; {near:.3f}; {arrows:.3f}; {false}; {cost:.1f}")


# --- enmesh alone --------------------------------------------------------------------------------------------------


def clean(seed: int, n: int = 1000) -> np.ndarray:
    """Return a recording of 10 nodes without effects within one sample: linear or by sines, Gaussian or not."""
    rng = np.random.default_rng([48, seed])
    noise = rng.normal(size=(n + 100, 10)) if seed % 2 else rng.laplace(size=(n + 100, 10)) / 2**0.5
    pairs = [
        (int(a), int(b), int(k))
        for a, b, k in zip(rng.integers(10, size=12), rng.integers(10, size=12), rng.integers(1, 4, size=12))
        if a != b
    ]
    bend = (lambda v: 0.4 * v) if seed % 4 < 2 else (lambda v: 0.6 * np.sin(1.5 * v))
    x = np.zeros_like(noise)
    for t in range(LAGS, len(x)):
        x[t] = 0.5 * x[t - 1] + noise[t]
        for a, b, k in pairs:
            x[t, b] += bend(x[t - k, a])
        if np.abs(x[t]).max() > 50:  # unstable: another one
            return clean(seed + 10000 * 4, n)
    return x[100:]


def cautions(values: np.ndarray) -> tuple[Any, set[str]]:
    """Return the network that infer finds, and the first word of its cautions on links."""
    import enmesh as em

    net = em.infer(em.Series(values), progress=False)
    return net, {word for word in ("within", "coarse", "links") if any(one.startswith(word) for one in net.warnings)}


def calm(seeds: range) -> None:
    """Print in how many networks without effects within one sample a caution is given, and p-values of pairs."""
    said, p, marked, links = [], list[float](), np.zeros(2, int), 0
    for seed in seeds:
        net, words = cautions(clean(seed))
        said.append(words)
        p += [row[3] for row in net.together]
        marked, links = marked + net.edges[["hidden", "fragile"]].sum().to_numpy(), links + len(net)
    each = {word: sum(word in words for words in said) for word in ("within", "coarse", "links")}
    print(f"false cautions in {sum(map(bool, said))} of {len(said)} clean networks: {each}")
    print(f"of {links} links {marked[0]} are marked hidden and {marked[1]} fragile")
    shares = {level: round(float(np.mean(np.array(p) <= level)), 4) for level in (0.001, 0.01, 0.05, 0.1, 0.2, 0.5)}
    print(f"{len(p)} pairs: share of p-values at most each level {shares}")


def coarse(seed: int, n: int = 1000) -> tuple[np.ndarray, set[Pair]]:
    """Return linear diffusions on a random graph of 8 nodes and 10 links, seen once per time of relaxation; links."""
    from scipy.linalg import expm, solve_continuous_lyapunov

    rng, nodes = np.random.default_rng([51, seed]), 8
    every = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    links = {every[i] for i in rng.choice(len(every), 10, replace=False)}
    drift = -np.eye(nodes)
    for a, b in links:
        drift[b, a] = 0.8 * rng.choice([-1, 1])
    if np.linalg.eigvals(drift).real.max() > -0.3:  # unstable, or nearly: another one
        return coarse(seed + 40000, n)
    spread = solve_continuous_lyapunov(drift, -np.eye(nodes))
    step = expm(drift)
    noise = rng.multivariate_normal(np.zeros(nodes), spread - step @ spread @ step.T, size=n + 50)
    x = np.zeros_like(noise)
    for t in range(1, len(x)):
        x[t] = step @ x[t - 1] + noise[t]
    return x[50:], links


def shared(seed: int, n: int = 1000) -> tuple[np.ndarray, set[Pair]]:
    """Return 8 nodes with 8 lagged links, of which two groups of three share a driver that is not recorded; links."""
    rng, nodes = np.random.default_rng([52, seed]), 8
    every = [(a, b) for a in range(nodes) for b in range(nodes) if a < b]
    links = {every[i] for i in rng.choice(len(every), 8, replace=False)}
    groups = [rng.choice(nodes, 3, replace=False) for _ in range(2)]
    driver, x = rng.normal(size=(n + 100, 2)), rng.normal(size=(n + 100, nodes))
    for t in range(1, len(x)):
        driver[t] += 0.6 * driver[t - 1]
        x[t] += 0.5 * x[t - 1]
        for k, group in enumerate(groups):
            x[t, group] += 0.6 * (driver[t - 1, k] if seed % 2 else np.sin(2 * driver[t - 1, k]))
        for a, b in links:
            x[t, b] += 0.4 * x[t - 1, a]
    return x[100:], links


def audit(seeds: range) -> None:
    """Print, for each way in which arrows mislead, in how many recordings a caution is given."""
    cases = {
        "effects within one sample": lambda seed: (lambda x, lagged, _: (x, {*lagged}))(*network(seed)),
        "hidden drivers": shared,
        "coarse sampling": coarse,
        "links that switch": lambda seed: (switching(seed)[0], {*switching(seed)[2][0], *switching(seed)[2][1]}),
    }
    for name, make in cases.items():
        said, false, links = [], 0, 0
        for seed in seeds:
            values, truth = make(seed)
            net, words = cautions(values)
            said.append(words)
            found = {(int(s[1:]), int(t[1:])) for s, t in net}
            false, links = false + len(found - truth), links + len(found)
        each = {word: sum(word in words for words in said) for word in ("within", "coarse", "links")}
        print(f"{name}: a caution in {sum(map(bool, said))} of {len(said)} {each}; {false} of {links} links false")


def hidden(seeds: range) -> None:
    """Print false links among all and among those not marked (hidden or fragile), with two of ten nodes removed."""
    from functools import partial

    import enmesh as em
    import systems

    made = {"VAR": partial(systems.novelli, "var", 10, 1000), "maps": partial(systems.maps, 10, 1000)}
    everything = []
    for name, make in made.items():
        rows = []
        for seed in seeds:
            file = systems.hidden(make, systems.FIRST_SEED + seed)
            net = em.infer(em.Series(file.values), progress=False)
            place = {one: i for i, one in enumerate(net.names)}
            edges = net.edges.itertuples()
            rows += [((place[r.source], place[r.target]) in file.links, bool(r.hidden or r.fragile)) for r in edges]
        everything += rows
        _shares(name, np.array(rows))
    _shares("both", np.array(everything))


def _shares(name: str, rows: np.ndarray) -> None:
    true, marked = rows.T
    print(
        f"{name}: {len(rows)} links; false among all {1 - true.mean():.3f}, among those not marked "
        f"{1 - true[~marked].mean():.3f}; true links not marked {(true & ~marked).sum() / true.sum():.3f}"
    )


def robust(seeds: range) -> None:
    """Print the robustness of false links made by a hidden driver, beside its strength (partial R squared)."""
    import enmesh as em

    for strength in (0.1, 0.2, 0.4):
        odds, found, enough = strength / (1 - strength), [], 0
        for seed in seeds:
            rng = np.random.default_rng([49, seed])
            driver, x = rng.normal(size=1001), rng.normal(size=(1001, 3))
            x[:, 0] += np.sqrt(odds) * driver  # partial R squared with both is the strength
            x[1:, 1] += np.sqrt(odds / (1 - strength)) * driver[:-1]
            edges = em.infer(em.Series(x), max_lag=1, progress=False).edges.set_index(["source", "target"])
            if ("x0", "x1") not in edges.index:
                continue
            found.append(float(edges.loc[("x0", "x1"), "robust"]))
            known = np.column_stack([np.ones(1000), driver[:-1], x[:-1, 0]])
            beta = np.linalg.lstsq(known, x[1:, 1], rcond=None)[0]
            left = x[1:, 1] - known @ beta
            error = np.sqrt(left @ left / 997 * np.linalg.inv(known.T @ known)[2, 2])
            enough += abs(beta[2]) < 1.96 * error
        print(
            f"hidden driver of strength {strength}: robustness {np.mean(found):.3f} (sd {np.std(found):.3f}); "
            f"given the driver the link is gone in {enough} of {len(found)}"
        )


def switching(seed: int, n: int = 1500, nodes: int = 6) -> tuple[np.ndarray, np.ndarray, list[set[Pair]], int]:
    """Return a recording whose links switch once, one without a switch, both sets of links, and the sample.

    Of six links three stay, three go and three come, at a time from 30 to 70 % of the record.
    """
    rng = np.random.default_rng([50, seed])
    at = int(rng.uniform(0.3, 0.7) * n)
    links = [(a, b) for a in range(nodes) for b in range(nodes) if a != b]
    chosen = [links[i] for i in rng.permutation(len(links))[:9]]
    graphs = [{*chosen[:6]}, {*chosen[3:]}]
    x = rng.normal(size=(n, nodes))
    calm_ = x.copy()
    for t in range(1, n):
        x[t] += 0.4 * x[t - 1]
        calm_[t] += 0.4 * calm_[t - 1]
        for a, b in graphs[t >= at]:
            x[t, b] += 0.35 * np.tanh(x[t - 1, a])
        for a, b in graphs[0]:
            calm_[t, b] += 0.35 * np.tanh(calm_[t - 1, a])
    return x, calm_, graphs, at


def regimes(seeds: range) -> None:
    """Print where change points are found, and F1 of regimes beside one network, for links that switch."""
    import enmesh as em
    import systems

    near, none = 0, 0
    counts, drifting, changing = np.zeros((2, 3)), np.zeros((2, 3)), 0
    for seed in seeds:
        x, calm_, graphs, at = switching(seed)
        n = len(x)
        found = em.regimes(em.Series(x), max_lag=2, progress=False)
        near += any(abs(point - at) <= 0.05 * n for point in found.change_points)
        none += not em.regimes(em.Series(calm_), max_lag=2, progress=False).change_points
        counts += _counted(found, n, [(0, at), (at, n)], graphs)
        file = systems.changing(lambda k: systems.novelli("var", 10, 1000, k), systems.FIRST_SEED + seed)
        found = em.regimes(em.Series(file.values), progress=False)
        changing += len(found.change_points)
        drifting += _counted(found, 1000, [(0, 1000)], [{*file.links}])
    print(f"change point within 5 % of the record in {near} of {len(seeds)}")
    print(f"no change found in {none} of {len(seeds)} stationary records")
    print(f"F1, weighted by time: one network {f1(*counts[0]):.3f}, regimes {f1(*counts[1]):.3f}")
    print(
        f"VAR whose gain and mean drift but whose links stay: {changing} change points in {len(seeds)} records; "
        f"F1 one network {f1(*drifting[0]):.3f}, regimes {f1(*drifting[1]):.3f}"
    )


def _counted(found: Any, n: int, bounds: list[Pair], graphs: list[set[Pair]]) -> np.ndarray:
    """Return true, false and missed links, weighted by time, of one network and of regimes."""
    counts = np.zeros((2, 3))
    for row, (nets, ends) in enumerate((((found.network,), [(0, n)]), (found.networks, found.bounds))):
        for truth, (first, last) in zip(graphs, bounds):
            for net, (a, b) in zip(nets, ends):
                share = max(0, min(last, b) - max(first, a)) / n
                mine = {(int(s[1:]), int(t[1:])) for s, t in net}
                counts[row] += share * np.array([len(mine & truth), len(mine - truth), len(truth - mine)])
    return counts


ALONE = {"calm": calm, "audit": audit, "hidden": hidden, "robust": robust, "regimes": regimes}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["networks", "table", *ALONE])
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
    elif given.what in ALONE:
        ALONE[given.what](range(first, last))
    else:
        networks(given.method, range(first, last), given.out, given.n)


if __name__ == "__main__":
    main()
