"""windows: how links change over time, each window asked the same question."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from enmesh.data.series import Series
from enmesh.draw.shown import Reported
from enmesh.errors import InputError
from enmesh.inference.infer import infer
from enmesh.inference.run import DOUBTFUL
from enmesh.inference.workers import in_order
from enmesh.network.network import LEVEL, Network
from enmesh.options import restore, whole
from enmesh.significance import q_of
from enmesh.sureness.units import parents_in, tests_of
from enmesh.te_matrix import warn_if_too_few


@dataclass(frozen=True)
class Windows(Reported):
    """Links over time.

    Attributes
    ----------
    te, p_value, q_value
        ``(window, source, target)``: transfer entropy in nats, its p-value, and q-value over all windows and
        links together; the diagonal is missing.
    starts, width
        First sample of each window, and its length.
    network
        The network of the whole recording: its score measures every window, and its parents are given.
    dt
        Sampling step.
    """

    te: np.ndarray
    p_value: np.ndarray
    q_value: np.ndarray
    starts: np.ndarray
    width: int
    network: Network
    dt: float

    @property
    def on(self) -> np.ndarray:
        """``(window, source, target)``: whether a link is significant there, q at most 0.05."""
        return self.q_value <= LEVEL

    def __repr__(self) -> str:
        links = self.te.shape[1] * (self.te.shape[1] - 1)
        return f"Windows({len(self.starts)} of {self.width} samples, {links} links, {int(self.on.sum())} times on)"


def windows(
    series: Any, width: int, step: int, *, n_jobs: int | None = None, progress: Any = None, **options: Any
) -> Windows:
    """Measure and test every link in windows that slide over the recording.

    The network is inferred once, from the whole recording. Its score then measures every pair of nodes in every
    window, given the target's other parents, so that windows can be compared. With several trials windows slide over
    the time of the trial and pool all trials (the ensemble form): links that change within each trial are seen.

    Parameters
    ----------
    width, step
        Length of a window and the distance of their starts, in samples. Windows end within the shortest trial.
    n_jobs, progress, options
        Of `infer`, such as ``score=``.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, seed=0)
    >>> found = em.windows(series, width=250, step=125, score=em.TEA(embedding=em.Embedding()))
    >>> found.starts.tolist(), found.on[:, 0, 1].tolist()
    ([0, 125, 250], [True, True, True])

    References
    ----------
    Wollstadt, P., Martínez-Zarzuela, M., Vicente, R., Díaz-Pernas, F. J. and Wibral, M. (2014). Efficient transfer
    entropy analysis of non-stationary neural time series. PLoS ONE 9, e102833.
    """
    series = Series.of(series)
    whole("width", width, 3)
    whole("step", step, 1)
    shortest = min(series.lengths)
    if width > shortest:
        raise InputError(f"width={width} is longer than the shortest trial ({shortest} samples); give less")
    network = infer(series, n_jobs=n_jobs, **options)
    score, parents = restore(network.options["score"]), parents_in([network])
    starts = np.arange(0, shortest - width + 1, step)
    cuts = [[trial[start : start + width] for trial in series.trials] for start in starts]
    given = [(series.with_trials(cut), score, parents, DOUBTFUL) for cut in cuts]
    found = in_order(tests_of, given, n_jobs=n_jobs, progress=progress, what="windows")
    te, p_value, _ = np.stack(found, axis=1)
    if surrogates := getattr(score, "n_surrogates", 0):
        warn_if_too_few(surrogates, int(np.isfinite(p_value).sum()), LEVEL)
    return Windows(te, p_value, q_of(p_value), starts, width, network, series.dt)
