"""Where a row is measured: a server with its data, or none; and the raw loops, built."""

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import psycopg
import pymysql

from bench.child import Child, compiled, run_child
from bench.options import ROOT, Options
from bench.poolers import own_network, pooled
from dbdyno.engine import Engine
from dbdyno.errors import MachineError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.servers import Server, fetch, open_server
from dbdyno.setters.cpus import share

SYSBENCH = ("sysbench", "--rand-type=uniform")
"""How sysbench is called: it draws numbers as ours does by itself, so that rows are the same."""
SYSBENCH_SCRIPTS = Path("/usr/share/sysbench")
KEYS = ROOT / "workloads" / "keys.lua"
READ_ONLY = ROOT / "workloads" / "oltp_read_only.lua"
POSTGRESQL = "postgresql:18.4"
MARIADB = "mariadb@system"
VALKEY = "valkey:9.1"
CLICKHOUSE = "clickhouse@system"
_POSTGRESQL_SETTINGS = {"max_connections": "1100", "shared_buffers": "1GB"}
_MARIADB_SETTINGS = {
    "back_log": "4096",
    "innodb_buffer_pool_size": "1G",
    "innodb_flush_log_at_trx_commit": "2",
    "max_connections": "19300",
    "max_prepared_stmt_count": "100000",
    "thread_handling": "pool-of-threads",
}
_CLICKHOUSE_SETTINGS = {
    "log_queries": "1",
    "server.query_log.database": "system",
    "server.query_log.table": "query_log",
}
_ROWS_OF_PGBENCH_SCALE = 100_000
POOLED_CLIENTS = 100_000


def socket_of(target: Mapping[str, Any]) -> Path:
    """The Unix socket of a server's target."""
    return Path(target["endpoints"][0]["unix"])


def libpq_of(socket: Path) -> tuple[str, str]:
    """A PostgreSQL socket as libpq names it: folder and port."""
    return str(socket.parent), socket.name.removeprefix(".s.PGSQL.")


@dataclass(frozen=True, slots=True)
class Place:
    """What a contender needs to know."""

    engine: Engine
    floors: Path
    """The folder of the built raw loops, or of whatever else is measured."""
    target: Mapping[str, Any] = field(default_factory=lambda: {"driver": "null"})
    facts: Mapping[str, object] = field(default_factory=dict)
    """Kind, version and changed settings of the server."""
    programs: Path = Path()
    """The folder of the server's own programs, where they were downloaded."""
    earlier: Path | None = None
    """The engine's program of an earlier revision, where a row compares it."""

    @property
    def user(self) -> str:
        """The role to connect as; it needs no password on the Unix socket."""
        return str(self.target["user"])

    @property
    def database(self) -> str:
        """The database under load."""
        return str(self.target["database"])

    @property
    def socket(self) -> Path:
        """The server's Unix socket."""
        return socket_of(self.target)

    @property
    def libpq(self) -> tuple[str, str]:
        """The socket as libpq names it: folder and port."""
        return libpq_of(self.socket)

    @property
    def url(self) -> str:
        """PostgreSQL over TCP, as `dbdyno bench` takes it."""
        addresses = [endpoint["tcp"] for endpoint in self.target["endpoints"]]
        places = ",".join(f"{address['host']}:{address['port']}" for address in addresses)
        return f"postgresql://{self.user}@{places}/{self.database}"

    def sysbench_arguments(self) -> list[str]:
        """How sysbench reaches the same server."""
        if self.target["driver"] == "mysql":
            names = {"socket": str(self.socket), "user": self.user, "db": self.database}
            return ["--db-driver=mysql", *(f"--mysql-{n}={v}" for n, v in names.items())]
        host, port = self.libpq
        names = {"host": host, "port": port, "user": self.user, "db": self.database}
        return ["--db-driver=pgsql", *(f"--pgsql-{n}={v}" for n, v in names.items())]

    def count(self, table: str) -> int:
        """Rows of a table, as the server counts them."""
        statement = f"SELECT count(*) FROM {table}"
        if self.target["driver"] == "mysql":
            with (
                pymysql.connect(
                    unix_socket=str(self.socket), user=self.user, database=self.database
                ) as mysql,
                mysql.cursor() as cursor,
            ):
                cursor.execute(statement)
                row = cursor.fetchone()
        else:
            host, port = self.libpq
            with psycopg.connect(
                host=host, port=port, user=self.user, dbname=self.database
            ) as postgresql:
                row = postgresql.execute(statement).fetchone()
        assert row is not None, "count(*) has one row"
        return int(row[0])


def engine_spec(
    place: Place, script: Path, clients: int, options: Mapping[str, int], **more: object
) -> Mapping[str, object]:
    """The spec of an engine's run of a script at the place."""
    group = {
        "script": str(script),
        "script_path": [str(script.parent)],
        "options": options,
        "clients": clients,
    }
    return {"schema": SCHEMA, "target": dict(place.target), "groups": [group], **more}


def call_engine(place: Place, spec: Mapping[str, object]) -> Child:
    """Runs the place's engine by a spec."""
    return run_child([place.engine.path, "run", "-"], stdin=json.dumps(spec))


Where = Callable[[Engine, Options], AbstractContextManager[Place]]
"""Sets a place up, and takes it down again."""


def pgbench_program() -> Path:
    """The newest installed; Debian's wrapper in /usr/bin would be measured too."""
    found = list(Path("/usr/lib/postgresql").glob("*/bin/pgbench"))
    if not found:
        raise MachineError("no pgbench is installed", hint="`apt-get install postgresql-15`")
    return max(found, key=lambda path: int(path.parts[-3]))


@contextmanager
def nowhere(engine: Engine, _options: Options) -> Iterator[Place]:
    """No database at all."""
    with TemporaryDirectory(prefix="dbdyno-bench-") as folder:
        yield Place(engine, Path(folder))


@contextmanager
def postgresql_empty(engine: Engine, _options: Options) -> Iterator[Place]:
    """A PostgreSQL server without tables."""
    with _served(POSTGRESQL, _POSTGRESQL_SETTINGS, engine) as place:
        yield place


@contextmanager
def mariadb_empty(engine: Engine, _options: Options) -> Iterator[Place]:
    """A MariaDB server without tables."""
    with _served(MARIADB, _MARIADB_SETTINGS, engine) as place:
        yield place


@contextmanager
def postgresql(engine: Engine, options: Options) -> Iterator[Place]:
    """A PostgreSQL server with pgbench's and sysbench's tables, read once."""
    with postgresql_empty(engine, options) as place:
        host, port = place.libpq
        scale = str(options.table_rows // _ROWS_OF_PGBENCH_SCALE)
        account = ["-h", host, "-p", port, "-U", place.user]
        run_child([pgbench_program(), *account, "--quiet", "-i", "-s", scale, place.database])
        _prepare_with_sysbench(place, options)
        place.count("pgbench_accounts")
        place.count("sbtest1")
        yield place


@contextmanager
def postgresql_pooled(engine: Engine, options: Options) -> Iterator[Place]:
    """A PostgreSQL server with sysbench's table behind several poolers, in a network of its own.

    The server is downloaded first, if need be: no registry can be reached from that network.
    """
    fetch(POSTGRESQL)
    with own_network(), postgresql_empty(engine, options) as place:
        _prepare_with_sysbench(place, options)
        place.count("sbtest1")
        with pooled(place.target, POOLED_CLIENTS) as target:
            yield Place(engine, place.floors, target, place.facts)


@contextmanager
def mariadb(engine: Engine, options: Options) -> Iterator[Place]:
    """A MariaDB server with sysbench's table, read once."""
    with mariadb_empty(engine, options) as place:
        _prepare_with_sysbench(place, options)
        place.count("sbtest1")
        yield place


@contextmanager
def valkey(engine: Engine, options: Options) -> Iterator[Place]:
    """A Valkey server with the keys of the workload `keys`, named as its own benchmark does."""
    programs = fetch(VALKEY)
    assert programs is not None, "it is downloaded"
    with _served(VALKEY, {"save": "", "maxclients": "1100"}, engine) as place:
        names = {"keys": options.table_rows}
        call_engine(place, engine_spec(place, KEYS, 2, names, command="prepare"))
        yield replace(place, programs=programs)


@contextmanager
def clickhouse(engine: Engine, _options: Options) -> Iterator[Place]:
    """A ClickHouse server without tables, which logs each query with what it returned."""
    with _served(CLICKHOUSE, _CLICKHOUSE_SETTINGS, engine) as place:
        yield place


def apart(where: Where) -> Where:
    """The same place with the server on the first half of the processors, and what is measured on
    the others; with a single processor, both on it."""

    @contextmanager
    def divided(engine: Engine, options: Options) -> Iterator[Place]:
        every = sorted(os.sched_getaffinity(0))
        servers = share(every, 1, 2)
        # Whatever is started from here on runs where this process may run at that time.
        os.sched_setaffinity(0, servers)
        try:
            with where(engine, options) as place:
                os.sched_setaffinity(0, every[len(servers) :] or every)
                yield place
        finally:
            os.sched_setaffinity(0, every)

    return divided


def _prepare_with_sysbench(place: Place, options: Options) -> None:
    script = SYSBENCH_SCRIPTS / "oltp_point_select.lua"
    size = f"--table-size={options.table_rows}"
    run_child([*SYSBENCH, *place.sysbench_arguments(), size, script, "prepare"])


@contextmanager
def _served(provision: str, settings: Mapping[str, str], engine: Engine) -> Iterator[Place]:
    with (
        TemporaryDirectory(prefix="dbdyno-bench-") as name,
        open_server(provision, settings, Path(name) / "logs") as server,
    ):
        server.start()
        yield Place(engine, _build_floors(Path(name)), server.entry.target(), _facts(server))


def _facts(server: Server) -> Mapping[str, object]:
    wanted = ("kind", "version", "durability", "settings_changed")
    return {name: value for name, value in server.facts().items() if name in wanted}


def _build_floors(folder: Path) -> Path:
    for name in ("pg_floor", "mysql_floor", "resp_floor"):
        compiled(ROOT / "bench" / "floor" / f"{name}.c", folder, "-luring", "-pthread")
    return folder
