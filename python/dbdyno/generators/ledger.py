"""Crashes under writing clients: is what was acknowledged still there? Every event is a crash.

Clients write rows that follow from the seed and note each statement before it is sent and when it
is acknowledged, outside of what crashes. At a random moment the server is killed, or the power of
its file system fails (`power.py`). It is started again, and every row is compared with the notes
(`judging.py`). `load.events` is the number of crashes.
"""

from __future__ import annotations

import hashlib
import json
import select
import shutil
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from random import Random
from typing import ClassVar

from dbdyno.errors import ServerError, UsageError
from dbdyno.generators.carried import Carried, NotCarriedOutError
from dbdyno.generators.generator import Generator, Job, Served, ToolOutcome, shares
from dbdyno.generators.judging import GROUP, OUTCOMES, Entry, Judged, judge, not_recovered
from dbdyno.generators.power import OwnFileSystem
from dbdyno.generators.writing import LIMIT_S, TABLE, Client
from dbdyno.guard.guarded import Guarded
from dbdyno.model import Load, Metric, Option, Session, Volume

KINDS = ("postgresql", "mysql", "mariadb", "sqlite")
CRASHES = ("process", "power")
_DEFAULT_WRITES_S = 1.0
_EARLIEST = 0.2
"""The crash comes after this share of `writes_s` at the earliest."""
_POLL_S = 0.005
_STARTS_S = 2.0
"""How long a crash takes besides its writes, for the estimate."""
_SIZE_BYTES = 300e6
"""Of a new data folder and its copy."""


class Ledger:
    """Options: `crash`, `writes_s`."""

    name: ClassVar[str] = "ledger"
    metrics: ClassVar[tuple[Metric, ...]] = ()
    instead: ClassVar[Mapping[str, str]] = {"measure": "`events`, the number of crashes"}
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """A number of crashes, each under all clients."""
        if load.events is None:
            message = "generator `ledger` makes `load.events` crashes, however long they take"
            raise NotCarriedOutError("measure", message, "such as events = 10, without `measure`")
        return {"events": "crashes"}

    def read(self, options: Mapping[str, Option]) -> None:
        """Raises `ValueError` for another crash than these, and a time outside 0.1 to 600 s."""
        if options.get("crash", CRASHES[0]) not in CRASHES:
            raise ValueError(f"`crash` is one of {', '.join(CRASHES)}")
        writes_s = options.get("writes_s", _DEFAULT_WRITES_S)
        if not isinstance(writes_s, (int, float)) or not 0.1 <= writes_s <= 600:
            raise ValueError("`writes_s` is a number of seconds from 0.1 to 600")
        if unknown := options.keys() - {"crash", "writes_s"}:
            raise ValueError(f"`{min(unknown)}` is none of crash, writes_s")

    def provision(self, options: Mapping[str, Option]) -> str | None:
        """None: its clients are threads of this process."""
        return None

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """None: the rows follow from the seed."""
        return {}

    def volume(self, options: Mapping[str, Option]) -> Volume:
        """That of the server's own files: what is written before a crash is small beside it."""
        return Volume(size_bytes=_SIZE_BYTES, event_s=_writes_s(options) + _STARTS_S)

    def run(self, job: Job) -> ToolOutcome:
        """Makes all crashes of a step; leaves the server running."""
        server, folder = job.server, job.data_folder
        if server is None or folder is None or job.kind not in KINDS:
            raise UsageError(
                f"generator `ledger` can't crash {job.kind or 'nothing'}",
                hint=f"use a server that dbdyno starts: {', '.join(KINDS)}",
            )
        if job.events is None:
            raise UsageError("generator `ledger` makes `load.events` crashes", hint="events = 10")
        system = OwnFileSystem.of(folder) if job.options.get("crash") == "power" else None
        with Guarded() as guarded:
            server.node.stop()
            if system is not None:
                system.prove(guarded)
            pristine = guarded.folder(folder.parent, locked=False) / "pristine"
            guarded.run(["cp", "-a", folder, pristine])
            if system is not None:
                system.sync()
            server.node.restart(LIMIT_S)
            bench = Bench(job, server, folder, pristine, guarded, system)
            began = time.monotonic()
            trials = []
            with (job.scratch / "trials.jsonl").open("w") as record:
                for number in range(1, job.events + 1):
                    trials.append(bench.trial(number))
                    record.write(json.dumps(trials[-1].document()) + "\n")
            return outcome_of(trials, time.monotonic() - began)


def _writes_s(options: Mapping[str, Option]) -> float:
    value = options.get("writes_s", _DEFAULT_WRITES_S)
    return float(value) if isinstance(value, (int, float)) else _DEFAULT_WRITES_S


@dataclass(frozen=True, slots=True)
class Trial:
    """One crash, and the start after it."""

    number: int
    judged: Judged
    wrote_s: float
    """From the first statement to the crash."""
    recovery_s: float | None
    """From the start to the first answer to a statement; `None`: it did not start."""
    reason: str = ""
    """Why it did not recover."""

    def document(self) -> Mapping[str, object]:
        """Its line in `trials.jsonl`."""
        return {
            "crash": self.number,
            "outcome": self.judged.outcome,
            "wrote_s": round(self.wrote_s, 6),
            "recovery_s": self.recovery_s and round(self.recovery_s, 6),
            "reason": self.reason,
            **asdict(self.judged),
        }


def outcome_of(trials: Sequence[Trial], window_s: float) -> ToolOutcome:
    """Counts and shares of outcomes over all crashes, and what became of their commits."""
    counts = Counter(trial.judged.outcome for trial in trials)
    outcomes = {name: counts.get(name, 0) for name in OUTCOMES}
    commits = sum(trial.judged.commits for trial in trials)
    lost = sum(len(trial.judged.found.get("lost", ())) for trial in trials)
    recovered = [trial.recovery_s for trial in trials if trial.recovery_s is not None]
    wrote_s = sum(trial.wrote_s for trial in trials)
    figures = {
        **shares(outcomes, len(trials)),
        "commits_per_s": commits / wrote_s if wrote_s else 0.0,
        "commits": float(commits),
        "lost_commits": float(lost),
        "in_doubt_commits": float(sum(trial.judged.in_doubt for trial in trials)),
        "oldest_lost_ms": max(trial.judged.oldest_lost_ns for trial in trials) / 1e6,
    }
    if recovered:
        figures["recovery_ms_mean"] = 1e3 * sum(recovered) / len(recovered)
    return ToolOutcome(window_s=window_s, events=len(trials), figures=figures, outcomes=outcomes)


@dataclass(frozen=True, slots=True)
class Bench:
    """A running server, and what is needed to crash and restore it."""

    job: Job
    server: Served
    folder: Path
    pristine: Path
    guarded: Guarded
    system: OwnFileSystem | None

    def trial(self, number: int) -> Trial:
        """Writes, crashes, starts again and judges; leaves the server running."""
        self._make_table()
        random = Random(f"{self.job.seed} {number}")
        writes_s = _writes_s(self.job.options)
        content = partial(self.content, number)
        clients = [Client(self.open, content, place) for place in range(self.job.clients)]
        for client in clients:
            client.begin()
        began = time.monotonic()
        _rest(random.uniform(_EARLIEST, 1.0) * writes_s, clients)
        wrote_s = time.monotonic() - began
        crash_ns, cut_ns = self._crash()
        for client in clients:
            client.end()
        if self.system is not None:
            self.system.mount_again(self.guarded)
        restarted = time.monotonic()
        entries = [entry for client in clients for entry in client.entries]
        try:
            self.server.node.restart(LIMIT_S)
            recovery_s = time.monotonic() - restarted
            rows = self._rows()
        except ServerError as error:
            self._restore()
            judged = not_recovered(entries, number, cut_ns=cut_ns)
            return Trial(number, judged, wrote_s, None, error.message)
        judged = judge(entries, rows, content, crash_ns=crash_ns, cut_ns=cut_ns)
        if judged.found:
            self._keep(number, entries, rows)
        return Trial(number, judged, wrote_s, recovery_s)

    def content(self, trial: int, row: int) -> str:
        """The content of a row. It follows from the seed, so that any other is known as wrong."""
        return hashlib.sha256(f"{self.job.seed} {trial} {row}".encode()).hexdigest() * 2

    def open(self) -> Session:
        """A session with the settings of the cell's connections."""
        session = self.server.database.inside()
        if self.job.kind == "sqlite":
            pragmas = self.job.target().get("pragmas", ())
            assert isinstance(pragmas, (list, tuple))
            for name, value in pragmas:
                session.rows(f"PRAGMA {name} = {value}")
        return session

    def _make_table(self) -> None:
        """Makes an empty table and syncs it, whatever the server's own settings are."""
        session = self.open()
        try:
            session.rows(f"DROP TABLE IF EXISTS {TABLE}")
            session.rows(
                f"CREATE TABLE {TABLE} (id BIGINT PRIMARY KEY, content VARCHAR(200) NOT NULL)"
            )
        finally:
            session.close()
        if self.system is not None:
            self.system.sync()

    def _crash(self) -> tuple[int, int | None]:
        """Crashes the server, and waits until its processes have ended. Returns the monotonic time
        of the crash, and the time after which acknowledgements don't count (`None`: all count):
        after a power failure the server still runs for a moment, and may answer."""
        family = self.server.node.processes()
        began_ns = time.monotonic_ns()
        cut_ns = None if self.system is None else self.system.fail()
        self.server.node.kill()
        deadline = time.monotonic() + LIMIT_S
        while any(Path(f"/proc/{pid}/exe").exists() for pid in family):
            if time.monotonic() > deadline:
                raise ServerError("processes of a killed server do not end")
            select.select([], [], [], _POLL_S)
        return cut_ns or began_ns, cut_ns

    def _rows(self) -> Mapping[int, str]:
        session = self.open()
        try:
            found = session.rows(f"SELECT id, content FROM {TABLE}")
            return {int(row["id"]): str(row["content"]) for row in found}
        finally:
            session.close()

    def _restore(self) -> None:
        """Puts back the copy of the data that was made before the first crash."""
        self.server.node.kill()
        for path in self.folder.iterdir():
            shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()
        self.guarded.run(["cp", "-a", f"{self.pristine}/.", self.folder])
        if self.system is not None:
            self.system.sync()
        self.server.node.restart(LIMIT_S)

    def _keep(self, number: int, entries: Sequence[Entry], rows: Mapping[int, str]) -> None:
        """Writes all notes of a crash that lost or damaged something, for analysis."""
        with (self.job.scratch / f"ledger-{number}.jsonl").open("w") as file:
            for entry in entries:
                there = [
                    row for row in range(entry.first_id, entry.first_id + GROUP) if row in rows
                ]
                file.write(json.dumps({**asdict(entry), "there": there}) + "\n")


def _rest(length_s: float, clients: Sequence[Client]) -> None:
    """Waits until the crash is due. Raises the error of a client that fails before."""
    deadline = time.monotonic() + length_s
    while (left := deadline - time.monotonic()) > 0:
        for client in clients:
            if client.ended.is_set() and client.error is not None:
                raise client.error
        select.select([], [], [], min(left, 0.05))


GENERATOR: Generator = Ledger()
