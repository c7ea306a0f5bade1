"""Sessions with a database file in a separate process, so that a crash does not affect the lab.

A damaged file may make the library that opens it crash or hang. A guard owns the process. It
answers as in `apart_program.py`: a line of JSON per statement, one line back.
"""

import contextlib
import json
import os
import shutil
import signal
import socket
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import LostError, ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers.nodes import apart_program
from dbdyno.servers.nodes.place import socket_folder

_CONNECT_LIMIT_S = 30.0
_POLL_S = 0.02


class ApartProcess:
    """A Python program of ours that connects back over a socket; `argv[0]` is its file, and the
    socket's path its first argument. Ends with `close`, by itself, or after `limit_s` without an
    answer.

    # Errors
    `ServerError` if it ends before connecting.
    """

    def __init__(self, guarded: Guarded, argv: Sequence[Path | str], *, limit_s: float) -> None:
        self._guarded = guarded
        self._folder = socket_folder(guarded, None)
        self._stream: socket.SocketIO | Any = None
        self.is_over = False
        """Whether its end of the socket is closed."""
        where, log = self._folder / "lab.sock", self._folder / "log"
        program, *arguments = argv
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(where))
            listening.listen(1)
            self._pid = guarded.spawn(
                [sys.executable, "-I", "-S", program, where, *arguments],
                output=log,
                cwd=self._folder,
                env=dict(os.environ),
            )
            try:
                self._socket = self._called(listening)
            except TimeoutError:
                text = log.read_text(errors="replace").strip()
                self.close()
                raise ServerError(f"the database file can't be opened: {text}") from None
        self._socket.settimeout(limit_s)
        self._stream = self._socket.makefile("rwb")

    def _called(self, listening: socket.socket) -> socket.socket:
        """By the process, as soon as it is there; `TimeoutError` when it ended instead."""
        deadline = time.monotonic() + _CONNECT_LIMIT_S
        listening.settimeout(_POLL_S)
        while True:
            try:
                return listening.accept()[0]
            except TimeoutError:
                ended = self._guarded.exit_code(self._pid) is not None
                if ended or time.monotonic() > deadline:
                    raise

    def write(self, text: bytes) -> None:
        """Sends a line. If the process has ended, the next `line` reports it with its last output.

        # Errors
        `LostError` if it does not read.
        """
        if self._stream is None:
            raise LostError("the session with the database file is closed")
        try:
            self._stream.write(text)
            self._stream.flush()
        except BrokenPipeError:
            self.is_over = True
        except OSError as error:
            raise LostError(f"no answer from the database's process: {error}") from error

    def line(self) -> bytes:
        """Its next answer; empty if it has ended.

        # Errors
        `LostError` if it does not answer.
        """
        if self._stream is None:
            raise LostError("the session with the database file is closed")
        try:
            line: bytes = self._stream.readline()
        except OSError as error:
            raise LostError(f"no answer from the database's process: {error}") from error
        self.is_over = not line
        return line

    def kill(self) -> None:
        """Kills the process as a crash would; who waits for its answer learns that it has died."""
        self._guarded.signal(self._pid, signal.SIGKILL)
        self._guarded.wait(self._pid, _CONNECT_LIMIT_S)

    def close(self) -> None:
        """Kills the process, whatever it is doing."""
        if self._stream is not None:
            with contextlib.suppress(OSError):
                self._stream.close()
            self._socket.close()
            self._stream = None
        self._guarded.signal(self._pid, signal.SIGKILL)
        self._guarded.wait(self._pid, _CONNECT_LIMIT_S)
        shutil.rmtree(self._folder, ignore_errors=True)


class ApartSession:
    """With a SQLite file, opened at once: the file, and the extension for checksums if it is used.

    # Errors
    `ServerError` when it can't be opened.
    """

    def __init__(self, guarded: Guarded, *arguments: Path, limit_s: float) -> None:
        argv: list[Path | str] = [apart_program.__file__, *arguments]
        self._process = ApartProcess(guarded, argv, limit_s=limit_s)

    def rows(self, statement: str) -> Sequence[Mapping[str, Any]]:
        """The result of a statement.

        # Errors
        `ServerError` when it is refused, `LostError` when the process has died or does not answer.
        """
        self._process.write(json.dumps(statement).encode() + b"\n")
        line = self._process.line()
        if not line:
            raise LostError("the database's process has died")
        answer = json.loads(line)
        if "error" in answer:
            raise ServerError(f"refused `{statement.strip()[:200]}`: {answer['error']}")
        return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]

    def kill(self) -> None:
        """Kills the process as a crash would: a statement under way fails with `LostError`."""
        self._process.kill()

    def close(self) -> None:
        """Kills the process, whatever it is doing."""
        self._process.close()
