"""From files to a `Series`, and back."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from enmesh.data.rules import Reading
from enmesh.data.series import Series
from enmesh.data.sources import is_source, library, write_whole
from enmesh.data.table import guarded
from enmesh.errors import InputError, refuse_if

if TYPE_CHECKING:
    import pandas as pd


def read(path: Any, *, names: Sequence[str] | None = None, dt: float | None = None, **words: Unpack[Reading]) -> Series:
    """Read a recording: csv, tsv, txt, parquet, npy, npz, mat, xlsx, edf or what MNE reads.

    The format is told by the file's suffix, or by its first bytes where it has none.
    Each may be compressed (gz, xz, or alone in a zip). ``-`` is standard input. What is not said is recognised where
    it is certain, and refused with the word that helps where there are two readings.

    Parameters
    ----------
    path
        A file, or several: each is then a trial (or more). An open file is taken too.
    names
        One name per column of the file, in place of the header; without either ``x0, x1, ...``.
    dt, sfreq
        Sampling step, or samples per unit of time, in place of the step found.
    time
        Column of times, ``"sort"`` (puts the rows in the order of time), ``"ignore"`` (takes the rows as equally
        spaced), a list of both, or False for none. By default a column whose name or values are those of a clock, the
        only column of dates, an unnamed index, or year, month and day together; the step becomes ``dt`` (in seconds for
        dates, in months for months, quarters and years).
    columns
        Nodes to keep, in this order; by default all columns but time, trials and those that only count the rows or
        repeat the calendar (year, month).
    trials
        Column that says which trial a row belongs to (also ``trial``); by default one called trial or the like, or
        where the time restarts. False for none.
    rows
        Rows to keep, ``"101:500"`` counted from 1 with both ends, or a slice.
    states
        Columns of names of states; others of text are states too if their words repeat.
    missing, transpose, dims, drop_constant, resample
        As in `Series`: ``missing="drop"`` keeps gaps; ``transpose=True`` takes rows for nodes; ``dims`` names the axes
        of an array in an npy, npz or mat file; ``drop_constant=True`` leaves out dead channels.
    header, units, skip
        Whether the first line holds names (by default, when it holds text) and the next one units; lines to leave out.
    variable, sheet
        Which array of an npz or mat file, or which sheet of an xlsx file, to read, where it has several.
    decimal, thousands, na
        Marks in numbers, and words or numbers for a missing value: ``decimal=",", na=["-999", "?"]``.
    date_format, encoding
        How times are written, as in ``strptime``: ``"%d.%m.%Y"``; the encoding of text, ``"latin-1"``.
    pivot
        The columns ``("time", "variable", "value")`` of a long table.

    Examples
    --------
    >>> import io
    >>> read(io.StringIO("time,a,b\\n0.0,1.5,2\\n0.1,1.7,3\\n0.2,1.1,5\\n"))
    Series(2 nodes: a, b; 1 trial of 3 samples; dt=0.1)
    """
    refuse_if(not is_source(path), f"no file is named by {path!r}; give at least one")
    return Series(path, names, dt, **words)


def write_series(series: Series, path: str | os.PathLike) -> Path:
    """Write a series as csv, npz or parquet, by suffix, so that `enmesh.read` gives it back.

    A sampling step other than 1 and a known start become a column ``time``, several trials a column ``trial``; npz
    holds ``values (trial, time, node)``, ``names`` and ``dt``, and where there are several kinds of nodes ``kinds``
    and ``labels``.
    """
    path = Path(path)
    suffix = path.suffix.lower()
    if suffix not in (".csv", ".npz", ".parquet"):
        raise InputError(f"cannot write {path}: its name must end in .csv, .npz, .parquet")
    if suffix == ".npz":
        return write_whole(path, lambda file: _write_npz(series, file))
    if suffix == ".csv":
        csv_text(series, path)
        return path
    library("pyarrow", "writing parquet", "parquet")
    frame = series_table(series)
    return write_whole(path, lambda file: frame.to_parquet(file, index=False, engine="pyarrow"))


def csv_text(series: Series, path: str | os.PathLike[str] | None = None) -> str:
    """Return a series as csv text, and write it to ``path`` if one is given."""
    frame = series_table(series)
    frame.columns = [guarded(str(name)) for name in frame.columns]
    text: str = frame.to_csv(index=False)
    if path is not None:
        write_whole(path, lambda file: file.write_text(text, encoding="utf-8", newline=""))
    return text


def _write_npz(series: Series, file: Path) -> None:
    if len(set(series.lengths)) > 1:
        raise InputError("trials of different lengths do not fit into npz; write csv or parquet")
    values = np.stack(series.trials) if len(series.trials) > 1 else series.values
    beside: dict[str, Any] = {"names": np.array(series.names), "dt": series.dt}
    beside["dims"] = np.array(["trial", "time", "node"][-values.ndim :])
    if len(set(series.kinds)) > 1 or series.labels:
        beside |= {"kinds": np.array(series.kinds), "labels": json.dumps(series.labels)}
    with file.open("wb") as target:
        np.savez_compressed(target, values=values, **beside)


def series_table(series: Series) -> "pd.DataFrame":
    """Return a series as a DataFrame, with columns ``trial`` and ``time`` where they say something."""
    frame, axis, name = series.to_dataframe(), series.time, "time"
    elapsed = np.concatenate([np.arange(length) * series.dt for length in series.lengths])
    times: Any = elapsed.round(12) if series.dt != 1 else None
    if axis is not None and isinstance(axis.start, str) and axis.unit == "s":
        start = np.datetime64(axis.start.removesuffix("+00:00"), "us")
        times = start + np.rint(elapsed * 1e6).astype("timedelta64[us]")
    elif axis is not None and not isinstance(axis.start, str):
        name, times = f"time ({axis.unit})" if axis.unit else "time", (axis.start + elapsed).round(12)
    if times is not None:
        frame.insert(len(frame.columns) - series.n_nodes, name, times)
    return frame
