"""Clusters of Valkey and Redis: joined when ready, driven while slots move, counted as one."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server
from dbdyno.servers.topologies.valkey_cluster import SLOTS, ClusterNode
from driven import HERE, Driven
from moving import fetch_or_skip
from traces import LIMIT_S, nothing_left

TOPOLOGY = {"name": "valkey-cluster"}
SIZES = {"keys": 2000, "value_size": 20}
POLL_S = 0.02


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("cluster")
    with (
        nothing_left(),
        open_server("redis@system", {"save": ""}, folder, topology=TOPOLOGY) as server,
    ):
        server.start()
        yield Driven(server, "redis", folder)


def nodes_of(server: Server) -> Sequence[ClusterNode]:
    nodes = [member.server for member in server.members]
    assert all(isinstance(node, ClusterNode) for node in nodes)
    return nodes  # type: ignore[return-value]


def command(node: ClusterNode, *words: str | int) -> Any:
    """A reply, by a session of its own."""
    session: Any = node.inside()
    try:
        return session.command(*words)
    finally:
        session.close()


def owner_of(server: Server, slot: int) -> ClusterNode:
    """The node that serves a slot, by its own words."""
    for node in nodes_of(server):
        for first, last, place, *_ in command(node, "CLUSTER", "SLOTS"):
            if first <= slot <= last and place[2].decode() == node.cluster("MYID"):
                return node
    raise AssertionError(f"nobody serves slot {slot}")


def begin_move(slot: int, source: ClusterNode, target: ClusterNode) -> None:
    target.cluster("SETSLOT", slot, "IMPORTING", source.cluster("MYID"))
    source.cluster("SETSLOT", slot, "MIGRATING", target.cluster("MYID"))


def move_keys(slot: int, source: ClusterNode, target: ClusterNode) -> None:
    host, port, _ = target.place
    password = str(target.target("tcp")["password"])
    while keys := command(source, "CLUSTER", "GETKEYSINSLOT", slot, 100):
        how = ("AUTH", password, "KEYS", *keys)
        command(source, "MIGRATE", host, port, "", 0, 60_000, *how)


def end_move(server: Server, slot: int, target: ClusterNode) -> None:
    others = [node for node in nodes_of(server) if node is not target]
    for node in (target, *others):
        node.cluster("SETSLOT", slot, "NODE", target.cluster("MYID"))


def move(server: Server, slot: int) -> None:
    """To the node after the one that has it."""
    nodes = nodes_of(server)
    source = owner_of(server, slot)
    target = nodes[(nodes.index(source) + 1) % len(nodes)]
    begin_move(slot, source, target)
    move_keys(slot, source, target)
    end_move(server, slot, target)


def wait_for(state: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT_S
    while not state():
        assert time.monotonic() < deadline, "waited in vain"
        select.select([], [], [], POLL_S)


def slot_of(server: Server, key: str) -> int:
    return int(command(nodes_of(server)[0], "CLUSTER", "KEYSLOT", key))


@pytest.mark.slow
def test_nodes_share_the_slots_and_are_counted_as_one(cluster: Driven) -> None:
    server = cluster.server
    assert cluster.call("keys", "prepare", clients=3, **SIZES).complaint == ""
    database = server.database
    whole = database.contents("db0", checksum=True)
    parts = [node.contents("db0", checksum=False).rows for node in nodes_of(server)]
    assert sum(parts) == whole.rows == 2000
    assert min(parts) > 500, "a third each"
    assert cluster.call("keys", "prepare", clients=2, **SIZES).complaint == ""
    assert database.contents("db0", checksum=False).rows == 2000
    assert database.tables() == {"db0": "db0"} and database.size_bytes() > 0
    facts: Any = server.facts()
    assert facts["topology"]["name"] == "valkey-cluster" and facts["mode"] == "cluster"

    before = database.counters()
    for pipeline in (1, 16):
        ran = cluster.run("keys", events=400, clients=4, pipeline=pipeline, reads=50, **SIZES)
        assert ran.complaint == ""
        after = database.counters()
        counted = ran.summary.total
        assert after["cmdstat_get_calls"] - before.get("cmdstat_get_calls", 0) == counted.reads
        assert after["cmdstat_set_calls"] - before["cmdstat_set_calls"] == counted.writes
        assert (counted.errors, counted.redirects) == (0, 0)
        before = after

    assert cluster.call("keys", "cleanup", clients=2, **SIZES).complaint == ""
    assert database.contents("db0", checksum=False).rows == 0


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [1, 16])
def test_commands_follow_keys_that_have_moved(cluster: Driven, pipeline: int) -> None:
    server = cluster.server
    waiting = owner_of(server, slot_of(server, "go"))
    slots = {slot_of(server, f"k{number}") for number in range(1, 101)}
    assert slot_of(server, "go") not in slots

    def blocked() -> bool:
        return waiting._session.info("clients")["blocked_clients"] == "1"

    with ThreadPoolExecutor(1) as pool:
        script = str(HERE / "cluster_waits.lua")
        running = pool.submit(cluster.run, script, events=1, clients=1, pipeline=pipeline)
        wait_for(blocked)
        for slot in sorted(slots):
            move(server, slot)
        command(waiting, "RPUSH", "{go}", 1)
        ran = running.result(LIMIT_S)

    assert ran.complaint == ""
    counted = ran.summary.total
    assert (counted.redirects, counted.errors) == (len(slots), 1), "the refused MGET"
    assert (counted.reads, counted.writes) == (101, 101), "BLPOP writes"
    values, multi, crossed, name = ran.lines
    assert values == "k7\tv7\tnil\tPONG"
    assert "on a cluster MULTI is not possible" in multi
    assert "CROSSSLOT" in crossed
    assert name == "<keys_cluster_connection>"
    for node in nodes_of(server):
        command(node, "FLUSHALL")


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [1, 16])
def test_a_slot_on_the_move_is_asked_for_where_its_keys_are(cluster: Driven, pipeline: int) -> None:
    server = cluster.server
    sizes = {"keys": 1, "value_size": 20}
    assert cluster.call("keys", "prepare", **sizes).complaint == ""
    slot = slot_of(server, "key:000000000000")
    source = owner_of(server, slot)
    target = next(node for node in nodes_of(server) if node is not source)
    begin_move(slot, source, target)
    move_keys(slot, source, target)

    ran = cluster.run("keys", events=10, clients=2, pipeline=pipeline, **sizes)

    end_move(server, slot, target)
    assert ran.complaint == ""
    counted = ran.summary.total
    asked = 10 * pipeline
    assert counted.reads + counted.writes == counted.redirects == asked
    assert counted.other >= asked, "ASKING before each"
    assert counted.errors == 0


@pytest.mark.slow
@pytest.mark.parametrize("pipeline", [1, 16])
def test_slots_move_during_a_load_and_nothing_is_lost(cluster: Driven, pipeline: int) -> None:
    server = cluster.server
    assert cluster.call("keys", "prepare", clients=2, **SIZES).complaint == ""
    before = server.database.counters()
    moved = 0
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(
            cluster.run, "keys", events=40_000 // pipeline, clients=8, pipeline=pipeline, **SIZES
        )
        for slot in range(0, SLOTS, 16):
            if running.done():
                break
            move(server, slot)
            moved += 1
        ran = running.result(LIMIT_S)
    after = server.database.counters()

    assert ran.complaint == ""
    counted = ran.summary.total
    assert moved and counted.errors == 0
    assert counted.events == 40_000 // pipeline
    assert after["cmdstat_get_calls"] - before.get("cmdstat_get_calls", 0) == counted.reads
    assert after["cmdstat_set_calls"] - before["cmdstat_set_calls"] == counted.writes
    assert server.database.contents("db0", checksum=False).rows == 2000
    assert cluster.call("keys", "cleanup", clients=2, **SIZES).complaint == ""


@pytest.mark.slow
def test_all_nodes_come_back_with_their_slots(tmp_path: Path) -> None:
    settings = {"save": "", "appendonly": "yes", "appendfsync": "always"}
    with (
        nothing_left(),
        open_server("redis@system", settings, tmp_path, topology=TOPOLOGY) as server,
    ):
        server.start()
        driven = Driven(server, "redis", tmp_path)
        assert driven.call("keys", "prepare", clients=2, **SIZES).complaint == ""
        kept = server.database.contents("db0", checksum=True)
        server.node.kill()
        server.node.restart(LIMIT_S)
        assert server.database.contents("db0", checksum=True) == kept
        ran = driven.run("keys", events=100, clients=2, **SIZES)
        assert ran.complaint == "" and ran.summary.total.redirects == 0
        with pytest.raises(ServerError, match="send clients on by TCP"):
            server.entry.target("unix")


@pytest.mark.slow
def test_a_node_that_dies_is_named(tmp_path: Path) -> None:
    fetch_or_skip("valkey:9.1")
    with (
        nothing_left(),
        open_server("valkey:9.1", {"save": ""}, tmp_path, topology=TOPOLOGY) as server,
    ):
        server.start()
        driven = Driven(server, "redis", tmp_path)
        assert driven.call("keys", "prepare", clients=2, **SIZES).complaint == ""
        assert driven.run("keys", events=100, clients=2, **SIZES).complaint == ""
        os.kill(nodes_of(server)[1].processes()[0], signal.SIGKILL)
        wait_for(lambda: not server.alive())
        with pytest.raises(ServerError, match="node-2"):
            server.check()


@pytest.mark.parametrize(
    ("provision", "keys", "why"),
    [
        ("postgresql@system", {}, "its nodes are Valkey or Redis, not `postgresql`"),
        ("redis@system", {"nodes": 2}, "a cluster has at least 3 `nodes`, not 2"),
        ("url:redis://127.0.0.1/0", {}, "is found by the URL of one of its nodes"),
    ],
)
def test_what_can_not_be_a_cluster_is_refused(
    provision: str, keys: dict[str, int], why: str, tmp_path: Path
) -> None:
    with (
        pytest.raises(ServerError, match=why),
        open_server(provision, {}, tmp_path, topology={**TOPOLOGY, **keys}),
    ):
        pass


def test_there_is_no_tls(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="offers no TLS"),
        open_server("redis@system", {}, tmp_path, topology=TOPOLOGY, tls=True),
    ):
        pass


def test_settings_of_the_topology_are_refused(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="is set by dbdyno itself"),
        open_server("redis@system", {"cluster-port": "1"}, tmp_path, topology=TOPOLOGY),
    ):
        pass
