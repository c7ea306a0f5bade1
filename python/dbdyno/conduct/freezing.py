"""Stops the processes of servers while it is not their turn (`[design] freeze`), so that what they
do in the background takes nothing from the server that is measured."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import psutil

from dbdyno.servers import Server

_STOPS_WITHIN_S = 1.0
"""A process in a call that can't be interrupted, such as writing to disk, stops when it returns."""
_AT_REST = {psutil.STATUS_STOPPED, psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD}


class Freezer:
    """Holds servers; `frozen` makes it, and lets all of them go on in the end."""

    def __init__(self, servers: Sequence[Server], *, wanted: bool) -> None:
        self._servers = servers if wanted else ()
        for server in self._servers:
            _stop(server)

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
            _stop(server)

    def close(self) -> None:
        """Lets all servers run again."""
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


def _stop(server: Server) -> None:
    """Waits until all its processes have stopped, those too that were just being forked."""
    until_s = time.monotonic() + _STOPS_WITHIN_S
    _send(server, signal.SIGSTOP)
    while any(_runs(pid) for pid in _pids(server)) and time.monotonic() < until_s:
        _send(server, signal.SIGSTOP)


def _runs(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() not in _AT_REST
    except psutil.NoSuchProcess:
        return False


def _pids(server: Server) -> tuple[int, ...]:
    return (*server.node.processes(), *server.entry.proxies())


def _send(server: Server, what: signal.Signals) -> None:
    for pid in _pids(server):
        with suppress(ProcessLookupError):
            os.kill(pid, what)
