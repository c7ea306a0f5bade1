"""Contenders on a server of keys besides ours: its own benchmark, and the raw loop."""

from __future__ import annotations

import json
import re

from bench.child import Child, run_child
from bench.contenders import AS_BATCH, Contender, Figures, per_statement
from bench.options import Options
from bench.place import Place
from dbdyno.errors import MachineError

_PROGRAM = "redis-benchmark"
_TRIED_REQUESTS = 20_000
"""So many batches first, to know how many requests fill a window."""


def servers_own(pipeline: int) -> Contender:
    """The server's own, with one thread, on keys that are all there. It is told requests, not
    seconds; what a short run takes, connecting included, is taken off."""

    def measure(place: Place, clients: int, options: Options) -> Figures:
        least = clients * pipeline
        tried = _run(place, clients, pipeline, options, requests=_TRIED_REQUESTS * pipeline)
        requests = max(2 * least, round(_rate_per_s(tried) * options.window_s))
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
            _PROGRAM,
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
        child = run_child(
            [
                *AS_BATCH,
                place.floors / "resp_floor",
                place.socket,
                str(place.target["password"]),
                place.database,
                str(clients),
                str(options.window_s),
                "uring",
                str(options.table_rows),
                f"{pipeline} {options.table_rows}",
                "1",
            ]
        )
        printed = json.loads(child.output)
        return per_statement(
            printed["statements"] * pipeline,
            printed["window_s"],
            printed["user_s"],
            printed["system_s"],
        ) | {"memory_peak_kb": float(child.memory_peak_kb)}

    return measure
