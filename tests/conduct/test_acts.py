"""What faults do to real servers, and that it is taken back."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.conduct.acts.act import Act, Scene
from dbdyno.conduct.acts.registry import ACTS
from dbdyno.errors import ServerError
from dbdyno.model.fault import Fault, FaultAction
from dbdyno.servers import Server, ServerSpec, open_spec, resolve
from dbdyno.servers.client_session import ClientError, client_session
from dbdyno.servers.protocol import Member, Wish

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
