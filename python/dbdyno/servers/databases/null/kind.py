"""The null driver comes with the engine."""

from pathlib import Path

from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Server, ServerSpec


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Only who opens it pays for the guard's import.
    from dbdyno.servers.databases.null.server import NullServer

    return NullServer(spec, folder)


KIND = Kind(name="null", open=_open, driver="null", embedded_version="1", url_schemes=("null",))
