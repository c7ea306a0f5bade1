"""Logs in a study's folder, by which other processes follow it.

`live.log` is written by the last command that measured the study: its process, its progress, what
it printed, the answer after each block. `notes.log` holds notes that any process may add; it is
kept.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.formats.documents import dump_json
from dbdyno.model import Note
from dbdyno.store.disk import replace_file, writing
from dbdyno.store.journal import Entry, Journal, read_journal
from dbdyno.store.places import ANSWER, LIVE, NOTES

MOST_OF_A_NOTE = 500
"""Characters of a note; the rest is cut off."""


class LiveLog:
    """Writes `live.log`; lines that can't be written are lost without an error."""

    def __init__(self, folder: Path, *, command: str, blocks: int) -> None:
        self._folder = folder
        path = folder / LIVE
        with writing(path, size=4096):
            path.unlink(missing_ok=True)
        self._journal = Journal(path)
        import psutil  # 40 ms of processor time, which a report does not need.

        process = psutil.Process()
        self._add(
            "session",
            {
                "pid": process.pid,
                "pid_started": process.create_time(),
                "command": command,
                "blocks": blocks,
            },
        )

    def progress(self, share: float, left_s: tuple[float, float]) -> None:
        """Logs the share done, from 0 to 1, and the seconds left, at least and at most."""
        self._add("progress", {"share": round(share, 4), "left_s": [round(s) for s in left_s]})

    def run(self, run: str, state: str) -> None:
        """Logs a run's `state`: `running`, or the status in its manifest."""
        self._add("run", {"run": run, "is": state})

    def line(self, text: str) -> None:
        """Logs a line that was printed."""
        self._add("line", text)

    def answer(self, answer: Mapping[str, object]) -> None:
        """Logs the answer after a block, and writes it to `answer.json`."""
        self._add("answer", answer)
        with suppress(StoreError):
            keep_answer(self._folder, answer)

    def end(self, state: str) -> None:
        """Logs that the command has ended, and closes the log."""
        self._add("ended", state)
        self._journal.close()

    def _add(self, kind: str, value: object) -> None:
        self._journal.add({kind: value, "at": time.time()})


def keep_answer(folder: Path, answer: Mapping[str, object]) -> None:
    """Writes `answer.json`, which the list of studies shows. Raises `StoreError`."""
    replace_file(folder / ANSWER, dump_json(answer))


def is_alive(process: Mapping[str, object]) -> bool:
    """Whether the process of a command still runs on this machine."""
    pid, started = process.get("pid"), process.get("pid_started")
    if not isinstance(pid, int) or not isinstance(started, int | float):
        return False
    import psutil

    try:
        found = psutil.Process(pid)
        return abs(found.create_time() - started) < 1 and found.status() != "zombie"
    except (psutil.Error, ValueError, OverflowError):
        return False


def process_of(entries: Sequence[Entry]) -> Mapping[str, object]:
    """The process of the last command, by a live log; empty where it has none."""
    for entry in entries:
        process = entry.get("session")
        if isinstance(process, dict):
            return process
    return {}


def running(root: Path) -> Iterator[str]:
    """Names of the studies that some process on this machine carries out now."""
    for path in sorted(root.glob(f"*/{LIVE}")):
        entries = list(read_journal(path))
        if is_alive(process_of(entries)) and not any("ended" in entry for entry in entries):
            yield path.parent.name


def add_note(folder: Path, text: str) -> Note:
    """Adds a note at the current time. Raises `StoreError`."""
    note = Note(time.time_ns(), " ".join(text.split())[:MOST_OF_A_NOTE])
    journal = Journal(folder / NOTES)
    journal.add({"note": note.text, "at": note.unix_ns})
    journal.close()
    return note


def notes_of(folder: Path) -> tuple[Note, ...]:
    """All notes of a study, in order of time."""
    notes = (note_of(entry) for entry in read_journal(folder / NOTES))
    return tuple(sorted(filter(None, notes), key=lambda note: note.unix_ns))


def note_of(entry: Entry) -> Note | None:
    """The note in an entry; `None` if it holds none."""
    text, at = entry.get("note"), entry.get("at")
    if not isinstance(text, str) or type(at) is not int or not 0 < at < 1 << 63:
        return None
    return Note(at, text[:MOST_OF_A_NOTE])
