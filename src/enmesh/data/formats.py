"""Which reader takes which file, by its suffix. Damage is said in one line, with the file."""

import os
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from enmesh.data.array_tables import (
    MNE_SUFFIXES,
    read_edf,
    read_mat,
    read_mne,
    read_npy,
    read_npz,
    read_parquet,
)
from enmesh.data.rules import Rules
from enmesh.data.sources import open_source
from enmesh.data.table import Table
from enmesh.data.text_tables import read_excel, read_text
from enmesh.errors import InputError

TEXT = (".csv", ".tsv", ".txt", ".dat")
READERS: dict[str, Callable[[Any, Rules], Table]] = {
    **dict.fromkeys(TEXT, read_text),
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".xlsx": read_excel,
    ".edf": read_edf,
    **dict.fromkeys(MNE_SUFFIXES, read_mne),
}
# Words that only some formats can follow.
ONLY = {"variable": (".npz", ".mat", ".xlsx"), "sheet": (".xlsx",), "encoding": TEXT}
ONLY |= dict.fromkeys(("header", "skip", "units"), (*TEXT, ".xlsx"))
LIBRARIES = r"(pandas|numpy|openpyxl|pyarrow|zipfile|scipy|mne|edfio|h5py)\b"


def read_tables(paths: Sequence[Any], rules: Rules, names: Sequence[str] | None = None) -> list[Table]:
    """Read files as tables; one that is given twice is refused, since its evidence would count twice."""
    seen = set()
    for path in paths:
        if isinstance(path, (str, os.PathLike)) and Path(path).exists():
            about = Path(path).stat()
            if (about.st_dev, about.st_ino) in seen:
                raise InputError(f"{path} is given more than once; each file is a trial, give it once")
            seen.add((about.st_dev, about.st_ino))
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
        except InputError:
            raise
        except MemoryError:
            raise InputError(f"{name} does not fit into memory") from None
        except Exception as error:  # whatever a damaged file provokes in its reader
            reason = getattr(error, "strerror", None) or " ".join(str(error).split()) or type(error).__name__
            reason = reason if len(reason) <= 160 else f"{reason[:157]}..."
            raise InputError(f"{name} cannot be read as {suffix[1:]}: {reason}") from None
    if names is not None:
        if len(names) != table.frame.shape[1]:
            raise InputError(f"{name} has {table.frame.shape[1]} columns but {len(names)} names are given")
        table.frame.columns = [str(one) for one in names]
    return table
