"""`keys`: its keys, its commands as the server counts them, and what it refuses."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from dbdyno.conduct.volume import volume_of
from dbdyno.model import Cell
from dbdyno.servers import open_server
from driven import Driven

pytestmark = pytest.mark.slow

SIZES = {"keys": 500, "value_size": 20}


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    folder = tmp_path_factory.mktemp("redis")
    with open_server("redis@system", {"save": ""}, folder) as server:
        server.start()
        yield Driven(server, "redis", folder)


@pytest.fixture
def filled(redis: Driven) -> Iterator[Driven]:
    assert redis.call("keys", "prepare", clients=3, **SIZES).complaint == ""
    yield redis
    session = redis.server.database.inside()
    session.rows("FLUSHALL")
    session.close()


def test_prepare_makes_all_keys_and_cleanup_removes_them(filled: Driven) -> None:
    database = filled.server.database
    told = volume_of(Cell({}, "redis@system", {}, "keys", SIZES))
    assert told is not None
    assert database.contents("db0", checksum=False).rows == 500 == told.rows
    session = database.inside()
    (value,) = session.rows("GET key:000000000499")
    assert len(value["value"]) == 20
    session.rows("SET mine 1")
    session.close()

    assert filled.call("keys", "cleanup", clients=2, **SIZES).complaint == ""

    assert database.contents("db0", checksum=False).rows == 1


def test_the_same_seed_stores_the_same(filled: Driven) -> None:
    database = filled.server.database
    first = database.contents("db0", checksum=True)
    assert filled.call("keys", "prepare", clients=3, **SIZES).complaint == ""
    assert database.contents("db0", checksum=True) == first


@pytest.mark.parametrize("pipeline", [1, 16])
def test_the_server_counts_what_we_count(filled: Driven, pipeline: int) -> None:
    database = filled.server.database
    before = database.counters()
    ran = filled.run("keys", events=400, clients=4, pipeline=pipeline, reads=75, **SIZES)
    after = database.counters()

    assert ran.complaint == ""
    counted = ran.summary.total
    assert counted.reads + counted.writes == 400 * pipeline
    # The first events are warm-up's, of which there is none: all commands are in the summary.
    assert after["cmdstat_get_calls"] - before.get("cmdstat_get_calls", 0) == counted.reads
    assert after["cmdstat_set_calls"] - before.get("cmdstat_set_calls", 0) == counted.writes
    assert 0.6 < counted.reads / (400 * pipeline) < 0.9


def test_a_key_that_is_not_there_ends_the_run(filled: Driven) -> None:
    more = {**SIZES, "keys": 5000, "reads": 100}
    ran = filled.run("keys", events=400, **more)
    assert "is not there; run `prepare` with the same `keys`" in ran.complaint
    assert filled.run("keys", events=400, misses=True, **more).complaint == ""


def test_written_keys_expire(filled: Driven) -> None:
    ran = filled.run("keys", events=50, reads=0, expire=1000, **SIZES)
    assert ran.complaint == ""
    session = filled.server.database.inside()
    (row,) = session.rows("INFO keyspace")
    session.close()
    expiring = int(str(row["value"]).partition("expires=")[2].partition(",")[0])
    assert 0 < expiring <= 50


@pytest.mark.parametrize(
    ("option", "value", "why"),
    [
        ("reads", 101, "`reads` is a percentage"),
        ("pipeline", 0, "`pipeline` is 1 to 1024"),
        ("value_size", 0, "are 1 or more"),
        ("expire", -1, "`expire` is 0 or more"),
    ],
)
def test_options_out_of_range_are_named(redis: Driven, option: str, value: int, why: str) -> None:
    told = redis.run("keys", events=1, **{**SIZES, option: value})

    assert why in told.complaint
