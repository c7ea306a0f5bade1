"""Scripts that use the API, run by sysbench and by us: the same words, counts and code."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from both import LOGGING, Commands, Finished, both_commands

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


API = Path(__file__).parent / "api"
RESTARTS = Path(__file__).parent / "restarts"
SCRIPTS = sorted(path for path in API.glob("*.lua") if path.stem != "api_module")

# Script → what is different on purpose: see docs/reference/sysbench-compatibility.md.
DIFFERENT = {
    "closed_connection": "without a statement the report has no block for statements",
    "pcall_error": "sysbench gives the state as a C pointer",
}
DIFFERENT_ON_POSTGRESQL = {
    "reconnect": "sysbench can't reconnect",
}

COUNTS = ("read:", "write:", "other:", "transactions:", "ignored errors:", "events:")


def arguments(script: Path) -> list[str]:
    """The command and options on the script's first line; a load has all the time it needs."""
    first = script.read_text().splitlines()[0].removeprefix("--").split()
    return [*first, "--time=0"] if "run" in first else first


SHREDDED = 3
"""How often sysbench is asked again: its clients print into one another's lines, and what then
begins no line is lost."""


def said(finished: Finished) -> list[str]:
    """The words that the script printed. Clients have no order, and sysbench's share lines."""
    lines = (line for line in finished.output.splitlines() if line.startswith("> "))
    return sorted(" ".join(lines).replace(">", " > ").split())


def counts(finished: Finished) -> dict[str, str]:
    """Counts of the last report."""
    found = {}
    for label in COUNTS:
        for value in re.findall(rf"{label}\s+(\d+)", finished.output):
            found[label] = value
    return found


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: path.stem)
def test_a_script_does_the_same(script: Path, commands: Commands) -> None:
    theirs = commands.theirs(script.name, *arguments(script), folder=API)
    ours = commands.ours(script.name, *arguments(script), folder=API)

    if theirs.code < 0:
        # sysbench itself has crashed.
        assert ours.code == 0, ours.output + ours.errors
        return
    assert ours.code == theirs.code, ours.output + ours.errors
    on_postgresql = "--db-driver=pgsql" in commands.target
    if script.stem in DIFFERENT or (on_postgresql and script.stem in DIFFERENT_ON_POSTGRESQL):
        return
    for _ in range(SHREDDED):
        if said(ours) == said(theirs):
            break
        theirs = commands.theirs(script.name, *arguments(script), folder=API)
    assert said(ours) == said(theirs), ours.output + ours.errors
    if theirs.code == 0:
        assert counts(ours) == counts(theirs)


def test_a_deadlock_restarts_the_event(commands: Commands) -> None:
    for answer in (commands.theirs, commands.ours):
        assert answer("deadlock.lua", "prepare", folder=RESTARTS).code == 0
        finished = answer(
            "deadlock.lua", "run", "--threads=2", "--events=2", "--time=0", folder=RESTARTS
        )
        assert finished.code == 0, finished.output + finished.errors
        assert {"again", "true"} <= set(said(finished))
        counted = counts(finished)
        assert counted["events:"] == "2"
        if "--db-driver=mysql" in commands.target:
            # Two events and the one that began again: nobody sends a ROLLBACK after a deadlock.
            assert (counted["ignored errors:"], counted["other:"]) == ("1", "5")
        assert answer("deadlock.lua", "cleanup", folder=RESTARTS).code == 0


COUNTED = """
function event()
  local con = sysbench.sql.driver():connect()
  con:query("DROP TABLE IF EXISTS api_counted")
  con:query("CREATE TABLE api_counted (a INT)")
  for _, text in ipairs {
    "INSERT INTO api_counted VALUES (1), (2), (3)",
    "UPDATE api_counted SET a = a + 1 WHERE a > 1",
    "DELETE FROM api_counted WHERE a = 9",
    "DELETE FROM api_counted",
  } do
    con:query(text)
    print("> " .. con:affected_rows())
  end
  con:query("DROP TABLE api_counted")
end
"""


def test_a_connection_knows_how_many_rows_were_affected(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "counted.lua").write_text(COUNTED)

    finished = commands.ours("counted.lua", "run", "--events=1", folder=tmp_path)

    lines = [line for line in finished.output.splitlines() if line.startswith("> ")]
    assert lines == ["> 3", "> 2", "> 0", "> 3"], finished.output


def test_a_script_comes_from_standard_input(commands: Commands) -> None:
    text = (API / "no_command.lua").read_bytes()

    theirs = subprocess.run(["sysbench"], input=text, capture_output=True, check=False)
    ours = subprocess.run([commands.program], input=text, capture_output=True, check=False)

    assert b"> body" in ours.stdout
    assert ours.stdout.splitlines()[1:] == theirs.stdout.splitlines()[1:]


def test_a_script_can_be_a_program(commands: Commands, tmp_path: Path) -> None:
    script = tmp_path / "program.lua"
    script.write_text(f"#!{commands.program}\nfunction event() end\n")
    script.chmod(0o755)

    finished = subprocess.run(
        [str(script), "--db-driver=null", "--events=3", "run"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert finished.returncode == 0
    assert "total number of events:              3\n" in finished.stdout


# What a walk from `_G` finds under sysbench and not here: see the page on compatibility.
MISSING = {"_G.ffi.C userdata"}


def test_a_script_finds_every_name(commands: Commands) -> None:
    folder = Path(__file__).parent

    def names(finished: Finished) -> set[str]:
        found = re.findall(r"^> (.*)$", finished.output, re.MULTILINE)
        # What LuaJIT has in it, and how, is its own.
        own = ("_G.package.", "_G.jit.", "_G.sysbench.cmdline.argv.")
        return {name for name in found if not name.startswith(own)}

    theirs = names(commands.theirs("names.lua", "run", "--events=1", folder=folder))
    ours = names(commands.ours("names.lua", "run", "--events=1", folder=folder))

    assert len(theirs) > 200
    assert theirs - ours == MISSING


NUMBERS = """
function init() print("> init " .. sysbench.tid) end
function thread_init(tid) print("> thread " .. sysbench.tid) end
function event() ffi.C.usleep(600000) end
function done() print("> done " .. sysbench.tid) end
function sysbench.hooks.report_intermediate() print("> report " .. sysbench.tid) end
function sysbench.hooks.report_cumulative() print("> last " .. sysbench.tid) end
ffi.cdef "int usleep(unsigned);"
"""


def test_whoever_runs_has_the_same_number(commands: Commands, tmp_path: Path) -> None:
    (tmp_path / "numbers.lua").write_text(NUMBERS)
    given = ("numbers.lua", "run", "--threads=2", "--events=4", "--time=0", "--report-interval=1")

    theirs = set(said(commands.theirs(*given, folder=tmp_path)))
    ours = set(said(commands.ours(*given, folder=tmp_path)))

    assert {"report", "last", "done"} <= theirs
    assert ours == theirs
