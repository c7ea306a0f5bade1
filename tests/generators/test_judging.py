"""What is found after a crash, held against what was acknowledged before it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from dbdyno.generators.judging import GROUP, Entry, Judged, judge


def insert(number: int, *, acknowledged_ns: int | None = 1, client: int = 0) -> Entry:
    return Entry(client, GROUP * number, number, acknowledged_ns=acknowledged_ns)


def delete(number: int, sent: int, *, acknowledged_ns: int | None = 1) -> Entry:
    return Entry(0, GROUP * number, sent, deletes=True, acknowledged_ns=acknowledged_ns)


def there(*numbers: int) -> dict[int, str]:
    return {row: str(row) for number in numbers for row in (GROUP * number, GROUP * number + 1)}


def judged(entries: Sequence[Entry], rows: Mapping[int, str], cut_ns: int | None = None) -> Judged:
    return judge(entries, rows, str, crash_ns=100, cut_ns=cut_ns)


@pytest.mark.parametrize(
    ("entries", "rows", "outcome"),
    [
        ([insert(1), insert(2)], there(1, 2), "kept"),
        ([insert(1), insert(2)], there(1), "lost"),
        ([insert(1), insert(2, acknowledged_ns=None)], there(1), "kept"),
        ([insert(1), insert(2, acknowledged_ns=None)], there(1, 2), "kept"),
        ([insert(1), delete(1, 2)], {}, "kept"),
        ([insert(1), delete(1, 2, acknowledged_ns=None)], {}, "kept"),
        ([insert(1), delete(1, 2, acknowledged_ns=None)], there(1), "kept"),
        ([insert(1), delete(1, 2)], there(1), "lost"),
        ([insert(1), delete(1, 2), insert(3)], there(1, 3), "resurrected"),
        ([insert(1), delete(1, 2), insert(3, client=1)], there(1, 3), "lost"),
        ([insert(1), insert(2)], {**there(1), 4: "4"}, "torn"),
        ([insert(1)], {**there(1), 3: "other"}, "corrupt"),
        ([insert(1)], {**there(1), 9: "9"}, "phantom"),
        ([insert(1), insert(2)], {9: "9"}, "phantom"),
    ],
)
def test_a_crash_has_the_worst_outcome_of_its_commits(
    entries: Sequence[Entry], rows: Mapping[int, str], outcome: str
) -> None:
    assert judged(entries, rows).outcome == outcome


def test_an_answer_after_the_power_failed_promises_nothing() -> None:
    entries = [insert(1, acknowledged_ns=50), insert(2, acknowledged_ns=51)]

    assert judged(entries, there(1), cut_ns=50).outcome == "kept"
    assert judged(entries, there(1), cut_ns=51).outcome == "lost"


def test_commits_are_counted_and_the_oldest_lost_is_timed() -> None:
    entries = [
        insert(1, acknowledged_ns=10),
        insert(2, acknowledged_ns=40),
        insert(3, acknowledged_ns=70),
        insert(4, acknowledged_ns=None),
    ]

    found = judged(entries, there(1))

    assert (found.commits, found.in_doubt) == (3, 1)
    assert found.found == {"lost": [4, 6]}
    assert found.oldest_lost_ns == 60
