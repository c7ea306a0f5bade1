"""The rows of the table that are measured on a server of columns."""

from collections.abc import Callable, Mapping, Sequence

from bench import columns, contenders
from bench.place import READ_ONLY
from bench.row import Budget, Cell, Row

_METRICS = (
    "cpu_us",
    "user_us",
    "system_us",
    "statements_per_s",
    "memory_peak_kb",
    "result_rows",
    "result_bytes",
)
_OURS = "dbdyno"
_CLIENTS = 8
_SAME = (0.99, 1.01)
_POINTS = {"point_selects": 1, "range_selects": 0}
_RANGES = {
    "point_selects": 0,
    "sum_ranges": 0,
    "order_ranges": 0,
    "distinct_ranges": 0,
    "range_size": columns.RANGE_ROWS,
}


def _queries(
    name: str, title: str, options: Mapping[str, int], statement: Callable[[int], str]
) -> Row:
    ours, peer = Cell(_OURS, _CLIENTS), Cell(columns.QUERYING, _CLIENTS)
    engine = contenders.engine(READ_ONLY, more=options)
    return Row(
        name,
        title,
        f"`{statement(1)}` with random ids: `workloads/oltp_read_only.lua` by ours, and the "
        "server's own benchmark. The server's query log says what each statement returned.",
        columns.with_table,
        _METRICS,
        {
            ours: columns.counted(engine, "dbdyno"),
            peer: columns.counted(columns.servers_own(statement), "ClickHouse benchmark"),
        },
        (
            Budget("cpu_us", ours, peer, at_most=1.0),
            Budget("result_rows", ours, peer, *_SAME),
            Budget("result_bytes", ours, peer, *_SAME),
        ),
    )


_LOADING = Cell(_OURS, 1)
_FROM_FILE = Cell(f"{columns.LOADING}, rows from a file", 1)

ROWS: Sequence[Row] = (
    _queries("clickhouse-point", "One row by its key, ClickHouse, TCP", _POINTS, columns.point),
    _queries("clickhouse-range", "A hundred rows, ClickHouse", _RANGES, columns.points_in_range),
    Row(
        "clickhouse-load",
        "Loading one table, ClickHouse",
        "`prepare` of `workloads/oltp_read_only.lua`, which makes the rows; the same for the null "
        "target, which is what making them takes; the server's own client with the same rows in a "
        "file of its format Native. Rows counted afterwards.",
        columns.with_rows_as_file,
        ("rows_per_s", "row_cpu_us", "memory_peak_kb"),
        {
            _LOADING: columns.engine_load,
            Cell("dbdyno, null target", 1): columns.rows_made,
            _FROM_FILE: columns.client_load,
        },
        (Budget("rows_per_s", _LOADING, _FROM_FILE, at_least=0.8),),
    ),
)
