"""A network between client and server: two namespaces joined by a link with a rate and an MTU.

The namespaces have no names: the guard's descriptors keep them alive, and the kernel removes them,
with link and limits, when the guard and the processes inside have ended. So nothing needs undoing.
The lab itself stays outside and reaches the server by its Unix socket.
"""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbdyno.formats.quantities import parse_bit_rate
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import (
    Applied,
    Scene,
    table,
    whole_number,
    without_programs,
    without_root,
)

_SERVER, _CLIENT = "192.0.2.1", "192.0.2.2"
"""A block reserved for documentation; each namespace has only the link."""
_BURST_S = 0.005
"""The bucket holds what the rate passes in this time: longer than the kernel's timer tick."""
_LEAST_BURST_BYTES = 70_000
"""The largest packet that the kernel segments later."""
_QUEUE = "50ms"
"""Packets that wait longer are dropped and retransmitted."""
_TRY = (
    "ip link add one type veth peer name two && "
    "tc qdisc add dev one root tbf rate 1mbit burst 70000 latency 50ms"
)


@dataclass(frozen=True, slots=True)
class Network:
    """`None`: unlimited."""

    rate_bit_s: int | None
    mtu_bytes: int


class NetworkSetter:
    """A table of `rate` ("1 Gbit/s") and `mtu` (in bytes, 1500 unless said)."""

    name: ClassVar[str] = "network"

    def read(self, value: object) -> Network:
        """Checks the value; the rate in bits per second."""
        asked = table(value, "rate", "mtu")
        mtu = whole_number(asked.get("mtu", 1500), 576, 65535)
        return Network(parse_bit_rate(asked["rate"]) if "rate" in asked else None, mtu)

    def missing(self, _: Network) -> tuple[Missing, ...]:
        """Missing root, programs or kernel support: tests by making a link in a temporary
        namespace."""
        lacking = (
            *without_root("make network namespaces"),
            *without_programs({"ip": "iproute2", "tc": "iproute2", "nsenter": "util-linux"}),
        )
        if lacking:
            return lacking
        argv = ["unshare", "--net", "sh", "-c", _TRY]
        tried = subprocess.run(argv, capture_output=True, text=True, check=False)
        if tried.returncode == 0:
            return ()
        reason = " ".join(tried.stderr.split())[:200]
        return (
            Missing(
                f"no link with a rate can be made: {reason}",
                "use a kernel with veth and tbf, outside of a container",
            ),
        )

    def apply(self, value: Network, guarded: Guarded, _: Scene) -> Applied:
        """Makes both namespaces and the link between them."""
        server, client = guarded.network(), guarded.network()
        inside_server, inside_client = _inside(server), _inside(client)
        link = ["link", "add", "server", "type", "veth", "peer", "name", "client"]
        guarded.run([*inside_server, "ip", *link])
        guarded.run([*inside_server, "ip", "link", "set", "client", "netns", client])
        for inside, name, address in (
            (inside_server, "server", _SERVER),
            (inside_client, "client", _CLIENT),
        ):
            guarded.run([*inside, "ip", "address", "add", f"{address}/24", "dev", name])
            guarded.run([*inside, "ip", "link", "set", name, "mtu", str(value.mtu_bytes), "up"])
            guarded.run([*inside, "ip", "link", "set", "lo", "up"])
            if value.rate_bit_s is not None:
                limit = tbf(value.rate_bit_s)
                guarded.run([*inside, "tc", "qdisc", "add", "dev", name, "root", *limit])
        return Applied(
            after={"rate_bit_s": value.rate_bit_s, "mtu_bytes": value.mtu_bytes},
            server=Launch(network=str(server), address=_SERVER),
            client=Launch(network=str(client)),
        )


def _inside(namespace: Path) -> list[str]:
    return ["nsenter", f"--net={namespace}"]


def tbf(rate_bit_s: int) -> list[str]:
    """The words after `tc qdisc … root` for a rate."""
    burst_bytes = max(_LEAST_BURST_BYTES, round(rate_bit_s / 8 * _BURST_S))
    return ["tbf", "rate", f"{rate_bit_s}bit", "burst", str(burst_bytes), "latency", _QUEUE]


SETTER = NetworkSetter()
