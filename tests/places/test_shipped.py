"""What is copied to load hosts, and where it lies there."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from dbdyno.errors import UsageError
from dbdyno.places import ship
from dbdyno.places.shipped import ENGINE


@pytest.fixture
def engine(tmp_path: Path) -> Path:
    program = tmp_path / "engine"
    program.write_text("#!/bin/sh\n")
    program.chmod(0o755)
    return program


def test_scripts_are_found_where_they_were_put(tmp_path: Path, engine: Path) -> None:
    study = tmp_path / "study"
    (study / "lib").mkdir(parents=True)
    (study / "work.lua").write_text("-- work")
    (study / "lib" / "part.lua").write_text("-- part")
    (study / "large.csv").write_text("not for a load host")
    times = tmp_path / "times.txt"
    times.write_text("0.5\n")
    to = tmp_path / "shipped"

    shipped = ship(to, engine, [study / "work.lua", times], [study])

    for name in (study / "work.lua", study / "lib" / "part.lua", times):
        there = Path(shipped.below(str(to), str(name)))
        assert there.is_relative_to(to)
        assert there.read_text() == name.read_text()
    assert shipped.below("/there", "/elsewhere/x.lua") == "/elsewhere/x.lua"
    assert not list(to.rglob("*.csv"))
    assert os.access(to / ENGINE, os.X_OK)


def test_what_is_shipped_can_be_imported_by_itself(tmp_path: Path, engine: Path) -> None:
    ship(tmp_path / "shipped", engine, [], [])
    words = "import sys; sys.path.insert(0, '.'); import dbdyno.places.ray_host as h; print(h)"

    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", words],
        cwd=tmp_path / "shipped",
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert str(tmp_path / "shipped") in done.stdout or "dbdyno/places" in done.stdout


def test_a_folder_of_everything_is_refused(tmp_path: Path, engine: Path) -> None:
    study = tmp_path / "study"
    study.mkdir()
    with (study / "huge.lua").open("wb") as huge:
        huge.truncate(60_000_000)

    with pytest.raises(UsageError, match="too many to be copied"):
        ship(tmp_path / "shipped", engine, [], [study])
