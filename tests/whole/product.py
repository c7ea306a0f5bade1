"""The product as a user meets it: real servers, the real engine, the command in its own process."""

from __future__ import annotations

import os
import re
import select
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast
from urllib.parse import quote

PYTHON = str(Path(__file__).parents[2] / "python")

LIMIT_S = 120.0


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


def under_load(runs: Path, *, intervals: int = 1) -> int:
    """Of how many runs that have not ended so many intervals are kept."""
    logs = runs.glob("*.partial/latency.hlog")
    return sum(log.read_text().count(".main.service,") >= intervals for log in logs)


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
