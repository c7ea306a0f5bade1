"""A file system for the server's data: in an image mounted for the run, or in a given folder.

The image is a preallocated file in the folder for large files; the kernel's loop device accesses
it directly (`direct_io`), otherwise the page cache would count twice. The device detaches itself
when the file system is unmounted.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import MachineError
from dbdyno.formats.quantities import parse_size
from dbdyno.guard import undo
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import (
    Applied,
    Scene,
    one_of,
    table,
    texts,
    without_programs,
    without_root,
)

_ALL_AT_ONCE = "lazy_itable_init=0,lazy_journal_init=0"
_KINDS = {
    "ext4": ("mkfs.ext4", "e2fsprogs", ("-q", "-F", "-E", _ALL_AT_ONCE)),
    "xfs": ("mkfs.xfs", "xfsprogs", ("-q", "-f")),
}
"""Kind → program that makes it, its Debian package, and arguments: everything is initialised at
once, so that the kernel does none of it during the run."""
_SMALLEST_BYTES = {"ext4": 16 << 20, "xfs": 300 << 20}
_DEFAULT_SIZE = "2 GB"
_KEYS = ("kind", "mount_options", "make_options", "size", "direct_io", "folder")
_OPTION = re.compile(r"[\w.=:+-]+")


@dataclass(frozen=True, slots=True)
class Filesystem:
    """The setting: a `folder`, or a new file system of a `kind`."""

    folder: Path | None = None
    kind: str = "ext4"
    size_bytes: int = 0
    mount_options: tuple[str, ...] = ()
    make_options: tuple[str, ...] = ()
    direct_io: bool = True


class FilesystemSetter:
    """A table: `kind`, `size`, `mount_options`, `make_options`, `direct_io`; or `folder`."""

    name: ClassVar[str] = "filesystem"

    def read(self, value: object) -> Filesystem:
        """Checks the value; sizes in bytes."""
        given = {"kind": value} if isinstance(value, str) else value
        asked = table(given, *_KEYS, instead="a kind by name")
        if "folder" in asked:
            if len(asked) > 1 or not str(asked["folder"]).startswith("/"):
                raise ValueError(f"expected an absolute `folder` and nothing else; found {value!r}")
            return Filesystem(folder=Path(asked["folder"]))
        kind = one_of(asked.get("kind"), *_KINDS)
        size_bytes = parse_size(asked.get("size", _DEFAULT_SIZE))
        if size_bytes < _SMALLEST_BYTES[kind]:
            least = _SMALLEST_BYTES[kind] >> 20
            raise ValueError(f"expected a size of at least {least} MB for {kind}; found {value!r}")
        mount_options = texts(asked.get("mount_options", ()))
        if bad := [option for option in mount_options if not _OPTION.fullmatch(option)]:
            raise ValueError(f"expected one mount option a text; found {bad[0]!r}")
        direct_io = asked.get("direct_io", True)
        if not isinstance(direct_io, bool):
            raise ValueError(f"expected `direct_io` to be true or false; found {direct_io!r}")
        make_options = texts(asked.get("make_options", ()))
        return Filesystem(None, kind, size_bytes, mount_options, make_options, direct_io)

    def missing(self, value: Filesystem) -> tuple[Missing, ...]:
        """Missing folder; or root, programs and kernel support for the kind."""
        if value.folder is not None:
            if value.folder.is_dir():
                return ()
            return (Missing(f"there is no folder {value.folder}", "make it, or name another"),)
        program, package, _ = _KINDS[value.kind]
        programs = {program: package, "mount": "mount", "losetup": "mount"}
        return (
            *without_root("mount a file system"),
            *without_programs(programs),
            *_without_kernel(value.kind),
        )

    def apply(self, value: Filesystem, guarded: Guarded, scene: Scene) -> Applied:
        """Makes, mounts and checks it; the server's data go there."""
        if value.folder is not None:
            return Applied(
                after={"folder": str(value.folder)}, server=Launch(data_parent=str(value.folder))
            )
        holder = guarded.folder(scene.scratch)
        # In any folder: the clean-up after dead guards searches temporary folders only.
        guarded.hold(undo.remove_folder(holder))
        holder.chmod(0o711)
        image, place = holder / "image", holder / "mounted"
        _reserve(image, value.size_bytes)
        program, _, arguments = _KINDS[value.kind]
        guarded.run([program, *arguments, *value.make_options, image])
        place.mkdir()
        guarded.hold(undo.unmount(place))
        options = ",".join(("loop", *value.mount_options))
        guarded.run(["mount", "-t", value.kind, "-o", options, image, place])
        mount = undo.mount_at(place)
        assert mount is not None, "mount said it was done"
        if value.direct_io:
            _make_direct(mount.device, guarded)
        place.chmod(0o711)
        return Applied(
            after={
                "kind": value.kind,
                "size_bytes": value.size_bytes,
                "mount_options": mount.options,
                "direct_io": value.direct_io,
            },
            server=Launch(data_parent=str(place)),
        )


def _reserve(image: Path, size_bytes: int) -> None:
    with image.open("wb") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, size_bytes)
        except OSError as error:
            raise MachineError(
                f"{image.parent.parent} has no space for a file system of {size_bytes >> 20} MB: "
                f"{error.strerror}",
                hint="make its `size` smaller, or name another folder in DBDYNO_DATA",
            ) from error


def _make_direct(device: str, guarded: Guarded) -> None:
    switch = Path("/sys/block", Path(device).name, "loop", "dio")
    guarded.run(["losetup", "--direct-io=on", device])
    if switch.read_text().strip() != "1":
        raise MachineError(
            f"{device} can't read and write its file directly",
            hint="name a folder on a disk in DBDYNO_DATA, or say `direct_io = false`",
        )


def _without_kernel(kind: str) -> tuple[Missing, ...]:
    known = Path("/proc/filesystems").read_text().split()
    modules = Path("/lib/modules", os.uname().release)
    lacking = []
    if kind not in known and not any(modules.rglob(f"{kind}.ko*")):
        lacking.append(Missing(f"this kernel does not support {kind}", "use a kernel with it"))
    if not Path("/dev/loop-control").exists():
        cure = "`modprobe loop`; in a container, pass /dev/loop-control through"
        lacking.append(Missing("there are no loop devices", cure))
    return tuple(lacking)


SETTER = FilesystemSetter()
