"""Files, and objects that have columns (DataFrames, xarray, mappings), as tables."""

import os
import re
import textwrap
import warnings
from collections.abc import Callable, Mapping, Sequence
from inspect import getattr_static
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data import array_tables as arrays
from enmesh.data.rules import AXES, Rules
from enmesh.data.sources import open_source
from enmesh.data.table import Table
from enmesh.data.text_tables import read_excel, read_text
from enmesh.errors import InputError, refuse_if

TIME_DIMS, TRIAL_DIMS = AXES["time"], AXES["trial"]
TEXT = (".csv", ".tsv", ".txt", ".dat")
READERS: dict[str, Callable[[Any, Rules], Table]] = {
    **dict.fromkeys(TEXT, read_text),
    ".parquet": arrays.read_parquet,
    ".npy": arrays.read_npy,
    ".npz": arrays.read_npz,
    ".mat": arrays.read_mat,
    ".xlsx": read_excel,
    ".edf": arrays.read_edf,
    **dict.fromkeys(arrays.MNE_SUFFIXES, arrays.read_mne),
}
# Words that only some formats can follow.
ONLY = {"variable": (".npz", ".mat", ".xlsx"), "sheet": (".xlsx",), "encoding": TEXT}
ONLY |= {"dims": (".npy", ".npz", ".mat")}
ONLY |= dict.fromkeys(("header", "skip", "units"), (*TEXT, ".xlsx"))
# A reader says what is wrong without the name of the file, which may be the subject of the sentence.
VERBS = ("is", "has", "holds", "says", "cannot")
LIBRARIES = r"(pandas|numpy|openpyxl|pyarrow|zipfile|scipy|mne|edfio|h5py)\b"


def read_tables(paths: Sequence[Any], rules: Rules, names: Sequence[str] | None) -> list[Table]:
    """Read files as tables; one that is given twice is refused, since its evidence would count twice."""
    files = [path for path in paths if isinstance(path, (str, os.PathLike)) and os.path.exists(path)]
    places = [os.stat(path)[1:3] for path in files]  # inode and device
    for path, place in zip(files, places):
        if places.count(place) > 1:
            raise InputError(f"{path} is given more than once; each file is a trial, give it once")
    return [read_table(path, rules, names) for path in paths]


def read_table(path: Any, rules: Rules, names: Sequence[str] | None = None) -> Table:
    """Read one file as a table; the arguments are those of `enmesh.read`."""
    source = open_source(path)
    name, suffix = source.name, source.suffix
    with source.file:
        if suffix not in READERS:
            kinds = f"use {', '.join(READERS)}, or these with .gz, .xz, .bz2 or .zip"
            raise InputError(f"{name}: cannot read {suffix}; {kinds}")
        for word, suffixes in ONLY.items():
            if word in rules.given and suffix not in suffixes:
                kinds = ", ".join(one[1:] for one in suffixes)
                raise InputError(f"{name}: {word} has no effect on {suffix[1:]}; that is for {kinds} files")
        try:
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", module=LIBRARIES)
                table = READERS[suffix](source, rules)
        except InputError as error:
            place = re.match(r"(line|row) \d+[,:]", str(error))
            between = ", " if place else " " if str(error).split()[0] in VERBS else ": "
            raise InputError(f"{name}{between}{error}") from None
        except MemoryError:
            raise InputError(f"{name} does not fit into memory; read it in parts") from None
        except Exception as error:  # whatever a damaged file provokes in its reader
            reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
            said = textwrap.shorten(reason, 160, placeholder="...")
            raise InputError(f"{name} cannot be read as {suffix[1:]}: {said}") from None
    if names is not None:
        if len(names) != table.frame.shape[1]:
            raise InputError(
                f"{name} has {table.frame.shape[1]} columns but {len(names)} names are given; give one per column"
            )
        table.frame.columns = [str(one) for one in names]
    return table


def object_tables(values: Any, transpose: bool | None) -> list[Table]:
    """Return one table, or one for each trial, of what has named columns; none for plain arrays."""
    if hasattr(values, "dims") and hasattr(values, "coords"):
        return [_labelled_table(values)]
    if hasattr(values, "get_data") and hasattr(values, "ch_names"):
        return [arrays.mne_table(values)]
    if getattr(getattr(values, "dtype", None), "names", None):
        values = {name: values[name] for name in values.dtype.names}
    if _has_columns(values) or isinstance(values, Mapping) or hasattr(values, "to_frame"):
        return [_table(values, "", transpose)]
    if isinstance(values, (list, tuple)) and values and any(map(_has_columns, values)):
        if not all(map(_has_columns, values)):
            raise InputError("some trials have named columns and others have not; give DataFrames or arrays")
        return [_table(trial, f"trial {number}", transpose) for number, trial in enumerate(values, 1)]
    return []


def _has_columns(values: Any) -> bool:
    lacking = object()  # looked up without asking: a lazy table would be resolved by that
    names = ("columns", "column_names", "__arrow_c_stream__")
    return any(getattr_static(values, name, lacking) is not lacking for name in names)


def _table(values: Any, file: str, transpose: bool | None) -> Table:
    if isinstance(values, Mapping):
        try:
            frame = pd.DataFrame(dict(values))
        except (ValueError, TypeError) as error:
            fault = f"the columns do not fit together ({error})"
            raise InputError(f"{fault}; give lists of equal length") from None
    elif isinstance(values, (pd.DataFrame, pd.Series)):
        frame = values if isinstance(values, pd.DataFrame) else values.to_frame()
    else:
        frame = _from_any(values)
    if isinstance(frame.columns, pd.MultiIndex):
        frame = frame.set_axis([".".join(map(str, name)).strip(".") for name in frame.columns], axis=1)
    if transpose:
        frame = frame.T.infer_objects().rename(columns=str)
    refuse_if(not frame.shape[1], "there is no column; give at least one node")
    return Table(file=file, frame=frame)


def _from_any(values: Any) -> Any:
    """Return any table that narwhals knows as a DataFrame of pandas, column by column."""
    import narwhals as nw

    try:
        frame: Any = nw.from_native(values, allow_series=True)
    except TypeError:
        advice = "give a DataFrame, an array or a mapping of columns"
        raise InputError(f"a {type(values).__name__} is no table that is known; {advice}") from None
    frame = frame.collect() if isinstance(frame, nw.LazyFrame) else frame
    frame = frame.to_frame() if isinstance(frame, nw.Series) else frame
    columns = {}
    for name in frame.columns:
        column = frame[name]
        if str(column.dtype).lstrip("U").startswith("Int") and column.null_count():
            columns[name] = pd.Series(column.to_list(), dtype="Int64")
        elif column.dtype.is_numeric() or column.dtype in (nw.Datetime, nw.Date, nw.Boolean, nw.Duration):
            columns[name] = pd.Series(column.to_numpy())
        else:
            kind = "category" if column.dtype in (nw.Categorical, nw.Enum) else None
            columns[name] = pd.Series(column.to_list(), dtype=kind)
    return pd.DataFrame(columns)


def _labelled_table(values: Any) -> Table:
    """Return a DataArray or Dataset of xarray as a table; dimensions are known by name."""
    dims = [str(dim) for dim in values.dims]
    times = [dim for dim in dims if dim.lower() in TIME_DIMS]
    refuse_if(len(times) != 1, f"the dimensions are {', '.join(dims)}; call one, and only one, of them time")
    trials = [dim for dim in dims if dim.lower() in TRIAL_DIMS and dim not in times][:1]
    wanted = [*trials, *times]
    if not hasattr(values, "data_vars"):
        values = _as_dataset(values, [dim for dim in dims if dim not in wanted], times + trials)
    for name, variable in values.data_vars.items():
        if sorted(map(str, variable.dims)) != sorted(wanted):
            held = f"the dimensions {', '.join(map(str, variable.dims))}, not {', '.join(wanted)}"
            advice = f"give that variable alone, as dataset[{str(name)!r}], or drop it"
            raise InputError(f"the variable {name} has {held}; {advice}")
    refuse_if(not values.data_vars, "the dataset has no variable; give at least one node")
    frame = values.to_dataframe(dim_order=wanted)[list(values.data_vars)]
    dated = times[0] in values.coords
    index = frame.index.get_level_values(times[0]).rename("time") if dated else pd.RangeIndex(len(frame))
    which = np.arange(len(frame)) // values.sizes[times[0]] if trials else None
    return Table(frame=frame.set_axis(index, axis=0), trials=which)


def _as_dataset(values: Any, rest: list[str], others: list[str]) -> Any:
    """Return a DataArray as variables along the dimension that is neither time nor trial, if there is one."""
    if len(rest) > 1:
        told = f"besides {' and '.join(others)} there may be one, the nodes, not {', '.join(rest)}"
        raise InputError(f"the dimensions are {', '.join(values.dims)}; {told}: select or stack them")
    if not rest:
        return values.to_dataset(name=str(values.name or "x0"))
    if not values.get_index(rest[0]).is_unique:
        raise InputError("two nodes have the same name in the coordinates; names must differ")
    nodes = values.to_dataset(dim=rest[0])
    return nodes if rest[0] in values.coords else nodes.rename({i: f"x{i}" for i in nodes.data_vars})
