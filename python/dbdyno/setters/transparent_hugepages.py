"""Transparent huge pages: whether the kernel backs memory with pages of 2 MB by itself.

`enabled` applies to a process's private memory, `shmem_enabled` to shared memory, where PostgreSQL
has its buffers; `defrag` sets how hard the kernel tries to find room. A single word sets
`enabled`, and `shmem_enabled` to the nearest equivalent. `witness` adds up the huge pages in the
`smaps` of the server.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.undo import read_switch
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Facts, Scene, one_of, table, without_switch

_FOLDER = Path("/sys/kernel/mm/transparent_hugepage")
_WORDS = {
    "enabled": ("always", "madvise", "never"),
    "shmem_enabled": ("always", "within_size", "advise", "never", "deny", "force"),
    "defrag": ("always", "defer", "defer+madvise", "madvise", "never"),
}
_SHARED = {"always": "always", "madvise": "advise", "never": "never"}
"""The equivalent of a single word for shared memory."""


class TransparentHugepages:
    """`"always"`, or a table of `enabled`, `shmem_enabled`, `defrag`."""

    name: ClassVar[str] = "transparent_hugepages"

    def read(self, value: object) -> Mapping[str, str]:
        """Switch of the kernel → its word."""
        if isinstance(value, str):
            word = one_of(value, *_SHARED)
            return {"enabled": word, "shmem_enabled": _SHARED[word]}
        asked = table(value, *_WORDS, instead="`always`, `madvise` or `never`")
        return {key: one_of(word, *_WORDS[key]) for key, word in asked.items()}

    def missing(self, value: Mapping[str, str]) -> tuple[Missing, ...]:
        """Missing root, or the switch itself."""
        return without_switch(*(_FOLDER / key for key in value))

    def apply(self, value: Mapping[str, str], guarded: Guarded, _: Scene) -> Applied:
        """Writes the switches."""
        held = {key: guarded.write(_FOLDER / key, word) for key, word in value.items()}
        return Applied(
            before={key: change.old for key, change in held.items()},
            after={key: read_switch(_FOLDER / key) for key in held},
            witness=huge_pages_of,
        )


def huge_pages_of(pids: Sequence[int]) -> Facts:
    """Bytes in huge pages: the sum of private memory, and the maximum over processes for shared
    memory, since all map the same. Processes that have ended are ignored."""
    own = shared = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines}
        own += kilobytes.get("AnonHugePages:", 0) * 1024
        shared = max(shared, kilobytes.get("ShmemPmdMapped:", 0) * 1024)
    return {"own_bytes": own, "shared_bytes": shared}


SETTER = TransparentHugepages()
