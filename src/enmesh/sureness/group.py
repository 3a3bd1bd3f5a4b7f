"""group: the network of several subjects, who shares each link, and whether it holds for others like them."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.errors import InputError
from enmesh.inference.infer import infer
from enmesh.inference.store import described
from enmesh.inference.workers import in_order
from enmesh.network.network import FORMAT, Network
from enmesh.options import describe, names_in, plain, restore
from enmesh.significance import q_of
from enmesh.sureness import units
from enmesh.sureness.units import PairTables

if TYPE_CHECKING:
    import pandas as pd

DRAWN_SIGNS, ALL_SIGNS = 9999, 13  # signs that are drawn; subjects up to which all are tried


@dataclass(frozen=True)
class Group(PairTables):
    """The network of a group and what its members say to it.

    Attributes
    ----------
    network
        Inferred from all subjects pooled, each subject its own trials; surrogates are shifted within subjects.
    share
        DataFrame, row drives column: share of subjects in whose own network the link stands.
    te
        DataFrame: mean over subjects of the transfer entropy less what chance gives, in nats, given the parents in
        the group's network.
    p_value, q_value
        DataFrames of the test across subjects: is the mean above 0 in the population that they stand for?
    subjects
        How many there are.
    own
        ``{subject: (M, M) links}`` of each subject's own network, row drives column.
    """

    network: Network
    share: "pd.DataFrame"
    te: "pd.DataFrame"
    p_value: "pd.DataFrame"
    q_value: "pd.DataFrame"
    subjects: int
    own: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    tables = ("share", "te", "p_value", "q_value")

    def __repr__(self) -> str:
        return f"Group({self.network!r}, {self.subjects} subjects)"


def group(
    subjects: Sequence[Any],
    *,
    labels: Sequence[str] | None = None,
    n_jobs: int | None = None,
    store: str | os.PathLike[str] | None = None,
    progress: Any = None,
    seed: int = 0,
    **options: Any,
) -> Group:
    """Infer the network of a group of subjects.

    Each subject is standardised, then all are pooled as trials. The pooled network has the links of these subjects
    taken together. ``share`` is the share of subjects whose own network has a link. ``p_value`` is for the population:
    the mean over subjects of the bias-corrected transfer entropy against random signs, exact up to 13 subjects.

    Parameters
    ----------
    subjects
        A `Series`, or what `Series` takes, for each subject; nodes are matched by name.
    labels
        What the subjects are called; by default the files they were read from, or their numbers.
    store
        Path of a file that keeps what is finished of each subject, so that a stopped run resumes.
    n_jobs, progress, seed, options
        Of `infer`, such as ``score=``; each subject's own network has the same.

    Examples
    --------
    >>> import enmesh as em
    >>> subjects = [em.simulate.var("a>b", n=200, seed=seed) for seed in range(6)]
    >>> found = em.group(subjects, score=em.TEA(embedding=em.Embedding()))
    >>> found.network.parents, float(found.share.loc["a", "b"])
    ({'a': (), 'b': ('a',)}, 1.0)

    References
    ----------
    Nichols, T. E. and Holmes, A. P. (2002). Nonparametric permutation tests for functional neuroimaging. Human Brain
    Mapping 15, 1.
    """
    if isinstance(subjects, Series) or not isinstance(subjects, Sequence) or len(subjects) < 2:
        raise InputError("a group needs at least 2 subjects; give a list with a series for each")
    prepared = [units.standardised(one) for one in subjects]
    everyone, called = units.pooled(prepared), _called(labels, prepared)
    how: dict[str, Any] = {"n_jobs": n_jobs, "store": store, "progress": progress}
    network = infer(everyone, seed=seed, **how, **options)
    score, parents = restore(network.options["score"]), units.parents_in([network])
    given = [(name, one.select(everyone.names), score, parents, seed, options) for name, one in zip(called, prepared)]
    asked = {"type": "group", "network": network.options["score"], "seed": seed, "options": describe(dict(options))}
    found = in_order(_of_one, given, description=described(everyone, asked, FORMAT), what="subjects", **how)
    corrected, links = (np.array(part, float) for part in zip(*found))
    share, p_value = links.mean(0), signed(corrected, seed)
    np.fill_diagonal(share, np.nan)
    framed = {"share": share, "te": corrected.mean(0), "p_value": p_value, "q_value": q_of(p_value)}
    tables = {name: units.frame(everyone.names, matrix) for name, matrix in framed.items()}
    return Group(network, **tables, subjects=len(prepared), own=dict(zip(called, links)))


def _called(labels: Sequence[str] | None, subjects: Sequence[Series]) -> list[str]:
    """Return a name for each subject, no two alike."""
    known = names_in("labels", labels) if labels is not None else [Path(one.file).stem for one in subjects]
    if labels is not None and len(known) != len(subjects):
        raise InputError(f"{len(known)} labels for {len(subjects)} subjects; give one for each")
    if len(set(known)) < len(known) or not all(known):
        return [f"subject {i + 1}" for i in range(len(subjects))]
    return known


def _of_one(name: str, series: Series, score: Any, parents: Any, seed: int, options: dict[str, Any]) -> list[Any]:
    """Return a subject's transfer entropies less chance, and the links of its own network, as plain data."""
    try:
        alone = infer(series, seed=seed, n_jobs=1, progress=False, **options)
        found: list[Any] = plain([units.tests_of(series, score, parents, None)[2], alone.adjacency.astype(float)])
    except InputError as error:
        raise InputError(f"subject {name}: {error}") from None
    return found


def signed(values: np.ndarray, seed: int, *, sides: int = 1) -> np.ndarray:
    """Return p-values of the mean of ``values (subject, ...)`` among those with random signs of each subject.

    With ``sides=1`` large means count, with 2 means far from 0 either way. All signs are tried for few subjects.
    """
    count = len(values)
    if count <= ALL_SIGNS:
        signs = 1 - 2 * ((np.arange(2**count)[:, None] >> np.arange(count)) & 1)
    else:
        signs = 1 - 2 * np.random.default_rng([seed, 2]).integers(0, 2, (DRAWN_SIGNS, count))
        signs = np.vstack([np.ones((1, count), int), signs])
    return reached(np.tensordot(signs / count, values, 1), sides=sides)


def reached(values: np.ndarray, *, sides: int) -> np.ndarray:
    """Return the share of values as large (with 2 sides: as far from 0) as the first, the true one, itself included."""
    sizes = np.abs(values) if sides == 2 else values
    share = (sizes >= sizes[0] - 1e-12 * np.abs(sizes[0])).mean(0)
    return np.where(np.isnan(sizes[0]), np.nan, share)
