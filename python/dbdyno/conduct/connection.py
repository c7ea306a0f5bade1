"""Connection settings of a cell: checks them beforehand and puts them into the target."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, cast

from dbdyno.design.cells import cells
from dbdyno.errors import ServerError
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import Cell, Missing, Study
from dbdyno.servers import Server, Source, parse_provision
from dbdyno.servers.nodes.certificate import PACKAGE, PROGRAM, has_program
from dbdyno.servers.registry import refuse_connection


def run_target(server: Server, cell: Cell) -> Mapping[str, object]:
    """Where and how a cell's clients connect, as in the run spec."""
    said = cell.connection
    transport = cast("Literal['unix', 'tcp'] | None", said.get("transport"))
    target = dict(server.entry.target(transport))
    if "tls" in said:
        own = cast("Mapping[str, object]", target.get("tls", {}))
        demanded = own.get("mode") in ("verify-ca", "verify-full")
        mode = own["mode"] if demanded else "require"
        target["tls"] = {**own, "mode": mode if said["tls"] else "disable"}
    if "compression" in said:
        target["compression"] = said["compression"] or None
    return target


def wants_tls(cell: Cell) -> bool:
    """Whether the cell's server must offer TLS."""
    return bool(cell.connection.get("tls"))


def missing_for_connections(study: Study) -> tuple[Missing, ...]:
    """What this machine lacks to make certificates."""
    ours = (parse_provision(c.provision).source is not Source.URL for c in _encrypted(study))
    if not any(ours) or has_program():
        return ()
    what = f"there is no program `{PROGRAM}` to make a certificate for TLS"
    return (Missing(what, f"`apt-get install {PACKAGE}`"),)


def check_connections(loaded: StudyFile) -> None:
    """Raises `StudyError`, for an impossible connection of a cell's server."""
    for cell in cells(loaded.study):
        table = deciding_level(loaded.study, cell, lambda level: level.connection)
        path = (*(table or ()), "connection")
        try:
            refuse_connection(cell.provision, cell.connection)
        except ServerError as error:
            raise loaded.error(path, error.message, hint=error.hint) from error
        if told := _wrong(cell):
            message, hint = told
            raise loaded.error(path, message, hint=hint)


def _wrong(cell: Cell) -> tuple[str, str] | None:
    """What is wrong with a connection whatever the kind of server, and what to do about it."""
    said = cell.connection
    transport = said.get("transport")
    by_url = parse_provision(cell.provision).source is Source.URL
    over_tcp = transport == "tcp" or "network" in cell.host or bool(cell.proxy)
    if transport and by_url:
        return "`transport`: a server by URL is reached as its URL says", "leave it out"
    if transport == "unix" and "network" in cell.host:
        return "`transport`: through `host.network` a server is reached over TCP", "leave it out"
    if wants_tls(cell) and not by_url and not over_tcp:
        return (
            "`tls`: a Unix socket is never encrypted, and this cell's clients use one",
            'say `transport = "tcp"` in [connection], for all cells alike',
        )
    return None


def _encrypted(study: Study) -> tuple[Cell, ...]:
    return tuple(cell for cell in cells(study) if wants_tls(cell))
