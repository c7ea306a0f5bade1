"""The engine's binary, found, checked and driven. No other room knows that there is one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dbdyno.lazy import on_demand

if TYPE_CHECKING:
    from dbdyno.engine.binary import Engine, find_engine
    from dbdyno.engine.process import Outcome, run_engine
    from dbdyno.engine.script import find_script, known_scripts
    from dbdyno.engine.spec import run_spec

__all__ = [
    "Engine",
    "Outcome",
    "find_engine",
    "find_script",
    "known_scripts",
    "run_engine",
    "run_spec",
]

_PLACES = {
    "Engine": "binary",
    "find_engine": "binary",
    "Outcome": "process",
    "run_engine": "process",
    "find_script": "script",
    "known_scripts": "script",
    "run_spec": "spec",
}

__getattr__ = on_demand(__name__, _PLACES)
