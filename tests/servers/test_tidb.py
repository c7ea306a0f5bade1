"""TiDB in a single process: MySQL's protocol, built from Go modules."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from kinds import rows_of
from mysql_compatible import (
    assert_clients_may_encrypt,
    assert_contents_are_those_of_mariadb,
    assert_passwords_are_needed,
    assert_rows_survive_a_kill,
)

from dbdyno.collect import Watched
from dbdyno.collect.sources.tidb import COLLECTOR
from dbdyno.errors import ServerError
from dbdyno.model import Missing
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.protocol import Source
from dbdyno.servers.sources import go
from traces import nothing_left

TIDB = "tidb:2025"
nightly = pytest.mark.nightly  # Builds TiDB from its modules where it is not in the cache.


def package() -> str:
    provision = parse_provision(TIDB)
    assert provision.package is not None
    assert (provision.version, provision.package.source) == ("2025.11.26", Source.GO)
    return provision.package.name


def test_it_is_built_from_the_module_whose_checksum_is_known() -> None:
    program, _, module = package().partition("=")
    path, _, version = module.partition("@")
    (folder,) = Path(go.__file__).parents[1].glob(f"databases/*/programs/{program}")
    required = f"{path.removesuffix('/cmd/tidb-server')} {version}"
    assert required in (folder / "go.mod").read_text()
    assert f"{required} h1:" in (folder / "go.sum").read_text()


@pytest.mark.parametrize("name", ["port", "status.status-port", "path", "store"])
def test_settings_that_are_dbdyno_s_own_are_refused(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(ServerError, match=f"`{name}` is set by dbdyno itself"),
        open_server(TIDB, {name: "1"}, tmp_path),
    ):
        pass


SETTINGS = {"tidb_mem_quota_query": "123456789", "performance.max-procs": "2"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with nothing_left(), open_server(TIDB, SETTINGS, tmp_path) as server:
        server.start()
        yield server


@nightly
def test_facts_settings_contents_and_metrics_are_the_server_s(
    server: Server, tmp_path: Path
) -> None:
    facts = server.facts()
    assert (facts["kind"], facts["version"], facts["source"]) == ("tidb", "2025.11.26", "go")
    assert "TiDB" in str(facts["build"])
    assert facts["durability"] == "D0"
    database = server.database
    assert database.settings()["tidb_mem_quota_query"] == "123456789"
    assert (server.entry.capacity().connections, database.tables()) == (None, {})
    readings = COLLECTOR.open(Watched(exposed=server.members.exposed))
    assert readings is not None and not isinstance(readings, Missing)
    before = {reading.metric: reading.value for reading in readings.sample()}
    statements = (
        "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(9), v VARCHAR(20), b BLOB, d DECIMAL(9, 2),"
        " f DOUBLE, e ENUM('x', 'y'), a DATE, t DATETIME, u BIGINT UNSIGNED, h TIME, j INT)",
        "INSERT INTO t VALUES (1, 'é ', 'v ', 0x00ff, -0.1, 1.5, 'y', '2020-01-02',"
        " '2020-01-02 03:04:05', 18446744073709551615, '01:02:03', 7),"
        " (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL),"
        " (3, '', '', '', 0, 0, 'x', '1999-12-31', '1999-12-31', 0, '00:00:00', -1)",
    )
    for statement in statements:
        rows_of(server, statement)
    after = {reading.metric: reading.value for reading in readings.sample()}
    assert after.keys() == {metric.name for metric in COLLECTOR.metrics}
    assert after["statements"] - before["statements"] >= len(statements)
    assert after["rows_changed"] - before["rows_changed"] >= 3
    assert after["store_written_bytes"] > before["store_written_bytes"]
    assert database.tables() == {"t": "`sbtest`.`t`"}
    assert_contents_are_those_of_mariadb(server, statements, tmp_path / "mariadb")
    assert database.size_bytes() > 0
    users = {row["User"] for row in rows_of(server, "SELECT User FROM mysql.user")}
    assert users == {"dbdyno"}


@nightly
def test_whoever_has_no_password_is_refused(server: Server) -> None:
    assert_passwords_are_needed(server, r"(?i)access denied")


@nightly
def test_a_killed_server_starts_again_with_its_rows(server: Server) -> None:
    assert_rows_survive_a_kill(server)
    assert server.database.settings()["tidb_mem_quota_query"] == "123456789"


@nightly
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"tidb_mem_quota_qery": "3"}, "has no setting `tidb_mem_quota_qery`"),
        ({"performance.max-prox": "3"}, "has no setting `performance.max-prox`"),
        ({"tidb_enable_1pc": "perhaps"}, "tidb_enable_1pc.*perhaps"),
        (
            {"performance.max-procs": "many"},
            r'did not start: toml: line \d+ \(last key "performance.max-procs"\): incompatible',
        ),
    ],
)
def test_what_it_does_not_take_is_named(tmp_path: Path, settings: dict[str, str], why: str) -> None:
    with (
        nothing_left(),
        pytest.raises(ServerError, match=why),
        open_server(TIDB, settings, tmp_path) as server,
    ):
        server.start()


@nightly
def test_clients_may_encrypt(tmp_path: Path) -> None:
    assert_clients_may_encrypt(TIDB, tmp_path)
