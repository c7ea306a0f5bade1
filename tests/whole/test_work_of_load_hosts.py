"""Turns, a search for a rate, and faults, with the load from two hosts of a cluster."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from product import dbdyno
from ray_cluster import RayCluster, open_ray
from study_of_hosts import SCRIPT

from dbdyno.store import Store
from dbdyno.store.turns import from_parquet

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.nightly]

HOSTS = ("load-1", "load-2")

STUDY = """\
question = "Does it work over hosts?"
{study}

[places]
ray = "{address}"
"""

TURNS = """\
server.a.provision = "null"
server.b.provision = "null"
workload.script = "work"
load = { clients = 4, warm_up = "500 ms", measure = "2 s", hosts = 2, shards = 1 }
design = { blocks = 1, turn = "500 ms", lead_in = "100 ms", baseline = { server = "a" } }
"""

SEARCH = """\
server.none.provision = "null"
workload.script = "work"
design.blocks = 1
[load]
clients = 8
hosts = 2
shards = 1
warm_up = "200 ms"
measure = "1 s"
find_max = { p50 = "1 s", from = 200, to = 800, precision = "50 %" }
"""

FAULTS = """\
server.pg.provision = "postgresql@system"
workload = { script = "kv_update", options = { table_size = 1000 } }
design.blocks = 1
[load]
clients = 4
hosts = 2
shards = 1
measure = "12 s"
arrival = { kind = "constant", rate = 50 }
errors.reconnect = "60 s"
errors.expected = { connection = "100 %" }
errors.rule = [{ codes = ["all"], action = "retry", limit = 100000 }]
[[fault]]
do = "pause"
at = "2 s"
for = "1 s"
[[fault]]
do = "kill"
at = "5 s"
for = "1 s"
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    with open_ray(HOSTS) as cluster:
        yield cluster


def runs(cluster: RayCluster, folder: Path, study: str) -> list[Any]:
    """The study's runs, all complete and from both hosts."""
    (folder / "work.lua").write_text(SCRIPT)
    (folder / "study.toml").write_text(STUDY.format(study=study, address=cluster.address))
    done = dbdyno("run", "study.toml", "--store", "store", "--no-pictures", folder=folder)
    assert done.code in (0, 1), done.err
    kept = list(Store(folder / "store").study("study").runs().values())
    for run in kept:
        manifest = json.loads(run.read("manifest.json"))
        assert manifest["status"] == "complete"
        for step in manifest["steps"]:
            assert sorted(host["name"] for host in step["hosts"]) == list(HOSTS)
            assert all(host["events"] and not host["lost"] for host in step["hosts"])
    cluster.wait_until_clean()
    return kept


def test_turns_alternate_and_never_overlap(cluster: RayCluster, tmp_path: Path) -> None:
    both = runs(cluster, tmp_path, TURNS)

    turns = sorted(
        (turn.start_unix_ns, turn.drained_unix_ns, turn.round)
        for run in both
        for turn in from_parquet(run.read("turns.parquet"))
    )
    assert len(both) == 2 and len(turns) == 8
    assert all(before[1] <= after[0] for before, after in pairwise(turns))


def test_a_rate_is_searched_for(cluster: RayCluster, tmp_path: Path) -> None:
    (run,) = runs(cluster, tmp_path, SEARCH)

    (summary,) = json.loads(run.read("summary.json"))
    probes = summary["search"]["probes"]
    assert len(probes) > 1
    assert all(200 <= probe["rate_per_s"] <= 800 for probe in probes)


def test_faults_are_met_by_clients_of_all_hosts(cluster: RayCluster, tmp_path: Path) -> None:
    (run,) = runs(cluster, tmp_path, FAULTS)

    (summary,) = json.loads(run.read("summary.json"))
    paused, killed = summary["faults"]
    assert [paused["do"], killed["do"]] == ["pause", "kill"]
    for fault in (paused, killed):
        assert (fault["back_ns"] - fault["at_ns"]) / 1e6 >= 1000
        assert fault["outage_ms"]["write"] >= 950
