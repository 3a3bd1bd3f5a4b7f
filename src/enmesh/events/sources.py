"""Objects and files as people have them (mappings, tables, annotations, spike trains) as trials of event times."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.sources import library, open_source
from enmesh.data.table import listed, shown
from enmesh.errors import InputError, refuse_if

# How the columns of a table of events are called.
NODES = ("node", "unit", "neuron", "name", "cell", "channel", "label", "description", "id", "source")
TIMES = ("time", "times", "t", "timestamp", "timestamps", "onset", "seconds", "date", "datetime")
TRIALS = ("trial", "trials", "epoch", "run", "session")
FORMS = "give {node: times}, a table with columns node and time, or a list of arrays of times"
Spans = Sequence[tuple[float, float]]  # starts and stops


class Trial(NamedTuple):
    """Times of each node of a trial, as given, and when it was observed (start, stop), if that is known."""

    times: Mapping[str, Any]
    limits: Spans | None = None


class Columns(NamedTuple):
    """Names of the columns of a table, where they are given, and how dates in it are written."""

    node: str | None = None
    time: str | None = None
    trial: str | None = None
    dates: str | None = None


def trials_of(data: Any, named: Columns, words: Mapping[str, Any]) -> list[Trial]:
    """Return the trials that an object or a file, read as ``words`` of `read` say, holds."""
    if isinstance(data, (str, os.PathLike)):
        return _from_file(data, named, words)
    for word in words:
        raise InputError(f"{word} has no effect on events that are not read from a file; leave it out")
    if hasattr(data, "stretches"):
        return _from_events(data)
    if hasattr(data, "get_unit_spike_times"):
        return [_from_units(data)]
    if hasattr(data, "units") and hasattr(data, "session_start_time"):
        refuse_if(data.units is None, "the NWB file has no table of units, thus no spike times; give one with units")
        return [_from_units(data.units)]
    if hasattr(data, "segments") or hasattr(data, "spiketrains"):
        segments = data.segments if hasattr(data, "segments") else [data]
        return [_of_trains(list(enumerate(segment.spiketrains))) for segment in segments]
    if hasattr(data, "onset") and hasattr(data, "description"):
        columns = {"node": np.asarray(data.description), "time": np.asarray(data.onset, float)}
        return _from_columns(columns, Columns())
    if getattr(getattr(data, "dtype", None), "names", None):
        return _from_columns({name: data[name] for name in data.dtype.names}, named)
    if hasattr(data, "columns"):
        names = [str(c) for c in data.columns]
        if len(set(names)) < len(names):
            raise InputError(f"two columns have the same name; the columns are {listed(names)}")
        return _from_columns({name: np.asarray(data[c]) for name, c in zip(names, data.columns)}, named)
    if isinstance(data, Mapping):
        return _from_mapping(data, named)
    return _from_sequence(data, named)


def _from_events(data: Any) -> list[Trial]:
    made = []
    for number in range(len(data.lengths)):
        parts = [s for s in data.stretches if s.trial == number]
        times = [np.concatenate(some) for some in zip(*(s.times for s in parts))]
        made.append(Trial(dict(zip(data.names, times)), [(s.start, s.stop) for s in parts]))
    return made


def _from_mapping(data: Mapping[Any, Any], named: Columns) -> list[Trial]:
    """Return {node: times} as one trial, {node: [times of trial 1, times of trial 2]} as several."""
    if {"node", "time"} <= {*data.keys()}:
        return _from_columns({str(name): np.asarray(column) for name, column in data.items()}, named)
    if data and all(map(_are_dates, data.values())):
        nodes = np.repeat(list(map(str, data)), list(map(len, data.values())))
        return _from_columns({"node": nodes, "time": np.concatenate([*map(np.asarray, data.values())])}, Columns())
    if data and all(hasattr(train, "t_stop") for train in data.values()):
        return [_of_trains(list(data.items()), by_key=True)]
    of_all = [data] if hasattr(data, "time_support") else list(data.values())
    if data and all(hasattr(one, "time_support") for one in of_all):  # of pynapple
        times = {str(name): np.asarray(train.t) for name, train in data.items()}
        return [Trial(times, _common([_spans(one.time_support.values) for one in of_all]))]
    if len({str(name) for name in data}) < len(data):
        raise InputError("a node is named twice, as a number and as text; name each once")
    nested = [len(t) for t in data.values() if _is_list(t) and len(t) and all(_is_list(one) for one in t)]
    if not nested:
        return [Trial({str(name): t for name, t in data.items()})]
    if len(nested) < len(data) or len(set(nested)) > 1:
        raise InputError("some nodes have a list of trials and others not as many; give each node all trials")
    return [Trial({str(name): t[i] for name, t in data.items()}) for i in range(nested[0])]


def _are_dates(times: Any) -> bool:
    first = times[0] if (_is_list(times) or hasattr(times, "dtype")) and len(times) else None
    return isinstance(first, np.datetime64) or hasattr(first, "isoformat")


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _from_sequence(data: Any, named: Columns) -> list[Trial]:
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 2:
        return _from_columns({"node": data[:, 0], "time": data[:, 1]}, Columns())
    cells = isinstance(data, np.ndarray) and data.dtype.kind == "O"
    listed_trains = hasattr(data, "segment") and hasattr(data, "__len__")  # Neo's SpikeTrainList
    held = list(data) if cells or listed_trains or isinstance(data, (list, tuple)) else []
    if held and all(hasattr(one, "t_stop") for one in held):
        return [_of_trains(list(enumerate(held)))]
    if held and all(isinstance(one, Mapping) for one in held):
        return [trial for one in held for trial in _from_mapping(one, named)]
    if held and all(_is_list(one) for one in held):
        return [Trial({f"x{i}": one for i, one in enumerate(held)})]
    shape = f" of shape {data.shape}" if isinstance(data, np.ndarray) else ""
    raise InputError(f"a {type(data).__name__}{shape} holds no events that could be told apart; {FORMS}")


# --- tables --------------------------------------------------------------------------------------------------


def _from_columns(columns: Mapping[str, np.ndarray], named: Columns) -> list[Trial]:
    who = columns[_column(columns, named.node, NODES, "node")]
    when = _seconds(columns[_column(columns, named.time, TIMES, "time")], named.dates)
    which = _column(columns, named.trial, TRIALS, "trial", needed=named.trial is not None)
    runs = columns[which] if which is not None else np.zeros(len(who), int)
    for what, column in (("node", who), ("trial", runs)):
        if any(value is None or value != value for value in column.tolist()):
            raise InputError(f"an event has no {what}; fill it in, or drop the row")
    if who.dtype.kind == "f":
        for odd in who[who != np.round(who)]:
            needed = "nodes are whole numbers or text; name their column with node="
            raise InputError(f"a node is called {odd:g}; {needed}")
        who = who.astype(int)
    names = np.array([str(value) for value in who.tolist()])
    order = np.unique(who).tolist() if who.dtype.kind in "iu" else sorted(set(names.tolist()))
    return [
        Trial({str(name): when[(runs == run) & (names == str(name))] for name in order})
        for run in sorted(set(runs.tolist()), key=lambda run: (isinstance(run, str), run))
    ]


def _column(columns: Mapping[str, Any], given: str | None, known: Sequence[str], what: str, needed: bool = True) -> Any:
    """Return the name of the column for a role: as given, or one that is called so."""
    if given is not None:
        refuse_if(given not in columns, f"there is no column {given!r}; the columns are {listed(columns)}")
        return given
    named = [c for word in known for c in columns if c.strip().lower() == word]
    if not named and needed:
        raise InputError(
            f"no column says the {what} of an event; the columns are {listed(columns)}: name them node and time, "
            f"or pass {what}= with the name of the column"
        )
    return named[0] if named else None


def _seconds(column: np.ndarray, dates: str | None) -> np.ndarray:
    """Return times as numbers; dates become seconds after the first of them."""
    import pandas as pd

    if column.dtype.kind == "O" and any(hasattr(one, "isoformat") for one in column):
        column = pd.to_datetime(pd.Series(column), utc=True, errors="coerce").to_numpy("M8[ns]")
    if column.dtype.kind != "M":
        plain = pd.to_numeric(pd.Series(plain_numbers(column)), errors="coerce")
        odd = np.flatnonzero(plain.isna() & pd.notna(column))
        if not len(odd):
            return plain.to_numpy(float)
    how = None if column.dtype.kind == "M" else dates or "ISO8601"
    stamps = pd.to_datetime(pd.Series(column), utc=True, format=how, errors="coerce")
    wrong = np.flatnonzero(stamps.isna() & pd.notna(column))
    if len(wrong):
        first = column[odd[0] if len(odd) < len(wrong) else wrong[0]]
        told = f"the times are neither numbers nor dates ({shown(first)})"
        raise InputError(f"{told}; give numbers, or dates as 2024-01-31 12:00")
    return (stamps - stamps.min()).dt.total_seconds().to_numpy()


def plain_numbers(values: Any) -> Any:
    """Return a quantity or time differences in seconds; what has no unit is taken as it is."""
    if hasattr(values, "rescale"):
        return np.asarray(values.rescale("s").magnitude, float)
    held = np.asarray(values)
    return held / np.timedelta64(1, "s") if held.dtype.kind == "m" else held


def _from_file(path: Any, named: Columns, words: Mapping[str, Any]) -> list[Trial]:
    from enmesh.data.rules import rules_of
    from enmesh.data.tables import read_table

    kind = str(path).rpartition(".")[2]
    if kind in ("nwb", "npz", "npy"):
        for word in words:
            raise InputError(f"{path}: {word} has no effect on {kind}; leave it out")
        return _from_nwb(path) if kind == "nwb" else _from_numpy(path, named)
    # Every table of events has names over its columns.
    frame = read_table(path, replace(rules_of(words), header=True)).frame
    columns = {str(c): frame[c].to_numpy() for c in frame.columns}
    return _from_columns(columns, named._replace(dates=words.get("date_format")))


def _from_numpy(path: Any, named: Columns) -> list[Trial]:
    """Read an array of (node, time) rows or with fields of these names, or one array of times per node (npz)."""
    source = open_source(path)
    try:
        held = np.load(source.file, allow_pickle=False)
        array = isinstance(held, np.ndarray)
        return trials_of(held if array else {name: held[name] for name in held.files}, named, {})
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} cannot be read as events: {error}") from None


# --- NWB and pynapple ----------------------------------------------------------------------------------------


def _from_nwb(path: Any) -> list[Trial]:
    """Read the units of an NWB file."""
    pynwb = library("pynwb", f"reading {path}", "spikes")
    refuse_if(not os.path.exists(path), f"there is no file {path}; check its name and folder")
    try:
        with pynwb.NWBHDF5IO(str(path), "r") as source:
            return trials_of(source.read(), Columns(), {})
    except (OSError, TypeError, KeyError) as error:
        raise InputError(f"{path} cannot be read as NWB: {error}") from None


def _from_units(units: Any) -> Trial:
    """Return the spike times of a table of units, named by their ids; observed is what was observed of all of them."""
    ids = [str(one) for one in units.id[:]]
    times = {name: np.asarray(units.get_unit_spike_times(i)) for i, name in enumerate(ids)}
    if "obs_intervals" not in units.colnames:
        return Trial(times)
    return Trial(times, _common([_spans(units.get_unit_obs_intervals(i)) for i in range(len(ids))]))


def _spans(intervals: Any) -> list[tuple[float, float]]:
    return [(float(start), float(stop)) for start, stop in np.asarray(intervals, float)]


def _common(spans: Sequence[Spans]) -> Spans:
    """Return the times that lie in an interval of each list.

    >>> _common([[(0, 5), (6, 9)], [(1, 7)]])
    [(1, 5), (6, 7)]
    """
    first, *others = spans
    for other in others:
        pairs = [(max(a, c), min(b, d)) for a, b in first for c, d in other]
        first = [(start, stop) for start, stop in pairs if start < stop]
    refuse_if(not first, "the units were never observed at the same time; choose units that were")
    return first


# --- Neo and what looks like it ------------------------------------------------------------------------------


def _of_trains(trains: Sequence[tuple[Any, Any]], by_key: bool = False) -> Trial:
    """Return spike trains, named by themselves, else by their place, or by their keys; observed is what all were."""
    times: dict[str, Any] = {}
    for key, train in trains:
        name = str(key) if by_key else str(getattr(train, "name", None) or f"x{key}")
        refuse_if(name in times, f"two spike trains are called {name}; names must differ")
        times[name] = getattr(train, "times", train)
    starts = [float(plain_numbers(getattr(train, "t_start", 0.0))) for _, train in trains]
    stops = [float(plain_numbers(train.t_stop)) for _, train in trains]
    return Trial(times, [(max(starts), min(stops))] if times else None)
