"""sysbench and our own command, told to use the same server."""

from __future__ import annotations

import contextlib
import re
import socket
import subprocess
import threading
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


def answer(*command: str, folder: Path | None = None, text: str = "") -> Finished:
    """What a command answers; `text` is its standard input."""
    done = subprocess.run(
        command,
        cwd=folder,
        input=text,
        capture_output=True,
        text=True,
        errors="replace",
        timeout=TIMEOUT_S,
        check=False,
    )
    return Finished(done.stdout, done.stderr, done.returncode)


@dataclass(frozen=True, slots=True)
class Commands:
    """sysbench and ours, told to use the same server."""

    program: Path
    target: tuple[str, ...]
    server: Mapping[str, Any]
    """The same server as a run spec names it."""
    log: Path

    def theirs(self, *arguments: str, folder: Path | None = None) -> Finished:
        """What sysbench answers."""
        return answer("sysbench", *self.target, *arguments, folder=folder)

    def ours(self, *arguments: str, folder: Path | None = None) -> Finished:
        """What we answer."""
        return answer(str(self.program), *self.target, *arguments, folder=folder)


def options(target: Mapping[str, Any]) -> tuple[str, ...]:
    """The command's options for a run spec's target."""
    endpoint = target["endpoints"][0]["tcp"]
    driver = "mysql" if target["driver"] == "mysql" else "pgsql"
    return (
        f"--db-driver={driver}",
        f"--{driver}-host={endpoint['host']}",
        f"--{driver}-port={endpoint['port']}",
        f"--{driver}-user={target['user']}",
        f"--{driver}-password={target['password']}",
        f"--{driver}-db={target['database']}",
    )


LOGGING: Mapping[str, Mapping[str, str]] = {
    "postgresql:15@system": {
        "log_statement": "all",
        "fsync": "off",
        "deadlock_timeout": "100ms",
    },
    "mariadb@system": {
        "general_log": "on",
        "general_log_file": "statements.log",
        "innodb_flush_log_at_trx_commit": "0",
    },
}
"""Settings by which a server logs statements, and waits for no disk."""


@contextlib.contextmanager
def both_commands(folder: Path, provision: str = "postgresql:15@system") -> Iterator[Commands]:
    """Both commands, and a server that logs every statement."""
    program = folder / "sysbench"
    program.symlink_to(find_engine().path)
    with open_server(provision, LOGGING[provision], folder) as server:
        server.start()
        data = server.node.data_folder()
        own = data / "statements.log" if data else None
        log = own if own and own.exists() else server.log_files()[0]
        target = server.entry.target("tcp")
        yield Commands(program, options(target), target, log)


def option_names(*command: str) -> set[str]:
    """Names of the options that a command's help lists."""
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=True)
    return set(re.findall(r"^  --([\w-]+)", done.stdout, re.MULTILINE))


class Forwarder(contextlib.AbstractContextManager["Forwarder"]):
    """A server's port at another address, as if it had a second host; counts connections."""

    def __init__(self, address: str, behind: tuple[str, int]) -> None:
        self.address = address
        self.connections = 0
        self._behind = behind
        self._listener = socket.create_server((address, behind[1]))
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(self._behind)
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=_copy, args=(source, sink), daemon=True).start()

    def __exit__(self, *_: object) -> None:
        self._listener.close()


def _copy(source: socket.socket, sink: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while data := source.recv(65536):
            sink.sendall(data)
        sink.shutdown(socket.SHUT_WR)
