"""Whatever holds a recording (arrays, lists of trials, files, objects with columns) as values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from enmesh.data.rules import Rules
from enmesh.data.sources import is_source
from enmesh.data.table import Table, default_names
from enmesh.data.values import FLOAT, INTEGER, Values, listed_trials, turned
from enmesh.errors import InputError, refuse_if

SHAPES = "give (time, node), (trial, time, node) or a list of (time, node)"


def values_of(data: Any, rules: Rules, dt: float | None, names: Sequence[str] | None = None) -> Values:
    """Return what an object holds, or a file or several; ``names`` are those of the columns where they are given."""
    if hasattr(data, "parents") and hasattr(data, "candidates"):
        raise InputError("this is a network, not a recording; give the data it was inferred from")
    several = data if isinstance(data, (list, tuple)) and len(data) else [data]
    if not all(isinstance(one, np.ndarray) and one.dtype.names is None for one in several):
        from enmesh.data import frames, tables

        if is_source(data):
            found = tables.read_tables(several, rules, names)
        else:
            found = tables.object_tables(data, rules.transpose)
        if found and rules.dims is not None and not is_source(data):
            raise InputError("dims= names the axes of an array, and this has names of its own; leave dims= out")
        if found:
            picked = [frames.pick(table, rules) for table in found]
            return frames.assembled(picked, dt, own=is_source(data))
    idle = rules.given - {"missing", "transpose", "sfreq", "na", "dims", "drop_constant"}
    idle -= {"time"} if rules.time in (None, False) and "sort" not in rules.modes else set()
    idle -= {"trials", "trial"} if rules.trials in (None, False) else set()
    if idle:
        word = "time='sort'" if idle == {"time"} and rules.modes else sorted(idle)[0]
        raise InputError(f"{word} needs named columns, which an array has not; give a DataFrame")
    trials = [_unmasked(trial) for trial in _array_trials(data, rules, 0 if names is None else len(names))]
    return _array_values(trials, rules)


def _array_values(trials: Sequence[np.ndarray], rules: Rules) -> Values:
    kinds, names = {trial.dtype.kind for trial in trials}, default_names(trials[0].shape[1])
    refuse_if("c" in kinds, "the values are complex; take their real part, absolute value or angle")
    if kinds <= set("biuf") and not rules.na:
        large = [trial for trial in trials if trial.dtype == np.uint64 and trial.size]
        whole = "f" not in kinds and all(trial.max() <= np.iinfo(np.int64).max for trial in large)
        plain = tuple(np.array(trial, np.int64 if whole else np.float64) for trial in trials)
        return Values(tuple(names), plain, (INTEGER if whole else FLOAT,) * len(names), {})
    import pandas as pd

    from enmesh.data.frames import Recording, assembled, chosen

    tables = [Table(frame=pd.DataFrame(trial, columns=names)) for trial in trials]
    frames = [chosen(table, names, rules) for table in tables]
    return assembled([Recording(file="", frame=one, lengths=[len(one)]) for one in frames], None, own=False)


def _unmasked(trial: np.ndarray) -> np.ndarray:
    """Return a masked array as a plain one in which what is masked is missing; whole numbers stay whole, as objects."""
    mask, data = np.ma.getmaskarray(trial), np.asarray(np.ma.getdata(trial))
    if not mask.any():
        return data
    data = data.astype(data.dtype if data.dtype.kind in "fc" else object)
    data[mask] = np.nan if data.dtype.kind in "fc" else None
    return data


def _array_trials(values: Any, rules: Rules, names: int) -> list[np.ndarray]:
    """Return the values as a list of (time, node) arrays."""
    if isinstance(values, (list, tuple)) and values and all(np.ndim(trial) == 2 for trial in values):
        trials = [np.ma.asanyarray(t) if np.ma.isMaskedArray(t) else np.asarray(t) for t in values]
        trials = listed_trials(trials, rules, names)
    else:
        try:
            array = values if isinstance(values, np.ma.MaskedArray) else np.asarray(values)
        except ValueError:
            advice = "give (time, node) values or a list of such trials"
            raise InputError(f"the rows differ in length; {advice}") from None
        array = turned(array, rules, names)
        trials = [array] if array.ndim == 2 else list(array) if array.ndim == 3 else []
    if not trials:
        raise InputError(f"values have shape {np.shape(values)}; {SHAPES}")
    widths = sorted({trial.shape[1] for trial in trials})
    if len(widths) > 1:
        told = f"the trials have different numbers of nodes ({', '.join(map(str, widths))})"
        turn = "pass transpose=True if rows are nodes" if len({len(trial) for trial in trials}) == 1 else ""
        raise InputError(f"{told}; {turn or 'give the same columns in each'}")
    refuse_if(widths == [0], "there is no column; give at least one node")
    return trials
