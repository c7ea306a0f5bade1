"""A real primary with real replicas: joined when ready, alike, gone together."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from kinds import KINDS

from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server
from traces import LIMIT_S, wait_until_dead

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

ASYNC, SEMI, SYNC = "asynchronous", "semi-synchronous", "synchronous"
nightly = pytest.mark.nightly  # Six servers more, each of which takes seconds to begin.

every_mode = pytest.mark.parametrize(
    ("kind", "mode", "replicas"),
    [
        ("postgresql", SYNC, 1),
        ("mariadb", SEMI, 1),
        pytest.param("postgresql", ASYNC, 2, marks=nightly),
        pytest.param("mariadb", ASYNC, 2, marks=nightly),
        pytest.param("mysql", SEMI, 2, marks=nightly),
    ],
)
WAITS = {
    ASYNC: (),
    SYNC: ("SELECT count(*) AS number FROM pg_stat_replication WHERE sync_state = 'sync'",),
    SEMI: ("SHOW GLOBAL STATUS WHERE Variable_name LIKE 'Rpl_semi_sync_%_clients'",),
}
"""Mode → what counts the replicas that a commit waits for."""


@contextmanager
def replicated(kind: str, folder: Path, **keys: Any) -> Iterator[Server]:
    topology = {"name": "primary-replicas", **keys}
    provision = KINDS[kind].system if kind in KINDS else f"{kind}@sid"
    with open_server(provision, {}, folder, topology=topology) as server:
        yield server


def told(server: Server, statement: str) -> list[Mapping[str, Any]]:
    session = server.database.inside()
    try:
        return list(session.rows(statement))
    finally:
        session.close()


@every_mode
def test_all_members_have_what_the_primary_has_before_and_after_a_crash(
    kind: str, mode: str, replicas: int, tmp_path: Path
) -> None:
    with replicated(kind, tmp_path, replication=mode, replicas=replicas) as server:
        server.start()
        told(server, "CREATE TABLE t (id int PRIMARY KEY)")
        told(server, "INSERT INTO t VALUES (1), (2), (3)")
        server.members.settle(LIMIT_S)
        before = [member.server.database.contents("t", checksum=True) for member in server.members]
        waits = [[*told(server, statement)[0].values()][-1] for statement in WAITS[mode]]
        facts: Any = server.facts()
        logs = {file.parent.name for file in server.log_files()}
        server.node.kill()
        server.node.restart(LIMIT_S)
        told(server, "INSERT INTO t VALUES (4)")
        server.members.settle(LIMIT_S)
        after = [member.server.database.contents("t", checksum=True) for member in server.members]

    names = ["primary", *(f"replica-{number + 1}" for number in range(replicas))]
    assert [member.name for member in server.members] == names
    assert list(facts["topology"]["members"]) == names
    assert logs == set(names)
    assert {contents.rows for contents in before} == {3}
    assert len(set(before)) == len(set(after)) == 1
    assert {contents.rows for contents in after} == {4}
    assert [int(number) for number in waits] == ([] if mode == ASYNC else [replicas])


def test_a_replica_that_dies_is_named(tmp_path: Path) -> None:
    with replicated("postgresql", tmp_path) as server:
        server.start()
        _, replica = server.members
        os.kill(replica.server.node.processes()[0], signal.SIGKILL)
        wait_until_dead(server)

        with pytest.raises(
            ServerError, match=r"replica-1: postgresql .* ended while it was needed"
        ):
            server.check()
        told(server, "CREATE TABLE t (id int)")
        with pytest.raises(ServerError, match="in vain for replica-1: "):
            server.members.settle(0.0)


def test_settings_of_a_role_are_those_of_its_members(tmp_path: Path) -> None:
    member = {"replica": {"settings": {"work_mem": "8MB"}}}
    with replicated("postgresql", tmp_path, member=member) as server:
        server.start()
        facts: Any = server.facts()
        memory = [one.server.database.settings()["work_mem"] for one in server.members]

    assert memory == ["4MB", "8MB"]
    otherwise = facts["topology"]["members"]["replica-1"]["settings_otherwise"]
    assert otherwise == {"primary_slot_name": "replica_1", "work_mem": "8MB"}
