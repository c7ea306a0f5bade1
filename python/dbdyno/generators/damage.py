"""Damages a stopped server's files: does it notice? Every event is a separate trial.

The table is filled with known rows; the server is stopped in order and its data folder saved. A
trial damages one place, starts the server, reads every row in three ways (scan, primary key,
secondary index), ends the server and restores what differs. `load.events` is the number of trials.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Timer
from typing import ClassVar, cast

from dbdyno.errors import LostError, ServerError, UsageError
from dbdyno.generators import flips, known_rows
from dbdyno.generators.carried import Carried, NotCarriedOutError
from dbdyno.generators.flips import DAMAGES, PLACES, Damage, Flip, Place, Span
from dbdyno.generators.generator import Generator, Job, Served, ToolOutcome, shares
from dbdyno.generators.outcomes import OUTCOMES, Seen, outcome_of, shape, unusual
from dbdyno.guard.guarded import Guarded
from dbdyno.model import Load, Metric, Option, Volume, whole

_NOT_DATA = (".conf", ".cnf", ".opts", ".pid", ".err")
"""Suffixes of files that hold settings and notes."""
_GONE_LIMIT_S = 5.0
_DEFAULT_ROWS = 2000
_ROW_BYTES = 500
_TRIAL_S = 0.7
"""Most of it to start the server."""
_LIMIT_S = 20.0
"""Time limit for a start, and for all reads of a trial, seconds."""


class DamageTrials:
    """Options: `place`, `damage`, `rows`."""

    name: ClassVar[str] = "damage"
    metrics: ClassVar[tuple[Metric, ...]] = ()
    instead: ClassVar[Mapping[str, str]] = {"measure": "`events`, the number of trials"}
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """A number of trials, one after the other."""
        if load.events is None:
            message = "generator `damage` makes `load.events` trials, however long they take"
            raise NotCarriedOutError("measure", message, "such as events = 20, without `measure`")
        if load.clients != (1,):
            message = "generator `damage` makes its trials one after the other"
            raise NotCarriedOutError("clients", message, "say `clients = 1`")
        return {"events": "trials"}

    def read(self, options: Mapping[str, Option]) -> None:
        """Known places and kinds, and rows enough to fill some pages."""
        for name, choices in (("place", PLACES), ("damage", DAMAGES)):
            if options.get(name, choices[0]) not in choices:
                raise ValueError(f"`{name}` is one of {', '.join(choices)}")
        rows = options.get("rows", _DEFAULT_ROWS)
        if not isinstance(rows, int) or not 100 <= rows <= 1_000_000:
            raise ValueError("`rows` is a number from 100 to 1000000")
        if unknown := options.keys() - {"place", "damage", "rows"}:
            raise ValueError(f"`{min(unknown)}` is none of place, damage, rows")

    def provision(self, options: Mapping[str, Option]) -> str | None:
        """None: the server itself is the tool."""
        return None

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """None: trials take no file of the study."""
        return {}

    def volume(self, options: Mapping[str, Option]) -> Volume:
        """A small table, twice: the folder is saved."""
        rows = whole(options, "rows", _DEFAULT_ROWS)
        return Volume(size_bytes=2 * rows * _ROW_BYTES, event_s=_TRIAL_S)

    def run(self, job: Job) -> ToolOutcome:
        """Runs all trials of a step; leaves the server intact and running."""
        server, folder = job.server, job.data_folder
        if server is None or folder is None or job.kind not in known_rows.DIALECTS:
            raise UsageError(
                f"generator `damage` can't damage {job.kind or 'nothing'}",
                hint=f"use a server that dbdyno starts: {', '.join(known_rows.DIALECTS)}",
            )
        if job.clients != 1 or job.events is None:
            raise UsageError(
                "generator `damage` makes `load.events` trials, one after the other",
                hint="say `clients = 1` and, for example, `events = 20`",
            )
        rows = int(cast("int", job.options.get("rows", _DEFAULT_ROWS)))
        place = cast("Place", job.options.get("place", PLACES[0]))
        damage = cast("Damage", job.options.get("damage", DAMAGES[0]))
        table = known_rows.Table(job.kind, rows, job.seed)
        table.fill(server)
        # Let the server write what a start causes (RocksDB's log becomes files) before looking.
        server.node.stop()
        server.node.restart(_LIMIT_S)
        files = server.database.table_files(known_rows.NAME)
        server.node.stop()
        with Guarded() as guarded:
            pristine = guarded.folder(folder.parent) / "pristine"
            shutil.copytree(folder, pristine, ignore=_no_sockets)
            bench = Bench(server, table, folder, pristine)
            usual = bench.control()
            contents, spans = _places(pristine, folder, files, place, table)
            random = Random(job.seed)
            began = time.monotonic()
            counts: Counter[str] = Counter()
            wrong = 0
            with (job.scratch / "trials.jsonl").open("w") as record:
                for number in range(job.events):
                    flip = flips.draw(random, spans, contents, damage)
                    seen = bench.trial(flip, usual)
                    outcome = outcome_of(seen)
                    counts[outcome] += 1
                    wrong += seen.wrong
                    record.write(_line(number, flip, outcome, seen))
            window_s = time.monotonic() - began
        server.node.restart(_LIMIT_S)
        return told(counts, wrong, window_s)


def told(counts: Mapping[str, int], wrong: int, window_s: float) -> ToolOutcome:
    """Counts and shares of all outcomes; `wrong` trials gave wrong rows, noticed or not."""
    events = sum(counts.values())
    outcomes = {name: counts.get(name, 0) for name in OUTCOMES}
    return ToolOutcome(
        window_s=window_s,
        events=events,
        figures={**shares(outcomes, events), "wrong_share": wrong / events},
        outcomes=outcomes,
    )


@dataclass(frozen=True, slots=True)
class Bench:
    """A stopped server and its saved, intact data."""

    server: Served
    table: known_rows.Table
    folder: Path
    pristine: Path

    def control(self) -> frozenset[str]:
        """A trial without damage: collects the lines that a normal start logs.

        # Errors
        `ServerError` if even that returns wrong rows.
        """
        seen = self.trial(None, frozenset())
        if not seen.started or seen.lost or seen.errors or seen.wrong:
            raise ServerError(
                "the table reads wrong before any damage is done",
                hint="; ".join((*seen.errors, *seen.logged))[:500] or None,
            )
        return frozenset(map(shape, seen.logged))

    def trial(self, flip: Flip | None, usual: frozenset[str]) -> Seen:
        """Damages one place and observes the server; restores the folder afterwards."""
        logs = {log: log.stat().st_size for log in self.server.node.log_files() if log.exists()}
        if flip is not None:
            flip.apply(self.folder)
        try:
            started, errors, lost, wrong = self._look()
            # Before it is ended: its exit code if it ended by itself.
            code = self.server.node.ended_with()
        finally:
            _end(self.server)
            put_back(self.pristine, self.folder)
        logged = unusual(_new_lines(logs), usual)
        by_signal = code is not None and code < 0
        return Seen(started, by_signal, lost, tuple(errors), wrong, logged)

    def _look(self) -> tuple[bool, list[str], bool, bool]:
        """Starts it; returns refused statements, a lost session and wrong rows."""
        try:
            self.server.node.restart(_LIMIT_S)
        except ServerError as error:
            return False, [error.message], False, False
        errors: list[str] = []
        lost = wrong = False
        with _limited(self.server):
            for read in self.table.reads():
                try:
                    wrong |= not read(self.server)
                except LostError as error:
                    errors.append(error.message)
                    lost = True
                except ServerError as error:
                    errors.append(error.message)
        return True, errors, lost or not self.server.node.alive(), wrong


@contextmanager
def _limited(server: Served) -> Iterator[None]:
    """Kills a server that hangs, which ends its session."""
    timer = Timer(_LIMIT_S, server.node.drop)
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def _end(server: Served) -> None:
    """Ends it and waits for all its processes: none may write once the folder is restored."""
    family = server.node.processes()
    server.node.drop()
    deadline = time.monotonic() + _GONE_LIMIT_S
    while any(Path(f"/proc/{pid}/exe").exists() for pid in family):
        if time.monotonic() > deadline:
            raise ServerError("processes of a damaged server do not end")
        time.sleep(0.005)


def put_back(pristine: Path, folder: Path) -> None:
    """Restores `folder` from `pristine`; files with equal size and time are skipped."""
    known = {path.relative_to(pristine) for path in pristine.rglob("*")}
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.relative_to(folder) not in known:
            path.rmdir() if path.is_dir() and not path.is_symlink() else path.unlink()
    for name in sorted(known):
        source, target = pristine / name, folder / name
        if source.is_symlink() or (target.exists() and _same(source, target)):
            continue
        owner = (target if target.exists() else target.parent).stat()
        if source.is_dir():
            target.mkdir()
            shutil.copystat(source, target)
        else:
            shutil.copy2(source, target)
        os.chown(target, owner.st_uid, owner.st_gid)


def _same(first: Path, other: Path) -> bool:
    a, b = first.stat(), other.stat()
    if first.is_dir():
        return other.is_dir()
    return (a.st_size, a.st_mtime_ns) == (b.st_size, b.st_mtime_ns)


def _no_sockets(folder: str, names: list[str]) -> list[str]:
    return [name for name in names if (Path(folder) / name).is_socket()]


def _places(
    pristine: Path, folder: Path, files: Sequence[Path], place: Place, table: known_rows.Table
) -> tuple[Mapping[str, bytes], Sequence[Span]]:
    """Contents of the files that may be damaged, and where in them."""
    if place == "anywhere":
        names = [
            path.relative_to(pristine)
            for path in sorted(pristine.rglob("*"))
            if path.is_file() and not path.is_symlink() and path.suffix not in _NOT_DATA
        ]
    else:
        names = [path.relative_to(folder) for path in files]
    contents = {
        str(name): (pristine / name).read_bytes() for name in names if (pristine / name).exists()
    }
    texts = frozenset(text.encode() for text in table.texts())
    spans = [
        span
        for name, content in contents.items()
        for span in (
            flips.text_spans(name, content, texts)
            if place == "rows"
            else flips.filled_spans(name, content)
        )
    ]
    if not spans:
        raise ServerError(
            f"no place `{place}` is found in {', '.join(contents) or 'any file'}",
            hint="rows that are compressed or encrypted can't be found; say `place = table`",
        )
    return contents, spans


def _new_lines(logs: Mapping[Path, int]) -> Iterator[str]:
    for log, size in logs.items():
        with log.open("rb") as file:
            file.seek(size)
            yield from file.read().decode(errors="replace").splitlines()


def _line(number: int, flip: Flip, outcome: str, seen: Seen) -> str:
    document = {
        "trial": number,
        "file": flip.file,
        "offset": flip.offset,
        "before": flip.before[:32].hex(),
        "after": flip.after[:32].hex(),
        "outcome": outcome,
        "wrong": seen.wrong,
        "told": [text[:300] for text in (*seen.errors, *seen.logged)][:6],
    }
    return json.dumps(document) + "\n"


GENERATOR: Generator = DamageTrials()
