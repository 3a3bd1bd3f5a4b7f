"""Which strategy answers a batch of questions: a model of what each costs, without trying them.

The logarithm of the CPU time per point is linear in a few features of the problem. Its coefficients were fitted once,
to times that `benchmarks/neighbours_model.py` measures, and are kept here, so that the same problem is answered in the
same way on every run and every machine. Counts are exact either way: a poor choice costs time alone.

To see the choices::

    logging.getLogger("enmesh.neighbours").setLevel(logging.DEBUG)
"""

import logging
import math
from typing import NamedTuple

log = logging.getLogger("enmesh.neighbours")

GROUP = 32  # questions that walk a list together
FEW = 4  # fewer are never worth the kernels of the lists, which take a while to compile


class Problem(NamedTuple):
    """What a question costs depends on: numbers of points and of axes, and how far it looks.

    ``k`` neighbours are looked for, or ``in_z`` points lie within the radius in z, on average.
    """

    n: int
    dx: int
    dy: int
    dz: int
    k: int = 0
    in_z: float = 0.0


class Cost(NamedTuple):
    """Seconds, of one question by trees, of listing the neighbours, and of one walk along the lists."""

    question: float
    listing: float
    walk: float


# One coefficient for each of the features below; printed by benchmarks/neighbours_model.py.
KSG_TREES = (-14.693, -0.065, 0.341, 0.825, -0.339, 0.054)
KSG_LISTING = (-15.823, 0.68, -0.04, -0.218, 0.034, -0.285, 0.055)
KSG_WALK = (-16.042, 0.838, -0.276, -0.348, 0.202, -0.195, 0.106)
BOX_TREES = (-17.595, 0.113, 0.333, 0.457, -0.004, 0.247)
BOX_LISTING = (-17.143, -0.067, 0.789, -0.217, 0.269)
BOX_WALK = (-16.659, 0.245, 0.293, 0.561, 0.042)


def tree_features(p: Problem) -> tuple[float, ...]:
    """Return what the cost of a KSG question by trees depends on."""
    dims = p.dx + p.dy + p.dz
    return 1.0, math.log(p.n), math.log(p.k), math.log(dims), dims, dims * math.log(p.n)


def list_features(p: Problem) -> tuple[float, ...]:
    """Return what listing and walking cost: about n (k/n)^(dz/d) points lie within the k-th distance in z."""
    dims, sparse = p.dx + p.dy + p.dz, math.log(p.n / p.k)
    in_z, in_yz = sparse * p.dz / dims, sparse * (p.dy + p.dz) / dims
    return 1.0, math.log(p.n), in_z, in_yz, math.log(p.k), math.log(p.dx), dims


def box_tree_features(p: Problem) -> tuple[float, ...]:
    """Return what the cost of counting in a box by trees depends on."""
    dims = p.dx + p.dy + p.dz
    return 1.0, math.log(p.n), math.log1p(p.in_z), math.log(dims), dims, p.dz


def box_list_features(p: Problem) -> tuple[float, ...]:
    """Return what the cost of counting in a box by lists depends on."""
    return 1.0, math.log(p.n), math.log1p(p.in_z), math.log(p.dx), p.dz


def cost(p: Problem) -> Cost:
    """Return what the model expects of a problem."""
    if p.k:
        trees, lists = tree_features(p), list_features(p)
        return Cost(
            _seconds(p, KSG_TREES, trees), _seconds(p, KSG_LISTING, lists), _seconds(p, KSG_WALK, lists)
        )
    trees, lists = box_tree_features(p), box_list_features(p)
    return Cost(_seconds(p, BOX_TREES, trees), _seconds(p, BOX_LISTING, lists), _seconds(p, BOX_WALK, lists))


def _seconds(p: Problem, coefficients: tuple[float, ...], features: tuple[float, ...]) -> float:
    return p.n * math.exp(sum(c * f for c, f in zip(coefficients, features, strict=True)))


def for_lists(p: Problem, b: int) -> int:
    """Return how many of ``b`` questions lists should answer: none, all, or all but those that fill no group."""
    if b < FEW:
        return 0
    spent = cost(p)
    full = b - b % GROUP
    seconds = {count: _mixed(spent, count, b) for count in (0, full, b)}
    best = min(seconds, key=lambda count: seconds[count])
    log.debug(
        "%s, %d questions: %d by lists, %d by trees; the model expects %.3g s, trees alone %.3g s, lists alone %.3g s",
        p, b, best, b - best, seconds[best], seconds[0], seconds[b],
    )  # fmt: skip
    return best


def _mixed(spent: Cost, count: int, b: int) -> float:
    by_lists = spent.listing + -(-count // GROUP) * spent.walk if count else 0.0
    return by_lists + (b - count) * spent.question
