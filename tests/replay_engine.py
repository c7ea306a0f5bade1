"""Plays the engine: reads a spec, answers with recorded lines. What it plays, the options say.

It measures nothing. It lets tests of the lab be quick and choose how an engine ends; whether the
real one keeps the same contract is for the tests that run it.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path

import lines

_TICK_S = 0.02


def main() -> int:
    """Answers one call."""
    if sys.argv[1:] == ["version"]:
        sys.stdout.write('{"engine_version": "0.1.0", "schema": 2}\n')
        return 0
    specs = [json.loads(line) for line in sys.stdin.buffer.read().splitlines()]
    if sys.argv[1] == "plan":
        for asked in specs:
            groups = asked["groups"]
            scripts = len(groups) if "--scripts" in sys.argv else 0
            say(lines.plan(groups[0]["clients"], scripts=scripts))
        return 0
    (spec,) = specs
    options = spec["groups"][0].get("options", {})
    clients = spec["groups"][0]["clients"]
    if not Path(spec["target"].get("path", "here")).parent.is_dir():
        say(lines.fatal("connection", "unable to open database file"))
        return 4
    say(lines.hello())
    if spec["command"] != "run":
        if path := spec["target"].get("path"):
            Path(path).touch()
        return 0
    match os.environ.get("ACT") or options.get("act"):
        case "script error":
            say(lines.fatal("script", "kv.lua:3: attempt to call a nil value"))
            return 3
        case "statement error":
            say(lines.fatal("statement", "no such table: kv"))
            say(lines.summary(interrupted=True, clients=clients))
            return 5
        case "lose the server":
            return until_stopped(clients, lose=Path(spec["target"]["path"]))
        case "be told to end":
            say(lines.summary(interrupted=True, clients=clients))
            return 130
        case "be killed":
            say(lines.interval(0, clients=clients))
            os.kill(os.getpid(), signal.SIGKILL)
        case "nothing succeeds":
            failed = {**lines.COUNTERS, "reads": 0, "writes": 0, "other": 0, "errors": 3}
            say(lines.summary(clients=clients, measured=failed, errors={"42P01": 3}))
            return 0
        case "nothing completes":
            nothing = {**lines.COUNTERS, "events": 0, "errors": 3}
            say(
                lines.summary(clients=clients, measured=nothing, histograms=[], errors={"57P01": 3})
            )
            return 0
        case "warn":
            say(lines.warning("paused", "clients paused", "choose longer intervals"))
        case "wait":
            return until_stopped(clients)
    for index in range(3):
        say(lines.interval(index, phase="warm-up" if index == 0 else "measure", clients=clients))
    say(lines.summary(clients=clients))
    return 0


def until_stopped(clients: int, *, lose: Path | None = None) -> int:
    """Goes on until SIGINT; then the summary, as the contract has it."""
    # Waited for and not handled: a handler may find a lock taken by what it has interrupted.
    stop = {signal.SIGINT}
    signal.pthread_sigmask(signal.SIG_BLOCK, stop)
    if lose is not None:
        lose.unlink()
    index = 0
    while signal.sigtimedwait(stop, _TICK_S) is None:
        say(lines.interval(index, clients=clients))
        index += 1
    say(lines.summary(interrupted=True, clients=clients))
    return 130


def say(line: bytes) -> None:
    """Writes a line at once."""
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    raise SystemExit(main())
