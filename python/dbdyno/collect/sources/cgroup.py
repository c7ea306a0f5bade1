"""The control group of the server: processor time, throttling, memory and disk traffic as the
kernel accounts them, by version 1 or 2.

The group is that of the server's first process when sampling begins. Where that is the root of a
hierarchy, the figures would be the whole machine's, and are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath

from dbdyno.collect.collector import Collector, Readings, Watched
from dbdyno.collect.storage import Mount, mounts
from dbdyno.collect.tree import TICKS_PER_S, Tree
from dbdyno.model import Metric, Missing, Reading

_CONTROLLERS = ("cpu", "cpuacct", "memory", "blkio")
_TRAFFIC = {
    "rios": "reads",
    "rbytes": "read_bytes",
    "wios": "writes",
    "wbytes": "written_bytes",
}
"""Version 2's words in io.stat → metric."""
_THROTTLED = {"throttled_usec": 1e-6, "throttled_time": 1e-9}
"""The word of version 2 and of version 1 in cpu.stat → seconds."""
_SERVICED = {
    ("blkio.throttle.io_serviced", "Read"): "reads",
    ("blkio.throttle.io_serviced", "Write"): "writes",
    ("blkio.throttle.io_service_bytes", "Read"): "read_bytes",
    ("blkio.throttle.io_service_bytes", "Write"): "written_bytes",
}
"""Version 1's file and word → metric."""


@dataclass(frozen=True, slots=True)
class _Cgroup:
    """Folders of one process's groups: by controller in version 1, under "" in version 2."""

    tree: Tree
    folders: Mapping[str, str]

    def sample(self) -> Iterable[Reading]:
        if "" in self.folders:
            yield from self._version_2(self.folders[""])
        yield from self._version_1()

    def _version_2(self, folder: str) -> Iterator[Reading]:
        cpu = self._words(f"{folder}/cpu.stat")
        for word, metric in (("usage", "cpu"), ("user", "user"), ("system", "system")):
            yield from _read(f"{metric}_s", cpu.get(f"{word}_usec"), 1e-6)
        yield from _throttling(cpu)
        yield from _read("memory_bytes", self.tree.text(f"{folder}/memory.current"))
        memory = self._words(f"{folder}/memory.stat")
        yield from _read("page_cache_bytes", memory.get("file"))
        yield from _read("limit_hits", self._words(f"{folder}/memory.events").get("max"))
        for line in (self.tree.text(f"{folder}/io.stat") or "").splitlines():
            number, *fields = line.split()
            counters = dict(field.split("=") for field in fields if "=" in field)
            for word, metric in _TRAFFIC.items():
                yield from _read(metric, counters.get(word), instance=self._device(number))

    def _version_1(self) -> Iterator[Reading]:
        if accounts := self.folders.get("cpuacct"):
            yield from _read("cpu_s", self.tree.text(f"{accounts}/cpuacct.usage"), 1e-9)
            ticks = self._words(f"{accounts}/cpuacct.stat")
            for word in ("user", "system"):
                yield from _read(f"{word}_s", ticks.get(word), 1 / TICKS_PER_S)
        if cpu := self.folders.get("cpu"):
            yield from _throttling(self._words(f"{cpu}/cpu.stat"))
        if memory := self.folders.get("memory"):
            yield from _read("memory_bytes", self.tree.text(f"{memory}/memory.usage_in_bytes"))
            yield from _read("limit_hits", self.tree.text(f"{memory}/memory.failcnt"))
            memory_words = self._words(f"{memory}/memory.stat")
            yield from _read("page_cache_bytes", memory_words.get("total_cache"))
        if blocks := self.folders.get("blkio"):
            for (file, word), metric in _SERVICED.items():
                for line in (self.tree.text(f"{blocks}/{file}") or "").splitlines():
                    number, *fields = line.split()
                    if fields[:1] == [word]:
                        yield from _read(metric, fields[1], instance=self._device(number))

    def _words(self, name: str) -> Mapping[str, str]:
        return words_of(self.tree, name)

    def _device(self, number: str) -> str:
        """The name of `major:minor`."""
        path = self.tree.path(f"sys/dev/block/{number}")
        return path.resolve().name if path.exists() else number

    def close(self) -> None:
        """Nothing to free: no file stays open."""


def _read(
    metric: str, text: str | None, factor: float = 1.0, *, instance: str = ""
) -> Iterator[Reading]:
    """A figure that is there."""
    if text is not None and text.isdecimal():
        yield Reading(metric, int(text) * factor, instance)


def _throttling(words: Mapping[str, str]) -> Iterator[Reading]:
    """What a limit of processor time cost."""
    yield from _read("periods", words.get("nr_periods"))
    yield from _read("throttled_periods", words.get("nr_throttled"))
    if (seconds := throttled_s(words)) is not None:
        yield Reading("throttled_s", seconds, "")


def throttled_s(words: Mapping[str, str]) -> float | None:
    """How long a limit kept a group from running, seconds summed over processors, from its
    cpu.stat; `None`: it does not say."""
    for word, factor in _THROTTLED.items():
        if (count := words.get(word)) is not None and count.isdecimal():
            return int(count) * factor
    return None


def words_of(tree: Tree, name: str) -> Mapping[str, str]:
    """A file of lines `word value`; empty where it can't be read."""
    lines = (tree.text(name) or "").splitlines()
    return {parts[0]: parts[1] for line in lines if len(parts := line.split()) == 2}


def group_folders(tree: Tree, pid: int | str, *, roots: bool = False) -> Mapping[str, str]:
    """Controller of version 1, or "" of version 2 → the folder of a process's group. `roots`: with
    those that look like the root from here, as a container's own group does."""
    folders: dict[str, str] = {}
    every = mounts(tree)
    for line in (tree.text(f"proc/{pid}/cgroup") or "").splitlines():
        _, named, group = line.split(":", 2)
        if group == "/" and not roots:
            continue
        for controller in named.split(",") if named else [""]:
            mount = _mount(every, controller)
            if mount is not None:
                inside = PurePosixPath(group)
                if inside.is_relative_to(mount.root):
                    inside = "/" / inside.relative_to(mount.root)
                folders[controller] = f"{mount.point}{inside}".strip("/")
    return folders


def _mount(every: Iterable[Mount], controller: str) -> Mount | None:
    """Where a controller's hierarchy is mounted."""
    for mount in every:
        if not controller and mount.kind == "cgroup2":
            return mount
        known = mount.options.split(",") if mount.kind == "cgroup" else ()
        if controller in _CONTROLLERS and controller in known:
            return mount
    return None


def _open(watched: Watched) -> Readings | Missing | None:
    pids = watched.server_pids()
    if not pids:
        return None
    tree = Tree()
    folders = group_folders(tree, pids[0])
    return _Cgroup(tree, folders) if folders else None


COLLECTOR = Collector(
    "cgroup",
    "run",
    (
        Metric("cpu_s", "s", "counter", "Processor time of the group"),
        Metric("user_s", "s", "counter", "Of it in user mode"),
        Metric("system_s", "s", "counter", "Of it in the kernel"),
        Metric("periods", "", "counter", "Periods in which a limit of processor time applied"),
        Metric("throttled_periods", "", "counter", "Periods in which the limit was met"),
        Metric("throttled_s", "s", "counter", "Time in which the group was not let run"),
        Metric("memory_bytes", "B", "gauge", "Memory of the group, page cache included"),
        Metric("page_cache_bytes", "B", "gauge", "Of it the page cache"),
        Metric("limit_hits", "", "counter", "How often the memory limit was met"),
        Metric("reads", "", "counter", "Reads from a block device"),
        Metric("read_bytes", "B", "counter", "Bytes read from a block device"),
        Metric("writes", "", "counter", "Writes to a block device"),
        Metric("written_bytes", "B", "counter", "Bytes written to a block device"),
    ),
    _open,
)
