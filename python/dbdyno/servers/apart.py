"""A session with a database file in a process of its own, which the lab survives.

A damaged file may make a library that opens it crash or never come back. The process is a guard's,
and answers `apart_program.py`'s way: a line of JSON for a statement, one back.
"""

import json
import os
import shutil
import socket
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dbdyno.errors import LostError, ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.servers import apart_program
from dbdyno.servers.place import socket_folder

_CONNECT_LIMIT_S = 30.0


class ApartSession:
    """Opened at once; ends with `close`, with its process, or `limit_s` without an answer."""

    def __init__(self, guarded: Guarded, *arguments: Path, limit_s: float) -> None:
        self._folder = socket_folder(guarded, None)
        self._stream: socket.SocketIO | Any = None
        where = self._folder / "lab.sock"
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(str(where))
            listening.listen(1)
            listening.settimeout(_CONNECT_LIMIT_S)
            log = self._folder / "log"
            pid = guarded.spawn(
                [sys.executable, "-I", "-S", apart_program.__file__, where, *arguments],
                output=log,
                cwd=self._folder,
                env=dict(os.environ),
            )
            while True:
                listening.settimeout(0.02)
                try:
                    self._socket, _ = listening.accept()
                    break
                except TimeoutError:
                    if guarded.exit_code(pid) is not None:
                        told = log.read_text(errors="replace").strip()
                        self.close()
                        raise ServerError(f"the database file can't be opened: {told}") from None
        self._socket.settimeout(limit_s)
        self._stream = self._socket.makefile("rwb")

    def rows(self, statement: str) -> Sequence[Mapping[str, Any]]:
        """The result of a statement.

        # Errors
        `ServerError` when it is refused, `LostError` when the process has died or does not answer.
        """
        try:
            self._stream.write(json.dumps(statement).encode() + b"\n")
            self._stream.flush()
            line = self._stream.readline()
        except OSError as error:
            raise LostError(f"no answer from the database's process: {error}") from error
        if not line:
            raise LostError("the database's process has died")
        answer = json.loads(line)
        if "error" in answer:
            raise ServerError(f"refused `{statement.strip()[:200]}`: {answer['error']}")
        return [dict(zip(answer["columns"], row, strict=True)) for row in answer["rows"]]

    def close(self) -> None:
        """Ends the process; it lives no longer than its socket."""
        if self._stream is not None:
            self._stream.close()
            self._socket.close()
            self._stream = None
        shutil.rmtree(self._folder, ignore_errors=True)
