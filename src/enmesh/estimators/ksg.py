"""KSG: conditional mutual information from nearest neighbours (Kraskov et al. 2004, Frenzel and Pompe 2007).

Around each sample the distance to its k-th neighbour in the joint space sets the scale at which the marginal spaces
are counted, so that biases nearly cancel. In the max norm, with psi the digamma function,

    algorithm 1:  psi(k) + < psi(n_z + 1) - psi(n_xz + 1) - psi(n_yz + 1) >            strictly inside
    algorithm 2:  psi(k) - 2/k + < psi(n_z) - psi(n_xz) + 1/n_xz - psi(n_yz) + 1/n_yz >    inclusive

The estimate can be negative and can fall when a source is added; it is never clipped.
"""

import functools
from dataclasses import field
from typing import Any

import numpy as np

from enmesh.errors import InputError, hazard
from enmesh.estimators.base import as_block, numeric
from enmesh.estimators.by_neighbours import ByNeighbours, Question
from enmesh.estimators.residuals import RESIDUALS, Residuals
from enmesh.estimators.scaling import normal_scores, tie_noise, zscore
from enmesh.options import known_fields, option

MANY_TIES = 0.1  # share of repeated values beyond which the k-th distance is mostly zero or noise
USUAL, MOST = 4, 10  # neighbours where none are given: the usual number, and the most of residuals


@option
class KSG(ByNeighbours):
    """Nearest-neighbour estimator for continuous data of any distribution.

    Parameters
    ----------
    k
        Neighbours in the joint space: more lowers variance and raises bias. By default 4; with residuals, which leave
        less structure to resolve, more where there are many samples n: a fifth of the root of n, 4 to 10.
    algorithm
        1 (hypercubes) or 2 (hyper-rectangles).
    theiler
        Samples within this time of one another are not neighbours.
    noise
        Standard deviation of the seeded noise that breaks ties, relative to each variable's; 0 switches it off.
    normalise
        ``"zscore"``, or ``"rank"`` (normal scores), for heavy tails.
    residual
        What is taken out of source and target first by a regression on the condition: ``"none"``, ``"linear"``,
        ``"quadratic"``, or ``"features"`` (random Fourier features: any smooth function). The quantity stays the same,
        I(x ; y | z) = I(x - f(z) ; y - g(z) | z); its estimate then sees the small surprises that drivers leave in a
        target that its past nearly determines. Without a condition it changes nothing.
    device
        ``"cpu"``, ``"cuda"`` or ``"auto"`` (a GPU if there is one).
    precision
        Of distances on a GPU: ``"single"``, or ``"double"``, which counts exactly as the CPU does. In single
        precision values closer than 1e-7 standard deviations tie, whatever the ``noise``.
    threads
        Threads that share one question on the CPU; no result depends on them. `infer` has workers of its own
        (``n_jobs``).

    >>> import enmesh as em
    >>> series = em.simulate.coupled_map("a>b", n=500, coupling=0.3, seed=0)
    >>> te = em.te_matrix(series, estimator=em.KSG(k=4)).te
    >>> bool(te.loc["a", "b"] > te.loc["b", "a"] + 0.1)
    True
    """

    cli_name = "ksg"
    cli_options = ("k", "theiler", "normalise", "residual", "device")
    summary = "continuous values of any distribution, linear or not; some hundred samples at least"
    references = (
        "Kraskov, A., Stögbauer, H. and Grassberger, P. (2004). Estimating Mutual Information. "
        "Physical Review E 69, 066138.",
        "Frenzel, S. and Pompe, B. (2007). Partial Mutual Information for Coupling Analysis of Multivariate Time "
        "Series. Physical Review Letters 99, 204101.",
    )

    k: int | None = None
    algorithm: int = 1
    theiler: int = 0
    noise: float = 1e-8
    normalise: str = "zscore"
    residual: str = "none"
    device: str = "cpu"
    precision: str = "single"
    threads: int = field(default=1, compare=False)

    def __post_init__(self) -> None:
        if self.k is None and self.residual == "none":
            object.__setattr__(self, "k", USUAL)
        if not 0 <= self.noise < 1:
            raise InputError(f"noise={self.noise!r} is not possible; give a small number such as 1e-8, or 0")
        known_fields(self, algorithm=(1, 2), normalise=("zscore", "rank"), residual=tuple(RESIDUALS))
        super().__post_init__()

    def neighbours(self, n: int, dz: int) -> int:
        """Return k; where it is not given, how many neighbours are taken of n samples given ``dz`` columns."""
        if self.k is not None:
            return self.k
        return min(MOST, max(USUAL, round(n**0.5 / 5))) if dz else USUAL

    def condition(self, column: np.ndarray, index: int, name: str) -> np.ndarray:
        """Scale or rank, and break ties with noise that depends on the variable's position alone."""
        column = numeric(column, name, "KSG")
        ties = 1 - len(np.unique(column)) / len(column)
        if ties > MANY_TIES:
            said = "of the values repeat an earlier one; KSG is for continuous data, consider Discrete or more decimals"
            hazard(said, f"{name}: {ties:.0%}")
        scaled = normal_scores(column) if self.normalise == "rank" else zscore(column)
        return scaled + tie_noise(self.noise, index, len(scaled)) if self.noise else scaled

    def sentence(self) -> str:
        """Say k, algorithm, norm and scaling, with their references."""
        scaling = {"zscore": "z-scored", "rank": "rank-normalised"}[self.normalise]
        k = self.k or f"{USUAL} to {MOST}, a fifth of the root of the number of samples"
        return (
            f"nearest neighbours (k = {k}, algorithm {self.algorithm}, maximum norm, {scaling} values"
            f"{RESIDUALS[self.residual]}{self._but_near_in_time()}; "
            "Kraskov et al. 2004, Frenzel and Pompe 2007)"
        )

    def question(self, n: int, dz: int) -> Question:
        """Count within the distance to the k-th neighbour."""
        from scipy.special import digamma

        k, mutual = self.neighbours(n, dz), dz == 0
        if n <= k + 2 * self.theiler + 1:
            few = f"too few samples: {n} for k={k} and theiler={self.theiler}"
            raise InputError(f"{few}; at least {k + 2 * self.theiler + 2} are needed")
        constant = digamma(k) - (self.algorithm - 1) * (1 if mutual else 2) / k
        return Question("ksg", (k, self.algorithm), (_tables, n, self.algorithm, mutual), constant)

    def residuals(self, z: np.ndarray) -> Residuals | None:
        """Return the regressions on the condition, if there is one."""
        return None if self.residual == "none" or z.shape[1] == 0 else Residuals(self.residual, z)

    def entropy(self, x: np.ndarray, *, local: bool = False) -> Any:
        """Kozachenko-Leonenko: H(x) = -psi(k) + psi(N) + d < ln(2 eps) >, eps the distance to the k-th neighbour."""
        from scipy.spatial import cKDTree
        from scipy.special import digamma

        x = as_block(np.asarray(x, dtype=np.float64))
        n, d = x.shape
        k = self.neighbours(n, 0)
        scaled = np.column_stack([zscore(column) for column in x.T])
        if self.noise:
            scaled += tie_noise(self.noise, d, (n, d))
        distance = cKDTree(scaled).query(scaled, k=k + 1, p=np.inf)[0][:, -1]
        if (distance == 0).any():
            told = "many values are equal, so the entropy is minus infinity"
            raise InputError(f"{told}; set noise=1e-8, or use Discrete")
        values = digamma(n) - digamma(k) + d * np.log(2 * distance) + np.log(x.std(0, ddof=1)).sum()
        return values if local else float(values.mean())


@functools.lru_cache(maxsize=8)
def _tables(n: int, algorithm: int, mutual: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return (plus, minus): a local value is ``constant + plus[n_z] - minus[n_xz] - minus[n_yz]``."""
    from scipy.special import digamma

    counts = np.arange(n + 1)
    inside = digamma(counts + 1.0)
    if algorithm == 1:
        return inside, inside
    psi = np.concatenate([[-np.inf], digamma(counts[1:])])  # the neighbours themselves are counted: never 0
    # Kraskov's mutual information has one marginal fewer and one correction fewer.
    return (inside, psi) if mutual else (psi, psi - 1 / np.maximum(counts, 1))
