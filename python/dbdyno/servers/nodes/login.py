"""Logs in at a server that is not ours without handing it the lab.

A server decides what a log-in costs its client: it may ask for a thousand million rounds of
hashing, or send a byte now and then. The libraries that speak to it count such time in C, where no
signal and no limit reaches. So the first log-in is made by a process of its own (`login_program`),
which is killed when its time is up; only a server that has let that one in is spoken to by the lab,
in a thread that is not waited for longer than that either.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from typing import TypeVar

from dbdyno.errors import ConnectError, LabError, ServerError, kind_named
from dbdyno.thread import WorkThread

_T = TypeVar("_T")

_START_LIMIT_S = 60.0
"""Until the process is ready; a busy machine is no fault of the server's."""
_MORE_S = 2.0
"""The libraries' own limits come first: they say more."""
_HINT = "is it the right server? One that asks so much of a log-in is out of order, or hostile"


def try_apart(provision: str, limit_s: float) -> None:
    """Logs in once in a process of its own.

    # Errors
    `LabError` as the log-in has it; `ConnectError` if it is not over within `limit_s`.
    """
    argv = [sys.executable, "-P", "-m", "dbdyno.servers.login_program"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        argv,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    ) as child:
        try:
            assert child.stdin is not None
            with contextlib.suppress(BrokenPipeError):
                child.stdin.write(provision.encode())
                child.stdin.close()
            _line(child, _START_LIMIT_S)
            reply = _line(child, limit_s + _MORE_S)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, signal.SIGKILL)
    if not reply:
        raise ServerError("the process that logs in has ended without an answer")
    answer = json.loads(reply)
    if "error" in answer:
        raise kind_named(answer["kind"])(answer["error"], hint=answer["hint"])


def within(limit_s: float, connect: Callable[[], _T]) -> _T:
    """What `connect` returns or raises; `ConnectError` if it is not over within `limit_s`."""
    found: list[_T] = []
    thread = WorkThread(lambda: found.append(connect()))
    thread.start()
    if not thread.wait(limit_s + _MORE_S):
        raise _too_long(limit_s)
    return found[0]


def answer_of(error: LabError) -> str:
    """An error as the process tells it."""
    return json.dumps({"kind": type(error).__name__, "error": error.message, "hint": error.hint})


def _line(child: subprocess.Popen[bytes], limit_s: float) -> bytes:
    """Its next line; empty if it has ended. `ConnectError` if none comes in time."""
    assert child.stdout is not None
    ends_s, line = time.monotonic() + limit_s, b""
    while not line.endswith(b"\n"):
        left_s = ends_s - time.monotonic()
        if left_s <= 0 or not select.select([child.stdout], [], [], left_s)[0]:
            raise _too_long(limit_s - _MORE_S)
        piece = os.read(child.stdout.fileno(), 1 << 16)
        if not piece:
            return b""
        line += piece
    return line


def _too_long(limit_s: float) -> ConnectError:
    return ConnectError(f"the log-in was not over within {limit_s:g} s", hint=_HINT)
