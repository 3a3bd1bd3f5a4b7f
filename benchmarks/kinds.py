"""Which kinds of links the defaults of `infer` find: lines, sines, variances, cubics, products, pairs, predators.

    python benchmarks/kinds.py [--seeds 20] [--first-seed 0] [--only NAME ...]

Prints true / false / missed links added up over the seeds, F1, and CPU seconds a network. Of pairs that act together
a link counts if it is marked with its partner.
"""

import argparse
import time
import warnings

import numpy as np

import enmesh as em

BURN = 200


def drivers(rng: np.random.Generator, nodes: int, most: int = 2) -> np.ndarray:
    """Draw up to ``most`` sources of each node: ``[source, target]``."""
    linked = np.zeros((nodes, nodes), bool)
    for target in range(nodes):
        others = [j for j in range(nodes) if j != target]
        linked[rng.choice(others, int(rng.integers(0, most + 1)), replace=False), target] = True
    return linked


def driven(kind: str, nodes: int, seed: int, n: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Nodes with memory whose sources act by a sine, on the variance, by a clipped cubic, or by their product."""
    rng = np.random.default_rng([seed, nodes])
    linked = drivers(rng, nodes)
    x = rng.normal(size=(n + BURN, nodes))
    for t in range(1, len(x)):
        before, noise = x[t - 1], x[t].copy()
        if kind == "sines":
            x[t] = 0.4 * before + 0.7 * np.sin(3 * before) @ linked + 0.5 * noise
        elif kind == "variances":
            x[t] = 0.4 * before + noise * np.sqrt(0.2 + 0.6 * before**2 @ linked)
        elif kind == "cubics":
            x[t] = 0.3 * before + 0.3 * np.clip(before**3 - 2 * before, -4, 4) @ linked + 0.7 * noise
        else:
            both = np.array([np.prod(before[some]) if some.sum() == 2 else 0.0 for some in linked.T])
            alone = np.where(linked.sum(0) == 1, 0.5 * before @ linked, 0.7 * both)
            x[t] = np.clip(0.3 * before + alone + 0.7 * noise, -5, 5)
    if (x[BURN:].std(axis=0) == 0).any():  # products that drive each other have come to rest at their bounds
        return driven(kind, nodes, seed + 1_000_000, n)
    return x[BURN:], linked


def together(kind: str, seed: int, n: int = 1000, nodes: int = 8) -> tuple[np.ndarray, dict[int, tuple[int, int]]]:
    """Return four nodes with memory that follow the product, or its sign, of two others at lags 1 to 3."""
    rng = np.random.default_rng([seed, 77])
    half = nodes // 2
    pairs = {t: tuple(map(int, rng.choice(half, 2, replace=False))) for t in range(half, nodes)}
    lags = {t: rng.integers(1, 4, 2) for t in pairs}
    x = rng.normal(size=(n + BURN, nodes))
    for t in range(3, len(x)):
        for target, (a, b) in pairs.items():
            both = x[t - lags[target][0], a] * x[t - lags[target][1], b]
            x[t, target] += 0.4 * x[t - 1, target] + (0.5 * both if kind == "products" else 0.8 * np.sign(both))
    return x[BURN:], pairs


def predators(seed: int, n: int = 2000, groups: int = 5) -> tuple[np.ndarray, np.ndarray]:
    """Lotka-Volterra in groups of two prey and two predators (20 species), every .1, with noise."""
    rng, half = np.random.default_rng([seed, 78]), 2 * groups
    eaten = np.kron(np.eye(groups), np.ones((2, 2)))
    linked = np.zeros((2 * half, 2 * half), bool)
    linked[:half, half:], linked[half:, :half] = eaten > 0, eaten > 0

    def slope(state: np.ndarray) -> np.ndarray:
        prey, hunters = state[:half], state[half:]
        grown = 1.2 * prey - 0.2 * prey * (eaten @ hunters) - 1.2 * (prey / 200) ** 2
        return np.concatenate([grown, 0.05 * hunters * (eaten @ prey) - 1.1 * hunters])

    x, h, found = rng.uniform(10, 20, 2 * half), 0.01, []
    for step in range((n + 500) * 10):
        a = slope(x)
        b = slope(x + h / 2 * a)
        c = slope(x + h / 2 * b)
        x = x + h / 6 * (a + 2 * b + 2 * c + slope(x + h * c)) + 0.1 * rng.normal(size=len(x))
        x = np.maximum(x, 0)
        if step % 10 == 9:
            found.append(x)
    return np.array(found[500:]), linked


def of_three(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One target of a linear source and of two by sines."""
    rng = np.random.default_rng([seed, 79])
    x = rng.normal(size=(1200, 6))
    for t in range(1, len(x)):
        drive = 0.4 * x[t - 1, 0] + 0.6 * np.sin(3 * x[t - 1, 1]) + 0.6 * np.sin(3 * x[t - 1, 2])
        x[t, 3] = 0.3 * x[t - 1, 3] + drive + 0.5 * x[t, 3]
    linked = np.zeros((6, 6), bool)
    linked[:3, 3] = True
    return x[BURN:], linked


def proxy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """One source drives one node after 1 and another after 3 samples, by sines."""
    rng = np.random.default_rng([seed, 80])
    x = rng.normal(size=(1200, 3))
    for t in range(3, len(x)):
        x[t, 1] = 0.3 * x[t - 1, 1] + 0.7 * np.sin(3 * x[t - 1, 0]) + 0.5 * x[t, 1]
        x[t, 2] = 0.3 * x[t - 1, 2] + 0.7 * np.sin(3 * x[t - 3, 0]) + 0.5 * x[t, 2]
    return x[BURN:], np.array([[0, 1, 1], [0, 0, 0], [0, 0, 0]], bool)


def changing(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes with memory, half of whose links change their sign halfway."""
    rng = np.random.default_rng([seed, 81])
    linked = np.triu(drivers(rng, 6))  # without loops: all of these are stable
    change = linked & (rng.random(linked.shape) < 0.5)
    x = rng.normal(size=(1200, 6))
    for t in range(1, len(x)):
        sign = np.where(change & (t > 700), -1, 1)
        x[t] += 0.4 * x[t - 1] + 0.4 * x[t - 1] @ (linked * sign)
    return x[BURN:], linked


def seasonal(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Linear links below a common sawtooth of two standard deviations, with a phase of its own in each node."""
    rng = np.random.default_rng([seed, 82])
    linked = np.triu(drivers(rng, 6))
    x = rng.normal(size=(1200, 6))
    for t in range(1, len(x)):
        x[t] += 0.4 * x[t - 1] + 0.4 * x[t - 1] @ linked
    season = ((np.arange(1200)[:, None] / rng.uniform(10, 40) + rng.random(6)) % 1 - 0.5) * 12**0.5
    return (x + 2 * season)[BURN:], linked


CASES = {
    **{
        f"{kind}, {nodes} nodes": lambda s, k=kind, m=nodes: driven(k, m, s)
        for kind in ("sines", "variances", "cubics", "products")
        for nodes in (6, 12)
    },
    "one line and two sines": of_three,
    "a proxy of a sine": proxy,
    "20 predators and prey": predators,
    "links that change their sign, 6 nodes": changing,
    "links below a sawtooth, 6 nodes": seasonal,
}
PAIRS = {f"pairs by {kind}, 8 nodes": kind for kind in ("products", "signs of products")}


def counted(x: np.ndarray, linked: np.ndarray) -> np.ndarray:
    found = em.infer(em.Series(x), progress=False).adjacency
    return np.array([(found & linked).sum(), (found & ~linked).sum(), (linked & ~found).sum()])


def counted_pairs(x: np.ndarray, pairs: dict[int, tuple[int, int]]) -> np.ndarray:
    edges = em.infer(em.Series(x), progress=False).edges
    found = {(e.source, e.target): e.partner for e in edges.itertuples()}
    true = {(f"x{j}", f"x{t}"): f"x{k}" for t, (a, b) in pairs.items() for j, k in ((a, b), (b, a))}
    right = sum(found.get(edge) == partner for edge, partner in true.items())
    return np.array([right, len(set(found) - set(true)), len(true) - right])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--only", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    seeds = range(options.first_seed, options.first_seed + options.seeds)
    print("| links | true / false / missed | precision | recall | F1 | CPU s a network |\n|---|---|---|---|---|---|")
    for name in [*CASES, *PAIRS]:
        if options.only and not name.startswith(tuple(options.only)):
            continue
        began, total = time.process_time(), np.zeros(3, int)
        for seed in seeds:
            if name in PAIRS:
                total += counted_pairs(*together(PAIRS[name], seed))
            else:
                total += counted(*CASES[name](seed))
        true, false, missed = map(int, total)
        rates = (
            true / max(1, true + false),
            true / max(1, true + missed),
            2 * true / max(1, 2 * true + false + missed),
        )
        spent = (time.process_time() - began) / len(seeds)
        row = " | ".join(f"{rate:.2f}" for rate in rates)
        print(f"| {name} | {true} / {false} / {missed} | {row} | {spent:.1f} |", flush=True)


if __name__ == "__main__":
    main()
