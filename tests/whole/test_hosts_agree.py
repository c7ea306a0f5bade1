"""The same study from one load host and from several: the same events, counts and distributions."""

from __future__ import annotations

import io
import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest
import zstandard
from product import dbdyno, settled, url
from ray_cluster import RayCluster, open_ray

from dbdyno.servers import Server, open_server
from dbdyno.stats import median_interval

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.nightly]

LOG = logging.getLogger(__name__)
HOSTS = ("load-1", "load-2", "load-3", "load-4")

STUDY = """\
question = "Does it matter how many hosts there are?"

[server.db]
provision = "{provision}"

[workload]
script = "work"

[load]
{load}
hosts = {hosts}
shards = {shards}

[places]
ray = "{address}"

[design]
blocks = 1
seed = 11
"""

CLIENTS, KEYS_A_CLIENT = 8, 500
KEYS = f"""\
local ffi = require("ffi")
function prepare() end
function cleanup() end
function event() end
function thread_run(id)
  local keys = {{}}
  while #keys < {KEYS_A_CLIENT} and ffi.C.sb_more_events(id) do
    ffi.C.sb_event_start(id)
    keys[#keys + 1] = sysbench.rand.zipfian(1, 100)
    ffi.C.sb_event_stop(id)
  end
  print(table.concat(keys, " "))
end
"""

RATE, WARM_UP_S, MEASURE_S = 150, 1, 8
INSERTS = """\
function prepare() end
function cleanup() end
function thread_init() connection = sysbench.sql.driver():connect() end
function event(id) connection:query("INSERT INTO mark VALUES (" .. id .. ")") end
"""


SELECTS = """\
function prepare() end
function cleanup() end
function thread_init() connection = sysbench.sql.driver():connect() end
function event()
  connection:query("SELECT text FROM point WHERE id = " .. sysbench.rand.uniform(1, 10000))
end
"""
BLOCKS, SHARE_OF_CAPACITY, WINDOW_S = 8, 0.3, 8


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with open_ray(HOSTS) as cluster:
        yield cluster


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with open_server("postgresql@system", {}, tmp_path / "server") as server:
        server.start()
        yield server


def run(folder: Path, script: str, **words: Any) -> Mapping[str, Any]:
    """A study's only run: its summary, host figures, and all records."""
    folder.mkdir()
    (folder / "work.lua").write_text(script)
    (folder / "study.toml").write_text(STUDY.format(**words))
    done = dbdyno("run", folder / "study.toml", "--no-pictures", folder=folder)
    assert done.code in (0, 1), done.err
    (run,) = folder.glob("results/study/runs/*")
    packed = (run / "records.ndjson.zst").read_bytes()
    with zstandard.ZstdDecompressor().stream_reader(
        io.BytesIO(packed), read_across_frames=True
    ) as stream:
        records = [json.loads(line) for line in stream.read().splitlines()]
    (step,) = json.loads((run / "manifest.json").read_text())["steps"]
    (summary,) = json.loads((run / "summary.json").read_text())
    return {"summary": summary, "hosts": step["hosts"], "records": records}


def keys_of(records: list[dict[str, Any]]) -> Counter[str]:
    printed = [record["text"] for record in records if record["record"] == "output"]
    return Counter(key for text in printed for key in text.split())


def test_keys_and_events_are_the_same(cluster: RayCluster, tmp_path: Path) -> None:
    events = CLIENTS * KEYS_A_CLIENT
    load = f'clients = {CLIENTS}\nwarm_up = "0 s"\nevents = {events}'
    words = {"provision": "null", "load": load, "address": cluster.address}

    together = run(tmp_path / "1x4", KEYS, hosts=1, shards=4, **words)
    apart = run(tmp_path / "4x1", KEYS, hosts=4, shards=1, **words)

    assert together["summary"]["events"] == apart["summary"]["events"] == events
    assert [host["events"] for host in apart["hosts"]] == [events // 4] * 4
    frequencies = keys_of(together["records"])
    assert frequencies.total() == events
    assert frequencies == keys_of(apart["records"])
    cluster.wait_until_clean()


def test_counts_are_the_servers_own(
    cluster: RayCluster,
    server: Server,
    tmp_path: Path,
) -> None:
    """What hosts do to response times is only noted: a busy machine's say nothing."""
    target = server.entry.target("unix")
    load = (
        f'clients = 12\nwarm_up = "{WARM_UP_S} s"\nmeasure = "{MEASURE_S} s"\n'
        f'arrival = {{ kind = "constant", rate = {RATE} }}'
    )
    words = {
        "provision": f"url:{url(target)}",
        "load": load,
        "address": cluster.address,
        "shards": 1,
    }
    measured = {}
    with psycopg.connect(url(target), autocommit=True) as connection:

        def rows() -> dict[str, int]:
            (count,) = connection.execute("SELECT count(*) FROM mark").fetchone() or (0,)
            return {"rows": count}

        for hosts in (1, 3):
            connection.execute("DROP TABLE IF EXISTS mark")
            connection.execute("CREATE TABLE mark (client int)")
            latest = measured[hosts] = run(tmp_path / str(hosts), INSERTS, hosts=hosts, **words)
            summary = latest["summary"]
            counted = {"rows": summary["total_events"]}
            assert settled(rows, counted) == counted
            assert sum(host["events"] for host in latest["hosts"]) == summary["events"]
            due = RATE * (WARM_UP_S + MEASURE_S)
            assert abs(counted["rows"] + summary["backlog"]["at_end"] - due) <= 2
            LOG.info("%d hosts: %s", hosts, summary["latency_us"])
    alone, three = (measured[hosts]["summary"]["events"] for hosts in (1, 3))
    backlog = max(m["summary"]["backlog"]["at_end"] for m in measured.values())
    assert abs(alone - three) <= 0.01 * alone + backlog
    cluster.wait_until_clean()


def test_an_open_loop_is_the_same(cluster: RayCluster, server: Server, tmp_path: Path) -> None:
    """At 30 % of what the server can do, from as many threads, block by block: all events that are
    due. Counts in the window and times are noted with how they vary: a busy machine's say nothing.
    """
    target = server.entry.target("unix")
    with psycopg.connect(url(target), autocommit=True) as connection:
        connection.execute("CREATE TABLE point (id int PRIMARY KEY, text text)")
        connection.execute(
            "INSERT INTO point SELECT n, md5(n::text) FROM generate_series(1, 10000) n"
        )
    load = f'clients = 12\nwarm_up = "{WARM_UP_S} s"\nmeasure = "{WINDOW_S} s"\n'
    words = {"provision": f"url:{url(target)}", "address": cluster.address}
    closed = run(tmp_path / "closed", SELECTS, hosts=1, shards=3, load=load, **words)["summary"]
    rate = round(SHARE_OF_CAPACITY * closed["events"] / WINDOW_S)
    load += f'arrival = {{ kind = "constant", rate = {rate} }}'
    ratios: dict[str, list[float]] = {"events": [], "p50": [], "p99": []}
    for block in range(BLOCKS):
        measured = {}
        for hosts in (1, 3) if block % 2 else (3, 1):
            folder = tmp_path / f"{block}-{hosts}"
            asked = {"hosts": hosts, "shards": 3 // hosts, "load": load, **words}
            summary = run(folder, SELECTS, **asked)["summary"]
            due = rate * (WARM_UP_S + WINDOW_S)
            assert abs(summary["total_events"] + summary["backlog"]["at_end"] - due) <= 2
            measured[hosts] = {"events": summary["events"], **summary["latency_us"]}
            LOG.info("block %d, %d hosts: %s", block, hosts, measured[hosts])
        for name, values in ratios.items():
            values.append(measured[3][name] / measured[1][name])
    for name, values in ratios.items():
        within = median_interval(values)
        assert within is not None
        form = "%s at %d/s, 3 hosts over 1: %.3f, 95 %% interval %.3f to %.3f"
        LOG.info(form, name, rate, median(values), within.low, within.high)
    cluster.wait_until_clean()
