"""Scripts that misuse the API: sysbench's words, and what it lets pass is let pass."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from both import LOGGING, Commands, Finished, both_commands

pytestmark = pytest.mark.slow

MISUSE = Path(__file__).parent / "misuse"
ONCE = ("run", "--time=0", "--events=1")


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


def told(finished: Finished) -> list[str]:
    """What the script and the command say."""
    lines = finished.output.splitlines()
    return [line for line in lines if line.startswith(("> ", "ALERT: ", "FATAL: "))]


@pytest.mark.parametrize("script", sorted(MISUSE.glob("*.lua")), ids=lambda path: path.stem)
def test_misuse_is_told_in_the_same_words(script: Path, commands: Commands) -> None:
    unknown = ("--db-driver=foo",) if script.stem == "no_such_driver" else ()
    if script.stem == "not_prepared" and "--db-driver=pgsql" in commands.target:
        pytest.skip("sysbench says nothing of it, or crashes")
    theirs = commands.theirs(script.name, *ONCE, *unknown, folder=MISUSE)
    ours = commands.ours(script.name, *ONCE, *unknown, folder=MISUSE)

    assert told(theirs), theirs.output + theirs.errors
    assert told(ours) == told(theirs), ours.output + ours.errors
    assert ours.code == theirs.code
