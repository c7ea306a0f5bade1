"""Codes of errors that no server of a study gives are refused, with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.conduct import open_study
from dbdyno.errors import StudyError

STUDY = """\
question = "q?"

{servers}

[workload]
script = "oltp_point_select"

[load]
clients = 1
measure = "1 s"

[load.errors]
{errors}
"""
ERRORS_LINE = 12
"""Of `[load.errors]`, with one server."""


def check(folder: Path, errors: str, *kinds: str) -> StudyError | None:
    servers = "\n".join(
        f'server.s{at} = {{ provision = "{kind}" }}' for at, kind in enumerate(kinds)
    )
    file = folder / "study.toml"
    file.write_text(STUDY.format(servers=servers, errors=errors))
    try:
        open_study(str(file))
    except StudyError as error:
        return error
    return None


@pytest.mark.parametrize(
    ("kind", "code", "words"),
    [
        ("postgresql", "SQLITE_BUSY", "PostgreSQL's errors have a SQLSTATE"),
        ("postgresql", "SQLITE_CONSTRAINT", "the name is SQLite's"),
        ("postgresql", "1213", "PostgreSQL's errors have a SQLSTATE"),
        ("sqlite", "40001", "counted by number or name"),
        ("sqlite", "517", "by their primary code, here `5`"),
        ("mariadb@system", "40P01", "counted by their number"),
        ("mariadb@system", "13", "counted by their number"),
        ("mariadb@system", "7", "MySQL's numbers begin with 1000"),
    ],
)
def test_a_code_of_another_server_is_refused(
    tmp_path: Path, kind: str, code: str, words: str
) -> None:
    error = check(tmp_path, f'expected = {{ "{code}" = "5 %" }}', kind)

    assert error is not None
    assert error.line == ERRORS_LINE + 1
    assert f"`{code}`: no server of this study gives that code: " in error.message
    assert words in error.message


@pytest.mark.parametrize(
    ("kinds", "code"),
    [
        (("postgresql",), "40001"),
        (("postgresql",), "40"),
        (("postgresql",), "all"),
        (("sqlite",), "5"),
        (("sqlite",), "SQLITE_CONSTRAINT"),
        (("sqlite",), "connection"),
        (("mariadb@system",), "40001"),
        (("mariadb@system",), "40"),
        (("mariadb@system",), "1205"),
        (("mariadb@system", "postgresql"), "40P01"),
        (("mariadb@system", "postgresql"), "1213"),
        (("postgresql", "sqlite"), "SQLITE_BUSY"),
        (("null",), "1213"),
    ],
)
def test_a_code_that_one_of_the_servers_gives_is_taken(
    tmp_path: Path, kinds: tuple[str, ...], code: str
) -> None:
    assert check(tmp_path, f'expected = {{ "{code}" = "5 %" }}', *kinds) is None


def test_a_rule_for_another_server_is_refused_by_its_line(tmp_path: Path) -> None:
    rules = (
        'rule = [\n{{ codes = ["40"], action = "retry" }},\n{{ codes = {}, action = "retry" }},\n]'
    )
    error = check(tmp_path, rules.format('["23505", 1213]'), "postgresql")

    assert error is not None
    assert error.line == ERRORS_LINE + 3
    assert "`1213`" in error.message
    assert check(tmp_path, rules.format('["23505", "SQLITE_BUSY"]'), "sqlite") is None
    assert check(tmp_path, rules.format('["HY000"]'), "mariadb@system") is None


def test_an_error_has_one_share(tmp_path: Path) -> None:
    error = check(tmp_path, 'expected = { SQLITE_BUSY = "5 %", "5" = "10 %" }', "sqlite")

    assert error is not None
    assert "`SQLITE_BUSY` and `5` are the same error" in error.message
