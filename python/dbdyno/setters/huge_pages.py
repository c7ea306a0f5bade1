"""Reserved huge pages: memory in pages of 2 MB or so, which a server uses if its own settings say
so (PostgreSQL's `huge_pages`, MySQL's `large_pages`).

The kernel must find contiguous memory at once, or fails. Unused huge pages are lost to everything
else during the run; `witness` reports what the server used.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import MachineError
from dbdyno.formats.quantities import parse_size
from dbdyno.guard.guarded import Guarded
from dbdyno.model.part import Missing
from dbdyno.setters.setter import Applied, Facts, Scene, without_switch

_SWITCH = Path("/proc/sys/vm/nr_hugepages")


class HugePages:
    """A size, such as `"512 MB"`."""

    name: ClassVar[str] = "huge_pages"

    def read(self, value: object) -> int:
        """The size in bytes, from the study's text."""
        size_bytes = parse_size(value)
        if size_bytes == 0:
            raise ValueError(f"expected a size above 0; found {value!r}")
        return size_bytes

    def missing(self, value: int) -> tuple[Missing, ...]:
        """Missing root, kernel support for huge pages, or memory."""
        if lacking := without_switch(_SWITCH):
            return lacking
        free_bytes = _kilobytes("MemAvailable") << 10
        if value > free_bytes:
            reason = (
                f"{value >> 20} MB of huge pages do not fit the {free_bytes >> 20} MB available"
            )
            return (Missing(reason, "ask for less, or end what takes the memory"),)
        return ()

    def apply(self, value: int, guarded: Guarded, _: Scene) -> Applied:
        """Makes the kernel reserve the pages, in addition to those in use."""
        page_bytes = _kilobytes("Hugepagesize") << 10
        taken = _kilobytes("HugePages_Total") - _kilobytes("HugePages_Free")
        wanted = taken + -(-value // page_bytes)
        held = guarded.write(_SWITCH, str(wanted))
        if int(held.new) < wanted:
            got_mb = (int(held.new) - taken) * page_bytes >> 20
            raise MachineError(
                f"the kernel found {got_mb} MB of the {value >> 20} MB in whole pages",
                hint="memory is fragmented: ask for less, or restart the machine",
            )
        return Applied(
            before={"pages": int(held.old)},
            after={"pages": wanted, "page_bytes": page_bytes},
            witness=reserved_pages_of,
        )


def reserved_pages_of(pids: Sequence[int]) -> Facts:
    """Bytes in reserved huge pages: the maximum over the processes, since all map the same.
    Processes that have ended are ignored."""
    most = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
        except OSError:
            continue
        kilobytes = {line.split()[0]: int(line.split()[1]) for line in lines}
        mapped = kilobytes.get("Shared_Hugetlb:", 0) + kilobytes.get("Private_Hugetlb:", 0)
        most = max(most, mapped << 10)
    return {"reserved_bytes": most}


def _kilobytes(name: str) -> int:
    """A figure of /proc/meminfo, without its unit; counts of pages have none."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        key, _, value = line.partition(":")
        if key == name:
            return int(value.split()[0])
    return 0


SETTER = HugePages()
