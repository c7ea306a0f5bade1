"""The kinds of server there are, and the three things the rest of the lab does with them."""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.guard.guarded import sweep
from dbdyno.guard.launch import ORDINARY, Launch
from dbdyno.servers import cache
from dbdyno.servers.mariadb.kind import KIND as MARIADB
from dbdyno.servers.mysql.kind import KIND as MYSQL
from dbdyno.servers.packaged import cache_key
from dbdyno.servers.postgresql.kind import KIND as POSTGRESQL
from dbdyno.servers.protocol import Package, Provision, Server, Source
from dbdyno.servers.provision import choices, parse
from dbdyno.servers.sqlite.kind import KIND as SQLITE

KINDS = {kind.name: kind for kind in (SQLITE, POSTGRESQL, MARIADB, MYSQL)}


@dataclass(frozen=True, slots=True)
class Available:
    """A server that can be had here, for `dbdyno servers`."""

    kind: str
    version: str
    source: Source
    provision: str
    """What to write in a study to get exactly this one."""
    package: str | None
    """What would be downloaded, or was."""
    ready: bool
    """Embedded, installed, or in the cache: nothing need be downloaded."""


def parse_provision(text: str) -> Provision:
    """Understands a provision text; see `provision.py` for its form.

    # Errors
    `ServerError` names what is not known, what is nearest to it and what there is.
    """
    return parse(text, KINDS)


def available() -> Sequence[Available]:
    """All servers known of, without asking any registry. More can be had by `@maven`, `@path`
    and `url:`."""
    found = []
    for kind in KINDS.values():
        if kind.embedded_version is not None:
            found.append(
                Available(kind.name, kind.embedded_version, Source.EMBEDDED, kind.name, None, True)
            )
        for choice in choices(kind):
            provision = f"{kind.name}:{choice.version}@{choice.source}"
            package = choice.name if isinstance(choice, Package) else None
            ready = not isinstance(choice, Package) or cache.find(cache_key(choice)) is not None
            found.append(
                Available(kind.name, choice.version, choice.source, provision, package, ready)
            )
    return found


@contextlib.contextmanager
def open_server(
    provision: str, settings: Mapping[str, str], folder: Path, launch: Launch = ORDINARY
) -> Iterator[Server]:
    """A server for one run, not yet started. Leaving the block stops it and removes all but its
    logs, which stay in `folder`; so does the end of this process, however it comes.

    # Errors
    `ServerError` when there is no such server or it can't have these settings or this launch.
    """
    parsed = replace(parse_provision(provision), launch=launch)
    _refuse_launch(parsed)
    sweep()
    server = KINDS[parsed.kind].open(parsed, settings, folder)
    try:
        yield server
    finally:
        server.close()


def _refuse_launch(provision: Provision) -> None:
    """Only a process of ours can be started in another way."""
    if provision.source is Source.URL and provision.launch != ORDINARY:
        raise ServerError(
            f"`{provision.text}`: a server that runs already can't be started in another way",
            hint="leave out what `host` says of the server, or have dbdyno start one",
        )
    if (
        provision.source is Source.EMBEDDED
        and replace(provision.launch, data_parent=None) != ORDINARY
    ):
        raise ServerError(
            f"`{provision.text}`: {provision.kind} has no process of its own",
            hint="it runs within the client: say the same of the client",
        )
