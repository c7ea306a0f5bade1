"""What this machine lets one run have: open files of all, ports, places in a queue. What one
process may open, the engine says of itself."""

from __future__ import annotations

from dataclasses import dataclass

from dbdyno.collect.tree import Tree


@dataclass(frozen=True, slots=True)
class MachineLimits:
    """`None` where there is no limit, or none that can be seen."""

    files_of_all: int | None
    """Of all processes together."""
    ports: int | None
    """TCP connections from one address to one address and port."""
    accept_queue: int | None
    """Connections to a listener here that wait to be accepted, whatever it asks for."""


def machine_limits(tree: Tree | None = None) -> MachineLimits:
    """Read anew: they can be changed at any time."""
    source = tree or Tree()
    return MachineLimits(
        files_of_all=source.number("proc/sys/fs/file-max"),
        ports=_ports(source.text("proc/sys/net/ipv4/ip_local_port_range")),
        accept_queue=source.number("proc/sys/net/core/somaxconn"),
    )


def _ports(text: str | None) -> int | None:
    match (text or "").split():
        case [first, last] if first.isdecimal() and last.isdecimal():
            return int(last) - int(first) + 1
        case _:
            return None
