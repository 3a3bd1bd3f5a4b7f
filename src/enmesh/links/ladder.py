"""The test of a link: does a source, at any lag, help to predict a target, given everything else that is known?

1. **Known.** The target is regressed on its own past and on the other sources (`known`). Functions of the residual are
   the responses: location, spread, shape.
2. **Features** of a lagged variable of the source: its value, its square, functions of its rank, its products with
   known variables and with slow time, and a power of the size of its normal score (spread). A weighted regression
   weighs them too.
3. **Rungs.** A rung is one multivariate regression of responses on features, with Wilks' lambda and Rao's F. There are
   five for each lag: linear (its value; location), quadratic (square and products too; location), spread (normal score
   and its power; spread), functions (of its rank; location and shapes), and shape (normal score, and the product with
   the last own value; location and shapes). A sixth is linear in all lags of the source together. Those of the location
   alone are weighted where that pays (`known`). The noise may depend on what a source is multiplied by. Rungs with
   products therefore use the covariance that their correlations then have (White 1980).
4. **One p-value.** The Cauchy combination test (Liu and Xie 2020) combines the p-values of all rungs and lags. It is
   valid for dependent tests. The linear rung has most weight if the linear model of the target is the best one.
5. **Chance.** If that p-value is at most `LOOK`, the source is shifted in a circle `SHIFTS` times. The statistic is
   divided by the ratio of its mean over the shifts to its expected value, if the ratio is larger than 1. Heavy tails
   of responses and features lower the degrees of freedom (Mardia 1971).
6. **Within one sample.** If a drives b and b drives c in less than one sample, a can look like a source of c. If the
   present values of other sources depend on the residual, the source is tested given these values too. The larger
   p-value counts.
7. **Margin.** Known sources are not known exactly. The null hypothesis is that a source explains at most a share of
   what they explain, times the share of the source that known variables explain (`known.IMPRECISION`).
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.estimators.wilks import SMALLEST, effective, tails, wilks_p
from enmesh.links.functions import FUNCTIONS, orthonormal
from enmesh.links.known import Known
from enmesh.links.samples import Samples

# Weights of the rungs: linear, quadratic, spread, functions, shape; where a line is the best basis, and elsewhere.
# Chosen on networks of Novelli et al. (2019), seeds 52000 to 52005. (Maps of 40 nodes, seeds 320 to 327: F1 .940, with
# equal weights .931.)
WEIGHTS = {True: (0.75, 0.08, 0.07, 0.05, 0.05), False: (0.15, 0.30, 0.15, 0.10, 0.30)}
LINEAR = len(WEIGHTS[True])  # place of the rung that is linear in all lags
TOGETHER = 0.05  # weight of all lags together
SHIFTS = 100
"""Circular shifts. (AR .98, N = 200 and 500, nominal 10 per 1,000: 100 shifts 7.5; 30 shifts and a tolerance of two
standard errors 25.)"""
FEW, CLEAR = (20, 1e-9)  # shifts that are made first; they are enough for p-values beyond `LOOK`, and up to this
LOOK = 0.05  # p-value up to which shifts are made: no decision is taken on larger ones
CAPPED = 0.99  # p-values are combined up to this (truncated Cauchy: Fang et al. 2023)
ALIVE = 1e-6  # share of a feature's size that must be left by what is known
SINGLE = np.float32  # precision of features that are shifted, or asked roughly
ROUNDED = 1e-4  # share of their size that must be left then
AT_ONCE = 100_000  # values of lagged variables whose features are made at once (memory)
GOLDEN = (5**0.5 - 1) / 2


class Chance(NamedTuple):
    """How a statistic differs from its formula by chance: arguments of `wilks_p`."""

    wider: float = 1.0
    shifts: float = np.inf
    tails: float = 1.0


FORMULA = Chance()


class Rung(NamedTuple):
    """One regression of each candidate: -ln of Wilks' lambda, number of features, number of responses.

    The p-value is that of ``even`` times the ratio. That allows for noise that depends on what a source is multiplied
    by; without products ``even`` is 1 (see `_evening`). ``shared`` is the share of the source that is known.
    """

    ratio: np.ndarray
    features: np.ndarray
    responses: int
    even: np.ndarray
    shared: np.ndarray

    def part(self, some: slice) -> "Rung":
        """Return the rung of some of the candidates."""
        return Rung(self.ratio[some], self.features[some], self.responses, self.even[some], self.shared[some])

    def and_more(self, other: "Rung") -> "Rung":
        """Return the rung of these candidates and of others."""
        names = ("ratio", "features", "even", "shared")
        ratio, features, even, shared = (np.append(getattr(self, k), getattr(other, k)) for k in names)
        return Rung(ratio, features, self.responses, even, shared)


class Tested(NamedTuple):
    """Test of one source: value in nats, p-value, strongest lag, mean of the value without a link, strongest rung."""

    value: float
    p_value: float
    lag: int
    mean: float
    rung: int


class Turns(NamedTuple):
    """Circular shifts of samples, of which the first ``circle`` are a circle."""

    circle: int
    shifts: tuple[int, ...]

    def some(self, which: slice) -> "Turns":
        """Return some of the shifts."""
        return self._replace(shifts=self.shifts[which])


def combined(p: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the Cauchy combination of p-values along the last axis.

    >>> combined(np.array([0.01, 0.01]), np.array([0.5, 0.5])).round(4).item()
    0.01
    """
    total, size = (weights / np.tan(np.pi * np.clip(p, 1e-300, CAPPED))).sum(-1), np.sum(weights, -1)
    found = np.arctan2(1.0, total / np.where(size > 0, size, 1)) / np.pi
    return np.where(size > 0, np.maximum(found, SMALLEST), 1.0)


def rungs(known: Known, candidates: Sequence[Lagged], turns: Turns | None = None, joint: bool = False) -> list[Rung]:
    """Return the five rungs of every lagged variable; if ``joint`` or shifted in a circle, of all together."""
    parts, found = len(candidates) if joint or turns else 1, []
    q = len(known.responses)
    for view, (basis, responses) in enumerate(known.views):
        features = _features(known, candidates, view, turns)
        basis, responses = (rows.astype(features.dtype, copy=False) for rows in (basis, responses))
        size = features.shape[2]
        features = features.reshape(-1, parts * size, known.n)
        explained, told = features @ basis.T, features @ responses.T  # one product each: alone the same in every bit
        products = (features @ features.transpose(0, 2, 1)).astype(float)
        whole = np.einsum("cmm->cm", products).copy()
        products -= explained @ explained.transpose(0, 2, 1)
        left = np.einsum("cmm->cm", products).copy()
        alive = left > (ALIVE if features.dtype == float else ROUNDED) * np.maximum(whole, 1e-12)
        shared = _shared(known, left[:, ::size].sum(1), whole[:, ::size].sum(1))
        unit = np.where(alive, 1 / np.sqrt(np.where(alive, left, 1)), 0)
        products = products * unit[:, :, None] * unit[:, None, :]
        told = told * unit[:, :, None]
        for of, chosen, some in rung_sets(size, q):
            if of == view:
                every = [part * size + i for part in range(parts) for i in chosen]
                products_alone = parts == 1 and len(known.partners) and size - 1 in chosen
                evening = _evening(known, view) if products_alone else None
                found.append(_rung(products, told[:, :, some], alive, every, evening)._replace(shared=shared))
    return found


def one_by_one(known: Known, candidates: Sequence[Lagged]) -> np.ndarray:
    """Return the p-value of each lagged variable: its five rungs combined, without circular shifts."""
    made = rungs(known, candidates)
    return combined(p_values(known, made), weights_of(known, made))


def p_values(known: Known, made: Sequence[Rung], chances: Sequence[Chance] | None = None) -> np.ndarray:
    """Return p-values by Rao's F ``(candidates, rungs)``, corrected by what is known of chance."""
    ratio = np.stack([rung.ratio * rung.even for rung in made], axis=-1)
    features, responses = np.stack([rung.features for rung in made], axis=-1), np.array([r.responses for r in made])
    margin = known.margin * np.stack([rung.shared for rung in made], axis=-1)
    wider, shifts, tail = np.array(chances or [FORMULA] * len(made)).T
    return wilks_p(ratio, features, responses, known.n - known.rank, wider, shifts, tails=tail, margin=margin)


def weights_of(known: Known, made: Sequence[Rung]) -> np.ndarray:
    """Return the weight of every rung of each candidate; one without features or responses (two states) has none."""
    return np.array(WEIGHTS[known.linear]) * (np.stack([rung.features for rung in made], axis=-1) > 0)


def rung_sets(size: int, q: int) -> tuple[tuple[int, list[int], slice], ...]:
    """Return of each rung its view, its features of ``size``, and its responses: of ``q``, then that of the spread."""
    one, every = slice(0, 1), [*range(size)]
    return (
        (0, [0], one),
        (0, [0, *every[2:], 1], one),
        (1, [0, FUNCTIONS], slice(q, None)),
        (1, every[:FUNCTIONS], slice(0, q)),
        (1, [0, *every[FUNCTIONS + 1 :]], slice(0, q)),
    )


def regression_of(known: Known, sources: Sequence[Lagged], rung: int) -> tuple[np.ndarray, np.ndarray]:
    """Return what sources add to the basis of a rung, of unit length, and its responses."""
    view, (q, rows) = 0, (len(known.responses), known.n)
    if rung == LINEAR:
        values = known.samples.scale(known.ranked)
        every, some = known.weighted(known.samples.take(values, sources, known.rows)), slice(0, 1)
    else:
        view = int(rung > 1)
        features = _features(known, sources, view, None)[0]
        _, which, some = rung_sets(features.shape[1], q)[rung]
        every = features[:, which].reshape(-1, rows)
    basis, responses = known.views[view]
    left = every - (every @ basis.T) @ basis
    size, whole = np.einsum("ij,ij->i", left, left), np.einsum("ij,ij->i", every, every)
    added = orthonormal(left[size > ALIVE * np.maximum(whole, 1e-12)])
    return added[np.abs(added).max(axis=1, initial=0) > 0], responses[some]


def local_values(known: Known, sources: Sequence[Lagged], found: Tested, joint: bool) -> np.ndarray:
    """Return one value per sample: log-likelihood ratios of Gaussian responses. Their mean is the value of the link."""
    chosen = sources if joint or found.rung == LINEAR else [v for v in sources if v.lag == found.lag]
    basis, responses = regression_of(known, chosen, found.rung)
    left = responses - (responses @ basis.T) @ basis
    after = left @ left.T + 1e-12 * np.eye(len(left))
    moved = (responses**2).sum(0) - np.einsum("in,ij,jn->n", left, np.linalg.inv(after), left)
    values = 0.5 * (known.n * moved - np.linalg.slogdet(after)[1])
    return values * (found.value / max(float(values.mean()), 1e-12))


def _features(known: Known, candidates: Sequence[Lagged], view: int, turns: Turns | None) -> np.ndarray:
    """Return the features of a view, ``(shifts or 1, candidates, :, n)``.

    Of the location: value, square, products with known variables. Of the shape: functions, spread, and the product with
    the last own value.
    """
    samples, rows, partners = known.samples, known.rows, known.partners
    whole = samples.take(samples.every if view else samples.scale(known.ranked)[None], candidates, rows)
    moved = shifted(whole.astype(SINGLE), turns) if turns else whole[None]
    if view == 0:
        products = moved * partners.astype(moved.dtype) * known.supported(candidates)
        return known.weighted(np.concatenate([moved, moved**2, products], axis=2))
    if not len(partners):
        return moved[:, :, :-1]
    moved[:, :, -1] = moved[:, :, 0 if known.ranked else -1] * partners[0].astype(moved.dtype)
    moved[:, :, -1] *= known.supported(candidates)[:, 0]
    return moved


def _evening(known: Known, view: int) -> np.ndarray:
    """Return the matrix that makes the correlations of a source and its products with the responses alike by chance.

    Let x be independent of the known variable g and of the response r. If the size of r depends on g, the mean of x g r
    varies more, or less, than the formula says. Its covariance is that of g r (White 1980). The root of the inverse is
    returned, ``(features * responses, the same)``: the value first, then the products.
    """
    if view not in known.evening:
        n, responses = known.n, known.views[view].responses[: 1 if view == 0 else len(known.responses)]
        by = np.concatenate([np.ones((1, n)), known.partners[: 1 if view else None]])
        by = by if view else known.weighted(by)
        by = np.linalg.inv(_root(by @ by.T)) @ by * n**0.5
        each = (by[:, None] * responses).reshape(-1, n)
        size = len(each)  # a few samples of what the formula says keep the inverse finite
        known.evening[view] = np.linalg.inv(_root((n * each @ each.T + size * np.eye(size)) / (n + size)))
    return known.evening[view]


def _shared(known: Known, left: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Return the share of a source's variance that what is known explains, beyond chance."""
    return np.maximum(1 - left / np.maximum(whole, 1e-12) * known.n / max(known.n - known.rank, 1), 0)


def _root(matrix: np.ndarray) -> np.ndarray:
    """Return the symmetric square root of a positive matrix."""
    size, axes = np.linalg.eigh(matrix)
    return (axes * np.sqrt(np.maximum(size, 1e-9 * size[-1]))) @ axes.T


def _rung(
    products: np.ndarray, told: np.ndarray, alive: np.ndarray, chosen: list[int], evening: np.ndarray | None
) -> Rung:
    """Return -ln det(1 - B' S^-1 B) for some of the features; directions that are not there do not count."""
    count, q = len(told), told.shape[2]
    even = np.ones(count)
    if q == 0:
        return Rung(np.zeros(count), np.zeros(count), 1, even, even)
    told = told[:, chosen]
    if len(chosen) == 1:
        explained, features = told.transpose(0, 2, 1) @ told, alive[:, chosen].sum(1)
    else:
        size, axes = np.linalg.eigh(products[:, chosen][:, :, chosen])
        there = size > 1e-4
        features = there.sum(1)
        along = np.einsum("cmr,cmi->cri", axes, told) * np.where(there, np.abs(size) + ~there, 1)[:, :, None] ** -0.5
        along *= there[:, :, None]
        if evening is not None:
            flat, end = (axes @ along).reshape(count, 1, -1), len(evening)  # one product each, as above
            alike = np.concatenate([flat[:, :, :end] @ evening, flat[:, :, end:]], axis=2)  # the square is no product
            whole, after = ((one**2).sum((1, 2)) for one in (flat, alike))
            even = np.where(there.all(1) & (whole > 0), after / np.maximum(whole, 1e-300), 1)
        explained = along.transpose(0, 2, 1) @ along
    left = np.linalg.slogdet(np.eye(q) - explained)[1] if q > 1 else np.log(np.maximum(1 - explained[:, 0, 0], 1e-26))
    return Rung(-np.maximum(left, -60.0), features, q, even, even)


def in_nats(known: Known, source: Lagged, value: float) -> float:
    """Return the transfer entropy: ``value`` (of the rung) for numbers; if all variables are states, by counting.

    If only the target is states, its entropy is the upper limit.
    """
    samples, rows = known.samples, known.rows
    if not samples.states[known.target]:
        return value
    nodes = {known.target, source.node, *(v.node for v in known.variables)}
    (y,) = samples.take(samples.codes, [Lagged(known.target, 0)], rows)
    if not all(samples.states[node] for node in nodes):
        return min(value, joint_entropy(y[None]))
    z, x = samples.take(samples.codes, known.variables, rows), samples.take(samples.codes, [source], rows)
    parts = ([y[None], z], [x, z], [z], [y[None], x, z])
    yz, xz, only, every = (joint_entropy(np.concatenate(part)) for part in parts)
    return max(0.0, yz + xz - only - every)


def joint_entropy(codes: np.ndarray) -> float:
    """Return the plug-in entropy of the joint states of ``codes (variables, n)``, in nats."""
    from scipy.special import entr

    if not len(codes):
        return 0.0
    counts = np.unique(codes, axis=1, return_counts=True)[1]
    return float(entr(counts / counts.sum()).sum())


def together(known: Known, sources: Sequence[Lagged], lags: int, turns: Turns | None = None) -> Rung:
    """Return the linear regression on all ``lags`` of each source together; with ``turns``, for every shift."""
    samples = known.samples
    x = samples.take(samples.scale(known.ranked), sources, known.rows)
    x = known.weighted(shifted(x.astype(SINGLE), turns) if turns else x.reshape(-1, lags, known.n))
    basis, responses = known.views[0]
    explained = (x @ basis.astype(x.dtype, copy=False).T).astype(float)
    told = (x @ responses[0].astype(x.dtype)).astype(float)
    products = x @ x.transpose(0, 2, 1)
    left = products - explained @ explained.transpose(0, 2, 1)
    shared = _shared(known, np.einsum("smm->s", left), np.einsum("smm->s", products))
    size, axes = np.linalg.eigh(left)
    there = size > ALIVE * known.n
    along = np.einsum("smr,sm->sr", axes, told) ** 2 * there / np.where(there, size, 1)
    return Rung(-np.log(np.maximum(1 - along.sum(1), 1e-26)), there.sum(1), 1, np.ones(len(x)), shared)


def shifted(x: np.ndarray, turns: Turns) -> np.ndarray:
    """Return ``x (..., n)`` shifted in a circle, ``(shifts, ..., n)``."""
    (circle, shifts), n = turns, x.shape[-1]
    along = np.concatenate([x[..., :circle]] * 3, axis=-1)
    return np.stack([along[..., circle - shift : circle - shift + n] for shift in shifts])


def turns_of(known: Known, x: np.ndarray) -> Turns:
    """Return circular shifts of ``x (rows, n)``, evenly spread (golden ratio), all larger than the largest lag.

    The circle is closed in the last quarter of the record, where the record is most like its beginning. Otherwise every
    shift of a periodic record would have a break of phase, which the record itself does not have.
    """
    n = x.shape[1]
    span = min(known.samples.max_lag + 1, n // 8)
    ends = np.arange(n - n // 4, n - span + 1)
    apart = sum(((x[:, ends + k] - x[:, [k]]) ** 2).sum(axis=0) for k in range(span))
    circle = int(ends[np.argmin(apart)])
    far = min(known.samples.max_lag + 20, circle // 4)
    share = (0.5 + GOLDEN * np.arange(1, SHIFTS + 1)) % 1
    return Turns(circle, tuple((far + (circle - 2 * far) * share).astype(int).tolist()))


class Ladder:
    """All rungs of one source at all its lags (or of several lagged variables jointly), given what is known."""

    def __init__(
        self, known: Known, sources: Sequence[Lagged], joint: bool = False,
        made: tuple[list[Rung], Rung | None] | None = None,
    ):  # fmt: skip
        self.known, self.sources, self.joint = known, tuple(sources), joint
        alone = joint or len(sources) == 1
        self._rungs, self._together = made or (
            rungs(known, sources, joint=joint),
            None if alone else together(known, sources, len(sources)),
        )

    @classmethod
    def of_all(cls, known: Known, sources: Sequence[int]) -> "Iterator[Ladder]":
        """Yield the rungs of each of many sources at all lags, made together as far as memory allows."""
        lags = known.samples.max_lag
        step = max(1, int(AT_ONCE / (lags * known.n)))
        for first in range(0, len(sources), step):
            part = [at_all_lags(known.samples, j) for j in sources[first : first + step]]
            every = [variable for variables in part for variable in variables]
            made, line = rungs(known, every), together(known, every, lags) if lags > 1 else None
            for k, variables in enumerate(part):
                some = [rung.part(slice(k * lags, (k + 1) * lags)) for rung in made]
                yield cls(known, variables, made=(some, line and line.part(slice(k, k + 1))))

    def combined(self, chances: Sequence[Chance] = (FORMULA,) * (LINEAR + 1)) -> Tested:
        """Return the test with one p-value for all rungs and lags, given the chance of each rung."""
        known = self.known
        p = p_values(known, self._rungs, chances[:LINEAR])
        weights = weights_of(known, self._rungs)
        every, shares = p.ravel(), weights.ravel() / len(p)
        if self._together is not None:
            every = np.append(every, p_values(known, [self._together], chances[LINEAR : LINEAR + 1]))
            shares = np.append(shares * (1 - TOGETHER), TOGETHER)
        best = int((every / np.maximum(shares, 1e-300)).argmin())
        place, rung = divmod(best, p.shape[1])
        if best == p.size:  # all lags together, of which one is named
            place, rung = int(combined(p, weights).argmin()), LINEAR
        made = self._together if rung == LINEAR else self._rungs[rung]
        assert made is not None
        row = 0 if rung == LINEAR else place
        value, features = float(made.ratio[row]) / 2, float(made.features[row] * made.responses)
        source = self.sources[place]
        if not self.joint:
            value = in_nats(known, source, value)
        mean = features * chances[rung].wider / (2 * known.n)
        return Tested(value, float(combined(every, shares)), source.lag, mean, rung)

    def widened(self) -> Tested:
        """Return the test after circular shifts: statistics are divided by their mean excess over chance."""
        first = self.combined()
        if first.p_value > LOOK:
            return first
        known, strongest = self.known, [v for v in self.sources if self.joint or v.lag == first.lag]
        turns = turns_of(known, known.samples.take(known.samples.functions[0], strongest, known.rows))
        independent, heavy = _independent(known, strongest), self._tails(strongest)

        def after(made: Sequence[Rung]) -> Tested:
            wider = [_excess(rung, known.n - known.rank) for rung in made]
            return self.combined([Chance(one, independent, tail) for one, tail in zip([*wider, 1.0], heavy)])

        made = self._moved(turns.some(slice(FEW)), strongest)
        found = after(made)
        if CLEAR < found.p_value <= LOOK and len(turns.shifts) > FEW:
            more = self._moved(turns.some(slice(FEW, None)), strongest)
            found = after([one.and_more(other) for one, other in zip(made, more)])
        return found

    def _moved(self, turns: Turns, strongest: Sequence[Lagged]) -> list[Rung]:
        """Return the rungs after circular shifts of the strongest lagged variables."""
        made = rungs(self.known, strongest, turns)
        if self._together is not None:
            made.append(together(self.known, self.sources, len(self.sources), turns))
        return made

    def _tails(self, strongest: Sequence[Lagged]) -> list[float]:
        """Return how heavy the tails of responses and features of each rung are together (`wilks.tails`)."""
        asked = [(strongest, rung) for rung in range(LINEAR)] + [(self.sources, LINEAR)] * (self._together is not None)
        every = (regression_of(self.known, *one) for one in asked)
        return [*(tails(responses, features) for features, responses in every), 1.0]


def _independent(known: Known, sources: Sequence[Lagged]) -> float:
    """Return the number of independent circular shifts of a source: small, if the source is slow or periodic.

    Let |X|^2 be the spectrum of the source and R that of the residual. The mean of their squared correlation over all
    shifts is a mean of |X|^2 R over frequencies, with the variance of a chi-square mean over so many shifts.
    """
    x = known.samples.take(known.samples.functions[0], sources, known.rows)
    source, target = ((np.abs(np.fft.rfft(rows)) ** 2).mean(0)[1:] for rows in (x, known.responses[:1]))
    width = int(known.n**0.5)
    both = source * np.convolve(target, np.ones(width) / width, "same")
    return float(2 * both.sum() ** 2 / (both**2).sum())


def _excess(rung: Rung, rest: int) -> float:
    """Return the mean of a statistic over shifts, divided by its expected value (Bartlett's formula); at least 1."""
    m, q = rung.features, rung.responses
    size = effective(m, q, rest) * rung.ratio * rung.even / np.maximum(m * q, 1)
    return max(1.0, float(size.mean()))


def full_test(
    samples: Samples, target: int, own: Sequence[Lagged], given: Sequence[Lagged], sources: Sequence[Lagged],
    clock: int, joint: bool = False
) -> Tested:  # fmt: skip
    """Test a source at all its lags, given the own past and lagged variables of other sources; see the module."""
    given = sorted(set(given))
    known = Known.of(samples, target, [*own, *given], clock)
    found = Ladder(known, sources, joint).widened()
    if found.p_value > LOOK or not (now := present(known)):
        return found
    also = Ladder(Known.of(samples, target, [*own, *given, *now], clock), sources, joint).widened()
    return found if also.p_value <= found.p_value else found._replace(p_value=also.p_value)


def by_formula(
    samples: Samples, target: int, own: Sequence[Lagged], given: Sequence[Lagged], sources: Sequence[Lagged], clock: int
) -> Tested:  # fmt: skip
    """Test a source without shifts and without present values. The p-value of `full_test` is never smaller."""
    known = Known.of(samples, target, [*own, *sorted(set(given))], clock)
    return Ladder(known, sources).combined()


def at_all_lags(samples: Samples, source: int) -> list[Lagged]:
    """Return a source at every lag."""
    return [Lagged(source, lag) for lag in range(1, samples.max_lag + 1)]


def by_line(known: Known, sources: Sequence[int]) -> tuple[list[float], list[float], list[int]]:
    """Return value, p-value and strongest lag of many sources by linear regression alone, in single precision."""
    samples, lags = known.samples, range(1, known.samples.max_lag + 1)
    ratio, shared = np.empty((2, len(lags), samples.nodes))
    both = np.concatenate(known.views[0]).astype(SINGLE).T
    for row, lag in enumerate(lags):
        x = known.weighted(samples.at_lag(samples.rough[0 if known.ranked else FUNCTIONS + 1], lag, known.rows))
        told = (x @ both).astype(float) ** 2
        whole = np.einsum("ij,ij->i", x, x)
        left = whole - told[:, :-1].sum(axis=1)
        shared[row] = _shared(known, left, whole)
        share = told[:, -1] / np.where(left > ROUNDED * known.n, left, np.inf)
        ratio[row] = -np.log(np.maximum(1 - share, 1e-26))
    ratio, margin = ratio[:, list(sources)], known.margin * shared[:, list(sources)]
    p = wilks_p(ratio, np.ones_like(ratio), 1, known.n - known.rank, margin=margin)
    best = ratio.argmax(axis=0)
    value = np.take_along_axis(ratio, best[None], 0)[0] / 2
    return value.tolist(), combined(p.T, np.full(len(lags), 1 / len(lags))).tolist(), (best + 1).tolist()


def present(known: Known) -> list[Lagged]:
    """Return the present values of known sources on which the residual of the target depends."""
    if known.dependent is None:
        known.dependent = _dependent(known)
    return known.dependent


def _dependent(known: Known) -> list[Lagged]:
    samples, nodes = known.samples, sorted({v.node for v in known.variables} - {known.target})
    now = [Lagged(node, 0) for node in nodes if Lagged(node, 0) not in known.variables]
    if not now:
        return []
    p = one_by_one(known, now)
    found = [variable for variable, one in zip(now, p) if one <= LOOK / len(now)]
    return found if samples.enough([Lagged(known.target, 0), *known.variables, *found]) else []
