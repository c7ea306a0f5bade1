"""Journals survive their writer at every byte."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.errors import StoreError
from dbdyno.store.journal import Journal, dump_entry, map_entries, read_journal

ENTRIES: list[dict[str, object]] = [
    {"phase": "step 0", "start": 1.5},
    {"turn": {"events": 7}},
    {"note": "ü\n\u2028 "},
]
CONTENT = b"".join(dump_entry(entry) for entry in ENTRIES)


@given(st.integers(0, len(CONTENT)))
def test_a_journal_torn_anywhere_has_all_lines_before(cut: int) -> None:
    read = list(map_entries(CONTENT[:cut]))

    whole = CONTENT[:cut].count(b"\n")
    # The line feed itself may be what is missing: the entry is whole without it.
    assert read in (ENTRIES[:whole], ENTRIES[: whole + 1])


@given(st.integers(0, len(CONTENT) - 1), st.integers(1, 255))
def test_a_changed_byte_costs_its_lines_alone(place: int, change: int) -> None:
    changed = bytearray(CONTENT)
    changed[place] ^= change
    read = list(map_entries(bytes(changed)))

    assert all(entry in ENTRIES for entry in read)
    # A line feed that is lost or gained spoils the lines on both of its sides.
    assert len(read) >= len(ENTRIES) - 2


@given(st.binary())
def test_nothing_that_a_file_holds_ends_its_reader(content: bytes) -> None:
    assert all(isinstance(entry, dict) for entry in map_entries(content))


def test_entries_of_threads_and_of_another_process_do_not_mix(tmp_path: Path) -> None:
    journal, other = Journal(tmp_path / "journal.log"), Journal(tmp_path / "journal.log")

    def add(writer: Journal, name: int) -> None:
        for number in range(200):
            writer.add({"writer": name, "number": number, "text": "x" * 500})

    threads = [
        threading.Thread(target=add, args=((journal, other)[name % 2], name)) for name in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    journal.close()
    other.close()
    entries = list(read_journal(tmp_path / "journal.log"))

    for name in range(4):
        numbers = [entry["number"] for entry in entries if entry["writer"] == name]
        assert numbers == list(range(200))


def test_no_pipe_and_no_link_is_read(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(CONTENT)
    (tmp_path / "link").symlink_to(tmp_path / "file")
    for name in ("pipe", "link", "."):
        assert list(read_journal(tmp_path / name)) == []


def test_a_full_disk_costs_lines_and_no_run(tmp_path: Path) -> None:
    journal = Journal(tmp_path / "journal.log")
    full = os.open("/dev/full", os.O_WRONLY)
    kept = os.dup(journal._file)
    journal.add({"a": 1})
    os.dup2(full, journal._file)
    journal.add({"a": 2})
    os.dup2(kept, journal._file)
    journal.add({"a": 3})
    journal.close()
    journal.close()
    journal.add({"a": 4})
    os.close(full)
    os.close(kept)

    assert list(read_journal(tmp_path / "journal.log")) == [{"a": 1}, {"a": 3}]


def test_a_folder_that_can_not_be_written_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="can't write"):
        Journal(tmp_path / "nowhere" / "journal.log")
