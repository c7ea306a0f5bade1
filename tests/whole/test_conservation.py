"""Nothing is lost and nothing invented: the engine's counts are the server's own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from product import settled, wait_until_left

from dbdyno.engine import find_engine, find_script, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import Load, Option, Record, Summary
from dbdyno.servers import Server, open_server

pytestmark = pytest.mark.slow

QUIET = {
    # Only statements of the load, and no transaction but its own.
    "autovacuum": "off",
    # From 14 on a prepared BEGIN counts the first time only: its cached plan has no query id.
    "pg_stat_statements.track_utility": "off",
}
# Deadlock; the same key inserted by another client.
CONFLICTS = {"40P01", "23505"}
TABLES = 2
OPTIONS: Mapping[str, Option] = {"tables": TABLES, "table_size": 500}


@dataclass(frozen=True, slots=True)
class Lab:
    """A server under load, and a place for logs."""

    server: Server
    folder: Path

    def command(
        self, command: str, script: str, *, clients: int = 1, processes: int = 1
    ) -> Summary | None:
        """The engine's summary of one call."""
        folders = script_path()
        spec = run_spec(
            command=command,
            target=self.server.entry.target(),
            script=find_script(script, folders),
            script_path=folders,
            options=OPTIONS,
            clients=clients,
            seed=11,
            load=Load((clients,), warm_up_s=0.2, measure_s=0.8, interval_s=0.2),
        )
        outcome = run_engine(
            find_engine(),
            spec,
            listener=ignore,
            log=self.folder / "engine.log",
            processes=processes,
        )
        assert outcome.failure is None, outcome.failure
        return outcome.summary


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None


@pytest.fixture(scope="module", params=["postgresql:18.0.0@maven", "postgresql:9.6.24@maven"])
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("server")
    with open_server(request.param, QUIET, folder) as server:
        server.start()
        lab = Lab(server, folder)
        lab.command("prepare", "oltp_read_write")
        wait_until_left(server)
        yield lab


@dataclass(frozen=True, slots=True)
class Kind:
    """What a script's events are to PostgreSQL."""

    prepared: int
    """Statements prepared by a client; each is a transaction of its own, and so is connecting."""
    marks: int
    """BEGIN and what ends it, in every attempt at an event; not counted with the statements."""


KINDS = {
    "oltp_point_select": Kind(prepared=TABLES, marks=0),
    "oltp_read_write": Kind(prepared=9 * TABLES + 2, marks=2),
    "oltp_insert": Kind(prepared=0, marks=0),
}


@pytest.mark.parametrize(("clients", "processes"), [(1, 1), (16, 1), (16, 3)])
@pytest.mark.parametrize("script", KINDS)
def test_the_engine_s_counts_are_the_server_s_own(
    lab: Lab, script: str, clients: int, processes: int
) -> None:
    before = lab.server.database.counters()
    summary = lab.command("run", script, clients=clients, processes=processes)
    assert summary is not None
    total, kind = summary.total, KINDS[script]
    # What fails after the end of the load isn't begun again: its event is unfinished.
    assert 0 <= total.errors - total.restarts <= total.unfinished
    assert summary.errors.keys() <= CONFLICTS, "clients meet one another, and nothing else fails"
    assert sum(summary.errors.values()) == summary.measured.errors
    assert total.reconnects == 0

    expected = {
        "statements_calls": total.statements - kind.marks * (total.events + total.errors),
        "xact_commit": total.events + clients * (1 + kind.prepared),
        "xact_rollback": total.errors,
    }
    # Sessions hand their counts in when they end, before version 15 through a collector.
    found = settled(lambda: since(before, lab.server.database.counters(), expected), expected)
    assert found == expected, total
    assert total.events > clients
    assert total.statements >= summary.measured.statements > 0


def since(
    before: Mapping[str, int], now: Mapping[str, int], names: Mapping[str, int]
) -> Mapping[str, int]:
    """What was added to some counters."""
    return {name: now[name] - before[name] for name in names}
