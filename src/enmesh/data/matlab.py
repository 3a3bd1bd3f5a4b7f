"""Arrays of numbers in MATLAB files of versions 4 to 7, read with every length checked: damage is an error, no crash.

A file of version 5 to 7 is a header of 128 bytes and a chain of elements: a type, a size, and so many bytes. An element
may be a compressed element or a matrix, which is itself a chain: flags, dimensions, name, real and imaginary parts.
"""

import math
import struct
import zlib
from collections.abc import Iterator

import numpy as np

MATRIX, COMPRESSED = 14, 15
TYPES = {1: "i1", 2: "u1", 3: "i2", 4: "u2", 5: "i4", 6: "u4", 7: "f4", 9: "f8", 12: "i8", 13: "u8"}
CLASSES = {6: "f8", 7: "f4", 8: "i1", 9: "u1", 10: "i2", 11: "u2", 12: "i4", 13: "u4", 14: "i8", 15: "u8"}
LOGICAL, COMPLEX = 0x0200, 0x0800
HEADER = 128
OLD_TYPES = ("f8", "f4", "i4", "i2", "u2", "u1")
# Bytes that a compressed element may grow to.
MOST_BYTES = 2**33

Element = tuple[int, memoryview]


class NewFormat(ValueError):
    """The file is of version 7.3, which is HDF5."""


def read_matlab(data: bytes) -> dict[str, np.ndarray | None]:
    """Return the arrays of numbers in a file by name; None for variables that are something else."""
    if len(data) >= 4 and 0 in data[:4]:
        return dict(_old_variables(memoryview(data)))
    if len(data) < HEADER or data[126:128] not in (b"IM", b"MI"):
        raise ValueError("it has no MATLAB header")
    order = "<" if data[126:128] == b"IM" else ">"
    (version,) = struct.unpack(f"{order}H", data[124:126])
    if version >> 8 == 2:
        raise NewFormat
    found = {}
    for kind, content in _elements(memoryview(data)[HEADER:], order):
        if kind == COMPRESSED:
            kind, content = next(_elements(_inflated(content), order), (0, content))
        if kind == MATRIX:
            name, array = _matrix(content, order)
            found[name] = array
    return found


def _inflated(content: memoryview) -> memoryview:
    unpack = zlib.decompressobj()
    data = unpack.decompress(content, MOST_BYTES)
    if not unpack.eof:
        raise ValueError("a compressed variable is cut short")
    return memoryview(data)


def _elements(data: memoryview, order: str) -> Iterator[Element]:
    """Go through a chain of elements: type and content."""
    at = 0
    while at < len(data):
        if at + 8 > len(data):
            raise ValueError("it is cut short")
        first, size = struct.unpack(f"{order}II", data[at : at + 8])
        begin = at + 8
        if first >> 16:  # a small element: its size and its four bytes are in the tag
            first, size, begin = first & 0xFFFF, first >> 16, at + 4
        if begin + size > len(data) or (begin == at + 4 and size > 4):
            raise ValueError("it is cut short")
        yield first, data[begin : begin + size]
        at = begin + size if first == COMPRESSED else at + 8 if begin == at + 4 else begin + -(-size // 8) * 8


def _matrix(content: memoryview, order: str) -> tuple[str, np.ndarray | None]:
    """Return name and values of a matrix; no values if it is not numbers."""
    parts = list(_elements(content, order))
    if len(parts) < 3 or len(parts[0][1]) < 4 or len(parts[1][1]) % 4:
        raise ValueError("a variable has no class, no dimensions or no name")
    flags, dims, name = (part for _, part in parts[:3])
    (word,) = struct.unpack(f"{order}I", flags[:4])
    named = bytes(name).decode("utf-8", "replace").rstrip("\0")
    if word & 0xFF not in CLASSES:
        return named, None
    shape = struct.unpack(f"{order}{len(dims) // 4}i", dims)
    is_complex = bool(word & COMPLEX)
    if len(parts) < 4 + is_complex:
        raise ValueError("a variable has no values")
    values = [_numbers(part, order, shape, CLASSES[word & 0xFF]) for part in parts[3 : 4 + is_complex]]
    if is_complex:
        return named, values[0] + 1j * values[1]
    return named, values[0].astype(bool) if word & LOGICAL else values[0]


def _numbers(element: Element, order: str, shape: tuple[int, ...], kind: str) -> np.ndarray:
    """Return values, which may be stored in a smaller type than their own, in the order of MATLAB: columns first."""
    stored, content = element
    if stored not in TYPES:
        raise ValueError(f"values of the unknown type {stored}")
    dtype = np.dtype(order + TYPES[stored])
    if min(shape, default=-1) < 0 or math.prod(shape) * dtype.itemsize != len(content):
        raise ValueError(f"{len(content)} bytes do not fill the shape {shape}")
    return np.frombuffer(content, dtype).astype(kind).reshape(shape, order="F")


def _old_variables(data: memoryview) -> Iterator[tuple[str, np.ndarray | None]]:
    """Go through the variables of a file of version 4: a header of 20 bytes, a name, real and imaginary parts."""
    at = 0
    while at < len(data):
        if at + 20 > len(data):
            raise ValueError("it is cut short")
        order = "<" if 0 <= struct.unpack("<i", data[at : at + 4])[0] < 5000 else ">"
        code, rows, columns, imaginary, length = struct.unpack(f"{order}5i", data[at : at + 20])
        number, text = code // 10 % 10, code % 10
        if not 0 <= code < 5000 or number >= len(OLD_TYPES) or min(rows, columns, length) < 0:
            raise ValueError("it has no MATLAB header")
        dtype = np.dtype(order + OLD_TYPES[number])
        size = rows * columns * dtype.itemsize
        begin = at + 20 + length
        end = begin + size * (2 if imaginary else 1)
        if end > len(data):
            raise ValueError("it is cut short")
        name = bytes(data[at + 20 : begin]).decode("latin-1").rstrip("\0")
        values = [
            np.frombuffer(data[start : start + size], dtype).reshape((rows, columns), order="F")
            for start in range(begin, end, max(size, 1))
        ]
        at = end
        yield name, None if text or not size else values[0] + 1j * values[1] if imaginary else values[0]
