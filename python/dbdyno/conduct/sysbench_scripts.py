"""What sysbench's own scripts (`oltp_*`, `select_random_*`, as Debian packages them) need, by their
names: they have no `dbdyno.volume`, as bundled scripts do."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath

from dbdyno.model import SYSBENCH_ROW_BYTES, ScriptVolume, Tables, sysbench_rows, whole

_FAMILIES = ("oltp_", "select_random_")
_OPTIONS = {"table_size", "table-size"}

_STATEMENTS: Mapping[str, tuple[int, int]] = {
    "oltp_delete": (1, 0),
    "oltp_insert": (0, 0),
    "oltp_point_select": (1, 0),
    "oltp_read_only": (5, 2),
    "oltp_read_write": (9, 2),
    "oltp_update_index": (1, 0),
    "oltp_update_non_index": (1, 0),
    "oltp_write_only": (4, 2),
}
"""Statements that a client prepares: per table, and others."""

_EVENT_BYTES: Mapping[str, int] = {"oltp_insert": SYSBENCH_ROW_BYTES}
"""Bytes that an event adds; those of other scripts add nothing."""

_NO_TABLES = ("bulk_insert",)
"""Scripts whose `prepare` makes empty tables."""


def sysbench_volume(called: Tables) -> ScriptVolume | None:
    """The volume of one of sysbench's scripts, or of any that has their options; else `None`."""
    name = PurePath(called.script).stem
    known = name.startswith(_FAMILIES) or name in _NO_TABLES
    if not known and not _OPTIONS & called.options.keys():
        return None
    rows = 0 if name in _NO_TABLES else sysbench_rows(called.options)
    a_table, beside = _STATEMENTS.get(name, (0, 0))
    return ScriptVolume(
        rows=rows,
        bytes=rows * SYSBENCH_ROW_BYTES,
        event_bytes=_EVENT_BYTES.get(name, 0),
        event_s=None,
        statements=a_table * whole(called.options, "tables", 1) + beside,
    )
