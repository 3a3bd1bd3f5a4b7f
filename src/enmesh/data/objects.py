"""Objects as people have them (arrays, DataFrames, xarray, mappings, lists of trials) as recordings."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from enmesh.data.columns import FLOAT, INTEGER, Values, assemble, column_of, matched
from enmesh.data.frames import pick
from enmesh.data.rules import Rules
from enmesh.data.table import Table
from enmesh.data.times import JITTER, Time
from enmesh.errors import InputError

# More nodes than this many times the samples: no estimate can tell them apart.
MOST_NODES = 10
SHAPES = "give (time, node), (trial, time, node) or a list of (time, node)"
TIME_DIMS = ("time", "times", "t", "date", "datetime", "timestamp", "sample", "samples")
TRIAL_DIMS = ("trial", "trials", "epoch", "epochs", "run", "runs", "realisation", "realization", "subject")

Found = tuple[Values, tuple[str, ...] | None, float | None, Time | None]


def values_of(values: Any, rules: Rules, dt: float | None) -> Found:
    """Return values with kinds, and names, sampling step and time axis where the object knows them."""
    tables = _tables(values, rules.transpose)
    if tables is None:
        _refuse_table_rules(rules)
        return _array_values(values, rules), None, None, None
    recording = matched(
        [pick(table, rules) for table in tables], dt if dt is not None else rules.step, JITTER
    )
    found = assemble(recording.trials, recording.names)
    return found, recording.names, recording.dt, recording.time


def _refuse_table_rules(rules: Rules) -> None:
    """Refuse words that only an object with columns can follow."""
    idle = rules.given - {"missing", "transpose", "sfreq", "na"}
    bare_time = rules.time_name in (None, False) and "sort" not in rules.modes
    idle -= {"time"} if bare_time else set()
    idle -= {"trials", "trial"} if rules.trials in (None, False) else set()
    if idle:
        word = "time='sort'" if idle == {"time"} and rules.modes else sorted(idle)[0]
        raise InputError(f"{word} needs named columns, which an array has not; give a DataFrame")


# --- what has columns --------------------------------------------------------------------------------------


def _tables(values: Any, transpose: bool | None) -> list[Table] | None:
    """Return one table, or one for each trial, of what has named columns; None for plain arrays."""
    if hasattr(values, "data_vars") and hasattr(values, "dims"):
        return _dataset_tables(values)
    if hasattr(values, "dims") and hasattr(values, "coords"):
        return _labelled_tables(values)
    if hasattr(values, "get_data") and hasattr(values, "ch_names"):
        from enmesh.data.signals import mne_tables

        return mne_tables(values)
    if getattr(getattr(values, "dtype", None), "names", None):
        values = {name: values[name] for name in values.dtype.names}
    if _has_columns(values) or isinstance(values, Mapping) or _is_column(values):
        return [_table(values, transpose=transpose)]
    if isinstance(values, (list, tuple)) and values and any(map(_has_columns, values)):
        if not all(map(_has_columns, values)):
            raise InputError("some trials have named columns and others have not; give DataFrames or arrays")
        return [_table(trial, f"trial {number}", transpose) for number, trial in enumerate(values, 1)]
    return None


def _has_columns(values: Any) -> bool:
    return (
        hasattr(values, "columns") or hasattr(values, "column_names") or hasattr(values, "__arrow_c_stream__")
    )


def _is_column(values: Any) -> bool:
    return hasattr(values, "to_frame") and hasattr(values, "index") and hasattr(values, "iloc")


def _table(values: Any, file: str = "", transpose: bool | None = None) -> Table:
    import pandas as pd

    if isinstance(values, Mapping):
        try:
            frame = pd.DataFrame(dict(values))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"the columns do not fit together ({error}); give lists of equal length"
            ) from None
    elif isinstance(values, (pd.DataFrame, pd.Series)):
        frame = values if isinstance(values, pd.DataFrame) else values.to_frame()
    else:
        frame = _from_any(values)
    if transpose:
        frame = frame.T.infer_objects()
        frame.columns = [str(name) for name in frame.columns]
    if not frame.shape[1]:
        raise InputError("there is no column; give at least one node")
    return Table(file=file, frame=frame, numbers=range(1, len(frame) + 1))


def _from_any(values: Any) -> Any:
    """Return any table that narwhals knows as a DataFrame of pandas, column by column."""
    import narwhals as nw
    import pandas as pd

    try:
        frame: Any = nw.from_native(values, allow_series=True)
    except TypeError:
        raise InputError(
            f"a {type(values).__name__} is no table that is known; give a DataFrame, an array or a mapping of columns"
        ) from None
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    frame = frame.to_frame() if isinstance(frame, nw.Series) else frame
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if column.dtype.is_integer() and column.null_count():
            columns[name] = pd.Series(column.to_list(), dtype="Int64")
        elif column.dtype.is_numeric() or column.dtype in (nw.Datetime, nw.Date, nw.Boolean, nw.Duration):
            columns[name] = pd.Series(column.to_numpy())
        else:
            kind = "category" if column.dtype in (nw.Categorical, nw.Enum) else None
            columns[name] = pd.Series(column.to_list(), dtype=kind)
    return pd.DataFrame(columns)


# --- xarray ------------------------------------------------------------------------------------------------


def _labelled_tables(values: Any) -> list[Table]:
    """Return a table for each trial of a DataArray; its dimensions are known by name."""
    dims = [str(dim) for dim in values.dims]
    time = _dim(dims, TIME_DIMS, "time")
    trial = next((dim for dim in dims if dim.lower() in TRIAL_DIMS and dim != time), None)
    rest = [dim for dim in dims if dim not in (time, trial)]
    if len(rest) > 1:
        raise InputError(
            f"the dimensions are {', '.join(dims)}; besides {time}{f' and {trial}' if trial else ''} there may be "
            f"one, the nodes, not {', '.join(rest)}: select or stack them"
        )
    order = [dims.index(dim) for dim in (trial, time, *rest) if dim is not None]
    array = np.asarray(values.values).transpose(order)
    array = array if trial else array[None]
    array = array if rest else array[..., None]
    names = _coordinate(values, rest[0]) if rest else [getattr(values, "name", None) or "x0"]
    names = [f"x{i}" for i in range(array.shape[2])] if names is None else names
    return _trial_tables(list(array), names, _coordinate(values, time), trial)


def _dataset_tables(values: Any) -> list[Table]:
    """Return a table for each trial of a Dataset; every variable is a node."""
    variables = {str(name): variable for name, variable in values.data_vars.items()}
    dims = [str(dim) for dim in values.dims]
    time = _dim(dims, TIME_DIMS, "time")
    trial = next((dim for dim in dims if dim.lower() in TRIAL_DIMS and dim != time), None)
    wanted = [dim for dim in (trial, time) if dim is not None]
    for name, variable in variables.items():
        if sorted(map(str, variable.dims)) != sorted(wanted):
            raise InputError(
                f"the variable {name} has the dimensions {', '.join(map(str, variable.dims))}, not "
                f"{', '.join(wanted)}; give that variable alone, as dataset[{name!r}], or drop it"
            )
    if not variables:
        raise InputError("the dataset has no variable; give at least one node")
    columns = []
    for variable in variables.values():
        order = [list(map(str, variable.dims)).index(dim) for dim in wanted]
        block = np.asarray(variable.values).transpose(order)
        columns.append(block if trial else block[None])
    trials = [[column[number] for column in columns] for number in range(len(columns[0]))]
    return _trial_tables(trials, list(variables), _coordinate(values, time), trial)


def _dim(dims: list[str], known: Sequence[str], what: str) -> str:
    found = [dim for dim in dims if dim.lower() in known]
    if len(found) == 1:
        return found[0]
    raise InputError(f"the dimensions are {', '.join(dims)}; call one, and only one, of them {what}")


def _coordinate(values: Any, dim: str) -> list[Any] | None:
    return list(np.asarray(values.coords[dim].values)) if dim in values.coords else None


def _trial_tables(
    trials: Sequence[Any], names: Sequence[Any], times: list[Any] | None, trial: str | None
) -> list[Table]:
    import pandas as pd

    tables = []
    for number, columns in enumerate(trials, 1):
        parts = columns if isinstance(columns, list) else list(np.asarray(columns).T)
        frame = pd.DataFrame({str(name): column for name, column in zip(names, parts)})
        if len(frame.columns) < len(names):
            raise InputError("two nodes have the same name in the coordinates; names must differ")
        if times is not None:
            frame.index = pd.Index(times, name="time")
        file = f"{trial} {number}" if trial else ""
        tables.append(Table(file=file, frame=frame, numbers=range(1, len(frame) + 1)))
    return tables


# --- arrays ------------------------------------------------------------------------------------------------


def _array_values(values: Any, rules: Rules) -> Values:
    trials = [_unmasked(trial) for trial in _array_trials(values, rules.transpose)]
    trials = [trial.astype(object) for trial in trials] if rules.na else trials
    kinds = {trial.dtype.kind for trial in trials}
    names = [f"x{i}" for i in range(trials[0].shape[1])]
    if "c" in kinds:
        raise InputError("the values are complex; take their real part, absolute value or angle")
    if kinds <= set("biu") and not any(_overflows(trial) for trial in trials):
        whole = tuple(trial.astype(np.int64) for trial in trials)
        return Values(trials=whole, kinds=(INTEGER,) * len(names), labels={})
    if kinds <= set("biuf"):
        numbers = tuple(np.array(trial, np.float64) for trial in trials)
        return Values(trials=numbers, kinds=(FLOAT,) * len(names), labels={})
    return _object_values(trials, names, rules)


def _overflows(trial: np.ndarray) -> bool:
    return trial.dtype == np.uint64 and trial.size > 0 and bool(trial.max() > np.iinfo(np.int64).max)


def _object_values(trials: list[np.ndarray], names: list[str], rules: Rules) -> Values:
    import pandas as pd

    columns = []
    for trial in trials:
        frame = pd.DataFrame(trial, columns=names)
        table = Table(file="", frame=frame, numbers=range(1, len(frame) + 1))
        columns.append([column_of(table, name, frame[name], rules) for name in names])
    return assemble(columns, names)


def _unmasked(trial: np.ndarray) -> np.ndarray:
    """Return a masked array as a plain one in which what is masked is missing."""
    if not isinstance(trial, np.ma.MaskedArray):
        return trial
    mask, data = np.ma.getmaskarray(trial), np.asarray(trial.data)
    if not mask.any():
        return data
    # Whole numbers of which some are missing stay whole: as objects.
    data = data.astype(data.dtype if data.dtype.kind in "fc" else object)
    data[mask] = np.nan if data.dtype.kind in "fc" else None
    return data


def _array_trials(values: Any, transpose: bool | None) -> list[np.ndarray]:
    """Return the values as a list of (time, node) arrays."""
    if isinstance(values, (list, tuple)) and values and all(np.ndim(trial) == 2 for trial in values):
        trials = [np.ma.asanyarray(t) if np.ma.isMaskedArray(t) else np.asarray(t) for t in values]
        trials = [trial.T for trial in trials] if transpose else trials
    else:
        if isinstance(values, (str, os.PathLike)):
            raise InputError(f"{values} is a name, not values; files are read by enmesh.read")
        try:
            array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        except ValueError:
            raise InputError(
                "the rows differ in length; give (time, node) values or a list of such trials"
            ) from None
        array = turned(array, transpose)
        trials = [array] if array.ndim == 2 else list(array) if array.ndim == 3 else []
    if not trials or any(trial.ndim != 2 for trial in trials):
        raise InputError(
            f"values have shape {np.shape(values) if not trials else [t.shape for t in trials]}; {SHAPES}"
        )
    widths = sorted({trial.shape[1] for trial in trials})
    if len(widths) > 1:
        raise InputError(f"the trials have different numbers of nodes ({', '.join(map(str, widths))})")
    if widths == [0]:
        raise InputError("there is no column; give at least one node")
    return trials


def turned(array: np.ndarray, transpose: bool | None) -> np.ndarray:
    """Return an array with times before nodes; refuse one that may be either way, unless that is said."""
    if array.ndim not in (2, 3):
        return array
    if transpose:
        return np.swapaxes(array, -1, -2)
    *several, length, width = array.shape
    if transpose is None and length < width and (several or width < MOST_NODES * length):
        trials = f"{several[0]} trials of " if several else ""
        raise InputError(
            f"shape {array.shape} would be {trials}{length} samples of {width} nodes; pass transpose=True if the last "
            "axis is time, transpose=False if it is not"
        )
    return array
