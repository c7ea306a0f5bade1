"""Work that Ctrl-C may not cut in two: what a dead guard has left is put right as a whole."""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_INTERRUPTING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def uninterrupted() -> Iterator[None]:
    """A signal that would interrupt the block does so at its end.

    Only the main thread is ever interrupted: in others nothing is done.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    came: list[int] = []
    before = {
        number: handler
        for number in _INTERRUPTING
        if (handler := signal.getsignal(number)) not in (signal.SIG_IGN, None)
    }
    for number in before:
        signal.signal(number, lambda came_now, _frame: came.append(came_now))
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        for waiting in dict.fromkeys(came):
            signal.raise_signal(signal.Signals(waiting))
