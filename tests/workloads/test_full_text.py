"""`full_text`: an index finds the rows that hold the words, whichever engine it belongs to."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from driven import Driven, open_driven

pytestmark = pytest.mark.slow

SIZE = {"pages": 60, "page_words": 80, "entries": 3000, "words": 500}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    with open_driven("mariadb@system", tmp_path_factory.mktemp("server")) as driven:
        yield driven


each_engine = pytest.mark.parametrize("engine", ["innodb", "myisam"], scope="module")


@pytest.fixture(scope="module")
def texts(engine: str, server: Driven) -> Iterator[Driven]:
    loaded = server.call("full_text", "prepare", clients=2, storage_engine=engine, **SIZE)
    assert loaded.complaint == ""
    yield server
    assert server.call("full_text", "cleanup").complaint == ""


@each_engine
def test_the_index_finds_what_is_there(texts: Driven) -> None:
    told = texts.call("full_text", "check", **SIZE)

    # The initial is too short for a token; the phrase is found all the same.
    assert told.complaint == ""
    found = [int(line.split(": ")[1].split()[0]) for line in told.lines]
    assert found[2] < found[3]
    assert found[4] == 1
    assert 0 < found[0] < SIZE["pages"]


@each_engine
def test_queries_run_by_name(texts: Driven) -> None:
    ran = texts.run("full_text", events=20, clients=2, **SIZE)

    assert ran.complaint == ""
    assert {h.label for h in ran.summary.histograms} >= {f"main/query {n}" for n in range(1, 6)}
    one = texts.run("full_text", events=5, query=3, **SIZE)
    assert {h.label for h in one.summary.histograms if "query" in h.label} == {"main/query 3"}


@each_engine
def test_a_second_index_is_made_and_dropped_once(texts: Driven) -> None:
    for step in ("create_index", "drop_index"):
        ran = texts.run("full_text", events=100, clients=1, step=step, **SIZE)
        assert ran.complaint == ""
        assert ran.summary.total.events == 2


@each_engine
@pytest.mark.parametrize("passes", [1, 2])
def test_everything_in_turn_is_timed_by_itself(engine: str, passes: int, server: Driven) -> None:
    server.call("full_text", "cleanup")
    made = server.call(
        "full_text", "prepare", step="all", passes=passes, storage_engine=engine, **SIZE
    )
    assert made.complaint == ""

    ran = server.run(
        "full_text", events=1000, clients=1, step="all", passes=passes, rounds=3, **SIZE
    )

    assert ran.complaint == ""
    counts = {h.label: h.count for h in ran.summary.histograms if h.subject == "event"}
    once = ["load", "create_index", "drop_index", *(["index"] if passes == 2 else [])]
    tables = {f"main/{act} {table}": 1 for act in once for table in ("text_page", "text_entry")}
    asked = [*(f"query {number}" for number in range(1, 6)), "phrase of two rows"]
    assert counts == {**tables, **{f"main/{label}": 3 for label in asked}}
    assert server.call("full_text", "check", **SIZE).complaint == ""
    assert server.call("full_text", "cleanup").complaint == ""


def test_two_passes_leave_the_same_rows(server: Driven) -> None:
    digests = []
    for passes in (1, 2):
        server.call("full_text", "cleanup")
        loaded = server.call("full_text", "prepare", clients=2, passes=passes, **SIZE)
        assert loaded.complaint == ""
        assert server.call("full_text", "check", **SIZE).complaint == ""
        digests.append(server.rows("SELECT COUNT(*), SUM(CRC32(body)) FROM text_page"))
    server.call("full_text", "cleanup")

    assert digests[0] == digests[1]


def test_other_databases_are_refused(tmp_path: Path) -> None:
    with open_driven("sqlite", tmp_path) as driven:
        told = driven.call("full_text", "prepare", **SIZE)

    assert "full_text is for MySQL and MariaDB: sqlite has no MATCH" in told.complaint
