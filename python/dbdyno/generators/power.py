"""A power failure of a file system of our own: what was not synced is gone.

The ioctl FS_IOC_SHUTDOWN without a flush of the journal drops everything that ext4 or xfs has not
written yet, and fails every later write, as if power had gone at that moment. Mounted again, the
file system is what a machine finds when its power is back. What was already passed on to the disk
stays: this does not test a disk that loses its own cache.
"""

from __future__ import annotations

import ctypes
import fcntl
import os
import select
import struct
import time
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import MachineError, UsageError
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import mount_at

_SHUTDOWN = 0x8004587D
"""FS_IOC_SHUTDOWN of linux/fs.h."""
_NO_LOG_FLUSH = 2
_BUSY_LIMIT_S = 20.0
_POLL_S = 0.01
_PROOF_BYTES = 1 << 16

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class OwnFileSystem:
    """A file system in an image, as the host setting `filesystem` mounts it."""

    place: Path
    image: Path
    options: str
    direct_io: bool

    @classmethod
    def of(cls, folder: Path) -> OwnFileSystem:
        """The file system of a folder. Raises `UsageError` unless it is mounted from an image."""
        place = next(path for path in (folder, *folder.parents) if os.path.ismount(path))
        mount = mount_at(place)
        loop = Path("/sys/block", Path(mount.device).name, "loop") if mount else Path("/nowhere")
        if mount is None or not (loop / "backing_file").exists():
            raise UsageError(
                f"a power failure needs a file system of its own, and {place} is this machine's",
                hint='say `filesystem = "ext4"` in [host]',
            )
        image = Path((loop / "backing_file").read_text().strip())
        direct = (loop / "dio").read_text().strip() == "1"
        return cls(place, image, mount.options, direct)

    def sync(self) -> None:
        """Writes all that is not on its disk yet. Raises `MachineError`."""
        descriptor = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            if _libc.syncfs(descriptor) != 0:
                number = ctypes.get_errno()
                raise MachineError(f"{self.place} can't be synced: {os.strerror(number)}")
        finally:
            os.close(descriptor)

    def fail(self) -> int:
        """Cuts the power. Returns the monotonic clock just before, in nanoseconds: what was
        acknowledged by then was acknowledged before the failure."""
        descriptor = os.open(self.place, os.O_RDONLY | os.O_DIRECTORY)
        try:
            began_ns = time.monotonic_ns()
            fcntl.ioctl(descriptor, _SHUTDOWN, struct.pack("I", _NO_LOG_FLUSH))
        except OSError as error:
            raise MachineError(
                f"a power failure of {self.place} can't be simulated: {error.strerror}",
                hint="ext4 and xfs support it (FS_IOC_SHUTDOWN); it takes root",
            ) from error
        finally:
            os.close(descriptor)
        return began_ns

    def mount_again(self, guarded: Guarded) -> None:
        """Unmounts it, which no process may use any more, and mounts it with the same options.

        # Errors
        `MachineError` if it is still in use after 20 s, or can't be mounted.
        """
        deadline = time.monotonic() + _BUSY_LIMIT_S
        # Never detached while in use: two mounts of an image would write over each other.
        while _libc.umount2(os.fsencode(self.place), 0) != 0:
            number = ctypes.get_errno()
            if time.monotonic() > deadline:
                raise MachineError(f"{self.place} can't be unmounted: {os.strerror(number)}")
            select.select([], [], [], _POLL_S)
        guarded.run(["mount", "-o", f"loop,{self.options}", self.image, self.place])
        mount = mount_at(self.place)
        if self.direct_io and mount is not None:
            guarded.run(["losetup", "--direct-io=on", mount.device])

    def prove(self, guarded: Guarded) -> None:
        """Fails once with nothing in use: a synced file must be whole afterwards, a file that was
        not synced must be gone. Raises `MachineError` otherwise: crashes on it would prove
        nothing."""
        self.sync()
        synced, unsynced = self.place / "proof-synced", self.place / "proof-unsynced"
        content = os.urandom(_PROOF_BYTES)
        with synced.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        self.sync()
        unsynced.write_bytes(content)
        self.fail()
        self.mount_again(guarded)
        kept = unsynced.exists() and unsynced.read_bytes() == content
        if kept or not synced.exists() or synced.read_bytes() != content:
            what = "keeps a file that was not synced" if kept else "loses a file that was synced"
            raise MachineError(
                f"a power failure of {self.place} {what}: crashes on it would prove nothing",
                hint="try another kind of file system",
            )
        synced.unlink()
        unsynced.unlink(missing_ok=True)
