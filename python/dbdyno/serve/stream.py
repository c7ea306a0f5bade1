"""Server-sent events of a study: its files are read once a second for all watchers together, and a
watcher that comes late or reconnects gets what it lacks."""

from __future__ import annotations

import asyncio
import json
import time
from collections import deque
from collections.abc import AsyncIterator
from contextlib import suppress
from dataclasses import dataclass, field

from dbdyno.serve.panels import Line, Lines, Point, rank_of
from dbdyno.serve.watching import StudyWatch

LOOK_S = 1.0
MOST_KEPT = 600
"""Events kept for watchers that reconnect; those that lack more get everything anew."""
MOST_WATCHERS = 100


@dataclass(frozen=True, slots=True)
class Event:
    """One event with its number."""

    number: int
    kind: str
    data: str

    def bytes(self) -> bytes:
        """The event as it is sent; dumped JSON has no line feeds."""
        return f"id: {self.number}\nevent: {self.kind}\ndata: {self.data}\n\n".encode()


@dataclass(slots=True)
class Channel:
    """The events of a study while somebody watches it."""

    watch: StudyWatch
    watchers: int = 0
    _events: deque[Event] = field(default_factory=lambda: deque(maxlen=MOST_KEPT))
    _number: int = field(default_factory=lambda: time.time_ns() // 1_000_000)
    """Of the newest event. It begins at the clock's milliseconds, which pass faster than events
    come: a number from an earlier channel of the study is lower than all of this channel's."""
    _state: str = ""
    _fresh: asyncio.Event = field(default_factory=asyncio.Event)
    _task: asyncio.Task[None] | None = None

    async def events(self, last: int | None) -> AsyncIterator[bytes]:
        """First everything, or only the events after number `last`; then each new event."""
        self.watchers += 1
        try:
            await self._begin()
            number = self._number
            if last is not None and self._has_after(last):
                number = last
            else:
                for kind, data in self._everything():
                    yield Event(number, kind, data).bytes()
            while True:
                for event in [event for event in self._events if event.number > number]:
                    number = event.number
                    yield event.bytes()
                await self._fresh.wait()
        finally:
            self.watchers -= 1
            if not self.watchers and self._task is not None:
                self._task.cancel()
                self._task = None

    def _has_after(self, last: int) -> bool:
        """Whether all events after number `last` are kept; not if it is of another channel."""
        return bool(self._events) and self._events[0].number <= last + 1 <= self._number + 1

    async def _begin(self) -> None:
        if self._task is None:
            self._look()
            self._task = asyncio.create_task(self._go_on())

    async def _go_on(self) -> None:
        while True:
            await asyncio.sleep(LOOK_S)
            self._look()
            self._fresh.set()
            self._fresh = asyncio.Event()

    def _look(self) -> None:
        self.watch.look()
        if self.watch.changed:
            self.watch.changed = False
            state = _dumped(self.watch.state())
            if state != self._state:
                self._state = state
                self._add("state", state)
        points = self.watch.lines.taken()
        if points:
            self._add("points", _dumped(points_of(self.watch.lines, points)))
        self._add("progress", _dumped(self.watch.progress()))

    def _add(self, kind: str, data: str) -> None:
        self._number += 1
        self._events.append(Event(self._number, kind, data))

    def _everything(self) -> list[tuple[str, str]]:
        lines = self.watch.lines
        whole = {line: list(points) for line, points in lines.points.items()}
        return [
            ("state", self._state),
            ("all-points", _dumped(points_of(lines, whole))),
            ("progress", _dumped(self.watch.progress())),
        ]


def points_of(lines: Lines, points: dict[Line, list[Point]]) -> dict[str, object]:
    """Panels and points in the form that the page reads."""
    names = {panel for panel, _ in points}
    return {
        "panels": {
            name: {"title": panel.title, "unit": panel.unit, "rank": rank_of(panel)}
            for name, panel in lines.panels.items()
            if name in names
        },
        "lines": [[panel, whose, there] for (panel, whose), there in points.items()],
    }


def last_seen(header: str | None) -> int | None:
    """The number in the header `Last-Event-ID`; `None` if it holds no number."""
    with suppress(ValueError, TypeError):
        if header is not None and len(header) < 20:
            return int(header)
    return None


def _dumped(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
