"""Undos as data: how to revert a change to this machine, recorded before it is made.

They are self-contained: the guard carries them out when the lab has ended, the next command if
both have (`journal.py`). Standard library only, like the guard.
"""

import ctypes
import errno
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

_BUSY_LIMIT_S = 2.0
"""How long a dying process may still use what is to be removed, seconds."""
_COMMAND_LIMIT_S = 3.0
_POLL_S = 0.01
_MNT_DETACH = 2

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True)
class Undo:
    """One undo. `KINDS` lists the kinds and their arguments."""

    kind: str
    arguments: Mapping[str, Any]

    def document(self) -> Mapping[str, Any]:
        """As it is kept in a journal and sent to the guard."""
        return {"kind": self.kind, **self.arguments}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Undo":
        """The inverse of `document`."""
        return cls(document["kind"], {key: document[key] for key in document if key != "kind"})

    @property
    def host_wide(self) -> bool:
        """Whether it changes what every process of this machine sees."""
        return self.kind in ("write", "run")

    @property
    def outlives_boot(self) -> bool:
        """Whether it still matters after a reboot."""
        return self.kind in ("remove_file", "remove_folder", "run")

    def __str__(self) -> str:
        """The undo in words, for messages."""
        match self.kind:
            case "write":
                return f"put `{self.arguments['old']}` back into {self.arguments['path']}"
            case "run":
                return f"run `{' '.join(self.arguments['argv'])}`"
            case _:
                return f"{self.kind.replace('_', ' ')} {self.arguments['path']}"


def write(path: Path | str, *, old: str, new: str) -> Undo:
    """Restores a file's old value, if it still has the one we wrote."""
    return Undo("write", {"path": str(path), "old": old, "new": new})


def unmount(path: Path | str) -> Undo:
    """Unmounts a file system, by force when something still uses it after two seconds."""
    return Undo("unmount", {"path": str(path)})


def remove_file(path: Path | str) -> Undo:
    """Removes a file."""
    return Undo("remove_file", {"path": str(path)})


def remove_folder(path: Path | str) -> Undo:
    """Removes a folder with all that is in it."""
    return Undo("remove_folder", {"path": str(path)})


def remove_cgroup(path: Path | str) -> Undo:
    """Kills all processes of a control group and removes it."""
    return Undo("remove_cgroup", {"path": str(path)})


def run(argv: "list[str]") -> Undo:
    """Runs a command, which must be harmless if there is nothing to revert."""
    return Undo("run", {"argv": argv})


def chosen(text: str) -> str:
    """A switch's value: the word in [brackets] where a file lists the choices, else all of it, with
    single spaces."""
    words = text.split()
    marked = [word[1:-1] for word in words if word.startswith("[") and word.endswith("]")]
    return marked[0] if len(marked) == 1 else " ".join(words)


def read_switch(path: Path | str) -> str:
    """What a file under /proc/sys or /sys says now; see `chosen`."""
    return chosen(Path(path).read_text())


def carry_out(undo: Undo) -> str:
    """Reverts the change; repeating it is harmless. Returns a remark if it was left alone on
    purpose.

    # Errors
    `OSError` if it can't be done.
    """
    return KINDS[undo.kind](undo.arguments) or ""


def _write(arguments: Mapping[str, Any]) -> str:
    path, now = arguments["path"], read_switch(arguments["path"])
    if now == arguments["old"]:
        return ""
    if now != arguments["new"]:
        return f"{path} was left alone: it says `{now}`, which is not what we had written"
    write_text(path, arguments["old"])
    return ""


def write_text(path: Path | str, text: str) -> None:
    """Writes a switch in one call, as the kernel wants it; no file is made."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def _unmount(arguments: Mapping[str, Any]) -> None:
    path = arguments["path"]
    deadline = time.monotonic() + _BUSY_LIMIT_S
    while mount_at(path) is not None:
        flags = 0 if time.monotonic() < deadline else _MNT_DETACH
        if _libc.umount2(os.fsencode(path), flags) == 0:
            continue
        number = ctypes.get_errno()
        if number == errno.EINVAL and mount_at(path) is None:
            return
        if number != errno.EBUSY:
            raise OSError(number, os.strerror(number), path)
        time.sleep(_POLL_S)


@dataclass(frozen=True, slots=True)
class Mount:
    """A file system where it is mounted."""

    device: str
    options: str
    """In effect, as the kernel writes them, in alphabetical order."""


def mount_at(path: Path | str) -> Mount | None:
    """What is mounted on a folder; the last of several."""
    mount = None
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        fields, _, source = line.partition(" - ")
        place, options = fields.split()[4:6]
        if place == str(path).replace(" ", "\\040"):
            _, device, more = source.split()
            mount = Mount(device, ",".join(sorted({*options.split(","), *more.split(",")})))
    return mount


def _remove_file(arguments: Mapping[str, Any]) -> None:
    Path(arguments["path"]).unlink(missing_ok=True)


def _remove_folder(arguments: Mapping[str, Any]) -> None:
    """Unmounts what a command that was just ending has mounted in it since, and removes what it
    wrote meanwhile."""
    path = Path(arguments["path"])
    deadline = time.monotonic() + _BUSY_LIMIT_S
    while path.exists():
        try:
            shutil.rmtree(path)
        except OSError as error:
            if error.errno not in (errno.EBUSY, errno.ENOTEMPTY) or time.monotonic() > deadline:
                raise
            for place in _mounts_below(path):
                _unmount({"path": place})
            time.sleep(_POLL_S)


def _mounts_below(folder: Path) -> list[Path]:
    """The last that was mounted first."""
    lines = reversed(Path("/proc/self/mountinfo").read_text().splitlines())
    places = [Path(line.split()[4].replace("\\040", " ")) for line in lines]
    return [place for place in places if folder in place.parents]


def _remove_cgroup(arguments: Mapping[str, Any]) -> None:
    """A server that is ending by itself gets a second to remove its shared memory."""
    group = Path(arguments["path"])
    deadline = time.monotonic() + _BUSY_LIMIT_S
    while True:
        try:
            group.rmdir()
            return
        except FileNotFoundError:
            return
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > deadline:
                raise
        if time.monotonic() > deadline - _BUSY_LIMIT_S / 2:
            _kill_all_of(group)
        time.sleep(_POLL_S)


def _kill_all_of(group: Path) -> None:
    """Ends what is in a control group, ourselves excepted."""
    for word in (group / "cgroup.procs").read_text().split():
        if int(word) not in (0, os.getpid()):
            try:
                os.kill(int(word), signal.SIGKILL)
            except ProcessLookupError:
                continue


def system_environment() -> dict[str, str]:
    """Ours, with root's programs on the path (`mkfs` and its like) and messages in English."""
    path = os.environ.get("PATH", os.defpath)
    return {**os.environ, "PATH": f"{path}:/usr/sbin:/sbin", "LC_ALL": "C"}


def _run(arguments: Mapping[str, Any]) -> None:
    argv = arguments["argv"]
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            env=system_environment(),
            capture_output=True,
            text=True,
            timeout=_COMMAND_LIMIT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise OSError(f"`{argv[0]}` took over {_COMMAND_LIMIT_S:.0f} s") from None
    if done.returncode != 0:
        raise OSError(f"exit status {done.returncode}: {done.stderr.strip()[-200:]}")


KINDS: Mapping[str, Callable[[Mapping[str, Any]], str | None]] = {
    "write": _write,
    "unmount": _unmount,
    "remove_file": _remove_file,
    "remove_folder": _remove_folder,
    "remove_cgroup": _remove_cgroup,
    "run": _run,
}
"""write {path, old, new} · unmount {path} · remove_file {path} · remove_folder {path} ·
remove_cgroup {path} · run {argv}"""
