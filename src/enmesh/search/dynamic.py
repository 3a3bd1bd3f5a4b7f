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
    sizes = np.bitwise_count(np.arange(1 << m))
    by_size = np.split(np.argsort(sizes, kind="stable"), np.cumsum(np.bincount(sizes))[:-1])
    total, last = np.full(1 << m, -np.inf), np.zeros(1 << m, np.int8)  # F(S), and the node that comes last
    total[0] = 0.0
    for layer in by_size[1:]:
        for node in range(m):
            ending = layer[layer >> node & 1 == 1]
            rest = ending ^ (1 << node)
            found = total[rest] + alone[node, rest]
            better = found > total[ending]
            total[ending[better]], last[ending[better]] = found[better], node
    order, left = [], (1 << m) - 1
    while left:
        order.append(int(last[left]))
        left ^= 1 << order[-1]
    return order[::-1]


def _best_within(part: Part, node: int) -> np.ndarray:
    """Return B(node, S) for every subset S, indexed by its bits."""
    best = np.full(1 << len(part), -np.inf)
    for inside, choice in zip(part.masks[node], part.choices[node]):
        best[inside] = choice.score
    for bit in range(len(part)):
        without, within = best.reshape(-1, 2, 1 << bit).transpose(1, 0, 2)
        np.maximum(within, without, out=within)
    return best
