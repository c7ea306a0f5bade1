"""Provision texts: what each means, and what is said of those that mean nothing."""

import os
from pathlib import Path

import pytest

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.errors import ServerError
from dbdyno.servers import Provision, Source, available, parse_provision, parse_tool
from dbdyno.servers.sources.packaged import printed_by
from dbdyno.servers.sources.provision import matches, version_key


@pytest.fixture(autouse=True)
def nothing_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What suites have is what the table says, not what this machine has asked."""
    monkeypatch.setenv(CACHE_VARIABLE, str(tmp_path / "cache"))


@pytest.mark.parametrize(
    ("text", "kind", "source", "version"),
    [
        ("sqlite", "sqlite", Source.EMBEDDED, None),
        ("postgresql", "postgresql", Source.WHEEL, "18.4"),
        ("postgresql:18", "postgresql", Source.WHEEL, "18.4"),
        ("postgresql:18.4@wheel", "postgresql", Source.WHEEL, "18.4"),
        ("postgresql:16", "postgresql", Source.WHEEL, "16.14"),
        ("postgresql:16@maven", "postgresql", Source.MAVEN, "16.10.0"),
        ("postgresql:18.0", "postgresql", Source.MAVEN, "18.0.0"),
        ("postgresql:14", "postgresql", Source.MAVEN, "14.20.0"),
        ("postgresql:9.6", "postgresql", Source.MAVEN, "9.6.24"),
        ("postgresql:15.14.0@maven", "postgresql", Source.MAVEN, "15.14.0"),
        ("mariadb:11", "mariadb", Source.MAVEN, "11.4.5"),
        ("mariadb:10.2", "mariadb", Source.MAVEN, "10.2.11"),
        ("mysql", "mysql", Source.MAVEN, "5.6.14"),
        ("mysql:5.6", "mysql", Source.MAVEN, "5.6.14"),
        ("mysql:9.7", "mysql", Source.DEBIAN, "9.7.4"),
        ("mysql:9.7@debian", "mysql", Source.DEBIAN, "9.7.4"),
        ("mariadb:10.5", "mariadb", Source.DEBIAN, "10.5.23"),
        ("mariadb:11.8", "mariadb", Source.DEBIAN, "11.8.6"),
        ("mariadb:11.8@sid", "mariadb", Source.DEBIAN, "11.8.9"),
        ("postgresql:13", "postgresql", Source.DEBIAN, "13.16"),
        ("postgresql@debian", "postgresql", Source.DEBIAN, "17.11"),
        ("postgresql:17", "postgresql", Source.MAVEN, "17.6.0"),
        ("postgresql:17@trixie", "postgresql", Source.DEBIAN, "17.11"),
        ("postgresql:19", "postgresql", Source.DEBIAN, "19~rc1"),
        ("postgresql:19~rc1", "postgresql", Source.DEBIAN, "19~rc1"),
    ],
)
def test_a_text_means_one_server(text: str, kind: str, source: Source, version: str | None) -> None:
    found = parse_provision(text)

    assert (found.kind, found.source) == (kind, source)
    assert version is None or found.version == version


def test_a_url_is_kept_whole() -> None:
    url = "postgresql://user@/db?host=/run/pg&port=5433"

    found = parse_provision(f"url:{url}")

    assert found == Provision(f"url:{url}", "postgresql", Source.URL, url=url)


@pytest.mark.parametrize(
    ("url", "masked"),
    [
        ("postgresql://user:s3cret@host:5432/db", "postgresql://user:***@host:5432/db"),
        ("postgresql://host:5432/db", "postgresql://host:5432/db"),
        ("postgresql:///db?password=s3cret&port=1", "postgresql:///db?password=***&port=1"),
    ],
)
def test_a_password_is_used_and_not_shown(url: str, masked: str) -> None:
    found = parse_provision(f"url:{url}")

    assert found.url == url
    assert found.text == f"url:{masked}"
    assert "s3cret" not in repr(found)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("postgrsql:18", "did you mean `postgresql`?"),
        ("postgresql:18.5", "the nearest there are: `postgresql:18.4@wheel`"),
        ("postgresql:10", "`postgresql:11.21.0@maven`"),
        ("postgresql:19~rc2", "`postgresql:19~rc1@experimental`"),
        ("postgresql:19.0", "there is no such postgresql"),
        ("postgresql:18@bullseye", "there is no such postgresql"),
        ("postgresql:13@bulseye", "did you mean `bullseye`?"),
        ("postgresql:18.1@wheel", "`postgresql:18.4@wheel`"),
        ("postgresql:new", "there is no such postgresql"),
        ("postgresql:18@whele", "did you mean `wheel`?"),
        ("postgresql@path", "`@path:` and nothing else takes a folder"),
        ("postgresql@wheel:/opt", "`@path:` and nothing else takes a folder"),
        ("mysql:8.0", "the nearest there are: `mysql:9.7.4@sid`"),
        ("sqlite:3.40", "in one version only"),
        ("sqlite@wheel", "in one version only"),
        ("url:oracle://db", "`oracle` is not a scheme of a server's URL"),
        ("url:postgresql://me:secret@[::1/x", "`url:postgresql://me:***@[::1/x` is no URL"),
        ("", "does not name a server"),
    ],
)
def test_a_wrong_text_is_answered_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(ServerError) as caught:
        parse_provision(text)

    assert said in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("kind", "title"),
    [("postgresql", "PostgreSQL"), ("mariadb", "MariaDB"), ("mysql", "MySQL")],
)
def test_a_folder_without_a_server_is_refused(kind: str, title: str, tmp_path: Path) -> None:
    with pytest.raises(ServerError, match=f"holds no {title}"):
        parse_provision(f"{kind}@path:{tmp_path}")


def test_each_server_that_is_listed_can_be_named() -> None:
    for entry in available():
        is_tool = entry.provision.startswith("tool:")
        found = parse_tool(entry.provision) if is_tool else parse_provision(entry.provision)
        assert (found.kind, found.source, found.version) == (
            entry.kind.removeprefix("tool:"),
            entry.source,
            entry.version,
        )


def test_versions_are_compared_as_numbers() -> None:
    assert version_key("9.6.24") < version_key("11.21.0") < version_key("18.0")
    assert version_key("18.0") == version_key("18.0.0")
    assert version_key("18.4") < version_key("19~beta2") < version_key("19~rc1")
    assert version_key("19~rc1") < version_key("19") < version_key("19.1")


def test_what_precedes_a_release_is_meant_by_its_first_number_and_by_itself() -> None:
    assert matches("19", "19~rc1")
    assert matches("19~rc1", "19~rc1")
    assert not matches("19.0", "19~rc1")
    assert not matches("19~rc1", "19.0")


def test_a_program_is_asked_for_its_version_once_until_it_changes(tmp_path: Path) -> None:
    program, asked = tmp_path / "program", tmp_path / "asked"
    for version, changed_s in (("1.0", 1), ("1.1", 2)):
        program.write_text(f"#!/bin/sh\necho >> {asked}\necho {version}\n")
        program.chmod(0o755)
        os.utime(program, (changed_s, changed_s))
        assert [printed_by(program), printed_by(program)] == [f"{version}\n"] * 2
    assert asked.read_text() == "\n" * 2


def test_a_program_that_failed_is_asked_again(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n[ -e {tmp_path}/ready ] && echo 1.0\n")
    program.chmod(0o755)

    assert printed_by(program) is None
    (tmp_path / "ready").write_text("")
    assert printed_by(program) == "1.0\n"


@pytest.mark.parametrize(
    ("text", "kind", "version"),
    [
        ("tool:fio@trixie", "fio", "3.39"),
        ("tool:fio:3.25", "fio", "3.25"),
        ("tool:pgbench:17.11@debian", "pgbench", "17.11"),
        ("tool:rocksdb-tools@bullseye", "rocksdb-tools", "6.11.4"),
        ("tool:rocksdb-tools:9.11", "rocksdb-tools", "9.11.2"),
        ("tool:sysbench@bookworm", "sysbench", "1.0.20"),
    ],
)
def test_a_tool_is_named_like_a_server(text: str, kind: str, version: str) -> None:
    found = parse_tool(text)

    assert (found.text, found.kind, found.version) == (text, kind, version)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("fio", "expected `tool:NAME`"),
        ("tool:foi", "did you mean `fio`?"),
        ("tool:fio:9", "the nearest there are: `tool:fio:3."),
        ("tool:", "does not name a tool"),
    ],
)
def test_a_wrong_tool_is_answered_with_what_there_is(text: str, said: str) -> None:
    with pytest.raises(ServerError) as caught:
        parse_tool(text)

    assert said in caught.value.message


def test_a_tool_is_no_server() -> None:
    with pytest.raises(ServerError, match="`tool` is not a kind of server"):
        parse_provision("tool:fio")
