"""The topology of a cell's server: checked, with the file's line, before anything is started."""

from __future__ import annotations

from collections.abc import Sequence

from dbdyno.design.cells import cells
from dbdyno.errors import LabError
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import Cell
from dbdyno.servers import ServerSpec, parse_provision
from dbdyno.servers.registry import doors
from dbdyno.servers.topologies.registry import find_topology
from dbdyno.servers.topologies.topology import KeyOfTopologyError, PlannedMember


def planned_members(cell: Cell) -> Sequence[PlannedMember]:
    """The servers of a cell's topology, in the order in which they are started; one by itself is
    called `server`."""
    topology = find_topology(str(cell.topology.get("name", "single")))
    spec = ServerSpec(parse_provision(cell.provision), cell.settings)
    return topology.members(spec, topology.read(cell.topology), doors())


def check_topologies(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the file's line, for an impossible topology."""
    for cell in cells(loaded.study):
        if not cell.topology:
            continue
        table = deciding_level(loaded.study, cell, lambda level: level.topology) or ("server",)
        try:
            topology = find_topology(str(cell.topology["name"]))
            keys = topology.read(cell.topology)
        except KeyOfTopologyError as error:
            place = f"`{topology.name}` in [{'.'.join(table)}]"
            path = (*table, *error.path)
            raise loaded.error(path, f"{place}: {error}", hint=error.hint) from error
        except LabError as error:
            raise loaded.error((*table, "topology"), error.message, hint=error.hint) from error
        reason = topology.refuses(parse_provision(cell.provision), keys, doors())
        if reason is not None:
            raise loaded.error((*table, "topology"), f"`{topology.name}`: {reason}")
