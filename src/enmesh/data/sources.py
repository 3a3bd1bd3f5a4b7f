"""Where the bytes of a recording come from: plain and compressed files, archives of one table, pipes."""

import bz2
import gzip
import io
import lzma
import os
import select
import stat
import sys
import zipfile
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, cast

from enmesh.data.table import listed, visible
from enmesh.errors import InputError

# Seconds in which something must come through a named pipe.
PIPE_WAIT = 30.0
# Bytes that a compressed file may grow to; more is taken for a trap, and so is what grows large by such a ratio.
MOST_BYTES = 2**33
LARGE, MOST_RATIO = 2**26, 250
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
CHUNK = 1 << 20
COMPRESSED = (".gz", ".xz", ".bz2")
# Formats that their first bytes do not tell.
KNOWN_BY_NAME = (".tsv", ".txt", ".dat", ".mat")
# First bytes, by which the format of what comes through a pipe is known.
MAGIC = {
    b"\x93NUMPY": ".npy",
    b"PAR1": ".parquet",
    b"MATLAB": ".mat",
    b"\x89HDF": ".mat",
    b"0       ": ".edf",
    b"\x1f\x8b": ".gz",
    b"\xfd7zXZ": ".xz",
    b"BZh": ".bz2",
    b"PK\x03\x04": ".zip",
}


@dataclass(frozen=True, kw_only=True)
class Source:
    """A recording that can be read: its name for messages, the suffix that says its format, its bytes."""

    name: str
    suffix: str
    file: BinaryIO
    path: Path | None = None


def open_source(path: Any) -> Source:
    """Open a file, standard input (``-``), a pipe or what is open already; what is compressed is unpacked in memory."""
    if hasattr(path, "read"):
        return _opened(path)
    if str(path) in STANDARD_INPUT:
        return _sniffed("standard input", _standard_input())
    if str(path).startswith(("http://", "https://", "ftp://", "s3://")):
        raise InputError(f"{visible(path)} is an address, not a file; download it first")
    path = Path(path).expanduser()
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
    source = Source(name=name, suffix=path.suffix.lower(), file=file, path=path)
    return _unpacked(source, Path(path.name).stem)


def _opened(file: Any) -> Source:
    """Take what is left of an open file; its format is told by its name or its first bytes."""
    named = getattr(file, "name", "")
    name = visible(named) if isinstance(named, str) and named else "the open file"
    try:
        data = file.read()
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {error}") from None
    data = data.encode() if isinstance(data, str) else bytes(data)
    suffix = Path(named).suffix.lower() if isinstance(named, str) else ""
    if not data or suffix not in KNOWN_BY_NAME:
        return _sniffed(name, data)
    return Source(name=name, suffix=suffix, file=io.BytesIO(data))


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
    if path.suffix and path.suffix.lower() not in (*COMPRESSED, ".zip"):
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
    if suffix == ".csv" and b"\0" not in data[:4096] and b"," not in data[:4096] and b";" not in data[:4096]:
        suffix = ".txt"  # tabs or spaces
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
    if source.suffix in (".xlsx", ".npz"):
        _refuse_bomb(source)
    if source.suffix not in (*COMPRESSED, ".zip"):
        return source
    with source.file:
        if source.suffix == ".zip":
            return _only_member(source)
        inner = Path(stem).suffix.lower()
        return Source(name=source.name, suffix=inner or ".csv", file=io.BytesIO(_decompressed(source)))


def _decompressed(source: Source) -> bytes:
    openers: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
    packed = source.file.seek(0, os.SEEK_END)
    source.file.seek(0)
    try:
        with openers[source.suffix](source.file) as stream:
            return _limited(stream, source.name, packed)
    except (OSError, EOFError, lzma.LZMAError, zlib.error) as error:
        raise InputError(f"{source.name} cannot be unpacked: {error}") from None


def _limited(stream: BinaryIO, name: str, packed: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while part := stream.read(CHUNK):
        size += len(part)
        _refuse_ratio(name, size, packed)
        parts.append(part)
    if not size:
        raise InputError(f"{name} is empty")
    return b"".join(parts)


def _refuse_ratio(name: str, size: int, packed: int) -> None:
    """Refuse what grows too large, or so much that it cannot be a recording."""
    ratio = size // max(packed, 1)
    if size > MOST_BYTES or (size > LARGE and ratio > MOST_RATIO):
        raise InputError(
            f"{name} unpacks to more than {size >> 20} MiB, {ratio} times its size; if that is right, unpack it and "
            "read the file"
        )


def _refuse_bomb(source: Source) -> None:
    """Refuse an archive whose members say that they are much larger than the archive."""
    try:
        with zipfile.ZipFile(source.file) as archive:
            members = archive.infolist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        members = []  # the reader of the format says what is wrong
    source.file.seek(0)
    size, packed = (sum(getattr(one, what) for one in members) for what in ("file_size", "compress_size"))
    _refuse_ratio(source.name, size, packed)


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
                data = _limited(
                    cast(BinaryIO, stream), source.name, archive.getinfo(members[0]).compress_size
                )
    except (
        OSError,
        EOFError,
        RuntimeError,
        ValueError,
        zlib.error,
        lzma.LZMAError,
        zipfile.BadZipFile,
    ) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{source.name} cannot be unpacked: {error}") from None
    inner = Path(members[0])
    name = f"{source.name} ({visible(inner.name)})"
    nested = Source(name=name, suffix=inner.suffix.lower(), file=io.BytesIO(data))
    if nested.suffix in COMPRESSED:
        return _unpacked(nested, inner.stem)
    return nested
