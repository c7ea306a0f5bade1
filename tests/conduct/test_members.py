"""Members of a topology whose rows differ are found and named; what each does is sampled."""

from __future__ import annotations

import os
import select
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from dbdyno.collect import Sampler, Watched
from dbdyno.collect.collector import Readings
from dbdyno.collect.registry import collectors
from dbdyno.collect.sources.member import COLLECTOR as MEMBER
from dbdyno.collect.sources.process import COLLECTOR as PROCESS
from dbdyno.conduct.members import require_agreement
from dbdyno.conduct.run.served import watched_members
from dbdyno.errors import ServerError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model import Missing
from dbdyno.servers import Server, ServerSpec, open_server, open_spec, resolve
from dbdyno.servers.client_session import client_session
from dbdyno.servers.protocol import Wish
from dbdyno.servers.topologies.behind_proxy import PROXIES
from dbdyno.setters.cgroup import find_hierarchy
from traces import LIMIT_S

pytestmark = pytest.mark.slow

MEMBERS = ("primary", "replica-1")
REPLICATED = {"name": "primary-replicas"}


def say(server: Server, *statements: str) -> None:
    session = server.database.inside()
    try:
        for statement in statements:
            session.rows(statement)
    finally:
        session.close()


def test_a_row_changed_behind_the_primarys_back_is_found_and_named(tmp_path: Path) -> None:
    with open_server("mariadb@system", {}, tmp_path, topology=REPLICATED) as server:
        server.start()
        say(server, "CREATE TABLE a (id int PRIMARY KEY)", "CREATE TABLE b (id int PRIMARY KEY)")
        say(server, "INSERT INTO a VALUES (1), (2)", "INSERT INTO b VALUES (1), (2)")
        require_agreement(server, "checksums", "after loading")
        _, replica = server.members
        say(replica.server, "SET sql_log_bin = 0", "UPDATE b SET id = 7 WHERE id = 2")

        require_agreement(server, "counts", "after the load")
        require_agreement(server, "none", "after the load")
        with pytest.raises(ServerError) as caught:
            require_agreement(server, "checksums", "after the load")
        say(replica.server, "SET sql_log_bin = 0", "DELETE FROM a WHERE id = 1")
        with pytest.raises(ServerError) as counted:
            require_agreement(server, "counts", "after the load")

    assert caught.value.message.startswith("members differ after the load: `b` has 2 rows with")
    assert "on replica-1, 2 rows with checksum" in caught.value.message
    assert "`a`" not in caught.value.message
    assert counted.value.message.endswith("`a` has 1 rows on replica-1, 2 rows on primary")


COUNT = "SELECT count(*) FROM generate_series(1, 1000000)"
TAKEN_S = {"primary": 0.9, "replica-1": 0.6}
"""Seconds of processor time that each member takes at least, however fast the machine."""


@contextmanager
def accounts() -> Iterator[dict[str, Path]]:
    """Control groups that count what `primary` and `replica-1` take, by their names."""
    hierarchy = find_hierarchy("cpuacct")
    if hierarchy is None or os.geteuid() != 0:
        pytest.skip("takes root and control groups of version 1 that count processor time")
    groups = {name: hierarchy.parent / f"test-{os.getpid()}-{name}" for name in MEMBERS}
    try:
        for group in groups.values():
            group.mkdir()
        yield groups
    finally:
        for group in groups.values():
            group.rmdir()


def test_processor_time_of_members_agrees_with_the_kernel_s_account(tmp_path: Path) -> None:
    with accounts() as groups:
        launches = {name: Launch(cgroups=(str(group),)) for name, group in groups.items()}
        with open_server(
            "postgresql@system", {}, tmp_path, topology=REPLICATED, launches=launches
        ) as server:
            server.start()
            readings = MEMBER.open(Watched(members=watched_members(server)))
            assert readings is not None and not isinstance(readings, Missing)
            # Clients stay connected, since what a process takes after its last sample is lost.
            sessions = [member.server.database.inside() for member in server.members]
            begin = account_around(readings, groups)
            for session, (name, taken_s) in zip(sessions, TAKEN_S.items(), strict=True):
                while accounted_s(groups)[name] - begin.later_s[name] < taken_s:
                    session.rows(COUNT)
            end = account_around(readings, groups)
            for session in sessions:
                session.close()

    for name in MEMBERS:
        sampled = end.sampled_s[name] - begin.sampled_s[name]
        least = end.earlier_s[name] - begin.later_s[name]
        most = end.later_s[name] - begin.earlier_s[name]
        assert least > 0.5
        assert sampled > least * 0.97 - 0.02
        assert sampled < most * 1.03 + 0.02


def test_processor_time_of_proxies_agrees_with_the_kernel_s_account(tmp_path: Path) -> None:
    with accounts() as groups:
        launches = {PROXIES: Launch(cgroups=(str(groups["primary"]),))}
        spec = ServerSpec(
            resolve("postgresql@system"), launches=launches, proxy=Wish("haproxy", processes=2)
        )
        with open_spec(spec, tmp_path) as server:
            server.start()
            readings = PROCESS.open(Watched(proxy_pids=server.entry.proxies))
            assert readings is not None and not isinstance(readings, Missing)
            session = client_session(server.entry.target(), LIMIT_S)
            before = side_of(readings, groups, "proxy")
            while accounted_s(groups)["primary"] - before[2] < 0.5:
                session.rows(LONG_ANSWER)
            after = side_of(readings, groups, "proxy")
            session.close()

    least, most = after[0] - before[2], after[2] - before[0]
    sampled = after[1] - before[1]
    assert sampled > least * 0.97 - 0.02
    assert sampled < most * 1.03 + 0.02


def test_processor_time_of_clients_agrees_with_the_kernel_s_account(tmp_path: Path) -> None:
    with accounts() as groups, Guarded() as guarded:
        argv = [sys.executable, "-S", "-c", "while True: pass"]
        launch = Launch(cgroups=(str(groups["primary"]),))
        pid = guarded.spawn(
            argv, output=tmp_path / "log", cwd=tmp_path, env=os.environ, launch=launch
        )
        readings = PROCESS.open(Watched(client_pids=lambda: [pid]))
        assert readings is not None and not isinstance(readings, Missing)
        before = side_of(readings, groups, "client")
        while accounted_s(groups)["primary"] - before[2] < 0.5:
            select.select([], [], [], 0.05)
        after = side_of(readings, groups, "client")

    least, most = after[0] - before[2], after[2] - before[0]
    sampled = after[1] - before[1]
    assert sampled > least * 0.97 - 0.02
    assert sampled < most * 1.03 + 0.02


LONG_ANSWER = "SELECT repeat('x', 10000000) AS text"
"""Ten megabytes that the proxy passes on."""


def side_of(readings: Readings, groups: dict[str, Path], side: str) -> tuple[float, float, float]:
    """Processor time of a side so far, in seconds: by the kernel before, sampled, and after."""
    before = accounted_s(groups)["primary"]
    sampled = sum(
        reading.value
        for reading in readings.sample()
        if reading.instance == side and reading.metric in ("user_s", "system_s")
    )
    return before, sampled, accounted_s(groups)["primary"]


class Accounted(NamedTuple):
    """Processor time of each member so far, in seconds: sampled, and by the kernel before and after
    it was sampled."""

    earlier_s: dict[str, float]
    sampled_s: dict[str, float]
    later_s: dict[str, float]


def account_around(readings: Readings, groups: dict[str, Path]) -> Accounted:
    """Reads the three one after the other."""
    return Accounted(accounted_s(groups), sampled_s(readings), accounted_s(groups))


def sampled_s(readings: Readings) -> dict[str, float]:
    """Processor time of each member, as it is sampled."""
    seconds = dict.fromkeys(MEMBERS, 0.0)
    for reading in readings.sample():
        if reading.metric in ("user_s", "system_s"):
            seconds[reading.instance] += reading.value
    return seconds


def accounted_s(groups: Mapping[str, Path]) -> dict[str, float]:
    """The same by the kernel's account of their control groups."""
    return {
        name: int((group / "cpuacct.usage").read_text()) / 1e9 for name, group in groups.items()
    }


def test_each_member_is_sampled_under_its_name(tmp_path: Path) -> None:
    with open_server("postgresql@system", {}, tmp_path, topology=REPLICATED) as server:
        server.start()
        watched = Watched(
            kind="postgresql",
            server_pids=server.node.processes,
            ask=server.database.ask,
            members=watched_members(server),
        )
        with Sampler(collectors("run"), watched) as sampler:
            sampler.edge()
            say(server, "CREATE TABLE t AS SELECT generate_series(1, 100000) AS id")
            server.members.settle(30)
            sampler.edge()
        samples = sampler.samples()

    def last(source: str, metric: str) -> dict[str, float]:
        those = (sample for sample in samples if (sample.source, sample.metric) == (source, metric))
        return {sample.instance: sample.value for sample in those}

    written = last("member", "written_bytes")
    commits, log = last("postgresql", "commits"), last("postgresql", "wal_bytes")
    assert set(written) == {"primary", "replica-1"}
    assert min(written.values()) > 1_000_000
    assert set(commits) == set(log) == {"", "replica-1"}
    assert log["replica-1"] <= log[""]
    assert (
        set(last("replication", "lag_bytes")) == set(last("replication", "lag_s")) == {"replica-1"}
    )
    assert sampler.costs()["replication"].failure is None
