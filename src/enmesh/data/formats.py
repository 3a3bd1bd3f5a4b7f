"""Which reader takes which file, by its suffix. Damage is said in one line, with the file."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from enmesh.data.array_tables import read_mat, read_npy, read_npz, read_parquet
from enmesh.data.rules import Rules
from enmesh.data.signals import MNE_SUFFIXES, read_edf, read_mne
from enmesh.data.sources import Source, open_source
from enmesh.data.table import Table
from enmesh.data.text_tables import read_excel, read_text
from enmesh.errors import InputError

READERS: dict[str, Callable[[Source, Rules], Table]] = {
    ".csv": read_text,
    ".tsv": read_text,
    ".txt": read_text,
    ".dat": read_text,
    ".parquet": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".mat": read_mat,
    ".xlsx": read_excel,
    ".edf": read_edf,
    **dict.fromkeys(MNE_SUFFIXES, read_mne),
}
WITH_VARIABLES = (".npz", ".mat", ".xlsx")
TEXT = (".csv", ".tsv", ".txt", ".dat")
# Words that only some formats can follow.
ONLY = {
    "variable": WITH_VARIABLES,
    "sheet": (".xlsx",),
    "header": (*TEXT, ".xlsx"),
    "skip": (*TEXT, ".xlsx"),
    "units": (*TEXT, ".xlsx"),
    "encoding": TEXT,
}


def read_table(path: Any, rules: Rules, names: Sequence[str] | None = None) -> Table:
    """Read one file as a table; the arguments are those of `enmesh.read`."""
    source = open_source(path)
    with source.file:
        if source.suffix not in READERS:
            raise InputError(
                f"{source.name}: cannot read {source.suffix or 'a file without suffix'}; "
                f"use {', '.join(READERS)}, or these with .gz, .xz, .bz2 or .zip"
            )
        for word, suffixes in ONLY.items():
            if word in rules.given and source.suffix not in suffixes:
                kinds = ", ".join(suffix[1:] for suffix in suffixes)
                raise InputError(
                    f"{source.name}: {word} has no effect on {source.suffix[1:]}; that is for {kinds} files"
                )
        with _readable(source):
            table = READERS[source.suffix](source, rules)
    if names is not None:
        if len(names) != table.frame.shape[1]:
            raise InputError(
                f"{source.name} has {table.frame.shape[1]} columns but {len(names)} names are given"
            )
        table.frame.columns = [str(name) for name in names]
    return table


@contextmanager
def _readable(source: Source) -> Iterator[None]:
    """Turn whatever a damaged file provokes in its reader, which may be anything, into one line."""
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings(
                "ignore", module=r"(pandas|numpy|openpyxl|pyarrow|zipfile|scipy|mne|edfio|h5py)\b"
            )
            yield
    except InputError:
        raise
    except MemoryError:
        raise InputError(f"{source.name} does not fit into memory") from None
    except Exception as error:
        reason = getattr(error, "strerror", None) or _one_line(error)
        raise InputError(f"{source.name} cannot be read as {source.suffix[1:]}: {reason}") from None


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 160 else f"{text[:157]}..."
