"""A server by itself: what `provision` alone means."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from dbdyno.servers.protocol import Server, ServerSpec
from dbdyno.servers.topologies.topology import Openers, Topology


def _open(spec: ServerSpec, _keys: Any, openers: Openers, folder: Path) -> Server:
    return openers.server(spec, folder)


TOPOLOGY = Topology("single", _open)
