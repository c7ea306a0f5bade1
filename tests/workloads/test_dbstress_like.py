"""`dbstress_like`: history stays whole under writes, in each way its options offer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from driven import Driven

pytestmark = pytest.mark.slow

SIZE = {"objects": 300, "histories": 20}


def load(driven: Driven, text_type: str) -> None:
    driven.call("dbstress_like", "cleanup")
    told = driven.call("dbstress_like", "prepare", clients=2, text_type=text_type, **SIZE)
    assert told.complaint == ""


@pytest.fixture(scope="module")
def stress(driven: Driven) -> Iterator[Driven]:
    load(driven, "char")
    yield driven
    assert driven.call("dbstress_like", "cleanup").complaint == ""


def check(stress: Driven) -> str:
    return stress.call("dbstress_like", "check", **SIZE).complaint


def test_read_only_reads_seven_tables_rows_by_reference(stress: Driven) -> None:
    ran = stress.run("dbstress_like", events=100, **SIZE)

    assert ran.complaint == ""
    assert ran.summary.total.writes == 0
    assert ran.summary.total.reads == 2 * ran.summary.total.events


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize("text_type", ["char", "varchar"])
def test_history_is_whole_after_writes(text_type: str, prepared: bool, stress: Driven) -> None:
    load(stress, text_type)

    ran = stress.run(
        "dbstress_like",
        events=200,
        clients=4,
        write_every=2,
        prepared=prepared,
        full_length=False,
        check_after=True,
        **SIZE,
    )

    assert ran.complaint == ""
    assert check(stress) == ""
    # A third of the events' statements that are left when the reads are taken away.
    total = ran.summary.total
    assert total.errors == 0
    assert total.writes == pytest.approx(3 * total.events / 2, abs=3 * 4)


def test_an_event_begun_anew_is_of_the_same_kind(stress: Driven) -> None:
    if stress.driver != "pgsql":
        pytest.skip("fails every third update by a trigger, which is written for PostgreSQL")
    load(stress, "char")
    stress.rows(
        "CREATE SEQUENCE updates|CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ "
        "BEGIN IF nextval('updates') % 3 = 0 THEN RAISE SQLSTATE '40001'; END IF; "
        "RETURN NEW; END $$"
        "|CREATE TRIGGER fail BEFORE UPDATE ON stress_history FOR EACH ROW EXECUTE FUNCTION fail()"
    )

    ran = stress.run("dbstress_like", events=40, clients=1, write_every=2, **SIZE)
    stress.rows("DROP FUNCTION fail CASCADE|DROP SEQUENCE updates")

    assert ran.summary.total.restarts > 0
    ended = {
        histogram.label: histogram.count
        for histogram in ran.summary.histograms
        if histogram.subject == "event" and histogram.time == "service"
    }
    assert (ended["main/read"], ended["main/write"]) == (20, 20)


def test_events_touch_the_used_objects_only(stress: Driven) -> None:
    load(stress, "char")
    text = "SELECT SUM(CASE WHEN ref_object > '0000000030' THEN 1 ELSE 0 END) FROM stress_history "
    before = stress.rows(text + "|SELECT ref_object, place, note FROM stress_history")

    stress.run("dbstress_like", events=100, write_every=1, used_percent=10, **SIZE)

    after = stress.rows(text + "|SELECT ref_object, place, note FROM stress_history")
    changed = {row[0] for row in {*map(tuple, after)} - {*map(tuple, before)}}
    assert changed
    assert max(changed) <= "0000000030"


def test_a_lost_history_row_is_found(stress: Driven) -> None:
    load(stress, "char")
    assert check(stress) == ""

    stress.rows("DELETE FROM stress_history WHERE ref_object = '0000000007' AND place = 3")

    assert "every object has its history, each place once: (0000000007, 19, 1, 20)" in check(stress)


def test_more_writers_than_objects_are_refused(stress: Driven) -> None:
    ran = stress.run("dbstress_like", events=1, clients=4, write_every=1, used_percent=1, **SIZE)

    assert "4 clients write to objects of their own, and only 3 objects are used" in ran.complaint
