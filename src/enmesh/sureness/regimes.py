"""regimes: when do links change, and what is the network before and after?"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.draw.shown import Reported
from enmesh.errors import InputError, collected_hazards, hazard
from enmesh.inference.infer import infer
from enmesh.network.network import LEVEL, Network
from enmesh.options import error_rate, whole
from enmesh.significance import q_of
from enmesh.sureness.compare import Comparison, compare
from enmesh.within.cautions import CHANGE
from enmesh.within.changes import Change, change_of, time_of
from enmesh.within.network import Asked

if TYPE_CHECKING:
    import pandas as pd

SHORTEST, SHARE = 100, 0.1  # samples, and share of the record, that a regime has at least (a convention)
MOST = 2e8  # numbers that the partial sums of all pairs, lags and samples may be


@dataclass(frozen=True)
class Regimes(Reported):
    """Times at which links change, and a network for each regime between them.

    Attributes
    ----------
    change_points
        First sample of each regime but the first.
    p_values
        Of no change in the stretch in which each was found; the search along the stretch is counted.
    bounds
        First and last sample (exclusive) of each regime.
    networks
        The network of each regime.
    changes
        DataFrame of pairs with a change: at, source, target, before and after (transfer entropy in nats in the two
        networks), p_value and q_value, which count all times and all pairs.
    network
        The network of the whole recording.
    times, sums
        Samples, and for each pair ``(source, target, sample)`` the statistic along the whole recording, at the lag with
        the largest one.
    limit
        Distance from 0 that the statistic of a pair without a change exceeds in at most 5 % of recordings. The search
        for time and lag is counted.
    level
        Error rate of a change point.
    dt
        Sampling step.
    """

    change_points: tuple[int, ...]
    p_values: tuple[float, ...]
    bounds: tuple[tuple[int, int], ...]
    networks: tuple[Network, ...]
    changes: "pd.DataFrame"
    network: Network
    times: np.ndarray = field(repr=False)
    sums: np.ndarray = field(repr=False)
    limit: float
    level: float
    dt: float
    series: Series = field(repr=False)
    options: dict[str, Any] = field(repr=False)

    def __len__(self) -> int:
        """Return the number of regimes."""
        return len(self.networks)

    def __repr__(self) -> str:
        at = ", ".join(f"{point} (p = {p:.2g})" for point, p in zip(self.change_points, self.p_values))
        return f"Regimes({len(self)} regimes; {f'changes at sample {at}' if at else 'no change found'})"

    def compare(self, change: int = 0, n_permutations: int = 999, **options: Any) -> Comparison:
        """Compare the regimes before and after a change point (`compare`), at p-values that count the search.

        The change point was chosen from the data. p- and q-values are multiplied by the number of regimes of the
        smallest length that fit into both, which is about the number of independent places for it.
        """
        if not 0 <= change < len(self.change_points):
            raise InputError(f"change={change} is not possible; there are {len(self.change_points)} change points")
        before, after = self.bounds[change], self.bounds[change + 1]
        first, second = (cut(self.series, *bounds) for bounds in (before, after))
        found = compare(first, second, n_permutations, **{**self.options, **options})
        places = max(1, (after[1] - before[0]) // shortest_of(sum(self.series.lengths)) - 1)
        p_value, q_value = ((frame * places).clip(upper=1.0) for frame in (found.p_value, found.q_value))
        exchanged = f"{found.exchanged}; p-values times {places} places of the change"
        return replace(found, p_value=p_value, q_value=q_value, exchanged=exchanged)


def regimes(
    series: Any, *, level: float = LEVEL, shortest: int | None = None, progress: Any = None, **options: Any
) -> Regimes:
    """Find when links change, and infer one network for each regime.

    The network of a stretch is inferred. If its links hold throughout, the products of residuals and lagged variables
    sum to a Brownian bridge; its largest distance from 0 tests for a change at an unknown time. Where the test says so,
    the stretch is divided at the time at which two regressions fit best, and both parts are treated alike, each at half
    the level.

    Parameters
    ----------
    series
        One recording of a single trial: anything `Series` takes. (For trials, `windows` slides over their time.)
    level
        Error rate of a change point: the probability that one is found in a recording without a change.
    shortest
        Samples of the shortest regime; by default a tenth of the recording, and at least 100.
    progress, options
        Of `infer`, such as ``max_lag=``, for the default test.

    Examples
    --------
    >>> import numpy as np
    >>> import enmesh as em
    >>> graphs = {"a": [], "b": ["a"], "c": ["b"]}, {"a": ["b"], "b": [], "c": ["b"]}
    >>> parts = [em.simulate.var(graph, n=500, coupling=0.6, seed=1).values for graph in graphs]
    >>> found = em.regimes(em.Series(np.concatenate(parts), names=["a", "b", "c"]))
    >>> len(found), abs(found.change_points[0] - 500) < 50
    (2, True)
    >>> [dict(network.parents) for network in found.networks]
    [{'a': (), 'b': ('a',), 'c': ('b',)}, {'a': ('b',), 'b': (), 'c': ('b',)}]

    References
    ----------
    Ploberger, W. and Krämer, W. (1992). The CUSUM test with OLS residuals. Econometrica 60, 271.
    """
    series = Series.of(series)
    samples, least = _asked(series, level, shortest)
    with collected_hazards(show=False) as met:
        found = _Stretch(series, 0, samples, level, least, {**options, "progress": progress})
    for message in met:
        if not message.startswith(CHANGE):  # the answer says so
            hazard(message)
    leaves = found.leaves()
    splits = sorted(found.splits())
    network, sums = found.network, found.change.sums
    order = [network.names.index(name) for name in found.names]
    placed = np.zeros_like(sums)
    placed[np.ix_(order, order)] = sums
    return Regimes(
        change_points=tuple(at for at, _, _ in splits),
        p_values=tuple(stretch.change.p_value for _, _, stretch in splits),
        bounds=tuple((leaf.first, leaf.last) for leaf in leaves),
        networks=tuple(leaf.network for leaf in leaves),
        changes=_changes(splits, leaves),
        network=network, times=found.change.rows, sums=placed, limit=found.change.limit, level=level,
        dt=series.dt, series=series, options=dict(options),
    )  # fmt: skip


def _asked(series: Series, level: float, shortest: int | None) -> tuple[int, int]:
    """Return the samples of the recording, and of the shortest regime; refuse what cannot be."""
    error_rate("level", level)
    if len(series.trials) > 1:
        raise InputError(
            f"regimes takes one trial, not {len(series.trials)}; use windows(series, width, step), which shows what "
            "changes within trials"
        )
    samples = sum(series.lengths)
    least = shortest_of(samples) if shortest is None else whole("shortest", shortest, 40)
    if samples < 2 * least:
        raise InputError(f"{samples} samples are too few for two regimes of {least}; give a smaller shortest=")
    return samples, least


def shortest_of(samples: int) -> int:
    """Return the samples of the shortest regime of a recording."""
    return max(SHORTEST, int(SHARE * samples))


def cut(series: Series, first: int, last: int) -> Series:
    """Return the samples from first to last, last exclusive."""
    return series.with_trials([series.trials[0][first:last]])


class _Stretch:
    """A stretch of the record: its network, the test for a change, and the two parts where there is one."""

    def __init__(self, series: Series, first: int, last: int, level: float, least: int, options: dict[str, Any]):
        self.first, self.last, self.level = first, last, level
        self.network = infer(cut(series, first, last), **options)
        ordered = cut(series, first, last).in_order()
        asked = Asked(self.network, ordered)
        nodes, lags = asked.samples.nodes, asked.samples.max_lag
        if nodes * lags * 2 * (last - first) > MOST:
            raise InputError(
                f"regimes of {nodes} nodes, {lags} lags and {last - first} samples take more memory than it may use; "
                "select nodes, or give max_lag=1"
            )
        self.names = ordered.names
        self.change: Change = change_of(asked.samples, asked.lagged, asked.clocks)
        self.parts: tuple[_Stretch, ...] = ()
        self.at = 0
        if last - first >= 2 * least and self.change.p_value <= level:
            place = time_of(asked.samples, asked.lagged, self.change, least - asked.samples.max_lag)
            self.at = first + int(self.change.rows[place])
            ends = ((first, self.at), (self.at, last))
            self.parts = tuple(_Stretch(series, a, b, level / 2, least, options) for a, b in ends)

    def leaves(self) -> "list[_Stretch]":
        """Return the regimes, in the order of time."""
        return [leaf for part in self.parts for leaf in part.leaves()] if self.parts else [self]

    def splits(self) -> "list[tuple[int, int, _Stretch]]":
        """Return the change points with the first sample of the stretch each was found in, and that stretch."""
        if not self.parts:
            return []
        return [*self.parts[0].splits(), (self.at, self.first, self), *self.parts[1].splits()]


def _changes(splits: list[tuple[int, int, _Stretch]], leaves: list[_Stretch]) -> "pd.DataFrame":
    """Return the pairs that change at each change point."""
    import pandas as pd

    rows = []
    for at, _, stretch in splits:
        before = next(leaf.network for leaf in leaves if leaf.last == at)
        after = next(leaf.network for leaf in leaves if leaf.first == at)
        values = [{(r.source, r.target): r.te for r in net.pairs.itertuples()} for net in (before, after)]
        p = stretch.change.pairs
        q = q_of(p)
        for j, i in np.argwhere(q <= LEVEL):
            pair = stretch.names[j], stretch.names[i]
            both = [one.get(pair, np.nan) for one in values]
            rows.append((at, *pair, *both, float(p[j, i]), float(q[j, i])))
    columns = ["at", "source", "target", "before", "after", "p_value", "q_value"]
    return pd.DataFrame(rows, columns=columns).sort_values(["at", "p_value"], ignore_index=True)
