"""The lab's own session with a Redis or Valkey server.

It speaks version 2 of the protocol, which every release has: some fifty lines, where a client
library would be a dependency.
"""

from __future__ import annotations

import re
import shlex
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from io import BufferedReader
from typing import Any, TypeAlias

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.servers.nodes import peer
from dbdyno.servers.nodes.address import Address

_LONGEST_BYTES = 1 << 30
_DEEPEST = 100
"""Arrays within arrays that a reply may have."""
_NUMBER = re.compile(rb"-?\d{1,20}")
_HUNG_UP = "the server closed the connection"

Value: TypeAlias = "bytes | int | list[Value] | None"
Word: TypeAlias = str | bytes | int


@dataclass(frozen=True, slots=True)
class Place(Address):
    """Where a server is, and as whom to enter which database."""

    port: int = 6379
    database: int = 0


class RedisError(ServerError):
    """An error reply; `code` is its first word."""

    @property
    def code(self) -> str:
        """`WRONGTYPE`, `NOAUTH`, …"""
        return self.message.partition(" ")[0]


class RedisSession:
    """Opened when first needed, and again if lost."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._socket: socket.socket | None = None
        self._replies: BufferedReader | None = None

    def connection(self) -> socket.socket:
        """The open connection, made if need be.

        # Errors
        `ConnectError` with the system's or the server's words.
        """
        if self._socket is None:
            try:
                self._socket = self._place.open()
                self._replies = self._socket.makefile("rb")
                self._enter()
            except (OSError, ServerError) as error:
                self.close()
                raise self._explain(error) from error
        return self._socket

    def _enter(self) -> None:
        place = self._place
        if place.password:
            users = (place.user,) if place.user else ()
            self._ask("AUTH", *users, place.password)
        if place.database:
            self._ask("SELECT", place.database)
        else:
            self._ask("PING")

    def _explain(self, error: Exception) -> ServerError:
        where = str(self._place)
        if isinstance(error, RedisError):
            if error.code == "LOADING":
                return ConnectError(f"{where}: {error.message}")
            hint = "check user, password and database" if error.code != "ERR" else None
            return ConnectError(f"{where} refuses the connection: {error.message}", hint=hint)
        silent = isinstance(error, (ConnectionResetError, TimeoutError))
        if silent and (kind := peer.ask(self._place.open_plain)):
            error = _not_redis(kind)
        if isinstance(error, ServerError):
            return ConnectError(f"{where}: {error.message}", hint=error.hint)
        return ConnectError(f"cannot connect to {where}: {error}")

    def command(self, *words: Word) -> Value:
        """The reply to a command.

        # Errors
        `RedisError` as the server says; `LostError` when the connection is.
        """
        return self.pipelined([words])[0]

    def pipelined(self, commands: Sequence[Sequence[Word]]) -> list[Value]:
        """The replies to commands that are sent together.

        # Errors
        As `command`, the first of them.
        """
        self.connection()
        try:
            return self._exchange(commands)
        except RedisError:
            raise
        except ServerError:
            self.close()  # What follows in the stream need not be a reply.
            raise
        except OSError as error:
            self.close()
            raise LostError(f"{self._place} has gone: {error or 'no answer'}") from error

    def _ask(self, *words: Word) -> Value:
        return self._exchange([words])[0]

    def _exchange(self, commands: Sequence[Sequence[Word]]) -> list[Value]:
        assert self._socket is not None, "open"
        self._socket.sendall(b"".join(map(_encoded, commands)))
        replies = [self._read() for _ in commands]
        for reply in replies:
            if isinstance(reply, RedisError):
                raise reply
        return replies  # type: ignore[return-value]

    def _line(self) -> bytes:
        assert self._replies is not None, "open"
        line = self._replies.readline()
        if line.endswith(b"\r\n"):
            return line[:-2]
        if line.endswith(b"\n"):
            raise _not_redis(peer.recognise(line + self._replies.read1()))
        raise ConnectionResetError(_HUNG_UP)

    def _read(self, depth: int = 0) -> Value | RedisError:
        line = self._line()
        kind, rest = line[:1], line[1:]
        if kind == b"+":
            return rest
        if kind == b"-":
            return RedisError(rest.decode(errors="replace"))
        if kind not in (b":", b"$", b"*") or not _NUMBER.fullmatch(rest):
            raise _not_redis(peer.recognise(line))
        number = int(rest)
        if kind == b":":
            return number
        if number < 0:
            return None
        if kind == b"*":
            if depth == _DEEPEST:
                raise ServerError(f"a reply has arrays more than {_DEEPEST} deep")
            elements: list[Value] = []
            for _ in range(number):
                element = self._read(depth + 1)
                elements.append(
                    element.message.encode() if isinstance(element, RedisError) else element
                )
            return elements
        return self._text(number)

    def _text(self, size: int) -> bytes:
        assert self._replies is not None, "open"
        if size > _LONGEST_BYTES:
            raise ServerError(f"a reply claims {size:,} bytes")
        text = self._replies.read(size + 2)
        if len(text) != size + 2:
            raise ConnectionResetError(_HUNG_UP)
        return text[:-2]

    def info(self, section: str = "everything") -> Mapping[str, str]:
        """What INFO says, by name."""
        text = self.command("INFO", section)
        assert isinstance(text, bytes), "INFO is a text"
        lines = text.decode(errors="replace").splitlines()
        pairs = (line.partition(":") for line in lines if not line.startswith("#"))
        return {name: value for name, mark, value in pairs if mark}

    def rows(self, statement: str, /) -> Sequence[Mapping[str, Any]]:
        """The reply to a command in one text, its words apart as in a shell: one row a value."""
        reply = self.command(*shlex.split(statement))
        values = reply if isinstance(reply, list) else [] if reply is None else [reply]
        return [{"value": _shown(value)} for value in values]

    def serving_thread(self) -> int | None:
        """`None`: one thread serves all sessions."""
        return None

    def close(self) -> None:
        """Ends the session."""
        if self._replies is not None:
            self._replies.close()
        if self._socket is not None:
            self._socket.close()
        self._socket = self._replies = None


def _not_redis(kind: str | None) -> ServerError:
    return ServerError(f"it is {kind or 'something else'}, not a Redis or Valkey server")


def _encoded(words: Sequence[Word]) -> bytes:
    texts = [word if isinstance(word, bytes) else str(word).encode() for word in words]
    parts = [b"*%d\r\n" % len(texts)]
    parts += [b"$%d\r\n%b\r\n" % (len(text), text) for text in texts]
    return b"".join(parts)


def _shown(value: Value) -> object:
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return [_shown(element) for element in value] if isinstance(value, list) else value
