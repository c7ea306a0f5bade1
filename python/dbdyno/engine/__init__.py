"""Finds, checks and runs the engine's binary. Only this room knows that it exists."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.engine.binary import Engine, find_engine
    from dbdyno.engine.hosts import HOST_METRICS, LoadHosts
    from dbdyno.engine.in_turns import EngineInTurns, open_turns
    from dbdyno.engine.plan import plan_engine, plan_scripts, spec_of_clients
    from dbdyno.engine.process import Outcome, run_engine
    from dbdyno.engine.script import find_script, known_scripts
    from dbdyno.engine.spec import at_rate, run_spec
    from dbdyno.engine.speed import Speedometer, open_speedometer

__all__ = [
    "HOST_METRICS",
    "Engine",
    "EngineInTurns",
    "LoadHosts",
    "Outcome",
    "Speedometer",
    "at_rate",
    "find_engine",
    "find_script",
    "known_scripts",
    "open_speedometer",
    "open_turns",
    "plan_engine",
    "plan_scripts",
    "run_engine",
    "run_spec",
    "spec_of_clients",
]

_PLACES = {
    "HOST_METRICS": "hosts",
    "Engine": "binary",
    "find_engine": "binary",
    "LoadHosts": "hosts",
    "Outcome": "process",
    "run_engine": "process",
    "plan_engine": "plan",
    "plan_scripts": "plan",
    "spec_of_clients": "plan",
    "EngineInTurns": "in_turns",
    "open_turns": "in_turns",
    "find_script": "script",
    "known_scripts": "script",
    "at_rate": "spec",
    "run_spec": "spec",
    "Speedometer": "speed",
    "open_speedometer": "speed",
}

__getattr__ = on_demand(__name__, _PLACES)
