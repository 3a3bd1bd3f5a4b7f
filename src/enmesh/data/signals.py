"""Recordings of channels: EDF by edfio; BrainVision, FIF, EEGLAB and others by MNE."""

import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from enmesh.data.rules import Rules
from enmesh.data.sources import Source
from enmesh.data.table import Table, default_names
from enmesh.errors import InputError

MNE_SUFFIXES = (".fif", ".vhdr", ".set", ".bdf", ".gdf", ".cnt")


def read_edf(source: Source, rules: Rules) -> Table:
    """Read the signals of an EDF file that are sampled alike."""
    try:
        import edfio
    except ImportError:
        raise InputError(f"{source.name}: reading edf needs edfio; pip install 'enmesh[edf]'") from None
    signals = list(edfio.read_edf(source.file.read()).signals)
    if rules.columns is not None:
        signals = [one for one in signals if one.label in rules.columns]
    rates = {one.label: one.sampling_frequency for one in signals}
    if not signals:
        raise InputError(f"{source.name} holds no signal")
    if len(set(rates.values())) > 1:
        told = ", ".join(f"{name} ({rate:g} Hz)" for name, rate in rates.items())
        raise InputError(f"{source.name}: the signals are sampled differently: {told}; choose with columns=")
    values = np.column_stack([one.data for one in signals])
    return channel_table(
        source.name, values, [one.label for one in signals], 1 / signals[0].sampling_frequency
    )


def read_mne(source: Source, rules: Rules) -> Table:
    """Read what MNE reads; its formats may lie in several files beside one another."""
    try:
        import mne
    except ImportError:
        raise InputError(
            f"{source.name}: reading {source.suffix[1:]} needs mne; pip install 'enmesh[mne]'"
        ) from None
    with tempfile.TemporaryDirectory() as folder:
        path = source.path
        if path is None or path.suffix.lower() != source.suffix:
            path = Path(folder, f"recording_raw{source.suffix}")
            path.write_bytes(source.file.read())
        raw = mne.io.read_raw(os.fspath(path), preload=True, verbose="ERROR")
    return mne_tables(raw, source.name)[0]


def mne_tables(held: Any, file: str = "") -> list[Table]:
    """Return the data channels of Raw, Epochs or Evoked, bad ones and stretches left out, a table for each epoch."""
    kinds = set(held.get_channel_types())
    picks = "data" if kinds - {"stim", "misc", "eog", "ecg", "emg", "resp"} else "all"
    annotated = hasattr(held, "crop_by_annotations")  # Raw, whose bad stretches are missing
    values = np.asarray(held.get_data(picks=picks, **({"reject_by_annotation": "NaN"} if annotated else {})))
    names = held.copy().pick(picks, verbose="ERROR").ch_names if picks == "data" else list(held.ch_names)
    epochs = values if values.ndim == 3 else values[None]
    step = 1 / float(held.info["sfreq"])
    told = [f"epoch {number}" if len(epochs) > 1 else file for number in range(1, len(epochs) + 1)]
    return [channel_table(name, epoch.T, names, step) for name, epoch in zip(told, epochs)]


def channel_table(file: str, values: np.ndarray, names: list[str] | None, step: float) -> Table:
    """Return channels sampled at one step as a table."""
    import pandas as pd

    names = default_names(values.shape[1]) if names is None else names
    frame = pd.DataFrame(values, columns=[str(name) for name in names], copy=False)
    return Table(file=file, frame=frame, numbers=range(1, len(frame) + 1), dt=step)
