"""Regression with features: nonlinear links at the cost of linear ones, with a known null distribution.

    I(x ; y | z) = 1/2 ln ( |J(y on f(z))| / |J(y on f(z, x))| )

where f(S) are features of a set S of variables and J is what their regression leaves of y: the residual sum of squares
(the determinant of sums of squares and products, where several functions of y are explained). Under independence 2 N I
follows chi-square with as many degrees of freedom as x adds features, times the functions of y. One response has the F
distribution of a regression, several have Wilks' (see `wilks`).

**Nested.** A feature belongs to one variable or to a pair of them, never to a set: f(S) is every feature of every
variable in S and of every pair in S, whoever is source or condition. So f(z) is a part of f(z, x), the estimate never
falls when a source is added, and the chain rule I(x, w ; y | z) = I(x ; y | z) + I(w ; y | z, x) holds to rounding:
what is proven of TEA, of Theorem 1 and of Corollary 1 for linear systems holds for nonlinear ones.

**Redundant features** (of constant, doubled, two-valued columns) are harmless: features have unit variance, and J has
`SHRINK` N |w|^2 added for the coefficients w, a ridge that settles what the data leave open and nothing else. The least
J is nested like the least sum of squares. Degrees of freedom count features and functions of y, redundant ones too: the
test is then cautious. With fewer samples than features values are finite and mean little; tests by the known null say
so.
"""

from collections.abc import Sequence
from dataclasses import field
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.errors import InputError
from enmesh.estimators.base import Estimator, Prepared, numeric
from enmesh.estimators.features import KINDS, Features, pairs_of
from enmesh.estimators.gaussian import Gaussian, JointGaussian
from enmesh.estimators.least_squares import SHRINK, PreparedRegression
from enmesh.estimators.scaling import better_scale, normal_scores, standard_scores, zscore
from enmesh.estimators.wilks import effective
from enmesh.neighbours import check_device, chosen
from enmesh.options import known_fields, option, whole

if TYPE_CHECKING:
    from enmesh.embedding.blocks import Blocks

JOINT_PRODUCTS = 2_000_000_000  # multiplications beyond which products of all features are not formed at once
RESPONSES = 4  # functions of a target, where it is not only itself: location, spread and two of shape


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
        With ``"basis"``: number of functions of the target that are explained, 1 to 6; by default 4. They are its
        normal score and cosines of its rank. With several, a source that moves the variance of the target is seen.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.coupled_map("a>b, b>c", n=500, noise=0.05, seed=0)
    >>> em.infer(series, score=em.TEA(estimator=em.Regression(), embedding=em.Embedding())).parents
    {'a': (), 'b': ('a',), 'c': ('b',)}
    """

    cli_name = "regression"
    cli_options = ("features", "normalise", "device", "responses")
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
        if self.features == "basis" and self.responses is None:
            object.__setattr__(self, "responses", RESPONSES)
        if self.features == "fourier":
            fourier = (
                "Rahimi, A. and Recht, B. (2007). Random Features for Large-Scale Kernel Machines. "
                "Advances in Neural Information Processing Systems 20."
            )
            object.__setattr__(self, "references", (*type(self).references, fourier))

    @property
    def targets(self) -> int:  # type: ignore[override]
        """Functions of the target that are explained."""
        return self.responses or 1

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
        columns = Features(self.features).count(len(blocks.askable())) + blocks.n_nodes * self.targets
        many = blocks.n * columns**2 > JOINT_PRODUCTS
        return None if many else _JointRegression(self.features, blocks, self.targets)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Return the entropy of a normal distribution, or of a Gaussian copula if any column is ranked."""
        columns = np.atleast_2d(np.asarray(x, dtype=np.float64).T)
        ranked = any(self.scale_of(column) == "rank" for column in columns)
        return Gaussian(normalise="rank" if ranked else "none").entropy(x, local=local)

    def dof(self, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> int:
        """Features that x adds, for each column of y."""
        count = Features(self.features).count
        return len(y) * self.targets * (count(len(x) + len(z)) - count(len(z)))

    def effective_samples(self, n: int, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> float:
        """Return ``n``, or with a basis what Bartlett's factor for several responses leaves of it."""
        if self.features != "basis":
            return n
        q, known = len(y) * self.targets, Features(self.features).count(len(z))
        return float(max(1.0, effective(self.dof(y, x, z) // q, q, n - 1 - known)))

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

    def __init__(self, kind: str, blocks: "Blocks", targets: int):
        variables, features = blocks.askable(), Features(kind)
        d, known = len(variables), features.of(blocks.take(variables).T)
        values = blocks.take(Lagged(i, 0) for i in range(blocks.n_nodes)).T
        responses = [features.responses(value[None], targets) for value in values]
        ends = np.cumsum([len(known), *map(len, responses)])
        self._n = blocks.n
        self._responses = {Lagged(i, 0): np.arange(*ends[i : i + 2]) for i in range(blocks.n_nodes)}
        self._of = {variable: i for i, variable in enumerate(variables)}
        self._singles = np.arange(d * features.of_one).reshape(d, -1)
        self._pairs = np.zeros((d, d, features.of_pair), dtype=int)
        first, second = pairs_of(d)
        numbers = np.arange(self._singles.size, len(known)).reshape(-1, features.of_pair)
        self._pairs[first, second] = self._pairs[second, first] = numbers
        together = np.concatenate([known, *responses])
        self._correlation = together @ together.T / blocks.n
        self._correlation[np.arange(len(known)), np.arange(len(known))] += SHRINK

    def _rows(self, y: Lagged, z: Sequence[Lagged]) -> tuple[np.ndarray, int] | None:
        responses = self._responses[y]
        if not len(responses) or any(variable not in self._of for variable in z):
            return None
        some = np.array([self._of[variable] for variable in z], dtype=int)
        first, second = pairs_of(len(some))
        pairs = self._pairs[some[first], some[second]]
        return np.concatenate([self._singles[some].ravel(), pairs.ravel(), responses]), len(responses)
