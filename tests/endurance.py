"""A job that can be stopped: ``python -m tests.endurance STORE [result.json]`` scores families into a store.

Tests start it as a process of its own, to kill it, to starve it of disk or to run it as another user.
"""

import json
import sys
from itertools import combinations

import enmesh as em
from enmesh.inference import workers as module
from enmesh.inference.evaluate import Evaluator

SCORE = em.TEE(estimator=em.Gaussian(), embedding=em.Embedding(), alpha=0.9, n_surrogates=39)


def families(n_nodes=6, most=2):
    return [
        (i, parents)
        for i in range(n_nodes)
        for size in range(most + 1)
        for parents in combinations([j for j in range(n_nodes) if j != i], size)
    ]


def data():
    return em.simulate.var(coefficients=_matrix(), n=500, seed=5)


def _matrix():
    own, driven = 0.5, {(1, 0): 0.4, (2, 1): 0.3, (4, 3): 0.4}
    return [[own if i == j else driven.get((i, j), 0.0) for j in range(6)] for i in range(6)]


def job(store=None, **options):
    """Return all scores and the tests of two edges, as plain data."""
    with Evaluator(SCORE, data(), store=store, **options) as evaluate:
        scores = evaluate(families()).tolist()
        tests = evaluate.edges([(0, 1, ()), (3, 4, (0,))])
        return {
            "scores": scores,
            "edges": [[test.value, test.p_value, test.null_mean, test.null.tolist()] for test in tests],
        }


if __name__ == "__main__":
    module.CHUNK = 0.02
    print("started", flush=True)
    found = job(sys.argv[1])
    if len(sys.argv) > 2:
        with open(sys.argv[2], "w") as file:
            json.dump(found, file)
