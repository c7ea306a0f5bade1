"""A scene to be killed in: a PostgreSQL whose faults follow one another. Argument: its folder."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from dbdyno.conduct.faults import Faults
from dbdyno.model.fault import DueFault, Fault, FaultAction
from dbdyno.servers import open_server

ACTIONS: Sequence[FaultAction] = ("pause", "kill", "stop")
ROUNDS = 40


def main() -> None:
    with open_server("postgresql@system", {}, Path(sys.argv[1])) as server:
        server.start()
        for number in range(ROUNDS):
            fault = Fault(ACTIONS[number % len(ACTIONS)], 0.0, 0.5)
            faults = Faults(server, server.entry.target(), [DueFault(0.0, fault)], seed=number)
            if number == 0:
                os.write(1, b"ready\n")
            faults.make_all()


if __name__ == "__main__":
    main()
