"""Codes in `[load.errors]` that no server of the study gives its errors, so that nothing would ever
count as them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from dbdyno.design.cells import cells
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.study import StudyFile
from dbdyno.model import DUCKDB_TYPES, ENGINE, MYSQL_NUMBERS, SQLITE_NAMES, engine_code
from dbdyno.servers import parse_provision

_NUMBER = re.compile(r"[0-9]|[0-9]{3,4}")
"""Two digits are a SQLSTATE's class, five a SQLSTATE."""
_OF_ANY = ("all", "connection")
_SQLITE_STATES = ("40001", "23505", "23000", "HY000")
"""SQLSTATEs by which rules know SQLite's errors."""
_LAST_OF_SQLITE = 28
"""The highest primary code of an error."""


def check_error_codes(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the code's line. Only studies whose load is the engine's, on
    PostgreSQL, MySQL, MariaDB, SQLite and DuckDB, are checked."""
    every = cells(loaded.study)
    kinds = dict.fromkeys(parse_provision(cell.provision).kind for cell in every)
    if any(cell.generator != ENGINE for cell in every) or not kinds.keys() <= _KINDS.keys():
        return
    for path, code, in_rule in _named(loaded):
        reasons = [_KINDS[kind](engine_code(code), in_rule) for kind in kinds]
        owner = next((kind for kind, names in _NAMES.items() if code in names), None)
        foreign = owner is not None and owner.lower() not in kinds
        if code not in _OF_ANY and (foreign or None not in reasons):
            why = "; ".join(dict.fromkeys(filter(None, reasons))) or f"the name is {owner}'s"
            raise loaded.error(path, f"`{code}`: no server of this study gives that code: {why}")
    _check_names_of_one(loaded)


def _check_names_of_one(loaded: StudyFile) -> None:
    """Two names of one error of SQLite with a share each."""
    named: dict[str, str] = {}
    for code in loaded.study.load.errors.expected:
        other = named.setdefault(engine_code(code), code)
        if other != code:
            raise loaded.error(
                ("load", "errors", "expected", code),
                f"`{other}` and `{code}` are the same error",
                hint="name it once, with one share",
            )


def _named(loaded: StudyFile) -> Iterator[tuple[KeyPath, str, bool]]:
    """Path and code of each, and whether it stands in a rule."""
    errors = loaded.study.load.errors
    for code in errors.expected:
        yield ("load", "errors", "expected", code), code, False
    for index, rule in enumerate(errors.rules):
        for code in rule.codes:
            yield ("load", "errors", "rule", str(index), "codes"), code, True


def _of_postgresql(code: str, _in_rule: bool) -> str | None:
    if _NUMBER.fullmatch(code):
        return "PostgreSQL's errors have a SQLSTATE (`40001`) and no number"
    return None


def _of_mysql(code: str, in_rule: bool) -> str | None:
    if _NUMBER.fullmatch(code) and len(code) < len("1000"):
        return "MySQL's numbers begin with 1000"
    known = any(state.startswith(code) for state in MYSQL_NUMBERS)
    if in_rule or known or _NUMBER.fullmatch(code):
        return None
    return "errors of MySQL and MariaDB are counted by their number, such as `1205`"


def _of_sqlite(code: str, in_rule: bool) -> str | None:
    if in_rule and any(state.startswith(code) for state in _SQLITE_STATES):
        return None
    if code.isdecimal() and int(code) <= _LAST_OF_SQLITE:
        return None
    if code.isdecimal() and len(code) < len("40001") and int(code) & 0xFF <= _LAST_OF_SQLITE:
        return f"SQLite's errors are counted by their primary code, here `{int(code) & 0xFF}`"
    return "SQLite's errors are counted by number or name, such as `5` or `SQLITE_BUSY`"


def _of_duckdb(code: str, _in_rule: bool) -> str | None:
    if code in DUCKDB_TYPES:
        return None
    return f"DuckDB's errors are counted by their type: {', '.join(DUCKDB_TYPES)}"


def _of_clickhouse(code: str, _in_rule: bool) -> str | None:
    if code.isdecimal() and len(code) < len("10000"):
        return None
    return "ClickHouse's errors are counted by their number, such as `252`"


_KINDS = {
    "postgresql": _of_postgresql,
    "mysql": _of_mysql,
    "mariadb": _of_mysql,
    "sqlite": _of_sqlite,
    "duckdb": _of_duckdb,
    "clickhouse": _of_clickhouse,
}
"""Kind of server → why it gives no error a code; `None`: it may."""
_NAMES = {"SQLite": SQLITE_NAMES, "DuckDB": DUCKDB_TYPES}
"""Kind of server → names that no other kind gives its errors."""
