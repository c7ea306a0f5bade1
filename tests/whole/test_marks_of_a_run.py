"""What is done to a server under load stands on the report's axis of time, where it was done."""

from __future__ import annotations

import os
import select
import signal
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from product import LIMIT_S, start, under_load, url, wait_until, watch

from dbdyno.guard.family import family_of
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.analysis.marks import Mark
from dbdyno.report.charts.panels import timeline
from dbdyno.report.material.gather import gather
from dbdyno.servers import Server, open_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("clean")]

CLIENTS = 4
HELD_S = 6.0
"""So long that a sample is due meanwhile, even of a source that is sampled rarely to save time."""
QUIET_S = 4.0
"""Between two faults: stretches closer together are one mark."""
LOAD = ("--clients", str(CLIENTS), "--time", "45s", "--interval", "500ms")
TOLERANCE_S = 3.2
"""A source that failed once, or is sampled rarely, tells it so much later."""

WORK = """\
function thread_init() connection = sysbench.sql.driver():connect() end
function event() connection:query("SELECT pg_sleep(0.001)") end
"""

Stretch = tuple[float, float]
"""Seconds since 1970."""


@contextmanager
def noted(stretches: dict[str, Stretch], name: str) -> Iterator[None]:
    """When the block began and ended."""
    begin_s = time.time()
    yield
    stretches[name] = begin_s, time.time()


def after(seconds: float) -> None:
    """What is done next is done so much later."""
    select.select([], [], [], seconds)


def hold(server: Server, seconds: float) -> None:
    """Stops all processes of the server for so long."""
    with ExitStack() as held:
        for pid in {each for root in server.node.processes() for each in family_of(root)}:
            os.kill(pid, signal.SIGSTOP)
            held.callback(os.kill, pid, signal.SIGCONT)
        after(seconds)


OF_THE_LOAD = "FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(0.001)'"


def sessions_of_the_load(server: Server, what: str) -> list[Any]:
    """`what` of each."""
    with watch(server) as watcher:
        found = watcher.execute(f"SELECT {what} {OF_THE_LOAD}").fetchall()
    return [one for (one,) in found]


def end_sessions(server: Server) -> None:
    """Of the load; the collector's stays."""
    ended = sessions_of_the_load(server, "pg_terminate_backend(pid, 5000)")
    assert ended == [True] * CLIENTS


def crash(server: Server) -> None:
    """Kills one backend: the server ends all of them and begins anew. Returns when the load is on
    again, which takes as long as the server's recovery."""
    before = set(sessions_of_the_load(server, "pid"))
    os.kill(min(before), signal.SIGKILL)
    wait_until("the load is on again", lambda: is_back(server, before))


def is_back(server: Server, before: set[int]) -> bool:
    """Whether all clients have sessions, and none that there was."""
    try:
        now = set(sessions_of_the_load(server, "pid"))
    except psycopg.OperationalError:  # it is not up yet, or no longer
        return False
    return len(now) == CLIENTS and not now & before


def test_faults_of_a_real_run_are_marked_where_they_happened(tmp_path: Path) -> None:
    (tmp_path / "work.lua").write_text(WORK)
    done: dict[str, Stretch] = {}
    with open_server("postgresql:18.0.0@maven", {}, tmp_path / "logs") as server:
        server.start()
        call = ("bench", url(server.entry.target()), "--script", "work.lua", *LOAD)
        with start(*call, folder=tmp_path) as process:
            store = tmp_path / "results"
            wait_until("it is under load", lambda: under_load_anywhere(store))
            after(QUIET_S)
            with noted(done, "stall"):
                hold(server, HELD_S)
            after(QUIET_S)
            with noted(done, "reconnects"):
                end_sessions(server)
            after(QUIET_S)
            with noted(done, "counter reset"):
                crash(server)
            _, err = process.communicate(timeout=LIMIT_S)
    assert process.returncode == 0, err

    (study,) = [each.name for each in store.iterdir() if each.is_dir()]
    (marks,) = timeline(analyse(gather(store, study, every_sample=True))).marks.values()

    found = {kind: of_kind(marks, kind) for kind in done}
    for kind, stretch in done.items():
        assert any(is_at(mark, stretch) for mark in found[kind]), (kind, stretch, marks)
    # A neighbour on the machine may stall the server at other times, too: that only a stall is
    # marked as one is held by made-up intervals (tests/report/test_marks.py).
    # Whoever samples the server waits for it, too.
    assert any(
        is_at(mark, done["stall"]) and "postgresql" in mark.text
        for mark in of_kind(marks, "collector gap")
    )
    # Both the ended sessions and the restart lose every connection.
    lost = [mark for mark in of_kind(marks, "reconnects") if is_at(mark, done["counter reset"])]
    assert lost, marks


def under_load_anywhere(store: Path) -> bool:
    """Whether some run of the store has kept intervals."""
    return any(under_load(runs, intervals=2) for runs in store.glob("*/runs"))


def of_kind(marks: tuple[Mark, ...], kind: str) -> list[Mark]:
    return [mark for mark in marks if mark.kind == kind]


def is_at(mark: Mark, stretch: Stretch) -> bool:
    """Whether a mark lies over a stretch, and not far beyond it."""
    begin_s, end_s = stretch
    return (
        begin_s - TOLERANCE_S <= mark.begin_ns / 1e9 <= end_s + TOLERANCE_S
        and begin_s - TOLERANCE_S <= mark.end_ns / 1e9 <= end_s + TOLERANCE_S
    )
