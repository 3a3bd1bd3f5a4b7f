"""Where the bytes of a recording come from: plain and compressed files, archives of one table, pipes."""

import gzip
import io
import lzma
import os
import select
import stat
import sys
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from enmesh.data.table import listed, visible
from enmesh.errors import InputError

# Seconds in which something must come through a named pipe.
PIPE_WAIT = 30.0
# Bytes that a compressed file may grow to; more is taken for a trap.
MOST_BYTES = 2**33
CHUNK = 1 << 20
COMPRESSED = (".gz", ".xz")
# First bytes, by which the format of what comes through a pipe is known.
MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"MATLAB": ".mat",
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ": ".xz",
    b"PK\x03\x04": ".zip",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A recording that can be read: its name for messages, the suffix that says its format, its bytes."""

    name: str
    suffix: str
    file: BinaryIO


def open_source(path: str | os.PathLike) -> Source:
    """Open a file, standard input (``-``) or a pipe; what is compressed is unpacked in memory."""
    if str(path) == "-":
        return _sniffed("standard input", _standard_input())
    path = Path(path)
    name = visible(path)
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        raise InputError(f"there is no file {name}") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if stat.S_ISDIR(mode):
        raise InputError(f"{name} is a folder; name the files in it")
    if stat.S_ISFIFO(mode):
        return _from_pipe(name, path)
    if not stat.S_ISREG(mode):
        raise InputError(f"{name} is a device, not a file; name a file")
    if not path.stat().st_size:
        raise InputError(f"{name} is empty")
    try:
        file = path.open("rb")
    except OSError as error:
        raise InputError(f"{name} cannot be read: {error.strerror}") from None
    return _unpacked(Source(name=name, suffix=path.suffix.lower(), file=file), Path(path.name).stem)


def _standard_input() -> bytes:
    if sys.stdin is None or sys.stdin.isatty():
        raise InputError(
            "standard input is a terminal; send a recording through a pipe, as in cat data.csv |"
        )
    binary = getattr(sys.stdin, "buffer", None)
    return binary.read() if binary is not None else sys.stdin.read().encode()


# --- pipes -------------------------------------------------------------------------------------------------


def _from_pipe(name: str, path: Path) -> Source:
    data = _drained(name, path)
    if path.suffix and path.suffix.lower() not in (".gz", ".xz", ".zip"):
        if not data:
            raise InputError(f"{name} is empty")
        return Source(name=name, suffix=path.suffix.lower(), file=io.BytesIO(data))
    return _sniffed(name, data)


def _drained(name: str, path: Path) -> bytes:
    """Read a named pipe to its end; refuse to wait for ever for somebody to write to it."""
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        wait = select.poll()
        parts: list[bytes] = []
        wait.register(reader, select.POLLIN)
        while True:
            if not wait.poll(1000 * PIPE_WAIT):
                raise InputError(
                    f"nothing came through the pipe {name} in {PIPE_WAIT:g} s; write to it, or name a file"
                )
            part = os.read(reader, CHUNK)
            if not part:
                return b"".join(parts)
            parts.append(part)
    finally:
        os.close(reader)


def _sniffed(name: str, data: bytes) -> Source:
    """Tell the format by the first bytes; anything else is delimited text."""
    if not data:
        raise InputError(f"{name} is empty")
    suffix = next((suffix for magic, suffix in MAGIC.items() if data.startswith(magic)), ".csv")
    if suffix == ".zip":
        suffix = _kind_of_archive(data)
    source = Source(name=name, suffix=suffix, file=io.BytesIO(data))
    if suffix in COMPRESSED:
        return _sniffed(name, _decompressed(source))
    return _unpacked(source, "")


def _kind_of_archive(data: bytes) -> str:
    """Tell an archive of arrays (npz), a workbook (xlsx) and an archive of one table apart."""
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            members = archive.namelist()
    except zipfile.BadZipFile:
        return ".zip"
    if "[Content_Types].xml" in members:
        return ".xlsx"
    return ".npz" if members and all(member.endswith(".npy") for member in members) else ".zip"


# --- compressed --------------------------------------------------------------------------------------------


def _unpacked(source: Source, stem: str) -> Source:
    if source.suffix not in (*COMPRESSED, ".zip"):
        return source
    with source.file:
        if source.suffix == ".zip":
            return _only_member(source)
        inner = Path(stem).suffix.lower()
        return Source(name=source.name, suffix=inner or ".csv", file=io.BytesIO(_decompressed(source)))


def _gunzipped(file: BinaryIO) -> gzip.GzipFile:
    return gzip.GzipFile(fileobj=file)


def _decompressed(source: Source) -> bytes:
    unpack: Callable[[BinaryIO], Any] = _gunzipped if source.suffix == ".gz" else lzma.LZMAFile
    try:
        with unpack(source.file) as stream:
            return _limited(stream, source.name)
    except (OSError, EOFError, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise InputError(f"{source.name} cannot be unpacked: {error}") from None


def _limited(stream: BinaryIO, name: str) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := stream.read(CHUNK):
        size += len(part)
        if size > MOST_BYTES:
            raise InputError(
                f"{name} unpacks to more than {MOST_BYTES >> 30} GiB; unpack it and read the file"
            )
        parts.append(part)
    if not size:
        raise InputError(f"{name} is empty")
    return b"".join(parts)


def _only_member(source: Source) -> Source:
    """Return the one table in a zip archive."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            members = [
                one for one in archive.namelist() if not one.endswith("/") and not one.startswith("__MACOSX/")
            ]
            if len(members) != 1:
                held = listed(members) or "nothing"
                raise InputError(f"{source.name} must hold one table and holds {held}; unpack it")
            with archive.open(members[0]) as stream:
                data = _limited(cast(BinaryIO, stream), source.name)
    except (OSError, EOFError, RuntimeError, NotImplementedError, ValueError, zipfile.BadZipFile) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} cannot be unpacked: {error}") from None
    inner = Path(members[0])
    name = f"{source.name} ({visible(inner.name)})"
    nested = Source(name=name, suffix=inner.suffix.lower(), file=io.BytesIO(data))
    if nested.suffix in COMPRESSED:
        return _unpacked(nested, inner.stem)
    return nested
