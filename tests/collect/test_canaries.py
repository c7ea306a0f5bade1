"""Canaries on this machine: they end, they find something, and a full disk is no failure."""

from __future__ import annotations

import resource
import threading
from pathlib import Path

import psutil
import pytest

from dbdyno.collect import Canaries


def test_every_canary_finds_a_pace_and_leaves_nothing(tmp_path: Path) -> None:
    me = psutil.Process()
    open_before, threads_before = me.num_fds(), threading.active_count()

    with Canaries(tmp_path) as canaries:
        one, two = canaries.run(), canaries.run()

    assert all(pace > 0 for pace in (one.spin, one.copy, one.fsync or 0.0, one.round_trip))
    assert one != two
    assert list(tmp_path.iterdir()) == []
    assert me.num_fds() <= open_before
    assert threading.active_count() <= threads_before


def test_a_disk_that_takes_nothing_leaves_the_other_canaries(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    with Canaries(tmp_path) as canaries:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
        try:
            found = canaries.run()
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    assert found.fsync is None
    assert found.spin > 0


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), Canaries(tmp_path / "absent"):
        pass
