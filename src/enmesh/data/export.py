"""Series to files."""

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from enmesh.data.series import Series
from enmesh.data.sources import write_whole
from enmesh.data.table import guarded
from enmesh.errors import InputError

if TYPE_CHECKING:
    import pandas as pd


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
    frame = series_table(series)
    if suffix == ".csv":
        frame.columns = [guarded(str(name)) for name in frame.columns]
        return write_whole(path, lambda file: frame.to_csv(file, index=False))
    try:
        return write_whole(path, lambda file: frame.to_parquet(file, index=False, engine="pyarrow"))
    except ImportError:
        raise InputError("writing parquet needs pyarrow; pip install 'enmesh[parquet]'") from None


def _write_npz(series: Series, file: Path) -> None:
    if len(set(series.lengths)) > 1:
        raise InputError("trials of different lengths do not fit into npz; write csv or parquet")
    values = np.stack(series.trials) if len(series.trials) > 1 else series.values
    beside: dict[str, Any] = {"names": np.array(series.names), "dt": series.dt}
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
