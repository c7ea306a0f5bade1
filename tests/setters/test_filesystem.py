"""A file system for the run: made, mounted as asked, written directly, gone."""

from __future__ import annotations

import os
import signal
import subprocess
from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.errors import MachineError
from dbdyno.guard.family import children_of
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.sweep import sweep
from dbdyno.guard.undo import mount_at
from dbdyno.setters.filesystem import SETTER, Filesystem
from dbdyno.setters.outfit import apply_all
from traces import wait_until_gone

__all__ = ["without_root"]


def test_a_word_is_a_kind_of_a_usual_size() -> None:
    assert SETTER.read("xfs") == Filesystem(kind="xfs", size_bytes=2 << 30)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"kind": "ntfs"}, "`ext4`, `xfs`"),
        ({"kind": "xfs", "size": "64 MB"}, "at least 300 MB for xfs"),
        ({"kind": "ext4", "size": 64}, "a size with its unit"),
        ({"kind": "ext4", "mount_options": ["noatime,exec"]}, "one mount option a text"),
        ({"kind": "ext4", "direct_io": "yes"}, "true or false"),
        (4, "`folder`, or a kind by name; found 4"),
        ({"folder": "relative"}, "an absolute `folder`"),
        ({"folder": "/tmp", "kind": "ext4"}, "and nothing else"),
    ],
)
def test_what_can_not_be_is_refused(value: object, expected: str) -> None:
    with pytest.raises(ValueError, match=expected):
        SETTER.read(value)


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_told_in_a_line() -> None:
    assert [m.what for m in SETTER.missing(SETTER.read("ext4"))] == [
        "only root may mount a file system"
    ]


def test_programs_that_are_not_there_are_told_with_their_package(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("shutil.which", lambda *_, **__: None)

    assert "`apt-get install xfsprogs`" in [m.cure for m in SETTER.missing(SETTER.read("xfs"))]


def test_a_folder_given_is_used(tmp_path: Path) -> None:
    with Guarded() as guarded:
        host = {"filesystem": {"folder": str(tmp_path)}}
        outfit = apply_all(host, guarded, scene(tmp_path))

    assert outfit.server.data_parent == str(tmp_path)


def test_a_folder_that_is_not_there_is_missing(tmp_path: Path) -> None:
    (missing,) = SETTER.missing(SETTER.read({"folder": str(tmp_path / "none")}))

    assert str(tmp_path / "none") in missing.what


@root_only
@pytest.mark.usefixtures("clean")
@pytest.mark.parametrize(
    ("value", "option"),
    [
        ({"kind": "ext4", "size": "64 MB", "mount_options": ["dioread_lock"]}, "nodioread_nolock"),
        ({"kind": "ext4", "size": "64 MB", "mount_options": ["data=journal"]}, "data=journal"),
        ({"kind": "xfs", "size": "320 MB", "mount_options": ["noatime"]}, "noatime"),
    ],
)
def test_it_is_mounted_as_asked_and_gone_after(value: object, option: str, tmp_path: Path) -> None:
    with Guarded() as guarded:
        outfit = apply_all({"filesystem": value}, guarded, scene(tmp_path))
        place = str(outfit.server.data_parent)
        mount = mount_at(place)
        assert mount is not None
        after = outfit.facts()["filesystem"]["after"]
        dio = Path("/sys/block", Path(mount.device).name, "loop", "dio").read_text()
        data = guarded.folder(Path(place))
        (data / "file").write_bytes(b"x" * 4096)

    assert option in mount.options.split(",")
    assert isinstance(after, dict) and after["mount_options"] == mount.options
    assert dio.strip() == "1"
    assert mount_at(place) is None
    assert list(tmp_path.iterdir()) == []
    assert (
        str(tmp_path)
        not in subprocess.run(
            ["losetup", "--list"], capture_output=True, text=True, check=True
        ).stdout
    )


@root_only
@pytest.mark.usefixtures("clean")
def test_an_option_that_the_kernel_refuses_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    value = {"kind": "ext4", "size": "64 MB", "mount_options": ["no_such_option"]}
    with Guarded() as guarded, pytest.raises(MachineError, match=r"host.filesystem: `mount "):
        apply_all({"filesystem": value}, guarded, scene(tmp_path))

    assert list(tmp_path.iterdir()) == []


@root_only
@pytest.mark.usefixtures("clean")
def test_too_large_a_file_system_says_what_to_do(tmp_path: Path) -> None:
    value = {"kind": "ext4", "size": "900 TB"}
    with Guarded() as guarded, pytest.raises(MachineError, match="has no space") as caught:
        apply_all({"filesystem": value}, guarded, scene(tmp_path))

    assert "DBDYNO_DATA" in str(caught.value.hint)


@root_only
@pytest.mark.usefixtures("clean")
def test_after_guard_and_lab_were_killed_the_image_goes_wherever_it_lies(tmp_path: Path) -> None:
    guarded = Guarded()
    value = {"kind": "ext4", "size": "64 MB"}
    place = str(apply_all({"filesystem": value}, guarded, scene(tmp_path)).server.data_parent)
    guards = [pid for pid in children_of(os.getpid()) if is_guard(pid)]
    for pid in guards:
        os.kill(pid, signal.SIGKILL)
    wait_until_gone(guards)
    assert mount_at(place) is not None

    sweep()
    assert mount_at(place) is None
    assert list(tmp_path.iterdir()) == []
    guarded.close()


def is_guard(pid: int) -> bool:
    return b"dbdyno.guard" in Path(f"/proc/{pid}/cmdline").read_bytes()
