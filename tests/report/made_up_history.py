"""Ten nights of one study on a host that drifts, for the tests of histories."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from made_up_runs import World, write_study

from dbdyno.model import PlannedRun, Step

NIGHTLY = """
question = "Does the newest release keep its pace?"
[server]
fixed = { provision = "postgresql:17.5" }
newest = { provision = "postgresql:18", settings = { work_mem = "8MB" } }
[factor.mode]
sync = {}
async = { settings = { synchronous_commit = false } }
[workload]
script = "kv_update"
[load]
clients = [1, 4]
warm_up = "1 s"
measure = "2 s"
[scale.small]
load.clients = [4]
[design]
blocks = 2
baseline = { server = "fixed" }
levels = { mode = ["sync"] }
[[chart]]
kind = "throughput-by-clients"
"""
NIGHTS = 10
SLOWER_FROM = 6
DRIFT = np.exp(np.cumsum(np.random.default_rng(3).normal(0, 0.08, NIGHTS)))
"""Of the host, from night to night."""


def night(day: int, *, slow: float = 0.9) -> World:
    noise = 1 + 0.004 * ((day * 5) % 7 - 3) / 3

    def rate(run: PlannedRun, step: Step, second: int) -> float:
        if run.cell.levels["server"] == "fixed":
            return 1000 * float(DRIFT[day])
        spike = 0.6 if day == 2 else 1.0
        level = slow if day >= SLOWER_FROM else 1.0
        # Blocks differ, or there would be no spread.
        return 1000 * float(DRIFT[day]) * noise * spike * level * (1 + 0.01 * run.block)

    def version(run: PlannedRun) -> str:
        if run.cell.levels["server"] == "fixed":
            return "17.5"
        return "18.3" if day < SLOWER_FROM else "18.4"

    return World(rate, day=day, version=version, environment="a" if day < 8 else "b")


def write_nights(folder: Path) -> Path:
    """All nights, as `run --again` would have left them; returns the store."""
    text = NIGHTLY.replace("[1, 4]", "[4]")
    for day in range(NIGHTS):
        write_study(folder, text, night(day), name="nightly", again=day > 0)
    return folder / "store"
