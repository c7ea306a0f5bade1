"""Finds the topologies: the modules of this folder that have a `TOPOLOGY`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache

from dbdyno.errors import unknown_name
from dbdyno.plugins import plugins
from dbdyno.servers import topologies
from dbdyno.servers.topologies.topology import Topology


@cache
def all_topologies() -> Mapping[str, Topology]:
    """Each by its name in study files."""
    by_name: dict[str, Topology] = {}
    for module, topology in plugins(topologies, "TOPOLOGY"):
        assert topology.name.replace("-", "_") == module, "named like its module"
        by_name[topology.name] = topology
    return by_name


def find_topology(name: str) -> Topology:
    """The topology that a study names; raises `UsageError` with the nearest and all there are."""
    known = all_topologies()
    if name not in known:
        raise unknown_name(f"there is no topology `{name}`", name, known)
    return known[name]
