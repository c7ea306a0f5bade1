"""Stops the processes of servers while it is not their turn (`[design] freeze`), so that what they
do in the background takes nothing from the server that is measured."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from dbdyno.servers import Server


class Freezer:
    """Holds servers; `frozen` makes it, and lets all of them go on in the end."""

    def __init__(self, servers: Sequence[Server], *, wanted: bool) -> None:
        self._servers = servers if wanted else ()
        for server in self._servers:
            _send(server, signal.SIGSTOP)

    @contextmanager
    def let_go_on(self, server: Server) -> Iterator[None]:
        """Only this one runs in the block."""
        if server not in self._servers:
            yield
            return
        _send(server, signal.SIGCONT)
        try:
            yield
        finally:
            _send(server, signal.SIGSTOP)

    def close(self) -> None:
        """All run again."""
        for server in self._servers:
            _send(server, signal.SIGCONT)


@contextmanager
def frozen(servers: Sequence[Server], *, wanted: bool) -> Iterator[Freezer]:
    """Stops servers of ours and their proxies for the block, if wanted; those that are reached by
    URL or live in our own process have no processes to stop. Whatever dies, the guard kills what
    is stopped as it does the rest."""
    freezer = Freezer(servers, wanted=wanted)
    try:
        yield freezer
    finally:
        freezer.close()


def _send(server: Server, what: signal.Signals) -> None:
    for pid in (*server.processes(), *server.proxies()):
        with suppress(ProcessLookupError):
            os.kill(pid, what)
