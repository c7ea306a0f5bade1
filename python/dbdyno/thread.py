"""A thread whose error is raised where somebody waits for its end."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence


class WorkThread(threading.Thread):
    """Does `work`, and never keeps the process alive."""

    def __init__(self, work: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self._error: BaseException | None = None

    def run(self) -> None:
        """Called by `start`."""
        try:
            self._work()
        except BaseException as error:  # noqa: BLE001 — raised where it is waited for
            self._error = error

    def wait(self, limit_s: float | None = None) -> bool:
        """Whether it has ended within `limit_s` (`None`: however long that takes). Raises what
        ended it."""
        self.join(limit_s)
        if self.is_alive():
            return False
        if self._error is not None:
            raise self._error
        return True


def wait_for_all(threads: Sequence[WorkThread], limit_s: float) -> bool:
    """Whether all have ended within `limit_s`. Raises what ended one, once all have ended."""
    deadline = time.monotonic() + limit_s
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    if any(thread.is_alive() for thread in threads):
        return False
    return all(thread.wait() for thread in threads)
