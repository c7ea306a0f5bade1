"""Provisions, configures, starts and stops databases, and leaves nothing behind.

`open_server("postgresql:18.4", {}, folder)` is all that a run needs; `protocol.py` defines the
result.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.servers.contents import Contents
    from dbdyno.servers.initial_data import InitialData
    from dbdyno.servers.protocol import Capacity, Provision, Server, ServerSpec, Source
    from dbdyno.servers.registry import (
        Available,
        absent_target,
        available,
        fetch,
        kind_of,
        open_server,
        open_spec,
        open_tool,
        parse_provision,
        parse_tool,
        require_available,
        resolve,
    )
    from dbdyno.servers.sources.provision import at_path, programs_not_asked
    from dbdyno.servers.sources.remembered import provisions_remembered
    from dbdyno.servers.sources.tool import Tool

__all__ = [
    "Available",
    "Capacity",
    "Contents",
    "InitialData",
    "Provision",
    "Server",
    "ServerSpec",
    "Source",
    "Tool",
    "absent_target",
    "at_path",
    "available",
    "fetch",
    "kind_of",
    "open_server",
    "open_spec",
    "open_tool",
    "parse_provision",
    "parse_tool",
    "programs_not_asked",
    "provisions_remembered",
    "require_available",
    "resolve",
]

_PLACES = {
    "Contents": "contents",
    "InitialData": "initial_data",
    "Capacity": "protocol",
    "Provision": "protocol",
    "Server": "protocol",
    "ServerSpec": "protocol",
    "Source": "protocol",
    "Available": "registry",
    "absent_target": "registry",
    "Tool": "sources.tool",
    "at_path": "sources.provision",
    "available": "registry",
    "fetch": "registry",
    "kind_of": "registry",
    "open_server": "registry",
    "open_spec": "registry",
    "open_tool": "registry",
    "parse_provision": "registry",
    "parse_tool": "registry",
    "programs_not_asked": "sources.provision",
    "provisions_remembered": "sources.remembered",
    "require_available": "registry",
    "resolve": "registry",
}

__getattr__ = on_demand(__name__, _PLACES)
