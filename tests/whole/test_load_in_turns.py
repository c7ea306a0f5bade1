"""Turns against a real server: two engines side by side, whose counts are the server's own, and
connections that end in a pause."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from product import wait_until, wait_until_left, watch

from dbdyno.engine import EngineInTurns, find_engine, find_script, open_turns, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import Load, Record
from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

SERVER = "postgresql:15@system"
QUIET = {"autovacuum": "off"}
TABLES = 2
CLIENTS = 8


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None


def spec_of(server: Server, command: str, script: str, seed: int) -> Mapping[str, object]:
    folders = script_path()
    return run_spec(
        command=command,
        target=server.entry.target(),
        script=find_script(script, folders),
        script_path=folders,
        options={"tables": TABLES, "table_size": 500},
        clients=CLIENTS if command == "run" else 1,
        seed=seed,
        load=Load((CLIENTS,), warm_up_s=0.2, measure_s=0.8, interval_s=0.2),
    )


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    with open_server(SERVER, QUIET, tmp_path / "server") as opened:
        opened.start()
        spec = spec_of(opened, "prepare", "oltp_read_write", 1)
        outcome = run_engine(find_engine(), spec, listener=ignore, log=tmp_path / "prepare.log")
        assert outcome.failure is None, outcome.failure
        wait_until_left(opened)
        yield opened


def end_sessions(server: Server) -> None:
    """Ends the sessions of the load, as a restart of the server would."""
    end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = %s"
    target: Any = server.entry.target()
    with watch(server) as watcher:
        ended = watcher.execute(end, [target["database"]]).fetchall()
    assert len(ended) == CLIENTS


def soon() -> int:
    return time.time_ns() + 60_000_000


def test_two_engines_turn_and_turn_about_lose_nothing(server: Server, tmp_path: Path) -> None:
    before = server.database.counters()
    with ExitStack() as stack:
        engines: list[EngineInTurns] = []
        for seed in (1, 2):
            opened = open_turns(
                find_engine(),
                spec_of(server, "run", "oltp_point_select", seed),
                listener=ignore,
                log=tmp_path / f"{seed}.log",
            )
            engines.append(stack.enter_context(opened))
        for engine in engines:
            engine.ready()
        order = [0, 1, 1, 0, 1, 0]
        turns = [engines[which].turn(soon(), 0.1, 0.5) for which in order]
        outcomes = [engine.end() for engine in engines]
    summaries = [outcome.summary for outcome in outcomes if outcome.summary is not None]
    assert len(summaries) == 2 and all(outcome.failure is None for outcome in outcomes)
    events = sum(summary.total.events for summary in summaries)
    assert events == sum(turn.total.events for turn in turns)
    assert all(turn.measured.events > CLIENTS and turn.clients == CLIENTS for turn in turns)
    assert all(turn.window_s == 0.5 and not turn.interrupted for turn in turns)
    # Each client prepares a statement a table, and connecting is a transaction, too.
    expected = events + 2 * CLIENTS * (1 + TABLES)

    def found() -> int:
        return server.database.counters()["xact_commit"] - before["xact_commit"]

    wait_until("the server's counts are complete", lambda: found() >= expected)
    assert found() == expected


def test_a_connection_that_ends_in_a_pause_is_made_anew_in_the_next_turn(
    server: Server, tmp_path: Path
) -> None:
    with open_turns(
        find_engine(),
        spec_of(server, "run", "oltp_point_select", 1),
        listener=ignore,
        log=tmp_path / "engine.log",
    ) as engine:
        engine.ready()
        first = engine.turn(soon(), 0.1, 0.4)
        end_sessions(server)
        second = engine.turn(soon(), 0.5, 0.5)
        outcome = engine.end()
    assert outcome.failure is None and outcome.summary is not None
    assert first.total.errors == 0
    assert second.total.reconnects == CLIENTS
    assert second.total.errors >= CLIENTS
    assert second.clients == CLIENTS
    assert second.measured.events > CLIENTS
    assert second.total.begun == second.total.events


def test_clients_reconnect_in_the_lead_in_of_every_second_turn(
    server: Server, tmp_path: Path
) -> None:
    def sessions_of_the_load() -> set[int]:
        target: Any = server.entry.target()
        ask = "SELECT pid FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
        with watch(server) as watcher:
            return {row[0] for row in watcher.execute(ask, [target["database"]]).fetchall()}

    with open_turns(
        find_engine(),
        spec_of(server, "run", "oltp_point_select", 1),
        listener=ignore,
        log=tmp_path / "engine.log",
        reconnect=2,
    ) as engine:
        engine.ready()
        turns, seen = [], []
        for _ in range(4):
            turns.append(engine.turn(soon(), 0.5, 0.3))
            seen.append(sessions_of_the_load())
        outcome = engine.end()
    assert outcome.failure is None and outcome.summary is not None
    assert [turn.total.reconnects for turn in turns] == [0, 0, CLIENTS, 0]
    assert [turn.measured.reconnects for turn in turns] == [0] * 4
    assert all(turn.total.errors == 0 and turn.measured.events > CLIENTS for turn in turns)
    assert [len(pids) for pids in seen] == [CLIENTS] * 4
    assert seen[0] == seen[1] and seen[2] == seen[3] and not seen[1] & seen[2]
