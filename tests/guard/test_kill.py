"""Whatever is killed, and whenever: soon the machine is as it was.

How soon is written, and asserted only against what is left for good: 5 s on a machine at rest, and
longer on a busy one.

After lab and guard were both killed, it is so once the next command has looked.
"""

from __future__ import annotations

import contextlib
import os
import random
import select
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from dbdyno.guard import guarded
from dbdyno.guard.family import children_of
from dbdyno.guard.undo import read_switch
from traces import LIMIT_S, descendants, left_behind

PACKAGE = Path(guarded.__file__).parents[2]
SCENE = Path(__file__).with_name("changed_machine.py")
SWITCHES = [
    Path("/sys/kernel/mm/transparent_hugepage", name)
    for name in ("enabled", "shmem_enabled", "khugepaged/pages_to_scan")
]
MARK = "DBDYNO_TEST_MARK"
"""In the environment of all that a scene starts."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.geteuid() != 0, reason="needs root"),
]


@dataclass(frozen=True, slots=True)
class Scene:
    """Something to be killed."""

    argv: Sequence[str]
    longest_s: float
    """Longer than it takes until its last victim is there."""


SCENE_OF_SETTERS = Scene((str(SCENE), "."), 6.0)
SCENE_OF_FAULTS = Scene((str(SCENE.with_name("faulted_server.py")), "."), 10.0)
SCENE_OF_PATRONI = Scene(("-m", "dbdyno", "run", str(SCENE.with_name("patroni.toml"))), 20.0)
STUDIES = {
    name: Scene(("-m", "dbdyno", "run", name, "--scale", "smoke"), longest_s)
    for name, longest_s in {
        "ext4-direct-io": 8.0,
        "transparent-hugepages": 10.0,
        "redo-size-and-purge": 10.0,
    }.items()
}
SEVERAL_SERVERS = {
    name: Scene(("-m", "dbdyno", "run", name, "--scale", "smoke"), longest_s)
    for name, longest_s in {
        "failover-replicas": 14.0,
        "caching-proxy": 10.0,
        "sharding-middleware": 12.0,
    }.items()
}
"""A primary that is killed and its replica promoted, behind HAProxy; pgpool-II, whose shared memory
outlives it; a coordinator and its nodes."""
DEATHS = (
    ("ext4-direct-io", "fio"),
    ("transparent-hugepages", "server"),
    ("redo-size-and-purge", "lab and guard"),
    ("ext4-direct-io", "lab"),
    ("transparent-hugepages", "guard"),
    ("redo-size-and-purge", "server"),
    ("ext4-direct-io", "lab and guard"),
    ("transparent-hugepages", "lab"),
    ("redo-size-and-purge", "guard"),
    ("ext4-direct-io", "guard"),
    ("transparent-hugepages", "lab and guard"),
    ("redo-size-and-purge", "lab"),
)
"""Nine of them are CI's, beside four of the scene of setters."""


class Doomed:
    """A lab at work in a folder of its own."""

    def __init__(self, lab: subprocess.Popen[bytes], mark: str) -> None:
        self.lab = lab
        self._mark = f"{MARK}={mark}".encode()
        self._family: frozenset[tuple[int, str]] = frozenset()
        """Pid and start of what descended from it at the kill: proxies have another environment,
        and pgpool writes over its own."""

    def wait_s(self, moment_s: float) -> None:
        """Returns at a moment, or when the lab has ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.lab.wait(moment_s)

    def victims(self, name: str) -> Sequence[int]:
        """Pids that are killed at once."""
        found = [self.lab.pid] if "lab" in name else []
        if "guard" in name:
            # Keepers, which look like guards, are children of one.
            found += [pid for pid in children_of(self.lab.pid) if b"dbdyno.guard" in command(pid)]
        if name in ("server", "fio"):
            wanted = (name,) if name == "fio" else ("postgres", "mysqld")
            found += [pid for pid in descendants(self.lab.pid) if program(pid) in wanted][:1]
        if name == "member":
            below = descendants(self.lab.pid)
            servers = [pid for pid in below if program(pid) == "postgres"]
            backends = {child for pid in servers for child in children_of(pid)}
            found += [pid for pid in servers if pid not in backends][-1:]
        return found

    def kill(self, name: str) -> None:
        """By SIGKILL. One that isn't there is waited for while the lab runs."""
        while not (pids := self.victims(name)) and self.lab.poll() is None:
            select.select([], [], [], 0.01)
        if "guard" in name and "lab" in name:
            # The lab is held, so that it does not put right what the guard can't any more.
            self._signal(self.lab.pid, signal.SIGSTOP)
            pids = self.victims(name)
        self._family = frozenset((pid, started(pid)) for pid in descendants(self.lab.pid)[1:])
        for pid in pids:
            self._signal(pid, signal.SIGKILL)
        if "lab" not in name:
            self._signal(self.lab.pid, signal.SIGINT)  # As a user would end what is left of it.

    def processes(self) -> Sequence[int]:
        """All that it has started, whoever their parents are by now, but zombies."""
        found = []
        for place in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if self._mark in (place / "environ").read_bytes().split(b"\0"):
                    found.append(int(place.name))
        return [*found, *(pid for pid, start in self._family if start and started(pid) == start)]

    def _signal(self, pid: int, number: signal.Signals) -> None:
        if self.lab.poll() is None or pid != self.lab.pid:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, number)


def started(pid: int) -> str:
    """When a process began, in ticks since the machine did; empty when it has ended."""
    try:
        state, *fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if state == "Z" else fields[18]


def command(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def program(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return ""


@contextlib.contextmanager
def doomed(scene: Scene, folder: Path) -> Iterator[Doomed]:
    mark = str(uuid.uuid4())
    with subprocess.Popen(
        [sys.executable, *scene.argv],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(PACKAGE), MARK: mark},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as process:
        yield Doomed(process, mark)
        process.kill()


def switches() -> Sequence[str]:
    return [read_switch(path) for path in SWITCHES if path.exists()]


def changes(before: frozenset[str], folder: Path, there: Sequence[str]) -> Sequence[str]:
    """What is otherwise than it was."""
    left = [*(left_behind() - before), *map(str, folder.rglob("dbdyno-*"))]
    return left if switches() == there else [*left, f"switches: {switches()}"]


def next_command() -> None:
    subprocess.run(
        [sys.executable, "-m", "dbdyno", "doctor", "--mend"],
        env={**os.environ, "PYTHONPATH": str(PACKAGE)},
        capture_output=True,
        check=True,
    )


def one_death(scene: Scene, victim: str, moment_s: float | None, folder: Path) -> None:
    """Kills at a moment, or (`None`) once the scene says that it is ready; then looks at what is
    left of it."""
    before, there = left_behind(), switches()
    with doomed(scene, folder) as lab:
        if moment_s is None:
            assert lab.lab.stdout is not None and lab.lab.stdout.readline() == b"ready\n"
        else:
            lab.wait_s(moment_s)
        lab.kill(victim)
        killed_s = time.monotonic()
        lab.lab.wait(LIMIT_S)
        wait_until_none(lambda: [command(pid) for pid in lab.processes()])
    if victim == "lab and guard":
        next_command()
    wait_until_none(lambda: changes(before, folder, there))
    took_s = time.monotonic() - killed_s
    sys.stdout.write(f"{victim}: nothing left after {took_s:.1f} s\n")


def wait_until_none(left: Callable[[], Sequence[object]]) -> None:
    """Returns when nothing is left; others on this machine may leave something for a moment."""
    ends_s = time.monotonic() + LIMIT_S
    while found := left():
        assert time.monotonic() < ends_s, found
        select.select([], [], [], 0.02)


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """Kept only by a test that fails: a study's logs take room."""
    place = tmp_path / "scene"
    place.mkdir()
    yield place
    shutil.rmtree(place)


@pytest.mark.parametrize("victim", ["lab", "guard", "lab and guard", "server"])
def test_a_death_under_load_leaves_the_machine_as_it_was(victim: str, folder: Path) -> None:
    one_death(SCENE_OF_SETTERS, victim, None, folder)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(8))
def test_a_death_at_any_moment_leaves_the_machine_as_it_was(seed: int, folder: Path) -> None:
    victim = ("lab", "guard", "lab and guard", "server")[seed % 4]
    one_death(SCENE_OF_SETTERS, victim, random.Random(seed).uniform(0, 6.0), folder)


def death_of_a_study(seed: int, folder: Path) -> None:
    study, victim = DEATHS[seed % len(DEATHS)]
    scene = STUDIES[study]
    one_death(scene, victim, random.Random(seed).uniform(0, scene.longest_s), folder)


@pytest.mark.parametrize("seed", range(10))
def test_a_death_in_a_study_leaves_the_machine_as_it_was(seed: int, folder: Path) -> None:
    death_of_a_study(seed, folder)


def death_while_a_fault_is_on(seed: int, folder: Path) -> None:
    victim = ("lab", "guard", "lab and guard")[seed % 3]
    moment_s = random.Random(seed).uniform(2.0, SCENE_OF_FAULTS.longest_s)
    one_death(SCENE_OF_FAULTS, victim, moment_s, folder)


@pytest.mark.parametrize("seed", range(10))
def test_a_death_while_a_fault_is_on_leaves_no_fault_in_force(seed: int, folder: Path) -> None:
    death_while_a_fault_is_on(seed, folder)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_deaths_while_faults_are_on_leave_none_in_force(seed: int, folder: Path) -> None:
    death_while_a_fault_is_on(seed, folder)


def death_of_several_servers(seed: int, folder: Path) -> None:
    chance = random.Random(seed)
    scene = list(SEVERAL_SERVERS.values())[seed % len(SEVERAL_SERVERS)]
    victim = ("lab", "guard", "lab and guard", "member")[seed % 4]
    one_death(scene, victim, chance.uniform(2.0, scene.longest_s), folder)


@pytest.mark.parametrize("seed", range(4))
def test_a_death_among_several_servers_leaves_the_machine_as_it_was(
    seed: int, folder: Path
) -> None:
    death_of_several_servers(seed, folder)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(4))
def test_a_death_within_a_patroni_cluster_leaves_the_machine_as_it_was(
    seed: int, folder: Path
) -> None:
    """Patroni starts its server by itself, which is then no child of the guard's."""
    victim = ("guard", "lab and guard", "lab", "server")[seed % 4]
    moment_s = random.Random(seed).uniform(2.0, SCENE_OF_PATRONI.longest_s)
    one_death(SCENE_OF_PATRONI, victim, moment_s, folder)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_deaths_among_several_servers_leave_the_machine_as_it_was(
    seed: int, folder: Path
) -> None:
    death_of_several_servers(seed, folder)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 150))
def test_fifty_deaths_in_studies_leave_the_machine_as_it_was(seed: int, folder: Path) -> None:
    death_of_a_study(seed, folder)
