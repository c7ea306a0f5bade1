"""How a process is started: its processors, scheduling, control groups, network and environment.

There are two ways: the guard makes the process of a server or of an outside tool `enter` between
fork and exec, still as root; the engine, which the lab starts itself, gets `prefix` before its
arguments. Standard library only, like the guard.
"""

import ctypes
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

SCHEDULERS: Mapping[str, int] = {
    "other": os.SCHED_OTHER,
    "batch": os.SCHED_BATCH,
    "idle": os.SCHED_IDLE,
    "fifo": os.SCHED_FIFO,
    "rr": os.SCHED_RR,
}
"""Scheduling classes by the names `chrt` gives them."""
REAL_TIME = ("fifo", "rr")
"""Classes that take a priority, 1 to 99; it is 0 in the others."""

_CLONE_NEWNET = 0x40000000
_JOIN = 'for group in $1; do echo 0 > "$group/cgroup.procs" || exit 126; done; shift; exec "$@"'

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Launch:
    """Differences from an ordinary start; by default none."""

    cpus: tuple[int, ...] = ()
    """Processors it may run on; empty: all of ours."""
    scheduler: str | None = None
    """One of `SCHEDULERS`; `None`: unchanged."""
    priority: int = 0
    """Of a real-time class."""
    nice: int | None = None
    """Niceness from -20 to 19; `None`: inherited."""
    cgroups: tuple[str, ...] = ()
    """Folders of control groups to join."""
    network: str | None = None
    """A file that stands for a network namespace."""
    address: str | None = None
    """Where a server listens, if not on loopback: it is then reached over TCP."""
    hub: str | None = None
    """A file that stands for the network namespace that a server's link leads to."""
    data_parent: str | None = None
    """Where a server's data folder is made, if not where it would be otherwise."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables by name, beside those that it has anyway."""

    def joined(self, other: "Launch") -> "Launch":
        """Combines both; `other` wins on conflicts, control groups and variables add up."""
        words = {
            field.name: value
            for field in fields(other)
            if (value := getattr(other, field.name)) != field.default
        }
        groups = (*self.cgroups, *(g for g in other.cgroups if g not in self.cgroups))
        variables = tuple({**dict(self.environment), **dict(other.environment)}.items())
        added = {"cgroups": groups, "environment": variables}
        return Launch(**{**asdict(self), **words, **added})

    def document(self) -> Mapping[str, Any]:
        """As it is sent to the guard."""
        return asdict(self)

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Launch":
        """The inverse of `document`."""
        lists = {"cpus": tuple(document["cpus"]), "cgroups": tuple(document["cgroups"])}
        lists["environment"] = tuple((name, value) for name, value in document["environment"])
        return cls(**{**document, **lists})

    def enter(self) -> None:
        """Makes the calling process one that was started so.

        # Errors
        `OSError` says which step was refused.
        """
        for group in self.cgroups:
            _step(f"join {group}", lambda group=group: _join(group))
        if self.network is not None:
            network = self.network
            _step(f"enter the network namespace {network}", lambda: _enter(network))
        if self.cpus:
            _step(f"run on processors {self.cpus}", lambda: os.sched_setaffinity(0, self.cpus))
        if self.nice is not None:
            nice = self.nice
            _step(f"take nice {nice}", lambda: os.setpriority(os.PRIO_PROCESS, 0, nice))
        if self.scheduler is not None:
            number, priority = SCHEDULERS[self.scheduler], os.sched_param(self.priority)
            _step(
                f"take the scheduling class {self.scheduler} {self.priority}",
                lambda: os.sched_setscheduler(0, number, priority),
            )

    def prefix(self) -> Sequence[str]:
        """The words before the arguments of a program to be started so; each ends in an exec, so
        that the process stays the caller's own child."""
        words: list[str] = []
        if self.environment:
            words += ["env", *(f"{name}={value}" for name, value in self.environment)]
        if self.cgroups:
            words += ["sh", "-c", _JOIN, "sh", " ".join(self.cgroups)]
        if self.network is not None:
            words += ["nsenter", f"--net={self.network}"]
        if self.cpus:
            words += ["taskset", "--cpu-list", ",".join(map(str, self.cpus))]
        if self.nice is not None:
            # `nice` adds to what we have; the guard's way sets it.
            words += ["nice", "-n", str(self.nice - os.getpriority(os.PRIO_PROCESS, 0))]
        if self.scheduler is not None:
            words += ["chrt", f"--{self.scheduler}", str(self.priority)]
        return words


ORDINARY = Launch()
"""As we are ourselves."""


def _step(what: str, act: Any) -> None:
    try:
        act()
    except OSError as error:
        raise OSError(error.errno, f"could not {what}: {error.strerror}") from error


def _join(group: str) -> None:
    Path(group, "cgroup.procs").write_text("0")


def _enter(namespace: str) -> None:
    descriptor = os.open(namespace, os.O_RDONLY | os.O_CLOEXEC)
    try:
        if _libc.setns(descriptor, _CLONE_NEWNET) != 0:
            number = ctypes.get_errno()
            raise OSError(number, os.strerror(number))
    finally:
        os.close(descriptor)
