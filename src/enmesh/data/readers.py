"""From files to a `Series`: one set of rules picks time, trials and nodes from the table of any format."""

import os
from collections.abc import Sequence

from enmesh.data.columns import assemble, matched
from enmesh.data.formats import read_table
from enmesh.data.frames import Rules, TimeRule, pick, rules_of
from enmesh.data.series import Series
from enmesh.data.table import Table
from enmesh.data.times import JITTER
from enmesh.errors import InputError

Source = str | os.PathLike


def read(
    path: Source | Sequence[Source],
    *,
    time: TimeRule = None,
    columns: Sequence[str] | None = None,
    trial: str | bool | None = None,
    header: bool | None = None,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    missing: str = "raise",
    variable: str | None = None,
    states: Sequence[str] | None = None,
) -> Series:
    """Read a recording: csv, tsv, txt (whitespace), parquet, npy, npz, mat or xlsx, by the file's suffix.

    Each may be compressed (gz, xz, or alone in a zip). ``-`` is standard input.

    Parameters
    ----------
    path
        A file, or several: each is then a trial (or more).
    time
        Column of times, ``"sort"``, ``"ignore"``, or both, as in `Series`. By default a column called time, t, date,
        datetime or timestamp, the only column of dates, an unnamed index, or year, month and day together; the step
        becomes ``dt`` (in seconds for dates).
    columns
        Nodes to keep, by name and in this order; by default all columns but time, trial and those that only count
        the rows or repeat the calendar (year, month).
    trial
        Column that says which trial a row belongs to; by default one called trial, False for none.
    header
        Whether the first line of a text file holds names; by default it does when it holds text.
    names
        One name per column of the file, in place of the header; without either ``x0, x1, ...``.
    dt
        Sampling step, in place of the one found.
    missing
        As in `Series`: ``"raise"`` refuses missing values and gaps in time, ``"drop"`` leaves out what touches them.
    variable
        Which array of an npz or mat file, or which sheet of an xlsx file, to read, where it has several. Arrays are
        ``(time, node)`` or ``(trial, time, node)``.
    states
        Columns of names of states; others of text are states too if their words repeat.

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
    rules = rules_of(time, columns, trial, missing, states)
    series = _as_trials([read_table(one, header, names, variable) for one in paths], rules, dt)
    series.file = ", ".join(str(one) for one in paths if str(one) != "-")
    return series


def _as_trials(tables: Sequence[Table], rules: Rules, dt: float | None) -> Series:
    """Return what several tables hold as the trials of one series."""
    recording = matched([pick(table, rules) for table in tables], dt, JITTER)
    try:
        values = assemble(recording.trials, recording.names)
        step = dt if dt is not None else recording.dt
        return Series.of(values, recording.names, step, missing=rules.missing, time=recording.time)
    except InputError as error:
        more = f" and {len(tables) - 1} more" if len(tables) > 1 else ""
        raise InputError(f"{tables[0].file}{more}: {error}") from None
