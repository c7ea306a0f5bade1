"""Several engine processes that fill tables together store what a single process stores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.engine import find_engine, find_script, run_engine, run_spec
from dbdyno.engine.process import Call
from dbdyno.engine.script import script_path
from dbdyno.model import Option, Record
from dbdyno.servers import Contents, Server, open_server

pytestmark = pytest.mark.slow

CLIENTS = 4
NUMBERED = ("oltp_point_select", {"tables": 5, "table_size": 1000})
"""The server numbers the rows, of which each table has one client's."""
OWN_NUMBERS = ("oltp_point_select", {"tables": 5, "table_size": 1000, "auto_inc": False})
SHARED = ("dbstress_like", {"objects": 30_000, "histories": 1})
"""Three clients fill parts of the same tables."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """It logs every statement."""
    settings = {"log_statement": "all", "fsync": "off"}
    with open_server("postgresql@system", settings, tmp_path_factory.mktemp("server")) as server:
        server.start()
        yield server


def filled(
    server: Server, script: str, options: Mapping[str, Option], processes: int, folder: Path
) -> tuple[Mapping[str, Contents], str]:
    """What the tables hold, and what the server has logged meanwhile."""
    folders, (log, *_) = script_path(), server.log_files()
    mark = log.stat().st_size

    def call(command: str) -> Any:
        spec = run_spec(
            command=command,
            target=server.entry.target(),
            script=find_script(script, folders),
            script_path=folders,
            options=options,
            clients=CLIENTS,
            seed=5,
        )
        outcome = run_engine(
            find_engine(),
            spec,
            listener=ignore,
            log=folder / "engine.log",
            processes=processes if command == "prepare" else 1,
            keep=folder / "part",
        )
        assert (outcome.failure, outcome.warnings) == (None, ())
        return outcome

    loads = call("prepare").loaded
    tables = [load.table for load in loads]
    assert len(set(tables)) == len(tables), "each table is reported once"
    contents = {table: server.database.contents(table, checksum=True) for table in tables}
    assert {load.table: load.rows for load in loads} == {t: c.rows for t, c in contents.items()}
    call("cleanup")
    with log.open() as statements:
        statements.seek(mark)
        return contents, statements.read()


def ignore(_line: bytes, _record: Record, _call: Call) -> None:
    return None


@pytest.mark.parametrize(
    ("script", "options", "is_copied"),
    [(*NUMBERED, False), (*OWN_NUMBERS, True), (*SHARED, True)],
    ids=["numbered", "own-numbers", "shared"],
)
def test_rows_are_the_same(
    server: Server, tmp_path: Path, script: str, options: Mapping[str, Option], is_copied: bool
) -> None:
    alone, statements = filled(server, script, options, 1, tmp_path)
    assert " COPY " in statements
    together, statements = filled(server, script, options, 3, tmp_path)

    assert together == alone
    assert sum(contents.rows for contents in alone.values()) > 1000
    assert (" COPY " in statements) == is_copied, "only one process may number a table's rows"
