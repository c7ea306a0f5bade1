"""Starts several engine processes as one and merges their records."""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import zstandard

from dbdyno.engine.host_figures import HostRecords
from dbdyno.engine.hosts import LoadHosts
from dbdyno.engine.merge import Merger, moved
from dbdyno.errors import StoreError
from dbdyno.formats.records import dump_record, parse_record
from dbdyno.model import Fatal, Hello, Ready, Record
from dbdyno.places import Running

_AHEAD_NS = 300_000_000
"""How far ahead the common start lies, so that every process learns of it in time."""

_AHEAD_OF_HOSTS_NS = 1_000_000_000
"""The same for processes on other hosts."""

_SILENT_S = 0.5

_Taker = Callable[[bytes, Record], None]


class Together:
    """Merges the streams of processes that have received their specs. A single process's lines
    pass unchanged."""

    def __init__(
        self, processes: Sequence[Running], keep: Path | None, hosts: LoadHosts | None = None
    ) -> None:
        self._processes = processes
        self._keep = keep if len(processes) > 1 else None
        self._lines: queue.SimpleQueue[tuple[int, bytes | None]] = queue.SimpleQueue()
        self._merger = Merger(len(processes))
        self._numbers = [0] * len(processes)
        self._ahead_ns = _AHEAD_NS if hosts is None else _AHEAD_OF_HOSTS_NS
        self.of_hosts: HostRecords | None = None
        """What each load host has sent."""
        if hosts is not None:
            self.of_hosts = HostRecords(hosts, [process.host for process in processes])

    def read(self, take: _Taker, stop: Callable[[], None]) -> None:
        """Passes merged records to `take` until all processes have ended, and tells them all when
        to begin.

        If one fails, `stop` ends all. Raises `StoreError` if their records can't be stored.
        """
        for line, record in self.records(stop):
            if isinstance(record, Ready):
                self.tell_time("begin {}", time.time_ns() + self._ahead_ns)
            take(line, record)

    def records(
        self, stop: Callable[[], None], while_silent: Callable[[], None] | None = None
    ) -> Iterator[tuple[bytes, Record]]:
        """The merged records as they arrive, each with its line; see `read`. Until asked for, they
        wait. `while_silent` is called every half second in which none arrives."""
        for index, process in enumerate(self._processes):
            threading.Thread(target=self._listen, args=(index, process), daemon=True).start()
        listening = len(self._processes)
        alone = listening == 1
        with ExitStack() as files:
            kept = [self._file(index, files) for index in range(listening)]
            while listening:
                try:
                    index, line = self._lines.get(timeout=while_silent and _SILENT_S)
                except queue.Empty:
                    assert while_silent is not None, "only then there is a timeout"
                    while_silent()
                    continue
                if line is None:
                    listening -= 1
                    if self._processes[index].wait() != 0:
                        stop()
                    records: Iterable[Record] = () if alone else self._merger.end(index)
                else:
                    self._write(kept[index], line)
                    self._numbers[index] += 1
                    record = parse_record(line, number=self._numbers[index])
                    line, record = self._on_our_clock(index, line, record)
                    if self.of_hosts is not None:
                        self.of_hosts.take(index, record)
                    if alone:
                        yield line, record
                        continue
                    records = self._merger.take(index, record)
                for merged in records:
                    yield dump_record(merged), merged
                    if isinstance(merged, Fatal) and merged.callback is None:
                        stop()

    def tell(self, word: str) -> None:
        """Sends a line to all processes."""
        for process in self._processes:
            process.send(word.encode() + b"\n")

    def tell_time(self, words: str, at_unix_ns: int) -> None:
        """Sends all processes a line with a time of our clock, to each as its host's clock will
        have it."""
        for process in self._processes:
            line = words.format(at_unix_ns + process.ahead_ns())
            process.send(line.encode() + b"\n")

    def _on_our_clock(self, index: int, line: bytes, record: Record) -> tuple[bytes, Record]:
        """As we would have timed it: the start by how far the host's clock was ahead then, what
        follows by how much it has gained since."""
        process = self._processes[index]
        if isinstance(record, Hello):
            ours: Record = replace(record, start_unix_ns=record.start_unix_ns - process.ahead_ns())
        else:
            ours = moved(record, lambda at_ns: at_ns - process.gained_ns(at_ns))
        return (line, record) if ours == record else (dump_record(ours), ours)

    def _listen(self, index: int, process: Running) -> None:
        for line in process.lines():
            if line.endswith(b"\n"):
                self._lines.put((index, line))
        self._lines.put((index, None))

    def _file(self, index: int, files: ExitStack) -> BinaryIO | None:
        if self._keep is None:
            return None
        path = self._keep.with_name(f"{self._keep.name}-part-{index}.ndjson.zst")
        try:
            file: BinaryIO = zstandard.open(path, "wb")
            return files.enter_context(file)
        except OSError as error:
            raise StoreError(f"can't write {path}: {error.strerror}") from error

    def _write(self, file: BinaryIO | None, line: bytes) -> None:
        if file is None:
            return
        try:
            file.write(line)
        except OSError as error:
            raise StoreError(f"can't keep an engine's records: {error.strerror}") from error
