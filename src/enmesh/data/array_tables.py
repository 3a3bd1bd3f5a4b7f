"""Arrays as tables: parquet, npy, npz, mat, and channels read by edfio and MNE. Pickled objects are refused."""

import io
import json
import math
import os
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from enmesh.data.rules import Rules, dims_of
from enmesh.data.sources import LARGE, MOST_BYTES, MOST_RATIO, Source, library
from enmesh.data.table import Table, default_names, listed
from enmesh.data.text_tables import transposed
from enmesh.data.values import INTEGER, TEXT, listed_trials, turned
from enmesh.errors import InputError, refuse_if

# Bytes from which an array is mapped: whoever changes the file meanwhile changes the recording.
MAPPED = 2**28
PICKLED = "holds pickled Python objects, which are never loaded; save plain arrays of numbers"
NAMES = ("names", "labels", "label", "channels", "chanlocs", "ch_names")
RATES = ("fs", "fsample", "srate", "sfreq", "samplingrate", "sampling_rate")
# MATLAB files of version 5: types of elements, classes of arrays, and how many cells without contents there may be.
MAT_MATRIX, MAT_COMPRESSED, MAT_TYPES = 14, 15, {*range(1, 8), 9, *range(12, 19)}
MAT_CELLS, MAT_SPARSE, MAT_FUNCTION, MAT_OPAQUE, MAT_EMPTY = (1, 2, 3), 5, 16, 17, 2**16
DAMAGED = "cannot be read as mat: it is damaged, its parts do not fit together; save or copy it again"
EEGLAB = ("nbchan", "pnts", "trials")  # how many there are along each axis
MNE_SUFFIXES = (".fif", ".vhdr", ".set", ".bdf", ".gdf", ".cnt")


def read_parquet(source: Source, rules: Rules) -> Table:
    """Read the columns and the index of a parquet file."""
    parquet = library("pyarrow.parquet", "reading parquet", "parquet")
    about = parquet.ParquetFile(source.file)
    cells, size = about.metadata.num_rows * about.metadata.num_columns, source.file.seek(0, 2)
    if 8 * cells > MOST_BYTES or (8 * cells > LARGE and 8 * cells > MOST_RATIO**2 * size):
        raise InputError(f"says that it holds {cells} values in {size} bytes; read it in parts")
    frame = about.read(use_pandas_metadata=True).to_pandas(self_destruct=True)
    refuse_if(not frame.shape[1], "has no column; save one for each node")
    frame.columns = [str(name) for name in frame.columns]
    table = Table(file=source.name, frame=frame)
    return transposed(table) if rules.transpose else table


def read_npy(source: Source, rules: Rules) -> Table:
    """Read one array; a large file is mapped, not copied."""
    values: np.ndarray
    try:
        if source.path is not None and source.path.stat().st_size > MAPPED:
            values = np.lib.format.open_memmap(source.path, mode="r")
        else:
            values = np.lib.format.read_array(source.file, allow_pickle=False)
    except ValueError as error:
        raise (InputError(PICKLED) if _is_pickled(error) else error) from None
    return _array_table(source.name, values, rules, {})


def read_npz(source: Source, rules: Rules) -> Table:
    """Read one array of an archive, and what `write_series` puts beside it."""
    refuse_if(not zipfile.is_zipfile(source.file), "cannot be read as npz: it is not an archive of arrays")
    source.file.seek(0)
    arrays = {}
    with np.load(source.file, allow_pickle=False) as archive:
        for member in archive.files:
            try:
                arrays[member] = archive[member]
            except ValueError as error:
                if not _is_pickled(error):
                    raise
                if rules.variable == member or len(archive.files) == 1:
                    raise InputError(PICKLED) from None
    return _chosen_table(source.name, arrays, rules)


def _is_pickled(error: ValueError) -> bool:
    return "allow_pickle" in str(error) or "Python objects" in str(error)


def read_mat(source: Source, rules: Rules) -> Table:
    """Read one array of a MATLAB file; fields of structures are variables too, as ``eeg.data``."""
    from scipy.io import loadmat

    first = source.file.read(128)
    source.file.seek(0)
    if first[:4] == b"\x89HDF" or first[124:126] in (b"\x00\x02", b"\x02\x00"):
        return _chosen_table(source.name, _hdf5(source), rules)
    file = source.file if 0 in first[:4] else io.BytesIO(_unpacked_mat(source.file.read()))  # 0: version 4
    found = loadmat(file, struct_as_record=False)
    parts = [_flat(name, value) for name, value in found.items() if not name.startswith("__")]
    return _chosen_table(source.name, dict(pair for part in parts for pair in part), rules)


def _unpacked_mat(data: bytes) -> bytes:
    """Return a MATLAB file of version 5 without compression; scipy would crash where its parts do not fit together."""
    order = "<" if data[126:128] == b"IM" else ">"
    parts: list[bytes | memoryview] = [data[:128]]
    for kind, held in _elements(memoryview(data)[128:], order):
        if kind == MAT_COMPRESSED:
            unpacked = zlib.decompressobj().decompress(held, MOST_BYTES)
            ((kind, held),) = _elements(memoryview(unpacked), order)
        if kind == MAT_MATRIX:
            _check_mat(held, order)
        parts += [struct.pack(f"{order}II", kind, len(held)), held]
    return b"".join(parts)


def _elements(data: memoryview, order: str) -> Iterator[tuple[int, memoryview]]:
    """Yield the type and the bytes of each element of a MATLAB file; short ones stand in their tag."""
    at = 0
    while at < len(data):
        kind, size = struct.unpack_from(f"{order}II", data, at)
        short = kind >> 16
        kind, size, start = (kind & 0xFFFF, short, at + 4) if short else (kind, size, at + 8)
        refuse_if(kind not in MAT_TYPES or start + size > len(data) or short > 4, DAMAGED)
        yield kind, data[start : start + size]
        at = at + 8 if short else start + size + (-size % 8 if kind != MAT_COMPRESSED else 0)


def _check_mat(data: memoryview, order: str) -> None:
    """Refuse an array that lacks a part, holds another where numbers must be, or tells of more cells than it has."""
    parts = list(_elements(data, order))
    if not parts:
        return
    if len(parts) < 3 or len(parts[0][1]) != 8 or any(kind == MAT_COMPRESSED for kind, _ in parts):
        raise InputError(DAMAGED)
    (flags,), shape = struct.unpack_from(f"{order}I", parts[0][1]), parts[1][1]
    kind, inner = flags & 0xFF, [held for kind, held in parts if kind == MAT_MATRIX]
    fits = kind == MAT_OPAQUE or (len(shape) >= 8 and len(shape) % 4 == 0)
    if fits and kind in MAT_CELLS:
        fits = math.prod(np.frombuffer(shape, f"{order}i4").tolist()) <= max(len(inner), MAT_EMPTY)
    elif kind not in (MAT_FUNCTION, MAT_OPAQUE):  # besides numbers an imaginary part, or the places of values
        fits &= not inner and len(parts) >= 4 + (flags >> 11 & 1) + 2 * (kind == MAT_SPARSE)
    refuse_if(not fits, DAMAGED)
    for held in inner:
        _check_mat(held, order)


def _flat(name: str, value: Any, depth: int = 0) -> Iterator[tuple[str, np.ndarray]]:
    """Yield arrays by name, those in structures by ``structure.field``; cells of words become words."""
    if isinstance(value, np.ndarray) and value.size == 1 and value.dtype == object:
        value = value.flat[0]
    if hasattr(value, "_fieldnames") and depth < 6:
        for field in value._fieldnames:
            yield from _flat(f"{name}.{field}", getattr(value, field), depth + 1)
    elif isinstance(value, np.ndarray):
        held = [getattr(cell, "labels", cell) for cell in value.ravel()] if value.dtype == object else []
        cells = [np.ravel(cell) for cell in held]
        words = bool(cells) and all(len(cell) == 1 and cell.dtype.kind == "U" for cell in cells)
        yield name, np.array([cell[0] for cell in cells]) if words else value


def _hdf5(source: Source) -> dict[str, np.ndarray]:
    """Return the arrays of a MATLAB 7.3 file, which lie the other way round."""
    h5py = library("h5py", "reading MATLAB 7.3 files", "matlab", ", or save it with -v7")
    found: dict[str, np.ndarray] = {}

    def note(name: str, item: Any) -> None:
        if isinstance(item, h5py.Dataset) and item.dtype.kind in "biuf" and not name.startswith("#refs#"):
            refuse_if(item.size * 8 > MOST_BYTES, f"{name} holds {item.size} values, more than fit; save a part of it")
            found[name.replace("/", ".")] = item[()].T

    with h5py.File(source.file, "r") as book:
        book.visititems(note)
    return found


def _chosen_table(file: str, arrays: Mapping[str, np.ndarray], rules: Rules) -> Table:
    """Return the table of the array that is named, or of the only one that can be a recording."""
    arrays = {one: array for one, array in arrays.items() if isinstance(array, np.ndarray)}
    able = [one for one, array in arrays.items() if _is_recording(array)]
    found = [one for one in able if min(arrays[one].shape) > 1 or arrays[one].dtype == object] or able
    if rules.variable is not None:
        found = [one for one in arrays if one == str(rules.variable)]
        refuse_if(not found, f"there is no variable {rules.variable}; it has {listed(arrays)}")
    refuse_if(len(found) > 1, f"holds the arrays {listed(found)}; say which with variable=")
    refuse_if(not found, "holds no array of numbers; save one as (time, node) or (trial, time, node)")
    family = found[0].rpartition(".")[0]
    split = {name.rpartition("."): array for name, array in arrays.items()}
    beside = {own.lower(): array for (structure, _, own), array in split.items() if structure == family}
    return _array_table(file, arrays[found[0]], rules, beside)


def _is_recording(array: np.ndarray) -> bool:
    """Say whether an array may be a recording: numbers along two or three axes, or cells of such trials."""
    if array.dtype == object:
        cells = list(array.ravel())
        return len(cells) > 1 and all(
            isinstance(c, np.ndarray) and c.ndim == 2 and c.dtype.kind in "biuf" for c in cells
        )
    return array.dtype.kind in "biuf" and array.ndim in (2, 3)


def _cells(file: str, values: np.ndarray, rules: Rules, words: Mapping[str, list[str]]) -> tuple[Any, list[int]]:
    """Return the trials that stand in the cells of a MATLAB array below one another, and their lengths."""
    counts = {len(named) for named in words.values()}
    trials = [np.asarray(cell) for cell in values.ravel()]
    fits = next((count for count in counts if {len(trial) for trial in trials} == {count}), 0)
    turn = fits and rules.dims is None and rules.transpose is None and {trial.shape[1] for trial in trials} != {fits}
    trials = [trial.T for trial in trials] if turn else listed_trials(trials, rules, max(counts, default=0))
    widths = {trial.shape[1] for trial in trials}
    refuse_if(len(widths) > 1, f"its trials have {listed(sorted(widths))} nodes; pass dims=('node', 'time')")
    return np.concatenate(trials), [len(trial) for trial in trials]


def _array_table(file: str, values: np.ndarray, rules: Rules, beside: Mapping[str, np.ndarray]) -> Table:
    """Return an array as a table; ``beside`` it may stand names, dt, kinds and labels, as `write_series` puts them."""
    if not _is_recording(values) or not values.size:
        needed = "give numbers as (time, node) or (trial, time, node)"
        raise InputError(f"holds an array of {values.dtype} with shape {values.shape}; {needed}")
    named = {
        name: [str(word).strip() for word in held.astype(str).ravel()]
        for name, held in beside.items()
        if name in NAMES and held.dtype.kind in "US"
    }
    lengths: list[int] = []
    if values.dtype == object:
        values, lengths = _cells(file, values, rules, named)
    else:
        known = rules if {"dims", "transpose"} & rules.given else replace(rules, dims=_dims_beside(values, beside))
        values = turned(values, known, max(map(len, named.values()), default=0))
    width = values.shape[-1]
    fitting = {name: held for name, held in beside.items() if held.dtype.kind in "US" and held.size == width}
    words = {name: [str(word).strip() for word in held.astype(str).ravel()] for name, held in fitting.items()}
    names = next((words[name] for name in NAMES if name in words), default_names(width))
    single = {name: held for name, held in beside.items() if held.size == 1 and held.dtype.kind in "iuf"}
    numbers = {name: float(held.flat[0]) for name, held in single.items() if held.flat[0] > 0}
    steps = [numbers.get("dt"), *(1 / numbers[name] for name in RATES if name in numbers)]
    table = _stacked(file, values, names, next(filter(None, steps), None))
    if lengths:
        which = np.repeat(np.arange(len(lengths)), lengths)
        rows = np.concatenate([np.arange(1, length + 1) for length in lengths])
        table = replace(table, trials=which, numbers=rows.tolist())
    if "kinds" in words:
        table = replace(table, frame=_with_kinds(table.frame, words["kinds"], beside))
    return table


def _dims_beside(values: np.ndarray, beside: Mapping[str, np.ndarray]) -> tuple[str, ...] | None:
    """Return the axes that `write_series` or EEGLAB put beside an array; None where nothing does."""
    if "dims" in beside and beside["dims"].dtype.kind in "US" and beside["dims"].size == values.ndim:
        return dims_of("dims", [str(axis) for axis in beside["dims"].ravel()])
    sizes = [int(beside[name].flat[0]) for name in EEGLAB if name in beside and beside[name].size == 1]
    if sizes[: values.ndim] == list(values.shape) and len(sizes) == len(EEGLAB):
        return ("node", "time", "trial")[: values.ndim]
    return None


def _stacked(file: str, values: np.ndarray, names: list[str], dt: float | None) -> Table:
    """Return ``(time, node)`` or ``(trial, time, node)`` as a table with all trials below one another."""
    *several, length, width = values.shape
    native = values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))
    frame = pd.DataFrame(native.reshape(-1, width), columns=names, copy=False)
    if not several:
        return Table(file=file, frame=frame, dt=dt)
    trials, rows = np.divmod(np.arange(len(frame)), length)
    return Table(file=file, frame=frame, numbers=(rows + 1).tolist(), trials=trials, dt=dt)


def _with_kinds(frame: Any, kinds: list[str], beside: Mapping[str, np.ndarray]) -> Any:
    """Return columns as they were before they became numbers."""
    words = json.loads(str(beside["labels"])) if "labels" in beside else {}
    columns = {}
    for name, kind in zip(frame.columns, kinds):
        columns[name] = frame[name].astype("Int64") if kind == INTEGER else frame[name]
        if kind == TEXT:
            codes = frame[name].fillna(-1).astype(np.int64)
            columns[name] = pd.Series(pd.Categorical.from_codes(codes, categories=words[name]))
    return pd.DataFrame(columns)


def read_edf(source: Source, rules: Rules) -> Table:
    """Read the signals of an EDF file that are sampled alike."""
    edfio = library("edfio", "reading edf", "edf")
    signals = list(edfio.read_edf(source.file.read()).signals)
    if rules.columns is not None:
        signals = [one for one in signals if one.label in rules.columns]
    rates = {one.label: one.sampling_frequency for one in signals}
    refuse_if(not signals, "holds no signal of these names; leave columns= out to take all")
    if len(set(rates.values())) > 1:
        told = ", ".join(f"{name} ({rate:g} Hz)" for name, rate in rates.items())
        raise InputError(f"the signals are sampled differently: {told}; choose with columns=")
    values = np.column_stack([one.data for one in signals])
    frame = pd.DataFrame(values, columns=[one.label for one in signals])
    return Table(file=source.name, frame=frame, dt=1 / signals[0].sampling_frequency)


def read_mne(source: Source, rules: Rules) -> Table:
    """Read what MNE reads; its formats may lie in several files beside one another."""
    mne = library("mne", f"reading {source.suffix[1:]}", "mne")
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None or path.suffix.lower() != source.suffix:
            path = Path(folder, f"recording_raw{source.suffix}")
            path.write_bytes(source.file.read())
        return mne_table(mne.io.read_raw(os.fspath(path), preload=True, verbose="ERROR"), source.name)


def mne_table(held: Any, file: str = "") -> Table:
    """Return the data channels of Raw, Epochs or Evoked, bad ones and stretches left out; each epoch is a trial."""
    kinds, bad = set(held.get_channel_types()), [name for name in held.info["bads"] if name in held.ch_names]
    usual = "data" if kinds - {"stim", "misc", "eog", "ecg", "emg", "resp"} else "all"
    every = held.copy().pick(usual, exclude=(), verbose="ERROR").ch_names if usual == "data" else held.ch_names
    picks = [name for name in every if name not in bad]
    refuse_if(not picks, f"has no channel that is not marked as bad ({listed(bad)}); correct info['bads']")
    left = [name for name in every if name in bad]
    notes = (f"left out {listed(left)}: marked as bad",) if left else ()
    annotated = hasattr(held, "crop_by_annotations")  # Raw, whose bad stretches are missing
    values = np.asarray(held.get_data(picks=picks, **({"reject_by_annotation": "NaN"} if annotated else {})))
    table = _stacked(file, np.swapaxes(values, -1, -2), picks, 1 / float(held.info["sfreq"]))
    return replace(table, notes=notes)
