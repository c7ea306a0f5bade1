"""A cluster that somebody else runs, each member named by its URL: measured, compared, left as it
was."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from product import Told, dbdyno, url

from dbdyno.conduct import open_study
from dbdyno.conduct.members import require_agreement
from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

STUDY = """\
question = "?"

[server.theirs]
provision = "{primary}"
topology = "given"
members = {{ primary = "{primary}", replica-7 = "{replica}" }}

[workload]
script = "kv_update"
options = {{ table_size = 1000 }}

[load]
clients = [2]
warm_up = "0.5 s"
measure = "1 s"

[design]
blocks = 1
"""


@contextmanager
def cluster(provision: str, folder: Path) -> Iterator[tuple[Server, str, str]]:
    """A primary with a replica that it knows by another name than the study has, and the provision
    texts that name them."""
    topology = {"name": "primary-replicas"}
    with open_server(provision, {}, folder, topology=topology) as server:
        server.start()
        primary, replica = (url_of(member.server) for member in server.members)
        yield server, primary, replica


def url_of(server: Server) -> str:
    target: Mapping[str, Any] = server.entry.target("unix")
    place = Path(target["endpoints"][0]["unix"])
    if target["driver"] == "postgresql":
        return f"url:{url(target)}"
    return f"url:mariadb://dbdyno@/sbtest?socket={place}"


def measured(tmp_path: Path, primary: str, replica: str) -> tuple[Told, Path]:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(primary=primary, replica=replica))
    done = dbdyno("run", file, "--store", tmp_path / "store", folder=tmp_path)
    (folder,) = (tmp_path / "store" / "study" / "runs").iterdir()
    return done, folder


def test_members_are_measured_by_name_and_left_as_they_were(tmp_path: Path) -> None:
    with cluster("postgresql@system", tmp_path / "cluster") as (server, primary, replica):
        before = [member.server.node.processes()[0] for member in server.members]
        done, folder = measured(tmp_path, primary, replica)
        after = [member.server.node.processes()[0] for member in server.members]
        left = server.database.tables()

    assert done.code in (0, 1), done.err
    assert (before, left) == (after, {})
    manifest = json.loads((folder / "manifest.json").read_text())
    assert manifest["status"] == "complete", done.err
    members = manifest["server"]["facts"]["topology"]["members"]
    assert {name: facts["role"] for name, facts in members.items()} == {
        "primary": "primary",
        "replica-7": "replica",
    }
    assert "compare" in {phase["name"] for phase in manifest["phases"]}
    assert [table["rows"] for table in manifest["loads"]] == [1000]
    rows = pq.read_table(folder / "metrics.parquet").to_pylist()
    by_metric: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        by_metric.setdefault((row["source"], row["metric"]), set()).add(row["instance"])
    assert by_metric["postgresql", "wal_bytes"] == {"", "replica-7"}
    assert by_metric["replication", "lag_bytes"] == {"replica-7"}
    assert not [source for source, _ in by_metric if source == "member"]


def test_rows_that_differ_are_named_by_table_and_member(tmp_path: Path) -> None:
    with cluster("mariadb@system", tmp_path / "cluster") as (server, primary, replica):
        keys = {"name": "given", "members": {"primary": primary, "replica-7": replica}}
        say(server, "CREATE TABLE a (id int PRIMARY KEY)", "INSERT INTO a VALUES (1), (2)")
        with open_server(primary, {}, tmp_path / "given", topology=keys) as given:
            given.start()
            require_agreement(given, "checksums", "after loading", ["a"])
            _, follower = server.members
            say(follower.server, "SET sql_log_bin = 0", "DELETE FROM a WHERE id = 2")
            with pytest.raises(ServerError, match=r"`a` has 1 rows .* on replica-7, 2 rows"):
                require_agreement(given, "checksums", "after the load", ["a"])


def say(server: Server, *statements: str) -> None:
    session = server.database.inside()
    try:
        for statement in statements:
            session.rows(statement)
    finally:
        session.close()


def test_a_password_of_a_member_stays_out_of_the_study(tmp_path: Path) -> None:
    secret, shown = "url:postgresql://me:hush@db-2/test", "url:postgresql://me@db-2/test"
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(primary=secret.replace("db-2", "db-1"), replica=secret))

    loaded = open_study(str(file))

    assert "hush" not in repr(loaded.study)
    assert loaded.secrets[shown] == secret
