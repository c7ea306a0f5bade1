"""The rows of the table: where each is measured, by whom, and what it promises.

The budgets are those of the product's design: what a user may expect of our engine beside the tools
of today, in one and the same run.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bench import contenders, place, reports, rows_of_columns, rows_of_keys
from bench.contenders import Contender
from bench.earlier import beside_earlier
from bench.made_up_store import CLIENTS as REPORTED_CLIENTS
from bench.place import SYSBENCH_SCRIPTS, Where
from bench.row import Budget, Cell, Row
from dbdyno.errors import UsageError

OURS = "dbdyno"
_FLAT = (0.7, 1.3)
_FLAT_FROM = 16


_CPU = ("cpu_us", "user_us", "system_us", "statements_per_s", "memory_peak_kb")
_ONE = (1,)
_POSTGRESQL_CLIENTS = (1, 16, 64, 256)
_MARIADB_CLIENTS = (1, 16, 64, 1024)
_MARIADB_MANY = 16_000
_MARIADB_MOST = 19_000
"""What a process may have open on a machine whose limit is 20,000 files."""
_SERVED_CLIENTS = (1, 4, 16, 64, 256, 1024)
_SENDING = "dbdyno, sends only"
_PGBENCH = "pgbench -j cores"
_ONE_SHARD = "dbdyno, one shard"
_SYSBENCH_SERVED = {"sysbench": (contenders.sysbench(contenders.POINT_SELECT), _SERVED_CLIENTS)}
_RAW = "raw io_uring"
_AS_OURS = "raw io_uring as ours"
_TWO_SHARDS_CLIENTS = (16, 64, 256)
"""Where ours has two shards beside PostgreSQL on two cores, and the raw loop has one thread."""
_MEMORY_CLIENTS = 1024
_MEMORY_IN_ALL_KB = 2.5e9 / 1024
_SCRIPT_CLIENTS = 16
_BATCH_SYSBENCH = "sysbench as batch threads"
"""How much of a difference is the scheduling policy's, which `chrt` gives to any program."""
_BATCH_CLIENTS = (16, 64)
_SCRIPTS = (
    "bulk_insert",
    "oltp_delete",
    "oltp_insert",
    "oltp_point_select",
    "oltp_read_only",
    "oltp_read_write",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_write_only",
    "select_random_points",
    "select_random_ranges",
)


def _by_clients(
    contenders: Mapping[str, tuple[Contender, Sequence[int]]],
) -> Mapping[Cell, Contender]:
    """Cells of contenders, each at its own numbers of clients."""
    counts = sorted({count for _, clients in contenders.values() for count in clients})
    return {
        Cell(name, count): contender
        for count in counts
        for name, (contender, clients) in contenders.items()
        if count in clients
    }


def _raw_select(program: str, *, as_ours: bool = False) -> Contender:
    """The field's point select by a raw loop on io_uring; `as_ours`: see `contenders.floor`."""
    return contenders.floor(program, "uring", contenders.SELECTS[program], as_ours=as_ours)


def _at_most(metric: str, peer: str, factor: float, clients: Sequence[int]) -> list[Budget]:
    return [Budget(metric, Cell(OURS, n), Cell(peer, n), at_most=factor) for n in clients]


def _at_least(metric: str, peer: str, factor: float, clients: Sequence[int]) -> list[Budget]:
    return [Budget(metric, Cell(OURS, n), Cell(peer, n), at_least=factor) for n in clients]


@dataclass(frozen=True, slots=True)
class _Served:
    """A kind of server, and whom ours is compared with on it."""

    title: str
    where: Where
    program: str
    """The raw loop of its protocol."""
    ours: str
    """How ours runs besides with its own choice of shards, in words."""
    others: str
    """Who runs the same statement by a means of its own, in words."""
    peers: Mapping[str, tuple[Contender, Sequence[int]]]


_SERVED: Mapping[str, _Served] = {
    "postgresql": _Served(
        "PostgreSQL",
        place.postgresql,
        "pg_floor",
        " and with one,",
        " by pgbench with a thread a core (`-j`),",
        {
            **_SYSBENCH_SERVED,
            _PGBENCH: (contenders.pgbench_on_all_cores, _SERVED_CLIENTS),
            _ONE_SHARD: (contenders.engine(contenders.POINT_SELECT, shards=1), (4, 16, 64)),
        },
    ),
    "mariadb": _Served(
        "MariaDB's thread pool", place.mariadb, "mysql_floor", "", "", _SYSBENCH_SERVED
    ),
}


def _by_clients_row(name: str, *, apart: bool) -> Row:
    """What a server can do, by clients. `apart`: on processors of its own."""
    served = _SERVED[name]
    suffix, placed, explained = (
        (
            "-apart",
            " on processors of its own",
            " The server has one half of the processors and the client the other, which stands for "
            "a machine with more of them.",
        )
        if apart
        else ("", "", "")
    )
    return Row(
        f"{name}-by-clients{suffix}",
        f"What the server can do{placed}, {served.title}, Unix socket",
        "Debian's `oltp_point_select.lua`, unchanged, by ours with the shards it chooses"
        f"{served.ours} and by sysbench; the same statement{served.others} by the raw loop on as "
        "many threads as ours has shards, bound if they are, and by ours from a script whose "
        f"event does nothing else (`workloads/point_select_only.lua`).{explained}",
        place.apart(served.where) if apart else served.where,
        _CPU,
        _by_clients(
            {
                OURS: (contenders.engine(contenders.POINT_SELECT), _SERVED_CLIENTS),
                _SENDING: (contenders.engine(contenders.SELECT_ONLY), _SERVED_CLIENTS),
                **served.peers,
                _AS_OURS: (_raw_select(served.program, as_ours=True), _SERVED_CLIENTS),
            }
        ),
        (
            *(
                budget
                for peer, (_, clients) in served.peers.items()
                for budget in _at_least("statements_per_s", peer, 1.0, clients)
            ),
            *_at_most("cpu_us", _AS_OURS, 1.25, _SERVED_CLIENTS),
            *(
                Budget("cpu_us", Cell(_SENDING, n), Cell(_AS_OURS, n), at_most=1.1)
                for n in _SERVED_CLIENTS
            ),
        ),
    )


ROWS: Sequence[Row] = (
    Row(
        "postgresql-point-select",
        "One select by key, PostgreSQL, Unix socket",
        "`SELECT abalance FROM pgbench_accounts WHERE aid = ?`, prepared, one random row of the "
        "table that `pgbench -i` makes. Ours and sysbench run `workloads/account_select.lua`, "
        "pgbench `-S -M prepared -j 1`, the raw loops `floor/pg_floor.c`, scheduled as ours is.",
        place.postgresql,
        _CPU,
        _by_clients(
            {
                OURS: (contenders.engine(contenders.ACCOUNT_SELECT), _POSTGRESQL_CLIENTS),
                "sysbench": (contenders.sysbench(contenders.ACCOUNT_SELECT), _POSTGRESQL_CLIENTS),
                _BATCH_SYSBENCH: (
                    contenders.sysbench(contenders.ACCOUNT_SELECT, by=contenders.AS_BATCH),
                    _BATCH_CLIENTS,
                ),
                "pgbench": (contenders.pgbench, _POSTGRESQL_CLIENTS),
                _RAW: (
                    contenders.floor("pg_floor", "uring", contenders.SELECT_ACCOUNT),
                    _POSTGRESQL_CLIENTS,
                ),
                "raw epoll": (
                    contenders.floor("pg_floor", "epoll", contenders.SELECT_ACCOUNT),
                    _POSTGRESQL_CLIENTS,
                ),
                _AS_OURS: (
                    contenders.floor("pg_floor", "uring", contenders.SELECT_ACCOUNT, as_ours=True),
                    _TWO_SHARDS_CLIENTS,
                ),
            }
        ),
        (
            *_at_most("cpu_us", _RAW, 1.25, _TWO_SHARDS_CLIENTS),
            *_at_most("cpu_us", _AS_OURS, 1.25, _TWO_SHARDS_CLIENTS),
            *_at_least("statements_per_s", "pgbench", 1.0, (16,)),
            *_at_least("statements_per_s", "sysbench", 1.5, (16,)),
        ),
    ),
    Row(
        "postgresql-oltp-point-select",
        "The field's own point select, PostgreSQL, Unix socket",
        "Debian's `oltp_point_select.lua`, unchanged, by both.",
        place.postgresql,
        _CPU,
        _by_clients(
            {
                OURS: (contenders.engine(contenders.POINT_SELECT), (16,)),
                "sysbench": (contenders.sysbench(contenders.POINT_SELECT), (16,)),
            }
        ),
        _at_least("statements_per_s", "sysbench", 1.5, (16,)),
    ),
    Row(
        "mariadb-point-select",
        "The field's own point select, MariaDB, Unix socket",
        "Debian's `oltp_point_select.lua`, unchanged, by ours and sysbench; the same statement by "
        "`floor/mysql_floor.c`. The server has its thread pool on.",
        place.mariadb,
        _CPU,
        _by_clients(
            {
                OURS: (
                    contenders.engine(contenders.POINT_SELECT),
                    (*_MARIADB_CLIENTS, _MARIADB_MANY, _MARIADB_MOST),
                ),
                "sysbench": (contenders.sysbench(contenders.POINT_SELECT), _MARIADB_CLIENTS),
                _BATCH_SYSBENCH: (
                    contenders.sysbench(contenders.POINT_SELECT, by=contenders.AS_BATCH),
                    _BATCH_CLIENTS,
                ),
                _RAW: (
                    _raw_select("mysql_floor"),
                    (*_MARIADB_CLIENTS, _MARIADB_MANY),
                ),
                "raw epoll": (
                    contenders.floor("mysql_floor", "epoll", contenders.SELECTS["mysql_floor"]),
                    _MARIADB_CLIENTS,
                ),
            }
        ),
        (
            *_at_most("cpu_us", "sysbench", 0.5, _MARIADB_CLIENTS),
            *(
                Budget("cpu_us", Cell(OURS, n), Cell(OURS, _FLAT_FROM), *_FLAT)
                for n in (64, 1024, _MARIADB_MANY)
            ),
            Budget("statements_per_s", Cell(OURS, _MARIADB_MANY), Cell(OURS, 64), at_least=0.7),
        ),
    ),
    *(_by_clients_row(name, apart=apart) for apart in (False, True) for name in _SERVED),
    *(
        Row(
            f"{name}-scripts",
            f"The field's eleven scripts, {title}, Unix socket",
            "Debian's scripts, unchanged and with their own options, by ours and sysbench. Each "
            "measurement makes the script's tables anew. `bulk_insert` sends thousands of rows in "
            "a statement, and how many ends up in the last one is chance: there CPU is that of a "
            "row.",
            where,
            _CPU,
            {
                Cell(who, _SCRIPT_CLIENTS, script): contenders.among_many(
                    by(SYSBENCH_SCRIPTS / f"{script}.lua", fresh=True)
                )
                for script in _SCRIPTS
                for who, by in ((OURS, contenders.engine), ("sysbench", contenders.sysbench))
            },
            [
                Budget(
                    "cpu_us",
                    Cell(OURS, _SCRIPT_CLIENTS, script),
                    Cell("sysbench", _SCRIPT_CLIENTS, script),
                    at_most=0.5,
                )
                for script in _SCRIPTS
            ],
        )
        for name, title, where in (
            ("postgresql", "PostgreSQL", place.postgresql_empty),
            ("mariadb", "MariaDB", place.mariadb_empty),
        )
    ),
    *rows_of_keys.ROWS,
    *rows_of_columns.ROWS,
    Row(
        "hundred-thousand",
        "100,000 connections, all at work, PostgreSQL behind several pgbouncers",
        "`dbdyno bench` with Debian's `oltp_point_select.lua`, statements as text, against "
        "pgbouncers on loopback addresses of their own. Memory is that of all engine processes "
        "and of the lab; connecting is part of the time.",
        place.postgresql_pooled,
        (
            "statements_per_s",
            "cpu_us",
            "memory_in_all_kb",
            "connections",
            "errors",
            "elapsed_s",
        ),
        {Cell(OURS, place.POOLED_CLIENTS): contenders.command(contenders.POINT_SELECT)},
        (
            Budget("connections", Cell(OURS, place.POOLED_CLIENTS), at_least=place.POOLED_CLIENTS),
            Budget("errors", Cell(OURS, place.POOLED_CLIENTS), at_most=0.0),
            Budget("memory_in_all_kb", Cell(OURS, place.POOLED_CLIENTS), at_most=_MEMORY_IN_ALL_KB),
        ),
    ),
    Row(
        "memory-per-connection",
        "Resident memory of the client per connection",
        "Debian's `oltp_point_select.lua` on one table of MariaDB: peak memory with 1,024 clients "
        "minus that with 16, over 1,008.",
        place.mariadb,
        ("memory_per_connection_kb",),
        _by_clients(
            {
                OURS: (
                    contenders.memory_per_connection(
                        contenders.engine(contenders.POINT_SELECT), 16
                    ),
                    (_MEMORY_CLIENTS,),
                ),
                "sysbench": (
                    contenders.memory_per_connection(
                        contenders.sysbench(contenders.POINT_SELECT), 16
                    ),
                    (_MEMORY_CLIENTS,),
                ),
            }
        ),
        (Budget("memory_per_connection_kb", Cell(OURS, _MEMORY_CLIENTS), at_most=20.0),),
    ),
    Row(
        "empty-event",
        "An event that does nothing",
        "One shard (ours) or thread (sysbench), no database: `bench/workloads/empty_event.lua`.",
        place.nowhere,
        ("events_per_s",),
        _by_clients(
            {
                OURS: (contenders.engine_events(contenders.EMPTY_EVENT), _ONE),
                "sysbench": (contenders.sysbench_events(contenders.EMPTY_EVENT), _ONE),
            }
        ),
        _at_least("events_per_s", "sysbench", 1.0, _ONE),
    ),
    Row(
        "random-event",
        "An event with one random id and one random string of 59 characters",
        "The same with `bench/workloads/random_event.lua`.",
        place.nowhere,
        ("events_per_s",),
        _by_clients(
            {
                OURS: (contenders.engine_events(contenders.RANDOM_EVENT), _ONE),
                "sysbench": (contenders.sysbench_events(contenders.RANDOM_EVENT), _ONE),
            }
        ),
        _at_least("events_per_s", "sysbench", 1.0, _ONE),
    ),
    *(
        Row(
            f"{name}-load",
            f"Loading one table, {title}",
            "`prepare` of Debian's `oltp_point_select.lua`: create, fill and index one table; "
            "rows counted afterwards.",
            where,
            ("rows_per_s",),
            _by_clients(
                {
                    OURS: (contenders.engine_load, _ONE),
                    "sysbench": (contenders.sysbench_load, _ONE),
                }
            ),
            _at_least("rows_per_s", "sysbench", 3.0, _ONE),
        )
        for name, title, where in (
            ("postgresql", "PostgreSQL", place.postgresql_empty),
            ("mariadb", "MariaDB", place.mariadb_empty),
        )
    ),
    Row(
        "report",
        f"A report of 60 runs × 600 s × {reports.METRICS} metrics",
        "`dbdyno report` on a made-up store of 12 cells in 5 blocks, and its page in headless "
        "Chromium.",
        reports.made_up_runs,
        ("build_s", "build_cpu_s", "page_mb", "content_s", "panels_s", "opened_s"),
        {Cell(OURS, REPORTED_CLIENTS): reports.report},
        (
            Budget("build_s", Cell(OURS, REPORTED_CLIENTS), at_most=10.0),
            Budget("opened_s", Cell(OURS, REPORTED_CLIENTS), at_most=2.0),
            Budget("page_mb", Cell(OURS, REPORTED_CLIENTS), at_most=10.0),
        ),
    ),
)


_EARLIER = "dbdyno before"


def _before_and_after(
    name: str, title: str, where: Where, script: str, program: str | None = None
) -> Row:
    """`program`: the raw loop that does the same, on one thread and on as many as ours has shards:
    what another shard costs whoever has it."""
    clients = (1, 16, 64, 256)
    file = SYSBENCH_SCRIPTS / f"{script}.lua"
    raw = (
        {
            _RAW: (_raw_select(program), clients),
            _AS_OURS: (_raw_select(program, as_ours=True), clients),
        }
        if program
        else {}
    )
    text = " The same statement by the raw loop, on one thread and on as many as ours has shards."
    return Row(
        f"{name}-before-and-after",
        f"Before and after, {title}, {script}",
        "The engine of the revision that `BENCH_BEFORE` names (6f96003: the last before its inside "
        "was made anew, with one shard here), and today's, with the shards it chooses and with "
        f"one. Debian's `{script}.lua`, unchanged.{text if program else ''}",
        beside_earlier(where),
        _CPU,
        _by_clients(
            {
                OURS: (contenders.engine(file), clients),
                _ONE_SHARD: (contenders.engine(file, shards=1), clients),
                _EARLIER: (contenders.earlier_engine(file), clients),
                **raw,
            }
        ),
        (
            *_at_most("cpu_us", _EARLIER, 1.0, clients),
            *_at_least("statements_per_s", _EARLIER, 1.0, clients),
            *_at_most("memory_peak_kb", _EARLIER, 1.0, clients),
            *(
                Budget("cpu_us", Cell(_ONE_SHARD, n), Cell(_EARLIER, n), at_most=1.0)
                for n in clients
            ),
            *(_at_most("cpu_us", _AS_OURS, 1.25, clients) if program else ()),
        ),
    )


ROWS_OF_EARLIER: Sequence[Row] = (
    _before_and_after(
        "postgresql-reads", "PostgreSQL", place.postgresql, "oltp_point_select", "pg_floor"
    ),
    _before_and_after("postgresql-mix", "PostgreSQL", place.postgresql, "oltp_read_only"),
    _before_and_after("mariadb-reads", "MariaDB", place.mariadb, "oltp_point_select"),
)
"""Measured only where they are named: an engine has to be built for them."""

ALL_ROWS = (*ROWS, *ROWS_OF_EARLIER)


def chosen_rows(names: Sequence[str], scripts: Sequence[str] = ()) -> Sequence[Row]:
    """The rows named; if none is, all but those of an earlier engine.

    # Errors
    `UsageError` lists the rows, or scripts, when a name is not one of them.
    """
    if strange := sorted(set(scripts) - set(_SCRIPTS)):
        message = f"BENCH_SCRIPTS: there is no script `{strange[0]}`"
        raise UsageError(message, hint=f"scripts: {', '.join(_SCRIPTS)}")
    known = {row.name: row for row in ALL_ROWS}
    if unknown := [name for name in names if name not in known]:
        raise UsageError(f"ROWS: there is no row `{unknown[0]}`", hint=f"rows: {', '.join(known)}")
    return [known[name] for name in names] or ROWS
