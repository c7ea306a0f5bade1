"""Transparent huge pages: switched and put back; what a process got."""

from __future__ import annotations

import mmap
import os
from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import read_switch
from dbdyno.setters.outfit import apply_all
from dbdyno.setters.transparent_hugepages import SETTER, huge_pages_of

__all__ = ["without_root"]

FOLDER = Path("/sys/kernel/mm/transparent_hugepage")
NAMES = ("enabled", "shmem_enabled", "defrag")
SIZE_BYTES = 64 << 20


def switches() -> dict[str, str]:
    return {name: read_switch(FOLDER / name) for name in NAMES}


def test_a_word_speaks_of_a_processs_memory_and_of_shared_memory() -> None:
    assert SETTER.read("madvise") == {"enabled": "madvise", "shmem_enabled": "advise"}


def test_each_switch_has_its_own_words() -> None:
    assert SETTER.read({"defrag": "defer+madvise"}) == {"defrag": "defer+madvise"}
    with pytest.raises(ValueError, match="`within_size`"):
        SETTER.read({"shmem_enabled": "madvise"})


@pytest.mark.usefixtures("without_root")
def test_without_root_each_switch_is_told_in_a_line() -> None:
    (first, _) = SETTER.missing(SETTER.read("always"))

    assert first.what == f"{FOLDER}/enabled can't be written"
    assert "root" in first.cure


@root_only
@pytest.mark.usefixtures("clean")
def test_switches_are_written_and_put_back(tmp_path: Path) -> None:
    before = switches()
    with Guarded() as guarded:
        told = apply_all({"transparent_hugepages": "never"}, guarded, scene(tmp_path)).facts()
        assert (switches()["enabled"], switches()["shmem_enabled"]) == ("never", "never")

    assert told["transparent_hugepages"]["before"] == {
        "enabled": before["enabled"],
        "shmem_enabled": before["shmem_enabled"],
    }
    assert switches() == before


@root_only
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(("word", "at_least"), [("always", SIZE_BYTES // 2), ("never", 0)])
def test_what_a_process_got_is_seen(word: str, at_least: int, tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"transparent_hugepages": word}, guarded, scene(tmp_path))
        before = huge_pages_of([os.getpid()])
        with mmap.mmap(-1, SIZE_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as own:
            own[:] = b"x" * SIZE_BYTES
            seen = outfit.facts([os.getpid()])["transparent_hugepages"]["got"]

    gained = int(str(seen["own_bytes"])) - int(str(before["own_bytes"]))
    assert gained >= at_least
    if not at_least:
        assert gained <= 0


def test_a_process_that_is_gone_counts_for_nothing() -> None:
    assert huge_pages_of([2**22]) == {"own_bytes": 0, "shared_bytes": 0}
