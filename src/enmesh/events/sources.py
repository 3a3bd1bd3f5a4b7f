"""Objects and files as people have them (mappings, tables, annotations, spike trains) as trials of event times."""

import os
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from enmesh.data.table import listed, shown
from enmesh.errors import InputError

# How the columns of a table of events are called.
NODES = ("node", "unit", "neuron", "name", "cell", "channel", "label", "description", "id", "source")
TIMES = ("time", "times", "t", "timestamp", "timestamps", "onset", "seconds", "date", "datetime")
TRIALS = ("trial", "trials", "epoch", "run", "session")
FORMS = "give {node: times}, a table with columns node and time, or a list of arrays of times"


class Trial(NamedTuple):
    """Times of each node of a trial, as given, and where the observed time starts and stops, if that is known."""

    times: Mapping[str, Any]
    limits: tuple[float, float] | None = None


def trials_of(data: Any, node: str | None, time: str | None, trial: str | None) -> tuple[list[Trial], str]:
    """Return the trials that an object or a file holds, and the name of the file."""
    if isinstance(data, (str, os.PathLike)):
        return _from_file(data, node, time, trial), "" if str(data) == "-" else str(data)
    if hasattr(data, "stretches"):
        named = [dict(zip(data.names, s.times)) for s in data.stretches]
        return [Trial(t, (s.start, s.stop)) for t, s in zip(named, data.stretches)], data.file
    found = _spike_trains(data)
    if found is not None:
        return found, ""
    if hasattr(data, "onset") and hasattr(data, "description"):
        columns = {"node": np.asarray(data.description), "time": np.asarray(data.onset, float)}
        return _from_columns(columns, "node", "time", None), ""
    if getattr(getattr(data, "dtype", None), "names", None):
        return _from_columns({name: data[name] for name in data.dtype.names}, node, time, trial), ""
    if hasattr(data, "columns"):
        return _from_columns({str(c): np.asarray(data[c]) for c in data.columns}, node, time, trial), ""
    if isinstance(data, Mapping):
        return _from_mapping(data), ""
    return _from_sequence(data), ""


def _from_mapping(data: Mapping[Any, Any]) -> list[Trial]:
    """Return {node: times} as one trial, {node: [times of trial 1, times of trial 2]} as several."""
    nested = [len(t) for t in data.values() if _is_list(t) and len(t) and all(_is_list(one) for one in t)]
    if not nested:
        return [Trial({str(name): t for name, t in data.items()})]
    if len(nested) < len(data) or len(set(nested)) > 1:
        raise InputError("some nodes have a list of trials and others not as many; give each node all trials")
    return [Trial({str(name): t[i] for name, t in data.items()}) for i in range(nested[0])]


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple)) or (isinstance(value, np.ndarray) and value.ndim > 0)


def _from_sequence(data: Any) -> list[Trial]:
    if isinstance(data, np.ndarray) and data.ndim == 2 and data.shape[1] == 2:
        return _from_columns({"node": data[:, 0], "time": data[:, 1]}, "node", "time", None)
    if isinstance(data, (list, tuple)) and data and all(isinstance(one, Mapping) for one in data):
        return [_from_mapping(one)[0] for one in data]
    if isinstance(data, (list, tuple)) and data and all(_is_list(one) for one in data):
        return [Trial({f"x{i}": one for i, one in enumerate(data)})]
    shape = f" of shape {data.shape}" if isinstance(data, np.ndarray) else ""
    raise InputError(f"a {type(data).__name__}{shape} holds no events that could be told apart; {FORMS}")


# --- tables --------------------------------------------------------------------------------------------------


def _from_columns(
    columns: Mapping[str, np.ndarray], node: str | None, time: str | None, trial: str | None
) -> list[Trial]:
    who = columns[_column(columns, node, NODES, "node")]
    when = _seconds(columns[_column(columns, time, TIMES, "time")])
    which = _column(columns, trial, TRIALS, "trial", needed=trial is not None)
    runs = columns[which] if which is not None else np.zeros(len(who), int)
    if any(value is None or value != value for value in who.tolist()):
        raise InputError("an event has no node; every row needs one")
    whole = who.dtype.kind == "f" and bool((who == np.round(who)).all())
    named = np.array([str(value) for value in (who.astype(int) if whole else who).tolist()])
    numeric = who.dtype.kind in "iuf"
    order = sorted(set(named.tolist()), key=(lambda name: (float(name), name)) if numeric else None)
    return [
        Trial({name: when[(runs == run) & (named == name)] for name in order})
        for run in sorted(set(runs.tolist()))
    ]


def _column(
    columns: Mapping[str, Any], given: str | None, known: Sequence[str], what: str, needed: bool = True
) -> Any:
    """Return the name of the column for a role: as given, or one that is called so."""
    if given is not None and given not in columns:
        raise InputError(f"there is no column {given!r}; the columns are {listed(columns)}")
    named = (
        [given] if given is not None else [c for word in known for c in columns if c.strip().lower() == word]
    )
    if not named and needed:
        raise InputError(
            f"no column says the {what} of an event; the columns are {listed(columns)}: name them node and time, "
            f"or pass {what}= with the name of the column"
        )
    return named[0] if named else None


def _seconds(column: np.ndarray) -> np.ndarray:
    """Return times as numbers; dates become seconds after the first of them."""
    if column.dtype.kind in "iuf":
        return column.astype(float)
    import pandas as pd

    try:
        if column.dtype.kind != "M":
            return np.array(column, dtype=float)
    except (TypeError, ValueError):
        pass
    try:
        stamps = pd.to_datetime(
            pd.Series(column), utc=True, format=None if column.dtype.kind == "M" else "ISO8601"
        )
    except (TypeError, ValueError):
        raise InputError(
            f"the times are neither numbers nor dates ({shown(column[0])}); give numbers, or dates as 2024-01-31 12:00"
        ) from None
    return (stamps - stamps.min()).dt.total_seconds().to_numpy()


def _from_file(path: Any, node: str | None, time: str | None, trial: str | None) -> list[Trial]:
    from enmesh.data.rules import rules_of
    from enmesh.data.tables import read_table

    if str(path).endswith((".npz", ".npy")):
        return _from_numpy(path, node, time, trial)
    frame = read_table(path, rules_of({})).frame
    return _from_columns({str(c): frame[c].to_numpy() for c in frame.columns}, node, time, trial)


def _from_numpy(path: Any, node: str | None, time: str | None, trial: str | None) -> list[Trial]:
    """Read an array of (node, time) rows or with fields of these names, or one array of times per node (npz)."""
    from enmesh.data.sources import open_source

    source = open_source(path)
    try:
        held = np.load(source.file, allow_pickle=False)
        if isinstance(held, np.ndarray):
            return trials_of(held, node, time, trial)[0]
        return [Trial({name: held[name] for name in held.files})]
    except (ValueError, OSError, EOFError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} cannot be read as events: {error}") from None


# --- Neo and what looks like it ------------------------------------------------------------------------------


def _spike_trains(data: Any) -> list[Trial] | None:
    """Return the trials of a block (segments), of a segment or of a list of spike trains; None if it is none."""
    if hasattr(data, "segments"):
        return [_of_trains(segment.spiketrains) for segment in data.segments]
    if hasattr(data, "spiketrains"):
        return [_of_trains(data.spiketrains)]
    if isinstance(data, (list, tuple)) and data and all(hasattr(one, "t_stop") for one in data):
        return [_of_trains(data)]
    return None


def _of_trains(trains: Sequence[Any]) -> Trial:
    times: dict[str, Any] = {}
    for i, train in enumerate(trains):
        name = str(getattr(train, "name", None) or f"x{i}")
        if name in times:
            raise InputError(f"two spike trains are called {name}; names must differ")
        times[name] = _plain(getattr(train, "times", train))
    starts = [float(_plain(getattr(train, "t_start", 0.0))) for train in trains]
    return Trial(
        times, (max(starts), min(float(_plain(train.t_stop)) for train in trains)) if times else None
    )


def _plain(value: Any) -> Any:
    """Return a quantity in seconds as numbers; what has no unit is taken as it is."""
    value = value.rescale("s").magnitude if hasattr(value, "rescale") else value
    return np.asarray(value, float)
