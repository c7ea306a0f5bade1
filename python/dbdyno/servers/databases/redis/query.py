"""What the lab asks of Redis and Valkey servers, over its own session."""

from __future__ import annotations

from collections.abc import Mapping

from dbdyno.servers.databases.redis.session import RedisSession
from dbdyno.servers.protocol import Capacity

_OF_THIS_RUN = frozenset(
    {
        "aclfile",
        "bind",
        "dir",
        "logfile",
        "pidfile",
        "port",
        "tls-ca-cert-file",
        "tls-cert-file",
        "tls-key-file",
        "tls-port",
        "unixsocket",
    }
)
"""Settings that contain paths or ports of a run: always different, never significant."""
_SECRET = frozenset(
    {"masterauth", "primaryauth", "requirepass", "tls-client-key-file-pass", "tls-key-file-pass"}
)
"""Settings that are passwords."""
_FACTS = {
    "build": "redis_build_id",
    "mode": "redis_mode",
    "allocator": "mem_allocator",
    "event_loop": "multiplexing_api",
    "compiler": "gcc_version",
}
_COUNTED = ("total_", "keyspace_", "expired_", "evicted_", "used_cpu_", "sync_", "unexpected_")
_COUNTED_TOO = frozenset({"rejected_connections", "rdb_saves", "total_forks", "aof_rewrites"})
_STATES = ("total_system_memory", "total_watched_keys", "total_blocking_keys")
"""Fields named like counters that may fall."""
_MILLION = 1_000_000


def settings(session: RedisSession) -> Mapping[str, str]:
    """Every setting, but those of the run and passwords."""
    reply = session.command("CONFIG", "GET", "*")
    assert isinstance(reply, list), "CONFIG GET is a list"
    texts = [bytes(value).decode(errors="replace") for value in reply if isinstance(value, bytes)]
    pairs = zip(texts[::2], texts[1::2], strict=True)
    return {name: value for name, value in pairs if name not in _OF_THIS_RUN | _SECRET}


def facts(session: RedisSession) -> Mapping[str, object]:
    """Version, build and durability."""
    info, effective = session.info(), settings(session)
    own = info.get("valkey_version") or info["redis_version"]
    return {
        "version": own,
        **{name: info[key] for name, key in _FACTS.items() if info.get(key)},
        "io_threads": effective.get("io-threads", "1"),
        "durability": durability(effective),
    }


def durability(effective: Mapping[str, str]) -> str:
    """The class printed beside every number: D0 may lose everything since the last snapshot in a
    crash, D1 the last second, D2 has every acknowledged write on disk."""
    if effective.get("appendonly") != "yes":
        return "D0"
    return "D2" if effective.get("appendfsync") == "always" else "D1"


def counters(session: RedisSession) -> Mapping[str, int]:
    """INFO's counters, which only grow; processor times in microseconds."""
    counted: dict[str, int] = {}
    for name, value in session.info().items():
        if name.startswith("used_cpu_"):
            counted[f"{name}_us"] = round(float(value) * _MILLION)
        elif _is_counter(name) and value.isdecimal():
            counted[name] = int(value)
        elif name.startswith("cmdstat_"):
            calls = dict(pair.split("=", 1) for pair in value.split(",") if "=" in pair)
            counted[f"{name}_calls"] = int(calls.get("calls", 0))
    return counted


def _is_counter(name: str) -> bool:
    grows = name.startswith(_COUNTED) and not name.startswith(_STATES)
    return grows or name in _COUNTED_TOO


def size_bytes(session: RedisSession) -> int:
    """Memory of the data: what is on disk is as old as the last snapshot."""
    return int(session.info("memory")["used_memory_dataset"])


def capacity(session: RedisSession) -> Capacity:
    """Connections left."""
    effective = settings(session)
    most = int(effective["maxclients"])
    used = int(session.info("clients")["connected_clients"])
    return Capacity(
        connections=most - used,
        basis=f"maxclients {most}, {used} in use",
        cure='raise the server\'s maxclients (a setting of the study: `maxclients = "20000"`)',
        accept_queue=int(effective["tcp-backlog"]),
    )
