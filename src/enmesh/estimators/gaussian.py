"""Gaussian estimator: conditional mutual information of jointly normal variables, from their covariance.

    I(x ; y | z) = 1/2 ln ( |S_{y|z}| / |S_{y|xz}| )

the log ratio of residual variances, half of Granger causality (Barnett et al. 2009). Under independence 2 N I follows
chi-square with d_x d_y degrees of freedom. Regressing z out once leaves, for each x, its canonical correlations
rho with y: I = -1/2 sum ln(1 - rho^2).
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.embedding.lagged import Lagged
from enmesh.errors import InputError, hazard
from enmesh.estimators.base import Estimator, Prepared, as_block, numeric
from enmesh.estimators.ksg import KSG
from enmesh.estimators.scaling import normal_scores, standard_scores
from enmesh.options import known_fields, option

if TYPE_CHECKING:
    from enmesh.embedding.blocks import Blocks

INCE = (
    "Ince, R. A. A., Giordano, B. L., Kayser, C., Rousselet, G. A., Gross, J. and Schyns, P. G. (2017). A Statistical "
    "Framework for Neuroimaging Data Analysis Based on Mutual Information Estimated via a Gaussian Copula. "
    "Human Brain Mapping 38, 1541."
)
# A direction with less than this share of its variance left after z is rounding error, not data.
SINGULAR = 1e-12
CAUTIOUS = 1e-6  # below this share sums of squares lose their digits to cancellation, and residuals are formed instead
# Values of lagged variables that are held at once to form their covariance, multiplications it is worth, and columns:
# of 1,000 nodes with 3 lags it takes as long as all the questions that a search asks, one by one.
CHUNK_VALUES, JOINT_PRODUCTS, JOINT_COLUMNS = 20_000_000, 1e12, 2500


@option
class Gaussian(Estimator):
    """Linear-Gaussian model. Exact for linear processes with normal noise, fast, with a known null.

    Parameters
    ----------
    normalise
        ``"none"`` takes values as they are; ``"rank"`` replaces those of each variable by normal scores, the normal
        quantiles of their ranks: a Gaussian copula, which outliers and heavy tails do not move. The null is the same.
        ``"zscore"`` has the values of ``"none"``, and the same last bits in every unit of measurement.

    >>> import numpy as np
    >>> x = np.random.default_rng(0).normal(size=(20000, 2))
    >>> bool(abs(Gaussian().prepare(x[:, 0] + 2 * x[:, 1]).cmi(x[:, 1]) - np.log(5) / 2) < 0.02)
    True
    """

    cli_name = "gaussian"
    cli_options = ("normalise",)
    summary = "linear links, any number of samples; the fastest, with a known null"
    analytic = True

    normalise: str = "none"

    def __post_init__(self) -> None:
        known_fields(self, normalise=("none", "rank", "zscore"))
        if self.normalise == "rank":
            object.__setattr__(self, "references", (INCE,))

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Rank if asked to, and centre: sums of squares then lose no digits to a large offset."""
        column = numeric(column, name, "Gaussian")
        if self.normalise != "none":
            column = {"rank": normal_scores, "zscore": standard_scores}[self.normalise](column)
        return column - column.mean()

    def sentence(self) -> str:
        """Say the model."""
        if self.normalise == "rank":
            return "a Gaussian copula, a linear-Gaussian model of rank-normalised values (Ince et al. 2017)"
        return "a linear-Gaussian model"

    def _prepare(self, y: np.ndarray, z: np.ndarray, times: np.ndarray) -> Prepared:
        return _PreparedGaussian(y.astype(np.float64), z.astype(np.float64))

    def joint(self, blocks: "Blocks") -> "JointGaussian | None":
        """One covariance of all lagged variables, from which every family is a Cholesky factor away."""
        columns = [*(Lagged(i, 0) for i in range(blocks.n_nodes)), *blocks.askable()]
        many = len(columns) > JOINT_COLUMNS or blocks.n * len(columns) ** 2 > JOINT_PRODUCTS
        return None if many else JointGaussian(blocks, columns)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """H(x) = 1/2 ln |2 pi e S|; of a copula 1/2 ln |R| beside the entropies of the columns by neighbours."""
        x = as_block(np.asarray(x, dtype=np.float64))
        if self.normalise == "rank":
            scores = np.column_stack([self.condition(column, 0, "x") for column in x.T])
            plain = Gaussian()
            parts = [plain.entropy(scores, local=local), *(KSG().entropy(c, local=local) for c in x.T)]
            return sum(parts) - sum(plain.entropy(c, local=local) for c in scores.T)
        centred = x - x.mean(0)
        covariance = centred.T @ centred / len(x)
        scale = np.sqrt(np.diag(covariance))
        if not _has_full_rank(covariance / np.outer(scale, scale)):
            told = "the covariance is singular: one variable is a linear function of others"
            raise InputError(f"{told}; leave it out")
        constant = np.linalg.slogdet(2 * np.pi * covariance)[1] / 2
        surprise = np.einsum("ni,ni->n", centred, np.linalg.solve(covariance, centred.T).T) / 2
        return constant + surprise if local else float(constant + x.shape[1] / 2)

    def dof(self, y: Sequence[int], x: Sequence[int], z: Sequence[int]) -> int:
        """d_x d_y: the coefficients that independence sets to zero."""
        return len(x) * len(y)

    def n_parameters(self, y: Sequence[int], z: Sequence[int]) -> int:
        """Coefficients and intercept per target, and the residual covariance."""
        return len(y) * (len(z) + 1) + len(y) * (len(y) + 1) // 2

    def max_parents_for(self, n: int, widths: Sequence[int], states: Sequence[int]) -> tuple[int, str]:
        """Ten samples per coefficient."""
        return max(1, n // (10 * max(widths)) - 1), f"{n} samples allow 10 per coefficient"


class JointGaussian:
    """Correlations of all lagged variables of a series."""

    _last: tuple[Any, float | None] = (None, None)

    def __init__(self, blocks: "Blocks", columns: list[Lagged]):
        self._n, self._position = blocks.n, {column: i for i, column in enumerate(columns)}
        step = max(1, CHUNK_VALUES // len(columns))
        parts = [slice(start, start + step) for start in range(0, blocks.n, step)]
        mean = sum(blocks.take(columns, part).sum(0) for part in parts) / blocks.n
        covariance = np.zeros((len(columns), len(columns)))
        for part in parts:
            values = blocks.take(columns, part) - mean
            covariance += values.T @ values
        scale = np.sqrt(np.diag(covariance))
        self._correlation = covariance / np.outer(scale, scale)

    def cmi(self, x: Sequence[Lagged], y: Lagged, z: Sequence[Lagged]) -> float | None:
        """I(x ; y | z) of columns, y a single one; None where cancellation would cost digits.

        The last diagonal entry of the Cholesky factor of (z, x, y) is what z and x leave of y: of several functions
        of y the product of the last entries, the root of a determinant.
        """
        if self._n < len(x) + len(z) + 3:
            return None
        last = self._last  # read once: threads share it
        if last[0] != (y, z):  # most questions about a target are asked given the same
            last = self._last = (y, list(z)), self._left(y, z)
        before, after = last[1], self._left(y, [*z, *x])
        return None if before is None or after is None else float(np.log(before / after))

    def _rows(self, y: Lagged, z: Sequence[Lagged]) -> tuple[np.ndarray, int] | None:
        """Return the rows of what is known, and last those of the target, and how many these are; None if not held."""
        return np.array([self._position[column] for column in (*z, y)]), 1

    def _left(self, y: Lagged, z: Sequence[Lagged]) -> float | None:
        asked = self._rows(y, z)
        if asked is None:
            return None
        rows, targets = asked
        try:
            factor = np.linalg.cholesky(self._correlation[rows[:, None], rows]).diagonal()
        except np.linalg.LinAlgError:
            return None
        return float(factor[-targets:].prod()) if (factor**2).min() > CAUTIOUS else None


class _PreparedGaussian(Prepared):
    def __init__(self, y: np.ndarray, z: np.ndarray):
        super().__init__(y, z)
        require_samples(len(y), y.shape[1] + z.shape[1], "Gaussian")
        # An orthonormal basis of a constant and z; dependent columns are dropped, they add nothing to it.
        known = np.column_stack([np.ones(len(z)), z])
        norms = np.linalg.norm(known, axis=0)
        left, values, _ = np.linalg.svd(known / np.where(norms > 0, norms, 1), full_matrices=False)
        self._basis = left[:, values > values[0] * np.sqrt(SINGULAR)]
        residual = self._residual(y)
        norms = np.linalg.norm(y - y.mean(0), axis=0)
        norms[norms == 0] = 1.0  # of a constant
        if not _has_full_rank(residual.T @ residual / np.outer(norms, norms)):
            told = "the target is a linear function of its past: nothing is left to explain"
            raise InputError(f"{told}; add noise or leave it out")
        # Whitened residual of y: orthonormal columns.
        self._target = np.linalg.solve(np.linalg.cholesky(residual.T @ residual), residual.T).T
        self._fixed = np.column_stack([self._basis, self._target])

    def _residual(self, x: np.ndarray) -> np.ndarray:
        return x - self._basis @ (self._basis.T @ x)

    def _canonical(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the whitened residual of each x ``(b, n, d)`` and its cross-correlation with the target's."""
        require_samples(len(self.y), self.y.shape[1] + self.z.shape[1] + x.shape[2], "Gaussian")
        residual = self._residual(x)
        norms = np.linalg.norm(x - x.mean(axis=1, keepdims=True), axis=1)
        scaled = residual / np.where(norms > 0, norms, 1)[:, None, :]
        share = np.swapaxes(scaled, 1, 2) @ scaled
        variance, axes = np.linalg.eigh(share)
        lost = variance < SINGULAR
        if lost.any():
            few = f"{int(lost.sum(1).max())} of {x.shape[2]} source directions are a linear function of the rest"
            hazard(f"near-singular covariance: {few} and were left out")
        weights = axes * np.where(lost, 0, 1 / np.sqrt(np.where(lost, 1, variance)))[:, None, :]
        white = scaled @ weights
        return white, np.swapaxes(white, 1, 2) @ self._target

    def _log_ratio(self, correlation: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        unexplained = np.eye(correlation.shape[2]) - np.swapaxes(correlation, 1, 2) @ correlation
        if np.linalg.eigvalsh(unexplained).min() < SINGULAR:
            told = "the target is a linear function of source and past: the Gaussian estimate is infinite"
            raise InputError(f"{told}; add noise or leave out one of the duplicates")
        return unexplained, -np.linalg.slogdet(unexplained)[1] / 2

    def _cmi(self, x: np.ndarray) -> np.ndarray:
        """From sums of squares, without forming residuals, wherever cancellation leaves digits enough."""
        require_samples(len(self.y), self.y.shape[1] + self.z.shape[1] + x.shape[2], "Gaussian")
        across = np.swapaxes(self._fixed.T @ x, 1, 2)
        explained, cross = np.split(across, [self._basis.shape[1]], axis=2)
        inner = np.swapaxes(x, 1, 2) @ x
        norms = np.sqrt(np.einsum("bii->bi", inner))
        scale = np.where(norms > 0, norms, 1)
        share = (inner - explained @ np.swapaxes(explained, 1, 2)) / (scale[:, :, None] * scale[:, None, :])
        variance, axes = np.linalg.eigh(share)
        doubtful = variance[:, 0] < CAUTIOUS
        root = np.sqrt(np.where(doubtful[:, None], 1, variance))
        correlation = np.swapaxes(axes, 1, 2) @ (cross / scale[:, :, None]) / root[:, :, None]
        if doubtful.any():
            correlation[doubtful] = self._canonical(x[doubtful])[1]
        return self._log_ratio(correlation)[1]

    def _local(self, x: np.ndarray) -> np.ndarray:
        white, correlation = self._canonical(x)
        unexplained, value = self._log_ratio(correlation)
        rest = self._target - white @ correlation
        before = np.einsum("ni,ni->n", self._target, self._target)
        after = np.einsum("bni,bij,bnj->bn", rest, np.linalg.inv(unexplained), rest)
        return value[:, None] + len(self.y) / 2 * (before - after)


def require_samples(n: int, dimension: int, model: str) -> None:
    """Refuse fewer samples than a model of so many variables needs."""
    if n < dimension + 2:
        few = f"too few samples: {n} for a {model} of {dimension} variables"
        raise InputError(f"{few}; at least {dimension + 2} are needed")


def _has_full_rank(share: np.ndarray) -> bool:
    return bool(np.isfinite(share).all() and np.linalg.eigvalsh(share).min() > SINGULAR)
