"""The product as a user meets it: real servers, the real engine, the command in its own process."""

from __future__ import annotations

import contextlib
import json
import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

import psycopg
import zstandard

from dbdyno.servers import Server
from dbdyno.store.journal import read_journal
from dbdyno.store.places import JOURNAL

PYTHON = str(Path(__file__).parents[2] / "python")

LIMIT_S = 600.0
"""Only what hangs is ended: a busy machine takes minutes for a study of seconds."""


@dataclass(frozen=True, slots=True)
class Told:
    """What a command said, and how it ended."""

    code: int
    out: str
    err: str

    def one_error(self) -> str:
        """Its only complaint; fails when there is none or more than one."""
        assert len(re.findall("^error: ", self.err, re.MULTILINE)) == 1, self.err
        assert "Traceback (most recent call last)" not in self.err
        return self.err.partition("error: ")[2]


def dbdyno(*arguments: str | Path, folder: Path) -> Told:
    """Runs a command to its end."""
    with start(*arguments, folder=folder) as process:
        out, err = process.communicate(timeout=LIMIT_S)
    return Told(process.returncode, out, err)


def start(*arguments: str | Path, folder: Path) -> subprocess.Popen[str]:
    """Begins a command."""
    return subprocess.Popen(
        [sys.executable, "-m", "dbdyno", *map(str, arguments)],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": PYTHON},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def wait_for_line(process: subprocess.Popen[str], part: str) -> str:
    """The lines of standard error up to the first that holds `part`."""
    assert process.stderr is not None
    seen = ""
    for line in process.stderr:
        seen += line
        if part in line:
            return seen
    raise AssertionError(f"`{part}` was never said:\n{seen}")


def wait_until(what: str, holds: Any, *, limit_s: float = LIMIT_S) -> None:
    """Returns when `holds()`; fails after a while. What is waited for is another process's."""
    deadline = time.monotonic() + limit_s
    while not holds():
        assert time.monotonic() < deadline, f"not so after {limit_s:.0f} s: {what}"
        select.select([], [], [], 0.02)


def settled(
    read: Callable[[], Mapping[str, int]], expected: Mapping[str, int]
) -> Mapping[str, int]:
    """What `read` says once it is as expected, or in the end: sessions that are just ending may
    have handed in nothing yet, and MySQL 5.6 counts one of them twice for a moment."""
    found: Mapping[str, int] = {}

    def agrees() -> bool:
        nonlocal found
        found = read()
        return found == expected

    with contextlib.suppress(AssertionError):
        wait_until("the server's counts are complete", agrees)
    return found


def watch(server: Server) -> psycopg.Connection[Any]:
    """A session in another database of a PostgreSQL server than the load's."""
    return psycopg.connect(url(server.entry.target()), dbname="postgres", autocommit=True)


def wait_until_left(server: Server) -> None:
    """Until nobody has a session in the database: each hands its counts in before it is gone."""
    sessions = "SELECT count(*) FROM pg_stat_activity WHERE datname = %s"
    database = server.entry.target()["database"]
    with watch(server) as watcher:
        wait_until(
            "the sessions of `prepare` are gone",
            lambda: watcher.execute(sessions, [database]).fetchone() == (0,),
        )


def under_load(runs: Path, *, intervals: int = 1) -> int:
    """Of how many runs that have not ended so many intervals with events are kept."""
    streams = runs.glob("*.partial/records.ndjson.zst")
    return sum(intervals_in(stream) >= intervals for stream in streams)


def intervals_in(stream: Path) -> int:
    """Intervals with events of steps, not of `prepare`, in records that are still being written."""
    text = zstandard.ZstdDecompressor().decompressobj().decompress(stream.read_bytes())
    records = map(json.loads, text.rpartition(b"\n")[0].splitlines())
    calls = (entry for entry in read_journal(stream.with_name(JOURNAL)) if "call" in entry)
    count, step = 0, None
    for record in records:
        if record["record"] == "hello":
            step = next(calls, {"call": None})["call"]
        count += step is not None and is_interval(record) and bool(record.get("histograms"))
    return count


def is_interval(record: Mapping[str, object]) -> bool:
    return record["record"] == "interval"


def url(target: Mapping[str, object], *, password: str | None = None) -> str:
    """How somebody else would name a server of ours; `password` in place of the right one."""
    (endpoint,) = cast("Sequence[Mapping[str, Any]]", target["endpoints"])
    user, database = target["user"], target["database"]
    if "unix" in endpoint:
        folder, _, port = endpoint["unix"].rpartition("/.s.PGSQL.")
        return f"postgresql://{user}@/{database}?host={quote(folder)}&port={port}"
    place = endpoint["tcp"]
    secret = password or target["password"]
    return f"postgresql://{user}:{secret}@{place['host']}:{place['port']}/{database}"
