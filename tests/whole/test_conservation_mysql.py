"""The engine's counts against MySQL's and MariaDB's own, over every version that can be had."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from product import settled

from dbdyno.collect import Watched
from dbdyno.collect.sources.tables import COLLECTOR
from dbdyno.conduct.run.served import session_inside
from dbdyno.engine import find_engine, find_script, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import Load, Missing, Option, Record, Summary
from dbdyno.servers import Server, open_server
from dbdyno.servers.protocol import Transport

pytestmark = pytest.mark.slow

OPTIONS: Mapping[str, Option] = {"tables": 2, "table_size": 500}
CLIENTS = 8


@dataclass(frozen=True, slots=True)
class Lab:
    """A server under load, and a place for logs."""

    server: Server
    folder: Path

    def command(self, command: str, script: str, transport: Transport = "unix") -> Summary | None:
        """The engine's summary of one call."""
        folders = script_path()
        spec = run_spec(
            command=command,
            target=self.server.entry.target(transport),
            script=find_script(script, folders),
            script_path=folders,
            options=OPTIONS,
            clients=CLIENTS if command == "run" else 1,
            seed=11,
            load=Load((CLIENTS,), warm_up_s=0.2, measure_s=0.6, interval_s=0.2),
        )
        log = self.folder / "engine.log"
        outcome = run_engine(find_engine(), spec, listener=ignore, log=log)
        assert outcome.failure is None, outcome.failure
        return outcome.summary


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None


@pytest.fixture(
    scope="module",
    params=[
        "mysql:5.6.14@maven",
        "mariadb:10.2.11@maven",
        "mariadb:11.4.5@maven",
        "mariadb@system",
    ],
)
def lab(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("server")
    settings = {"innodb_flush_log_at_trx_commit": "2", "performance_schema": "ON"}
    with open_server(request.param, settings, folder) as server:
        server.start()
        lab = Lab(server, folder)
        lab.command("prepare", "oltp_read_write")
        yield lab


@pytest.mark.parametrize("transport", ["unix", "tcp"])
@pytest.mark.parametrize("script", ["oltp_point_select", "oltp_read_write"])
def test_the_engine_s_counts_are_the_server_s_own(
    lab: Lab, script: str, transport: Transport
) -> None:
    before = lab.server.database.counters()
    summary = lab.command("run", script, transport)
    assert summary is not None
    total = summary.total
    assert total.events > CLIENTS
    assert total.errors == total.restarts, "deadlocks, and nothing else"
    expected = {"Questions": total.statements + total.errors, "Com_select": total.reads}
    if script == "oltp_read_write":
        expected["Com_commit"] = total.events
    questions_of_the_lab = itertools.count(1)

    def grown() -> Mapping[str, int]:
        now = lab.server.database.counters()
        found = {name: now[name] - before[name] for name in expected}
        found["Questions"] -= next(questions_of_the_lab)
        return found

    assert settled(grown, expected) == expected


def rows_by_table(server: Server, metric: str) -> float:
    """Of all tables under load, as the collector `tables` reads them."""
    opened = COLLECTOR.open(Watched(kind="mariadb", inside=lambda: session_inside(server, "mysql")))
    assert opened is not None and not isinstance(opened, Missing), opened
    rows = sum(
        reading.value
        for reading in opened.sample()
        if reading.metric == metric and reading.instance.startswith("sbtest")
    )
    opened.close()
    return rows


@pytest.mark.parametrize(
    ("script", "metric"),
    [
        ("oltp_insert", "inserts"),
        ("oltp_update_index", "updates"),
        ("oltp_point_select", "rows_read"),
    ],
)
def test_rows_by_table_are_the_load_s_events(lab: Lab, script: str, metric: str) -> None:
    before = rows_by_table(lab.server, metric)
    summary = lab.command("run", script)
    assert summary is not None
    assert summary.total.errors == 0
    assert summary.total.events > CLIENTS

    assert rows_by_table(lab.server, metric) - before == summary.total.events
