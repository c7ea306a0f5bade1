"""A study of a replayed engine: what tests of the lab without a load share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent

STUDY = """\
question = "Does it matter?"

[server.lite]
provision = "sqlite"

[factor.journal]
delete = { settings = { journal_mode = "delete" } }
wal = { settings = { journal_mode = "wal" } }

[workload]
script = "nothing"
options = { table_size = 10 }

[load]
clients = [1, 4]
measure = "1 s"

[design]
blocks = 1
seed = 1
baseline = { journal = "delete" }
"""


def replaying(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A program that plays the engine, found where the real one would be; what else runs on the
    machine is looked at for a moment only."""
    program = folder / "dbdyno-engine"
    path = f"{HERE}:{HERE.parent / 'python'}"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH={path} exec {sys.executable} {HERE}/replay_engine.py "$@"\n'
    )
    program.chmod(0o755)
    monkeypatch.setenv("DBDYNO_ENGINE", str(program))
    monkeypatch.setattr("dbdyno.collect.host._SAMPLE_S", 0.02)
    return program


def write_study(folder: Path) -> Path:
    """A small study: two cells in one block, `delete` first; two steps each."""
    file = folder / "example.toml"
    file.write_text(STUDY)
    (folder / "nothing.lua").write_text("function event() end\n")
    return file
