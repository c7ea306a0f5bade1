"""What programs print of themselves is kept from one command to the next, while they stay as they
are."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from dbdyno.cache import CACHE_VARIABLE
from dbdyno.servers.sources import packaged, printed


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv(CACHE_VARIABLE, str(folder))
    forget()
    return folder


def forget() -> None:
    """As a new command begins."""
    packaged._printed.cache_clear()
    printed._entries.cache_clear()


def state(program: Path) -> printed.State:
    of_file = program.stat()
    return of_file.st_mtime_ns, of_file.st_size


def test_a_binary_is_asked_once(cache: Path, tmp_path: Path) -> None:
    program = tmp_path / "program"
    shutil.copy2(Path("/bin/echo").resolve(), program)
    assert packaged.printed_by(program, "1.2") == "1.2\n"
    assert printed.find(program, ["1.2"], state(program)) == "1.2\n"
    assert printed.find(program, ["1.3"], state(program)) is None
    forget()
    text = (cache / "printed.json").read_text()
    (cache / "printed.json").write_text(text.replace("1.2\\n", "kept"))
    assert packaged.printed_by(program, "1.2") == "kept"
    os.utime(program, (1, 1))
    assert packaged.printed_by(program, "1.2") == "1.2\n"


def test_a_script_is_asked_by_each_command(cache: Path, tmp_path: Path) -> None:
    program, says = tmp_path / "script", tmp_path / "says"
    program.write_text(f"#!/bin/sh\ncat {says}\n")
    program.chmod(0o755)
    for text in ("1", "2"):
        says.write_text(text)
        forget()
        assert packaged.printed_by(program) == text
    assert not (cache / "printed.json").exists()


@pytest.mark.parametrize("content", [b"", b"[1]", b"\xff", b'{"a": 1}', b"[" * 100_000])
def test_a_damaged_file_counts_as_nothing(cache: Path, content: bytes) -> None:
    cache.mkdir()
    (cache / "printed.json").write_bytes(content)
    assert packaged.printed_by(Path("/bin/echo").resolve(), "1") == "1\n"


def test_a_cache_that_cannot_be_written_only_costs_time(cache: Path) -> None:
    cache.write_text("a file")
    assert packaged.printed_by(Path("/bin/echo").resolve(), "1") == "1\n"
