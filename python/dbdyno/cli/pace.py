"""The progress and speed of a long phase of the engine."""

from __future__ import annotations

from dbdyno.cli.text import count
from dbdyno.model import Progress


class Pace:
    """Formats progress reports, with the speed since the phase's first one."""

    def __init__(self) -> None:
        self._first: Progress | None = None

    def text(self, progress: Progress) -> str:
        """`200,000 rows (85,000/s)`; the first report has no speed yet."""
        first = self._first
        if first is None or first.what != progress.what or first.done > progress.done:
            first = self._first = progress
        of = f" of {count(progress.total)}" if progress.total else ""
        seconds = (progress.at_ns - first.at_ns) / 1e9
        speed = f" ({count((progress.done - first.done) / seconds)}/s)" if seconds > 0 else ""
        return f"{count(progress.done)}{of} {progress.what}{speed}"
