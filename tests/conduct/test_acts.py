"""What faults do to real servers, and that it is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.conduct.acts.act import Act, Scene
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
from dbdyno.setters.setter import Scene as HostScene

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
