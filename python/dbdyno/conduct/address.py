"""Databases given by URL: an existing server, a SQLite file, or the null driver."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from urllib.parse import SplitResult, parse_qsl, unquote, urlsplit, urlunsplit

from dbdyno.conduct.verify import Look
from dbdyno.errors import ServerError, UsageError
from dbdyno.servers import Contents, Server, open_server, parse_provision
from dbdyno.servers.sqlite.contents import contents


@dataclass(frozen=True, slots=True)
class Addressed:
    """A database by its URL."""

    kind: str
    """The database's name, for collectors; empty: none."""
    target: Mapping[str, object]
    """The target in the run spec."""
    server: Server | None
    """`None` if there is no server."""
    look: Look
    """How to read a table's contents."""
    folder: Path | None
    """Where its data are; `None` if unknown."""


@contextmanager
def open_address(url: str, scratch: Path) -> Iterator[Addressed]:
    """The database at `url`, connected; nothing in it is changed. Raises `LabError`."""
    match _split(url).scheme:
        case "null":
            yield Addressed("", {"driver": "null"}, None, _nothing, scratch)
        case "sqlite":
            target = _sqlite(url)
            file = Path(str(target["path"]))
            yield Addressed("sqlite", target, None, partial(contents, file), file.parent)
        case "":
            raise UsageError(f"`{url}` is not a URL", hint=_EXAMPLES)
        case _:
            provision = f"url:{url}"
            kind = parse_provision(provision).kind
            with open_server(provision, {}, scratch) as server:
                server.start()
                yield Addressed(
                    kind, server.target(), server, server.contents, server.data_folder()
                )


def without_password(url: str) -> str:
    """The URL without its password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.password is None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{place}"))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"`{url}` is not a URL: {error}", hint=_EXAMPLES) from error


def _nothing(table: str, *, checksum: bool) -> Contents:
    raise ServerError(f"`null` keeps no table `{table}`")


def _sqlite(url: str) -> Mapping[str, object]:
    """`sqlite:///absolute/path`, `sqlite:relative/path`; a query gives pragmas."""
    parts = urlsplit(url)
    if parts.netloc or not parts.path.strip("/"):
        raise UsageError(f"`{url}` names no file", hint=_EXAMPLES)
    return {
        "driver": "sqlite",
        "path": str(Path(unquote(parts.path)).absolute()),
        "pragmas": [list(pair) for pair in parse_qsl(parts.query)],
    }


_EXAMPLES = "such as postgresql://user@host/db, mysql://user@host/db, sqlite:///path/to.db or null:"
