"""A network of servers: each reached at an address of its own, and gone with the run."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest
from scene import root_only, scene, without_root

from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import ORDINARY
from dbdyno.setters.links import PREFIX, SETTER, ends_of
from traces import LIMIT_S

__all__ = ["without_root"]


def devices() -> set[str]:
    """Of this machine, those that are ours."""
    printed = subprocess.run(
        ["ip", "-oneline", "link"], capture_output=True, text=True, check=True
    ).stdout
    names = [line.split()[1].partition("@")[0] for line in printed.splitlines()]
    return {name for name in names if name.startswith(PREFIX)}


@pytest.mark.parametrize("value", [False, 1, {"rate": "1 Mbit/s"}])
def test_only_true_is_taken(value: object) -> None:
    with pytest.raises(ValueError, match=r"^expected `true`"):
        SETTER.read(value)


@pytest.mark.usefixtures("without_root")
def test_without_root_it_is_refused_in_a_line() -> None:
    (missing,) = SETTER.missing(True)

    assert missing.what == "only root may make network namespaces"


SERVE = """
import socket, sys
listener = socket.create_server((sys.argv[1], 5555))
print("ready", flush=True)
while True:
    connection, _ = listener.accept()
    connection.sendall(b"done")
    connection.close()
"""

ASK = """
import socket, sys
print(socket.create_connection((sys.argv[1], 5555)).recv(4).decode(), end="")
"""


@pytest.mark.slow
@root_only
def test_each_server_has_an_address_of_its_own_until_the_run_ends(tmp_path: Path) -> None:
    before = devices()
    with Guarded() as guarded:
        names = ("primary", "replica")
        applied = SETTER.apply(True, guarded, replace(scene(tmp_path), members=names))
        launches = applied.members
        assert tuple(launches) == names
        with ExitStack() as stack:
            for launch in launches.values():
                serve = [*launch.prefix(), sys.executable, "-c", SERVE, str(launch.address)]
                server = subprocess.Popen(serve, stdout=subprocess.PIPE, text=True)
                stack.callback(server.wait)
                stack.callback(server.kill)
                assert server.stdout is not None and server.stdout.readline() == "ready\n"
            answers = [answer_of(str(launch.address)) for launch in launches.values()]
            inside = [*launches["primary"].prefix(), sys.executable, "-c", ASK]
            between = subprocess.run(
                [*inside, str(launches["replica"].address)], capture_output=True, check=True
            )
        ends = [ends_of(launch) for launch in launches.values()]
        during = devices() - before

    assert answers == [b"done", b"done"]
    assert between.stdout == b"done"
    assert len(during) == 1
    assert len({end.hub for end in ends if end is not None}) == 2
    deadline = time.monotonic() + LIMIT_S
    while devices() & during:
        assert time.monotonic() < deadline


def answer_of(address: str) -> bytes:
    with socket.create_connection((address, 5555), LIMIT_S) as connection:
        return connection.recv(4)


@pytest.mark.slow
@root_only
def test_a_single_server_has_a_link_too(tmp_path: Path) -> None:
    with Guarded() as guarded:
        applied = SETTER.apply(True, guarded, scene(tmp_path))

    assert not applied.members
    assert ends_of(applied.server) is not None
    assert ends_of(ORDINARY) is None
