"""The engine's binary, found, checked and driven. No other room knows that there is one."""

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
