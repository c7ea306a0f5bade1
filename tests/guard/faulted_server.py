"""A scene to be killed in: a PostgreSQL with a link and a file system of its own, and one fault
after the other. Argument: its folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dbdyno.conduct.faults import Faults
from dbdyno.conduct.host import apply_host
from dbdyno.model.fault import DueFault, Fault, FaultAction
from dbdyno.servers import Server, ServerSpec, open_spec, resolve

ACTIONS: Sequence[FaultAction] = (
    "pause",
    "partition",
    "kill",
    "power-failure",
    "slow-network",
    "stop",
)
ROUNDS = 40


def main() -> None:
    folder = Path(sys.argv[1])
    filesystem = {"kind": "ext4", "size": "200 MB", "direct_io": False}
    with apply_host({"filesystem": filesystem, "links": True}, folder) as host:
        spec = ServerSpec(resolve("postgresql@system"), launch=host.server)
        with open_spec(spec, folder) as server:
            server.start()
            make_all(server)


def make_all(server: Server) -> None:
    """One fault after the other."""
    for number in range(ROUNDS):
        do = ACTIONS[number % len(ACTIONS)]
        rate = 1_000_000 if do == "slow-network" else None
        fault = Fault(do, 0.0, 0.5, rate_bit_s=rate)
        faults = Faults(server, server.entry.target(), [DueFault(0.0, fault)], seed=number)
        if number == 0:
            os.write(1, b"ready\n")
        faults.make_all()


if __name__ == "__main__":
    main()
