"""Outages follow from the attempts of probes; timetables from a study's faults and a seed."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from dbdyno.conduct.disturbed import when_ready
from dbdyno.conduct.outages import (
    figures,
    raise_without_faults,
    unmade_warnings,
    with_losses,
    with_outages,
)
from dbdyno.conduct.probes import Attempt
from dbdyno.errors import NotValidError, ServerError
from dbdyno.model.fault import LEDGER, PROBES, Fault, FaultResult, at_rank, timetable

ORIGIN_NS = 7_000_000_000
MS = 1_000_000


def attempts(
    kind: str, successes_ms: Sequence[int], failures_ms: Sequence[int] = ()
) -> list[Attempt]:
    ends = [(at, "") for at in successes_ms] + [(at, "2013") for at in failures_ms]
    return [
        Attempt(kind, 0, ORIGIN_NS + (at - 1) * MS, ORIGIN_NS + at * MS, code)
        for at, code in sorted(ends)
    ]


def fault(at_ms: int) -> FaultResult:
    return FaultResult(at_ms * MS, "kill", "server", (at_ms + 50) * MS)


def test_an_outage_lies_between_the_successes_around_a_fault() -> None:
    met = [
        *attempts("write", [80, 100, 420, 440, 900], [130, 150]),
        *attempts("read", range(0, 1000, 20)),
        *attempts("connect", [90, 300]),
    ]

    (result,) = with_outages([fault(105)], met, ORIGIN_NS, 1000 * MS)

    assert result.outage_ms == {"write": 460.0, "read": 20.0, "connect": 700.0}
    assert result.noticed_ms == 25.0


def test_each_fault_has_what_came_until_the_next() -> None:
    met = attempts("write", [95, 300, 320, 340, 700, 720, 1000])

    first, second = with_outages([fault(100), fault(350)], met, ORIGIN_NS, 1000 * MS)

    assert (first.outage_ms["write"], second.outage_ms["write"]) == (205.0, 360.0)


def test_a_ledger_has_an_outage_of_its_own() -> None:
    met = attempts("write", [80, 100, 420, 440, 900])
    noted = [ORIGIN_NS + at * MS for at in (*range(90, 104), *range(399, 1000))]

    (result,) = with_outages([fault(105)], met, ORIGIN_NS, 1000 * MS, noted)

    assert result.outage_ms[LEDGER] == 399 - 103
    assert figures([result])["ledger_outage_ms_max"] == 399 - 103


def test_without_a_fault_there_is_no_outage() -> None:
    met = attempts("write", [80, 100])

    assert with_outages([], met, ORIGIN_NS, 1000 * MS) == ()


def test_faults_that_the_load_did_not_meet_are_named() -> None:
    due = timetable([Fault("kill", 1.0, 1.0, times=3)], 30.0, 1)

    (warning,) = unmade_warnings(due, [fault(1000)])
    raise_without_faults(due, [fault(1000)])

    assert warning.message.startswith("2 of 3 faults of the timetable were not made")
    assert not list(unmade_warnings(due, [fault(1000)] * 3))
    assert not list(unmade_warnings(due, []))
    with pytest.raises(NotValidError, match=r"the first one, which was due after 1\.0 s"):
        raise_without_faults(due, [])


def test_a_member_that_is_not_ready_yet_is_asked_again() -> None:
    refusals = [ServerError("error 1047: not yet prepared")] * 2

    def ask() -> str:
        if refusals:
            raise refusals.pop()
        return "rows"

    with pytest.raises(ServerError, match="1047"):
        when_ready(ask, 0.0)
    assert when_ready(ask, 60.0) == "rows"
    assert refusals == []


def test_losses_belong_to_the_fault_that_was_not_yet_over() -> None:
    results = [
        FaultResult(at * MS, "promote", "a", (at + 50) * MS, promoted="b", promoted_ms=30.0)
        for at in (100, 300, 500)
    ]
    noted = [ORIGIN_NS + at * MS for at in (90, 99, 104, 140, 290, 301, 490, 505)]
    lost = [ORIGIN_NS + at * MS for at in (99, 104, 505)]

    first, second, third = with_losses(results, lost, noted, ORIGIN_NS)

    assert [result.lost_commits for result in (first, second, third)] == [2, 0, 1]
    assert (first.oldest_lost_ms, third.oldest_lost_ms) == (5.0, 0.0)


def test_without_a_success_the_outage_lasts_to_the_end() -> None:
    (result,) = with_outages([fault(100)], [], ORIGIN_NS, 1000 * MS)

    assert result.outage_ms == dict.fromkeys(PROBES, 900.0)
    assert result.noticed_ms is None


def test_figures_are_ranks_that_occurred() -> None:
    results = [
        FaultResult(0, "kill", "a", 1, None, dict.fromkeys(PROBES, float(ms)))
        for ms in (30, 10, 20, 40)
    ]

    read = figures(results)

    assert (read["write_outage_ms_p50"], read["write_outage_ms_max"]) == (20.0, 40.0)
    assert read["faults"] == 4.0
    assert figures([]) == {"faults": 0.0}


@pytest.mark.parametrize(
    ("rank", "value"), [(0.01, 1.0), (0.5, 2.0), (0.51, 3.0), (0.95, 4.0), (1.0, 4.0)]
)
def test_a_rank_is_reached_by_so_many(rank: float, value: float) -> None:
    assert at_rank([1.0, 2.0, 3.0, 4.0], rank) == value


def test_a_timetable_repeats_and_orders_its_faults() -> None:
    kills = Fault("kill", 4.0, 1.0, every_s=10.0, times=2)
    pause = Fault("pause", 6.0, 1.0)

    due = timetable([kills, pause], 30.0, seed=1)

    assert [(time.at_s, time.fault.do) for time in due] == [
        (4.0, "kill"),
        (6.0, "pause"),
        (14.0, "kill"),
    ]


def test_random_faults_follow_from_the_seed_and_stay_in_their_share() -> None:
    fault = Fault("kill", None, 1.0, times=5)

    first, again, other = (timetable([fault], 100.0, seed) for seed in (1, 1, 2))

    assert first == again != other
    assert all(20 * n <= due.at_s <= 20 * n + 10 for n, due in enumerate(first))
