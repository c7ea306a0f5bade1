"""Whether the servers of a topology hold the same rows."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from dbdyno.errors import ServerError
from dbdyno.model import Verify
from dbdyno.servers import Contents, Server

_CATCH_UP_LIMIT_S = 600.0
"""How long members may take to apply what they were sent; a load may have left them far behind."""


def require_agreement(
    server: Server, verify: Verify, when: str, loaded: Collection[str] = ()
) -> None:
    """Compares every table on all members, once each has what the first has; of servers that aren't
    ours, those that were `loaded`. `verify` decides how: not at all, by numbers of rows, or by
    checksums; the message says `when`: `after loading`.

    # Errors
    `ServerError` names each table that differs, and the member.
    """
    if not server.members.same_rows:
        server.members.settle(_CATCH_UP_LIMIT_S)
    if not server.members or not server.members.same_rows or verify == "none":
        return
    server.members.settle(_CATCH_UP_LIMIT_S)
    tables = server.database.tables() or {table: table for table in loaded}
    if differences := list(_differences(server, tables, checksum=verify == "checksums")):
        raise ServerError(
            f"members differ {when}: {'; '.join(differences)}",
            hint="what was measured was not the same rows everywhere: is a table left out of the "
            "replication, or was a member written to?",
        )


def _differences(server: Server, tables: Mapping[str, str], *, checksum: bool) -> Iterator[str]:
    first, *others = server.members
    for table, in_statements in tables.items():
        expected = server.database.contents(in_statements, checksum=checksum)
        for member in others:
            try:
                contents = member.server.database.contents(in_statements, checksum=checksum)
            except ServerError as error:
                yield f"`{table}` can't be read on {member.name} ({error.message})"
                continue
            if contents != expected:
                yield (
                    f"`{table}` has {_in_words(contents)} on {member.name}, "
                    f"{_in_words(expected)} on {first.name}"
                )


def _in_words(contents: Contents) -> str:
    checksum = f" with checksum {contents.checksum}" if contents.checksum else ""
    return f"{contents.rows:,} rows{checksum}"
