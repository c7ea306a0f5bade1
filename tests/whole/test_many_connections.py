"""Thousands of connections from one command, through poolers and several engine processes.

`CONNECTIONS=100000` makes it as many as the product promises; it takes 6 GB of memory then.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from pathlib import Path

import pytest
from product import start, wait_for_line

from bench.place import Place
from bench.poolers import LEAST, PORT, own_network, pooled
from dbdyno.engine import find_engine
from dbdyno.servers import open_server

pytestmark = pytest.mark.slow

CONNECTIONS = int(os.environ.get("CONNECTIONS", "4000"))
MANY = CONNECTIONS > 10_000
ESTABLISHED = "01"
SCRIPT = """
local connection
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query("SELECT 1") end
"""


def connections_by_address() -> Counter[str]:
    """Clients' ends of established connections to poolers, by the poolers' address."""
    rows = Path("/proc/thread-self/net/tcp").read_text().splitlines()[1:]
    found: Counter[str] = Counter()
    for row in rows:
        peer, state = row.split()[2:4]
        address, port = peer.split(":")
        if state == ESTABLISHED and int(port, 16) == PORT:
            found[".".join(str(byte) for byte in reversed(bytes.fromhex(address)))] += 1
    return found


def test_all_are_at_work_without_an_error_and_the_client_says_what_it_took(tmp_path: Path) -> None:
    script = tmp_path / "select.lua"
    script.write_text(SCRIPT)
    poolers = LEAST if MANY else 2
    processes = () if MANY else ("--processes", "2")
    warm_up, window = ("10s", "10s") if MANY else ("1s", "5s")
    with own_network(), open_server("postgresql:18.0.0@maven", {}, tmp_path / "logs") as server:
        server.start()
        with pooled(server.entry.target(), CONNECTIONS, least=poolers) as target:
            url = Place(find_engine(), tmp_path, target).url
            load = ("--clients", str(CONNECTIONS), "--warm-up", warm_up, "--time", window)
            command = ("bench", url, "--script", script, *load, "--statements", "text", *processes)
            with start(*command, "--json", folder=tmp_path) as process:
                said = wait_for_line(process, " measure ")
                spread = connections_by_address()
                out, err = process.communicate()

    assert process.returncode == 0, said + err
    told = json.loads(out)
    assert (told["clients"], told["errors"], told["reconnects"]) == (CONNECTIONS, 0, 0)
    # The machine may be too small for so many, or have other work; anything else is a fault.
    assert {one["code"] for one in told["warnings"]} <= {"client-bound", "client-late"}
    assert told["total_events"] >= CONNECTIONS, "each has had its turn"
    assert 0 < told["client_cpu_us_per_statement"] < 500
    assert 0 < told["client_rss_kb"] <= told["client_rss_peak_kb"] < 25 * CONNECTIONS + 2 * 50_000
    assert set(spread) >= {f"127.0.0.{number}" for number in range(1, poolers + 1)}
    # The kernel's table is read while it changes; and the lab has a few connections of its own.
    each = pytest.approx(CONNECTIONS / poolers, rel=0.01)
    assert all(count == each for count in spread.values()), spread
