"""Which strategy answers a batch of questions: a model of what each costs, without trying them.

The logarithm of the CPU time per point is linear in a few features of the problem. Its coefficients were fitted once,
to times that `benchmarks/neighbours_model.py` measures, and are kept here, so that the same problem is answered in the
same way on every run and every machine. Counts are exact either way: a poor choice costs time alone.

To see the choices::

    logging.getLogger("enmesh.neighbours").setLevel(logging.DEBUG)
"""

import logging
from math import exp, log, log1p
from typing import NamedTuple

logger = logging.getLogger("enmesh.neighbours")

GROUP = 32  # questions that walk a list together
FEW = 4  # fewer are never worth the kernels of the lists, which take a while to compile


class Workload(NamedTuple):
    """What a question costs depends on: numbers of points and of axes, and how far it looks.

    ``k`` neighbours are looked for, or ``in_z`` points lie within the radius in z, on average.
    """

    n: int
    dx: int
    dy: int
    dz: int
    k: int = 0
    in_z: float = 0.0

    @property
    def dims(self) -> int:
        """All axes."""
        return self.dx + self.dy + self.dz


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


def tree_features(p: Workload) -> tuple[float, ...]:
    """Return what a question by trees depends on: KSG's, or the box's."""
    if p.k:
        return 1.0, log(p.n), log(p.k), log(p.dims), p.dims, p.dims * log(p.n)
    return 1.0, log(p.n), log1p(p.in_z), log(p.dims), p.dims, p.dz


def list_features(p: Workload) -> tuple[float, ...]:
    """Return what listing and walking depend on; about n (k/n)^(dz/d) points are within the k-th distance in z."""
    if not p.k:
        return 1.0, log(p.n), log1p(p.in_z), log(p.dx), p.dz
    sparse = log(p.n / p.k)
    in_z, in_yz = sparse * p.dz / p.dims, sparse * (p.dy + p.dz) / p.dims
    return 1.0, log(p.n), in_z, in_yz, log(p.k), log(p.dx), p.dims


def cost(p: Workload) -> Cost:
    """Return what the model expects of a problem."""
    trees, listing, walk = (KSG_TREES, KSG_LISTING, KSG_WALK) if p.k else (BOX_TREES, BOX_LISTING, BOX_WALK)
    parts = (trees, tree_features(p)), (listing, list_features(p)), (walk, list_features(p))
    return Cost(*(p.n * exp(sum(c * f for c, f in zip(*part, strict=True))) for part in parts))


def for_lists(p: Workload, b: int) -> int:
    """Return how many of ``b`` questions lists should answer: none, all, or all but those that fill no group."""
    if b < FEW:
        return 0
    spent = cost(p)
    seconds = {count: _mixed(spent, count, b) for count in (0, b - b % GROUP, b)}
    best = min(seconds, key=lambda count: seconds[count])
    logger.debug(
        "%s, %d questions: %d by lists, %d by trees; the model expects %.3g s, trees alone %.3g s, lists alone %.3g s",
        p, b, best, b - best, seconds[best], seconds[0], seconds[b],
    )  # fmt: skip
    return best


def _mixed(spent: Cost, count: int, b: int) -> float:
    by_lists = spent.listing + -(-count // GROUP) * spent.walk if count else 0.0
    return by_lists + (b - count) * spent.question
