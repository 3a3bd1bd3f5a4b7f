"""From files to a `Series`: one set of rules picks time, trials and nodes from the table of any format."""

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Unpack

from enmesh.data.columns import assemble, matched
from enmesh.data.formats import read_table
from enmesh.data.frames import pick
from enmesh.data.rules import Reading, Rules, rules_of, step_of
from enmesh.data.series import Series
from enmesh.data.table import Table
from enmesh.data.times import JITTER
from enmesh.errors import InputError

Source = str | os.PathLike | IO[Any]


def is_source(data: Any) -> bool:
    """Say whether data is a path or an open file, or a list of such."""
    if isinstance(data, (list, tuple)) and data:
        return all(is_source(one) for one in data)
    return isinstance(data, (str, os.PathLike, io.IOBase)) or hasattr(data, "read")


def read(
    path: Source | Sequence[Source],
    *,
    names: Sequence[str] | None = None,
    dt: float | None = None,
    **words: Unpack[Reading],
) -> Series:
    """Read a recording: csv, tsv, txt, parquet, npy, npz, mat, xlsx, edf or what MNE reads, by the file's suffix.

    Each may be compressed (gz, xz, or alone in a zip). ``-`` is standard input. What is not said is recognised where
    it is certain, and refused with the word that helps where there are two readings.

    Parameters
    ----------
    path
        A file, or several: each is then a trial (or more). An open file is taken too.
    names
        One name per column of the file, in place of the header; without either ``x0, x1, ...``.
    dt
        Sampling step, in place of the one found.
    time
        Column of times, ``"sort"`` (puts the rows in the order of time), ``"ignore"`` (takes the rows as equally
        spaced), a list of both, or False for none. By default a column whose name or values are those of a clock, the
        only column of dates, an unnamed index, or year, month and day together; the step becomes ``dt`` (in seconds for
        dates, in months for months, quarters and years).
    columns
        Nodes to keep, by name and in this order; by default all columns but time, trials and those that only count
        the rows or repeat the calendar (year, month).
    trials
        Column that says which trial a row belongs to; by default one called trial or the like, or where the time
        restarts. False for none. (``trial`` is the same.)
    rows
        Rows to keep, ``"101:500"`` counted from 1 with both ends, or a slice.
    states
        Columns of names of states; others of text are states too if their words repeat.
    missing
        As in `Series`: ``"raise"``, ``"drop"`` or ``"interpolate:5"``.
    header
        Whether the first line holds names; by default it does when it holds text.
    variable, sheet
        Which array of an npz or mat file, or which sheet of an xlsx file, to read, where it has several. Arrays are
        ``(time, node)`` or ``(trial, time, node)``.
    decimal, thousands
        Marks in numbers: ``decimal=","``, ``thousands="."``.
    na
        Words, or numbers, that stand for a missing value: ``na=["-999", "?"]``.
    skip
        Lines to leave out at the top.
    units
        Whether the line below the names holds units, which are left out.
    date_format
        How times are written, as in ``strptime``: ``"%d.%m.%Y"``.
    encoding
        Of text, by default UTF-8: ``"latin-1"``.
    pivot
        The columns ``("time", "variable", "value")`` of a long table.
    transpose
        Whether rows are nodes and columns are times.
    sfreq
        Samples per unit of time, in place of ``dt``.

    Examples
    --------
    >>> import io
    >>> read(io.StringIO("time,a,b\\n0.0,1.5,2\\n0.1,1.7,3\\n0.2,1.1,5\\n"))
    Series(2 nodes: a, b; 1 trial of 3 samples; dt=0.1)
    """
    paths = list(path) if isinstance(path, (list, tuple)) else [path]
    if not paths:
        raise InputError("no file is named; give at least one")
    rules = rules_of(words)
    _refuse_twice(paths)
    series = _as_trials([read_table(one, rules, names) for one in paths], rules, dt)
    series.file = ", ".join(
        str(one) for one in paths if isinstance(one, (str, os.PathLike)) and str(one) != "-"
    )
    return series


def _refuse_twice(paths: Sequence[Any]) -> None:
    """Refuse a file that is given twice: its evidence would count twice."""
    seen: dict[Any, Any] = {}
    for path in paths:
        if isinstance(path, (str, os.PathLike)):
            try:
                about = Path(path).stat()
            except (OSError, ValueError):
                continue
            key = (about.st_dev, about.st_ino)
            if key in seen:
                raise InputError(f"{path} is given more than once; each file is a trial, give it once")
            seen[key] = path


def _as_trials(tables: Sequence[Table], rules: Rules, dt: float | None) -> Series:
    """Return what several tables hold as the trials of one series."""
    recording = matched(
        [pick(table, rules) for table in tables], dt if dt is not None else rules.step, JITTER
    )
    file, more = tables[0].file, f" and {len(tables) - 1} more" if len(tables) > 1 else ""
    del tables
    try:
        values = assemble(recording.trials, recording.names, share=True)
        step = step_of(dt, rules, recording.dt)
        return Series.made(values, recording.names, step, rules, recording.time)
    except InputError as error:
        raise InputError(f"{file}{more}: {error}") from None
