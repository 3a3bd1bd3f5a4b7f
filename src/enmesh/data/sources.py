"""Where bytes come from, plain and compressed files, archives of one table, pipes; and how a file is written."""

import bz2
import gzip
import importlib
import io
import lzma
import os
import select
import stat
import sys
import zipfile
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from enmesh.data.table import listed, visible
from enmesh.errors import InputError, refuse_if

# Seconds in which something must come through a named pipe.
PIPE_WAIT = 30.0
# Bytes that a compressed file may grow to; more is taken for a trap, and so is what grows large by such a ratio.
MOST_BYTES = 2**33
LARGE, MOST_RATIO = 2**26, 250
# How often a file may be packed.
MOST_LAYERS = 3
STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
CHUNK = 1 << 20
OPENERS: dict[str, Any] = {".gz": gzip.open, ".xz": lzma.open, ".bz2": bz2.open}
# Suffixes of open files that count; other formats are known by their first bytes, and those by their names alone.
KNOWN_BY_NAME = (".tsv", ".txt", ".dat", ".mat")
MAGIC = {
    b"\x93NUMPY": ".npy", b"PAR1": ".parquet", b"MATLAB": ".mat", b"\x89HDF": ".mat", b"0       ": ".edf",
    b"\x1f\x8b": ".gz", b"\xfd7zXZ": ".xz", b"BZh": ".bz2", b"PK\x03\x04": ".zip",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Source:
    """A recording that can be read: its name for messages, the suffix that says its format, its bytes."""

    name: str
    suffix: str
    file: BinaryIO
    path: Path | None = None


def is_source(data: Any) -> bool:
    """Say whether data is a path or an open file, or a list of such."""
    if isinstance(data, (list, tuple)) and data:
        return all(not isinstance(one, (list, tuple)) and is_source(one) for one in data)
    return isinstance(data, (str, os.PathLike)) or hasattr(data, "read")


def library(module: str, what: str, extra: str, also: str = "") -> Any:
    """Return a library that is installed with an extra; ``what`` needs it."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        needs = f"{what} needs {(error.name or module).split('.')[0]}"
        raise InputError(f"{needs}; pip install 'enmesh[{extra}]'{also}") from None


def open_source(path: Any) -> Source:
    """Open a file, standard input (``-``), a pipe or what is open already; what is compressed is unpacked in memory."""
    named = str(getattr(path, "name", "")) if hasattr(path, "read") else str(path)
    name = "standard input" if named in STANDARD_INPUT else visible(named) or "the open file"
    try:
        source = _opened(path, name, Path(named).suffix.lower())
        if not source.file.seek(0, os.SEEK_END):
            source.file.close()
            raise InputError(f"{name} is empty; name a file that holds a recording")
        source.file.seek(0)
        return _unpacked(source)
    except InputError:
        raise
    except FileNotFoundError:
        raise InputError(f"there is no file {name}; check its name and folder") from None
    except (OSError, ValueError) as error:
        raise InputError(f"{name} cannot be read: {getattr(error, 'strerror', None) or error}") from None


def _opened(path: Any, name: str, suffix: str) -> Source:
    """Open what is named; without a suffix the first bytes tell the format."""
    if hasattr(path, "read") or name == "standard input":
        suffix = suffix if suffix in KNOWN_BY_NAME else ""
        if not hasattr(path, "read") and (sys.stdin is None or sys.stdin.isatty()):
            raise InputError("standard input is a terminal; send a recording through a pipe: cat data.csv |")
        data = (path if hasattr(path, "read") else getattr(sys.stdin, "buffer", sys.stdin)).read()
        data = data.encode() if isinstance(data, str) else bytes(data)
        return Source(name=name, suffix=suffix, file=io.BytesIO(data))
    if name.startswith(("http://", "https://", "ftp://", "s3://")):
        raise InputError(f"{name} is an address, not a file; download it first")
    path = Path(path).expanduser()
    mode = path.stat().st_mode
    if stat.S_ISFIFO(mode):
        return Source(name=name, suffix=suffix, file=io.BytesIO(_drained(name, path)))
    refuse_if(stat.S_ISDIR(mode), f"{name} is a folder; name the files in it")
    refuse_if(not stat.S_ISREG(mode), f"{name} is a device, not a file; name a file")
    return Source(name=name, suffix=suffix, file=path.open("rb"), path=path)


def _drained(name: str, path: Path) -> bytes:
    """Read a named pipe to its end; refuse to wait for ever for somebody to write to it."""
    reader = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    try:
        wait = select.poll()
        wait.register(reader, select.POLLIN)
        parts: list[bytes] = []
        while wait.poll(1000 * PIPE_WAIT):
            parts.append(os.read(reader, CHUNK))
            if not parts[-1]:
                return b"".join(parts)
    finally:
        os.close(reader)
    raise InputError(f"nothing came through the pipe {name} in {PIPE_WAIT:g} s; write to it, or name a file")


def _sniffed(file: BinaryIO) -> str:
    """Tell the format by the first bytes; anything else is delimited text."""
    head = file.read(4096)
    file.seek(0)
    suffix = next((suffix for magic, suffix in MAGIC.items() if head.startswith(magic)), ".csv")
    if suffix == ".zip" and zipfile.is_zipfile(file):
        members = zipfile.ZipFile(file).namelist()
        arrays = bool(members) and all(member.endswith(".npy") for member in members)
        suffix = ".xlsx" if "[Content_Types].xml" in members else ".npz" if arrays else ".zip"
    if suffix == ".csv" and not any(mark in head for mark in (b"\0", b",", b";")):
        suffix = ".txt"  # tabs or spaces
    file.seek(0)
    return suffix


def _unpacked(source: Source, layer: int = 0) -> Source:
    """Return what a compressed file, or an archive of one table, holds; refuse what grows too much."""
    name, file, suffix = source.name, source.file, source.suffix or _sniffed(source.file)
    if suffix in (".xlsx", ".npz"):
        _refuse_bomb(name, file)
    if suffix not in (*OPENERS, ".zip") or layer == MOST_LAYERS:
        return Source(name=name, suffix=suffix, file=file, path=source.path)
    packed, parts = file.seek(0, os.SEEK_END), list[bytes]()
    file.seek(0)
    try:
        name, inner, stream = _inside(name, suffix, file)
        with file, stream:
            while part := stream.read(CHUNK):
                parts.append(part)
                _refuse_ratio(name, CHUNK * len(parts), packed)
    except (OSError, EOFError, RuntimeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile) as error:
        raise InputError(f"{name} cannot be unpacked ({error}); copy or pack it again") from None
    refuse_if(not parts, f"{name} is empty; pack it again")
    return _unpacked(Source(name=name, suffix=inner.lower(), file=io.BytesIO(b"".join(parts))), layer + 1)


def _inside(name: str, suffix: str, file: BinaryIO) -> tuple[str, str, Any]:
    """Return the name, the suffix and the stream of what is compressed, or of the one table in a zip archive."""
    if suffix != ".zip":
        return name, Path(Path(name).stem).suffix, OPENERS[suffix](file)
    archive = zipfile.ZipFile(file)
    members = [one for one in archive.namelist() if not one.endswith("/") and not one.startswith("__MACOSX/")]
    if len(members) != 1:
        raise InputError(f"{name} must hold one table and holds {listed(members) or 'nothing'}; unpack it")
    member = Path(members[0])
    return f"{name} ({visible(member.name)})", member.suffix, archive.open(members[0])


def _refuse_bomb(name: str, file: BinaryIO) -> None:
    """Refuse an archive whose members say that they are much larger than the archive."""
    try:
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
    except (OSError, ValueError, NotImplementedError, zipfile.BadZipFile):
        members = []  # the reader of the format says what is wrong
    file.seek(0)
    _refuse_ratio(name, sum(one.file_size for one in members), sum(one.compress_size for one in members))


def _refuse_ratio(name: str, size: int, packed: int) -> None:
    ratio = size // max(packed, 1)
    if size > MOST_BYTES or (size > LARGE and ratio > MOST_RATIO):
        told = f"{name} unpacks to more than {size >> 20} MiB, {ratio} times its size"
        raise InputError(f"{told}; if that is right, unpack it and read the file")


def write_whole(path: str | os.PathLike, write: Callable[[Path], object]) -> Path:
    """Let ``write`` make a file in a new folder of its own beside ``path``, and move it there when it is whole.

    The folder has a random name and nobody else can write to it, so that no link can lead the file elsewhere.
    """
    from tempfile import TemporaryDirectory  # slow to load

    path = Path(path)
    try:
        if not path.parent.is_dir():
            raise InputError(f"cannot write {path.name}: there is no folder {path.parent}; make it first")
        if path.is_char_device():  # such as /dev/null
            write(path)
            return path
        with TemporaryDirectory(prefix=".enmesh-", dir=path.parent, ignore_cleanup_errors=True) as own:
            partial = Path(own, path.name)
            try:
                write(partial)
            except InputError as error:
                raise InputError(str(error).replace(str(partial), str(path))) from None
            partial.replace(path)
    except OSError as error:
        advice = "choose another place or make room"
        raise InputError(f"cannot write {shorter(path)}: {error.strerror or error}; {advice}") from None
    return path


def is_there(path: str | os.PathLike) -> bool:
    """Say whether a file is there; refuse a name that no file can have."""
    try:
        return Path(path).exists()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{shorter(path)} is no name for a file ({reason}); give another --out") from None


def shorter(path: object) -> str:
    """Return a path that fits into a message."""
    text = visible(path)
    return text if len(text) <= 120 else f"{text[:60]}...{text[-40:]}"


def refuse_existing(path: str | os.PathLike | None, force: bool = False) -> None:
    """Refuse to write over a file that is there, unless that is wanted; None is no file."""
    if path is not None and not force and is_there(path) and not Path(path).is_char_device():
        raise InputError(f"{path} is there already; give another name, or use force=True to overwrite it")
