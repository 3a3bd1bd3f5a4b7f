"""Penalties from independence tests: what a set of parents must beat, parent by parent (de Campos 2006, MIT).

A parent j adds the chi-square quantile of its degrees of freedom given the parents before it. For discrete data these
depend on the order; the order that costs most is taken, so that the penalty belongs to the set.
"""

from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import permutations

from enmesh.errors import InputError

# From here on, parents in decreasing order of their number of states give the largest penalty (de Campos, Theorem 2).
SORTED_IS_LARGEST = 0.6
MOST_PERMUTED = 7


@lru_cache(maxsize=100_000)
def chi2_quantile(alpha: float, dof: int) -> float:
    """Return the value a chi-square variable with ``dof`` degrees of freedom stays under with probability alpha."""
    from scipy.special import gammaincinv

    return 2 * float(gammaincinv(dof / 2, alpha)) if alpha > 0 else 0.0


def largest_sum(
    parents: tuple[int, ...],
    states: Callable[[int], int],
    quantile: Callable[[int, tuple[int, ...]], float],
    alpha: float,
    known: Callable[[tuple[int, ...]], float | None] = lambda earlier: None,
) -> float:
    """Return the largest sum over orders of ``quantile(parent, earlier parents)``.

    ``states(j)`` is the number of joint states of parent j (its width, for continuous ones); ``known`` returns the sum
    of a smaller set, if it has been asked for.
    """
    ordered = tuple(sorted(parents, key=lambda j: (-states(j), j)))
    orders: Iterable[tuple[int, ...]] = [ordered]
    if ordered and alpha >= SORTED_IS_LARGEST and (before := known(tuple(sorted(ordered[:-1])))) is not None:
        return before + quantile(ordered[-1], ordered[:-1])
    if alpha < SORTED_IS_LARGEST and len({states(j) for j in parents}) > 1:
        if len(parents) > MOST_PERMUTED:
            many = f"{len(parents)} parents have too many orders to find the largest penalty"
            use = f"use one of {SORTED_IS_LARGEST} or more, or at most {MOST_PERMUTED} parents"
            raise InputError(f"{many} at alpha={alpha:g}; {use}")
        orders = permutations(ordered)
    return max(sum(quantile(j, order[:at]) for at, j in enumerate(order)) for order in orders)
