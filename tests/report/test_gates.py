"""The room of gates: each module with a gate is found, and each has its place."""

from __future__ import annotations

from pathlib import Path

from dbdyno.report import gates
from dbdyno.report.gates.registry import judges

SHARED = {"__init__", "gate", "registry", "warned"}


def test_every_module_has_a_gate_with_a_place_of_its_own() -> None:
    files = {path.stem for path in Path(gates.__file__).parent.glob("*.py")} - SHARED
    places = [judge.place for judge in judges()]

    assert len(places) == len(files)
    assert places == sorted(set(places))
