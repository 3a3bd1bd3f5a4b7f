"""From files to a `Series`: one set of rules picks time, trials and nodes from the table of any format."""

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from enmesh.data.series import Series
from enmesh.data.text_tables import TIME_NAME, TRIAL_NAME, listed, read_table, shown
from enmesh.errors import HazardWarning, InputError

# Steps up to this many times the usual one are jitter (months differ by a tenth); longer ones are gaps.
GAP = 1.5
# Jitter beyond this share of the step is worth a word.
JITTER = 0.01

Source = str | os.PathLike


@dataclass(frozen=True, kw_only=True)
class Recording:
    """What one file holds: trials of the chosen nodes, their names, the sampling step where it is known."""

    file: str
    trials: list[np.ndarray]
    names: tuple[str, ...]
    dt: float | None


def read(
    path: Source | Sequence[Source],
    *,
    time: str | bool | None = None,
    columns: Sequence[str] | None = None,
    trial: str | bool | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    missing: str = "raise",
    variable: str | None = None,
) -> Series:
    """Read a recording: csv, tsv, txt (whitespace), parquet, npy, npz or mat, by the file's suffix.

    Parameters
    ----------
    path
        A file, or several: each is then a trial (or more).
    time
        Column of times, which must increase; its step becomes ``dt`` (in seconds for dates). By default a
        column called time, t, date, datetime or timestamp; False takes every column for a node.
    columns
        Nodes to keep, by name and in this order; by default all columns but time and trial.
    trial
        Column that says which trial a row belongs to; by default one called trial, False for none.
    header
        Whether the first line of a text file holds names; by default it does when it holds text.
    names
        One name per column of the file, in place of the header; without either ``x0, x1, ...``.
    dt
        Sampling step, in place of the one found.
    missing
        As in `Series`: ``"raise"`` refuses missing values and gaps in time, ``"drop"`` leaves out the windows
        that touch them.
    variable
        Which array of an npz or mat file to read, where it has several. Arrays are ``(time, node)`` or
        ``(trial, time, node)``.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "two.csv")
    >>> _ = path.write_text("time,a,b\\n0.0,1.5,2\\n0.1,1.7,3\\n0.2,1.1,5\\n")
    >>> read(path)
    Series(2 nodes: a, b; 1 trial of 3 samples; dt=0.1)
    """
    paths = [path] if isinstance(path, (str, os.PathLike)) else list(path)
    if not paths:
        raise InputError("no file is named; give at least one")
    recordings = []
    for one in paths:
        table = read_table(Path(one), header, names, variable)
        recordings.append(_pick(table, time, columns, trial, missing))
    first = recordings[0]
    for other in recordings[1:]:
        _refuse_unlike(first, other, dt)
    trials = [values for recording in recordings for values in recording.trials]
    step = dt if dt is not None else first.dt if first.dt is not None else 1.0
    try:
        return Series(trials, first.names, step, missing=missing)
    except InputError as error:
        files = first.file if len(paths) == 1 else f"{first.file} and {len(paths) - 1} more"
        raise InputError(f"{files}: {error}") from None


def _refuse_unlike(first, other, dt):
    if other.names != first.names:
        raise InputError(
            f"{other.file} has the columns {listed(other.names)} but {first.file} has {listed(first.names)}; "
            "trials need the same columns in the same order"
        )
    known = dt is None and first.dt is not None and other.dt is not None
    if known and abs(other.dt - first.dt) > JITTER * first.dt:
        raise InputError(f"{other.file} has a time step of {other.dt:g} but {first.file} of {first.dt:g}")


# --- picking time, trials and nodes from a table -----------------------------------------------------------


def _pick(table, time, columns, trial, missing) -> Recording:
    """Apply the rules that are the same for all formats."""
    _refuse_doubled(table)
    trial = _trial_column(table, trial)
    labels = table.trials if trial is None else table.frame[trial].to_numpy()
    groups = _groups(labels, len(table.frame))
    time = _time_column(table, time, trial, groups)
    nodes = _node_columns(table, columns, {time, trial})
    values = _numbers(table, nodes)
    trials, step = [values[rows] for rows in groups], table.dt
    if time is not None:
        step, trials = _on_grid(table, time, groups, trials, missing)
    return Recording(file=table.file, trials=trials, names=tuple(nodes), dt=step)


def _refuse_doubled(table):
    names = list(table.frame.columns)
    for position, name in enumerate(names):
        if name in names[:position]:
            first = names.index(name) + 1
            raise InputError(
                f"{table.file}: columns {first} and {position + 1} are both called {name}; names must differ"
            )


def _trial_column(table, trial):
    if trial is None or trial is True:
        return TRIAL_NAME if TRIAL_NAME in table.frame.columns else None
    return _known(table, trial, "trial") if trial is not False else None


def _known(table, name, what):
    if name in table.frame.columns:
        return name
    raise InputError(f"{table.file}: there is no {what} column {name}; it has {listed(table.frame.columns)}")


def _groups(labels, length) -> list[np.ndarray]:
    """Return the rows of each trial, in order of appearance."""
    if labels is None:
        return [np.arange(length)]
    _, first, which = np.unique(labels.astype(str), return_index=True, return_inverse=True)
    return [np.flatnonzero(which == label) for label in np.argsort(first)]


def _time_column(table, time, trial, groups):
    """Return the column of times: the named one, or the one whose name says so."""
    if time is False:
        return None
    if time is not None and time is not True:
        return _known(table, time, "time")
    found = [name for name in table.frame.columns if name != trial and TIME_NAME.fullmatch(str(name))]
    # A single letter may well be a quantity; it is a time only if it behaves like one.
    found = [name for name in found if len(name) > 1 or _increases(table, name, groups)]
    if len(found) > 1:
        raise InputError(
            f"{table.file}: {listed(found)} all look like times; name one as time, and the nodes as columns"
        )
    return found[0] if found else None


def _increases(table, name, groups):
    values = table.frame[name]
    return values.dtype.kind in "if" and all((np.diff(values.to_numpy()[rows]) > 0).all() for rows in groups)


def _node_columns(table, columns, taken) -> list[str]:
    if columns is None:
        nodes = [name for name in table.frame.columns if name not in taken]
    else:
        nodes = [_known(table, name, "node") for name in columns]
        twice = [name for name in nodes if nodes.count(name) > 1 or name in taken]
        if twice:
            raise InputError(f"{table.file}: column {twice[0]} is asked for twice, as node, time or trial")
    if not nodes:
        raise InputError(f"{table.file}: no column is left for nodes; it has {listed(table.frame.columns)}")
    return nodes


def _numbers(table, nodes) -> np.ndarray:
    """Return the values of the nodes; integers stay integers when all columns are."""
    columns = [table.frame[name] for name in nodes]
    stacked = np.column_stack([_column_numbers(table, name, column) for name, column in zip(nodes, columns)])
    return stacked.astype(np.int64) if stacked.dtype.kind in "bu" else stacked


def _column_numbers(table, name, column) -> np.ndarray:
    import pandas as pd

    plain = isinstance(column.dtype, np.dtype) and column.dtype.kind in "iufb"
    if plain:
        return column.to_numpy()
    times = column.dtype.kind in "Mmc"
    number = pd.Series(np.nan, column.index) if times else pd.to_numeric(column, errors="coerce")
    absent = number.isna().to_numpy()
    bad = absent & ~column.isna().to_numpy()
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{table.at(row, name)}: {shown(column.iloc[row])} is not a number")
    whole = number.dtype.kind in "iu" and not absent.any()
    return number.to_numpy(dtype=np.int64) if whole else number.to_numpy(dtype=float, na_value=np.nan)


# --- times -------------------------------------------------------------------------------------------------


def _on_grid(table, time, groups, trials, missing):
    """Return the step of the times, and the trials on an even grid with gaps as missing rows."""
    times = _times(table, time)
    steps = [np.diff(times[rows]) for rows in groups]
    for rows, step in zip(groups, steps):
        back = np.flatnonzero(~(step > 0))
        if len(back):
            at = table.at(rows[back[0] + 1], time)
            raise InputError(f"{at}: the time does not increase; sort the rows, or name the column of trials")
    pooled = np.concatenate(steps)
    if not len(pooled):
        return None, trials
    usual = float(f"{np.median(pooled):.9g}")
    if pooled.max() > GAP * usual:
        trials = [
            _with_gaps(table, time, rows, step / usual, values, missing)
            for rows, step, values in zip(groups, steps, trials)
        ]
    elif max(pooled.max() - usual, usual - pooled.min()) > JITTER * usual:
        warnings.warn(
            f"{table.file}: the times step by {pooled.min():g} to {pooled.max():g}; "
            f"taken as even steps of {usual:g}",
            HazardWarning,
            stacklevel=5,
        )
    return usual, trials


def _with_gaps(table, time, rows, steps, values, missing) -> np.ndarray:
    """Put a missing row at each time that the recording skipped."""
    wide = np.flatnonzero(steps > GAP)
    if not len(wide):
        return values
    at = table.at(rows[wide[0] + 1], time)
    if missing == "raise":
        raise InputError(
            f"{at}: the time jumps by {steps[wide[0]]:g} steps; resample, or pass missing='drop' "
            "to leave out what touches a gap"
        )
    whole = np.rint(steps)
    if (np.abs(steps - whole) > 0.25).any():
        raise InputError(f"{at}: the times follow no even grid; resample the recording first")
    place = np.concatenate([[0], np.cumsum(whole)]).astype(int)
    filled = np.full((place[-1] + 1, values.shape[1]), np.nan)
    filled[place] = values
    return filled


def _times(table, time) -> np.ndarray:
    """Return the times as numbers; dates become seconds."""
    import pandas as pd

    column = table.frame[time]
    if column.dtype.kind in "if":
        times = column.to_numpy(dtype=float, na_value=np.nan)
    else:
        stamps = column
        if column.dtype.kind != "M":
            with warnings.catch_warnings():
                warnings.simplefilter(
                    "ignore"
                )  # pandas says when it must guess the format; a wrong guess is met below
                stamps = pd.to_datetime(column, errors="coerce", utc=True)
        times = (stamps - stamps.min()).dt.total_seconds().to_numpy()
    bad = ~np.isfinite(times)
    if bad.any():
        row = int(bad.argmax())
        raise InputError(f"{table.at(row, time)}: {shown(column.iloc[row])} is not a time or date")
    return times
