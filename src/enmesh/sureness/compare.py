"""compare: do two recordings, conditions or groups differ in their links?

After the network comparison of IDTxl (Wollstadt et al. 2019, Journal of Open Source Software 4, 1081): transfer
entropies on the union of parents, and exchanged labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import comb
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.sources import is_source
from enmesh.errors import InputError, hazard, refuse_if
from enmesh.inference.infer import infer
from enmesh.inference.workers import in_order
from enmesh.network.network import LEVEL, Network
from enmesh.options import names_in, restore, switch, whole
from enmesh.scores.base import Parents, Score
from enmesh.significance import q_of
from enmesh.sureness import units
from enmesh.sureness.group import reached, signed
from enmesh.sureness.units import PairTables, Units
from enmesh.te_matrix import warn_if_too_few

if TYPE_CHECKING:
    import pandas as pd

TOGETHER = 20  # exchanges of labels in one task for a worker
OF_SCORE = {"score", "estimator", "embedding", "alpha", "surrogate", "n_surrogates", "max_lag"}  # its options
GRID = 2000  # values at which the distribution of what chance gives is computed

Freedom = tuple[np.ndarray, np.ndarray]
Asked = tuple[Score, tuple[Parents, ...]]


@dataclass(frozen=True)
class Comparison(PairTables):
    """What grew and what fell; all DataFrames have row drives column.

    Attributes
    ----------
    difference
        Transfer entropy in the second less that in the first, nats, given the parents in either.
    first, second
        The transfer entropies themselves.
    p_value, q_value
        Of the difference being 0, from exchanged labels; q-values count all pairs.
    exchanged
        What was exchanged, in words.
    labels
        What the two sides are called.
    networks
        The networks of both.
    """

    difference: "pd.DataFrame"
    first: "pd.DataFrame"
    second: "pd.DataFrame"
    p_value: "pd.DataFrame"
    q_value: "pd.DataFrame"
    exchanged: str
    labels: tuple[str, str] = ("first", "second")
    networks: tuple[Network, ...] = ()
    tables = ("first", "second", "difference", "p_value", "q_value")

    def __repr__(self) -> str:
        changed = self.links[self.links.q_value <= LEVEL]
        shown = [f"{r.source}->{r.target} {r.difference:+.4g}" for r in changed.itertuples()]
        return f"Comparison({', '.join(shown) or 'no difference'}; {self.exchanged})"


def compare(
    first: Any,
    second: Any,
    n_permutations: int = 999,
    seed: int = 0,
    *,
    paired: bool = False,
    labels: tuple[str, str] | None = None,
    n_jobs: int | None = None,
    progress: Any = None,
    **options: Any,
) -> Comparison:
    """Compare the links of two recordings or of two groups of subjects.

    Everything is standardised. The network of all data together fixes score, estimator and pasts; the networks of
    both sides are inferred with these, and every pair of nodes is measured on either side given the union of the
    target's parents. Labels are then exchanged: of trials or blocks of two recordings, of subjects of two groups,
    within each subject (signs of the differences) where they are paired. All pairs are tested, not links alone.

    Parameters
    ----------
    first, second
        Two recordings (anything `Series` takes), or two lists of them: subjects. Nodes are matched by name.
    n_permutations, seed
        Number of exchanges and their seed; the smallest p-value is ``1 / (1 + n_permutations)``.
    paired, labels
        Whether the lists hold the same subjects in the same order; what the sides are called, by default their files.
    n_jobs, progress, options
        Of `infer`, such as ``score=``.

    Examples
    --------
    >>> import enmesh as em
    >>> before = em.simulate.var("a>b", n=500, coupling=0.4, seed=0)
    >>> after = em.simulate.var("a>b", n=500, coupling=0.1, seed=1)
    >>> found = em.compare(before, after, 199, score=em.TEA(embedding=em.Embedding()))
    >>> bool(found.q_value.loc["a", "b"] < 0.05), bool(found.q_value.loc["b", "a"] < 0.05)
    (True, False)
    """
    whole("n_permutations", n_permutations, 19)
    words = [] if labels is None else names_in("labels", labels)
    refuse_if(len(words) not in (0, 2), f"{len(words)} labels for two sides; give two, as ('before', 'after')")
    sides, subjects = _sides(first, second, paired := switch("paired", paired))
    both = units.pooled(together := [units.pooled(side) for side in sides])
    score = restore(infer(both, seed=seed, n_jobs=n_jobs, **options).options["score"])
    alike = {name: value for name, value in options.items() if name not in OF_SCORE}
    networks = [infer(one, score=score, seed=seed, n_jobs=n_jobs, **alike) for one in together]
    asked, how = (score, units.parents_in(networks)), {"n_jobs": n_jobs, "progress": progress}
    if subjects:
        matched = [[one.select(both.names) for one in side] for side in sides]
        means, p_value, exchanged = _between_subjects(matched, asked, paired, n_permutations, seed, how)
    else:
        means, p_value, exchanged = _between_recordings(together, asked, n_permutations, seed, how)
    _warn_if_too_few(p_value, n_permutations, [*map(len, sides)] if subjects else [], paired)
    parts = (means[1] - means[0], *means, p_value, q_of(p_value))
    files = [Path(side[0].file).stem for side in sides if len(side) == 1 and side[0].file]
    called = (words[0], words[1]) if words else ((files[0], files[1]) if len(set(files)) == 2 else ("first", "second"))
    ordered = tuple(replace(found, names=both.names, series=None) for found in networks)
    change, one, other, p, q = (units.frame(both.names, matrix) for matrix in parts)
    return Comparison(change, one, other, p, q, exchanged, called, ordered)


def _sides(first: Any, second: Any, paired: bool) -> tuple[list[list[Series]], bool]:
    """Return the standardised recordings of both sides, and whether they are subjects."""
    lists = [
        isinstance(side, (list, tuple)) and bool(side)
        and all(isinstance(one, Series) or is_source(one) or getattr(one, "ndim", 0) >= 2 for one in side)
        for side in (first, second)
    ]  # fmt: skip
    if lists[0] != lists[1]:
        raise InputError("one side is a recording and the other a list of them; give two of the same")
    if paired and not lists[0]:
        raise InputError("two recordings have no pairs; give two lists of subjects, or leave paired=True out")
    given = (first, second) if lists[0] else ([first], [second])
    sides = [[units.standardised(recording) for recording in side] for side in given]
    sizes = " and ".join(str(len(side)) for side in sides)
    refuse_if(lists[0] and min(map(len, sides)) < 2, f"{sizes} subjects; each side needs at least 2")
    if paired and len(sides[0]) != len(sides[1]):
        raise InputError(f"{sizes} recordings make no pairs; give one of each subject on both sides")
    return sides, lists[0]


def _between_subjects(
    sides: list[list[Series]], asked: Asked, paired: bool, count: int, seed: int, how: Mapping[str, Any]
) -> tuple[list[np.ndarray], np.ndarray, str]:
    """Return means, p-values of their difference by signs of pairs or labels of subjects, and what was exchanged."""
    given = [[(one, *asked) for one in side] for side in sides]
    each = [np.stack(in_order(units.values, side, what="subjects", **how))[:, 0] for side in given]
    means = [one.mean(0) for one in each]
    if paired:
        return means, signed(each[1] - each[0], seed, sides=2), f"signs of {len(each[0])} pairs exchanged"
    everyone, size = np.concatenate(each), len(each[0])
    rng = np.random.default_rng([seed, 1])
    orders = [np.arange(len(everyone)), *(rng.permutation(len(everyone)) for _ in range(count))]
    differences = np.stack([everyone[o[size:]].mean(0) - everyone[o[:size]].mean(0) for o in orders])
    exchanged = f"labels of {size} and {len(everyone) - size} subjects exchanged"
    return means, reached(differences, sides=2), exchanged


def _between_recordings(
    recordings: list[Series], asked: Asked, count: int, seed: int, how: Mapping[str, Any]
) -> tuple[list[np.ndarray], np.ndarray, str]:
    """Exchange the labels of trials or blocks and measure both sides again.

    Blocks are never joined, so that all labellings have the same number of windows.
    """
    few = any(len(one.trials) < units.MANY_TRIALS for one in recordings)
    block = max(units.block_length(one, {"score": asked[0]}) for one in recordings) if few else None
    cut = [units.units_of(one, block, {}) for one in recordings]
    sizes = [len(one) for one in cut]
    offset = len(cut[0].series.trials)
    pieces = [*cut[0].pieces, *((trial + offset, start, stop) for trial, start, stop in cut[1].pieces)]
    joined = Units(units.pooled([one.series for one in cut]), tuple(pieces), cut[0].block)
    starts = range(0, count + 1, TOGETHER)
    tasks = [(joined, sizes[0], asked, seed, start, min(start + TOGETHER, count + 1)) for start in starts]
    found = np.concatenate(in_order(_exchanged, tasks, what="exchanges", each=TOGETHER, **how))
    differences = found[:, 1, 0] - found[:, 0, 0]
    true = [(side[1], side[2]) for side in found[0]]
    p_value = np.fmax(reached(differences, sides=2), least_p(differences[0], *true))
    kind = "trials" if cut[0].block is None else "blocks"
    exchanged = f"labels of {sizes[0]} and {sizes[1]} {kind} exchanged"
    return [found[0, 0, 0], found[0, 1, 0]], p_value, exchanged


def _exchanged(whole: Units, size: int, asked: Asked, seed: int, start: int, stop: int) -> np.ndarray:
    """Return `units.values` of both sides, ``(exchange, 2, 3, M, M)``; exchange 0 is the true one."""
    found = []
    for i in range(start, stop):
        order = np.arange(len(whole)) if i == 0 else np.random.default_rng([seed, i]).permutation(len(whole))
        parts = order[:size].tolist(), order[size:].tolist()
        found.append([units.values(whole.take(part, joined=False), *asked) for part in parts])
    return np.array(found)


def least_p(difference: np.ndarray, first: Freedom, second: Freedom) -> np.ndarray:
    """Return the probability of a difference as far from 0 if the link is in neither; NaN where it is not known.

    Two recordings of the same link differ at least as much as two without it, so that no p-value can be smaller. That
    of exchanged labels is where the recordings differ in another link of the same target: the mixtures may have
    less of a chance link than either recording has, and then all their differences are near 0.

    ``difference`` is of transfer entropies less their mean under chance; ``first`` and ``second`` are the degrees of
    freedom and the samples of either side (`units.values`).
    """
    from scipy.special import chdtrc, chdtri

    shares = (np.arange(GRID) + 0.5) / GRID

    def beyond(size: np.ndarray, one: Freedom, other: Freedom) -> Any:
        """Return P(the corrected value of one exceeds that of the other by ``size``)."""
        (dof, samples), (others, count) = ([part[..., None] for part in side] for side in (one, other))
        below = (chdtri(others, shares) - others) / (2 * count)
        return chdtrc(dof, np.maximum(2 * samples * (size[..., None] + below) + dof, 0.0)).mean(-1)

    size = np.abs(difference)
    return np.minimum(beyond(size, first, second) + beyond(size, second, first), 1.0)


def _warn_if_too_few(p_value: np.ndarray, count: int, subjects: list[int], paired: bool) -> None:
    """Say where no difference can have a q-value up to `LEVEL`, for want of permutations or of subjects."""
    pairs = int(np.isfinite(p_value).sum())
    if subjects:
        ways = 2 ** subjects[0] if paired else comb(sum(subjects), subjects[0])
        # Where sides can be swapped, the other way round is as far from 0.
        least = pairs * (2 if paired or subjects[0] == subjects[1] else 1) / ways
        if least > LEVEL:
            hazard(
                f"{' and '.join(map(str, subjects))} subjects can be exchanged in {ways} ways, and no difference among "
                f"{pairs} pairs can have a q-value below {min(1.0, least):.2g}, however large it is: "
                "measure more subjects"
            )
    if not paired:
        warn_if_too_few(count, pairs, LEVEL, "permutations", "difference among {} pairs")
