"""stability: would each link be found again? The whole inference is repeated on both halves of the data, many times."""

import os
import warnings
from typing import Any

from enmesh.inference.infer import infer
from enmesh.sureness.halves import Stability, count_links


def stability(
    series: Any,
    n: int = 100,
    seed: int = 0,
    *,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    block: int | None = None,
    **options: Any,
) -> Stability:
    """Cut the data into two random halves, infer a network from each, and count how often both have a link.

    Samples are not drawn with replacement, which nearest neighbours do not bear. The recording is cut into contiguous
    blocks (`units.block_length` says how long), or into its trials where there are at least ten; one network is
    inferred from one half of them, and the next one from the other half (complementary pairs, Shah and Samworth
    2013). Links that both have are counted: the halves share no sample, so the second finds the link again. A
    link that chance made in the recording is seldom in both, as `halves` explains. Each half has half the samples to
    show a link: a share is rather too low than too high.

    Parameters
    ----------
    series
        The data: a `Series`, or anything `Series` takes.
    n
        Number of networks, two for each cut; an odd number is rounded up.
    seed
        Seed of the halves, and of `infer`.
    n_jobs
        Networks that are inferred at the same time; -1 for all cores. Results do not depend on it.
    store
        Path of a file that keeps the links of each finished network, so that a stopped run resumes.
    progress
        None shows progress in a notebook, True on a terminal too; or a callback.
    block
        Length of a block in samples, in place of the one chosen from the data.
    options
        Of `infer`, such as ``score=`` or ``acyclic=``. What is left open is chosen anew in each half.

    Returns
    -------
    Stability
        ``.frequency`` holds the shares; ``.on(network)`` puts them beside the links of a network.

    Examples
    --------
    >>> import enmesh as em
    >>> series = em.simulate.var("a>b", n=500, seed=0)
    >>> found = em.stability(series, n=4, score=em.TEA(embedding=em.Embedding()))  # 100 for real use
    >>> float(found.frequency.loc["a", "b"])
    1.0

    References
    ----------
    Politis, D. N., Romano, J. P. and Wolf, M. (1999). Subsampling. Springer.
    Shah, R. D. and Samworth, R. J. (2013). Variable selection with error control: another look at stability
    selection. Journal of the Royal Statistical Society B 75, 55.
    """
    how: dict[str, Any] = {"n_jobs": n_jobs, "store": store, "progress": progress, "block": block}
    return count_links(infer, series, n, seed, **how, **options)


def bootstrap(*args: Any, **options: Any) -> Stability:
    """Return `stability`, under its name of before, which this version keeps with a warning.

    Examples
    --------
    >>> import enmesh as em
    >>> em.stability.__name__  # em.bootstrap is the same function
    'stability'
    """
    warnings.warn("em.bootstrap is called em.stability now", DeprecationWarning, stacklevel=2)
    return stability(*args, **options)
