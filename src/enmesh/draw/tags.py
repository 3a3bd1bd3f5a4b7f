"""Where the lags of the arrows are written: on the shaft, or beside it where they would hide it.

Words lie on no node, no head and no other words. On a shaft they leave at least half of it to be seen, and some of it
on both sides, so that every arrow shows where it comes from and where it goes.
"""

from collections.abc import Mapping

import numpy as np

from enmesh.draw.shapes import THICK, Edge, along_line, headed, sampled, walked

SIZE = 0.5  # of the text
HEIGHT, PAD = 0.5, 0.24  # of the words, and their room to the left and right together
CHARACTER = 0.64 * SIZE  # width of a digit; commas and blanks take half of it, an ellipsis one and a half
SEEN = 0.6  # length of the shaft that is seen before and after words on it
TAIL = 0.3  # length of the shaft that no words hide where it leaves its node
MOST_HIDDEN = 0.5  # share of the shaft that words on it may hide
BESIDE = 0.18  # between a shaft's middle and words beside it
STEP = 0.1  # between the points at which an arrow is measured
APART = 0.3  # between words side by side
TOUCH = 0.1  # between words and an end, or the middle, of another arrow, at least
PLACES = 47  # along an arrow


def tag_size(text: str) -> tuple[float, float]:
    """Return the width and height of the words of an arrow."""
    widths = {",": 0.5, " ": 0.5, "…": 1.5, "∿": 1.5}
    return PAD + CHARACTER * sum(widths.get(character, 1.0) for character in text), HEIGHT


def tag_places(
    boxes: np.ndarray, paths: Mapping[Edge, np.ndarray], texts: Mapping[Edge, str], wished: float
) -> tuple[dict[Edge, tuple[float, float]], float]:
    """Return where the middle of each arrow's words is, and the area that they hide of what must be seen.

    ``boxes`` are the corners of the nodes, ``(M, 4, 2)``. Places on the shaft come before those beside it, and those
    near the share ``wished`` of its length before far ones.
    """
    drawn = {edge: headed(sampled(path), THICK) for edge, path in paths.items()} if texts else {}
    shafts = _Shafts({edge: shaft for edge, (shaft, _) in drawn.items()})
    ends = [head for _, head in drawn.values()] + [shaft[: int(TAIL / STEP)] for shaft in shafts.of.values()]
    # Lower left and upper right corners of what no words may hide: nodes, heads and tails; then those of the words.
    taken = [*boxes, *(np.vstack([end - TOUCH, end + TOUCH]) for end in ends)]
    low, high = (np.array([bound(shape, axis=0) for shape in taken]) for bound in (np.min, np.max))
    first, lost = len(low), 0.0
    spots: dict[Edge, tuple[float, float]] = {}
    for edge in sorted(texts, key=lambda edge: (len(shafts.of[edge]), edge)):  # the shortest choose first
        half = np.array(tag_size(texts[edge])) / 2
        places = _places(shafts.of[edge], half, wished)
        hidden = _shared(places, half, low, high) + _hidden(shafts.of[edge], places, half)
        alone = _shared(places, half + 2 * BESIDE, low[first:], high[first:]) == 0
        at = shafts.clearest(edge, places, half, np.flatnonzero(hidden <= hidden.min() + 1e-9), alone)
        lost += float(hidden[at])
        spots[edge] = float(places[at, 0]), float(places[at, 1])
        kept = half + np.array([APART, 0.0])  # two words side by side would read as one
        low, high = np.vstack([low, places[at] - kept]), np.vstack([high, places[at] + kept])
    return spots, lost + shafts.hidden(low[first:], high[first:])


def _places(shaft: np.ndarray, half: np.ndarray, wished: float) -> np.ndarray:
    """Return the places for the words of an arrow, the best first: on it, then above and below or left and right."""
    far = walked(shaft)
    along = np.linspace(0, 1, PLACES + 2)[1:-1]
    along = far[-1] * along[np.argsort(np.abs(along - wished), kind="stable")]
    before, on, after = (along_line(shaft, along + step) for step in (-STEP, 0, STEP))
    aside = np.abs(after - before)[:, ::-1] + 1e-9
    aside /= np.hypot(*aside.T)[:, None]
    # Moved so far left or right, up or down, words touch the shaft no more.
    off = (aside @ half + BESIDE)[:, None] / aside
    off = np.where(off - half <= (off - half).min(1)[:, None], off, 0.0)
    return np.concatenate([on, np.stack([on + off, on - off], axis=1).reshape(-1, 2)])


def _shared(places: np.ndarray, half: np.ndarray, low: np.ndarray, high: np.ndarray) -> np.ndarray:
    """Return for each place the area that words there share with the boxes from ``low`` to ``high``."""
    near = ((low < places.max(0) + half) & (high > places.min(0) - half)).all(1)
    right = np.minimum((places + half)[:, None], high[near])
    left = np.maximum((places - half)[:, None], low[near])
    return np.clip(right - left, 0, None).prod(2).sum(1)


def _hidden(shaft: np.ndarray, places: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Return for each place the length of the shaft that words there hide; 0 where enough of it is seen."""
    covered = (np.abs(places[:, None] - shaft) < half).all(2)
    ends = int(SEEN / STEP) + 1
    seen = ~covered[:, :ends].any(1) & ~covered[:, -ends:].any(1) & (covered.mean(1) <= MOST_HIDDEN)
    return np.where(seen, 0.0, STEP * covered.sum(1))


class _Shafts:
    """Points of all shafts, a `STEP` apart, from left to right, and the number of the arrow that each is of."""

    def __init__(self, drawn: Mapping[Edge, np.ndarray]):
        self.of: dict[Edge, np.ndarray] = {}
        for edge, shaft in drawn.items():
            far = walked(shaft)[-1]
            self.of[edge] = along_line(shaft, np.linspace(0, far, max(2, round(far / STEP) + 1)))
        of, self.number = self.of, {edge: at for at, edge in enumerate(drawn)}
        points = np.concatenate([np.empty((0, 2)), *of.values()])
        order = np.argsort(points[:, 0], kind="stable")
        self.points = points[order]
        self.whose = np.repeat(np.arange(len(of)), [len(shaft) for shaft in of.values()])[order]

    def inside(self, low: np.ndarray, high: np.ndarray) -> np.ndarray:
        """Return which points lie in a box."""
        first, last = np.searchsorted(self.points[:, 0], [low[0], high[0]])
        up = self.points[first:last, 1]
        return first + np.flatnonzero((up > low[1]) & (up < high[1]))

    def clearest(self, edge: Edge, places: np.ndarray, half: np.ndarray, free: np.ndarray, alone: np.ndarray) -> int:
        """Return the first of the ``free`` places where no other arrow passes, else that where the fewest points lie.

        Beside their arrow, words must be nearer to it than to others, and ``alone``, to be better off than on it.
        """
        fewest, best, on_it = np.inf, int(free[0]), bool((free < PLACES).any())
        for at in free.tolist():
            reach = half + (TOUCH if at < PLACES else BESIDE)
            met = (self.whose[self.inside(places[at] - reach, places[at] + reach)] != self.number[edge]).sum()
            if met == 0 and (at < PLACES or alone[at]):
                return at
            if met < fewest and (at < PLACES or not on_it):
                fewest, best = met, at
        return best

    def hidden(self, low: np.ndarray, high: np.ndarray) -> float:
        """Return the length of all shafts that words, in boxes from ``low`` to ``high``, hide beyond what they may."""
        covered = np.zeros(len(self.points), bool)
        for corners in zip(low, high):
            covered[self.inside(*corners)] = True
        hidden = np.bincount(self.whose[covered], minlength=len(self.of))
        whole = np.bincount(self.whose, minlength=len(self.of))
        return STEP * float(np.clip(hidden - MOST_HIDDEN * whole, 0, None).sum())
