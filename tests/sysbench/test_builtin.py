"""The built-in tests beside sysbench's own: the same work for the same options."""

from __future__ import annotations

import os
import re
import resource
import subprocess
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from both import TIMEOUT_S, option_names

from dbdyno.engine import find_engine

pytestmark = pytest.mark.slow

TESTS = ("cpu", "memory", "threads", "mutex", "fileio")
FILES = "fileio --file-num=4 --file-total-size=4M"
OURS = (str(find_engine().path), "sysbench")
THEIRS = ("sysbench",)


@dataclass(frozen=True, slots=True)
class Work:
    """What a load has done, by its report and by the processor's clock."""

    events: int
    cpu_s: float
    text: str


def work(command: tuple[str, ...], arguments: str, folder: Path) -> Work:
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(
        [*command, *arguments.split()],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    found = re.search(r"total number of events: +(\d+)", done.stdout)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Work(int(found[1]) if found else 0, cpu_s, done.stdout)


class Least:
    """Processor time, the least that was seen: others use the machine, too."""

    def __init__(self, command: tuple[str, ...], arguments: str, folder: Path) -> None:
        self.cpu_s = float("inf")
        self._command, self._load, self._folder = command, f"{arguments} --time=0 run", folder

    def measure(self) -> float:
        self.cpu_s = min(self.cpu_s, work(self._command, self._load, self._folder).cpu_s)
        return self.cpu_s


def soon(holds: Callable[[], bool]) -> bool:
    """Whether it holds once measured so often that nobody can have been in the way each time."""
    return any(holds() for _ in range(12))


EQUAL = {
    "cpu --cpu-max-prime=20000": 200,
    "memory --memory-block-size=64K": 30_000,
    "memory --memory-block-size=64K --memory-oper=read --memory-scope=local": 30_000,
    "memory --memory-block-size=64K --memory-access-mode=rnd": 4_000,
    "memory --memory-block-size=64K --memory-oper=read --memory-access-mode=rnd": 4_000,
    "threads": 500,
}
"""Command → events that take long enough."""


@pytest.mark.nightly  # Compares processor time over up to 48 runs.
@pytest.mark.parametrize("arguments", EQUAL)
def test_an_event_is_as_much_work(arguments: str, tmp_path: Path) -> None:
    """A faster loop is no fault, but one that is many times faster does less."""

    def limited(count: int) -> str:
        # The memory test takes no limit but its own, in blocks of 64 KiB here.
        memory = arguments.startswith("memory")
        limit = f"--memory-total-size={64 * count}K" if memory else f"--events={count}"
        return f"{arguments} {limit}"

    many, one = EQUAL[arguments], 1
    loads = {
        (command, count): Least(command, limited(count), tmp_path)
        for command in (THEIRS, OURS)
        for count in (many, one)
    }

    def as_much() -> bool:
        for load in loads.values():
            load.measure()
        theirs, ours = (
            loads[command, many].cpu_s - loads[command, one].cpu_s for command in (THEIRS, OURS)
        )
        return theirs / 5 < ours < theirs * 1.5

    assert soon(as_much), {load: least.cpu_s for load, least in loads.items()}


@pytest.mark.nightly  # Compares processor time over up to 48 runs.
@pytest.mark.parametrize("operation", ["read", "write", "none"])
def test_memory_in_small_blocks_is_no_slower(operation: str, tmp_path: Path) -> None:
    """What is beside the loop counts as much as the loop itself."""
    arguments = f"memory --memory-total-size=2G --memory-oper={operation}"
    theirs, ours = (Least(command, arguments, tmp_path) for command in (THEIRS, OURS))

    assert soon(lambda: ours.measure() < theirs.measure() * 1.25), (ours.cpu_s, theirs.cpu_s)


def test_memory_goes_through_all_it_is_told_to(tmp_path: Path) -> None:
    arguments = "memory --memory-total-size=300M --memory-block-size=2K --threads=3 --time=0 run"
    reports = [work(command, arguments, tmp_path).text for command in (THEIRS, OURS)]

    found = [
        re.findall(r"Total operations: (\d+)|(300.00) MiB transferred", text) for text in reports
    ]
    assert found[0] == found[1] == [("153600", ""), ("", "300.00")]


@dataclass(frozen=True, slots=True)
class Done:
    """Operations of a fileio report."""

    reads: float
    writes: float
    fsyncs: float
    mib: float


def operations(command: tuple[str, ...], arguments: str, events: int, folder: Path) -> Done:
    """Rates times the time: exact to the report's digits."""
    load = f"{FILES} {arguments} --time=0 --events={events} --rand-seed=3 run"
    report = work(command, load, folder)
    assert report.events == events
    label = r"(?:reads|writes|fsyncs)/s|(?:read|written), MiB/s"
    rates = [float(rate) for rate in re.findall(rf"(?:{label}): +([\d.]+)", report.text)]
    reads, writes, fsyncs, read, written = rates
    seconds = float(re.findall(r"total time: +([\d.]+)s", report.text)[0])
    return Done(reads * seconds, writes * seconds, fsyncs * seconds, (read + written) * seconds)


LOADS = (
    "--file-test-mode=seqwr",
    "--file-test-mode=seqrewr",
    "--file-test-mode=seqrewr --file-merged-requests=4",
    "--file-test-mode=seqrd",
    "--file-test-mode=rndrd",
    "--file-test-mode=rndwr",
    "--file-test-mode=rndwr --file-merged-requests=4",
    "--file-test-mode=rndwr --file-fsync-freq=7",
    "--file-test-mode=rndwr --file-fsync-freq=0 --file-fsync-end=off",
    "--file-test-mode=rndwr --file-fsync-all --file-fsync-mode=fdatasync",
    "--file-test-mode=rndwr --threads=3",
    "--file-test-mode=rndrw",
    "--file-test-mode=rndrw --file-rw-ratio=4 --file-block-size=4096",
    "--file-test-mode=rndrw --file-io-mode=mmap",
    "--file-test-mode=rndrw --file-extra-flags=direct",
)


@pytest.mark.parametrize("arguments", LOADS)
def test_files_are_read_written_and_synced_as_often(arguments: str, tmp_path: Path) -> None:
    # A load that waits for the disk all the time need not be long.
    events = 3000 if "--file-fsync" not in arguments else 300
    done = []
    for name, command in (("theirs", THEIRS), ("ours", OURS)):
        folder = tmp_path / name
        folder.mkdir()
        work(command, f"{FILES} prepare", folder)
        done.append(operations(command, arguments, events, folder))
    theirs, ours = done

    share = [each.fsyncs / (each.reads + each.writes) for each in done]
    assert share[0] == pytest.approx(share[1], rel=0.02)
    assert theirs.reads / (theirs.reads + theirs.writes) == pytest.approx(
        ours.reads / (ours.reads + ours.writes), abs=0.005
    )
    size = [each.mib / (each.reads + each.writes) for each in done]
    assert size[0] == pytest.approx(size[1], rel=0.02)


def test_prepared_files_are_theirs_by_name_and_size(tmp_path: Path) -> None:
    sizes = []
    for name, command in (("theirs", THEIRS), ("ours", OURS)):
        folder = tmp_path / name
        folder.mkdir()
        work(
            command,
            "fileio --file-num=3 --file-total-size=1M --file-block-size=4K prepare"
            if command is OURS
            else "fileio --file-num=3 --file-total-size=1M --file-block-size=4096 prepare",
            folder,
        )
        sizes.append({file.name: file.stat().st_size for file in folder.iterdir()})
        work(command, "fileio --file-num=3 --file-total-size=1M cleanup", folder)
        assert not list(folder.iterdir())

    assert sizes[0] == sizes[1]
    assert len(sizes[0]) == 3


@pytest.mark.parametrize("way", ["--file-io-mode=sync --threads=4", "--file-io-mode=async",
                                 "--file-io-mode=mmap --threads=2"])  # fmt: skip
def test_validation_passes_whole_files_and_finds_damage(way: str, tmp_path: Path) -> None:
    small = "fileio --file-num=2 --file-total-size=256K --validate"
    # By the usual distribution, one run in some 20,000 never reads the damaged block.
    load = f"{small} {way} --time=0 --events=3000 --file-fsync-freq=0 --rand-type=uniform"
    work(OURS, f"{small} prepare", tmp_path)
    work(OURS, f"{load} --file-test-mode=rndrw run", tmp_path)
    with (tmp_path / "test_file.1").open("r+b") as file:
        file.seek(3 * 16_384 + 100)
        file.write(b"damage")

    done = subprocess.run(
        [*OURS, *load.split(), "--file-test-mode=rndrd", "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip

    assert done.returncode == 1, done.stdout
    assert re.search(r"FATAL: .*validation failed", done.stdout), done.stdout


def shows(arguments: str, folder: Path, what: str, shown: Callable[[str], bool]) -> bool:
    """Whether a file of /proc of the load under way, or all its open files, come to show it."""
    work(OURS, f"{FILES} prepare", folder)
    load_for_ever = [*FILES.split(), "--file-test-mode=rndrw", "--time=0", *arguments.split()]
    command = [*OURS, *load_for_ever, "run"]
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True) as load:
        assert load.stdout is not None
        for line in load.stdout:
            if line.startswith("Threads started!"):
                break
        place = Path("/proc", str(load.pid), what)

        def now() -> str:
            files = place.iterdir() if place.is_dir() else [place]
            return "".join(file.read_text() for file in files)

        # The kernel leaves a ring's facts out while it is at work on it.
        found = any(shown(now()) for _ in range(10_000))
        load.terminate()
        load.communicate()
    return found


def test_files_are_opened_and_reached_as_asked(tmp_path: Path) -> None:
    wanted: Mapping[str, int] = {"sync": os.O_SYNC, "dsync": os.O_DSYNC, "direct": os.O_DIRECT}
    for name, flag in wanted.items():

        def opened_so(text: str, flag: int = flag) -> bool:
            found = [int(word, 8) for word in re.findall(r"flags:\s+(\d+)", text)]
            return any(word & flag == flag for word in found)

        assert shows(f"--file-extra-flags={name}", tmp_path, "fdinfo", opened_so), name
    assert shows("--file-io-mode=mmap", tmp_path, "maps", lambda text: "test_file.3" in text)
    ring = re.compile(r"SqMask:\s+0x1f")
    queue = "--file-io-mode=async --file-async-backlog=32"
    assert shows(queue, tmp_path, "fdinfo", lambda text: ring.search(text) is not None)


@pytest.mark.nightly  # Compares processor time over up to 48 runs.
@pytest.mark.parametrize(
    ("more", "less"),
    [
        ("threads --events=200 --thread-yields=9000", "threads --events=200 --thread-yields=900"),
        (
            "mutex --mutex-loops=20000 --mutex-locks=9000",
            "mutex --mutex-loops=2000 --mutex-locks=9000",
        ),
        (
            "mutex --mutex-locks=40000 --mutex-loops=5000",
            "mutex --mutex-locks=4000 --mutex-loops=5000",
        ),
    ],
    ids=["yields", "loops", "locks"],
)
def test_yields_locks_and_loops_are_work(more: str, less: str, tmp_path: Path) -> None:
    """Of ten times as much it needs several times as much."""
    much, little = (Least(OURS, arguments, tmp_path) for arguments in (more, less))

    assert soon(lambda: much.measure() > 3 * little.measure()), (much.cpu_s, little.cpu_s)


WALKED = {
    "cpu": {"cpu-max-prime"},
    "memory": {"block-size", "total-size", "scope", "hugetlb", "oper", "access-mode"},
    "threads": {"yields", "locks"},
    "mutex": {"num", "locks", "loops"},
    "fileio": {
        "num", "block-size", "total-size", "test-mode", "io-mode", "async-backlog", "extra-flags",
        "fsync-freq", "fsync-all", "fsync-end", "fsync-mode", "merged-requests", "rw-ratio",
    },
}  # fmt: skip


@pytest.mark.parametrize("test", TESTS)
def test_no_option_is_forgotten(test: str) -> None:
    prefix = {"threads": "thread-", "fileio": "file-", "cpu": ""}.get(test, f"{test}-")
    listed = option_names(*THEIRS, test, "help") | option_names(*OURS, test, "help")

    assert {f"{prefix}{name}" for name in WALKED[test]} == listed


REFUSED = {
    "memory --memory-block-size=3K": "memory-block-size",
    "memory --memory-scope=nosuch": "memory-scope",
    "memory --memory-access-mode=nosuch": "memory-access-mode",
    "threads --thread-locks=0": "thread-locks",
    "mutex --mutex-num=0": "mutex-num",
    "fileio --file-test-mode=rndrd --file-fsync-mode=nosuch": "fsync mode",
    "fileio --file-test-mode=rndrd --file-io-mode=nosuch": "file-io-mode",
    "fileio --file-test-mode=rndrd --file-extra-flags=nosuch": "file-extra-flags",
    "fileio --file-test-mode=rndrd --file-num=0": "file-num",
}


@pytest.mark.parametrize("arguments", REFUSED)
def test_a_value_that_makes_no_sense_is_refused(arguments: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [*OURS, *arguments.split(), "run"],
        cwd=tmp_path, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip

    assert done.returncode == 1
    assert re.search(rf"FATAL: .*{REFUSED[arguments]}", done.stdout), done.stdout
