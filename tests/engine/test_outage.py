"""A real server killed and started again under open load: the run goes on, and its intervals show
each outage as long as it was.

`OUTAGES=10` makes ten of them in one run instead of two.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from dbdyno.engine import find_engine
from dbdyno.servers.account import server_account

pytestmark = pytest.mark.slow

BINARIES = Path(os.environ.get("DBDYNO_PG_BIN", "/usr/lib/postgresql/15/bin"))
RATE_PER_S = 400
INTERVAL_S = 0.5
OUTAGE_S = 2.0
PAUSE_S = 4.0

SCRIPT = """
local statement
function thread_init()
  local connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT 1")
end
function event() statement:execute() end
"""


class Server:
    """PostgreSQL in a folder of its own, started as whoever may."""

    def __init__(self, folder: Path) -> None:
        account = server_account()
        self.who: dict[str, Any] = {}
        if account is not None:
            os.chown(folder, account.uid, account.gid)
            self.who = {"user": account.uid, "group": account.gid, "extra_groups": []}
        self.folder = folder
        self.process: subprocess.Popen[bytes] | None = None
        self._call("initdb", "-D", "data", "-U", "tester", "--auth=trust", "--no-sync")

    def _call(self, program: str, *arguments: str) -> None:
        command = [str(BINARIES / program), *arguments]
        subprocess.run(command, cwd=self.folder, check=True, capture_output=True, **self.who)

    def start(self) -> None:
        (self.folder / "data" / "postmaster.pid").unlink(missing_ok=True)
        self.process = subprocess.Popen(
            [BINARIES / "postgres", "-D", "data", "-k", self.folder, "-c", "listen_addresses="],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.who,
        )
        for _ in range(200):
            ready = [str(BINARIES / "pg_isready"), "-q", "-h", str(self.folder), "-U", "tester"]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError("PostgreSQL did not start within 10 s")

    def stop(self) -> None:
        """In good order: a killed server leaves shared memory for its next start to clear."""
        if self.process is not None:
            self.process.send_signal(signal.SIGINT)
            self.process.wait()

    def kill(self) -> None:
        """All processes at once: without their parent, busy backends would go on for a while."""
        if self.process is not None:
            backends = psutil.Process(self.process.pid).children(recursive=True)
            self.process.send_signal(signal.SIGKILL)
            for backend in backends:
                with contextlib.suppress(psutil.NoSuchProcess):
                    backend.kill()
            self.process.wait()
            psutil.wait_procs(backends, timeout=5)


@pytest.fixture
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="dbdyno-outage-"))
    made = Server(folder)
    made.start()
    yield made
    made.stop()
    shutil.rmtree(folder)


def spec_of(server: Server, script: Path, measure_s: float) -> Mapping[str, object]:
    socket = server.folder / ".s.PGSQL.5432"
    target = {
        "driver": "postgresql",
        "endpoints": [{"unix": str(socket)}],
        "user": "tester",
        "database": "postgres",
    }
    group = {
        "script": str(script),
        "clients": 8,
        "arrival": {"kind": "constant", "rate_per_s": RATE_PER_S},
    }
    return {
        "schema": 1,
        "target": target,
        "groups": [group],
        "measure_s": measure_s,
        "interval_s": INTERVAL_S,
    }


def test_each_outage_shows_within_an_interval_and_no_client_is_lost(
    server: Server, tmp_path: Path
) -> None:
    count = int(os.environ.get("OUTAGES", "2"))
    measure_s = 2 * PAUSE_S + count * (OUTAGE_S + 1.5 * PAUSE_S)
    script = tmp_path / "one.lua"
    script.write_text(SCRIPT)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(spec_of(server, script, measure_s)))
    moments = random.Random(count)
    with subprocess.Popen(
        [find_engine().path, "run", spec], stdout=subprocess.PIPE, text=True
    ) as engine:
        outages = []
        for _ in range(count):
            time.sleep(PAUSE_S * moments.uniform(0.6, 1.0))
            gone = time.time()
            server.kill()
            time.sleep(OUTAGE_S)
            server.start()
            outages.append((gone, time.time()))
        output, _ = engine.communicate()
    assert engine.returncode == 0
    records = [json.loads(line) for line in output.splitlines()]
    hello, summary = records[0], records[-1]
    measured = [r for r in records if r["record"] == "interval" and r["phase"] == "measure"]

    total = summary["total"]
    started = total["events"] + total["unfinished"] + measured[-1]["backlog"]
    assert started == round(RATE_PER_S * measure_s) + 1, "an intended event got lost"
    assert measured[-1]["backlog"] <= RATE_PER_S, "clients did not come back"
    assert all(interval["clients"] == 8 for interval in measured)

    def seconds(ns: int) -> float:
        return float((hello["start_unix_ns"] + ns) / 1e9)

    for gone, back in outages:
        silent = [
            (seconds(i["start_ns"]), seconds(i["end_ns"]))
            for i in measured
            if i["counters"]["events"] == 0
            and gone - INTERVAL_S < seconds(i["start_ns"]) < back + INTERVAL_S
        ]
        assert silent, "the outage does not show"
        assert silent[0][0] - gone <= INTERVAL_S + 0.1
        assert abs(silent[-1][1] - back) <= 2 * INTERVAL_S
