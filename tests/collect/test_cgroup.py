"""The server's control group: of both versions as recorded, and for real against the kernel's own
account of a process."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.sources import cgroup, process
from dbdyno.collect.tree import Tree
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.model import Missing
from dbdyno.setters.cgroup import find_hierarchy
from dbdyno.setters.outfit import apply_all, missing_of_host
from dbdyno.setters.setter import Scene

LIMITS = {"limits": {"cpus": 0.1, "memory": "256 MB"}}
"""So little that other programs hardly take a process more than the limit does."""

VERSION_1 = {
    "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup "
    "rw,cpu,cpuacct\n31 1 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
    "32 1 0:28 / /sys/fs/cgroup/blkio rw - cgroup cgroup rw,blkio\n",
    "proc/7/cgroup": "3:cpu,cpuacct:/db\n2:memory:/db\n1:blkio:/db\n0::/\n",
    "sys/fs/cgroup/cpu,cpuacct/db/cpuacct.usage": "2500000000",
    "sys/fs/cgroup/cpu,cpuacct/db/cpuacct.stat": "user 200\nsystem 50\n",
    "sys/fs/cgroup/cpu,cpuacct/db/cpu.stat": "nr_periods 9\nnr_throttled 4\n"
    "throttled_time 1500000000\n",
    "sys/fs/cgroup/memory/db/memory.usage_in_bytes": "4096",
    "sys/fs/cgroup/memory/db/memory.failcnt": "3",
    "sys/fs/cgroup/memory/db/memory.stat": "cache 1\ntotal_cache 1024\n",
    "sys/fs/cgroup/blkio/db/blkio.throttle.io_serviced": "8:0 Read 5\n8:0 Write 6\nTotal 11\n",
    "sys/fs/cgroup/blkio/db/blkio.throttle.io_service_bytes": "8:0 Read 50\n8:0 Write 60\n",
}
VERSION_2 = {
    "proc/self/mountinfo": "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n",
    "proc/7/cgroup": "0::/db\n",
    "sys/fs/cgroup/db/cpu.stat": "usage_usec 2500000\nuser_usec 2000000\nsystem_usec 500000\n"
    "nr_periods 9\nnr_throttled 4\nthrottled_usec 1500000\n",
    "sys/fs/cgroup/db/memory.current": "4096",
    "sys/fs/cgroup/db/memory.stat": "anon 1\nfile 1024\n",
    "sys/fs/cgroup/db/memory.events": "low 0\nmax 3\n",
    "sys/fs/cgroup/db/io.stat": "8:0 rbytes=50 wbytes=60 rios=5 wios=6 dbytes=0 dios=0\n",
}


@pytest.mark.parametrize("files", [VERSION_1, VERSION_2], ids=["1", "2"])
def test_both_versions_tell_the_same(tmp_path: Path, files: Mapping[str, str]) -> None:
    for name, text in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    tree = Tree(tmp_path)

    reader = cgroup._Cgroup(tree, cgroup.group_folders(tree, 7))
    read = {(one.metric, one.instance): one.value for one in reader.sample()}

    assert read == {
        ("cpu_s", ""): pytest.approx(2.5),
        ("user_s", ""): pytest.approx(2.0),
        ("system_s", ""): pytest.approx(0.5),
        ("periods", ""): 9,
        ("throttled_periods", ""): 4,
        ("throttled_s", ""): pytest.approx(1.5),
        ("memory_bytes", ""): 4096,
        ("page_cache_bytes", ""): 1024,
        ("limit_hits", ""): 3,
        ("reads", "8:0"): 5,
        ("writes", "8:0"): 6,
        ("read_bytes", "8:0"): 50,
        ("written_bytes", "8:0"): 60,
    }
    assert {metric for metric, _ in read} == {one.name for one in cgroup.COLLECTOR.metrics}


def test_the_root_group_is_the_machines_and_not_the_servers(tmp_path: Path) -> None:
    for name, text in {**VERSION_2, "proc/7/cgroup": "0::/\n"}.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)

    assert cgroup.group_folders(Tree(tmp_path), 7) == {}
    assert cgroup.COLLECTOR.open(Watched()) is None


@pytest.fixture
def accounting() -> Iterator[Sequence[Path]]:
    """In version 1 processor time is a controller's of its own: a group for it."""
    found = find_hierarchy("cpuacct")
    if found is None:
        yield ()
        return
    group = found.parent / f"dbdyno-test-{os.getpid()}"
    group.mkdir(exist_ok=True)  # It may be the one of `cpu` already.
    yield (group,)
    group.rmdir()


def of_server(readings: Readings) -> float:
    """Processor time, in seconds."""
    found = {one.metric: one.value for one in readings.sample() if one.instance == "server"}
    return found["user_s"] + found["system_s"]


@pytest.mark.alone  # What others take the limit can't hold back.
@pytest.mark.skipif(bool(missing_of_host(LIMITS)), reason="no control group can be made here")
def test_processor_time_is_that_of_the_kernels_account(
    tmp_path: Path, accounting: Sequence[Path]
) -> None:
    """A process under a tenth of a processor: what the group used is what the process used, and
    what the collector of processes reads of it."""
    code = (
        "import sys, time\nsys.stdin.readline()\nend = time.process_time() + 1\n"
        "while time.process_time() < end: pass\nprint(flush=True)\nsys.stdin.readline()"
    )
    with Guarded() as guarded:
        outfit = apply_all(LIMITS, guarded, Scene(tmp_path, server_account()))
        child = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert child.stdin is not None
        assert child.stdout is not None
        for group in (*accounting, *map(Path, outfit.server.cgroups)):
            (group / "cgroup.procs").write_text(str(child.pid))
        reader = cgroup.COLLECTOR.open(Watched(server_pids=lambda: [child.pid]))
        assert reader is not None
        assert not isinstance(reader, Missing)
        processes = process.COLLECTOR.open(Watched(server_pids=lambda: [child.pid]))
        assert processes is not None and not isinstance(processes, Missing)
        began_s = of_server(processes)
        before = {one.metric: one.value for one in reader.sample()}
        child.stdin.write("\n")
        child.stdin.flush()
        child.stdout.readline()
        after = {one.metric: one.value for one in reader.sample() if not one.instance}
        read_s = of_server(processes) - began_s
        child.stdin.close()
        child.wait()
        child.stdout.close()

    used_s = after["cpu_s"] - before["cpu_s"]
    assert read_s == pytest.approx(used_s, rel=0.02, abs=0)
    assert used_s == pytest.approx(1, rel=0.03, abs=0)
    assert after["throttled_periods"] > before["throttled_periods"]
    # Beside other load a group that met its limit may have been let run again at once.
    assert after["throttled_s"] >= before["throttled_s"]
    assert after["memory_bytes"] > 0
