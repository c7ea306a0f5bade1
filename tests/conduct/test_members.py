"""Members of a topology whose rows differ are found and named; what each does is sampled."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.collect import Sampler, Watched
from dbdyno.collect.registry import collectors
from dbdyno.conduct.members import require_agreement
from dbdyno.conduct.run.served import watched_members
from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

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
