"""Several tests of one link at one level: it passes when any of them stands out among its own surrogates.

A linear test finds weak linear links that neighbours miss, neighbours find what no line shows. To test both at half the
level would be safe and wasteful: what they see overlaps. Here the surrogates say what both together may cost.

1. Every member m measures the source and the same s surrogates: T_m(0), T_m(1) ... T_m(s).
2. A member's 1 + s values are put on one scale: their median becomes 0, their quantile at
   1 - (1 - level) / (number of members) becomes 1.
3. Of each of the 1 + s columns the largest over the members counts.

If the source says nothing of the target, the columns may come in any order, which is what a surrogate test supposes.
Steps 2 and 3 treat them alike, so the maxima may too, and p = (1 + #{max(s) >= max(0)}) / (1 + s) has exactly the level
it says, however the members depend on each other. Maxima are written on the scale of the first member, in nats.
"""

import math
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import numpy as np

from enmesh.errors import InputError
from enmesh.estimators.base import Estimator, Prepared, Surrogates
from enmesh.estimators.gaussian import Gaussian, NothingLeft
from enmesh.estimators.ksg import KSG
from enmesh.options import option
from enmesh.surrogates import Draw


def combine(values: np.ndarray, nulls: np.ndarray, level: float = 0.99) -> tuple[float, np.ndarray]:
    """Make one test of several: return a value and a null distribution ``(s,)``, on the scale of the first member.

    ``values (m,)`` are what the members measure, ``nulls (m, s)`` what they measure of the surrogates, which are the
    same for all. Members are put on one scale at ``level``: best the one that is tested at, but any gives a test of
    the right size.

    >>> import numpy as np
    >>> value, null = combine(np.array([0.1, 9.0]), np.array([[0.0, 0.1, 0.2], [1.0, 2.0, 3.0]]))
    >>> bool(value > null.max())  # the second member stands out
    True
    """
    pooled = np.column_stack([values, nulls])
    members, count = pooled.shape
    ranked = np.sort(pooled, axis=1)
    place = math.ceil(round((1 - (1 - level) / members) * count, 9))
    place = max(1, min(place, count - 1))  # the largest would make all members' largest the same
    middle, high = np.median(ranked, axis=1), ranked[:, place - 1]
    spread = np.where(high > middle, high - middle, 1.0)
    largest = ((pooled - middle[:, None]) / spread[:, None]).max(axis=0)
    scaled = middle[0] + largest * spread[0]
    return float(scaled[0]), scaled[1:]


@option
class Combined(Estimator):
    """Several estimators whose tests are made one: a link passes when any member finds it, at one level.

    As an estimate the first member speaks: `cmi` is its value. The others join in tests by surrogates. Columns are
    scaled as the first member asks; if it takes residuals (``KSG(residual="quadratic")``), a linear member is given
    the same features of the condition, so that what they explain does not fool it. Where these determine the target
    wholly, as of a map without noise, a linear member has nothing to say and the others decide alone.

    Parameters
    ----------
    members
        Two or more estimators of numbers, the one that estimates first.
    level
        Confidence level at which members are put on one scale; best the score's alpha.

    >>> import enmesh as em
    >>> series = em.simulate.var("a>b, b>c", n=500, seed=0)
    >>> em.infer(series, estimator=em.Combined(), max_lag=1).parents["b"]
    ('a',)
    """

    cli_name = "combined"
    summary = "links that may be linear or not: nearest neighbours and a linear test at one level"
    references = KSG.references

    members: tuple[Estimator, ...] = (KSG(residual="quadratic"), Gaussian())
    level: float = 0.99

    def __post_init__(self) -> None:
        object.__setattr__(self, "members", tuple(self.members))
        if len(self.members) < 2 or any(m.discrete or isinstance(m, Combined) for m in self.members):
            needed = "two or more estimators of numbers, such as KSG() and Gaussian()"
            raise InputError(f"these members cannot be combined; give {needed}")
        if not 0 < self.level < 1:
            advice = "give a number between 0 and 1, such as 0.99"
            raise InputError(f"level={self.level!r} is not possible; {advice}")
        if len({getattr(member, "normalise", "none") == "rank" for member in self.members}) > 1:
            raise InputError("members differ in normalise='rank'; give it to all members or to none")
        references = dict.fromkeys(work for member in self.members for work in member.references)
        object.__setattr__(self, "references", tuple(references))

    @property
    def releases_gil(self) -> bool:  # type: ignore[override]
        """Whether the first member, which takes longest, does."""
        return self.members[0].releases_gil

    @property
    def at_once(self) -> int:
        """As the first member."""
        return self.members[0].at_once

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Scale as the first member asks."""
        return self.members[0].condition(column, index, name)

    def sentence(self) -> str:
        """Say all members."""
        first, *others = (member.sentence() for member in self.members)
        return f"{first}; links were tested by this and by {' and by '.join(others)} at one level"

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        first = self.members[0].prepare(y, z, times=times)
        explained = getattr(first, "features", z)
        members = [first]
        for member in self.members[1:]:
            known = explained if isinstance(member, Gaussian) else z
            with suppress(NothingLeft):  # no line could add to what is known: the other members decide alone
                members.append(member.prepare(y, known, times=times))
        return _PreparedCombined(members, self.level)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Return the first member's."""
        return self.members[0].entropy(x, local=local)


class _PreparedCombined(Prepared):
    all_at_once: ClassVar[bool] = True

    def __init__(self, members: list[Prepared], level: float):
        super().__init__(members[0].y, members[0].z)
        self.members, self.level = members, level

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        return self.members[0]._cmi(x)

    def _local(self, x: np.ndarray) -> np.ndarray:
        return self.members[0]._local(x)

    def surrogates(self, x: np.ndarray, draw: Draw, stream: int, choose: int = 0) -> Surrogates:
        return _CombinedSurrogates(self, x, draw, stream, choose)


class _CombinedSurrogates(Surrogates):
    """Answers are those of the combined test, which needs all surrogates at once; members choose their own columns."""

    _prepared: _PreparedCombined

    def ask(self, first: int, count: int, itself: bool = False) -> Callable[[], np.ndarray]:
        if first or not itself:
            told = "a combined test asks about the source and all its surrogates at once"
            raise InputError(f"{told}; ask from the first on, with itself=True")
        how = self._x, self._draw, self._stream, self._choose
        asked = [member.surrogates(*how).ask(first, count, itself) for member in self._prepared.members]

        def answers() -> np.ndarray:
            values = np.stack([answer() for answer in asked])
            value, null = combine(values[:, 0], values[:, 1:], self._prepared.level)
            return np.concatenate([[value], null])

        return answers
