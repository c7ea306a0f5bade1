"""A folder of files: always available."""

from pathlib import Path

from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Server, ServerSpec


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Only who opens it pays for the guard's import.
    from dbdyno.servers.databases.files.server import FilesServer

    return FilesServer(spec, folder)


KIND = Kind(name="files", open=_open, embedded_version="1")
