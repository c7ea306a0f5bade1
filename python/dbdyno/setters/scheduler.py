"""The kernel's scheduling of the server: its class, real-time priority and nice value."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import REAL_TIME, SCHEDULERS, Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import (
    Applied,
    Facts,
    Scene,
    nice_of,
    of_processes,
    one_of,
    table,
    whole_number,
    without_programs,
    without_root,
)

_NAMES = {number: name for name, number in SCHEDULERS.items()}


USUAL_NICE = 0
"""The nice value of a server whose study names none, whatever this command's own is."""


class Scheduler:
    """A class by name, or a table of `class`, `priority`, `nice`."""

    name: ClassVar[str] = "scheduler"

    def read(self, value: object) -> Launch:
        """The options for launching the server."""
        given = {"class": value} if isinstance(value, str) else value
        asked = table(given, "class", "priority", "nice", instead="a class by name")
        chosen = one_of(asked["class"], *SCHEDULERS) if "class" in asked else None
        if (chosen in REAL_TIME) != ("priority" in asked):
            raise ValueError(
                "expected a `priority` with the classes `fifo` and `rr` and with no other; "
                f"found {value!r}"
            )
        priority = whole_number(asked["priority"], 1, 99) if "priority" in asked else 0
        nice = whole_number(asked["nice"], -20, 19) if "nice" in asked else None
        return Launch(scheduler=chosen, priority=priority, nice=nice)

    def missing(self, value: Launch) -> tuple[Missing, ...]:
        """Missing root, for precedence over others; or a kernel that allows it."""
        if value.scheduler not in REAL_TIME:
            nice = USUAL_NICE if value.nice is None else value.nice
            if nice >= nice_of(0):
                return ()
            return without_root(f"give a server nice {nice} from a command with nice {nice_of(0)}")
        lacking = (
            *without_root("use a real-time class"),
            *without_programs({"chrt": "util-linux"}),
        )
        if lacking:
            return lacking
        argv = ["chrt", f"--{value.scheduler}", str(value.priority), "true"]
        tried = subprocess.run(argv, capture_output=True, check=False)
        if tried.returncode == 0:
            return ()
        cure = (
            "give our control group real-time runtime (cpu.rt_runtime_us), or leave the container"
        )
        return (Missing(f"the kernel refuses the class {value.scheduler}", cure),)

    def apply(self, value: Launch, _: Guarded, __: Scene) -> Applied:
        """Nothing to undo: the setting ends with the processes."""
        ours = {
            "class": _NAMES.get(os.sched_getscheduler(0), ""),
            "priority": os.sched_getparam(0).sched_priority,
            "nice": nice_of(0),
        }
        if value.nice is None:
            value = replace(value, nice=USUAL_NICE)
        changed = {"class": value.scheduler, "priority": value.priority, "nice": value.nice}
        after = {**ours, **{key: word for key, word in changed.items() if word is not None}}
        return Applied(before=ours, after=after, server=value, witness=_classes)


def _classes(pids: Sequence[int]) -> Facts:
    classes = of_processes(pids, lambda pid: _NAMES.get(os.sched_getscheduler(pid), "unknown"))
    nices = of_processes(pids, nice_of)
    return {"class": " and ".join(sorted(classes)), "nice": sorted(nices)}


SETTER = Scheduler()
