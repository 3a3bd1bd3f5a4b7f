"""Networks made by hand for the tests of pictures and pages: small, large, cyclic, empty, oddly named."""

import math

import numpy as np

from enmesh.network.network import Candidate, Network

ODD_NAMES = (
    "<b>bold</b> & \"quoted\" 'name'",
    "</script><script>alert(1)</script>",
    "température au sommet de la colonne montante nord-ouest",
    "$x_1$",
    "Ωμέγα ∂u/∂t",
)
CHOICES = (
    ("estimator", "KSG(k=4)", "the values are continuous and not normal"),
    ("alpha", "0.99", "a link that is not there is kept with probability 0.01"),
)
WARNINGS = ("the first two nodes are correlated at 0.995: synchronised nodes hide who drives whom",)


def make(names, edges, *, nulls=99, seed=0, gap=0.0, optimal=True, criteria=True, **rest) -> Network:
    """Return a network with the given ``(source, target)`` positions as edges and every pair tested."""
    rng = np.random.default_rng(seed)
    tests = [
        _test(rng, names, i, j, (i, j) in edges, nulls) for i in range(len(names)) for j in range(len(names)) if i != j
    ]
    parents = {target: tuple(names[i] for i, k in edges if k == j) for j, target in enumerate(names)}
    local = {name: 0.1 * len(parents[name]) for name in names}
    fields = {
        "names": tuple(names),
        "parents": parents,
        "local": local,
        "optimal": optimal,
        "bound": sum(local.values()) + (0 if optimal else 0.05),
        "gap": gap,
        "evaluated": 12 * len(names),
        "candidates": tuple(tests),
        "options": options(nulls),
        "provenance": provenance(len(names)),
        "choices": CHOICES,
        "warnings": WARNINGS,
        "preview": {name: _walk(rng) for name in names},
        "criteria": {name: _criterion(rng) for name in names} if criteria is True else criteria or {},
    }
    return Network(**(fields | rest))


def options(nulls):
    estimator = {"type": "KSG", "k": 4, "algorithm": 1, "theiler": 0, "normalise": "zscore"}
    embedding = {"type": "Embedding", "dim": 2, "delay": 1, "lag": 1}
    if not nulls:
        score = {"type": "TEA", "estimator": {"type": "Gaussian"}, "embedding": embedding, "alpha": 0.99}
    else:
        surrogate = {"type": "CircularShift"}
        score = {"type": "TEE", "estimator": estimator, "embedding": embedding, "alpha": 0.99}
        score |= {"surrogate": surrogate, "n_surrogates": nulls, "seed": 0}
    return {"score": score, "search": {"type": "Exact"}, "max_parents": 3, "acyclic": True, "seed": 0}


def provenance(nodes):
    return {
        "enmesh": "0.1.0",
        "data": "5f1c" * 16,
        "nodes": nodes,
        "samples": 2000,
        "trials": 1,
        "time": "2024-05-01T12:00:00",
    }


def three(**rest):
    return make(("a", "b", "c"), [(0, 1), (1, 2)], **rest)


def five(**rest):
    return make(("heart", "breath", "blood oxygen", "EEG", "EMG"), [(0, 1), (1, 2), (0, 2), (3, 4), (2, 4)], **rest)


def thirty(**rest):
    """Return a sparse acyclic network with a few nodes left alone."""
    rng = np.random.default_rng(7)
    edges = sorted({tuple(sorted(rng.choice(27, 2, replace=False).tolist())) for _ in range(38)})
    return make(tuple(f"node {i:02d}" for i in range(30)), edges, **rest)


def fifty(**rest):
    rng = np.random.default_rng(3)
    edges = sorted({tuple(sorted(rng.choice(50, 2, replace=False).tolist())) for _ in range(70)})
    return make(tuple(f"ch{i:02d}" for i in range(50)), edges, **rest)


def ring(size=6, **rest):
    """Return a feedback loop with one pair of opposite arrows."""
    return make(tuple(f"x{i}" for i in range(size)), [*((i, (i + 1) % size) for i in range(size)), (1, 0)], **rest)


def tangle(**rest):
    """Return thirty nodes with feedback."""
    rng = np.random.default_rng(11)
    edges = sorted({tuple(rng.choice(30, 2, replace=False).tolist()) for _ in range(45)} | {(0, 1), (1, 0)})
    return make(tuple(f"ch{i:02d}" for i in range(30)), edges, **rest)


def odd(**rest):
    return make(ODD_NAMES, [(0, 1), (1, 2), (2, 3), (0, 4)], **rest)


def empty(**rest):
    return make(("a", "b", "c", "d"), [], **rest)


def _test(rng, names, i, j, edge, nulls):
    null = rng.gamma(4, 0.004, nulls) - 0.01
    te = 0.03 + 0.2 * rng.random() if edge else float(rng.gamma(4, 0.003) - 0.008)
    p = (1 + int((null >= te).sum())) / (nulls + 1) if nulls else (1e-6 if edge else 0.4)
    q = min(1.0, p * (3 if not edge or rng.random() < 0.8 else 12))
    return Candidate(
        source=names[i], target=names[j], te=te, p_value=p, q_value=q, lag=1, selected=edge, null=tuple(null.tolist())
    )


def _walk(rng):
    steps = rng.normal(size=200)
    values = np.convolve(steps, np.exp(-np.arange(12) / 3), "same")
    values[60:70] = math.nan
    return tuple(values.tolist())


def _criterion(rng):
    values = (
        np.add.outer(0.2 * (np.arange(1, 6) - 2.0) ** 2, 0.05 * np.arange(5)) + 0.3 + 0.05 * rng.random((5, 5))
    ).tolist()
    dim, delay = np.unravel_index(np.argmin(values), (5, 5))
    return {
        "dims": [1, 2, 3, 4, 5],
        "delays": [1, 2, 3, 4, 5],
        "values": values,
        "best": [int(dim) + 1, int(delay) + 1],
        "method": "Ragwitz",
    }
