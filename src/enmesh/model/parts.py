"""Parts: what two or three sources tell of a target each alone, all alike, or only together.

All information is about the next value of the target, given its own past and its other parents, so that the parts add
up to the collective transfer entropy. Redundancy lattice of Williams and Beer (2010, arXiv:1004.2515). Measurements:
the redundancy of sources is the smallest information that one of them has (Barrett 2015, Phys. Rev. E 91, 052802), with
Gaussian or regression estimates. States: the same for each state of the target (specific information, I_min); or the
rule of SURD (Martinez-Sanchez, Arranz and Lozano-Duran 2024, Nat. Commun. 15, 9296), which sorts specific information
and takes its increments.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, combinations
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.table import listed
from enmesh.errors import InputError, refuse_if
from enmesh.model.bases import KINDS, Basis, LeastSquares
from enmesh.model.fit import Data, fitted, links_of
from enmesh.model.nodes import Curve, Term, inputs
from enmesh.model.outlook import Drawn, level_of
from enmesh.options import one_of, whole

if TYPE_CHECKING:
    import pandas as pd

Atom = tuple[tuple[int, ...], ...]  # sets of sources, each of which tells the same
ESTIMATORS = ("gaussian", "basis", "states")
RULES = ("lattice", "surd")
ROUNDING = 1e-12
UNIQUE, REDUNDANT, SYNERGISTIC = "unique", "redundant", "synergistic"


@dataclass(frozen=True, repr=False)
class Parts(Drawn):
    """What sources tell of a target, in parts, in nats.

    Attributes
    ----------
    sources, target, given
        Names; ``given`` are other parents of the target, beside its own past.
    total
        What all sources tell together: the collective transfer entropy.
    atoms
        DataFrame, a row per part: ``part`` ("a": a alone; "a | c": the same in a and in c; "a + c": in both together
        only), ``kind``, ``value``, ``low`` and ``high`` (block bootstrap), ``p_value``.
    estimator, rule, confidence
        How it was computed.
    """

    sources: tuple[str, ...]
    target: str
    given: tuple[str, ...]
    total: float
    atoms: "pd.DataFrame"
    estimator: str
    rule: str
    confidence: float

    def _of(self, kind: str) -> float:
        return float(self.atoms.value[self.atoms.kind == kind].sum())

    @property
    def unique(self) -> dict[str, float]:
        """What each source alone tells."""
        return {name: float(self.atoms.value[self.atoms.part == name].sum()) for name in self.sources}

    @property
    def redundant(self) -> float:
        """What several sources tell alike."""
        return self._of(REDUNDANT)

    @property
    def synergistic(self) -> float:
        """What sources tell only together."""
        return self._of(SYNERGISTIC)

    @property
    def sentence(self) -> str:
        """The parts in words."""
        each = ", ".join(f"{value:.3g} by {name} alone" for name, value in self.unique.items())
        told = f"Of the {self.total:.3g} nats that {listed(self.sources)} tell of {self.target}, {each}"
        return f"{told}, {self.redundant:.3g} are in several alike and {self.synergistic:.3g} only in several together."

    def __repr__(self) -> str:
        return f"{self.sentence}\n{self.atoms.to_string(float_format='{:.4g}'.format, index=False)}"


# --- the lattice ------------------------------------------------------------------------------------------------------


def subsets(k: int) -> list[tuple[int, ...]]:
    """Return all sets of k sources but the empty one, the small ones first."""
    return list(chain.from_iterable(combinations(range(k), size) for size in range(1, k + 1)))


@cache
def lattice(k: int) -> tuple[Atom, ...]:
    """Return all atoms of k sources, each after those below it.

    >>> lattice(2)
    (((0,), (1,)), ((0,),), ((1,),), ((0, 1),))
    >>> len(lattice(3))
    18
    """
    every = subsets(k)
    found: list[Atom] = []
    for size in range(1, len(every) + 1):
        for atom in combinations(every, size):
            if all(not set(a) < set(b) for a in atom for b in atom if a != b):
                found.append(atom)
    return tuple(sorted(found, key=lambda atom: (sum(_below(other, atom) for other in found), atom)))


def _below(first: Atom, second: Atom) -> bool:
    """Say whether whatever second has in common, first has too: each set of second contains one of first."""
    return all(any(set(a) <= set(b) for a in first) for b in second)


def moebius(shared: Mapping[Atom, Any]) -> dict[Atom, Any]:
    """Return the part of each atom from what its sets share: less the parts of all atoms below it."""
    found: dict[Atom, Any] = {}
    for atom in shared:
        found[atom] = shared[atom] - sum((found[other] for other in found if _below(other, atom)), 0.0)
    return found


def kind_of(atom: Atom) -> str:
    """Return whether an atom is of one source alone, of several alike, or of several together."""
    if len(atom) > 1:
        return REDUNDANT if any(len(one) == 1 for one in atom) else SYNERGISTIC
    return UNIQUE if len(atom[0]) == 1 else SYNERGISTIC


def parts_of_informations(told: Mapping[tuple[int, ...], float]) -> dict[Atom, float]:
    """Return the parts where redundancy is the smallest information of a set: ``told`` is that of every set.

    >>> found = parts_of_informations({(0,): 0.3, (1,): 0.1, (0, 1): 0.6})
    >>> {atom: round(value, 9) for atom, value in found.items()}
    {((0,), (1,)): 0.1, ((0,),): 0.2, ((1,),): 0.0, ((0, 1),): 0.3}
    """
    k = max(map(len, told))
    return moebius({atom: min(told[one] for one in atom) for atom in lattice(k)})


def parts_of_table(counts: np.ndarray, rule: str = "lattice") -> dict[Atom, float]:
    """Return the parts of states from counts or probabilities ``(condition, source 1, ..., target)``.

    >>> xor = np.zeros((1, 2, 2, 2))
    >>> for a in (0, 1):
    ...     for b in (0, 1):
    ...         xor[0, a, b, a ^ b] = 1 / 4
    >>> float(round(parts_of_table(xor)[((0, 1),)] / np.log(2), 6))
    1.0
    """
    joint, k = counts / counts.sum(), counts.ndim - 2
    told = {one: _specific(joint, one) for one in subsets(k)}
    here = joint.sum(axis=tuple(range(1, k + 1)))  # of condition and state of the target
    if rule == "surd":
        return _surd(told, here, k)
    smallest = {atom: np.min([told[one] for one in atom], axis=0) for atom in lattice(k)}
    return {atom: float(np.sum(here * value)) for atom, value in moebius(smallest).items()}


def _specific(joint: np.ndarray, some: tuple[int, ...]) -> np.ndarray:
    """Return what some sources tell of each state of the target, in each condition: ``(condition, state)``."""
    gone = tuple(axis + 1 for axis in range(joint.ndim - 2) if axis not in some)
    p = joint.sum(axis=gone).reshape(len(joint), -1, joint.shape[-1])
    given_source = p / np.where(p.sum(axis=2, keepdims=True) > 0, p.sum(axis=2, keepdims=True), 1)
    state = p.sum(axis=1, keepdims=True)
    given_state = p / np.where(state > 0, state, 1)
    share = state / np.where(state.sum(axis=2, keepdims=True) > 0, state.sum(axis=2, keepdims=True), 1)
    ratio = np.where(p > 0, given_source / np.where(share > 0, share, 1), 1.0)
    return np.asarray((given_state * np.log(ratio)).sum(axis=1))


def _surd(told: Mapping[tuple[int, ...], np.ndarray], here: np.ndarray, k: int) -> dict[Atom, float]:
    """Return increments of sorted specific information, for each state of the target and condition."""
    found = dict.fromkeys(lattice(k), 0.0)
    for place in np.argwhere(here > 0):
        at = tuple(place)
        value = {one: float(told[one][at]) for one in told}
        for size in range(2, k + 1):
            least = max(value[one] for one in value if len(one) == size - 1)
            value |= {one: 0.0 for one in value if len(one) == size and value[one] < least}
        before, left = 0.0, list(range(k))
        for one in sorted(value, key=lambda some: (value[some], len(some), some)):
            atom = tuple((source,) for source in left) if len(one) == 1 else (one,)
            found[atom] += float(here[at]) * (value[one] - before)
            before = value[one]
            if len(one) == 1:
                left.remove(one[0])
    return found


# --- from samples -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Samples:
    """The next values of a target, what is given, and the sources, on the same rows; ``starts`` of trials."""

    y: np.ndarray
    z: np.ndarray
    x: tuple[np.ndarray, ...]
    starts: np.ndarray


def _by_regression(samples: _Samples, kind: str) -> dict[Atom, float]:
    """Return parts by regressions: half the logarithm of residual variances.

    Of curves each information is less what its number of coefficients gives by chance.
    """
    n, told = len(samples.y), {}

    def error(columns: Sequence[np.ndarray]) -> tuple[float, int]:
        x = np.column_stack(columns)
        fit = LeastSquares.of(Basis.of(kind, x)(x), samples.y)
        return float(fit.residuals @ fit.residuals), len(fit.beta) * (kind != "linear")

    alone, used = error([samples.z])
    for some in subsets(len(samples.x)):
        left, more = error([samples.z, *(samples.x[i] for i in some)])
        told[some] = float(np.log(alone / left) / 2) - (more - used) / (2 * n)
    return parts_of_informations(told)


def _codes(columns: np.ndarray) -> np.ndarray:
    """Return the number of the joint state of columns."""
    if not columns.shape[1]:
        return np.zeros(len(columns), np.int64)
    return np.unique(columns, axis=0, return_inverse=True)[1].ravel()


def _by_counting(samples: _Samples, rule: str) -> dict[Atom, float]:
    coded = [_codes(samples.z), *(_codes(one) for one in samples.x), _codes(samples.y[:, None])]
    counts = np.zeros(tuple(int(one.max()) + 1 for one in coded))
    np.add.at(counts, tuple(coded), 1)
    return parts_of_table(counts, rule)


def parts(
    series: Any,
    sources: Sequence[str],
    target: str,
    *,
    network: Any = None,
    estimator: str | None = None,
    rule: str = "lattice",
    n_surrogates: int = 199,
    confidence: float = 0.95,
    seed: int = 0,
) -> Parts:
    """Return the unique, redundant and synergistic parts of what two or three sources tell of a target.

    Parameters
    ----------
    series
        The recording.
    sources, target
        Names of two or three sources, and of the target.
    network
        Its links say at which lags sources act, and which other parents are given; without it lag 1, and none.
    estimator
        ``"gaussian"``; ``"basis"``, regression on the basis that suits the target; ``"states"``, counting. By default
        the one that suits the target.
    rule
        ``"lattice"``, or ``"surd"`` for states.
    n_surrogates
        Circular shifts of all sources but the strongest, for p-values of redundant and synergistic parts, and
        samples of the block bootstrap, for limits and for p-values of unique parts.
    confidence, seed
        Of the limits; of shifts and bootstrap.

    >>> import enmesh as em
    >>> series = em.simulate.boolean("a>c, b>c", n=400, rule="xor", flip=0.1, seed=0)
    >>> found = em.parts(series, ["a", "b"], "c")
    >>> found.synergistic > 10 * found.redundant, float(found.atoms.p_value.iloc[-1])
    (True, 0.005)
    """
    series = Series.of(series)
    ends = [series.names[i] for i in series.indices(sources)]
    refuse_if(len(ends) not in (2, 3), f"{len(ends)} sources; give two or three")
    name = series.names[series.index(target)]
    refuse_if(name in ends, f"{name} is the target and a source; name other sources")
    one_of("estimator", estimator, (None, *ESTIMATORS))
    one_of("rule", rule, RULES)
    if not (network is None or hasattr(network, "edges")):
        raise InputError(f"network={network!r} is no network; give what infer returned, or leave it out")
    samples, used, measure, given = _sampled(series, ends, name, network, estimator, rule)
    found, count, seed = measure(samples), whole("n_surrogates", n_surrogates, 19), whole("seed", seed)
    null = [measure(one) for one in _shifts(samples, found, count, seed)]
    boot = [measure(one) for one in _blocks(samples, count, seed)]
    frame = _table(ends, found, null, boot, level_of(confidence))
    return Parts(tuple(ends), name, tuple(given), float(sum(found.values())), frame, used, rule, confidence)


def measured(series: Series, sources: Sequence[str], target: str, network: Any) -> list[tuple[str, str, float]]:
    """Return part, kind and nats of what sources tell of a target, without tests and limits."""
    samples, _, measure, _ = _sampled(series, sources, target, network, None)
    return [(_words(atom, sources), kind_of(atom), value) for atom, value in measure(samples).items()]


def _words(atom: Atom, ends: Sequence[str]) -> str:
    return " | ".join(" + ".join(ends[i] for i in one) for one in atom)


def _table(
    ends: Sequence[str], found: Mapping[Atom, float], null: Sequence[Any], boot: Sequence[Any], limits: Any
) -> "pd.DataFrame":
    """Return a row per part with its limits and p-value: those alike, those of one source, those only together."""
    import pandas as pd

    rows = []
    for atom, value in found.items():
        shifted, drawn = (np.array([one[atom] for one in made]) for made in (null, boot))
        off = drawn - drawn.mean()
        value = 0.0 if abs(value) < ROUNDING else value
        off = np.where(np.abs(off) < ROUNDING, 0.0, off)
        between = value + np.quantile(off, limits)
        reached = shifted >= value - ROUNDING if kind_of(atom) != UNIQUE else value - off <= ROUNDING
        reached |= value <= 0
        rows.append((_words(atom, ends), kind_of(atom), value, *between, (1 + int(reached.sum())) / (1 + len(boot))))
    frame = pd.DataFrame(rows, columns=["part", "kind", "value", "low", "high", "p_value"])
    rank = frame.kind.map({REDUNDANT: 0, UNIQUE: 1, SYNERGISTIC: 2})
    return frame.iloc[np.argsort(rank.to_numpy(), kind="stable")].reset_index(drop=True)


def _sampled(
    series: Series, ends: Sequence[str], target: str, network: Any, estimator: str | None, rule: str = "lattice"
) -> tuple[_Samples, str, Callable[[_Samples], dict[Atom, float]], list[str]]:
    """Return the samples, the estimator, what measures the parts, and the names that are given."""
    lags = {} if network is None else {(e.source, e.target): tuple(e.lags) for e in network.edges.itertuples()}
    given = [] if network is None else [one for one in network.parents[target] if one not in ends]
    data, i = Data.of(series), series.index(target)
    at = dict(zip(series.names, range(series.n_nodes)))
    links = links_of(series.names, {target: (*ends, *given)}, lags)
    node = fitted(data, links, only=[i])[i]
    all_states = not isinstance(node, Curve) and all(at[one] in data.states for one in (*ends, *given))
    curved = isinstance(node, Curve) and node.basis.kind != "linear"
    used = estimator or ("states" if all_states else "basis" if curved else "gaussian")
    if (used == "states") != all_states:
        told = "counting needs states throughout" if used == "states" else f"{target} is states"
        raise InputError(f"{told}; use series.discretise() for estimator='states', and measurements for the others")
    refuse_if(rule == "surd" and used != "states", "rule='surd' is for states; cut the series into bins (discretise)")
    kind = node.basis.kind if isinstance(node, Curve) and curved else KINDS[1]
    kind = "linear" if used == "gaussian" else kind
    longest = max([node.own, *(lag for _, lag in links[i])])
    rows = data.complete(data.rows(longest), longest + 1)
    own = [Term(i, lag) for lag in range(1, node.own + 1)]
    terms = {name: [Term(s, lag) for s, lag in links[i] if s == at[name]] for name in ends}
    z = [*own, *(Term(s, lag) for s, lag in links[i] if series.names[s] in given)]
    trial = np.searchsorted(np.cumsum([len(one) for one in data.trials]), rows, side="right")
    starts = np.searchsorted(trial, np.arange(len(data.trials) + 1))
    x = tuple(inputs(data.values, rows, terms[name]) for name in ends)
    samples = _Samples(data.values[rows, i], inputs(data.values, rows, z), x, starts)
    measure = partial(_by_counting, rule=rule) if used == "states" else partial(_by_regression, kind=kind)
    return samples, used, measure, given


def _shifts(samples: _Samples, found: Mapping[Atom, float], n: int, seed: int) -> Iterable[_Samples]:
    """Return samples with all sources but the strongest shifted in time, each by itself."""
    from enmesh.surrogates import CircularShift

    k = len(samples.x)
    alone = [sum(value for atom, value in found.items() if _below(atom, ((i,),))) for i in range(k)]
    weaker = [i for i in range(k) if i != int(np.argmax(alone))]
    starts = np.unique(samples.starts)
    draws = [CircularShift().plan(samples.x[i], samples.z, starts=starts, span=1)(seed * 8 + i, 0, n) for i in weaker]
    for rows in zip(*draws):
        moved = dict(zip(weaker, rows))
        x = tuple(one[moved[i]] if i in moved else one for i, one in enumerate(samples.x))
        yield _Samples(samples.y, samples.z, x, samples.starts)


def _blocks(samples: _Samples, n: int, seed: int) -> Iterable[_Samples]:
    """Return samples of blocks of rows that are drawn with replacement."""
    rng, size = np.random.default_rng([seed, 7]), len(samples.y)
    length = max(1, round(size ** (1 / 3)))
    for _ in range(n):
        first = rng.integers(0, size - length + 1, -(-size // length))
        rows = (first[:, None] + np.arange(length)).ravel()[:size]
        yield _Samples(samples.y[rows], samples.z[rows], tuple(one[rows] for one in samples.x), samples.starts)
