"""TiDB: what its metrics tell of statements, transactions, requests to its store, and Go's memory.

Its status variables, which clients of MySQL ask for, count next to nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

from dbdyno.collect.collector import of_a_program
from dbdyno.collect.exposition import read_metrics
from dbdyno.model import Metric, Reading

_HANDLED = "tidb_server_handle_query_duration_seconds"
_COMMANDS = "tidb_tikvclient_txn_cmd_duration_seconds"
_PACKETS = "tidb_server_packet_io_bytes"
_KNOWN: Mapping[str, Metric] = {
    "tidb_server_query_total": Metric(
        "statements", "", "counter", "Statements of clients, the lab's own included"
    ),
    f"{_HANDLED}_sum": Metric("statement_s", "s", "counter", "Time that they took"),
    "tidb_session_transaction_duration_seconds_count": Metric(
        "transactions", "", "counter", "Transactions of clients, statements outside of one included"
    ),
    "tidb_executor_affected_rows": Metric("rows_changed", "rows", "counter", "Rows changed"),
    f'{_PACKETS}{{type="In"}}': Metric(
        "received_bytes", "B", "counter", "Bytes received from clients"
    ),
    f'{_PACKETS}{{type="Out"}}': Metric("sent_bytes", "B", "counter", "Bytes sent to clients"),
    f"{_COMMANDS}_count": Metric("store_commands", "", "counter", "Commands to the store"),
    f"{_COMMANDS}_sum": Metric("store_command_s", "s", "counter", "Time that they took"),
    "badger_num_puts": Metric("store_puts", "", "counter", "Keys written to the store"),
    "badger_num_bytes_written": Metric(
        "store_written_bytes", "B", "counter", "Bytes written to the store's log and tables"
    ),
    "tidb_server_connections": Metric("clients", "", "gauge", "Connections"),
    "go_memstats_heap_inuse_bytes": Metric(
        "heap_bytes", "B", "gauge", "Memory of Go's heap that is in use"
    ),
    "go_goroutines": Metric("goroutines", "", "gauge", "Goroutines"),
    "process_resident_memory_bytes": Metric("resident_bytes", "B", "gauge", "Resident memory"),
}
"""Name in TiDB's metrics → ours; of those with labels, all that are not TiDB's own work."""
_OWN = '"internal"'


def _read(addresses: Sequence[str]) -> Sequence[Reading]:
    (address,) = addresses
    values = read_metrics(address)
    own: defaultdict[str, float] = defaultdict(float)
    for sample, value in values.items():
        if _OWN in sample:
            own[sample.partition("{")[0]] += value
    return [
        Reading(metric.name, values[name] - own[name])
        for name, metric in _KNOWN.items()
        if name in values
    ]


COLLECTOR = of_a_program(
    "tidb", tuple(_KNOWN.values()), _read, program="tidb-server", what="TiDB's metrics"
)
