"""A network of the run's servers, so that a fault can cut or slow the link of one: each in a
namespace of its own, joined by a bridge in another.

The lab, the clients and proxies before several servers stay outside, and have an end of the bridge.
The namespaces have no names: the guard's descriptors keep them alive, and the kernel removes them,
with all ends of all links, when the guard and the processes inside have ended. So nothing needs
undoing.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv4Network
from itertools import count
from typing import ClassVar

from dbdyno.errors import MachineError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Scene, without_programs, without_root

_BLOCKS = tuple(IPv4Network("192.0.2.0/24").subnets(new_prefix=28))
"""Of addresses that are reserved for documentation; a study that runs takes a block."""
_TRY = (
    "ip link add name hub type bridge && ip link add name one type veth peer name two && "
    "tc qdisc add dev one root tbf rate 1mbit burst 70000 latency 50ms && "
    "tc qdisc replace dev one root pfifo limit 0"
)
_HUB = "set -e; ip link add name hub type bridge; ip link set hub up"
_END = """set -e
ip link add name "$1" type veth peer name "$2"
ip link set "$2" netns "$3"
ip link set "$1" master hub up
nsenter --net="$3" sh -c 'ip address add "$1" dev "$2" && ip link set "$2" up' sh "$4" "$2"
"""
"""Run in the hub: port, device in the other namespace, that namespace, address there."""
_DEVICE = "server"
PREFIX = "dbd-"
"""Our own end is a device of this name, our pid and a number."""
_numbers = count()


@dataclass(frozen=True, slots=True)
class Ends:
    """Both ends of a server's link: namespace and device. What one of them may not send, the other
    does not receive."""

    server: tuple[str, str]
    hub: tuple[str, str]


def ends_of(launch: Launch) -> Ends | None:
    """Those of a server that is started so; `None`: it has no link of its own."""
    if launch.hub is None or launch.network is None or launch.address is None:
        return None
    port = _port(IPv4Address(launch.address))
    return Ends(server=(launch.network, _DEVICE), hub=(launch.hub, port))


@dataclass(frozen=True, slots=True)
class LinksSetter:
    """Takes `true` alone."""

    name: ClassVar[str] = "links"
    _random: random.Random = field(default_factory=random.SystemRandom)

    def read(self, value: object) -> bool:
        """Checks the value."""
        if value is not True:
            raise ValueError(f"expected `true`, or leave it out; found {value!r}")
        return True

    def missing(self, _: bool) -> tuple[Missing, ...]:
        """Missing root, programs or kernel support: tests by making links in a temporary
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
        cure = "use a kernel with bridge, veth and tbf, outside of a container"
        return (Missing(f"no links between servers can be made: {reason}", cure),)

    def apply(self, _: bool, guarded: Guarded, scene: Scene) -> Applied:
        """Makes the bridge, a link for each server, and our own."""
        hub = guarded.network()
        inside = ["nsenter", f"--net={hub}", "sh", "-c"]
        guarded.run([*inside, _HUB])
        ours = f"{PREFIX}{os.getpid()}-{next(_numbers) % 100}"
        block = self._free_block(guarded)
        host, *places = reversed(list(block.hosts()))
        ends = [(ours, f"/proc/{os.getpid()}/ns/net", host)]
        launches: dict[str, Launch] = {}
        for name, address in zip(scene.members or ("",), reversed(places), strict=False):
            network = guarded.network()
            guarded.run(["nsenter", f"--net={network}", "ip", "link", "set", "lo", "up"])
            ends.append((_DEVICE, str(network), address))
            launches[name] = Launch(network=str(network), address=str(address), hub=str(hub))
        for device, network_file, address in ends:
            words = [_port(address), device, network_file, f"{address}/{block.prefixlen}"]
            guarded.run([*inside, _END, "sh", *words])
        after = {"links": len(launches)}
        if not scene.members:
            return Applied(after=after, server=launches[""])
        return Applied(after=after, members=launches)

    def _free_block(self, guarded: Guarded) -> IPv4Network:
        """One that this machine has no address in."""
        printed = guarded.run(["ip", "-4", "-oneline", "address", "show"])
        taken = [IPv4Address(text) for text in re.findall(r"inet (\S+)/", printed)]
        free = [block for block in _BLOCKS if not any(address in block for address in taken)]
        if not free:
            raise MachineError(
                f"every block of addresses in {_BLOCKS[0].supernet(new_prefix=24)} is in use",
                hint="wait for other studies to end",
            )
        return self._random.choice(free)


def _port(address: IPv4Address) -> str:
    """The device in the hub to which the link of an address leads."""
    return f"port-{address.packed[-1]}"


SETTER = LinksSetter()
