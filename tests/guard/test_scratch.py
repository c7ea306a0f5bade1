"""Temporary folders of the lab's own: gone with their block, or with the sweep after a kill."""

from __future__ import annotations

import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import dbdyno
from dbdyno.guard.scratch import scratch_folder
from dbdyno.guard.sweep import sweep

HOLD = (
    "import sys\nfrom dbdyno.guard.scratch import scratch_folder\n"
    "with scratch_folder('test') as folder:\n    print(folder, flush=True)\n    sys.stdin.read()\n"
)


def test_it_is_gone_behind_its_block(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with scratch_folder("test") as folder:
        assert folder.parent == tmp_path
        (folder / "file").touch()
        sweep()
        assert (folder / "file").exists(), "nobody sweeps what is in use"

    assert not list(tmp_path.iterdir())


def test_a_killed_program_s_folder_goes_with_the_next_sweep() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HOLD],
        env={"PYTHONPATH": str(Path(dbdyno.__file__).parents[1])},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        folder = Path(child.stdout.readline().strip())
        child.send_signal(signal.SIGKILL)
    assert folder.is_dir()

    sweep()

    assert not folder.exists()
