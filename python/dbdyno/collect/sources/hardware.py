"""What the processor itself counts of the server: cycles, instructions, misses of the last-level
cache and of the data TLB.

Only for studies that ask for it (`collect = ["hardware"]`): the kernel saves these counters at
every context switch of the server, which takes time of its own. They belong to the threads that
there are when sampling begins, and to all that these start. Where the processor has too few
counters for all at once, the kernel takes turns, and what it counted stands for the whole time.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.model import Metric, Missing, Reading

_CALLS = {"x86_64": 298, "aarch64": 241}
"""Number of the system call `perf_event_open`, which the C library does not have."""
_HARDWARE, _CACHE = 0, 3
_DATA_TLB, _STORES, _MISSES = 3, 1 << 8, 1 << 16
EVENTS: Mapping[str, tuple[int, int]] = {
    "cycles": (_HARDWARE, 0),
    "instructions": (_HARDWARE, 1),
    # Not the event `LLC-load-misses`, which many processors lack.
    "llc_misses": (_HARDWARE, 3),
    "dtlb_load_misses": (_CACHE, _DATA_TLB | _MISSES),
    "dtlb_store_misses": (_CACHE, _DATA_TLB | _STORES | _MISSES),
}
"""Metric → type and number of the event, as the kernel's `perf_event.h` has them."""

_SIZE = 64
_TIMES = 3
"""Asks for the time that the counter was wanted, and the time that it ran."""
_INHERIT = 2
_NOBODY = (errno.ESRCH,)
_NOT_HERE = (errno.ENOENT, errno.EOPNOTSUPP, errno.ENODEV, errno.EINVAL)


@dataclass(slots=True)
class Counters:
    """Counters of one event each on each thread of some processes, and of what these start."""

    events: Mapping[str, tuple[int, int]]
    _open: dict[str, list[int]] = field(default_factory=dict)

    def watch(self, pids: Sequence[int]) -> None:
        """Begins to count. Raises `OSError` where that may not be; what there is not is left out,
        and so are threads that have just ended."""
        for thread in (thread for pid in pids for thread in _threads(pid)):
            for name, (kind, number) in self.events.items():
                try:
                    self._open.setdefault(name, []).append(_open_counter(kind, number, thread))
                except OSError as error:
                    if error.errno not in (*_NOBODY, *_NOT_HERE):
                        self.close()
                        raise

    @property
    def counted(self) -> tuple[str, ...]:
        """The events there are."""
        return tuple(name for name, counters in self._open.items() if counters)

    def sample(self) -> Iterable[Reading]:
        """Sums since the beginning."""
        for name in self.counted:
            yield Reading(name, sum(map(_value, self._open[name])), "server")

    def close(self) -> None:
        """Closes the counters' descriptors."""
        for counter in (counter for all_ in self._open.values() for counter in all_):
            os.close(counter)
        self._open.clear()


def _threads(pid: int) -> Iterable[int]:
    try:
        return [int(folder.name) for folder in Path(f"/proc/{pid}/task").iterdir()]
    except OSError:
        return []


def _open_counter(kind: int, number: int, thread: int) -> int:
    call = _CALLS.get(platform.machine())
    if call is None:
        raise OSError(errno.EOPNOTSUPP, "not known on this architecture")
    attributes = struct.pack("<IIQQQQQIIQ", kind, _SIZE, number, 0, 0, _TIMES, _INHERIT, 0, 0, 0)
    library = ctypes.CDLL(None, use_errno=True)
    counter = library.syscall(call, attributes, thread, -1, -1, 0)
    if counter < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    os.set_inheritable(counter, False)
    return int(counter)


def _value(counter: int) -> float:
    value, wanted, ran = struct.unpack("<QQQ", os.read(counter, 24))
    return value * wanted / ran if ran else float(value)


def _open_readings(watched: Watched) -> Readings | Missing | None:
    pids = watched.server_pids()
    if not pids:
        return None
    counters = Counters(EVENTS)
    try:
        counters.watch(pids)
    except PermissionError:
        return Missing(
            "the processor's counters may not be read", "`sysctl kernel.perf_event_paranoid=1`"
        )
    except OSError as error:
        counters.close()
        return Missing(
            f"the processor's counters can't be had: {error.strerror}", "`ulimit -n` if too many"
        )
    if not counters.counted:
        return Missing(
            "this processor, or its hypervisor, counts no instructions and no misses of the TLB",
            "a machine where `perf stat -e dTLB-load-misses true` shows a number",
        )
    return counters


COLLECTOR = Collector(
    "hardware",
    "run",
    (
        Metric("cycles", "", "counter", "Processor cycles"),
        Metric("instructions", "", "counter", "Instructions"),
        Metric("llc_misses", "", "counter", "Accesses that missed the last-level cache"),
        Metric("dtlb_load_misses", "", "counter", "Reads that missed the data TLB"),
        Metric("dtlb_store_misses", "", "counter", "Writes that missed the data TLB"),
    ),
    _open_readings,
    optional=True,
)
