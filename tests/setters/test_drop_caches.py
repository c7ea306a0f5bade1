"""The page cache is emptied when it is told to be."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.guard.guarded import Guarded
from dbdyno.setters.drop_caches import SETTER
from dbdyno.setters.outfit import apply_all

__all__ = ["without_root"]


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line() -> None:
    (missing,) = SETTER.missing("start")

    assert missing.what == "/proc/sys/vm/drop_caches can't be written"


def cached_bytes() -> int:
    words = Path("/proc/meminfo").read_text().split()
    return int(words[words.index("Cached:") + 1]) * 1024


def fill(file: Path) -> None:
    """The page cache holds a file of 64 MB."""
    with file.open("wb") as written:
        written.write(b"x" * (64 << 20))
        os.fsync(written.fileno())


@root_only
def test_the_cache_is_emptied_before_each_step_and_not_before(tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"drop_caches": "steps"}, guarded, scene(tmp_path))
        fill(tmp_path / "file")
        before = cached_bytes()
        outfit.before_step()

        assert cached_bytes() < before - (32 << 20)
