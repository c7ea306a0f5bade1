"""Counters against the truth by another way than their own source, within 2 %."""

from __future__ import annotations

import mmap
import os
import resource
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import cast

import pytest

from dbdyno.collect import Watched
from dbdyno.collect.collector import Collector, Readings
from dbdyno.collect.sources import disk, postgresql, process
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import mount_at
from dbdyno.model import Missing, Reading, Session
from dbdyno.servers import open_server
from dbdyno.setters.outfit import apply_all
from dbdyno.setters.setter import Scene

CLOSE = 0.02


def opened(collector: Collector, watched: Watched) -> Readings:
    found = collector.open(watched)
    assert found is not None
    assert not isinstance(found, Missing)
    return found


def values(readings: Iterable[Reading], instance: str = "") -> Mapping[str, float]:
    return {one.metric: one.value for one in readings if one.instance == instance}


def accounted(work: str) -> tuple[Mapping[str, float], resource.struct_rusage]:
    """What the collector read of a process that has done some work, and what the kernel's account
    says when it is reaped."""
    code = f"import select, sys, time\n{work}\nprint(flush=True)\nsys.stdin.read()"
    child = subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdin is not None
    assert child.stdout is not None
    reader = opened(process.COLLECTOR, Watched(server_pids=lambda: [child.pid]))
    child.stdout.readline()
    read = values(reader.sample(), "server")
    child.stdin.close()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status
    child.stdout.close()
    return read, usage


def test_context_switches_are_those_of_the_kernels_account() -> None:
    read, usage = accounted("for _ in range(3000): select.select([], [], [], 1e-5)")

    assert read["voluntary_switches"] == pytest.approx(usage.ru_nvcsw, rel=CLOSE)
    assert usage.ru_nvcsw >= 2700, "a wait whose time is over before it begins does not switch"


def test_processor_time_is_that_of_the_kernels_account() -> None:
    read, usage = accounted("end = time.process_time() + 2\nwhile time.process_time() < end: pass")

    read_s, told_s = read["user_s"] + read["system_s"], usage.ru_utime + usage.ru_stime
    assert read_s == pytest.approx(told_s, rel=CLOSE)
    assert told_s >= 2


def backends_count(session: Session) -> float:
    (row,) = session.rows("SELECT wal_bytes FROM pg_stat_wal")
    return float(str(row["wal_bytes"]))


@pytest.mark.slow
def test_bytes_of_postgresqls_log_are_those_that_its_backends_count(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path) as server:
        server.start()
        reader = opened(postgresql.COLLECTOR, Watched(kind="postgresql", ask=server.database.ask))
        session = server.database.inside()
        session.rows("CREATE TABLE filled (n integer, t text)")
        session.rows("SELECT pg_stat_force_next_flush()")
        counted_before, before = backends_count(session), values(reader.sample())["wal_bytes"]
        session.rows(
            "INSERT INTO filled SELECT n, repeat('x', 100) FROM generate_series(1, 200000) AS n"
        )
        session.rows("SELECT pg_stat_force_next_flush()")
        counted_after, after = backends_count(session), values(reader.sample())["wal_bytes"]
        reader.close()
        session.close()

    assert after - before > 20e6
    assert after - before == pytest.approx(counted_after - counted_before, rel=CLOSE)


@pytest.mark.slow
@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_bytes_written_to_a_disk_are_those_that_were_written(tmp_path: Path) -> None:
    """To a loop device that nothing else uses, past the page cache."""
    size, piece = 64 << 20, 1 << 20
    scene = Scene(tmp_path, server_account())
    reader = opened(disk.COLLECTOR, Watched())
    with Guarded() as guarded:
        outfit = apply_all({"filesystem": {"kind": "ext4", "size": "256 MB"}}, guarded, scene)
        folder = Path(cast("str", outfit.server.data_parent))
        mount = mount_at(folder)
        assert mount is not None
        device = Path(mount.device).name
        os.sync()
        before = values(reader.sample(), device)
        written = os.open(folder / "file", os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        with mmap.mmap(-1, piece) as page:
            for _ in range(size // piece):
                os.write(written, page)
        os.close(written)
        os.sync()
        after = values(reader.sample(), device)

    assert after["written_bytes"] - before["written_bytes"] == pytest.approx(size, rel=CLOSE)
