"""Dolt: MySQL's protocol on versioned tables, built from Go modules."""

from __future__ import annotations

import shutil
import subprocess
import sys
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

from dbdyno.errors import ServerError
from dbdyno.servers import Server, open_server, parse_provision
from dbdyno.servers.databases.dolt.query import COUNTED
from dbdyno.servers.protocol import Source
from dbdyno.servers.registry import refuse_connection
from dbdyno.servers.sources import go
from traces import nothing_left

DOLT = "dolt:1.59"
nightly = pytest.mark.nightly  # Builds Dolt from its modules where it is not in the cache.
STUDY = """
question = "Does Dolt read as fast as it writes?"

[server]
dolt = { provision = "dolt:1.59" }

[workload]
script = ["oltp_read_only", "oltp_insert"]
options = { tables = 1, table_size = 1000 }

[load]
clients = [2]
warm_up = "0.5 s"
measure = "2 s"
verify = "checksums"

[design]
blocks = 1
"""


def package() -> str:
    provision = parse_provision(DOLT)
    assert provision.package is not None
    assert (provision.version, provision.package.source) == ("1.59.10", Source.GO)
    return provision.package.name


def test_it_is_built_from_the_module_whose_checksum_is_known() -> None:
    program, _, module = package().partition("=")
    path, _, version = module.partition("@")
    (folder,) = Path(go.__file__).parents[1].glob(f"databases/*/programs/{program}")
    assert (
        f"require {path.removesuffix('/cmd/dolt')} {version}\n" in (folder / "go.mod").read_text()
    )
    assert f"{path.removesuffix('/cmd/dolt')} {version} h1:" in (folder / "go.sum").read_text()


@pytest.mark.skipif(shutil.which("go") is None, reason="needs Go")
def test_modules_that_are_not_to_be_had_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GOPROXY", "off")
    monkeypatch.setenv("GOMODCACHE", str(tmp_path / "modules"))
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    with pytest.raises(ServerError, match=r"could not download github\.com/dolthub/dolt") as raised:
        go.fetch(package(), tmp_path / "content", scratch)
    assert "GOPROXY=off" in raised.value.message


def test_a_missing_header_is_named_with_its_package() -> None:
    error = ServerError("could not download x: unicode/uregex.h: No such file or directory")
    assert go.explained(error).hint == "`apt-get install libicu-dev`"
    other = ServerError("could not download x: stdio.h: No such file or directory", hint="look")
    assert go.explained(other) is other


@pytest.mark.parametrize("name", ["port", "listener.socket", "data_dir"])
def test_settings_that_are_dbdyno_s_own_are_refused(tmp_path: Path, name: str) -> None:
    with (
        pytest.raises(ServerError, match=f"`{name}` is set by dbdyno itself"),
        open_server(DOLT, {name: "1"}, tmp_path),
    ):
        pass


def test_connections_are_not_compressed() -> None:
    with pytest.raises(ServerError, match="Dolt does not compress"):
        refuse_connection(DOLT, {"compression": "zlib"})


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with nothing_left(), open_server(DOLT, {"max_connections": "40"}, tmp_path) as server:
        server.start()
        yield server


@nightly
def test_facts_contents_and_counters_are_the_server_s(server: Server, tmp_path: Path) -> None:
    facts = server.facts()
    assert (facts["kind"], facts["version"], facts["source"]) == ("dolt", "1.59.10", "go")
    assert facts["durability"] == "D2"
    database = server.database
    assert (server.entry.capacity().connections, database.tables()) == (39, {})
    before = database.counters()
    statements = (
        "CREATE TABLE t (id INT PRIMARY KEY, c CHAR(9), v VARCHAR(20), b BLOB, d DECIMAL(9, 2),"
        " f DOUBLE, e ENUM('x', 'y'), a DATE, t DATETIME, u BIGINT UNSIGNED)",
        "INSERT INTO t VALUES (1, 'é ', 'v ', 0x00ff, -0.1, 1.5, 'y', '2020-01-02',"
        " '2020-01-02 03:04:05', 18446744073709551615),"
        " (2, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL), (3, '', '', '', 0, 0, 'x',"
        " '1999-12-31', '1999-12-31', 0)",
    )
    for statement in statements:
        rows_of(server, statement)
    after = database.counters()
    assert after.keys() == COUNTED
    assert after["Com_insert"] - before["Com_insert"] == 1
    assert database.tables() == {"t": "`sbtest`.`t`"}
    assert_contents_are_those_of_mariadb(server, statements, tmp_path / "mariadb")
    rows_of(server, "CREATE TABLE untold (id INT PRIMARY KEY, h TIME)")
    with pytest.raises(ServerError, match="can't turn `h`, a time, into text"):
        database.contents("untold", checksum=True)
    assert database.size_bytes() > 0
    users = {row["User"] for row in rows_of(server, "SELECT User FROM mysql.user")}
    assert users >= {"dbdyno"} and "root" not in users


@nightly
def test_whoever_has_no_password_is_refused(server: Server) -> None:
    assert_passwords_are_needed(server, r"(?i)access denied|no authentication")


@nightly
def test_a_killed_server_starts_again_with_its_rows(server: Server) -> None:
    assert_rows_survive_a_kill(server)


@nightly
@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"max_conections": "3"}, "has no setting `max_conections`"),
        ({"listener.max_conections": "3"}, "has no setting `listener.max_conections`"),
        ({"max_connections": "many"}, "'max_connections' can't be set to the value of 'many'"),
    ],
)
def test_what_it_does_not_start_with_is_named(
    tmp_path: Path, settings: dict[str, str], why: str
) -> None:
    with (
        nothing_left(),
        pytest.raises(ServerError, match=why),
        open_server(DOLT, settings, tmp_path) as server,
    ):
        server.start()


@nightly
def test_clients_may_encrypt(tmp_path: Path) -> None:
    assert_clients_may_encrypt(DOLT, tmp_path)


@nightly
def test_a_study_measures_it(tmp_path: Path) -> None:
    study = tmp_path / "study.toml"
    study.write_text(STUDY)
    command = [
        sys.executable,
        "-m",
        "dbdyno",
        "run",
        str(study),
        "--store",
        str(tmp_path / "store"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stderr  # 1: measured, and said to be too little
    page = (tmp_path / "store/study/report.html").read_text()
    assert "Dolt 1.59.10" in page
