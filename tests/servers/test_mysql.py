"""Real MySQL and MariaDB servers of every source: started, asked, stopped, gone without a trace."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymysql
import pytest
from certificates import Certificates, make_certificates
from kinds import connect_mysql as connect

from dbdyno.errors import ConnectError, ServerError
from dbdyno.servers import Server, open_server, parse_provision
from moving import fetch_or_skip
from traces import nothing_left

pytestmark = pytest.mark.slow

VERSIONS = {
    "mariadb:11.4.5@maven": 11_04_05,
    "mariadb:10.11.5@maven": 10_11_05,
    "mariadb:10.2.11@maven": 10_02_11,
    "mysql:5.6.14@maven": 5_06_14,
    "mariadb:10.5@bullseye": 10_05_23,
    "mariadb:11.8@trixie": None,
    "mariadb@system": None,
}


@pytest.fixture(autouse=True)
def clean() -> Iterator[None]:
    """Every test leaves the machine as it found it."""
    with nothing_left():
        yield


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with open_server("mariadb@system", {}, tmp_path) as server:
        server.start()
        yield server


def ask(connection: "pymysql.Connection[Any]", statement: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(statement)
        return cursor.fetchone()


@pytest.mark.parametrize("provision", VERSIONS)
def test_every_source_gives_a_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {"innodb_buffer_pool_size": "32M"}, tmp_path) as server:
        server.start()
        facts = server.facts()
        for transport in ("unix", "tcp"):
            with connect(server.entry.target(transport)) as connection:
                shown = ask(connection, "SELECT @@innodb_buffer_pool_size")
                assert shown == (32 * 1024 * 1024,)

        assert server.database.settings()["innodb_buffer_pool_size"] == str(32 * 1024 * 1024)
        assert facts["version_number"] == (VERSIONS[provision] or facts["version_number"])
        assert facts["version"] == parse_provision(provision).version
        assert facts["durability"] == "D2"
        changed = facts["settings_changed"]
        assert isinstance(changed, Mapping)
        assert changed["innodb_buffer_pool_size"]["value"] == str(32 * 1024 * 1024)
        assert changed["innodb_buffer_pool_size"]["default_value"] == str(128 * 1024 * 1024)
        assert server.database.size_bytes() > 1_000_000
    assert "Shutdown complete" in server.log_files()[0].read_text()


@pytest.mark.parametrize("provision", ["mysql:5.6.14@maven", "mariadb@system"])
def test_statements_are_counted_by_the_server(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        with connect(server.entry.target()) as connection:
            before = server.database.counters()
            for _ in range(100):
                ask(connection, "SELECT 1")
            connection.commit()
            after = server.database.counters()

    assert after["Com_select"] - before["Com_select"] == 100
    assert after["Com_commit"] - before["Com_commit"] == 1
    assert after["Questions"] - before["Questions"] == 102, "ours and the lab's own one"


def test_every_password_plugin_of_mariadb_can_be_had(server: Server) -> None:
    plugins = {
        "mysql_native_password": "IDENTIFIED VIA mysql_native_password USING PASSWORD('{}')",
        "ed25519": "IDENTIFIED VIA ed25519 USING PASSWORD('{}')",
    }
    with connect(server.entry.target()) as admin:
        ask(admin, "INSTALL SONAME 'auth_ed25519'")
        for plugin, identified in plugins.items():
            ask(admin, f"CREATE USER {plugin}@127.0.0.1 {identified.format('wonderland')}")
    target: Any = server.entry.target("tcp")
    for plugin in plugins:
        with connect(target, user=plugin, password="wonderland", database=None) as connection:
            assert ask(connection, "SELECT CURRENT_USER()") == (f"{plugin}@127.0.0.1",)
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            connect(target, user=plugin, password="looking-glass", database=None)


def test_nobody_else_gets_in(server: Server) -> None:
    target: Any = server.entry.target("tcp")
    for user, password in (("root", ""), ("", ""), (target["user"], "")):
        with pytest.raises(pymysql.err.OperationalError, match="Access denied"):
            connect(target, user=user, password=password, database=None)


@pytest.mark.parametrize("provision", ["mysql:5.6.14@maven", "mariadb@system"])
def test_a_wrong_setting_is_named_with_the_nearest(provision: str, tmp_path: Path) -> None:
    settings = {"innodb_bufer_pool_size": "1G"}
    with (
        open_server(provision, settings, tmp_path) as server,
        pytest.raises(ServerError, match="has no setting `innodb_bufer_pool_size`") as caught,
    ):
        server.start()

    assert caught.value.hint == "did you mean `innodb_buffer_pool_size`?"


def test_a_wrong_value_is_quoted(tmp_path: Path) -> None:
    with (
        open_server("mariadb@system", {"innodb_buffer_pool_size": "few"}, tmp_path) as server,
        pytest.raises(ServerError, match="suffix 'f' used for variable 'innodb-buffer-"),
    ):
        server.start()


def test_a_value_that_the_server_adjusts_is_in_the_facts(tmp_path: Path) -> None:
    with open_server("mariadb@system", {"innodb_log_buffer_size": "1"}, tmp_path) as server:
        server.start()
        adjusted: Any = server.facts()["settings_adjusted"]

    assert adjusted == {"innodb_log_buffer_size": {"asked": "1", "effective": "2097152"}}


def test_the_storage_engines_that_have_the_data_are_in_the_facts(server: Server) -> None:
    assert server.facts()["data_engines"] == []
    with connect(server.entry.target()) as connection:
        for engine in ("Aria", "InnoDB"):
            ask(connection, f"CREATE TABLE of_{engine} (id INT PRIMARY KEY) ENGINE={engine}")
    assert server.facts()["data_engines"] == ["Aria", "InnoDB"]


def test_a_setting_that_counts_only_when_the_data_folder_is_made(tmp_path: Path) -> None:
    with open_server("mariadb@system", {"innodb_page_size": "4k"}, tmp_path) as server:
        server.start()

        assert server.facts()["page_size_bytes"] == 4096


@pytest.mark.parametrize(
    ("settings", "durability"),
    [
        ({"innodb_flush_log_at_trx_commit": "2"}, "D1"),
        ({"innodb_doublewrite": "OFF"}, "D0"),
        ({"log_bin": "bin", "server_id": "1", "sync_binlog": "0"}, "D1"),
        ({"log_bin": "bin", "server_id": "1", "sync_binlog": "1"}, "D2"),
    ],
)
def test_durability_follows_the_settings(
    settings: Mapping[str, str], durability: str, tmp_path: Path
) -> None:
    with open_server("mariadb@system", settings, tmp_path) as server:
        server.start()

        assert server.facts()["durability"] == durability


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("mysql://host/db", "names no user"),
        ("mysql://u@host/", "names no user or no database"),
        ("mysql://u@host/db?sslmode=require", "`sslmode` is not a parameter"),
        ("mysql://u@host/db?ssl-mode=always", "`always` is not a TLS mode"),
        ("mysql://u@host:port/db", "`host:port` in the server's URL is not a host and port"),
    ],
)
def test_a_wrong_url_is_answered_with_a_right_one(url: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(ServerError) as caught, open_server(f"url:{url}", {}, tmp_path):
        pass

    assert said in caught.value.message
    assert caught.value.hint


def test_several_hosts_are_several_endpoints(tmp_path: Path) -> None:
    url = "url:mysql://u:p@db1:3307,db2/d?ssl-mode=verify_ca&ssl-ca=/ca.pem"
    with pytest.raises(ServerError, match="TLS files"), open_server(url, {}, tmp_path):
        pass
    with open_server("url:mysql://u:p@db1:3307,db2/d", {}, tmp_path) as server:
        target = server.entry.target()

    assert target["endpoints"] == [
        {"tcp": {"host": "db1", "port": 3307}},
        {"tcp": {"host": "db2", "port": 3306}},
    ]
    assert target["tls"] == {"mode": "prefer"}


@pytest.fixture(scope="module")
def certificates() -> Iterator[Certificates]:
    """Where the server's account can read them: pytest closes its own folders whenever it starts
    anew on this machine."""
    with TemporaryDirectory(dir="/var/tmp") as folder:
        yield make_certificates(Path(folder))


@pytest.mark.parametrize("provision", ["mysql:5.6.14@maven", "mariadb:11.4.5", "mariadb@system"])
def test_a_running_server_is_reached_over_tls(
    provision: str, certificates: Certificates, tmp_path: Path
) -> None:
    with open_server(provision, certificates.settings(), tmp_path) as server:
        server.start()
        target: Any = server.entry.target("tcp")
        place = "{host}:{port}".format(**target["endpoints"][0]["tcp"])
        url = f"url:mariadb://dbdyno:{target['password']}@{place}/sbtest?ssl-mode=verify_identity"
        if provision.startswith("mysql"):
            assert server.database.settings()["have_ssl"] == "YES"
            return
        with open_server(f"{url}&ssl-ca={certificates.ca}", {}, tmp_path / "other") as running:
            running.start()
            assert running.entry.target()["tls"] == {
                "mode": "verify-full",
                "ca": str(certificates.ca),
            }
        with (
            open_server(f"{url}&ssl-ca={certificates.other_ca}", {}, tmp_path / "b") as running,
            pytest.raises(ConnectError, match="certificate verify failed"),
        ):
            running.start()


def test_a_password_for_a_key_just_sent_needs_consent(tmp_path: Path) -> None:
    """Without TLS, at a log-in that the server has not verified before."""
    fetch_or_skip("mysql@sid")
    with open_server("mysql@sid", {}, tmp_path) as server:
        server.start()
        target: Any = server.entry.target("tcp")
        place = "{host}:{port}".format(**target["endpoints"][0]["tcp"])
        url = f"url:mysql://dbdyno:{target['password']}@{place}/sbtest?ssl-mode=disabled"
        with connect(server.entry.target()) as connection:
            ask(connection, "FLUSH PRIVILEGES")  # forgets which passwords were verified
        with (
            open_server(url, {}, tmp_path / "refused") as running,
            pytest.raises(ConnectError, match="over a connection that is not encrypted") as raised,
        ):
            running.start()
        assert "get-server-public-key=true" in (raised.value.hint or "")
        allowed = f"{url}&get-server-public-key=true"
        with open_server(allowed, {}, tmp_path / "allowed") as running:
            running.start()
            assert running.facts()["version"]


@pytest.mark.parametrize("encrypted", [True, False])
def test_tables_are_encrypted_with_a_key_of_the_run_s_own(encrypted: bool, tmp_path: Path) -> None:
    settings = {"plugin_load_add": "file_key_management", "innodb_encrypt_tables": "ON"}
    with open_server("mariadb@system", settings if encrypted else {}, tmp_path) as server:
        server.start()
        with connect(server.entry.target()) as connection:
            ask(connection, "CREATE TABLE secret (told TEXT) ENGINE = InnoDB")
            ask(connection, "INSERT INTO secret VALUES (REPEAT('nobody may read this', 50))")
            connection.commit()
            ask(connection, "FLUSH TABLES secret FOR EXPORT")
            folder = server.node.data_folder()
            assert folder is not None
            pages = (folder / "sbtest" / "secret.ibd").read_bytes()
            keys = server.database.settings().get("file_key_management_filename")

    assert (b"nobody may read this" in pages) is not encrypted
    assert keys is None or not Path(keys).exists()
