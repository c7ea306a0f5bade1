"""Which thread of this machine serves a session of the lab's.

A server numbers its threads as its own machine does. Whether that is this one, the connection
tells: the process at the other end of a Unix socket, or both ends' addresses.
"""

from __future__ import annotations

import os
import socket
import struct
from pathlib import Path

_CREDENTIALS = struct.Struct("3i")
"""Process, user and group at the other end of a Unix socket, as the kernel answers."""


def thread_here(thread: int, connection: int, programs: tuple[str, ...]) -> int | None:
    """`thread` if it serves the open `connection` (a descriptor) on this machine, else `None`.

    It is one of the process that listens, or of a child of it. Of a server over TCP the process
    must be called like one of `programs`.
    """
    status = _status(thread)
    if status is None:
        return None
    name, process, parent = status
    with socket.socket(fileno=os.dup(connection)) as connected:
        if connected.family == socket.AF_UNIX:
            credentials = connected.getsockopt(
                socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size
            )
            listening, _, _ = _CREDENTIALS.unpack(credentials)
            return thread if listening in (process, parent) else None
        here = connected.getsockname()[0] == connected.getpeername()[0]
    return thread if here and name in programs else None


def _status(thread: int) -> tuple[str, int, int] | None:
    """Of a thread: its process's name, its process, and that one's parent."""
    try:
        text = Path(f"/proc/{thread}/status").read_text()
        fields = dict(line.split(":\t", 1) for line in text.splitlines() if ":\t" in line)
        process, parent = int(fields["Tgid"]), int(fields["PPid"])
        name = Path(f"/proc/{process}/comm").read_text().strip()
    except (OSError, KeyError):
        return None
    return name, process, parent
