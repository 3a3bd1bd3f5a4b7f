"""A scikit-learn estimator that infers networks: at the end of a pipeline, cloned, searched over.

>>> from sklearn.pipeline import make_pipeline
>>> from sklearn.preprocessing import StandardScaler
>>> import enmesh as em
>>> values = em.simulate.var("a>b, b>c", n=500, seed=0).values
>>> pipeline = make_pipeline(StandardScaler(), NetworkInference(max_lag=3)).fit(values)
>>> pipeline[-1].adjacency_.astype(int).tolist()
[[0, 1, 0], [0, 0, 1], [0, 0, 0]]
"""

from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.inference.infer import infer

try:
    from sklearn.base import BaseEstimator
    from sklearn.utils.validation import validate_data
except ImportError as error:
    raise ImportError("enmesh.sklearn needs scikit-learn; run: pip install 'enmesh[sklearn]'") from error

LEAST = 5  # samples; with fewer nothing can be asked


class NetworkInference(BaseEstimator):
    """Infer who drives whom: `enmesh.infer` as a scikit-learn estimator.

    Parameters
    ----------
    level, fdr, max_lag, max_parents, acyclic, estimator, embedding, search, n_jobs, seed
        Those of `enmesh.infer`.

    Attributes
    ----------
    networks_
        A `Network` for each recording.
    adjacency_
        ``(node, node)`` booleans, ``[i, j]`` true where i drives j; ``(recording, node, node)`` for several recordings.
    n_features_in_, feature_names_in_
        Number of nodes, and their names where a data frame was given.
    """

    def __init__(
        self,
        *,
        level: float | None = None,
        fdr: float | None = None,
        max_lag: int | None = None,
        max_parents: int | None = None,
        acyclic: bool = False,
        estimator: Any = None,
        embedding: Any = None,
        search: Any = None,
        n_jobs: int | None = None,
        seed: int = 0,
    ):
        self.level = level
        self.fdr = fdr
        self.max_lag = max_lag
        self.max_parents = max_parents
        self.acyclic = acyclic
        self.estimator = estimator
        self.embedding = embedding
        self.search = search
        self.n_jobs = n_jobs
        self.seed = seed

    def fit(self, X: Any, y: Any = None) -> "NetworkInference":
        """Infer the network of a recording ``(time, node)``, or of each of several ``(recording, time, node)``.

        ``y`` is ignored.
        """
        several = (isinstance(X, (list, tuple)) and any(np.ndim(one) == 2 for one in X)) or np.ndim(X) == 3
        recordings = list(X) if several else [X]
        if not recordings:
            raise InputError("X has no recording; give (time, node) values, or a list of them")
        found = [infer(self._series(one, i == 0), **self.get_params(deep=False)) for i, one in enumerate(recordings)]
        self.networks_ = found
        self.adjacency_ = np.stack([one.adjacency for one in found]) if several else found[0].adjacency
        return self

    def _series(self, recording: Any, first: bool) -> Series:
        """Return a recording that scikit-learn has checked; all have the nodes of the first."""
        values = validate_data(
            self, recording, reset=first, dtype=np.float64, ensure_min_samples=LEAST, ensure_min_features=2
        )
        return Series(values, names=list(getattr(self, "feature_names_in_", [])) or None)
