"""Canaries: short known work between turns. What it takes tells how fast the machine is just then,
whatever is compared."""

from __future__ import annotations

import os
import socket
import tempfile
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

from dbdyno.model import Canary

_EACH_S = 0.05
_SPUN = bytes(256 << 10)
"""Fits a processor's own cache, and takes long enough for threads not to wait for one another."""
_COPIED_BYTES = 32 << 20
"""More than most last-level caches lend to one thread."""
_PIECE_BYTES = 4 << 20
_PAGE = bytes(4 << 10)
_MESSAGE = bytes(64)


class Canaries:
    """All canaries, ready to run. `folder`: where what is written goes, on the servers' disk.

    Keeps 64 MiB of memory until it is left.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            self._processors = len(os.sched_getaffinity(0))
            self._from = memoryview(bytearray(_COPIED_BYTES))
            self._to = memoryview(bytearray(_COPIED_BYTES))
            self._file = stack.enter_context(tempfile.TemporaryFile(dir=self._folder, buffering=0))
            with socket.create_server(("127.0.0.1", 0)) as server:
                self._near = stack.enter_context(socket.create_connection(server.getsockname()))
                self._far = stack.enter_context(server.accept()[0])
            for end in (self._near, self._far):
                end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._exits = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._exits.close()

    def run(self) -> Canary:
        """One after another, 50 ms each."""
        return Canary(
            spin=_spin_on(self._processors),
            copy=_rate(self._copy) * _PIECE_BYTES,
            fsync=self._fsync_rate(),
            round_trip=_rate(self._round_trip),
        )

    def _copy(self, number: int) -> None:
        begin = number * _PIECE_BYTES % _COPIED_BYTES
        piece = slice(begin, begin + _PIECE_BYTES)
        self._to[piece] = self._from[piece]

    def _fsync_rate(self) -> float | None:
        """`None` where nothing can be written: a full disk spoils a study by itself."""
        try:
            return _rate(self._fsync)
        except OSError:
            return None

    def _fsync(self, _: int) -> None:
        os.pwrite(self._file.fileno(), _PAGE, 0)
        os.fsync(self._file.fileno())

    def _round_trip(self, _: int) -> None:
        for sender, receiver in ((self._near, self._far), (self._far, self._near)):
            sender.sendall(_MESSAGE)
            receiver.recv(len(_MESSAGE), socket.MSG_WAITALL)


def _spin_on(processors: int) -> float:
    """The rates of as many threads, added."""
    rates: list[float] = []
    threads = [
        threading.Thread(target=lambda: rates.append(_rate(_spin))) for _ in range(processors)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return sum(rates)


def _spin(_: int) -> None:
    zlib.crc32(_SPUN)


def _rate(work: Callable[[int], None]) -> float:
    """How often a second `work` can be done; it gets the number of times it has been done."""
    done, began_s = 0, time.perf_counter()
    while (passed_s := time.perf_counter() - began_s) < _EACH_S:
        work(done)
        done += 1
    return done / passed_s
