"""sysbench and our own command, told to use the same server."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dbdyno.engine import find_engine
from dbdyno.servers import open_server

TIMEOUT_S = 120.0


@dataclass(frozen=True, slots=True)
class Finished:
    """What a command answered."""

    output: str
    errors: str
    code: int


@dataclass(frozen=True, slots=True)
class Commands:
    """sysbench and ours, told to use the same server."""

    program: Path
    target: tuple[str, ...]
    log: Path

    def theirs(self, *arguments: str, folder: Path | None = None) -> Finished:
        """What sysbench answers."""
        return self._run("sysbench", arguments, folder)

    def ours(self, *arguments: str, folder: Path | None = None) -> Finished:
        """What we answer."""
        return self._run(str(self.program), arguments, folder)

    def _run(self, program: str, arguments: tuple[str, ...], folder: Path | None) -> Finished:
        done = subprocess.run(
            [program, *self.target, *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
        return Finished(done.stdout, done.stderr, done.returncode)


def options(target: Mapping[str, Any]) -> tuple[str, ...]:
    """The command's options for a run spec's target."""
    endpoint = target["endpoints"][0]["tcp"]
    return (
        "--db-driver=pgsql",
        f"--pgsql-host={endpoint['host']}",
        f"--pgsql-port={endpoint['port']}",
        f"--pgsql-user={target['user']}",
        f"--pgsql-password={target['password']}",
        f"--pgsql-db={target['database']}",
    )


@contextlib.contextmanager
def both_commands(folder: Path) -> Iterator[Commands]:
    """Both commands, and a PostgreSQL server that logs every statement."""
    program = folder / "sysbench"
    program.symlink_to(find_engine().path)
    with open_server("postgresql:15@system", {"log_statement": "all"}, folder) as server:
        server.start()
        (log,) = server.log_files()
        yield Commands(program, options(server.target("tcp")), log)
