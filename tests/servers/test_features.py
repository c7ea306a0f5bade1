"""What a PostgreSQL was built without is known before it is started."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.cli import call
from dbdyno.servers import open_server, parse_provision
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
