"""What a database of keys holds: a row is a key, with its type and its value.

Values are compared as clients see them, so that releases with other encodings have the same
checksum: members of sets and fields of hashes, which have no order, are sorted.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from dbdyno.errors import ServerError
from dbdyno.servers.contents import Contents, contents_of
from dbdyno.servers.databases.redis.session import RedisSession, Value, Word

_SCANNED = 1000
"""Keys asked for at once."""

_READ: Mapping[bytes, Callable[[bytes], Sequence[Word]]] = {
    b"string": lambda key: ("GET", key),
    b"list": lambda key: ("LRANGE", key, 0, -1),
    b"set": lambda key: ("SMEMBERS", key),
    b"hash": lambda key: ("HGETALL", key),
    b"zset": lambda key: ("ZRANGE", key, 0, -1, "WITHSCORES"),
    b"stream": lambda key: ("XRANGE", key, "-", "+"),
}


def tables(session: RedisSession) -> Mapping[str, str]:
    """The databases that hold keys, by INFO's names: `db0`.

    `session` is used for nothing else, and is closed.
    """
    try:
        return {name: name for name in session.info("keyspace") if re.fullmatch(r"db\d+", name)}
    finally:
        session.close()


def contents(session: RedisSession, table: str, *, checksum: bool) -> Contents:
    """Of a database. `session` is used for nothing else, and is closed.

    # Errors
    `ServerError` when there is no such database, or it can't be read.
    """
    number = re.fullmatch(r"db(\d+)", table)
    if number is None:
        raise ServerError(f"a server of keys has no table `{table}`; its databases are `db0`, …")
    try:
        session.command("SELECT", number[1])
        if not checksum:
            return Contents(_whole(session.command("DBSIZE")))
        return contents_of(_rows(session))
    finally:
        session.close()


def _whole(value: Value) -> int:
    assert isinstance(value, int), "a count"
    return value


def _rows(session: RedisSession) -> Iterator[tuple[bytes, bytes, bytes]]:
    # SCAN may give a key twice.
    seen: set[bytes] = set()
    for keys in _scanned(session):
        new = [key for key in dict.fromkeys(keys) if key not in seen]
        seen.update(new)
        kinds = session.pipelined([("TYPE", key) for key in new])
        known = [(key, kind) for key, kind in zip(new, kinds, strict=True) if kind != b"none"]
        values = session.pipelined([_reading(kind)(key) for key, kind in known])
        for (key, kind), value in zip(known, values, strict=True):
            assert isinstance(kind, bytes), "a name"
            yield key, kind, _text(kind, value)


def _reading(kind: Value) -> Callable[[bytes], Sequence[Word]]:
    command = _READ.get(kind) if isinstance(kind, bytes) else None
    if command is None:
        raise ServerError(f"keys of type {kind!r} can't be compared")
    return command


def _scanned(session: RedisSession) -> Iterator[list[bytes]]:
    cursor: Word = "0"
    while True:
        reply = session.command("SCAN", cursor, "COUNT", _SCANNED)
        assert isinstance(reply, list), "a cursor and keys"
        next_cursor, keys = reply
        assert isinstance(next_cursor, bytes), "a cursor"
        assert isinstance(keys, list), "keys"
        yield [key for key in keys if isinstance(key, bytes)]
        if next_cursor == b"0":
            return
        cursor = next_cursor


def _text(kind: bytes, value: Value) -> bytes:
    if kind == b"set":
        assert isinstance(value, list), "members"
        return _flat(sorted(map(_flat, value)))
    if kind == b"hash":
        assert isinstance(value, list), "fields and values"
        pairs = zip(value[::2], value[1::2], strict=True)
        return _flat(sorted(_flat([name, content]) for name, content in pairs))
    return _flat(value)


def _flat(value: Value | list[bytes]) -> bytes:
    """A value as bytes, with lengths, so that two values never look alike by where they end."""
    if isinstance(value, list):
        return b"[%b]" % b",".join(map(_flat, value))
    text = b"" if value is None else value if isinstance(value, bytes) else b"%d" % value
    return b"%d:%b" % (len(text), text)
