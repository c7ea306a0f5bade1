"""Documents of BSON (bsonspec.org) as Python's values: what the lab's own session needs of it."""

from __future__ import annotations

import struct
from collections.abc import Iterator, Mapping
from typing import Any

from dbdyno.errors import ServerError

_DEEPEST = 100
_INT32 = range(-(1 << 31), 1 << 31)
_FIXED = {0x07: 12, 0x13: 16, 0x11: 8, 0x06: 0, 0xFF: 0, 0x7F: 0}
"""Bytes of types that are kept as their bytes."""

Document = Mapping[str, Any]


class Long(int):
    """An integer that is always written with 64 bits."""


def encode(document: Document) -> bytes:
    """A document's bytes; its values are of Python's own types."""
    body = b"".join(_element(name, value) for name, value in document.items())
    return struct.pack("<i", len(body) + 5) + body + b"\0"


def _element(name: str, value: object) -> bytes:
    kind, encoded = _value(value)
    return bytes([kind]) + name.encode() + b"\0" + encoded


def _value(value: object) -> tuple[int, bytes]:
    match value:
        case None:
            return 0x0A, b""
        case bool():
            return 0x08, bytes([value])
        case Long():
            return 0x12, struct.pack("<q", value)
        case int() if value in _INT32:
            return 0x10, struct.pack("<i", value)
        case int():
            return 0x12, struct.pack("<q", value)
        case float():
            return 0x01, struct.pack("<d", value)
        case str():
            text = value.encode()
            return 0x02, struct.pack("<i", len(text) + 1) + text + b"\0"
        case bytes():
            return 0x05, struct.pack("<ib", len(value), 0) + value
        case Mapping():
            return 0x03, encode(value)
        case list() | tuple():
            return 0x04, encode({str(place): item for place, item in enumerate(value)})
    raise ServerError(f"a command can't hold a {type(value).__name__}")


def decode(data: bytes) -> dict[str, Any]:
    """A document by its names; values without a type in Python are their bytes.

    # Errors
    `ServerError` for bytes that are no document.
    """
    try:
        return dict(_elements(memoryview(data), 0))
    except (struct.error, IndexError, ValueError, RecursionError) as error:
        raise ServerError(f"the server sent a malformed document: {error}") from error


def _elements(data: memoryview, depth: int) -> Iterator[tuple[str, Any]]:
    (size,) = struct.unpack_from("<i", data)
    if size != len(data) or data[-1] != 0 or depth > _DEEPEST:
        raise ValueError("its size or depth is wrong")
    at = 4
    while at < size - 1:
        kind = data[at]
        name, at = _name(data, at + 1)
        value, at = _read(kind, data, at, depth)
        yield name, value


def _name(data: memoryview, at: int) -> tuple[str, int]:
    end = at
    while data[end]:
        end += 1
    return bytes(data[at:end]).decode(errors="replace"), end + 1


def _read(kind: int, data: memoryview, at: int, depth: int) -> tuple[Any, int]:
    if kind == 0x10:
        return struct.unpack_from("<i", data, at)[0], at + 4
    if kind in (0x12, 0x09):
        return struct.unpack_from("<q", data, at)[0], at + 8
    if kind == 0x01:
        return struct.unpack_from("<d", data, at)[0], at + 8
    if kind == 0x08:
        return data[at] == 1, at + 1
    if kind == 0x0A:
        return None, at
    if kind in _FIXED:
        return bytes(_taken(data, at, _FIXED[kind])), at + _FIXED[kind]
    if kind == 0x0B:
        pattern, at = _name(data, at)
        options, at = _name(data, at)
        return f"/{pattern}/{options}", at
    (size,) = struct.unpack_from("<i", data, at)
    if kind in (0x03, 0x04):
        inside = dict(_elements(_taken(data, at, size), depth + 1))
        return (inside if kind == 0x03 else list(inside.values())), at + size
    if kind == 0x05:
        return bytes(_taken(data, at + 5, size)), at + 5 + size
    if kind in (0x02, 0x0D, 0x0E):
        text = bytes(_taken(data, at + 4, size))
        return text[:-1].decode(errors="replace"), at + 4 + size
    raise ValueError(f"type {kind:#04x} is not known")


def _taken(data: memoryview, at: int, size: int) -> memoryview:
    taken = data[at : at + size]
    if size < 0 or len(taken) != size:
        raise ValueError("a value is longer than its document")
    return taken


def raw_value(document: bytes, name: str) -> bytes:
    """The bytes of the value by this name.

    # Errors
    `ServerError` if there is none.
    """
    data, at = memoryview(document), 4
    try:
        while at < len(data) - 1:
            kind = data[at]
            known, at = _name(data, at + 1)
            _, end = _read(kind, data, at, 0)
            if known == name:
                return bytes(data[at:end])
            at = end
    except (struct.error, IndexError, ValueError) as error:
        raise ServerError(f"the server sent a malformed document: {error}") from error
    raise ServerError(f"the server answered without `{name}`")


def raw_elements(array: bytes) -> Iterator[bytes]:
    """The bytes of each document in an array, as they came.

    # Errors
    `ServerError` for anything else.
    """
    data, at = memoryview(array), 4
    try:
        while at < len(data) - 1:
            if data[at] != 0x03:
                raise ServerError("the server sent a batch of what are no documents")
            _, at = _name(data, at + 1)
            (size,) = struct.unpack_from("<i", data, at)
            yield bytes(_taken(data, at, size))
            at += size
    except (struct.error, IndexError, ValueError) as error:
        raise ServerError(f"the server sent a malformed document: {error}") from error
