"""The last resort: an exception that nobody foresaw is our fault, and is told in one line.

What a developer needs to mend it (where it happened, versions, the command without passwords) goes
to a file of its own. The exit code is 70, never that of a measurement that is not valid.
"""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Sequence

from dbdyno import __version__
from dbdyno.cli.terminal import say
from dbdyno.errors import EngineError

_TOLD_CHARACTERS = 200


def tell_fault(error: BaseException, arguments: Sequence[str]) -> int:
    """Says what happened in a line, keeps the rest in a file, and returns the exit code."""
    say(f"error: {_line(error)}; {_kept(error, arguments)}", err=True)
    return EngineError.exit_code


def watch_threads() -> None:
    """The same for exceptions that end a thread, and for those that nobody can catch."""

    def of_thread(raised: threading.ExceptHookArgs) -> None:
        if raised.exc_value is not None and not isinstance(raised.exc_value, SystemExit):
            name = raised.thread.name if raised.thread else "?"
            kept = _kept(raised.exc_value, sys.argv[1:])
            say(f"note: thread `{name}` has ended: {_line(raised.exc_value)}; {kept}", err=True)

    def of_clean_up(unraisable: sys.UnraisableHookArgs) -> None:
        if unraisable.exc_value is not None and not isinstance(
            unraisable.exc_value, BrokenPipeError
        ):
            kept = _kept(unraisable.exc_value, sys.argv[1:])
            say(f"note: while cleaning up: {_line(unraisable.exc_value)}; {kept}", err=True)

    threading.excepthook = of_thread
    sys.unraisablehook = of_clean_up


def _line(error: BaseException) -> str:
    words = " ".join(str(error).split())
    text = f"{type(error).__name__}: {words}" if words else type(error).__name__
    return f"a fault of dbdyno's own: {_without_passwords(text)[:_TOLD_CHARACTERS]}"


def _kept(error: BaseException, arguments: Sequence[str]) -> str:
    """Where the details are; a disk that is full must not hide the first fault."""
    # Only a fault pays for these imports.
    import platform
    import tempfile
    import traceback

    words = " ".join(["dbdyno", *arguments])
    head = f"dbdyno {__version__}, Python {platform.python_version()}, {platform.platform()}"
    text = "\n".join((head, words, "", *traceback.format_exception(error)))
    try:
        number, path = tempfile.mkstemp(prefix="dbdyno-fault-", suffix=".txt")
        with os.fdopen(number, "w", errors="backslashreplace") as file:
            file.write(_without_passwords(text))
    except OSError as failure:
        return f"its details can't be kept: {failure.strerror}"
    return f"details for a report are in {path}"


def _without_passwords(text: str) -> str:
    # The URL parser is not needed to start.
    from dbdyno.formats.passwords import without_passwords

    return without_passwords(text)
