"""Makes a second Ctrl-C end the program within a second, whatever it is doing.

The first one ends it in order: servers are stopped, measurements kept. That may take a while, or
hang. Guards remove the servers and folders of a dead lab.
"""

from __future__ import annotations

import os
import signal
import threading

from dbdyno.errors import InterruptedRunError

LAST_WORDS_S = 0.8
"""How long the program may still take after the second signal."""

_ENDING = frozenset((signal.SIGINT, signal.SIGTERM))


def end_at_second_signal() -> None:
    """Begins to watch; call it once, on the main thread.

    Signals come through a pipe that Python writes to from within the handler itself: Python's own
    handlers run only when the main thread is back from whatever it is waiting for.
    """
    ours, signals = os.pipe()
    os.set_blocking(signals, False)
    signal.set_wakeup_fd(signals, warn_on_full_buffer=False)
    threading.Thread(target=_watch, args=(ours,), name="signals", daemon=True).start()


def _watch(pipe: int) -> None:
    heard = 0
    while heard < 2:
        heard += sum(number in _ENDING for number in os.read(pipe, 64))
    threading.Event().wait(LAST_WORDS_S)
    os._exit(InterruptedRunError.exit_code)
