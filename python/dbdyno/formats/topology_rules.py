"""What [server.NAME] says of its topology, checked as far as it is the same for all topologies; the
keys of each are checked by its own schema (`servers/topologies/`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from dbdyno.errors import StudyError
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study_schema import SERVER_KEYS, ServerTable

BY_PROXY = {"single": False, "behind-proxy": True}
"""Topology that needs no name, since `proxy` says which it is → whether it has one."""


def topology_of(
    level: str, server: ServerTable, fail: Callable[..., StudyError]
) -> Mapping[str, object]:
    """`Level.topology`; empty where `proxy` decides it, so that a cell is the same whether or not
    the file names its topology. Raises what `fail` makes of path, message and hint."""
    name, table = server.topology, ("server", level)
    if name is None:
        return {}
    if name not in BY_PROXY:
        return {"name": name, **server.of_topology}
    if server.of_topology:
        key = next(iter(server.of_topology))
        hint = nearest_hint(key, SERVER_KEYS) or f"known here: {', '.join(SERVER_KEYS)}"
        raise fail((*table, key), f"unknown key `{key}` in [{'.'.join(table)}]", hint)
    if (server.proxy is not None) != BY_PROXY[name]:
        needs = "needs" if BY_PROXY[name] else "has no"
        raise fail((*table, "topology"), f"`{name}` {needs} `proxy = {{ kind = … }}`")
    return {}
