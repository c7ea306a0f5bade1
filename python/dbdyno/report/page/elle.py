"""Exports the ledger of a run with faults as a history for Elle, the checker of consistency.

Each row is a register of its own in Elle's model `rw-register`: written once, and read after the
load. So an acknowledged row that is not there any more is a read that is older than a write before
it, which no strictly serializable database shows. A client whose write was not answered goes on as
another process, as in Jepsen's histories; faults are operations of the process `:nemesis`.
"""

from __future__ import annotations

import csv
import gzip
import io
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from dbdyno.errors import UsageError
from dbdyno.model.fault import FaultResult
from dbdyno.store.reader import Store

_IDS_OF_CLIENT = 1_000_000_000
"""Rows of a client begin at a multiple of this: `conduct/ledger.py`."""
_READ_AT_ONCE = 1000
_LEDGER = re.compile(r"ledger-(\d+)\.csv\.gz")


@dataclass(frozen=True, slots=True)
class Written:
    """A row of a ledger; times in ns after the window's beginning."""

    row: int
    sent_ns: int
    acknowledged_ns: int | None
    found: bool
    """Whether it was there after the load."""


@dataclass(frozen=True, slots=True)
class _Operation:
    time_ns: int
    kind: str
    f: str
    process: str
    value: str


def histories(store: Path, study: str, runs: Iterable[str]) -> Mapping[str, str]:
    """Run and step → the history of its ledger; steps that have none are not in it.

    # Errors
    `UsageError` for a ledger of an earlier dbdyno, which doesn't say what was there at the end.
    """
    stored = Store(store).study(study).runs()
    texts: dict[str, str] = {}
    for name in runs:
        run = stored[name]
        faults = {summary.step: summary.faults for summary in run.summaries}
        for file in sorted((run.path / "logs").glob("ledger-*.csv.gz")):
            match = _LEDGER.fullmatch(file.name)
            if match is not None:
                step = int(match[1])
                rows = _rows(run.read(f"logs/{file.name}"), f"{name}/{file.name}")
                texts[f"{name}-{step}"] = history(rows, faults.get(step, ()))
    return texts


def _rows(packed: bytes, name: str) -> Sequence[Written]:
    listed = list(csv.DictReader(io.StringIO(gzip.decompress(packed).decode())))
    if any(not row.get("found") for row in listed):
        raise UsageError(
            f"{name} does not say which rows were there after the load",
            hint="it was written by an earlier dbdyno, or the run failed: run the study again",
        )
    return [
        Written(
            int(row["row"]),
            int(row["sent_ns"]),
            int(row["acknowledged_ns"]) if row["acknowledged_ns"] else None,
            row["found"] == "1",
        )
        for row in listed
    ]


def history(rows: Sequence[Written], faults: Sequence[FaultResult]) -> str:
    """An operation a line, in EDN, in the order of their times."""
    clients = sorted({row.row // _IDS_OF_CLIENT for row in rows})
    done = [
        operation
        for place, client in enumerate(clients)
        for operation in _writes(
            [row for row in rows if row.row // _IDS_OF_CLIENT == client], place, len(clients)
        )
    ]
    done += [operation for fault in faults for operation in _of_fault(fault)]
    done.sort(key=lambda operation: operation.time_ns)
    last_ns = done[-1].time_ns if done else 0
    reader = len(clients) * (1 + len(rows))
    done += _reads(rows, last_ns, reader)
    return "".join(
        f"{{:index {index}, :type :{o.kind}, :f :{o.f}, :process {o.process}, :time {o.time_ns}, "
        f":value {o.value}}}\n"
        for index, o in enumerate(done)
    )


def _writes(rows: Sequence[Written], place: int, clients: int) -> Iterator[_Operation]:
    """Of one client; rows as they were sent."""
    process = place
    for number, row in enumerate(rows):
        value = f"[[:w {row.row} 1]]"
        yield _Operation(row.sent_ns, "invoke", "txn", str(process), value)
        if row.acknowledged_ns is not None:
            yield _Operation(row.acknowledged_ns, "ok", "txn", str(process), value)
            continue
        # Given up by the next at the latest.
        given_up_ns = rows[number + 1].sent_ns if number + 1 < len(rows) else row.sent_ns
        yield _Operation(given_up_ns, "info", "txn", str(process), value)
        process += clients


def _of_fault(fault: FaultResult) -> Iterator[_Operation]:
    value = f'"{fault.member}"'
    yield _Operation(fault.at_ns, "info", fault.do, ":nemesis", value)
    yield _Operation(fault.back_ns, "info", f"{fault.do}-is-over", ":nemesis", value)


def _reads(rows: Sequence[Written], last_ns: int, process: int) -> Iterator[_Operation]:
    """After all writes, whenever that was."""
    for begin in range(0, len(rows), _READ_AT_ONCE):
        some = rows[begin : begin + _READ_AT_ONCE]
        asked = " ".join(f"[:r {row.row} nil]" for row in some)
        read = " ".join(f"[:r {row.row} {'1' if row.found else 'nil'}]" for row in some)
        yield _Operation(last_ns + 1, "invoke", "txn", str(process), f"[{asked}]")
        yield _Operation(last_ns + 1, "ok", "txn", str(process), f"[{read}]")
