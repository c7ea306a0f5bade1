"""Temporary folders of the lab's own: gone with their block, or with the sweep after a kill."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import dbdyno
from dbdyno.guard.locked_folder import LOCK_NAME, lock_folder, remove_locked_folder
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


def test_what_a_kill_left_half_removed_goes_with_the_next_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    removed: list[str] = []
    with scratch_folder("test") as folder:
        for name in ("data", "zz"):
            (folder / name).mkdir()
        monkeypatch.setattr(
            shutil, "rmtree", lambda path, **_: removed.append(Path(path).name)
        )  # as though the folder were still written to

    assert set(removed) == {"data", "zz"}
    assert (folder / LOCK_NAME).exists()
    monkeypatch.undo()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    sweep()

    assert not list(tmp_path.iterdir())


def test_a_folder_is_removed_while_a_dying_program_still_writes_into_it(tmp_path: Path) -> None:
    folder = tmp_path / "dbdyno-data"
    (folder / "data" / "base").mkdir(parents=True)
    lock = lock_folder(folder)
    ends = time.monotonic() + 0.3

    def write() -> None:
        while time.monotonic() < ends:
            with contextlib.suppress(OSError):
                (folder / "data" / "base" / str(time.monotonic_ns())).touch()

    with ThreadPoolExecutor(1) as threads:
        threads.submit(write)
        remove_locked_folder(folder)
        assert (folder / LOCK_NAME).exists() or not folder.exists()
    remove_locked_folder(folder)
    os.close(lock)

    assert not folder.exists()


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
