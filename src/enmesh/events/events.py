"""Events: when each node fired, traded or rang, in continuous time; what `Series` is for samples."""

import hashlib
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from enmesh.data.graph_input import truth_in
from enmesh.data.series import Series
from enmesh.data.table import can_be_seen, listed, visible
from enmesh.errors import InputError, refuse_if
from enmesh.events.sources import Columns, Spans, Trial, plain_numbers, trials_of
from enmesh.options import names_in, one_of

if TYPE_CHECKING:
    import pandas as pd

MEND = ("sort", "duplicates", "outside")
# Words of `read`.
READING = ("decimal", "thousands", "na", "skip", "units", "date_format", "encoding", "sheet")
# Times that are whole multiples of a step, up to this share of it, were recorded in steps; fewer times cannot tell.
ON_STEP, ENOUGH = 0.02, 20


class Stretch(NamedTuple):
    """A time that was observed without a break: trial, start, stop, and the times of every node in it."""

    trial: int
    start: float
    stop: float
    times: tuple[np.ndarray, ...]


class Events:
    """Times of events of several nodes: spikes, trades, alarms, earthquakes.

    Parameters
    ----------
    data
        ``{node: times}``, a list of such mappings (one per trial) or of arrays of times (one per node), a table with a
        row per event (columns node, time, and trial if there are several) or its path (csv, tsv, xlsx, parquet, npy,
        npz, nwb), MNE annotations, Neo spike trains, segments and blocks, pynapple's Ts and TsGroup, the units of NWB.
    duration
        The recording goes from 0 to this; one number, or one per trial. Without it and without ``windows`` a trial
        goes from its first to its last event (or as the object says).
    windows
        ``[(start, stop), ...]``: times that were observed; histories do not reach over a gap. One list for all trials,
        or a list of lists.
    names
        Nodes to keep, in this order; by default all, as they come, numbers and text sorted.
    mend
        What may be put right instead of refused: ``"sort"`` times that are not in order, ``"duplicates"`` (equal times
        of a node count once), ``"outside"`` (events outside the observed time are left out). One word or several.
    node, time, trial
        Names of the columns of a table; by default those called so, or alike (unit, neuron; times, onset).
    truth
        The graph that generated the data, where it is known.
    **reading
        How a file is written, as in `read`: decimal, thousands, na, skip, units, date_format, encoding, sheet.

    Attributes
    ----------
    stretches
        The observed times, one after the other: trial, start, stop, times of each node.
    resolution
        Step of the times, if they are whole multiples of one (such as 0.001 s), else None; see `spread`.
    file
        Name of the file it was read from; empty if it was not.

    Examples
    --------
    >>> Events({"a": [0.5, 1.5, 4.0], "b": [0.9, 2.2]}, duration=5.0)
    Events(2 nodes: a (3), b (2); 5 units of time)
    """

    truth: dict[str, tuple[str, ...]] | None = None
    dt: float | None = None  # what a series has and events have not
    every: str | None = None
    prepared: tuple[str, ...] = ()

    def __init__(
        self,
        data: Any,
        duration: float | Sequence[float] | None = None,
        *,
        windows: Sequence[Any] | None = None,
        names: Sequence[str] | None = None,
        mend: str | Sequence[str] = (),
        node: str | None = None,
        time: str | None = None,
        trial: str | None = None,
        truth: Mapping[str, Sequence[str]] | None = None,
        **reading: Any,
    ):
        words = tuple(mend or ()) if isinstance(mend, (list, tuple, set, type(None))) else (mend,)
        for word in words:
            one_of("mend", word, MEND)
        for word in sorted(reading.keys() - set(READING)):
            raise InputError(f"{word} has no effect on events; leave it out")
        found = trials_of(data, Columns(node, time, trial), reading)
        self.file = str(data) if isinstance(data, (str, os.PathLike)) and str(data) != "-" else ""
        if isinstance(data, Events):
            self.file, truth = data.file, data.truth if truth is None else truth
        self.names = _names(found, names)
        self.guessed = duration is None and windows is None and any(one.limits is None for one in found)
        self.truth = truth_in(truth)
        places = [f" in trial {number + 1}" if len(found) > 1 else "" for number in range(len(found))]
        for number, (one, place) in enumerate(zip(found, places)):
            times = {name: _times(t, visible(name + place)) for name, t in one.times.items()}
            found[number] = one._replace(times=times)
        stretches = []
        for number, limits in enumerate(_observed(found, duration, windows)):
            some = {name: found[number].times.get(name, np.empty(0)) for name in self.names}
            cut = [_checked(t, visible(n + places[number]), limits, words) for n, t in some.items()]
            for start, stop in limits:
                inside = tuple(t[(t >= start) & (t <= stop)] for t in cut)
                stretches.append(Stretch(number, start, stop, inside))
        self.stretches = tuple(stretches)
        self.resolution = _step(self.stretches)

    # --- what every data set says of itself ----------------------------------------------------------------

    given_names = property(lambda self: self.names)
    _places = property(lambda self: {name: i for i, name in enumerate(self.names)})
    index = Series.index
    indices = Series.indices

    @property
    def n_nodes(self) -> int:
        """Number of nodes."""
        return len(self.names)

    @property
    def counts(self) -> dict[str, int]:
        """Number of events of each node."""
        sums = [sum(len(s.times[i]) for s in self.stretches) for i in range(self.n_nodes)]
        return dict(zip(self.names, sums))

    @property
    def lengths(self) -> tuple[int, ...]:
        """Number of events, of all nodes together, in each trial."""
        sums = [0] * (1 + max(s.trial for s in self.stretches))
        for s in self.stretches:
            sums[s.trial] += sum(map(len, s.times))
        return tuple(sums)

    @property
    def duration(self) -> float:
        """Observed time of all trials together."""
        return float(sum(s.stop - s.start for s in self.stretches))

    @property
    def digest(self) -> str:
        """SHA-256 of names, observed times and events: the identity of the data."""
        digest = hashlib.sha256(repr(("events", self.names)).encode())
        for s in self.stretches:
            digest.update(repr((s.trial, s.start, s.stop, [len(t) for t in s.times])).encode())
            digest.update(np.concatenate(s.times).tobytes())
        return digest.hexdigest()

    def __len__(self) -> int:
        """Return the number of events of all nodes together."""
        return sum(self.lengths)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __getitem__(self, node: str | int) -> np.ndarray:
        """Return the times of a node, of all trials one after the other."""
        i = self.index(node)  # type: ignore[misc]
        return np.concatenate([s.times[i] for s in self.stretches])

    def __repr__(self) -> str:
        nodes = listed(f"{name} ({count})" for name, count in self.counts.items())
        trials = f" in {len(self.lengths)} trials" if len(self.lengths) > 1 else ""
        return f"Events({self.n_nodes} nodes: {nodes}; {self.duration:g} units of time{trials})"

    # --- what can be made of it ----------------------------------------------------------------------------

    def select(self, nodes: Sequence[str]) -> "Events":
        """Return the events of the given nodes alone."""
        keep = self.indices(nodes)  # type: ignore[misc]
        refuse_if(not keep, "no node is named; name at least one")
        return self._with([s._replace(times=tuple(s.times[i] for i in keep)) for s in self.stretches], keep)

    def spread(self) -> "Events":
        """Return the events as estimates take them: those recorded in steps are spread evenly over a step."""
        if self.resolution is None:
            return self
        rng = np.random.default_rng(self.n_nodes)
        moved = []
        for s in self.stretches:
            shaken = [t + self.resolution * (rng.random(len(t)) - 0.5) for t in s.times]
            moved.append(s._replace(times=tuple(np.clip(t, s.start, s.stop) for t in shaken)))
        return self._with(moved, range(self.n_nodes))

    def _with(self, stretches: Sequence[Stretch], keep: Sequence[int]) -> "Events":
        made = object.__new__(Events)
        vars(made).update(vars(self), stretches=tuple(stretches), names=tuple(self.names[i] for i in keep))
        made.resolution = _step(made.stretches)
        if self.truth is not None:
            known = [(t, self.truth[t]) for t in self.truth if t in made.names]
            made.truth = {t: tuple(p for p in parents if p in made.names) for t, parents in known}
        return made

    def to_dataframe(self) -> "pd.DataFrame":
        """Return a DataFrame with a row per event, in the order of time: node, time; several trials get a column."""
        import pandas as pd

        rows = [
            (s.trial, name, time) for s in self.stretches for name, times in zip(self.names, s.times) for time in times
        ]
        frame = pd.DataFrame(rows, columns=["trial", "node", "time"])
        frame = frame.sort_values(["trial", "time"], ignore_index=True)
        return frame if len(self.lengths) > 1 else frame[["node", "time"]]

    def plot(self, path: Any = None, *, ax: Any = None, theme: str = "auto", most: int = 60) -> Any:
        """Draw the raster of the first observed time, about ``most`` events of the busiest node; return the axes."""
        from enmesh.draw.curves import raster

        start, stop, times = self.excerpt(most)
        return raster(self.names, times, start, stop, path=path, ax=ax, theme=theme)

    def excerpt(self, most: int) -> tuple[float, float, tuple[np.ndarray, ...]]:
        """Return start, stop and times of so much of the first stretch that no node has more than ``most`` events."""
        s = self.stretches[0]
        ends = [float(t[most]) for t in s.times if len(t) > most]
        stop = min([s.stop, *ends])
        return s.start, stop, tuple(t[t < stop] if ends else t for t in s.times)


# --- checks --------------------------------------------------------------------------------------------------


def _names(found: Sequence[Trial], wanted: Sequence[str] | None) -> tuple[str, ...]:
    known = list(dict.fromkeys(name for one in found for name in one.times))
    refuse_if(not known, "there are no events; give times of at least one node")
    if wanted is not None:
        wanted = [wanted] if isinstance(wanted, str) else names_in("names", wanted)
        absent = [name for name in wanted if name not in known]
        refuse_if(absent, f"there is no node {listed(absent)}; the nodes are {listed(known)}")
        known = wanted
        refuse_if(not known, "no node is named; name at least one")
    if len(set(known)) < len(known):
        raise InputError("a node is named twice; name each once")
    for name in known:
        refuse_if(not can_be_seen(name), f"a node has no visible name ({name!a}); rename it")
    return tuple(known)


def _observed(found: Sequence[Trial], duration: Any, windows: Any) -> list[Spans]:
    """Return the observed times (start, stop) of every trial."""
    if duration is not None and windows is not None:
        raise InputError("duration and windows are both given; leave one of them out")
    if windows is not None:
        if not (isinstance(windows, (list, tuple)) or hasattr(windows, "to_numpy") or np.ndim(windows)):
            raise InputError(f"windows={windows!r} are no observed times; give [(start, stop), ...]")
        windows = windows.to_numpy().tolist() if hasattr(windows, "to_numpy") else list(windows)
        first = windows[0] if windows else None
        nested = isinstance(first, (list, tuple, np.ndarray)) and len(first) > 0 and not np.isscalar(first[0])
        lists = windows if nested else [windows] * len(found)
        if len(lists) != len(found):
            raise InputError(
                f"windows are given for {len(lists)} trials and there are {len(found)}; give a list for each"
            )
        return [_windows(some) for some in lists]
    if duration is not None:
        several = np.iterable(duration) and not isinstance(duration, (str, bytes))
        lasting = list(duration) if several else [duration] * len(found)
        if len(lasting) != len(found):
            raise InputError(f"{len(lasting)} durations for {len(found)} trials; give one, or one per trial")
        return [_windows([(0.0, _number("duration", one))]) for one in lasting]
    return [_windows(one.limits or [_first_to_last(one)]) for one in found]


def _first_to_last(one: Trial) -> tuple[float, float]:
    times = np.concatenate([*one.times.values()])
    if len(np.unique(times)) < 2:
        count = len(times) or "no"
        raise InputError(f"a trial has {count} events and no duration; pass duration= or windows=")
    return float(times.min()), float(times.max())


def _windows(some: Sequence[Any]) -> Spans:
    made: list[tuple[float, float]] = []
    for window in some:
        two = np.iterable(window) and not isinstance(window, str) and len(list(window)) == 2
        refuse_if(not two, f"{window!r} is no observed time; give [(start, stop), ...]")
        start, stop = (_number("a window", end) for end in window)
        if not start < stop:
            raise InputError(f"the observed time from {start:g} to {stop:g} is empty; give start before stop")
        made.append((start, stop))
    made.sort()
    refuse_if(not made, "there are no windows; give at least one (start, stop)")
    joined = made[:1]
    for start, stop in made[1:]:
        first, end = joined[-1]
        refuse_if(start < end, f"observed times overlap at {start:g}; join them")
        joined[-1:] = [(first, stop)] if start == end else [(first, end), (start, stop)]
    return joined


def _number(what: str, value: Any) -> float:
    with suppress(TypeError, ValueError):
        if np.isfinite(float(value)):
            return float(value)
    raise InputError(f"{what} has {value!r}; give a number")


def _times(times: Any, name: str) -> np.ndarray:
    """Return the times of a node as numbers, or say why they are none."""
    try:
        held = plain_numbers(times)
        t = np.array(None if held.dtype.kind in "cM" else held, dtype=float)
    except (TypeError, ValueError):
        t = np.array(np.nan)
    if t.ndim == 0:
        said = "give a list of times, or dates in a table with columns node and time"
        raise InputError(f"the times of {name} are no list of numbers; {said}")
    refuse_if(t.ndim != 1, f"the times of {name} have the shape {t.shape}; give a list of times")
    if not np.isfinite(t).all():
        raise InputError(f"{name} has {int((~np.isfinite(t)).sum())} missing or infinite times; remove them")
    return t


def _checked(t: np.ndarray, name: str, limits: Spans, mend: Sequence[str]) -> np.ndarray:
    """Return the times of a node in order, each once, all of them in the observed time; or say what is wrong."""
    falls = np.flatnonzero(np.diff(t) < 0)
    if len(falls) and "sort" not in mend:
        at = falls[0]
        told = f"{t[at + 1]:g} comes after {t[at]:g}"
        raise InputError(f"the times of {name} are not in order ({told}); pass mend='sort'")
    t.sort()
    twice = np.flatnonzero(np.diff(t) == 0)
    if len(twice) and "duplicates" not in mend:
        raise InputError(
            f"{name} has {len(twice)} events at the time of another of its events (first at {t[twice[0]]:g}); "
            "pass mend='duplicates' to count each time once"
        )
    t = np.delete(t, twice)
    inside = np.any([(t >= start) & (t <= stop) for start, stop in limits], axis=0)
    if not inside.all() and "outside" not in mend:
        said = ", ".join(f"{start:g} to {stop:g}" for start, stop in limits[:3]) + ", ..." * (len(limits) > 3)
        raise InputError(
            f"{int((~inside).sum())} events of {name} lie outside the observed time {said} (first at "
            f"{t[~inside][0]:g}); give the right duration or windows, or pass mend='outside' to leave them out"
        )
    return t[inside]


def _step(stretches: Sequence[Stretch]) -> float | None:
    """Return the step that all times are multiples of, if there is one."""
    steps = []
    for s in stretches:
        t = np.unique(np.concatenate(s.times))
        if len(t) < ENOUGH:
            continue
        step = float(np.diff(t).min())
        places = (t - t[0]) / step
        if np.abs(places - np.round(places)).max() > ON_STEP:
            return None
        steps.append(step)
    return min(steps) if steps else None
