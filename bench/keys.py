"""The contenders besides ours on a server of keys: its own benchmark, and the raw loop."""

from __future__ import annotations

import re

from bench.child import Child, run_child
from bench.contenders import Contender, Figures, per_statement, run_floor
from bench.options import Options
from bench.place import Place
from dbdyno.errors import MachineError

_PROGRAM = "valkey-benchmark"
_TRIAL_BATCHES = 20_000
"""Length of the trial run, whose rate tells how many requests fill a window."""


def servers_own(pipeline: int) -> Contender:
    """The server's own benchmark with one thread, on keys that all exist. Its length is given in
    requests, not seconds. What a short run costs, connecting included, is subtracted."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        least = clients * pipeline
        trial = _run(place, clients, pipeline, options, requests=_TRIAL_BATCHES * pipeline)
        requests = max(2 * least, round(_rate_per_s(trial) * options.window_s))
        short = _run(place, clients, pipeline, options, requests=least)
        long = _run(place, clients, pipeline, options, requests=requests)
        return per_statement(
            requests - least,
            (requests - least) / _rate_per_s(long),
            long.user_s - short.user_s,
            long.system_s - short.system_s,
        ) | {"memory_peak_kb": float(long.memory_peak_kb)}

    return measure


def _run(place: Place, clients: int, pipeline: int, options: Options, *, requests: int) -> Child:
    password = str(place.target["password"])
    return run_child(
        [
            place.programs / _PROGRAM,
            *("-s", place.socket),
            *("-a", password),
            *("-t", "get"),
            *("-c", str(clients)),
            *("-P", str(pipeline)),
            *("-r", str(options.table_rows)),
            *("-n", str(requests)),
            "--csv",
        ]
    )


def _rate_per_s(child: Child) -> float:
    rate = re.search(r'^"GET","([\d.]+)"', child.output, re.MULTILINE)
    if rate is None:
        raise MachineError(f"{_PROGRAM} printed no rate", hint=child.output[-500:])
    return float(rate[1])


def raw(pipeline: int) -> Contender:
    """The raw loop on one thread, scheduled as ours is."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        return run_floor(
            place,
            clients,
            options,
            program="resp_floor",
            user=str(place.target["password"]),
            loop="uring",
            statement=f"{pipeline} {options.table_rows}",
            statements_per_reply=pipeline,
        )

    return measure
