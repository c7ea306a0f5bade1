"""What a collector's queries cost the server: the processor time of the threads that serve its
sessions, by the kernel's account.

Of a server on another machine, or one whose threads serve many sessions in turn, it is not known.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from dbdyno.collect.tree import TICKS_PER_S, Tree
from dbdyno.model import SampledSession


def total_s(costs_s: Iterable[float | None]) -> float | None:
    """Their sum, seconds; `None`, not known, where one of them is not."""
    total = 0.0
    for cost_s in costs_s:
        if cost_s is None:
            return None
        total += cost_s
    return total


class Served:
    """The account of one collector's sessions, from when it first looks at each."""

    def __init__(self, ask: Callable[[], SampledSession | None], tree: Tree | None = None) -> None:
        self._ask = ask
        self._tree = tree or Tree()
        self._sessions: list[SampledSession] = []
        self._lock = threading.Lock()
        self._last: dict[int, float] = {}
        """Thread that serves now → its processor time, seconds."""
        self._cpu_s: float | None = 0.0

    def ask(self) -> SampledSession | None:
        """Opens a session and keeps account of it."""
        return self.asking(self._ask)()

    def asking(
        self, ask: Callable[[], SampledSession | None]
    ) -> Callable[[], SampledSession | None]:
        """Makes `ask`, which opens sessions with another server, keep account of them as well."""

        def opened() -> SampledSession | None:
            session = ask()
            if session is not None:
                self._sessions.append(session)
            return session

        return opened

    def look(self) -> None:
        """Sees who serves the sessions now; by the thread that uses them, after each sample, so
        that a session made anew loses one sample of the account."""
        threads = {session.serving_thread() for session in self._sessions}
        self.cpu_s()
        with self._lock:
            known = {thread: self._thread_s(thread) for thread in threads if thread is not None}
            measured = {thread: cpu_s for thread, cpu_s in known.items() if cpu_s is not None}
            if len(measured) < len(threads):
                self._cpu_s = None
            self._last = {
                thread: self._last.get(thread, cpu_s) for thread, cpu_s in measured.items()
            }

    def cpu_s(self) -> float | None:
        """Seconds that the server spent on the sessions so far; `None`: not known."""
        with self._lock:
            for thread, last_s in self._last.items():
                now_s = self._thread_s(thread)
                if now_s is not None and self._cpu_s is not None:
                    self._cpu_s += max(0.0, now_s - last_s)
                    self._last[thread] = now_s
            return self._cpu_s

    def _thread_s(self, thread: int) -> float | None:
        """To the nanosecond where the kernel tells; `None` when it has ended."""
        folder = f"proc/{thread}/task/{thread}"
        ran_ns, *_ = (self._tree.text(f"{folder}/schedstat") or "0").split()
        if int(ran_ns):
            return int(ran_ns) / 1e9
        stat = (self._tree.text(f"{folder}/stat") or "").rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / TICKS_PER_S if stat else None
