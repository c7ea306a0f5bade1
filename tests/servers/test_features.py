"""What a PostgreSQL or MariaDB was built without is known before it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.servers import open_server, parse_provision
from dbdyno.servers.databases.mysql.features import lacks as lacks_of_mariadb
from dbdyno.servers.databases.postgresql.features import configured, features_of, lacks

STUDY = """\
question = "q?"

[server.postgresql]
provision = "{provision}"

{level}

[workload]
script = "oltp_point_select"

[load]
clients = 1
measure = "1 s"
"""
COMPRESSION = '[settings.off]\nwal_compression = "off"\n[settings.lz4]\nwal_compression = "lz4"'
TLS = '[factor.connection]\ntls = { connection = { transport = "tcp", tls = true } }'


@pytest.mark.parametrize(
    ("level", "line", "words"),
    [
        (COMPRESSION, 9, '`wal_compression = "lz4"` needs lz4'),
        (TLS, 7, "`tls = true` needs OpenSSL"),
        ('[settings.ring]\nio_method = "io_uring"', 7, '`io_method = "io_uring"` needs io_uring'),
    ],
)
def test_check_names_what_is_missing_and_servers_that_have_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], level: str, line: int, words: str
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(provision="postgresql:18.4", level=level))

    assert call(["check", str(file)]) == 2

    err = capsys.readouterr().err
    assert f"{file}:{line}: {words}, which `postgresql:18.4`" in err
    assert "`postgresql:18@sid`" in err


@pytest.mark.parametrize(
    ("provision", "settings", "words"),
    [
        (
            "mariadb:11.4.5@maven",
            'plugin_load_add = "ha_rocksdb"',
            "the plugin `ha_rocksdb`, which",
        ),
        ("mariadb:11.8@debian", 'plugin_load = "x=ha_s3.so"', "the plugin `ha_s3`, which"),
        ("mariadb:11.8@debian", "innodb_compression_algorithm = 2", "which nothing loads"),
        ("mariadb:10.2.11@maven", 'innodb_compression_algorithm = "lz4"', "was built without"),
        ("mariadb:10.5@bullseye", 'innodb_compression_algorithm = "bzip2"', "was built without"),
        ("mariadb:10.5@bullseye", 'innodb_compression_algorithm = "snappy"', ""),
        ("mariadb:11.8@debian", 'plugin_load_add = "ha_rocksdb;file_key_management"', ""),
        ("mariadb:11.4.5@maven", 'innodb_compression_algorithm = "zlib"', ""),
    ],
)
def test_check_names_what_a_mariadb_lacks(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    provision: str,
    settings: str,
    words: str,
) -> None:
    file = tmp_path / "study.toml"
    file.write_text(STUDY.format(provision=provision, level=f"[settings.one]\n{settings}"))

    code = call(["check", str(file)])

    err = capsys.readouterr().err
    assert code == (2 if words else 0), err
    assert (f"{file}:7: `" in err and words in err) if words else "lacks" not in err


@pytest.mark.slow
def test_a_mariadb_has_the_plugins_that_check_finds(tmp_path: Path) -> None:
    """It starts without one that it lacks, so that only `check` says so."""
    plugins = "file_key_management;ha_absent"
    provision = parse_provision("mariadb@system")
    (lacking,) = lacks_of_mariadb(provision, {"plugin_load_add": plugins}, {})
    assert "`ha_absent`" in lacking[1]

    with open_server("mariadb@system", {"plugin_load_add": plugins}, tmp_path) as server:
        server.start()
        facts = server.database.facts()
        session = server.database.inside()
        rows = session.rows("SELECT PLUGIN_LIBRARY AS library FROM information_schema.PLUGINS")
        session.close()

    assert "file_key_management.so" in {row["library"] for row in rows}
    assert "ha_absent.so" not in {row["library"] for row in rows}
    assert facts["features"] == [str(facts["tls_library"]).split()[0].lower()]


def test_packages_have_what_their_versions_know() -> None:
    known = {
        text: features_of(parse_provision(text))
        for text in ("postgresql:18.4", "postgresql:18.0.0@maven", "postgresql:9.6@maven")
    }

    assert known == {
        "postgresql:18.4": frozenset(),
        "postgresql:18.0.0@maven": {"openssl", "icu"},
        "postgresql:9.6@maven": {"openssl"},
    }
    assert features_of(parse_provision("url:postgresql://localhost/db")) is None
    assert [*lacks(parse_provision("url:postgresql://localhost/db"), {"ssl": "on"}, {})] == []


@pytest.mark.slow
@pytest.mark.parametrize("provision", ["postgresql:18.4", "postgresql@system"])
def test_a_running_server_agrees_with_what_was_known(provision: str, tmp_path: Path) -> None:
    with open_server(provision, {}, tmp_path) as server:
        server.start()
        facts = server.database.facts()

    known = features_of(parse_provision(provision))
    assert known is not None
    assert facts["features"] == [name for name in configured_order() if name in known]


def configured_order() -> list[str]:
    return configured("--with-openssl --with-icu --with-lz4 --with-zstd --with-liburing")
