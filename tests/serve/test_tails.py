"""A journal is read as it grows, and from its beginning once it is another file."""

from __future__ import annotations

from pathlib import Path

from dbdyno.serve.inside import Inside
from dbdyno.serve.tails import JournalTail
from dbdyno.store.journal import dump_entry

ENTRIES: list[dict[str, object]] = [
    {"phase": "step 0", "start": 1.5},
    {"turn": {"events": 7}},
    {"note": "ü\n\u2028 "},
]
CONTENT = b"".join(dump_entry(entry) for entry in ENTRIES)


def test_a_tail_reads_what_is_new_and_begins_anew_with_another_file(tmp_path: Path) -> None:
    path = tmp_path / "journal.log"
    tail = JournalTail(Inside(tmp_path), "journal.log")
    assert tail.fresh()[0] == []
    path.write_bytes(CONTENT[:-5])
    assert tail.fresh()[0] == ENTRIES[:2]
    path.write_bytes(CONTENT)
    assert tail.fresh()[0] == ENTRIES[2:]
    assert tail.fresh()[0] == []

    other = tmp_path / "other"
    other.write_bytes(dump_entry({"a": 1}) * 40)
    other.replace(path)
    assert tail.fresh()[0] == [{"a": 1}] * 40
