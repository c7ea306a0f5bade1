"""A real server, and our workloads driven on it by the engine as the lab does."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from dbdyno.engine import Outcome, find_engine, find_script, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import ErrorPolicy, ErrorRule, Load, Option, Output, Record, Summary
from dbdyno.servers import Server, open_server, parse_provision

HERE = Path(__file__).parent / "workloads"
LONG_S = 60.0
"""A window that no test fills: what ends it is the number of events."""


@dataclass(frozen=True, slots=True)
class Told:
    """How a call of the engine ended, and the lines that its script printed."""

    outcome: Outcome
    lines: Sequence[str]

    @property
    def summary(self) -> Summary:
        """Of a run that measured something."""
        assert self.outcome.summary is not None, self.outcome.failure
        return self.outcome.summary

    @property
    def complaint(self) -> str:
        """Why it failed; empty if it did not."""
        return "" if self.outcome.failure is None else str(self.outcome.failure)


@dataclass(frozen=True, slots=True)
class Driven:
    """A server under load, and a place for logs."""

    server: Server
    driver: str
    """As scripts name it."""
    folder: Path
    connection: Mapping[str, object] = field(default_factory=dict)
    """What of the target is not the server's default."""

    def call(self, script: str, command: str, *, clients: int = 1, **options: Option) -> Told:
        """One command of a workload."""
        return self._engine(script, command, clients, options, None)

    def fill(self, script: str, *, loaders: int | None, **options: Option) -> Told:
        """A workload's `prepare`, with so many connections that carry its rows; `None`: as many as
        the engine chooses."""
        return self._engine(script, "prepare", 1, options, None, loaders=loaders)

    def run(
        self,
        script: str,
        *,
        events: int,
        clients: int = 2,
        seed: int = 5,
        **options: Option,
    ) -> Told:
        """As many measured events."""
        load = Load((clients,), warm_up_s=0.0, measure_s=LONG_S, events=events)
        return self._engine(script, "run", clients, options, load, seed)

    def window(self, script: str, *, measure_s: float, **options: Option) -> Told:
        """One client's events in a window, the last of which is not awaited for long."""
        load = Load((1,), warm_up_s=0.0, measure_s=measure_s)
        return self._engine(script, "run", 1, options, load)

    def restart(self, script: str, *, limit: int, **options: Option) -> Told:
        """One event of one client, begun again up to `limit` times if it fails."""
        errors = ErrorPolicy(rules=(ErrorRule(("all",), "restart-event", limit=limit),))
        load = Load((1,), warm_up_s=0.0, measure_s=LONG_S, events=1, errors=errors)
        return self._engine(script, "run", 1, options, load)

    def rows(self, text: str) -> Sequence[Sequence[str]]:
        """What a statement answers; several with `|` between them."""
        told = self._engine(str(HERE / "ask.lua"), "prepare", 1, {"text": text}, None)
        assert told.complaint == "", told.complaint
        return [line.split(",") for line in told.lines]

    def _engine(
        self,
        script: str,
        command: str,
        clients: int,
        options: Mapping[str, Option],
        load: Load | None,
        seed: int = 5,
        loaders: int | None = None,
    ) -> Told:
        folders = script_path()
        lines: list[str] = []
        target: Mapping[str, Any] = {**self.server.entry.target(), **self.connection}
        spec = run_spec(
            command=command,
            target=target,
            script=find_script(script, folders),
            script_path=folders,
            options=options,
            clients=1 if load is None and self.driver in ("sqlite", "duckdb") else clients,
            seed=seed,
            loaders=loaders,
            load=load,
        )

        def listen(_line: bytes, record: Record, _call: Call) -> None:
            if isinstance(record, Output):
                lines.append(record.text)

        log = self.folder / "engine.log"
        return Told(run_engine(find_engine(), spec, listener=listen, log=log), lines)


KINDS: Mapping[str, tuple[str, Mapping[str, str]]] = {
    "postgresql": ("pgsql", {"fsync": "off"}),
    "mariadb": ("mysql", {"innodb_flush_log_at_trx_commit": "0"}),
    "mysql": ("mysql", {"innodb_flush_log_at_trx_commit": "0", "sync_binlog": "0"}),
    "sqlite": ("sqlite", {"journal_mode": "wal", "synchronous": "off"}),
    "duckdb": ("duckdb", {"threads": "2", "memory_limit": "512MB"}),
    "clickhouse": ("clickhouse", {"max_threads": "2"}),
}
"""By kind of server: how scripts call it, and what makes it wait for no disk."""

SERVERS = ("postgresql:15@system", "mariadb@system", "sqlite")
"""What every workload is tried on."""


@contextlib.contextmanager
def open_driven(provision: str, folder: Path, *, tls: bool = False) -> Iterator[Driven]:
    """A server of one of `KINDS`, started; `tls`: with a certificate of its own."""
    driver, settings = KINDS[parse_provision(provision).kind]
    with open_server(provision, settings, folder, tls=tls) as server:
        server.start()
        yield Driven(server, driver, folder)
