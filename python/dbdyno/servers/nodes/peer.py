"""Who answers at an address, told by the first bytes it sends; the engine's drivers do the same.

A client of MySQL waits for the server's greeting, and a PostgreSQL server waits for the client's:
without a look at who is there, both wait until the deadline.
"""

from __future__ import annotations

import re
import select
import socket
import time
from collections.abc import Callable

POSTGRESQL = "a PostgreSQL server"
MYSQL = "a MySQL or MariaDB server"

_KNOWN = (
    (rb"SSH-", "an SSH server"),
    (rb"HTTP/.*MongoDB|.{12}\xdd\x07\0\0", "a MongoDB server"),
    (rb"HTTP/|<html|<HTML|<!DOCTYPE", "an HTTP server"),
    (rb"-(ERR|NOAUTH|DENIED) ", "a Valkey or Redis server"),
    (rb"220[ -]", "a mail or FTP server"),
    (rb"\x15\x03", "a server that expects TLS from the first byte on"),
    (rb"\x05\0\0\0\x0b", "MySQL's X protocol"),
    # Protocol 10 and the version's first digit, or an error numbered from 768 to 4095.
    (rb"..\0\0(\n\d|\xff.[\x03-\x0f])", MYSQL),
    # An error of a sensible length, and its first field, the severity.
    (rb"E\0\0..S", POSTGRESQL),
)
_ASK_FOR_TLS = bytes((0, 0, 0, 8, 4, 210, 22, 47))
_GET = b"GET / HTTP/1.0\r\n\r\n"
_HELLO = (
    b"\x34\0\0\0\x01\0\0\0\0\0\0\0\xdd\x07\0\0\0\0\0\0\0"
    b"\x1f\0\0\0\x10hello\0\x01\0\0\0\x02$db\0\x06\0\0\0admin\0\0"
)
"""MongoDB's hello: request 1, by OP_MSG."""
_QUESTION_LIMIT_S = 0.5

ASK_AFTER_S = 1.0
"""A server that greets first does so within milliseconds; after this silence it is asked."""

Opener = Callable[[], socket.socket]
"""Connects anew; raises `OSError` where nobody listens."""


def recognise(first: bytes) -> str | None:
    """The kind of server that begins so, if it is a known one."""
    for beginning, kind in _KNOWN:
        if re.match(beginning, first, re.DOTALL):
            return kind
    return None


def ask(open_socket: Opener) -> str | None:
    """Asks who is there, over connections of its own; `None`: no answer, or an unknown one."""
    for question in (b"", _ASK_FOR_TLS, _GET, _HELLO):
        try:
            with open_socket() as plain:
                plain.settimeout(_QUESTION_LIMIT_S)
                plain.sendall(question)
                first = plain.recv(256)
        except (TimeoutError, ConnectionResetError):
            continue
        except OSError:
            return None
        if question == _ASK_FOR_TLS and first in (b"S", b"N"):
            return POSTGRESQL
        if kind := recognise(first):
            return kind
    return None


def greeting_of(plain: socket.socket, limit_s: float, open_socket: Opener) -> str | None:
    """Who greets on a fresh connection, whose bytes stay where they are; asked if nobody does.

    `None`: an unknown greeting. Raises `TimeoutError` after `limit_s` without one.
    """
    deadline = time.monotonic() + limit_s
    if not _readable(plain, min(ASK_AFTER_S, limit_s)):
        if kind := ask(open_socket):
            return kind
        if not _readable(plain, deadline - time.monotonic()):
            raise TimeoutError(f"it accepted the connection and did not greet in {limit_s:g} s")
    return recognise(plain.recv(64, socket.MSG_PEEK))


def _readable(plain: socket.socket, limit_s: float) -> bool:
    return bool(select.select([plain], [], [], max(limit_s, 0))[0])
