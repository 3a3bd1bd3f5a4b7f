"""The data of the head-to-head (`field.py`): settings that anybody can make from a seed, and public files.

A setting makes a `File` from a seed. Seeds begin at 90000, which nothing was chosen on.
"""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np

import accuracy
import enmesh as em
import false_links
import sizes

FIRST_SEED = 90000
INCOMPLETE = ("20 % missing", "three gaps of a twentieth")  # kinds that most methods refuse
UNASKED = ("rain in 5 % of samples", "a common sawtooth + AR .5")  # kinds about which the other methods were not asked
Links = dict[tuple[int, int], int | None]


class File(NamedTuple):
    """One recording (time, node), its links ``{(source, target): lag or None}`` and the lags that methods look at."""

    values: np.ndarray
    links: Links
    max_lag: int = 5


class Setting(NamedTuple):
    """How to make files, what they belong to, and how large they are."""

    make: Callable[[int], File]
    group: str
    nodes: int
    n: int
    quick: bool = False
    files: int | None = None  # how many there are, if not as many as one likes


def from_sizes(made: tuple[em.Series, Links, dict]) -> File:
    series, links, options = made
    return File(series.values, links, options.get("max_lag", 5))


def novelli(kind: str, nodes: int, n: int, seed: int) -> File:
    """Network of Novelli et al. 2019 (`sizes.novelli`)."""
    return from_sizes(sizes.novelli(kind, nodes, n, seed))


def maps(nodes: int, n: int, seed: int) -> File:
    """Logistic maps of the paper with dynamical noise .05, up to two parents (`sizes.noisy_maps`)."""
    return from_sizes(sizes.noisy_maps(nodes, n, seed))


def lorenz96(forcing: float, n: int, seed: int) -> File:
    """Ring of ten, sampled every .1, with measurement noise .1."""
    file = from_sizes(sizes.lorenz96(forcing, n, seed, step=0.1, noise=0.0))
    noise = 0.1 * np.random.default_rng([seed, 96]).normal(size=file.values.shape)
    return file._replace(values=file.values + noise)


def sparse_var(n: int, seed: int, nodes: int = 10) -> File:
    """VAR(3): two sources a node, the same weight at lags 1 to 3, shrunk to a spectral radius of .95; noise .1."""
    rng = np.random.default_rng(seed)
    weights, links = np.eye(nodes), {}
    for target in range(nodes):
        for source in rng.choice([i for i in range(nodes) if i != target], 2, replace=False):
            weights[target, source], links[int(source), target] = 1, None
    companion = np.eye(3 * nodes, k=-nodes)
    while True:
        companion[:nodes] = np.hstack([weights] * 3)
        if np.abs(np.linalg.eigvals(companion)).max() <= 0.95:
            break
        weights = 0.95 * weights
    x = 0.1 * rng.normal(size=(n + 200, nodes))
    for t in range(3, len(x)):
        x[t] += weights @ x[t - 3 : t].sum(axis=0)
    return File(x[200:], links)


def flows(dt: float, n: int, seed: int) -> File:
    """Lorenz and Rössler systems in turn, one coordinate seen, coupled as a chain, fork, collider or diamond."""
    graph = list(accuracy.STRUCTURES.values())[seed % 4]
    return from_accuracy(accuracy.flow(graph, n, dt, seed))


def kuramoto(n: int, seed: int, nodes: int = 10) -> File:
    """Noisy phase oscillators, two drivers each, of which the sine is seen every .5."""
    rng = np.random.default_rng(seed)
    linked = np.zeros((nodes, nodes))
    for target in range(nodes):
        linked[rng.choice([i for i in range(nodes) if i != target], 2, replace=False), target] = 1
    speed, phase, step = rng.uniform(0.5, 2.5, nodes), rng.uniform(0, 2 * np.pi, nodes), 0.05
    seen = np.empty((n + 100, nodes))
    for t in range(len(seen)):
        for _ in range(10):
            pull = (linked * np.sin(phase[:, None] - phase)).sum(axis=0)
            phase = phase + step * (speed + 0.5 * pull) + 0.3 * np.sqrt(step) * rng.normal(size=nodes)
        seen[t] = np.sin(phase)
    return File(seen[100:], {(int(i), int(j)): None for i, j in np.argwhere(linked)})


MIXED = ("a>b, b>c", "a>b, a>c", "a>c, b>c", "a>b, a>c, b>c", "a>b, a>c, b>d, c>d")
FUNCTIONS = (np.abs, np.tanh, np.sin, np.cos)


def mixed(n: int, seed: int) -> File:
    """Nonlinear links of random kind and size at lags 1 and 2, noise N(0, 1)^3: as in Assaad et al. 2022."""
    rng = np.random.default_rng(seed)
    pairs = [part.strip().split(">") for part in MIXED[seed % len(MIXED)].split(",")]
    links = {(ord(a) - 97, ord(b) - 97): int(rng.integers(1, 3)) for a, b in pairs}
    nodes = 1 + max(max(pair) for pair in links)

    def weight() -> float:
        return rng.uniform(0.1, 1) * rng.choice([-1, 1])

    own = [rng.uniform(0.1, 0.9) for _ in range(nodes)]
    how = {pair: (weight(), FUNCTIONS[rng.integers(4)]) for pair in links}
    x = 0.1 * rng.normal(size=(n + 100, nodes)) ** 3
    for t in range(2, len(x)):
        x[t] += own * x[t - 1]
        for (i, j), lag in links.items():
            size, function = how[i, j]
            x[t, j] += size * function(x[t - lag, i])
    return File(x[100:], links)


def uncoupled(process: str, seed: int, nodes: int = 6, n: int = 500) -> File:
    """Series that have nothing to do with one another (`false_links`)."""
    rng = np.random.default_rng([seed, n, nodes, list(false_links.PROCESSES).index(process)])
    return File(false_links.PROCESSES[process](rng, n, nodes), {})


def noisy(make: Callable[[int], File], seed: int) -> File:
    """Measurement noise of .3 standard deviations."""
    file = make(seed)
    noise = 0.3 * np.random.default_rng([seed, 1]).normal(size=file.values.shape)
    return file._replace(values=file.values + noise * file.values.std(axis=0))


def hidden(make: Callable[[int], File], seed: int) -> File:
    """The two nodes with the most targets are not seen; the links among the others are asked for."""
    file = make(seed)
    nodes = file.values.shape[1]
    targets = [sum(source == node for source, _ in file.links) for node in range(nodes)]
    left = sorted(np.argsort(targets)[: nodes - 2].tolist())
    links = {(left.index(i), left.index(j)): lag for (i, j), lag in file.links.items() if i in left and j in left}
    return file._replace(values=file.values[:, left], links=links)


def changing(make: Callable[[int], File], seed: int) -> File:
    """The gain doubles along the record, and every node drifts along half a sine of one standard deviation."""
    file = make(seed)
    time = np.linspace(0, 1, len(file.values))[:, None]
    phase = np.random.default_rng([seed, 2]).uniform(0, 2 * np.pi, file.values.shape[1])
    scaled = (file.values - file.values.mean(axis=0)) / file.values.std(axis=0)
    return file._replace(values=scaled * (1 + time) + np.sin(np.pi * time + phase))


def from_accuracy(case: accuracy.Case) -> File:
    links = {pair: lags[0] if lags else None for pair, lags in case.links.items()}
    return File(case.series.values, links, case.options.get("max_lag", 5))


@lru_cache
def public(folder: Path) -> dict[str, list[File]]:
    """Read the public files with known links that are one recording each."""
    found: dict[str, list[File]] = {}
    for case in accuracy.public(folder) if folder.is_dir() else ():
        if len(case.series.trials) == 1:
            found.setdefault(f"file: {case.set}", []).append(from_accuracy(case))
    return found


VARIED = {"VAR": partial(novelli, "var", 10, 1000), "logistic": partial(maps, 10, 1000)}
VARIANTS = {"measurement noise": noisy, "hidden drivers": hidden, "changing": changing}


def settings(folder: Path = accuracy.SHARED) -> Iterator[tuple[str, Setting]]:
    """Yield name and setting of everything that is judged."""
    for kind in ("var", "map"):
        for nodes in (10, 40, 100):
            for n in (100, 1000, 10000):
                name = f"Novelli {kind}, {nodes} nodes, T = {n}"
                quick = kind == "var" and n == 1000 and nodes < 100
                yield name, Setting(partial(novelli, kind, nodes, n), "networks", nodes, n, quick)
    for forcing in (10, 40):
        for n in (500, 1000):
            name = f"Lorenz-96, F = {forcing}, T = {n}"
            yield name, Setting(partial(lorenz96, forcing, n), "systems", 10, n, n == 500)
    for n in (500, 1000):
        yield f"sparse VAR(3), T = {n}", Setting(partial(sparse_var, n), "systems", 10, n, n == 500)
    for nodes in (5, 10):
        yield (
            f"logistic network, {nodes} nodes, T = 1000",
            Setting(partial(maps, nodes, 1000), "systems", nodes, 1000, nodes == 5),
        )
    for n in (250, 1000):
        yield f"mixed, heavy tails, T = {n}", Setting(partial(mixed, n), "systems", 4, n, True)
    for dt in (0.05, 0.2):
        yield f"flows, step {dt}, T = 1000", Setting(partial(flows, dt, 1000), "systems", 4, 1000, dt == 0.2)
    yield "Kuramoto, T = 1000", Setting(partial(kuramoto, 1000), "systems", 10, 1000)
    for base, make in VARIED.items():
        for variant, change in VARIANTS.items():
            yield f"{base}, {variant}", Setting(partial(change, make), "variants", 10, 1000)
    for process in [kind for kind in false_links.PROCESSES if kind not in INCOMPLETE + UNASKED]:
        yield f"uncoupled: {process}", Setting(partial(uncoupled, process), "uncoupled", 6, 500, True)
    for name, files in public(folder).items():
        nodes, n = files[0].values.shape[::-1]
        yield name, Setting(partial(_of, folder, name), "files", nodes, n, False, len(files))


def _of(folder: Path, name: str, seed: int) -> File:
    return public(folder)[name][seed - FIRST_SEED]
