"""sysbench's own scripts, run by sysbench and by us: the same statements as often."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from both import LOGGING, Commands, both_commands
from catalog import catalog

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module", params=list(LOGGING))
def commands(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Commands]:
    with both_commands(tmp_path_factory.mktemp("both"), request.param) as commands:
        yield commands


SCRIPTS = (
    "oltp_read_only",
    "oltp_read_write",
    "oltp_write_only",
    "oltp_point_select",
    "oltp_update_index",
    "oltp_update_non_index",
    "oltp_insert",
    "oltp_delete",
    "select_random_points",
    "select_random_ranges",
)
EVENTS = 200

# As PostgreSQL writes it, and MariaDB.
STATEMENT = re.compile(r"(?:(?:execute [^:]*|statement): |\d+ (?:Query|Execute)\t)(.*)")
LITERAL = re.compile(r"'(?:[^']|'')*'|\b\d+\b|\$\d+")
ROWS = re.compile(r"(VALUES|IN) ?\(.*", re.IGNORECASE | re.DOTALL)


def shapes(text: str) -> Counter[str]:
    """Statements of a server's log without their values, and how often each came."""
    found: Counter[str] = Counter()
    for statement in STATEMENT.findall(text):
        shape = ROWS.sub(r"\1 (…)", re.sub(r"sbtest\d+", "sbtest", statement))
        found[re.sub(r"\s+", " ", LITERAL.sub("?", shape)).strip()] += 1
    return found


def logged(commands: Commands, run: str, *arguments: str) -> tuple[Counter[str], str]:
    """The statements of one call, and what it answered."""
    before = commands.log.stat().st_size
    call = commands.ours if run == "ours" else commands.theirs
    finished = call(*arguments)
    assert finished.code == 0, finished.output + finished.errors
    with commands.log.open(errors="replace") as file:
        file.seek(before)
        return shapes(file.read()), finished.output


def chance_explains(ours: float, theirs: float, trials: int) -> bool:
    """Whether two counts of as many trials may come from one probability: at most five standard
    deviations apart, which happens by chance once in a million; none where nothing is left to it.
    """
    share = (ours + theirs) / (2 * trials) if trials else 0.0
    return abs(ours - theirs) <= 5 * math.sqrt(2 * trials * share * (1 - share))


@pytest.mark.parametrize("mode", ["auto", "disable"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_server_sees_the_same_statements(script: str, mode: str, commands: Commands) -> None:
    tables = ("--table_size=2000", *(["--tables=2"] if script.startswith("oltp") else []))
    seen: dict[str, tuple[Counter[str], ...]] = {}
    counted: dict[str, Mapping[str, int]] = {}
    for run in ("theirs", "ours"):
        inserts = ["--loaders=0"] if run == "ours" else []
        prepared, _ = logged(commands, run, script, *tables, *inserts, "prepare")
        load = (f"--events={EVENTS}", "--time=0", f"--db-ps-mode={mode}", "run")
        loaded, report = logged(commands, run, script, *tables, *load)
        cleaned, _ = logged(commands, run, script, *tables, "cleanup")
        seen[run] = (prepared, loaded, cleaned)
        counts = re.findall(r"(events|total|read|write|other):\s+(\d+)", report)
        counted[run] = {name: int(count) for name, count in counts}

    assert all(seen["theirs"]), "the server has logged nothing"
    assert seen["ours"] == seen["theirs"]
    ours, theirs = counted["ours"], counted["theirs"]
    assert ours["events"] == theirs["events"] == EVENTS
    assert (ours["total"], ours["read"]) == (theirs["total"], theirs["read"])
    # Whether a DELETE or UPDATE finds a row, and so is a write and not another, is chance.
    found = Counter(shape.split()[0] for shape in seen["ours"][1].elements())
    uncertain, certain = found["UPDATE"] + found["DELETE"], found["INSERT"]
    assert chance_explains(ours["write"] - certain, theirs["write"] - certain, uncertain)


@pytest.mark.parametrize("script", [*SCRIPTS, "bulk_insert"])
def test_prepare_leaves_the_same_tables_and_cleanup_none(script: str, commands: Commands) -> None:
    several = {"oltp": "--tables=3", "bulk": "--threads=3"}.get(script[:4], "--tables=1")
    left, gone = {}, {}
    for run in ("theirs", "ours"):
        logged(commands, run, script, several, "--table-size=3000", "prepare")
        left[run] = catalog(commands.server)
        logged(commands, run, script, several, "cleanup")
        gone[run] = catalog(commands.server)

    assert left["ours"] == left["theirs"]
    assert len(left["ours"]["tables"]) == (1 if several == "--tables=1" else 3)
    assert {row[1] for row in left["ours"]["contents"]} == {0 if script == "bulk_insert" else 3000}
    assert gone["ours"] == gone["theirs"]
    assert not gone["ours"]["tables"]


def test_bulk_insert_sends_and_stores_the_same_rows(commands: Commands) -> None:
    events = 120_000
    inserts, stored = {}, {}
    for run in ("theirs", "ours"):
        logged(commands, run, "bulk_insert", "prepare")
        loaded, report = logged(
            commands, run, "bulk_insert", f"--events={events}", "--time=0", "run"
        )
        stored[run] = catalog(commands.server)
        logged(commands, run, "bulk_insert", "cleanup")
        assert f"total number of events:              {events}\n" in report
        inserts[run] = loaded

    assert inserts["ours"] == inserts["theirs"]
    assert max(inserts["ours"].values()) > 2, "the rows fit into one statement"
    assert stored["ours"] == stored["theirs"]
    assert stored["ours"]["contents"] == [("sbtest1", events, 1, events, 1, events)]


def test_bulk_insert_by_two_clients_loses_no_row(commands: Commands) -> None:
    for run in ("theirs", "ours"):
        logged(commands, run, "bulk_insert", "--threads=2", "prepare")
        load = ("--threads=2", "--events=20000", "--time=0", "run")
        logged(commands, run, "bulk_insert", *load)
        stored = catalog(commands.server)["contents"]
        logged(commands, run, "bulk_insert", "--threads=2", "cleanup")
        assert sum(row[1] for row in stored) == 20_000
