"""sysbench's own scripts, run by sysbench and by us: the same statements as often."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

import pytest
from both import LOGGING, Commands, both_commands

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


def alike(ours: Counter[str], theirs: Counter[str]) -> None:
    """The same shapes; those that chance decides may differ a little in number."""
    assert theirs, "the server has logged nothing"
    assert set(ours) == set(theirs)
    for shape, count in theirs.items():
        assert ours[shape] == pytest.approx(count, rel=0.02, abs=2), shape


@pytest.mark.parametrize("mode", ["auto", "disable"])
@pytest.mark.parametrize("script", SCRIPTS)
def test_the_server_sees_the_same_statements(script: str, mode: str, commands: Commands) -> None:
    tables = ("--table_size=2000", *(["--tables=2"] if script.startswith("oltp") else []))
    seen, events = {}, {}
    for run in ("theirs", "ours"):
        inserts = ["--loaders=0"] if run == "ours" else []
        prepared, _ = logged(commands, run, script, *tables, *inserts, "prepare")
        load = (f"--events={EVENTS}", f"--db-ps-mode={mode}", "run")
        loaded, report = logged(commands, run, script, *tables, *load)
        cleaned, _ = logged(commands, run, script, *tables, "cleanup")
        seen[run] = (prepared, loaded, cleaned)
        counts = re.findall(r"(events|total|read|write|other):\s+(\d+)", report)
        events[run] = {name: int(count) for name, count in counts}

    for ours, theirs in zip(seen["ours"], seen["theirs"], strict=True):
        alike(ours, theirs)
    assert events["ours"]["events"] == events["theirs"]["events"] == EVENTS
    assert events["ours"]["total"] == events["theirs"]["total"]
    # Whether a DELETE or UPDATE finds a row, and so is a write, is chance.
    assert events["ours"] == pytest.approx(events["theirs"], rel=0.25, abs=40)


def test_bulk_insert_stores_the_same_rows(commands: Commands) -> None:
    for run in ("theirs", "ours"):
        logged(commands, run, "bulk_insert", "--threads=2", "prepare")
        loaded, report = logged(
            commands, run, "bulk_insert", "--threads=2", "--events=20000", "run"
        )
        logged(commands, run, "bulk_insert", "--threads=2", "cleanup")
        assert "total number of events:              20000\n" in report
        assert any(shape.startswith("INSERT INTO sbtest") for shape in loaded)
