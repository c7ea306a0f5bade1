"""A thread of a collector's own that does something some twenty times a second."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from dbdyno.errors import ServerError
from dbdyno.thread import WorkThread

SPACING_S = 0.05
"""Between two beats; a beat that takes longer delays the next."""


@dataclass(slots=True)
class Beats:
    """Runs from `begin` to `end`."""

    beat: Callable[[int], None]
    """Gets the beat's number, from 1. May raise `ServerError`: the next beat tries again."""
    spend: Callable[[float], None]
    """Gets the thread's processor time, seconds, as it grows."""
    _failure: ServerError | None = None
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: WorkThread | None = None
    _cpu_s: float = 0.0
    _spent_s: float = 0.0

    def begin(self) -> None:
        """Beats in a thread of its own from now on."""
        self._thread = WorkThread(self._run)
        self._thread.start()

    def _run(self) -> None:
        number, due = 0, time.monotonic()
        while not self._over.wait(max(0.0, due - time.monotonic())):
            due = max(due + SPACING_S, time.monotonic())
            number += 1
            try:
                self.beat(number)
            except ServerError as error:
                self._failure = error
            self._cpu_s = time.thread_time()

    def settle(self) -> None:
        """Hands on what was spent. Raises the last failure since it was called before."""
        spent_s = self._cpu_s
        self.spend(spent_s - self._spent_s)
        self._spent_s = spent_s
        failure, self._failure = self._failure, None
        if failure is not None:
            raise failure

    def end(self) -> None:
        """Waits until the last beat is over."""
        self._over.set()
        if self._thread is not None:
            self._thread.wait()
