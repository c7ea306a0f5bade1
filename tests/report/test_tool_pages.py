"""Pages of studies whose load a program other than the engine puts on."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest
from made_up_runs import SECOND_NS, START_UNIX_NS, World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import PlannedRun, Sample, Step, find_figure
from dbdyno.report.material.gather import gather

READS = (
    SMALL.replace('metric = "throughput"', 'metric = "read_iops"')
    .replace('script = "kv_update"', 'generator = "fio"\noptions = { jobfile = "a.fio" }')
    .replace('"30 s"', '"3 s"')
    .replace('"5 s"', '"1 s"')
)


def rate(run: PlannedRun, step: Step, second: int) -> float:
    return 400


@pytest.mark.parametrize(
    ("name", "title", "label"),
    [
        ("read_iops", "Reads per second", "Reads per second"),
        ("write_iops.log", "Writes per second, log", "Writes per second, log"),
        ("read_bytes_per_s", "Bytes of reads per second", "Bytes of reads per second"),
        ("read_us_p99.reader", "Response time of reads, p99, reader", None),
        ("new_orders_per_s", "New orders per second", "New orders per second"),
        ("throughput", "Throughput", "Throughput, events/s"),
        ("server_switches_per_event", "Server's context switches per event", None),
    ],
)
def test_figures_have_titles_in_words(name: str, title: str, label: str | None) -> None:
    figure = find_figure(name)
    assert figure.title == title
    assert label is None or figure.label == label


def test_within_a_sentence_only_the_first_letter_is_small() -> None:
    assert find_figure("client_cpu").words == "client CPU per statement"
    assert find_figure("read_iops").words == "reads per second"


def by_job(run: PlannedRun) -> tuple[Sample, ...]:
    """Two jobs, told at the end of each of the window's three seconds (1 s to 4 s), and of one
    before it; here and there some milliseconds off."""
    return tuple(
        Sample(START_UNIX_NS + end * SECOND_NS + off, "fio", "read_iops", job, value)
        for job, off, value in (("reader", 9_000_000, 300.0), ("log", -9_000_000, 40.0))
        for end in (1, 2, 3, 4)
    )


def test_what_a_program_tells_by_second_is_its_series(tmp_path: Path) -> None:
    world = World(rate, tool=lambda _run, _step: {"read_iops": 340.0}, samples=by_job)
    run = gather(write_study(tmp_path, READS, world), "study").runs[0]
    assert run.series[0].start_s.tolist() == [0, 1, 2]
    assert run.series[0].events_per_s.tolist() == [340, 340, 340]


def test_what_a_program_does_not_tell_is_left_out(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    def silent(run: PlannedRun, step: Step) -> Mapping[str, float]:
        return {"read_iops": 1000.0 + 10 * run.block + 500 * ("wal" in run.id)}

    world = World(rate, tool=silent, samples=by_job)
    page = page_of(write_study(tmp_path_factory.mktemp("tool"), READS, world))
    assert "Reads per second of every cell" in page
    assert "statements/s" not in page
    assert "What the client cost" not in page
    assert "Response time of events" not in page
    assert "reads per second" in page
    assert 'data-chart="throughput-over-time"' in page
    main = page.partition("Run it again")[0].partition("<main>")[2]
    assert "read_iops" not in re.sub(r"<[^>]*>", "", main), "a name nobody reads but a program"
