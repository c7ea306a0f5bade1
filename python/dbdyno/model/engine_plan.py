"""The engine's plan for a spec. Types follow `crates/record/src/answer.rs`, which documents each
figure."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class BackOff:
    """Pauses between attempts to reconnect: they double up to the longest."""

    first_ms: int
    longest_ms: int
    give_up_s: float


@dataclass(frozen=True, slots=True)
class ScriptVolume:
    """What a script says of its data and statements."""

    rows: int | None
    """That `prepare` loads."""
    bytes: int | None
    event_bytes: float
    event_s: float | None
    statements: int


@dataclass(frozen=True, slots=True)
class EnginePlan:
    """What a run of a spec takes on this machine, by the engine's own rules."""

    schema: int
    engine_version: str
    clients: int
    """Of all processes."""
    processes: int
    shards: int
    """Of each process."""
    shards_bound: bool
    reactor: str
    loaders: int
    """Loader connections besides the clients' own, at most."""
    connectors: int
    """Threads of each shard that connect clients."""
    connecting: int
    """Connections made at the same time, at most, over all processes."""
    connections: int
    """Of clients and loaders."""
    open_files: int
    """Of the process that needs most."""
    open_files_limit: int | None
    """Of a process; `None`: there is none."""
    open_files_of_all: int
    memory_bytes_per_client: int
    memory_bytes: int
    """Of all processes; an estimate, as is that per client."""
    is_local: bool
    """The server shares this machine's processors."""
    back_off: BackOff
    volumes: tuple[ScriptVolume | None, ...] = ()
    """Of each group's script; empty if scripts were not read."""
