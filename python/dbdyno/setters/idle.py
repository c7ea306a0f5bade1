"""What processors do while they have nothing to do: sleep as the kernel decides, or poll for work.

A processor that sleeps must be woken, which takes longer than a small statement does: some
microseconds on hardware, tens of them on a virtual machine, where the hypervisor has its part and
its own noise. Polling is what tuning profiles for low latency choose. The kernel is told per
processor how long waking may take (`pm_qos_resume_latency_us`).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import read_switch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Scene, is_needed, one_of, table, without_switch

_PROCESSORS = Path("/sys/devices/system/cpu")
_NO_LATENCY = "n/a"
"""The kernel's word for "waking may take no time at all"; 0 is "as long as it likes"."""


class Idle:
    """`"poll"`, or a table of `how = "poll"` and `needed`."""

    name: ClassVar[str] = "idle"

    def read(self, value: object) -> bool:
        """Whether it is needed."""
        given = {"how": value} if isinstance(value, str) else value
        asked = table(given, "how", "needed", instead="`poll`")
        one_of(asked.get("how"), "poll")
        return is_needed(asked)

    def missing(self, value: bool) -> tuple[Missing, ...]:
        """Missing root, or a kernel that puts processors to sleep by a driver it can be told of."""
        return _lacking() if value else ()

    def apply(self, _: bool, guarded: Guarded, __: Scene) -> Applied:
        """Writes the switches; none where the machine lacks what it takes."""
        before = _idling()
        if not _lacking():
            for switch in _switches():
                guarded.write(switch, _NO_LATENCY)
        return Applied(before=before, after=_idling())


def _switches() -> tuple[Path, ...]:
    return tuple(sorted(_PROCESSORS.glob("cpu[0-9]*/power/pm_qos_resume_latency_us")))


def _lacking() -> tuple[Missing, ...]:
    driver = _PROCESSORS / "cpuidle/current_driver"
    if not driver.exists() or driver.read_text().strip() == "none" or not _switches():
        cure = "boot with a cpuidle driver (virtual machines: haltpoll)"
        return (Missing("the kernel has no driver for idle processors", cure),)
    return without_switch(*_switches())


def _idling() -> Mapping[str, object]:
    if not _switches():
        return {"idle": "unknown"}
    polling = all(read_switch(switch) == _NO_LATENCY for switch in _switches())
    return {"idle": "poll" if polling else "sleep"}


SETTER = Idle()
