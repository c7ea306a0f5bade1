"""Any command with the one that takes it back."""

from __future__ import annotations

from pathlib import Path

import pytest
from scene import scene

from dbdyno.errors import MachineError
from dbdyno.guard.guarded import Guarded
from dbdyno.setters.command import SETTER
from dbdyno.setters.outfit import apply_all


def test_without_its_undo_it_is_refused() -> None:
    with pytest.raises(ValueError, match="expected both `apply` and `undo`"):
        SETTER.read({"apply": ["true"]})


def test_a_program_that_is_not_there_is_missing() -> None:
    (missing,) = SETTER.missing(SETTER.read({"apply": ["true"], "undo": ["no-such-program"]}))

    assert missing.what == "there is no program `no-such-program`"


@pytest.mark.parametrize("side", ["apply", "undo"])
def test_a_program_beside_the_study_is_refused(side: str) -> None:
    with pytest.raises(ValueError, match="an absolute path"):
        SETTER.read({"apply": ["true"], "undo": ["true"], side: ["./here.sh"]})


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A folder of journals of the test's own: the host's lock is held by nobody else."""
    monkeypatch.setenv("DBDYNO_STATE", str(tmp_path / "state"))


def test_it_is_run_and_taken_back(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    host = {"command": {"apply": ["touch", str(mark)], "undo": ["rm", "-f", str(mark)]}}
    with Guarded() as guarded:
        apply_all(host, guarded, scene(tmp_path))
        assert mark.exists()

    assert not mark.exists()


def test_one_that_fails_is_told_and_taken_back(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    mark.touch()
    host = {"command": {"apply": ["false"], "undo": ["rm", "-f", str(mark)]}}
    with Guarded() as guarded, pytest.raises(MachineError, match=r"host\.command: `false` ended"):
        apply_all(host, guarded, scene(tmp_path))

    assert not mark.exists()
