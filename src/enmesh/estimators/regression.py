"""Regression with features: nonlinear links at the cost of linear ones, with a known null distribution.

    I(x ; y | z) = 1/2 ln ( |J(y on f(z))| / |J(y on f(z, x))| )

where f(S) are features of a set S of variables and J is what their regression leaves of y: the residual sum of squares
(a determinant, where y has several columns). Under independence 2 N I follows chi-square with as many degrees of
freedom as x adds features.

**Nested.** A feature belongs to one variable or to a pair of them, never to a set: f(S) is every feature of every
variable in S and of every pair in S, whoever is source or condition. So f(z) is a part of f(z, x), the estimate never
falls when a source is added, and the chain rule I(x, w ; y | z) = I(x ; y | z) + I(w ; y | z, x) holds to rounding:
what is proven of TEA, of Theorem 1 and of Corollary 1 for linear systems holds for nonlinear ones.

**Redundant features** (of constant, doubled, two-valued columns) are harmless: features have unit variance, and J has
`SHRINK` N |w|^2 added for the coefficients w, a ridge that settles what the data leave open and nothing else. The least
J is nested like the least sum of squares. Degrees of freedom count features, redundant ones too: the test is then
cautious. With fewer samples than features values are finite and mean little; tests by the known null say so.
"""

from collections.abc import Sequence
from dataclasses import field
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.errors import InputError, hazard
from enmesh.estimators.base import Estimator, Prepared, numeric
from enmesh.estimators.gaussian import Gaussian, JointGaussian, require_samples
from enmesh.estimators.scaling import normal_scores, standard_scores, zscore
from enmesh.neighbours import check_device, chosen
from enmesh.options import known_fields, option, whole

if TYPE_CHECKING:
    from enmesh.embedding.blocks import Blocks

SHRINK = 1e-9  # ridge on every coefficient, as a share of a feature's sum of squares
CONSTANT = 1e-10  # a feature that varies less than this share of its mean is constant but for rounding
HELD = 1_000_000  # values of features that are held at a time
JOINT_PRODUCTS = 2_000_000_000  # multiplications beyond which products of all features are not formed at once
SCARCE = 2  # samples for each feature below which values are mostly chance
# Of Fourier features, per standard deviation. Slower ones are lines, faster ones noise, to a few hundred samples.
FREQUENCIES = (1.0, 2.0)
CLEARLY = 1.1  # times more that ranks must miss of a variable's next values for z-scores to be taken
# Kinds of features: how many a variable has, and how many a pair of them.
KINDS = {"linear": (1, 0), "quadratic": (2, 1), "fourier": (1 + 2 * len(FREQUENCIES), 4), "basis": (4, 1)}
RESPONSES = 4  # functions of a target, where it is not only itself: location, spread and two of shape
REPEATED = 1e-6  # smallest share of a response that those before it do not explain; below it adds nothing


class Features:
    """Features of variables and of pairs of them, each centred and of unit variance.

    ``"linear"``: v. ``"quadratic"``: v, v^2, and the product of each pair: all monomials up to degree two.
    ``"fourier"``: v, cos(w v), sin(w v), and of each pair a, b the same of a + b and a - b at the lowest frequency.
    ``"basis"``: v, v^2, cos(3 pi u), cos(4 pi u) with u the share of a normal variable below v, and the product of each
    pair. Random Fourier features draw their frequencies for a whole set of variables and are not nested; here they are
    fixed for every variable and pair. All are the same, but for order and sign, whichever variable comes first.

    Arrays have samples last: ``(..., variables, n)``.

    >>> Features("quadratic").count(3)
    9
    """

    def __init__(self, kind: str, xp: Any = np):
        self.kind, self.xp = kind, xp
        self._of_one, self._of_pair = KINDS[kind]

    def count(self, d: int) -> int:
        """Return the number of features of ``d`` variables."""
        return d * self._of_one + d * (d - 1) // 2 * self._of_pair

    def of(self, z: Any) -> Any:
        """Return the features of ``z (d, n)``, ``(count(d), n)``."""
        return self.added(z[None], z[:0])[0]

    def added(self, x: Any, z: Any) -> Any:
        """Return the features that each ``x (b, d, n)`` adds to those of ``z (d_z, n)``, ``(b, number, n)``.

        Singles of x come first, variable by variable; then pairs within x; then pairs of x with z.
        """
        (b, d, n), known = x.shape, len(z)
        x, z = self.standard(x), self.standard(z)
        out = self.xp.empty((b, self.count(d + known) - self.count(known), n))
        singles, pairs = self.xp.split(out, [d * self._of_one], axis=1)
        self._fill_singles(singles.reshape(b, d, self._of_one, n), x)
        if self._of_pair:
            first, second = map(self.xp.asarray, _pairs(d))
            inside, across = self.xp.split(pairs, [len(first) * self._of_pair], axis=1)
            self._fill_pairs(inside.reshape(b, -1, self._of_pair, n), x[:, first], x[:, second])
            self._fill_pairs(across.reshape(b, d, known, self._of_pair, n), x[:, :, None], z)
        return self._standardised(out, 1.0)

    def responses(self, y: Any, count: int) -> Any:
        """Return ``count`` functions of each of ``y (d, n)``, orthogonal; those that repeat others are left out."""
        y = self.standard(y)
        if count == 1:
            return y
        rows = self.xp.concatenate([y, *(_wave(y, k) for k in range(2, count + 1))])
        rows = self._standardised(rows, 1.0)
        basis, root = self.xp.linalg.qr(rows.T)
        size = self.xp.abs(self.xp.diag(root))
        return basis.T[size > REPEATED * size.max()] * rows.shape[1] ** 0.5

    def factors(self, v: Any) -> Any:
        """Return functions of each of ``v (d, n)``, ``(number, n)``, whose products span the features of pairs."""
        v = self.standard(v)
        if self.kind != "fourier":
            return v
        return self.xp.concatenate([self.xp.cos(min(FREQUENCIES) * v), self.xp.sin(min(FREQUENCIES) * v)])

    def standard(self, values: Any) -> Any:
        """Return rows with mean 0 and variance 1; those that do not vary become 0."""
        return self._standardised(values + 0.0, 0.0)

    def _standardised(self, rows: Any, size: float) -> Any:
        """Standardise in place; what varies less than rounding errors of its mean, or of ``size``, becomes 0."""
        mean = rows.mean(axis=-1, keepdims=True)
        rows -= mean
        spread = self.xp.sqrt(self.xp.einsum("...n,...n->...", rows, rows)[..., None] / rows.shape[-1])
        lost = spread <= CONSTANT * self.xp.maximum(self.xp.abs(mean), size)
        rows *= self.xp.where(lost, 0, 1 / self.xp.where(lost, 1, spread))
        return rows

    def _fill_singles(self, out: Any, v: Any) -> None:
        out[..., 0, :] = v
        if self.kind in ("quadratic", "basis"):
            out[..., 1, :] = v * v
        if self.kind == "basis":
            for k in range(3, self._of_one + 1):
                out[..., k - 1, :] = _wave(v, k)
        elif self.kind == "fourier":
            for i, frequency in enumerate(FREQUENCIES):
                out[..., 1 + 2 * i, :] = self.xp.cos(frequency * v)
                out[..., 2 + 2 * i, :] = self.xp.sin(frequency * v)

    def _fill_pairs(self, out: Any, a: Any, b: Any) -> None:
        if self.kind != "fourier":
            out[..., 0, :] = a * b
            return
        for i, both in enumerate((a + b, a - b)):
            out[..., 2 * i, :] = self.xp.cos(min(FREQUENCIES) * both)
            out[..., 2 * i + 1, :] = self.xp.sin(min(FREQUENCIES) * both)


@option
class Regression(Estimator):
    """Regression of the target on features of source and condition. Nonlinear, fast, with a known null.

    Parameters
    ----------
    features
        ``"linear"`` (the values of ``Gaussian``); ``"quadratic"``, all monomials up to degree two of source and
        condition together; ``"fourier"``, sines and cosines of every variable and pair beside the linear ones;
        ``"basis"``, four functions of the rank of every variable, and products of pairs.
    normalise
        ``"rank"`` (normal scores), ``"zscore"``, or None: for each variable the scale on which it predicts its own
        next values better, out of sample (`better_scale`); for linear features z-scores.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one; not for ``"basis"``).
    responses
        With ``"basis"``: functions of the rank of the target that are explained, 1 to 6. With the default 4 a source
        that moves the variance of the target is seen, or one that moves its shape.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.coupled_map("a>b, b>c", n=500, noise=0.05, seed=0)
    >>> em.infer(series, score=em.TEA(estimator=em.Regression(), embedding=em.Embedding())).parents
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """

    cli_name = "regression"
    cli_options = ("features", "normalise", "device")
    summary = "smooth nonlinear links with noise (squares and products), any number of samples; known null"
    analytic = True
    references = (
        "Marinazzo, D., Pellicoro, M. and Stramaglia, S. (2008). Kernel Method for Nonlinear Granger Causality. "
        "Physical Review Letters 100, 144103.",
    )

    features: str = field(default="quadratic", kw_only=False)
    normalise: str | None = None
    device: str = "cpu"
    responses: int | None = None

    def __post_init__(self) -> None:
        known_fields(self, features=tuple(KINDS), normalise=("rank", "zscore", None))
        check_device(self.device)
        if self.features != "basis" and self.responses is not None:
            raise InputError("responses is for features='basis'; leave it out, or add that")
        if self.responses is not None and whole("responses", self.responses, 1) > 6:
            raise InputError(f"responses={self.responses} is not possible; give 1 to 6")
        if self.features == "basis" and (self.normalise == "zscore" or self.device == "cuda"):
            told = "normalise='rank'" if self.normalise == "zscore" else "device='cpu'"
            raise InputError(f"features='basis' takes {told} alone; leave the option out")
        if self.features == "fourier":
            fourier = (
                "Rahimi, A. and Recht, B. (2007). Random Features for Large-Scale Kernel Machines. "
                "Advances in Neural Information Processing Systems 20."
            )
            object.__setattr__(self, "references", (*type(self).references, fourier))

    @property
    def targets(self) -> int:  # type: ignore[override]
        """Functions of the target that are explained."""
        return (self.responses or RESPONSES) if self.features == "basis" else 1

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Rank or scale."""
        column = numeric(column, name, "Regression")
        if self.scale_of(column) == "rank":
            return normal_scores(column)
        return zscore(column) if self.features == "linear" else standard_scores(column)

    def scale_of(self, column: np.ndarray) -> str:
        """Return "rank" or "zscore": what was asked for, or what predicts a variable's series better.

        A line takes values as they are, as `Gaussian` does.
        """
        if self.features == "basis":
            return "rank"
        return self.normalise or ("zscore" if self.features == "linear" else better_scale(column))

    def sentence(self) -> str:
        """Say the model."""
        scales = {"rank": "rank-normalised", "zscore": "standardised", None: "normalised"}
        models = {
            "linear": "a linear regression",
            "quadratic": "a regression on all monomials up to degree two",
            "fourier": "a regression on Fourier features (cf. Rahimi and Recht 2007)",
            "basis": f"a regression of {self.targets} functions of the target on functions and products",
        }
        model = f"{models[self.features]} of {scales['rank' if self.features == 'basis' else self.normalise]} values"
        return f"{model} (nonlinear Granger causality, Marinazzo et al. 2008)"

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        if self.features == "linear":
            return Gaussian().prepare(y, z)
        here = self.features == "basis" or chosen(self.device) == "cpu"
        features = Features(self.features, np if here else import_module("cupy"))
        return PreparedRegression(features, y.astype(np.float64), z.astype(np.float64), self.targets)

    def joint(self, blocks: "Blocks") -> JointGaussian | None:
        """Products of all features of all lagged variables, from which every family is a Cholesky factor away."""
        if self.features == "linear":
            return Gaussian().joint(blocks)
        columns = Features(self.features).count(len(blocks.askable()))
        if self.targets > 1:  # a factor gives the residual of one target
            return None
        return None if blocks.n * columns**2 > JOINT_PRODUCTS else _JointRegression(self.features, blocks)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Return the entropy of a normal distribution, or of a Gaussian copula if any column is ranked."""
        columns = np.atleast_2d(np.asarray(x, dtype=np.float64).T)
        ranked = any(self.scale_of(column) == "rank" for column in columns)
        return Gaussian(normalise="rank" if ranked else "none").entropy(x, local=local)

    def dof(self, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> int:
        """Features that x adds, for each column of y."""
        count = Features(self.features).count
        return len(y) * self.targets * (count(len(x) + len(z)) - count(len(z)))

    def n_parameters(self, y: Sequence[int], z: Sequence[int]) -> int:
        """Coefficients and intercept per target, and the residual covariance."""
        targets = len(y) * self.targets
        return targets * (Features(self.features).count(len(z)) + 1) + targets * (targets + 1) // 2

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Ten samples per feature."""
        count, parents = Features(self.features).count, 1
        while 10 * count((parents + 2) * max(widths)) <= n:
            parents += 1
        return parents, f"{n} samples allow 10 per feature"


class _JointRegression(JointGaussian):
    """Products of all features of all lagged variables of a series, with the ridge."""

    def __init__(self, kind: str, blocks: "Blocks"):
        variables, targets = blocks.askable(), [Lagged(i, 0) for i in range(blocks.n_nodes)]
        features, d = Features(kind), len(variables)
        known, values = features.of(blocks.take(variables).T), features.standard(blocks.take(targets).T)
        self._n = blocks.n
        self._position = {target: len(known) + i for i, target in enumerate(targets)}
        self._of = {variable: i for i, variable in enumerate(variables)}
        self._singles = np.arange(d * features._of_one).reshape(d, -1)
        self._pairs = np.zeros((d, d, features._of_pair), dtype=int)
        first, second = _pairs(d)
        numbers = np.arange(self._singles.size, len(known)).reshape(-1, features._of_pair)
        self._pairs[first, second] = self._pairs[second, first] = numbers
        together = np.concatenate([known, values])
        self._correlation = together @ together.T / blocks.n
        self._correlation[np.arange(len(known)), np.arange(len(known))] += SHRINK

    def _rows(self, y: Lagged, z: Sequence[Lagged]) -> np.ndarray | None:
        if any(variable not in self._of for variable in z):
            return None
        some = np.array([self._of[variable] for variable in z], dtype=int)
        first, second = _pairs(len(some))
        pairs = self._pairs[some[first], some[second]]
        return np.concatenate([self._singles[some].ravel(), pairs.ravel(), [self._position[y]]])


class PreparedRegression(Prepared):
    """The target residualised on the features of z, by one QR decomposition.

    The ridge is rows of the regression: below the n samples of each feature stands the root of SHRINK n in a row of its
    own, and 0 in that row for the target. Least squares of the longer columns is the penalised fit.
    """

    def __init__(self, features: Features, y: np.ndarray, z: np.ndarray, targets: int = 1):
        super().__init__(y, z)
        self._features, self._xp = features, (xp := features.xp)
        require_samples(len(y), y.shape[1] + z.shape[1], "regression")
        n, self._z = len(y), xp.asarray(z.T)
        count = features.count(z.shape[1])
        rows = xp.empty((n + count, count))
        rows[:n], rows[n:] = features.of(self._z).T, (SHRINK * n) ** 0.5 * xp.eye(count)
        basis = xp.ascontiguousarray(xp.linalg.qr(rows)[0].T)
        responses = features.responses(xp.asarray(y.T), targets)
        target = xp.zeros((len(responses), n + count))
        target[:, :n] = responses
        for _ in range(2):  # the first time leaves rounding errors
            target -= (target @ basis.T) @ basis
        left = target @ target.T
        if not len(left) or not float(xp.linalg.eigvalsh(left)[0]) > SHRINK**2 * n:
            told = "the target is constant, or one of its columns is a function of others"
            raise InputError(f"{told}; leave it out")
        self._basis, self._hidden = basis[:, :n], basis[:, n:] @ basis[:, n:].T
        self._target = xp.linalg.solve(xp.linalg.cholesky(left), target[:, :n])  # whitened, but for the ridge

    def _residualised(self, x: Any) -> tuple[Any, Any, Any]:
        """Return features of ``x (b, d, n)`` residualised on those of z, their products, and those with the target."""
        new = self._features.added(x, self._z)
        (b, m, n), rows = new.shape, new.reshape(-1, x.shape[2])
        along, cross = rows @ self._basis.T, (rows @ self._target.T).reshape(b, m, -1)
        rows -= along @ self._basis
        along = along.reshape(b, m, -1)
        inner = new @ new.swapaxes(1, 2) + along @ self._hidden @ along.swapaxes(1, 2)
        inner += SHRINK * n * self._xp.eye(m)
        return new, inner, cross

    @property
    def targets(self) -> int:
        """Functions of the target that are explained."""
        return len(self._target)

    def variance_weights(self, x: np.ndarray) -> tuple[np.ndarray, float]:
        """Return how the squared residuals of the whole regression weigh directions of what ``x (n, d)`` adds.

        All 1 where its variance does not go with theirs; their sum is the mean of 2 N I under independence. And what
        chance adds to the sum of their squares: the variance of squared residuals times the sum of squared leverages.
        """
        xp = self._xp
        new, inner, _ = self._residualised(xp.ascontiguousarray(xp.asarray(x.T, dtype=np.float64))[None])
        white = xp.linalg.solve(xp.linalg.cholesky(inner[0]), new[0])
        rest = self._target - (self._target @ white.T) @ white
        leverage = (white**2).sum(axis=0)
        surprise = (rest**2).mean(axis=0) / xp.maximum(1 - leverage, 1 / len(leverage))
        surprise /= surprise.mean()
        weights = xp.linalg.eigvalsh((white * surprise) @ white.T)
        chance = float(surprise.var() * (leverage**2).sum())
        return weights if xp is np else weights.get(), chance

    def over_shifts(self, x: np.ndarray, starts: np.ndarray, shifts: np.ndarray) -> np.ndarray:
        """Return I(x ; y | z) for circular shifts of ``x (n, d)`` within each trial, ``(shifts,)``.

        Features of x move with it, and those of x with z are products of what moves and what stays. So all that least
        squares asks for are products of columns that move with columns that stay: features of pairs are never made.
        """
        xp, n = self._xp, len(x)
        moving = xp.ascontiguousarray(xp.asarray(x.T, dtype=np.float64))
        own, v, w = self._features.of(moving), *map(self._features.factors, (moving, self._z))
        still = xp.concatenate([xp.full((1, n), n**-0.5), self._basis, self._target])
        m, d, e, q, s = len(own), len(v), len(w), len(still), len(shifts)

        def sums(moving: Any, still: Any) -> Any:
            return products_at_shifts(moving.reshape(-1, n), still.reshape(-1, n), starts, shifts, xp)

        along = xp.concatenate([sums(own, still), sums(v, w[:, None] * still).reshape(s, d * e, q)], axis=1)
        whole = xp.empty((s, m + d * e, m + d * e))
        whole[:, :m, :m] = own @ own.T
        whole[:, :m, m:] = sums(own[:, None] * v, w).reshape(s, m, d * e)
        whole[:, m:, :m] = whole[:, :m, m:].swapaxes(1, 2)
        pairs = sums(v[:, None] * v, w[:, None] * w).reshape(s, d, d, e, e)
        whole[:, m:, m:] = pairs.transpose(0, 1, 3, 2, 4).reshape(s, d * e, d * e)
        known, target = along[..., : -len(self._target)], along[..., -len(self._target) :]
        whole -= known @ known.swapaxes(1, 2)
        whole += SHRINK * n * xp.eye(m + d * e)
        return self._host([self._value(self._explained(whole, target)[1])])

    def _batches(self, x: np.ndarray) -> Any:
        """Yield parts of ``x (b, n, d)`` as ``(b', d, n)`` whose features fit into a cache."""
        b, n, d = x.shape
        known = len(self._z)
        require_samples(n, self.y.shape[1] + known + d, "regression")
        count = self._features.count(known + d)
        if n < SCARCE * count:
            told = f"{count} features for {n} samples: values are mostly chance"
            hazard(f"{told}; use fewer lags or parents, or features='linear'")
        most = max(1, HELD // (n * (count - self._features.count(known))))
        for first in range(0, b, most):
            part = self._xp.asarray(x[first : first + most], dtype=np.float64)
            yield self._xp.ascontiguousarray(part.swapaxes(1, 2))

    def _explained(self, inner: Any, cross: Any) -> tuple[Any, Any]:
        """Return coefficients of the target on new features, and what they leave of it ``(b, d_y, d_y)``."""
        weights = self._xp.linalg.solve(inner, cross)
        return weights, self._xp.eye(cross.shape[2]) - cross.swapaxes(1, 2) @ weights

    def _host(self, parts: list[Any]) -> np.ndarray:
        values = self._xp.concatenate(parts)
        return values if self._xp is np else values.get()

    def _value(self, left: Any) -> Any:
        one = left.shape[1] == 1
        return -(self._xp.log(left[:, 0, 0]) if one else self._xp.linalg.slogdet(left)[1]) / 2

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        parts = (self._residualised(part)[1:] for part in self._batches(x))
        return self._host([self._value(self._explained(*part)[1]) for part in parts])

    def _local(self, x: np.ndarray) -> np.ndarray:
        """Log-likelihood ratio of the two fits, sample by sample; what the ridge takes is the same for all samples."""
        xp, found, target = self._xp, [], self._target
        for part in self._batches(x):
            new, inner, cross = self._residualised(part)
            weights, left = self._explained(inner, cross)
            rest = target - weights.swapaxes(1, 2) @ new
            surprise = (target**2).sum(axis=0) - (rest * xp.linalg.solve(left, rest)).sum(axis=1)
            surprise -= surprise.mean(axis=1, keepdims=True)
            found.append(self._value(left)[:, None] + part.shape[2] / 2 * surprise)
        return self._host(found)


def products_at_shifts(moving: Any, still: Any, starts: np.ndarray, shifts: np.ndarray, xp: Any = np) -> Any:
    """Return the products of each of ``moving (a, n)``, shifted around the end of each trial, with ``still (b, n)``.

    ``(shifts, a, b)``. Of some hundred shifts matrix products are quicker than Fourier transforms, up to 4 times.
    """
    found = xp.zeros((len(shifts), len(moving), len(still)))
    most = max(1, HELD // max(1, moving.size))
    for start, stop in zip(map(int, starts[:-1]), map(int, starts[1:])):
        n, twice = stop - start, xp.concatenate([moving[:, start:stop]] * 2, axis=1)
        for first in range(0, len(shifts), most):
            part = found[first : first + most]
            rows = xp.stack([twice[:, s : s + n] for s in shifts[first : first + most].tolist()])
            part += (rows.reshape(-1, n) @ still[:, start:stop].T).reshape(part.shape)
    return found


def better_scale(column: np.ndarray) -> str:
    """Return the scale on which a variable predicts its own next value better, out of sample: "rank" or "zscore".

    Squares and products of the last two values are fitted to every other tenth of the series and predict the rest, and
    the other way round. z-scores must miss `CLEARLY` less: ranks are not moved by heavy tails, but change a parabola.

    >>> import numpy as np
    >>> better_scale(np.random.default_rng(0).standard_t(2, size=500))
    'rank'
    """
    if column.min() == column.max():
        return "rank"
    ranked, standard = _missed(np.stack([normal_scores(column), standard_scores(column)]))
    return "zscore" if ranked > CLEARLY * standard else "rank"


def _missed(columns: np.ndarray) -> np.ndarray:
    """Return what quadratic regressions on the last two values leave of scaled series ``(k, n)``, out of sample."""
    y, a, b = columns[:, 2:], columns[:, 1:-1], columns[:, :-2]
    rows = np.stack([a, b, a * a, b * b, a * b, np.ones_like(y), y], axis=1)
    *_, features, n = rows[:, :-1].shape
    if n < 4 * features:
        return np.ones(len(columns))
    odd = np.arange(n) * 10 // n % 2
    halves = np.stack([rows * test @ rows.swapaxes(1, 2) for test in (odd, 1 - odd)])
    known = halves[::-1, :, :-1]
    weights = np.linalg.solve(known[..., :-1] * (1 + SHRINK * np.eye(features)), known[..., -1:])
    weights = np.concatenate([weights, -np.ones_like(weights[..., :1, :])], axis=-2)
    missed = (weights * (halves @ weights)).sum(axis=(0, 2, 3))
    return np.maximum(missed, 0.0) / (columns**2).sum(axis=1)


def _wave(v: Any, k: int) -> Any:
    """Return the cosine of k half periods over the ranks of a standard normal variable."""
    from scipy.special import ndtr

    return np.cos(k * np.pi * ndtr(v))


@cache
def _pairs(d: int) -> tuple[np.ndarray, ...]:
    """Return first and second of every pair of ``d`` variables."""
    return np.triu_indices(d, 1)
