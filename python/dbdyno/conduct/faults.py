"""Carries out a timetable of faults beside a load, in a thread of its own.

What is done is in `acts`. A fault is over once the member takes statements again.
"""

from __future__ import annotations

import select
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from random import Random
from typing import Any

from dbdyno.conduct.acts.act import Scene, port_of
from dbdyno.conduct.acts.registry import ACTS
from dbdyno.conduct.during import During
from dbdyno.errors import ServerError
from dbdyno.model.fault import ACTIVE, DueFault, FaultResult
from dbdyno.servers import Server
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Member
from dbdyno.thread import WorkThread

ALONE = "server"
"""The name of a single server, as a member."""
_FIND_LIMIT_S = 30.0
_POLL_S = 0.05


def unheard(_text: str, _unix_ns: int) -> None:
    """Nobody is told what begins or is over."""


@dataclass(slots=True)
class Faults:
    """Of one step: `begin` once the load's clock is known, `end` when the load is over."""

    server: Server
    target: Mapping[str, Any]
    due: Sequence[DueFault]
    seed: int
    journal: Callable[[str, int], None] = unheard
    """Gets what begins or is over, and when by the wall clock."""
    origin_ns: int = 0
    """The window's beginning by the monotonic clock."""
    results: list[FaultResult] = field(default_factory=list)
    _over: threading.Event = field(default_factory=threading.Event)
    _thread: WorkThread | None = None

    def begin(self, window_unix_ns: int) -> None:
        """Starts the timetable of a window that begins at this time of the wall clock."""
        if self._thread is None:
            self.origin_ns = time.monotonic_ns() + window_unix_ns - time.time_ns()
            self._thread = WorkThread(self.make_all)
            self._thread.start()

    def end(self) -> None:
        """No further fault begins; waits until the last one is over. Raises what went wrong."""
        self._over.set()
        if self._thread is not None:
            self._thread.wait()

    def make_all(self) -> None:
        """Carries out the timetable, and returns when it or the load is over. Raises `LabError` if
        a member can't be found, or does not come back."""
        random = Random(f"members {self.seed}")
        for due in self.due:
            begins_ns = self.origin_ns + round(due.at_s * 1e9)
            if self._over.wait(max(0.0, (begins_ns - time.monotonic_ns()) / 1e9)):
                return
            self._make(due, random)

    def _make(self, due: DueFault, random: Random) -> None:
        fault = due.fault
        member = self._member(fault.member, random)
        act = ACTS[fault.do](Scene(self.server, member, fault))
        during = During(member, fault.during) if fault.during else None
        met = None if during is None else during.begin()
        try:
            self.journal(f"{fault.do} {member.name}", time.time_ns())
            begun = act.begin()
            try:
                self._over.wait(max(0.0, fault.for_s - (time.monotonic_ns() - begun.at_ns) / 1e9))
            finally:
                act.end()
        finally:
            if during is not None:
                during.end()
        back_ns = time.monotonic_ns() - self.origin_ns
        self.journal(f"{fault.do} {member.name} is over", time.time_ns())
        promoted_ns = begun.promoted_ns
        result = FaultResult(
            begun.at_ns - self.origin_ns,
            fault.do,
            member.name,
            back_ns,
            met_statement=met,
            promoted=begun.promoted,
            promoted_ms=None if promoted_ns is None else (promoted_ns - begun.at_ns) / 1e6,
        )
        self.results.append(result)

    def _member(self, name: str, random: Random) -> Member:
        members = tuple(self.server.members) or (Member(ALONE, ALONE, self.server),)
        if name == ACTIVE:
            return self._active(members)
        meant = [member for member in members if name == member.role]
        meant = meant or [member for member in members if name == member.name]
        return random.choice([member for member in meant if member.server.alive()] or meant)

    def _active(self, members: Sequence[Member]) -> Member:
        """The member that a new connection of a client reaches, by its port."""
        if len(members) == 1:
            return members[0]
        ports = {port_of(member): member for member in members}
        deadline = time.monotonic() + _FIND_LIMIT_S
        while time.monotonic() < deadline:
            with suppress(ServerError):
                session = client_session(self.target, 2.0)
                try:
                    port = session.port()
                finally:
                    session.close()
                if port in ports:
                    return ports[port]
            select.select([], [], [], _POLL_S)
        raise ServerError(
            f"no member has served a client for {_FIND_LIMIT_S:.0f} s: the next fault finds no "
            "active one",
            hint="the members' logs say why",
        )
