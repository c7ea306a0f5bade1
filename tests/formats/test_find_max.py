"""`load.find_max`: what it says, and what is said where it, or what stands beside it, is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.design.batches import order_of
from dbdyno.errors import StudyError
from dbdyno.formats.study import read_study
from dbdyno.model import FindMax, Study

SEARCH = """\
question = "Which carries more?"

[server.old]
provision = "postgresql:15@system"

[server.new]
provision = "postgresql:18.0.0"

[workload]
script = "oltp_point_select"

[load]
clients = 16
measure = "10 s"
find_max = { p99 = "10 ms" }

[design]
baseline = { server = "old" }
"""


def read(tmp_path: Path, text: str) -> Study:
    file = tmp_path / "search.toml"
    file.write_text(text)
    return read_study(file).study


def test_a_search_begins_where_its_percentile_can_be_told(tmp_path: Path) -> None:
    study = read(tmp_path, SEARCH)

    assert study.load.find_max == FindMax("p99", 0.01, 100.0, 1e6, 0.05)
    assert (study.primary.metric, study.primary.better) == ("max_rate", "higher")
    assert (order_of(study), study.load.is_open) == ("runs", True)


def test_bounds_and_precision_are_the_study_s(tmp_path: Path) -> None:
    table = '{ "p99.9" = "1 s", from = 2000, to = 9000, precision = "2 %" }'
    study = read(tmp_path, SEARCH.replace('{ p99 = "10 ms" }', table))

    assert study.load.find_max == FindMax("p99.9", 1.0, 2000, 9000, 0.02)


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ('p99 = "10 ms"', 'p98 = "10 ms"', "unknown key `p98` in [load.find_max]"),
        ('p99 = "10 ms"', "p99 = 10", "expected a duration with its unit"),
        ('p99 = "10 ms"', 'p99 = "0 ms"', "`find_max.p99` must be longer than nothing"),
        ('p99 = "10 ms"', 'p99 = "9 ms", max = "1 s"', "one objective"),
        ('p99 = "10 ms"', "to = 500", "found none"),
        ('"10 ms" }', '"10 ms", from = 20 }', "begins 200 events in a window of 10 s; p99 needs"),
        ('"10 ms" }', '"10 ms", to = 90 }', "`find_max.to` is 90/s; expected more than"),
        ('"10 ms" }', '"10 ms", from = 500, to = 400 }', "more than the first rate, 500/s"),
        ('"10 ms" }', '"10 ms", precision = 2 }', "expected 1 % to 50 %"),
        ("clients = 16", "clients = [8, 16]", "searches with one number of clients"),
        ("clients = 16", 'clients = 16\nthink_time = "1 s"', "is a pause of a closed loop"),
        (
            "clients = 16",
            'clients = 16\narrival = { kind = "constant", rate = 9 }',
            "at rates of its own; leave `arrival` out",
        ),
        ('measure = "10 s"', "events = 1000", "needs windows of one length"),
        ("[design]", "[load.group.writer]\nclients = 1\n[design]", "only idle groups"),
        ("[workload]", '[workload]\ngenerator = "pgbench"', "`pgbench` has a pace of its own"),
        ("[server.old]", '[primary]\nmetric = "p99"\n[server.old]', "follows from the objective"),
    ],
)
def test_each_mistake_has_its_line(tmp_path: Path, old: str, new: str, said: str) -> None:
    assert old in SEARCH
    with pytest.raises(StudyError) as caught:
        read(tmp_path, SEARCH.replace(old, new, 1))

    assert said in caught.value.message
    line = SEARCH[: SEARCH.index(old)].count("\n") + 1
    assert caught.value.line is not None and 0 <= caught.value.line - line <= 1


def test_only_a_search_finds_a_highest_rate(tmp_path: Path) -> None:
    text = SEARCH.replace('find_max = { p99 = "10 ms" }', "").replace(
        "[server.old]", '[primary]\nmetric = "max_rate"\n[server.old]'
    )
    with pytest.raises(StudyError, match="is what a search finds, and there is none"):
        read(tmp_path, text)
