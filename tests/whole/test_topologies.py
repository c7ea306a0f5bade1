"""Every topology as a study has it: started, loaded, driven for some seconds, taken down."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from product import dbdyno

from dbdyno.servers.topologies.registry import all_topologies

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

STUDY = """\
question = "?"

[server.here]
provision = "{provision}"
{keys}

[workload]
{workload}

[load]
clients = [4]
warm_up = "0.5 s"
measure = "{measure} s"

[design]
blocks = 1
"""


@dataclass(frozen=True, slots=True)
class Driven:
    """A server's table in a study, and what its members should have done."""

    topology: str
    provision: str
    keys: str
    members: tuple[str, ...] = ()
    counters: Mapping[str, str] = field(default_factory=dict)
    """Source → metric that every member but the first tells under its name."""
    read: Mapping[str, str] = field(default_factory=dict)
    """Source → counter of statements, of members that a group of clients reads from."""
    beside: Mapping[str, str] = field(default_factory=dict)
    """Source → metric of what is no member."""
    workload: str = 'script = "oltp_update_index"\noptions = { table_size = 1000 }'


POSTGRESQL = {"postgresql": "wal_bytes"}
MYSQL = {"mysql": "statements"}
GROUP = {"mysql": "group_sent_bytes"}
REPLICAS = ("primary", "replica-1", "replica-2")
READERS = """
[server.here.load.group.readers]
clients = 4
script = "oltp_point_select"
options = { table_size = 1000 }
entry = "replica"
"""
LEAST_READ = 100
"""Statements of the group on each replica; the lab's own samples are a few."""
nightly = pytest.mark.nightly  # Each is ten seconds of load, and up to three servers.

EVERY = (
    Driven(
        "primary-replicas",
        "postgresql@system",
        f"replicas = 1{READERS}",
        REPLICAS[:2],
        POSTGRESQL,
        {"postgresql": "commits"},
    ),
    Driven("single", "mariadb@system", ""),
    Driven(
        "single",
        "tidb",
        'settings = { tidb_mem_quota_query = 123456789, "performance.max-procs" = 2 }',
        beside={"tidb": "statements"},
        workload='script = "oltp_read_write"\noptions = { table_size = 1000 }',
    ),
    Driven(
        "behind-proxy",
        "mariadb@system",
        'proxy = { kind = "haproxy" }',
        beside={"haproxy": "connections"},
    ),
    Driven(
        "primary-replicas",
        "postgresql@system",
        'replicas = 2\nreplication = "synchronous"\nconfirmations = 2',
        REPLICAS,
        POSTGRESQL,
    ),
    Driven(
        "primary-replicas",
        "mariadb@system",
        f'replicas = 2\nreplication = "semi-synchronous"{READERS}',
        REPLICAS,
        MYSQL,
        {"mysql": "statements"},
    ),
    Driven(
        "primary-replicas",
        "mysql@sid",
        'replicas = 2\nreplication = "semi-synchronous"\nconfirmations = 2',
        REPLICAS,
        MYSQL,
    ),
    Driven("group-replication", "mysql@sid", "nodes = 3", ("node-1", "node-2", "node-3"), GROUP),
    Driven(
        "postgres-fdw",
        "postgresql@system",
        "nodes = 2",
        ("coordinator", "node-1", "node-2"),
        POSTGRESQL,
    ),
    Driven(
        "spider",
        "mariadb:10.11@bookworm",
        "nodes = 2",
        ("coordinator", "node-1", "node-2"),
        MYSQL,
    ),
    Driven(
        "patroni",
        "postgresql@system",
        "nodes = 3",
        ("node-1", "node-2", "node-3"),
        POSTGRESQL,
        beside={"etcd": "committed"},
    ),
    Driven("galera", "mariadb@system", "nodes = 3", ("node-1", "node-2", "node-3"), GROUP),
    Driven(
        "valkey-cluster",
        "redis@system",
        "nodes = 3",
        ("node-1", "node-2", "node-3"),
        {"redis": "commands"},
        workload='script = "keys"\noptions = { keys = 1000 }',
    ),
)


def test_every_topology_is_driven() -> None:
    by_url = {"given"}  # test_given.py
    assert {case.topology for case in EVERY} | by_url == set(all_topologies())


@pytest.mark.parametrize(
    "case",
    [EVERY[0], *(pytest.param(case, marks=nightly) for case in EVERY[1:])],
    ids=lambda case: f"{case.topology}-{case.provision}",
)
def test_a_topology_is_driven_and_leaves_nothing(
    case: Driven, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    measure = 10 if request.node.get_closest_marker("nightly") else 2
    keys = f'topology = "{case.topology}"\n{case.keys}'
    file = tmp_path / "study.toml"
    workload = case.workload
    file.write_text(
        STUDY.format(provision=case.provision, keys=keys, measure=measure, workload=workload)
    )

    done = dbdyno("run", file, "--store", tmp_path / "store", folder=tmp_path)

    assert done.code in (0, 1), done.err  # 1: measured, on a machine that is no good for it
    (folder,) = (tmp_path / "store" / "study" / "runs").iterdir()
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "complete", done.err
    facts = manifest["server"]["facts"]
    assert tuple(facts.get("topology", {}).get("members", ())) == case.members
    logs = {path.parent.name for path in (folder / "logs").glob("*/server.log")}
    assert logs == set(case.members)
    rows = pq.read_table(folder / "metrics.parquet").to_pylist()
    by_source = {
        source: {
            row["instance"] for row in rows if (row["source"], row["metric"]) == (source, metric)
        }
        for source, metric in (
            ("member", "user_s"),
            *case.counters.items(),
            *case.beside.items(),
        )
    }
    assert [by_source.pop(source) for source in case.beside] == [{""}] * len(case.beside)
    assert by_source.pop("member") == set(case.members)
    assert list(by_source.values()) == [{"", *case.members[1:]}] * len(case.counters)
    for source, metric in case.read.items():
        for member in case.members[1:]:
            values = [
                row["value"]
                for row in rows
                if (row["source"], row["metric"], row["instance"]) == (source, metric, member)
            ]
            assert max(values) - min(values) > LEAST_READ, member
