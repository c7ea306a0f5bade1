"""What the engine says beforehand is what a run on a real server then has: shards, connections,
open files, memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from dbdyno.engine import find_engine, plan_engine, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.model import Hello, Interval, Load, Record
from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

SCRIPT = """
local connection
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query("SELECT 1") end
"""
INTERVALS = 30  # By then memory has stopped growing, or has left the plan behind.
ROOM = {"max_connections": "1100"}
SERVERS = {
    "sqlite": {"journal_mode": "wal"},
    "postgresql:15@system": ROOM,
    "mariadb@system": ROOM,
}


@pytest.fixture(scope="module", params=SERVERS)
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    """One for all numbers of clients."""
    folder = tmp_path_factory.mktemp("server")
    with open_server(request.param, SERVERS[request.param], folder) as opened:
        opened.start()
        yield opened


def open_files(pid: int) -> list[str]:
    """What each open file of a process is."""
    found: list[str] = []
    for link in Path(f"/proc/{pid}/fd").iterdir():
        with suppress(FileNotFoundError):  # closed meanwhile
            found.append(str(link.readlink()))
    return found


@pytest.mark.parametrize("clients", [1, 16, 1000])
def test_a_run_has_what_its_plan_says(server: Server, tmp_path: Path, clients: int) -> None:
    script = tmp_path / "select.lua"
    script.write_text(SCRIPT)
    spec = run_spec(
        command="run",
        target=server.entry.target(),
        script=script,
        script_path=(),
        options={},
        clients=clients,
        seed=1,
        # Short intervals: what a thousand shards report ten times a second takes memory, too.
        load=Load((clients,), warm_up_s=0.0, measure_s=60.0, think_time_s=0.1, interval_s=0.1),
    )
    hellos: list[Hello] = []
    intervals: list[Interval] = []
    files: list[str] = []

    def listen(_line: bytes, record: Record, call: Call) -> None:
        if isinstance(record, Hello):
            hellos.append(record)
        if isinstance(record, Interval) and record.phase == "measure":
            intervals.append(record)
            if len(intervals) == INTERVALS:
                files.extend(open_files(call.pids[0]))
                call.stop()

    plan = plan_engine(find_engine(), spec)
    outcome = run_engine(find_engine(), spec, listener=listen, log=tmp_path / "engine.log")

    assert outcome.failure is None, outcome.failure
    assert outcome.summary is not None
    (hello,) = hellos
    assert (hello.shards, hello.reactor) == (plan.shards, plan.reactor)
    assert hello.shards_bound == plan.shards_bound
    assert intervals[0].clients == plan.clients == clients
    in_process = plan.reactor == "none"
    is_connection = str(server.entry.target().get("path")) if in_process else "socket:"
    found = [file for file in files if file.partition("[")[0] == is_connection]
    assert len(found) == plan.connections == clients
    assert len(files) <= plan.open_files
    assert outcome.summary.rss_peak_kb * 1024 <= plan.memory_bytes
