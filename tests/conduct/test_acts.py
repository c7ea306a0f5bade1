"""What faults do to real servers, and that it is taken back."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.conduct.acts.act import Act, Scene, port_of
from dbdyno.conduct.acts.registry import ACTS
from dbdyno.errors import ServerError
from dbdyno.guard.account import server_account
from dbdyno.guard.guarded import Guarded
from dbdyno.model.fault import Fault, FaultAction
from dbdyno.servers import Server, ServerSpec, open_spec, resolve
from dbdyno.servers.client_session import ClientError, client_session
from dbdyno.servers.nodes.place import data_parent
from dbdyno.servers.protocol import Member, Wish
from dbdyno.setters.filesystem import SETTER
from dbdyno.setters.links import SETTER as LINKS
from dbdyno.setters.links import ends_of
from dbdyno.setters.setter import Scene as HostScene
from traces import LIMIT_S

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]


def test_proxies_and_commands_come_and_go(tmp_path: Path) -> None:
    spec = ServerSpec(resolve("postgresql@system"), proxy=Wish("haproxy"))
    mark = tmp_path / "mark"
    with open_spec(spec, tmp_path) as server:
        server.start()
        target: Mapping[str, Any] = server.entry.target()
        port = answering(target)
        endpoint = target["endpoints"][0]

        killing = act(server, "kill-proxy")
        killing.begin()
        with pytest.raises(ClientError):
            answering(target)
        killing.end()
        again = answering(target)

        command = act(server, "command", ("cp", "{data}/PG_VERSION", f"{mark}-{{name}}-{{port}}"))
        command.begin()
        made = list(tmp_path.glob("mark-*"))
        command.end()
        left = list(tmp_path.glob("mark-*"))

        failing = act(server, "command", ("cp", "{data}/absent", str(mark)))
        with pytest.raises(ServerError, match=r"a fault's command: .*absent"):
            failing.begin()

    assert port == again
    assert [path.name for path in made] == [f"mark-server-{endpoint['tcp']['port']}"]
    assert left == []


def test_a_full_disk_stops_writes_until_there_is_space(tmp_path: Path) -> None:
    with Guarded() as guarded:
        asked = SETTER.read({"kind": "ext4", "size": "200 MB", "direct_io": False})
        parent = data_parent(tmp_path, server_account())
        applied = SETTER.apply(asked, guarded, HostScene(parent, server_account()))
        spec = ServerSpec(resolve("postgresql@system"), launch=applied.server)
        with open_spec(spec, tmp_path) as server:
            server.start()
            rows = "INSERT INTO filled SELECT repeat('x', 1000) FROM generate_series(1, 200000)"
            execute(server, "CREATE TABLE filled (content text)")

            filling = act(server, "fill-disk")
            filling.begin()
            with pytest.raises(ServerError):
                execute(server, rows)
            filling.end()
            execute(server, "INSERT INTO filled VALUES ('y')")
            left = [file.name for file in Path(str(applied.server.data_parent)).rglob("*-filler")]

    assert left == []


def test_a_power_failure_takes_what_was_not_synced(tmp_path: Path) -> None:
    with Guarded() as guarded:
        asked = SETTER.read({"kind": "ext4", "size": "200 MB", "direct_io": False})
        parent = data_parent(tmp_path, server_account())
        applied = SETTER.apply(asked, guarded, HostScene(parent, server_account()))
        spec = ServerSpec(resolve("postgresql@system"), launch=applied.server)
        with open_spec(spec, tmp_path) as server:
            server.start()
            execute(server, "CREATE TABLE kept (id int)")
            data = server.node.data_folder()
            assert data is not None
            unsynced = data / "unsynced"
            unsynced.write_bytes(b"x" * 10_000)

            failing = act(server, "power-failure")
            failing.begin()
            ended = not server.alive()
            failing.end()
            execute(server, "INSERT INTO kept VALUES (1)")
            left = unsynced.read_bytes() if unsynced.exists() else b""

    assert ended
    assert left == b""


def test_a_link_is_cut_one_way_or_both_or_slow(tmp_path: Path) -> None:
    with Guarded() as guarded:
        names = ("primary", "replica-1")
        scene = HostScene(tmp_path, server_account(), names)
        applied = LINKS.apply(True, guarded, scene)
        topology = {"name": "primary-replicas", "replication": "synchronous"}
        spec = ServerSpec(resolve("postgresql@system"), topology=topology, launches=applied.members)
        with open_spec(spec, tmp_path) as server:
            server.start()
            target: Mapping[str, Any] = server.entry.target()
            primary, replica = server.members
            execute(server, "CREATE TABLE kept (id int)")
            assert answering(target) == port_of(primary)

            cut = ACTS["partition"](Scene(server, primary, Fault("partition", 0.0, 1.0)))
            cut.begin()
            with pytest.raises(ClientError):
                answering(target)
            execute(replica.server, "SELECT 1")
            cut.end()
            again = answering_soon(target)

            queues = {}
            for direction in ("in", "out"):
                fault = Fault("partition", 0.0, 1.0, direction=direction)
                cut = ACTS["partition"](Scene(server, replica, fault))
                cut.begin()
                queues[direction] = dropping(replica)
                cut.end()
            queues["neither"] = dropping(replica)

            fault = Fault("slow-network", 0.0, 1.0, rate_bit_s=1_000_000)
            slow = ACTS["slow-network"](Scene(server, primary, fault))
            slow.begin()
            began = time.monotonic()
            session = client_session(target, 60.0)
            session.rows("SELECT repeat(md5(random()::text), 10000)")
            session.close()
            took_s = time.monotonic() - began
            slow.end()

    assert again == port_of(primary)
    assert queues == {"in": (False, True), "out": (True, False), "neither": (False, False)}
    assert took_s > 1.5  # 2.6 Mbit, of which the bucket holds a fifth


def answering_soon(target: Mapping[str, Any]) -> int:
    """The same once addresses are known again."""
    deadline = time.monotonic() + LIMIT_S
    while True:
        try:
            return answering(target)
        except ClientError:
            if time.monotonic() > deadline:
                raise


def dropping(member: Member) -> tuple[bool, bool]:
    """Whether the member's end of its link drops all, and the other one."""
    ends = ends_of(member.server.node.launched)
    assert ends is not None
    shown = [
        subprocess.run(
            ["nsenter", f"--net={network}", "tc", "qdisc", "show", "dev", device],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for network, device in (ends.server, ends.hub)
    ]
    server, hub = ("pfifo" in text and "limit 0" in text for text in shown)
    return server, hub


def execute(server: Server, statement: str) -> None:
    session = server.database.inside()
    try:
        session.rows(statement)
    finally:
        session.close()


def act(server: Server, do: FaultAction, apply: tuple[str, ...] = ()) -> Act:
    member = Member("server", "server", server)
    undo = ("rm", "-f", apply[-1]) if apply else ()
    return ACTS[do](Scene(server, member, Fault(do, 0.0, 1.0, apply=apply, undo=undo)))


def answering(target: Mapping[str, Any]) -> int:
    """The port of the server that answers a new client."""
    session = client_session(target, 2.0)
    try:
        return session.port()
    finally:
        session.close()
