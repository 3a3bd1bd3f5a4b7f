"""Lagged variables, and the two options that say which of them make a past: `Embedding` and `Lags`.

The past of a source, as a target sees it, is a list of its lags. Every measure, score and test works on either option,
because both answer the same question: at which lags is this source asked about for this target (`table`).
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any, ClassVar, NamedTuple

from enmesh.errors import InputError, refuse_if
from enmesh.options import option, whole

PerNode = int | Mapping[str, int]


class PastTable(dict[tuple[int, int], tuple[int, ...]]):
    """Lags of (source, target), both by position; ``(i, i)`` is the own past of node i. Pairs not listed have lag 1."""

    def __init__(self, listed: Mapping[tuple[int, int], tuple[int, ...]], n_nodes: int):
        super().__init__(listed)
        self.n_nodes = n_nodes

    def __missing__(self, pair: tuple[int, int]) -> tuple[int, ...]:
        return (1,)

    def different(self) -> set[tuple[int, tuple[int, ...]]]:
        """Return the different pasts of every source: (source, lags)."""
        listed = Counter(source for source, _ in self)
        usual = {(j, (1,)) for j in range(self.n_nodes) if listed[j] < self.n_nodes}
        return usual | {(source, lags) for (source, _), lags in self.items()}


class Lagged(NamedTuple):
    """A node at a lag: ``lag`` samples before the predicted one, 0 for the predicted sample itself."""

    node: int
    lag: int


@option
class Embedding:
    """Embedding dimension kappa, delay tau and source lag, one value for all nodes or one per node by name.

    The past of node j as a source is ``y^j_{n+1-lag}, y^j_{n+1-lag-tau}, ...`` (kappa values); a node's own past
    always starts at n. Nodes that a mapping does not name have the value 1.

    >>> Embedding(dim={"a": 3, "b": 2}).per_node(("a", "b", "c"))["dim"]
    (3, 2, 1)
    """

    searched: ClassVar[int] = 0  # lags are as given, none was searched in the data

    dim: PerNode = 1
    delay: PerNode = 1
    lag: PerNode = 1

    def __post_init__(self) -> None:
        for what in ("dim", "delay", "lag"):
            value: Any = getattr(self, what)
            if isinstance(value, (Mapping, tuple, list)):
                odd = not isinstance(value, Mapping) and not all(
                    isinstance(one, tuple) and len(one) == 2 for one in value
                )
                refuse_if(odd, f"{what}={value!r} is not possible; give a number, or {{node: number}}")
                pairs = ((str(name), whole(what, number, 1)) for name, number in dict(value).items())
                object.__setattr__(self, what, tuple(sorted(pairs)))
            else:
                object.__setattr__(self, what, whole(what, value, 1))

    def per_node(self, names: tuple[str, ...]) -> dict[str, tuple[int, ...]]:
        """Return dim, delay and lag as tuples in the order of ``names``."""
        result = {}
        for what in ("dim", "delay", "lag"):
            value: Any = getattr(self, what)
            given = dict.fromkeys(names, value) if isinstance(value, int) else dict(value)
            if unknown := [name for name in given if name not in names]:
                absent = f"names {', '.join(unknown)}, which the series does not have"
                raise InputError(f"the embedding's {what} {absent}; give one number or one per node")
            result[what] = tuple(given.get(name, 1) for name in names)
        return result

    def table(self, names: tuple[str, ...]) -> PastTable:
        """Return the lags of every (source, target)."""
        table, nodes = {}, range(len(names))
        for j, (dim, delay, lag) in enumerate(zip(*self.per_node(names).values())):
            for i in nodes:
                first = 1 if i == j else lag
                table[j, i] = tuple(range(first, first + dim * delay, delay))
        return PastTable(table, len(names))


@option
class Lags:
    """Any lags for any pair: ``Lags({("a", "b"): (1, 4), ("b", "b"): (1, 2)})``; ``("b", "b")`` is b's own past.

    Pairs that are not named have lag 1. The mapping may be given without its name.

    Parameters
    ----------
    lags
        ``{(source, target): (lag, ...)}`` with lags of at least 1, or one lag alone.
    searched
        Largest lag among which the lags of sources were chosen from the data; 0 if they were not. Tests by surrogates
        then make the same choice, and analytic ones divide their level by the number of choices.

    >>> Lags({("a", "b"): (4, 1)}).table(("a", "b"))[0, 1]
    (1, 4)
    """

    lags: Any = ()
    searched: int = 0

    def __init__(self, lags: Any = (), *, searched: int = 0) -> None:
        object.__setattr__(self, "lags", tuple(sorted(_checked_lags(lags))))
        object.__setattr__(self, "searched", whole("searched", searched, 0))
        for source, target, found in self.lags:
            if self.searched and source != target and max(found) > self.searched:
                beyond = f"reach beyond searched={searched}; raise searched"
                raise InputError(f"the lags {found} of {source} for {target} {beyond}")

    @classmethod
    def of(cls, pasts: "Pasts", names: tuple[str, ...], *, searched: int | None = None) -> "Lags":
        """Return the lags that spell out any pasts for the given nodes."""
        spelled = {(names[j], names[i]): lags for (j, i), lags in pasts.table(names).items()}
        return cls(spelled, searched=pasts.searched if searched is None else searched)

    def table(self, names: tuple[str, ...]) -> PastTable:
        """Return the lags of every (source, target)."""
        place = {name: i for i, name in enumerate(names)}
        unknown = sorted({end for *ends, _ in self.lags for end in ends if end not in place})
        if unknown:
            raise InputError(f"the lags name {', '.join(unknown)}, which the series does not have")
        listed = {(place[source], place[target]): found for source, target, found in self.lags}
        return PastTable(listed, len(names))


Pasts = Embedding | Lags  # what measures and scores take as ``embedding``


def reach(pasts: Pasts, names: tuple[str, ...]) -> int:
    """Samples before the first predicted one: the largest lag of any pair, or that was searched."""
    return max(*(max(lags) for _, lags in pasts.table(names).different()), pasts.searched)


def checked_pasts(pasts: Any) -> Pasts:
    """Return what a user gave as ``embedding``, by default ``Embedding()``; anything else is refused."""
    pasts = Embedding() if pasts is None else pasts
    if not isinstance(pasts, (Embedding, Lags)):
        raise InputError(f"embedding={pasts!r} is no embedding; give Embedding(dim=2) or Lags(...)")
    return pasts


def _checked_lags(lags: Any) -> Iterable[tuple[str, str, tuple[int, ...]]]:
    if not isinstance(lags, Iterable) or hasattr(lags, "ndim"):
        raise InputError(f"{lags!r} holds no lags; give {{(source, target): (lag, ...)}}")
    entries: Any = lags
    if isinstance(lags, Mapping):
        entries = [(*(pair if isinstance(pair, tuple) else (pair,)), found) for pair, found in lags.items()]
    for entry in entries:
        if not isinstance(entry, tuple | list) or len(entry) != 3:
            raise InputError(f"{entry!r} is not a past; give {{(source, target): (lag, ...)}}")
        source, target, found = entry
        found = found if isinstance(found, Iterable) else (found,)
        unique = tuple(sorted({whole("lag", lag, 1) for lag in found}))
        if not unique:
            raise InputError(f"no lag is given for {source} to {target}; give at least one")
        yield str(source), str(target), unique
