"""What the data lay on: file system and disk."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping

from dbdyno.report.material.imported import imports
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.terms.wording import enumerated

MOST_NAMED = 3
"""File systems with their disks that are named."""

IN_MEMORY = frozenset({"ramfs", "tmpfs"})

OF_A_HYPERVISOR = re.compile(r"x?vd[a-z]+\d*|pmem\d+.*")
"""Names of disks that a hypervisor makes; of such it tells no model."""

OF_A_FILE = re.compile(r"loop\d+.*")


def disk_words(runs: Iterable[RunMaterial]) -> str:
    """`ext4 on Samsung SSD 990 PRO`; that the disk is not known where a server was only reached by
    its URL; empty where there is no server, or its files are not known of."""
    found = dict.fromkeys(word for run in runs for word in _words(run))
    listed = list(found)
    more = len(listed) - MOST_NAMED
    return enumerated([*listed[:MOST_NAMED], *([f"{more} more"] if more > 0 else [])])


def _words(run: RunMaterial) -> Iterator[str]:
    storage = run.host("storage")
    kind = storage.get("file_system")
    if isinstance(kind, str) and kind:
        yield f"in memory ({kind})" if kind in IN_MEMORY else f"{kind}{_disk(storage)}"
    elif run.manifest.provision.startswith("url:") and not imports([run]):
        yield "the server's disk not known"


def _disk(storage: Mapping[str, object]) -> str:
    """The innermost of the devices, which the others are made of."""
    devices = storage.get("devices")
    known = [d for d in devices if isinstance(d, Mapping)] if isinstance(devices, list) else []
    if not known:
        return ""
    name, model = (str(known[-1].get(key) or "") for key in ("name", "model"))
    if model:
        return f" on {' '.join(model.split())}"
    if OF_A_FILE.fullmatch(name):
        return " in a file (loop device)"
    if OF_A_HYPERVISOR.fullmatch(name):
        return f" on a virtual disk of unknown model ({name})"
    return f" on {name}" if name else ""
