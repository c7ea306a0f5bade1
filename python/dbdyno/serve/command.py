"""The last command that measured a study, followed through its `live.log`."""

from __future__ import annotations

import os
import time
from collections import deque
from dataclasses import dataclass, field

from dbdyno.serve.inside import Inside
from dbdyno.serve.plan import list_of, number_of, text_of
from dbdyno.serve.tails import JournalTail
from dbdyno.store.journal import Entry
from dbdyno.store.places import LIVE
from dbdyno.store.study_journal import is_alive

_ALIVE_S = 3.0
"""How often the command's process is checked."""
MOST_LINES = 200
Json = dict[str, object]


@dataclass(slots=True)
class CommandWatch:
    """The command's log so far, and whether it still runs."""

    inside: Inside
    study: str
    process: Json = field(default_factory=dict)
    progress: Json = field(default_factory=dict)
    """`share` from 0 to 1, `left_s` at least and at most, and `as_of`, when they were logged."""
    answers: list[Json] = field(default_factory=list)
    """After each block, in order."""
    printed: deque[Json] = field(default_factory=lambda: deque(maxlen=MOST_LINES))
    runs: dict[str, str] = field(default_factory=dict)
    """Run → state, of runs that have started or ended since `runs` was last cleared."""
    is_over: bool = False
    _alive: bool = False
    _due_s: float = 0.0
    _tail: JournalTail = field(init=False)

    def __post_init__(self) -> None:
        self._tail = JournalTail(self.inside, self.study, LIVE)

    @property
    def is_running(self) -> bool:
        """Whether its process exists and has not logged its end."""
        if not self.process or self.is_over:
            return False
        if time.monotonic() >= self._due_s:
            self._due_s = time.monotonic() + _ALIVE_S
            self._alive = is_alive(self.process)
        return self._alive

    @property
    def is_gone(self) -> bool:
        """Whether its process has ended without logging it: it was killed."""
        return bool(self.process) and not self.is_over and not self.is_running

    def look(self, state: os.stat_result) -> tuple[bool, bool]:
        """Reads new entries. Returns whether any was more than progress, and whether the log is
        that of another command."""
        entries, anew = self._tail.fresh(state)
        if anew:
            self.process, self.progress, self.is_over = {}, {}, False
            self.answers.clear()
            self.printed.clear()
        for entry in entries:
            self._take(entry)
        return anew or any("progress" not in entry for entry in entries), anew

    def _take(self, entry: Entry) -> None:
        at = number_of(entry.get("at"))
        match next(iter(entry), ""), next(iter(entry.values()), None):
            case "session", dict() as process:
                self.process, self._due_s = process, 0.0
            case "progress", dict() as progress:
                low, high, *_ = (*map(number_of, list_of(progress.get("left_s"))), 0.0, 0.0)
                share = min(1.0, max(0.0, number_of(progress.get("share"))))
                self.progress = {"share": share, "left_s": [low, high], "as_of": at}
            case "run", dict() as run if text_of(run.get("run")):
                self.runs[text_of(run.get("run"))] = text_of(run.get("is"))
            case "line", str() as line:
                self.printed.append({"at": at, "text": text_of(line)})
            case "answer", dict() as answer:
                self.answers.append(answer)
            case "ended", str():
                self.is_over = True
