"""What ends a run: the lines that people's programs look for, as sysbench prints them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from both import LOGGING, Commands, Finished, both_commands

pytestmark = pytest.mark.slow

FATAL = Path(__file__).parent / "fatal"
ONCE = ("--time=0", "--events=1")


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


def told(finished: Finished) -> list[str]:
    """What is said of the failure, on standard output."""
    return [line for line in finished.output.splitlines() if line.startswith("FATAL: ")]


def both(commands: Commands, *arguments: str) -> tuple[Finished, Finished]:
    theirs = commands.theirs(*arguments, folder=FATAL)
    ours = commands.ours(*arguments, folder=FATAL)
    assert (theirs.code, ours.code) == (1, 1), ours.output + ours.errors
    return theirs, ours


@pytest.mark.parametrize(
    "arguments",
    [
        ("statement.lua", "run", *ONCE),
        ("statement.lua", "prepare"),
        ("statement.lua", "cleanup"),
        ("statement.lua", "own"),
        ("without_commands.lua", "prepare"),
        ("ready.lua", "run", *ONCE),
        ("executed.lua", "run", *ONCE),
        ("executed.lua", "run", "--db-ps-mode=disable", *ONCE),
    ],
    ids=" ".join,
)
def test_a_failed_statement_is_told_in_the_same_words(
    arguments: tuple[str, ...], commands: Commands
) -> None:
    theirs, ours = both(commands, *arguments)

    assert len(told(theirs)) >= 2, theirs.output
    if "--db-ps-mode=disable" in arguments:
        # The first line of sysbench's has the text with the values in it.
        assert told(ours)[-1] == told(theirs)[-1]
        return
    assert told(ours) == told(theirs)


def test_a_fatal_error_is_not_an_ignored_one(commands: Commands) -> None:
    _, ours = both(commands, "statement.lua", "run", *ONCE)

    assert re.search(r"ignored errors: +0 ", ours.output), ours.output


def test_an_error_that_the_script_catches_is_told_and_counted(commands: Commands) -> None:
    theirs = commands.theirs("caught.lua", "run", *ONCE, folder=FATAL)
    ours = commands.ours("caught.lua", "run", *ONCE, folder=FATAL)

    assert told(theirs)
    assert told(ours) == told(theirs)
    for finished in (theirs, ours):
        assert re.search(r"ignored errors: +1 ", finished.output), finished.output


def test_a_statement_that_can_not_be_prepared(commands: Commands) -> None:
    ours = commands.ours("prepared.lua", "run", *ONCE, folder=FATAL)

    assert ours.code == 1
    if "--db-driver=pgsql" in commands.target:
        # sysbench crashes.
        assert told(ours)[0] == 'FATAL: PQprepare() failed: 7 relation "nowhere" does not exist'
        return
    theirs = commands.theirs("prepared.lua", "run", *ONCE, folder=FATAL)
    assert told(ours) == told(theirs)


def test_a_connection_that_does_not_come_about(commands: Commands) -> None:
    driver = "mysql" if "--db-driver=mysql" in commands.target else "pgsql"

    theirs, ours = both(commands, "ready.lua", "run", f"--{driver}-port=1", *ONCE)

    first = told(theirs)[0].partition(" failed: ")[0]
    assert told(ours)[0].startswith(first)
    # Behind it stand the client library's own words.
    assert len(told(ours)) == len(told(theirs))
    assert told(ours)[-2:] == told(theirs)[-2:]


def test_a_wrong_password(commands: Commands) -> None:
    if "--db-driver=pgsql" in commands.target:
        _, ours = both(commands, "ready.lua", "run", "--pgsql-user=nobody", *ONCE)
        assert 'role "nobody"' in ours.output or 'user "nobody"' in ours.output
        return
    theirs, ours = both(commands, "ready.lua", "run", "--mysql-password=wrong", *ONCE)

    assert told(ours) == told(theirs)
    assert "FATAL: error 1045: Access denied for user " in ours.output
