"""Servers of the tests' own that answer a log-in as no server should."""

from __future__ import annotations

import base64
import contextlib
import re
import socket
import struct
import threading
from collections.abc import Callable, Iterator, Sequence

SALT = b"abcdefghijklmnopqrst"


@contextlib.contextmanager
def served(serve: Callable[[socket.socket, bytearray], None]) -> Iterator[tuple[int, bytearray]]:
    """A port whose every caller is answered by `serve`, and all bytes that came in."""
    heard = bytearray()
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def answer(caller: socket.socket) -> None:
            with caller, contextlib.suppress(OSError, EOFError):
                serve(caller, heard)

        def accept() -> None:
            with contextlib.suppress(OSError):
                while True:
                    caller, _ = listening.accept()
                    threading.Thread(target=answer, args=(caller,), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        yield listening.getsockname()[1], heard
        listening.shutdown(socket.SHUT_RDWR)


def read(caller: socket.socket, heard: bytearray) -> bytes:
    """What comes next; `EOFError` when the caller has gone."""
    got = caller.recv(1 << 16)
    if not got:
        raise EOFError
    heard += got
    return got


def scram(iterations: int) -> Callable[[socket.socket, bytearray], None]:
    """PostgreSQL that asks for so many rounds of hashing."""

    def serve(caller: socket.socket, heard: bytearray) -> None:
        def send(kind: int, data: bytes) -> None:
            caller.sendall(b"R" + struct.pack("!II", 8 + len(data), kind) + data)

        while read(caller, heard)[4:8] == b"\x04\xd2\x16\x2f":
            caller.sendall(b"N")
        send(10, b"SCRAM-SHA-256\0\0")
        nonce = re.search(rb"r=([^,]+)", read(caller, heard))
        assert nonce is not None
        salt = base64.b64encode(SALT)
        send(11, b"r=" + nonce[1] + b"more,s=" + salt + b",i=%d" % iterations)
        read(caller, heard)

    return serve


def mysql(plugin: bytes, *answers: bytes) -> Callable[[socket.socket, bytearray], None]:
    """MySQL that greets with a plugin, and has an answer to each packet."""
    capabilities = 0x0088A208 | 0x00080000
    greeting = (
        b"\x0a8.0.36\0" + struct.pack("<I", 7) + SALT[:8] + b"\0"
        + struct.pack("<H", capabilities & 0xFFFF) + b"\x2d" + struct.pack("<H", 2)
        + struct.pack("<H", capabilities >> 16) + b"\x15" + b"\0" * 10 + SALT[8:] + b"\0"
        + plugin + b"\0"
    )  # fmt: skip

    def serve(caller: socket.socket, heard: bytearray) -> None:
        caller.sendall(packet(0, greeting))
        for number, answer in enumerate(answers):
            read(caller, heard)
            caller.sendall(packet(2 + 2 * number, answer))
        while True:
            read(caller, heard)

    return serve


def packet(sequence: int, payload: bytes) -> bytes:
    """A packet of MySQL's protocol."""
    return struct.pack("<I", len(payload))[:3] + bytes([sequence]) + payload


def switch(plugin: bytes) -> bytes:
    """The question for another plugin's answer."""
    return b"\xfe" + plugin + b"\0" + SALT + b"\0"


def trickle(pieces: Sequence[bytes]) -> Callable[[socket.socket, bytearray], None]:
    """A server that sends these and never ends what it began."""

    def serve(caller: socket.socket, heard: bytearray) -> None:
        for piece in pieces:
            caller.sendall(piece)
        while True:
            read(caller, heard)

    return serve


def rowless(caller: socket.socket, heard: bytearray) -> None:
    """PostgreSQL that lets everybody in, and answers every statement with no row."""

    def message(kind: bytes, data: bytes) -> bytes:
        return kind + struct.pack("!I", 4 + len(data)) + data

    ready = message(b"Z", b"I")
    while read(caller, heard)[4:8] == b"\x04\xd2\x16\x2f":
        caller.sendall(b"N")
    settings = (b"server_version\00018.0\0", b"client_encoding\0UTF8\0")
    greeting = b"".join(message(b"S", setting) for setting in settings)
    caller.sendall(message(b"R", struct.pack("!I", 0)) + greeting + ready)
    while True:
        asked = read(caller, heard)
        if asked[:1] == b"Q" or b"S\0\0\0\4" in asked:
            complete = message(b"C", b"SELECT 0\0")
            caller.sendall(complete + ready)
