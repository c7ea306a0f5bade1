"""Holds the machine that a scale is meant for against this one."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.model import Needs

_KEPT_BY_THE_KERNEL = 0.1
"""Share of the memory that a machine may seem to lack: firmware and kernel take theirs first."""


@dataclass(frozen=True, slots=True)
class Machine:
    """What this one has."""

    cores: int
    """As the operating system counts them."""
    memory_bytes: int


def this_machine() -> Machine:
    """Whatever limits are set on this process."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return Machine(os.cpu_count() or 1, memory)


def at_least(machine: Machine, needs: Needs) -> Machine:
    """The machine that a scale is meant for, where that is larger than `machine`."""
    return Machine(
        max(machine.cores, needs.cores or 0), max(machine.memory_bytes, needs.memory_bytes or 0)
    )


def lacks(needs: Needs, machine: Machine) -> Iterator[str]:
    """What there is too little of here: `cores`, `memory`. A run is not refused for it: it may
    still show something, at another price."""
    if needs.cores is not None and machine.cores < needs.cores:
        yield "cores"
    least = (needs.memory_bytes or 0) * (1 - _KEPT_BY_THE_KERNEL)
    if machine.memory_bytes < least:
        yield "memory"
