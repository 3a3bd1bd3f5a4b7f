"""The best acyclic graph by dynamic programming over subsets of nodes.

Some node of an acyclic graph on S has no children in S. With F(S) the best score of a graph on S and B(v, S) the best
score of v with parents in S,

    F(S) = max over v in S of  F(S - v) + B(v, S - v),      B(v, S) = max over j in S of B(v, S - j), or of S itself

(Silander and Myllymäki, UAI 2006). Time and memory grow as m 2^m; the recursion runs over whole layers of subsets of
equal size at once.
"""

import numpy as np

from enmesh.search.parts import Part

LARGEST = 20  # 170 MB; each further node doubles it


def best_order(part: Part) -> list[int]:
    """Return an order of the part's nodes that the best acyclic graph follows."""
    m = len(part)
    alone = np.array([_best_within(part, node) for node in range(m)])
    total = _totals(alone)
    order, left = [], (1 << m) - 1
    while left:
        last = next(v for v in range(m) if left >> v & 1 and _step(total, alone, left, v) == total[left])
        order.append(last)
        left ^= 1 << last
    return order[::-1]


def _step(total: np.ndarray, alone: np.ndarray, subset: int | np.ndarray, last: int) -> np.ndarray:
    """Return the best score on subsets in which ``last`` comes last."""
    rest = subset ^ (1 << last)
    return total[rest] + alone[last, rest]


def _best_within(part: Part, node: int) -> np.ndarray:
    """Return B(node, S) for every subset S, indexed by its bits."""
    best = np.full(1 << len(part), -np.inf)
    for inside, choice in zip(part.masks[node], part.choices[node]):
        best[inside] = choice.score
    for bit in range(len(part)):
        without, within = best.reshape(-1, 2, 1 << bit).transpose(1, 0, 2)
        np.maximum(within, without, out=within)
    return best


def _totals(alone: np.ndarray) -> np.ndarray:
    """Return F(S) for every subset S."""
    m = len(alone)
    subsets = np.arange(1 << m)
    sizes = np.bitwise_count(subsets)
    by_size = np.split(np.argsort(sizes, kind="stable"), np.cumsum(np.bincount(sizes))[:-1])
    total = np.full(1 << m, -np.inf)
    total[0] = 0.0
    for layer in by_size[1:]:
        for last in range(m):
            ending = layer[layer >> last & 1 == 1]
            total[ending] = np.maximum(total[ending], _step(total, alone, ending, last))
    return total
