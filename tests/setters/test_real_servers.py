"""Real servers on a machine that was changed for them: where their data lies, how they are reached,
what their processes got."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from scene import root_only, scene

from dbdyno.conduct.host import apply_host_of_members
from dbdyno.conduct.topology import hosts_of_members
from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model import Cell
from dbdyno.servers import open_server
from dbdyno.servers.protocol import Member
from dbdyno.setters.outfit import apply_all, missing_of_host

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

HOST = {
    "filesystem": {"kind": "ext4", "size": "512 MB"},
    "network": {"rate": "100 Mbit/s"},
    "cpus": {"server": [min(os.sched_getaffinity(0))]},
    "scheduler": {"class": "batch", "nice": 3},
    "transparent_hugepages": "always",
}
ASK = """
import json, sys
target = json.loads(sys.argv[1])
place = target["endpoints"][0]["tcp"]
who = {"host": place["host"], "port": place["port"], "user": target["user"],
       "password": target["password"]}
if target["driver"] == "mysql":
    import pymysql
    connection = pymysql.connect(database=target["database"], **who)
else:
    import psycopg
    connection = psycopg.connect(dbname=target["database"], **who)
cursor = connection.cursor()
cursor.execute("SELECT 40 + 2")
print(cursor.fetchone()[0])
"""


@root_only
@pytest.mark.parametrize(
    "provision", ["postgresql:18.4@wheel", "postgresql:9.6.24@maven", "mariadb@system"]
)
def test_a_server_gets_all_that_was_asked_for(provision: str, tmp_path: Path) -> None:
    if lacking := missing_of_host(HOST):
        pytest.skip(f"{lacking}")
    with Guarded() as guarded:
        outfit = apply_all(HOST, guarded, scene(Path("/var/tmp")))
        with open_server(provision, {}, tmp_path, outfit.server) as server:
            server.start()
            data, target = server.node.data_folder(), server.entry.target()
            assert data is not None and str(data).startswith(str(outfit.server.data_parent))
            assert target["endpoints"] == [{"tcp": {"host": "192.0.2.1", "port": port(target)}}]
            client = [*outfit.client.prefix(), sys.executable, "-c", ASK, json.dumps(target)]
            assert subprocess.check_output(client, text=True) == "42\n"
            seen = {
                name: told["got"] for name, told in outfit.facts(server.node.processes()).items()
            }

    assert seen["cpus"]["server"] == str(min(os.sched_getaffinity(0)))
    assert (seen["scheduler"]["class"], seen["scheduler"]["nice"]) == ("batch", [3])


def port(target: object) -> int:
    assert isinstance(target, dict)
    return int(target["endpoints"][0]["tcp"]["port"])


def test_a_server_that_is_not_ours_is_not_started_in_another_way(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="runs already"),
        open_server("url:postgresql://127.0.0.1/x", {}, tmp_path, Launch(nice=3)),
    ):
        pass


def test_a_server_without_a_process_can_not_be_started_in_another_way(tmp_path: Path) -> None:
    with (
        pytest.raises(ServerError, match="no process of its own"),
        open_server("sqlite", {}, tmp_path, Launch(nice=3)),
    ):
        pass


def test_sqlite_puts_its_file_where_it_is_told(tmp_path: Path) -> None:
    (tmp_path / "mounted").mkdir()
    launch = Launch(data_parent=str(tmp_path / "mounted"))
    with open_server("sqlite", {}, tmp_path / "run", launch) as server:
        server.start()
        data = server.node.data_folder()

        assert data is not None and str(data).startswith(str(tmp_path / "mounted"))


def groups_of(member: Member) -> set[str]:
    """The control groups of a member's processes; some end by themselves."""
    groups = set()
    for pid in member.server.node.processes():
        with suppress(FileNotFoundError, ProcessLookupError):
            groups.add(Path(f"/proc/{pid}/cgroup").read_text())
    return groups


@root_only
def test_each_member_has_limits_of_its_own(tmp_path: Path) -> None:
    limits = {"limits": {"cpus": 0.4, "memory": "512 MB"}}
    topology = {"name": "primary-replicas", "member": {"replica": {"host": limits}}}
    cell = Cell({}, "postgresql@system", {}, "", {}, topology=topology)
    if lacking := missing_of_host(limits):
        pytest.skip(f"{lacking}")
    with apply_host_of_members(hosts_of_members(cell), tmp_path) as host:
        launches = {name: member.server for name, member in host.members.items()}
        with open_server(
            cell.provision, {}, tmp_path, topology=topology, launches=launches
        ) as server:
            server.start()
            primary, replica = map(groups_of, server.members)
        facts: Any = host.facts()

    assert primary and replica
    assert not [groups for groups in primary if "/dbdyno-" in groups]
    assert all("/dbdyno-" in groups for groups in replica)
    assert set(facts) == {"replica-1: limits"}
    assert facts["replica-1: limits"]["after"]["cpus"] == 0.4
    assert facts["replica-1: limits"]["got"]["cpu_periods"] > 0
