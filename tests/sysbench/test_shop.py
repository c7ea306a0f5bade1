"""A script set in the manner of TPC-C: tables that either command fills, uses and checks."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from both import LOGGING, Commands, Finished, both_commands

pytestmark = pytest.mark.slow

SHOP = Path(__file__).parent / "shop"
EVENTS = 200


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


def shop(command: Callable[..., Finished], *arguments: str) -> set[str]:
    """What the script said."""
    finished = command("shop.lua", *arguments, folder=SHOP)
    assert finished.code == 0, finished.output + finished.errors
    assert "FATAL" not in finished.output
    # sysbench's clients write over one another: a line may hold several.
    said = " ".join(line for line in finished.output.splitlines() if line.startswith(">"))
    return {part.strip() for part in said.split(">") if part.strip()}


def check(command: Callable[..., Finished]) -> set[str]:
    said = shop(command, "check", "--threads=2")
    assert not [part for part in said if "not so" in part]
    return said


@pytest.mark.parametrize("filled_by", ["theirs", "ours"])
def test_either_command_fills_uses_and_checks_the_tables(
    filled_by: str, commands: Commands
) -> None:
    theirs, ours = commands.theirs, commands.ours
    filling = theirs if filled_by == "theirs" else ours
    loaded = shop(filling, "prepare", "--threads=2")
    assert {"loading warehouse 1", "loading warehouse 2"} < loaded

    before = check(ours)
    assert before == check(theirs)
    load = ["run", "--threads=4", f"--events={EVENTS}", "--time=0"]
    ran = shop(ours, *load)
    assert ran == shop(theirs, *load)
    assert f"events {EVENTS}, at percentile 95" in ran
    assert check(ours) == check(theirs) == before
    assert shop(ours, "cleanup") == {"tables dropped"}

    finished = ours("shop.lua", "check", folder=SHOP)
    assert finished.code == 1
    assert re.search(r"shop_warehouse.*(does not|doesn't) exist", finished.output)
