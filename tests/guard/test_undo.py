"""Undo as data: what is put back, what is left alone, and what a second time does."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from dbdyno.guard import undo
from dbdyno.guard.undo import Undo, carry_out, chosen


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("always [madvise] never\n", "madvise"),
        ("4096\t131072\t6291456\n", "4096 131072 6291456"),
        ("0\n", "0"),
        ("\n", ""),
        ("[none] [both]", "[none] [both]"),
    ],
)
def test_a_switch_says_its_value_in_brackets_or_as_a_whole(text: str, value: str) -> None:
    assert chosen(text) == value


def test_a_value_that_is_still_ours_is_put_back(tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    switch.write_text("9\n")

    assert carry_out(undo.write(switch, old="1", new="9")) == ""
    assert switch.read_text().startswith("1")


def test_a_value_that_somebody_else_wrote_is_left_alone(tmp_path: Path) -> None:
    switch = tmp_path / "switch"
    switch.write_text("5")

    assert "left alone: it says `5`" in carry_out(undo.write(switch, old="1", new="9"))
    assert switch.read_text() == "5"


@pytest.mark.parametrize("make", [undo.remove_file, undo.remove_folder, undo.unmount])
def test_what_is_gone_already_is_no_error(make: Callable[[Path], Undo], tmp_path: Path) -> None:
    assert carry_out(make(tmp_path / "gone")) == ""


def test_files_and_folders_go(tmp_path: Path) -> None:
    (tmp_path / "folder" / "inner").mkdir(parents=True)
    (tmp_path / "file").touch()

    carry_out(undo.remove_folder(tmp_path / "folder"))
    carry_out(undo.remove_file(tmp_path / "file"))

    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_what_is_mounted_in_a_folder_goes_with_it(tmp_path: Path) -> None:
    place = tmp_path / "folder" / "a place"
    place.mkdir(parents=True)
    subprocess.run(["mount", "-t", "tmpfs", "none", place], check=True)

    carry_out(undo.remove_folder(tmp_path / "folder"))

    assert list(tmp_path.iterdir()) == []
    assert undo.mount_at(place) is None


def test_a_command_that_fails_is_an_error_with_its_words() -> None:
    with pytest.raises(OSError, match="exit status 3: no"):
        carry_out(undo.run(["sh", "-c", "echo no >&2; exit 3"]))


def test_an_undo_survives_its_document() -> None:
    step = undo.write("/proc/sys/vm/swappiness", old="60", new="1")

    assert Undo.from_document(step.document()) == step


def test_every_kind_has_one_who_makes_it() -> None:
    assert {kind for kind in undo.KINDS if callable(getattr(undo, kind))} == set(undo.KINDS)
