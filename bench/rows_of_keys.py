"""The rows of the table that are measured on a server of keys."""

from collections.abc import Sequence

from bench import contenders, keys, place
from bench.row import Budget, Cell, Row

_METRICS = ("cpu_us", "user_us", "system_us", "statements_per_s", "memory_peak_kb")
_CLIENTS = (16, 50)
_OURS = "dbdyno"
_ONE_SHARD = "dbdyno, one shard"
_PEER = "valkey-benchmark"
_RAW = "raw io_uring"


def _row(name: str, title: str, pipeline: int) -> Row:
    more = {"pipeline": pipeline}
    by = {
        _OURS: contenders.engine(place.KEYS, more=more),
        _ONE_SHARD: contenders.engine(place.KEYS, shards=1, more=more),
        _PEER: keys.servers_own(pipeline),
        _RAW: keys.raw(pipeline),
    }
    against = [(Cell(_OURS, n), Cell(_PEER, n)) for n in _CLIENTS]
    floor = [(Cell(_ONE_SHARD, n), Cell(_RAW, n)) for n in _CLIENTS if pipeline == 1]
    raw = [(Cell(_RAW, n), Cell(_PEER, n)) for n in _CLIENTS if pipeline == 1]
    return Row(
        name,
        title,
        f"`GET` of a random key with a value of 100 bytes, {pipeline} in one write: "
        "`workloads/keys.lua` by ours, with the shards it chooses and with one; valkey-benchmark "
        f"(`-t get -P {pipeline}`, one thread), and `floor/resp_floor.c`, scheduled as ours is.",
        place.valkey,
        _METRICS,
        {Cell(contender, n): call for n in _CLIENTS for contender, call in by.items()},
        (
            *(Budget("cpu_us", ours, loop, at_most=1.25) for ours, loop in floor),
            *(Budget("cpu_us", loop, peer, at_most=1.0) for loop, peer in raw),
            *(Budget("cpu_us", ours, peer, at_most=1.0) for ours, peer in against),
            *(Budget("statements_per_s", ours, peer, at_least=1.0) for ours, peer in against),
        ),
    )


ROWS: Sequence[Row] = (
    _row("valkey-get", "One read by key, Valkey, Unix socket", 1),
    _row("valkey-get-pipelined", "The same in pipelines of sixteen", 16),
)
