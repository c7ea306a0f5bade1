"""The available MongoDB servers: those that are installed. None can be downloaded."""

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import (
    Connection,
    Installation,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.sources.packaged import printed_by


def _version_of(folder: Path) -> str | None:
    numbers = re.search(r"v(\d+(\.\d+)+)", printed_by(folder / "mongod", "--version") or "")
    return numbers[1] if numbers else None


def _installed() -> Sequence[Installation]:
    program = shutil.which("mongod")
    folder = Path(program).resolve().parent if program else None
    version = _version_of(folder) if folder else None
    return [Installation(version, Source.SYSTEM, folder)] if folder and version else []


def _installed_at(folder: Path) -> Installation:
    for candidate in (folder, folder / "bin"):
        if version := _version_of(candidate):
            return Installation(version, Source.PATH, candidate)
    raise ServerError(
        f"{folder} holds no MongoDB: no mongod there or in its `bin` answers to --version",
        hint="name the folder that the server was unpacked or installed in",
    )


def _open(spec: ServerSpec, folder: Path) -> Server:
    from dbdyno.servers.databases.mongodb.running import RunningMongodb
    from dbdyno.servers.databases.mongodb.server import MongodServer

    if spec.provision.source is Source.URL:
        return RunningMongodb(spec)
    return MongodServer(spec, folder)


def refuses(provision: Provision, wish: Connection) -> str | None:
    """Why such connections are impossible."""
    if wish.get("compression") and provision.kind == "ferretdb":
        return "FerretDB does not compress its connections; MongoDB, MySQL and MariaDB do"
    if wish.get("compression") == "lz4":
        return "MongoDB compresses its connections by snappy, zlib or zstd, not by lz4"
    if wish.get("tls") and provision.source is not Source.URL and provision.kind == "mongodb":
        return "a MongoDB that dbdyno starts offers no TLS; one by its URL may"
    return None


KIND = Kind(
    name="mongodb",
    open=_open,
    driver="mongodb",
    installed=_installed,
    installed_at=_installed_at,
    url_schemes=("mongodb",),
    refuses=refuses,
)
