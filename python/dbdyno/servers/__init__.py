"""Provision, configure, start and stop a database, and leave nothing behind.

`open_server("postgresql:18.4", {}, folder)` is all a run needs; `protocol.py` says what it gets.
"""

from dbdyno.servers.contents import Contents
from dbdyno.servers.protocol import Capacity, Provision, Server, Source
from dbdyno.servers.registry import Available, available, open_server, parse_provision

__all__ = [
    "Available",
    "Capacity",
    "Contents",
    "Provision",
    "Server",
    "Source",
    "available",
    "open_server",
    "parse_provision",
]
