"""A real server killed and started again under open load: the run goes on, and its intervals show
each outage as long as it was.

`OUTAGES=10` makes ten of them in one run instead of two.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import random
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

from dbdyno.engine import find_engine
from dbdyno.guard.account import server_account
from traces import LIMIT_S

pytestmark = pytest.mark.slow

BINARIES = Path(os.environ.get("DBDYNO_PG_BIN", "/usr/lib/postgresql/15/bin"))
RATE_PER_S = 400
INTERVAL_S = 0.5
OUTAGE_S = 2.0
PAUSE_S = 3.0
COMING_BACK_S = 1.5
"""Longer than the longest pause between two attempts to connect, on a machine that has much to
do."""
FOR_EVER_S = 3600.0

SCRIPT = """
local statement
function thread_init()
  local connection = sysbench.sql.driver():connect()
  statement = connection:prepare("SELECT 1")
end
function event() statement:execute() end
"""


@dataclass(frozen=True, slots=True)
class Outage:
    """Seconds: the server was killed between the first two moments and back between the others."""

    going: float
    gone: float
    coming: float
    back: float

    def holds(self, start: float, end: float) -> bool:
        """Whether nothing can have been answered then; what was, is recorded an interval later at
        most."""
        return self.gone + INTERVAL_S <= start and end <= self.coming

    def touches(self, start: float, end: float) -> bool:
        """Whether clients may have had no connection then."""
        return self.going < end and start < self.back + COMING_BACK_S


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
            [
                *(BINARIES / "postgres", "-D", "data", "-k", self.folder),
                # Without `fsync` it is back as soon as it has read its log, however busy the disk.
                *("-c", "listen_addresses=", "-c", "fsync=off"),
            ],
            cwd=self.folder,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            **self.who,
        )
        deadline = time.monotonic() + LIMIT_S
        while time.monotonic() < deadline:
            ready = [str(BINARIES / "pg_isready"), "-q", "-h", str(self.folder), "-U", "tester"]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.05)
        raise AssertionError(f"PostgreSQL did not start within {LIMIT_S} s")

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
            psutil.wait_procs(backends, timeout=LIMIT_S)


@pytest.fixture
def server() -> Iterator[Server]:
    folder = Path(tempfile.mkdtemp(prefix="dbdyno-outage-"))
    made = Server(folder)
    made.start()
    yield made
    made.stop()
    shutil.rmtree(folder)


def spec_of(server: Server, script: Path) -> Mapping[str, object]:
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
        "schema": 2,
        "target": target,
        "groups": [group],
        "measure_s": FOR_EVER_S,
        "interval_s": INTERVAL_S,
        # A signal ends each shard at a moment of its own: what several were to begin by then is not
        # exact to one event.
        "shards": 1,
    }


def test_each_outage_shows_within_an_interval_and_no_client_is_lost(
    server: Server, tmp_path: Path
) -> None:
    count = int(os.environ.get("OUTAGES", "2"))
    script = tmp_path / "one.lua"
    script.write_text(SCRIPT)
    spec = tmp_path / "spec.json"
    spec.write_text(json.dumps(spec_of(server, script)))
    moments = random.Random(count)
    with subprocess.Popen(
        [find_engine().path, "run", spec], stdout=subprocess.PIPE, text=True
    ) as engine:
        outages = []
        for _ in range(count):
            time.sleep(PAUSE_S * moments.uniform(0.8, 1.2))
            going = time.time()
            server.kill()
            gone = time.time()
            time.sleep(OUTAGE_S)
            coming = time.time()
            server.start()
            outages.append(Outage(going, gone, coming, time.time()))
        time.sleep(PAUSE_S)
        engine.send_signal(signal.SIGINT)
        output, _ = engine.communicate()
    assert engine.returncode == 130
    records = [json.loads(line) for line in output.splitlines()]
    hello, summary = records[0], records[-1]
    measured = [r for r in records if r["record"] == "interval" and r["phase"] == "measure"]

    total = summary["total"]
    started = total["events"] + total["unfinished"] + measured[-1]["backlog"]
    window_s = (summary["end_ns"] - summary["start_ns"]) / 1e9
    assert started == math.floor(RATE_PER_S * window_s) + 1, "an intended event got lost"
    assert measured[-1]["backlog"] <= RATE_PER_S, "clients did not come back"
    assert all(interval["clients"] == 8 for interval in measured[:-1]), "until they were stopped"

    def seconds(ns: int) -> float:
        return float((hello["start_unix_ns"] + ns) / 1e9)

    for interval in measured:
        start_s, end_s = seconds(interval["start_ns"]), seconds(interval["end_ns"])
        events = interval["counters"]["events"]
        if any(outage.holds(start_s, end_s) for outage in outages):
            assert events == 0, "there was no server"
        elif end_s - start_s >= INTERVAL_S and not any(
            outage.touches(start_s, end_s) for outage in outages
        ):
            assert events > 0, "the server was there"
    assert all(
        any(outage.holds(seconds(i["start_ns"]), seconds(i["end_ns"])) for i in measured)
        for outage in outages
    ), "an outage is longer than two intervals"
