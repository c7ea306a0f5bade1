"""Provision texts: what each means, and what is said of those that mean nothing."""

from pathlib import Path

import pytest

from dbdyno.errors import ServerError
from dbdyno.servers import Provision, Source, available, parse_provision
from dbdyno.servers.provision import version_key


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
        ("postgresql:13", "`postgresql:14.20.0@maven`"),
        ("postgresql:18.1@wheel", "`postgresql:18.4@wheel`"),
        ("postgresql:new", "there is no such postgresql"),
        ("postgresql:18@whele", "did you mean `wheel`?"),
        ("postgresql@path", "`@path:` and nothing else takes a folder"),
        ("postgresql@wheel:/opt", "`@path:` and nothing else takes a folder"),
        ("mysql:8.0", "the nearest there are: `mysql:5.6.14@maven`"),
        ("sqlite:3.40", "in one version only"),
        ("sqlite@wheel", "in one version only"),
        ("url:oracle://db", "`oracle` is not a scheme of a server's URL"),
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
        found = parse_provision(entry.provision)
        assert (found.kind, found.source, found.version) == (
            entry.kind,
            entry.source,
            entry.version,
        )


def test_versions_are_compared_as_numbers() -> None:
    assert version_key("9.6.24") < version_key("11.21.0") < version_key("18.0")
    assert version_key("18.0") == version_key("18.0.0")
