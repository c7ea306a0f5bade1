"""What the data of a cell come to, by the options of its script or tool.

The bundled scripts' figures are those of InnoDB, indexes included, and of two slow cores; other
servers and machines differ by a third or so. Of other scripts only the options `tables` and
`table_size` tell anything; what they don't is not guessed. `tests/workloads/test_volume.py` holds
the rows against what the scripts load.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import cache
from pathlib import PurePath

from dbdyno.generators.registry import find_generator
from dbdyno.model import (
    EVENTS_PER_S,
    SYSBENCH_ROW_BYTES,
    Cell,
    Option,
    Volume,
    sysbench_rows,
    whole,
)

Options = Mapping[str, Option]


def volume_of(cell: Cell) -> Volume | None:
    """Rows and bytes of its tables, what its events add, and how long they take; `None`: its
    script or tool does not tell."""
    if not cell.abilities.takes_script:
        return find_generator(cell.generator).volume(cell.options)
    made = cell.preparing
    name = PurePath(made.script).stem
    loaded = _LOADED.get(name, _like_sysbench(name, made.options))
    if loaded is None:
        return None
    rows, size_bytes = loaded(made.options)
    event = _EVENTS.get(PurePath(cell.script).stem)
    event_bytes, event_s = event(cell.options) if event else (0.0, 1 / EVENTS_PER_S)
    return replace(Volume(rows, size_bytes), event_bytes=event_bytes, event_s=event_s)


def _like_sysbench(name: str, options: Options) -> Callable[[Options], tuple[int, float]] | None:
    """The rule of sysbench's own scripts and of any that has their option."""
    own = name.startswith(("oltp_", "select_random_"))
    return _sysbench if own or {"table_size", "table-size"} & options.keys() else None


def _sysbench(options: Options) -> tuple[int, float]:
    rows = sysbench_rows(options)
    return rows, rows * SYSBENCH_ROW_BYTES


def _kv_update(options: Options) -> tuple[int, float]:
    rows = sysbench_rows(options)
    return rows, rows * (whole(options, "value_size", 100) + 50)


def _keys(options: Options) -> tuple[int, float]:
    """In memory: a key with its value has some 60 bytes besides."""
    keys = whole(options, "keys", 100_000)
    return keys, keys * (whole(options, "value_size", 100) + 60)


def _tpcb_like(options: Options) -> tuple[int, float]:
    branches = whole(options, "branches", 1)
    rows = branches * (1 + 10 + whole(options, "accounts", 100_000))
    return rows, rows * 150


def _tpcc_like(options: Options) -> tuple[int, float]:
    """Some 100 MB a warehouse; `reduction` divides customers, orders and items."""
    reduction = whole(options, "reduction", 1)
    customers = max(30, 3000 // reduction)
    items = max(100, 100_000 // reduction)
    waiting = customers - int(customers * 0.7)
    district = 1 + 3 * customers + waiting + _order_lines(customers)
    warehouses = whole(options, "warehouses", 1)
    rows = warehouses * (1 + 10 * district + items) + items
    return rows, rows * 200


@cache
def _order_lines(orders: int) -> int:
    """Of that many orders, as the script counts them."""
    return sum(5 + (order * 7 + order // 11) % 11 for order in range(1, orders + 1))


def _dbstress_like(options: Options) -> tuple[int, float]:
    objects = whole(options, "objects", 100_000)
    rows = objects * (1 + whole(options, "histories", 20)) + 1_110
    return rows, rows * 150


def _imdb_like(options: Options) -> tuple[int, float]:
    titles, users = whole(options, "titles", 100_000), whole(options, "users", 100_000)
    return 3 * titles + users, titles * 320 + users * 90


def _full_text(options: Options) -> tuple[int, float]:
    """Texts with their indexes; with `step = all` also the tables that they are copied from, and
    the second indexes."""
    rows = whole(options, "pages", 8_000) + whole(options, "entries", 800_000)
    return rows, _text_bytes(options) * (4 if options.get("step") == "all" else 2.5)


def _text_bytes(options: Options) -> float:
    """Of pages, and of entries with twelve words and a name."""
    word = 7.5
    page = word * (whole(options, "page_words", 1_000) + 6)
    return whole(options, "pages", 8_000) * page + whole(options, "entries", 800_000) * (
        12 * word + 20
    )


def _ddl_storm(options: Options) -> tuple[int, float]:
    """Empty tables, each with a file of its own."""
    return 0, whole(options, "schemas", 16) * whole(options, "tables", 500) * 100_000


def _ycsb(options: Options) -> tuple[int, float]:
    """Of options alone: what a workload file says is not known before the script reads it."""
    rows = whole(options, "recordcount", 0) or 1_000
    fields = whole(options, "fieldcount", 0) or 10
    return rows, rows * (60 + fields * ((whole(options, "fieldlength", 0) or 100) + 4))


def _nothing(_: Options) -> tuple[int, float]:
    return 0, 0.0


_LOADED: Mapping[str, Callable[[Options], tuple[int, float]]] = {
    "account_select": _nothing,
    "bulk_insert": _nothing,
    "cpu_bound": _nothing,
    "dbstress_like": _dbstress_like,
    "ddl_storm": _ddl_storm,
    "full_text": _full_text,
    "imdb_like": _imdb_like,
    "insert_benchmark": _nothing,
    "keys": _keys,
    "kv_update": _kv_update,
    "micro": _sysbench,
    "rollup_insert": _nothing,
    "tpcb_like": _tpcb_like,
    "tpcc_like": _tpcc_like,
    "trigger_load": _nothing,
    "ycsb": _ycsb,
}
"""Script → rows that `prepare` makes, and bytes of its tables."""


def _grows(event_bytes: float) -> Callable[[Options], tuple[float, float]]:
    return lambda _: (event_bytes, 1 / EVENTS_PER_S)


def _rolled_up(options: Options) -> tuple[float, float]:
    """As published: a sequential key has texts and a second index."""
    return 900 if options.get("key", "sequential") == "sequential" else 240, 1 / EVENTS_PER_S


def _purchases(options: Options) -> tuple[float, float]:
    """The steps l.i1 and l.i2 delete as much as they insert, and queries add nothing."""
    if options.get("step", "l.i0") != "l.i0":
        return 0.0, 1 / EVENTS_PER_S
    rows = whole(options, "rows_per_insert", 0) or 100
    return rows * (60 + whole(options, "data_size", 10)), rows * 2e-6


def _triggers(options: Options) -> tuple[float, float]:
    rows = whole(options, "rows", 1_000)
    return rows * 50, rows * 1.8e-6


def _text_events(options: Options) -> tuple[float, float]:
    """With `step = all` a second a megabyte of text for all of them together."""
    acts = 6 + 2 * (whole(options, "passes", 1) - 1) + 5 * whole(options, "rounds", 10)
    return 0.0, _text_bytes(options) * 1e-6 / acts if options.get("step") == "all" else 0.1


def _computing(options: Options) -> tuple[float, float]:
    return 0.0, whole(options, "rows", 100_000) * 4e-7


_EVENTS: Mapping[str, Callable[[Options], tuple[float, float]]] = {
    "cpu_bound": _computing,
    "ddl_storm": lambda _: (0.0, 0.008),
    "film_script": _grows(150),
    "full_text": _text_events,
    "imdb_like": _grows(150),
    "insert_benchmark": _purchases,
    "oltp_insert": _grows(SYSBENCH_ROW_BYTES),
    "rollup_insert": _rolled_up,
    "tpcb_like": _grows(60),
    "tpcc_like": _grows(500),
    "trigger_load": _triggers,
}
"""Script → bytes that an event adds, and its seconds; of the others: none, and few."""
