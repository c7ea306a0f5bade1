"""The lab's own session with MongoDB, or a server that speaks its protocol, by OP_MSG.

A client library would be a dependency for what the lab asks: some commands, one at a time.
"""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dbdyno.errors import ConnectError, LostError, ServerError
from dbdyno.servers.databases.mongodb.bson import (
    Document,
    Long,
    decode,
    encode,
    raw_elements,
    raw_value,
)
from dbdyno.servers.databases.mongodb.scram import MECHANISM, Scram
from dbdyno.servers.nodes import peer
from dbdyno.servers.nodes.address import Address

_OP_MSG = 2013
_LONGEST_BYTES = 48_000_000
_HEADER = struct.Struct("<iiii")
_HUNG_UP = "the server closed the connection"


@dataclass(frozen=True, slots=True)
class Place(Address):
    """Where a server is, and as whom to enter which database."""

    port: int = 27017
    source: str = "admin"
    """The database that has the user."""
    database: str = "test"


class MongodbError(ServerError):
    """A refusal of the server's."""

    def __init__(self, code: int, name: str, message: str) -> None:
        super().__init__(f"{name or code}: {message}")
        self.code = code
        """The number by which errors are counted."""
        self.name = name
        """The number's name; empty if the server gives none."""


class MongodbSession:
    """Opened when first needed, and again if lost."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._socket: socket.socket | None = None
        self._request = 0

    def connection(self) -> socket.socket:
        """The open connection, made if need be.

        # Errors
        `ConnectError` with the system's or the server's words.
        """
        if self._socket is None:
            try:
                self._socket = self._place.open()
                self._enter()
            except (OSError, ServerError) as error:
                self.close()
                raise self._explain(error) from error
        return self._socket

    def _enter(self) -> None:
        place = self._place
        self._asked({"hello": 1}, "admin")
        if not place.user:
            return
        scram = Scram(place.user, place.password)
        first = {"saslStart": 1, "mechanism": MECHANISM, "payload": scram.first()}
        begun = self._asked(first, place.source)
        go_on = {"saslContinue": 1, "conversationId": begun.get("conversationId", 1)}
        answer = scram.answer(_payload(begun))
        last = self._asked({**go_on, "payload": answer}, place.source)
        scram.finish(_payload(last))
        if not last.get("done", True):  # A server that does not skip the empty exchange.
            self._asked({**go_on, "payload": b""}, place.source)

    def _explain(self, error: Exception) -> ServerError:
        where = str(self._place)
        if isinstance(error, MongodbError):
            hint = "check user and password, and the database that has the user (`authSource`)"
            return ConnectError(f"{where} refuses the connection: {error.message}", hint=hint)
        if isinstance(error, (ConnectionResetError, TimeoutError)) and (
            kind := peer.ask(self._place.open_plain)
        ):
            error = _not_mongodb(kind)
        if isinstance(error, ServerError):
            return ConnectError(f"{where}: {error.message}", hint=error.hint)
        return ConnectError(f"cannot connect to {where}: {error}")

    def command(self, document: Document, database: str = "") -> dict[str, Any]:
        """The answer to a command, whose first name is its own; for the place's database, or
        another.

        # Errors
        `MongodbError` as the server says; `LostError` when the connection is.
        """
        return decode(self._whole(document, database))

    def _whole(self, document: Document, database: str) -> bytes:
        self.connection()
        try:
            return self._exchange(document, database or self._place.database)
        except MongodbError:
            raise
        except ServerError:
            self.close()  # What follows in the stream need not be an answer.
            raise
        except OSError as error:
            self.close()
            raise LostError(f"{self._place} has gone: {error or 'no answer'}") from error

    def documents(self, document: Document, database: str = "") -> Iterator[dict[str, Any]]:
        """All documents of a command that answers with a cursor.

        # Errors
        As `command`.
        """
        return map(decode, self.raw_documents(document, database))

    def raw_documents(self, document: Document, database: str = "") -> Iterator[bytes]:
        """The same as the bytes that the server sent."""
        name, answer = "firstBatch", self._whole(document, database)
        while True:
            cursor = decode(answer).get("cursor")
            if not isinstance(cursor, Mapping):
                raise ServerError("the server answered without a cursor")
            yield from raw_elements(raw_value(raw_value(answer, "cursor"), name))
            if not cursor.get("id"):
                return
            if not isinstance(cursor["id"], int):
                raise ServerError("the server's cursor has no number")
            name = "nextBatch"
            _, _, collection = str(cursor.get("ns", "")).partition(".")
            more = {"getMore": Long(cursor["id"]), "collection": collection}
            answer = self._whole(more, database)

    def _asked(self, document: Document, database: str) -> dict[str, Any]:
        return decode(self._exchange(document, database))

    def _exchange(self, document: Document, database: str) -> bytes:
        assert self._socket is not None, "open"
        self._request += 1
        body = b"\0" * 5 + encode({**document, "$db": database})
        head = _HEADER.pack(_HEADER.size + len(body), self._request, 0, _OP_MSG)
        self._socket.sendall(head + body)
        answer = self._read()
        reply = decode(answer)
        if reply.get("ok") != 1:
            code = reply.get("code")
            raise MongodbError(
                code if isinstance(code, int) else 0,
                str(reply.get("codeName", "")),
                str(reply.get("errmsg", "no reason given")),
            )
        return answer

    def _read(self) -> bytes:
        head = self._taken(_HEADER.size)
        size, _, answered, code = _HEADER.unpack(head)
        if code != _OP_MSG:
            raise _not_mongodb(peer.recognise(head))
        if answered != self._request or not _HEADER.size + 10 <= size <= _LONGEST_BYTES:
            raise ServerError("the server's answer has no sensible header")
        body = self._taken(size - _HEADER.size)
        if body[4] != 0:
            raise ServerError("the server's answer is not one document")
        checksum = 4 if body[0] & 1 else 0
        return body[5 : len(body) - checksum]

    def _taken(self, size: int) -> bytes:
        assert self._socket is not None, "open"
        parts: list[bytes] = []
        while size:
            part = self._socket.recv(min(size, 1 << 20))
            if not part:
                raise ConnectionResetError(_HUNG_UP)
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def rows(self, statement: str, /) -> Sequence[Mapping[str, Any]]:
        """The answer to a command as JSON: its cursor's documents, or itself as the only row."""
        try:
            document = json.loads(statement)
        except ValueError as error:
            raise ServerError(f"a command is a document in JSON: {error}") from error
        answer = self.command(document)
        if isinstance(cursor := answer.get("cursor"), Mapping) and not cursor.get("id"):
            return list(cursor.get("firstBatch", []))
        return [answer] if "cursor" not in answer else [*self.documents(document)]

    def serving_thread(self) -> int | None:
        """`None`: nobody can tell."""
        return None

    def close(self) -> None:
        """Ends the session."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def _payload(answer: Mapping[str, Any]) -> bytes:
    payload = answer.get("payload", b"")
    if not isinstance(payload, bytes):
        raise ServerError("the server's answer to the log-in has no bytes")
    return payload


def _not_mongodb(kind: str | None) -> ServerError:
    return ServerError(f"it is {kind or 'something else'}, not a server of MongoDB's protocol")
