"""Whatever a load is given, the loaders store what INSERTs store, or fail with the same error.

Each cell of the table (a type, a value, a kind of table; on a server, in a mode) is filled twice:
by the server's native load over loaders, and by INSERTs over the script's own connection.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from load_cells import (
    FEW_MYSQL,
    FEW_POSTGRESQL,
    FEW_VALUES,
    MARIADB,
    MYSQL,
    POSTGRESQL,
    POSTGRESQL_TYPES,
    SQLITE,
    VALUES,
    Cell,
    tables_of_mysql,
    tables_of_postgresql,
    values_of,
)
from seldom_cells import SELDOM_MYSQL, SELDOM_POSTGRESQL, SELDOM_SQLITE

from driven import Driven, open_driven
from moving import fetch_or_skip

SCRIPT = Path(__file__).parent / "same_rows.lua"

SERVERS = {
    "postgresql:15@system": POSTGRESQL,
    "postgresql:16.2@wheel": POSTGRESQL,
    "postgresql:18.4@wheel": POSTGRESQL,
    "mariadb@system": MARIADB,
    "mysql@sid": MYSQL,
    "sqlite": SQLITE,
}
MODES = {
    "pgsql": ("", "SET standard_conforming_strings = off;SET datestyle = 'SQL, DMY'"),
    "mysql": ("", "SET sql_mode = ''", "SET sql_mode = 'ANSI,STRICT_ALL_TABLES,NO_ZERO_DATE'"),
    "sqlite": ("",),
}
SELDOM = {"pgsql": SELDOM_POSTGRESQL, "mysql": SELDOM_MYSQL, "sqlite": SELDOM_SQLITE}
TABLES = {"pgsql": tables_of_postgresql, "mysql": tables_of_mysql}


def filled(driven: Driven, cells: Sequence[Cell], session: str, loaders: int) -> Sequence[str]:
    """What became of each cell."""
    file = driven.folder / "cells.txt"
    file.write_text("".join(f"{cell.line}\n" for cell in cells))
    command = driven.fill(str(SCRIPT), loaders=loaders, cells=str(file), session=session)
    assert command.complaint == "", command.complaint
    assert len(command.lines) == len(cells)
    return command.lines


def check(driven: Driven, cells: Sequence[Cell], session: str) -> None:
    """Both ways agree in every cell."""
    by_inserts = filled(driven, cells, session, 0)
    by_loads = filled(driven, cells, session, 2)
    pairs = zip(cells, by_inserts, by_loads, strict=True)
    different = [
        f"{cell.table} ({cell.named}) {cell.rows}\n  INSERT {inserted}\n  loaded {loaded}"
        for cell, inserted, loaded in pairs
        if inserted != loaded
    ]
    assert not different, f"{len(different)} of {len(cells)}:\n" + "\n".join(different)


@pytest.fixture(scope="module", params=SERVERS)
def every(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[Driven, Sequence[str]]]:
    """A server, and the types it has."""
    if request.param.endswith("@sid"):
        fetch_or_skip(request.param)
    with open_driven(request.param, tmp_path_factory.mktemp("server")) as driven:
        yield driven, SERVERS[request.param]


@pytest.mark.nightly
def test_every_type_and_value(every: tuple[Driven, Sequence[str]]) -> None:
    driven, types = every
    if driven.driver == "pgsql":
        for statement in POSTGRESQL_TYPES.split(";"):
            driven.rows(statement)
    own = list(TABLES[driven.driver]()) if driven.driver in TABLES else []
    own += SELDOM[driven.driver]
    first, *others = MODES[driven.driver]
    check(driven, [*values_of(types, VALUES), *own], first)
    for session in others:
        check(driven, [*values_of(types, VALUES[::3]), *own], session)


@pytest.mark.slow
def test_some_types_values_and_tables(driven: Driven) -> None:
    few = {"pgsql": FEW_POSTGRESQL, "mysql": FEW_MYSQL, "sqlite": SQLITE[:2]}[driven.driver]
    if driven.driver == "pgsql":
        for statement in POSTGRESQL_TYPES.split(";"):
            driven.rows(statement)
    cells = list(values_of(few, FEW_VALUES))
    if driven.driver in TABLES:
        cells += TABLES[driven.driver]()
    check(driven, cells, "")


@pytest.mark.slow
def test_what_is_seldom_met(driven: Driven) -> None:
    check(driven, SELDOM[driven.driver], "")
