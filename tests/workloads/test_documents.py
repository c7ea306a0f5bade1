"""`doc_oltp`, `ycsb` and every verb of documents on a real FerretDB."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from dbdyno.conduct.volume import volume_of
from dbdyno.model import Cell
from dbdyno.servers import open_server
from driven import HERE, Driven
from moving import fetch_or_skip

pytestmark = pytest.mark.nightly  # Builds FerretDB from its modules where it is not in the cache.

SIZES: Mapping[str, Any] = {"tables": 2, "table_size": 200, "range_size": 10}


@pytest.fixture(scope="module", params=["ferretdb:1.24", "ferretdb:2.7"])
def ferretdb(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[Driven]:
    folder: Path = tmp_path_factory.mktemp("ferretdb")
    fetch_or_skip(request.param)
    with open_server(request.param, {}, folder) as server:
        server.start()
        yield Driven(server, "mongodb", folder)


@pytest.fixture
def filled(ferretdb: Driven) -> Iterator[Driven]:
    assert ferretdb.call("doc_oltp", "prepare", clients=2, **SIZES).complaint == ""
    yield ferretdb
    assert ferretdb.call("doc_oltp", "cleanup", **SIZES).complaint == ""
    assert ferretdb.server.database.tables() == {}


def test_prepare_makes_what_the_workload_says(filled: Driven) -> None:
    database = filled.server.database
    volume = volume_of(Cell({}, "ferretdb:1.24", {}, "doc_oltp", SIZES))
    assert volume is not None
    counted = [database.contents(name, checksum=False).rows for name in database.tables()]
    assert counted == [200, 200] and sum(counted) == volume.rows


def test_the_server_counts_what_we_count(filled: Driven) -> None:
    database = filled.server.database
    before = database.counters()
    ran = filled.run("doc_oltp", events=20, clients=2, in_selects=1, pushes=1, **SIZES)
    after = database.counters()
    assert ran.complaint == ""

    def done(*names: str) -> int:
        paths = [f"commands.{name}.total" for name in names]
        return sum(after[path] - before.get(path, 0) for path in paths)

    total = ran.summary.total
    assert total.reads == done("find", "aggregate", "distinct") == 20 * 15
    assert total.writes == done("update", "insert") == 20 * 4


def test_each_operation_can_be_an_event(filled: Driven) -> None:
    ran = filled.run("doc_oltp", events=100, separate=True, **SIZES)
    assert ran.complaint == ""
    labels = {
        histogram.label: histogram.count
        for histogram in ran.summary.histograms
        if histogram.subject == "event" and histogram.time == "service"
    }
    assert labels["main/point_select"] > labels["main/insert"] > 0


def test_ycsb_runs_on_documents(ferretdb: Driven) -> None:
    sizes: Mapping[str, Any] = {"recordcount": 100, "fieldcount": 3, "fieldlength": 20}
    mix: Mapping[str, Any] = {
        "readproportion": 0.4,
        "updateproportion": 0.2,
        "insertproportion": 0.2,
    }
    more: Mapping[str, Any] = {
        "scanproportion": 0.1,
        "readmodifywriteproportion": 0.1,
        "maxscanlength": 10,
    }
    database = ferretdb.server.database
    assert ferretdb.call("ycsb", "prepare", clients=2, **sizes).complaint == ""
    first = database.contents("usertable", checksum=True)
    assert first.rows == 100
    assert ferretdb.run("ycsb", events=100, **sizes, **mix, **more).complaint == ""
    assert database.contents("usertable", checksum=False).rows > 100
    assert ferretdb.call("ycsb", "cleanup", **sizes).complaint == ""
    assert database.tables() == {}


def test_every_verb_does_what_mongodb_s_does(ferretdb: Driven) -> None:
    verbs = ferretdb.call(str(HERE / "documents.lua"), "prepare")
    assert verbs.complaint == ""
    assert verbs.lines == [
        "drop false",
        "insert 1 491",
        "values é 0.5 true 3 0 9007199254740993LL <date 1000> nil",
        "ordered 1 0",
        "find 164 164 164 500",
        "update 1 1 11 11",
        "upsert 0 0 9999",
        "delete 1 164",
        "count 328 164 0",
        "distinct 2",
        "index g_1 mine",
        "group 163 164",
        "bulk 2 2 2 1",
        "command 1 329",
        "error 11000 DuplicateKey",
        "refused 59 CommandNotFound",
    ]
