"""Separate processors for server and client; or of every core all hardware threads or just one."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Facts, Scene, of_processes, table, without_programs

_SIDES = ("server", "client")
_TOPOLOGY = Path("/sys/devices/system/cpu")


class Cpus:
    """A table of `server` and `client`: `"0-3,6"`, a list of numbers, `"threads"` (all that we may
    use), `"cores"` (the first hardware thread of each core) or `"1/4"` (that share of them)."""

    name: ClassVar[str] = "cpus"

    def read(self, value: object) -> Mapping[str, tuple[int, ...]]:
        """Side → processor numbers, in order."""
        return {side: _numbers(cpus) for side, cpus in table(value, *_SIDES).items()}

    def missing(self, value: Mapping[str, tuple[int, ...]]) -> tuple[Missing, ...]:
        """Processors that we may not use, and programs needed to bind the client."""
        ours = os.sched_getaffinity(0)
        lacking = sorted({cpu for cpus in value.values() for cpu in cpus} - ours)
        programs = without_programs({"taskset": "util-linux"}) if "client" in value else ()
        if not lacking:
            return programs
        there = as_text(sorted(ours))
        message = f"processor {lacking[0]} is not available; {there} are"
        return (Missing(message, "name others, or run on a larger machine"), *programs)

    def apply(self, value: Mapping[str, tuple[int, ...]], _: Guarded, __: Scene) -> Applied:
        """Nothing to undo: the binding ends with the processes."""
        return Applied(
            before=dict.fromkeys(value, as_text(sorted(os.sched_getaffinity(0)))),
            after={side: as_text(cpus) for side, cpus in value.items()},
            server=Launch(cpus=value.get("server", ())),
            client=Launch(cpus=value.get("client", ())),
            witness=_affinities,
        )


def as_text(cpus: Sequence[int]) -> str:
    """Ordered numbers as the kernel writes them: `0-3,6`."""
    spans: list[list[int]] = []
    for cpu in cpus:
        if spans and cpu == spans[-1][-1] + 1:
            spans[-1][1:] = [cpu]
        else:
            spans.append([cpu])
    return ",".join("-".join(map(str, span)) for span in spans)


def first_of_cores(cpus: Sequence[int], topology: Path = _TOPOLOGY) -> tuple[int, ...]:
    """The processor with the smallest number of each core; all of them if the kernel does not
    tell."""
    first: dict[tuple[str, ...], int] = {}
    for cpu in sorted(cpus):
        first.setdefault(_core(cpu, topology / f"cpu{cpu}" / "topology"), cpu)
    return tuple(first.values())


def share(cpus: Sequence[int], part: int, parts: int) -> tuple[int, ...]:
    """The first of `cpus`: `part` of `parts`, rounded down, one at least."""
    return tuple(sorted(cpus))[: max(1, len(cpus) * part // parts)]


def _core(cpu: int, folder: Path) -> tuple[str, ...]:
    try:
        return tuple((folder / name).read_text() for name in ("physical_package_id", "core_id"))
    except OSError:
        return (str(cpu),)


def _affinities(pids: Sequence[int]) -> Facts:
    seen = of_processes(pids, lambda pid: as_text(sorted(os.sched_getaffinity(pid))))
    return {"server": " and ".join(sorted(seen))}


def _numbers(value: object) -> tuple[int, ...]:
    """Raises `ValueError`: what was expected, what was found."""
    expected = 'expected processors such as "0-3,6" or [0, 1], "cores", "threads" or a share, "1/4"'
    if value in ("cores", "threads"):
        ours = sorted(os.sched_getaffinity(0))
        return first_of_cores(ours) if value == "cores" else tuple(ours)
    if match := re.fullmatch(r"([1-9]\d{0,3})/([1-9]\d{0,3})", str(value)):
        taken, parts = map(int, match.groups())
        if taken > parts:
            raise ValueError(f"{expected}; found {value!r}")
        return share(list(os.sched_getaffinity(0)), taken, parts)
    if isinstance(value, list | tuple):
        if value and all(type(cpu) is int and cpu >= 0 for cpu in value):
            return tuple(sorted(set(value)))
        raise ValueError(f"{expected}; found {value!r}")
    cpus: set[int] = set()
    for part in str(value).split(","):
        first, dash, last = part.strip().partition("-")
        if not first.isdecimal() or not (last.isdecimal() if dash else True):
            raise ValueError(f"{expected}; found {value!r}")
        span = range(int(first), int(last or first) + 1)
        if not 0 < len(span) <= 4096:
            raise ValueError(f"{expected}; found {value!r}")
        cpus.update(span)
    return tuple(sorted(cpus))


SETTER = Cpus()
