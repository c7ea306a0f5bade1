"""Figures from samples: growth of counters by event, over windows and over turns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import SECOND_NS, START_UNIX_NS, World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.model import LabCost, PhaseSpan, PlannedRun, Sample, Step, TurnResult
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather
from dbdyno.report.material.sampled import is_on, with_figures
from dbdyno.report.sections.operations import operations_tables

SHORT = (
    SMALL.replace('"30 s"', '"10 s"').replace('"5 s"', '"2 s"').replace("[1, 4]", "1")
    + """
[[published]]
metric = "mysql.history_list"
value = 70

[[published]]
metric = "mysql.syncs"
value = 1000
"""
)


def rate(run: PlannedRun, step: Step, second: int) -> float:
    return 400


def sample(second: float, source: str, metric: str, value: float, instance: str = "") -> Sample:
    return Sample(START_UNIX_NS + round(second * SECOND_NS), source, metric, instance, value)


def sampled(run: PlannedRun) -> tuple[Sample, ...]:
    """Asked 0.3 s behind every second; the window is from 2 s to 12 s."""

    def told() -> Iterator[Sample]:
        for second in range(14):
            at = second + 0.3
            busy = min(max(at - 2, 0), 10)
            yield sample(at, "process", "voluntary_switches", 7 + 1200 * at, "server")
            yield sample(at, "process", "voluntary_switches", 9e9 * at, "client")
            yield sample(at, "disk", "writes", 800 * at, "loop3")
            yield sample(at, "disk", "writes", 900 * at, "vda")
            yield sample(at, "mysql", "syncs", 400 * at)
            yield sample(at, "mysql", "history_list", 70 if busy not in (0, 10) else 1e6)

    return tuple(told())


def told(folder: Path, world: World) -> Analysis:
    return analyse(gather(write_study(folder, SHORT, world), "study"))


def test_counters_grow_by_event_over_the_window(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate, samples=sampled))
    figures = analysis.points[0].blocks[0].summary.figures
    events = analysis.points[0].blocks[0].summary.events
    assert figures["server_switches_per_event"] == pytest.approx(12_000 / events)
    assert figures["disk_writes_per_event"] == pytest.approx(8_000 / events)  # of the data's disk
    assert figures["syncs_per_event"] == pytest.approx(4_000 / events)
    assert figures["mysql.history_list"] == pytest.approx(70)
    assert figures["mysql.syncs"] == pytest.approx(400)
    assert "client_cpu_us_per_event" not in figures


def test_the_table_and_the_page_have_what_was_counted_and_no_empty_column(tmp_path: Path) -> None:
    store = write_study(tmp_path, SHORT, World(rate, samples=sampled))
    (table,) = operations_tables(analyse(gather(store, "study")))
    names = [column.name for column in table.columns]
    assert names == [
        "cell",
        "clients",
        "server_switches_per_event",
        "disk_writes_per_event",
        "syncs_per_event",
    ]
    assert re.fullmatch(r"3\.\d\d ±[\d.]+\u202f%", table.rows[0][2])
    assert "What an event cost" in page_of(store)


def test_how_long_the_server_took_to_stop_is_that_phase(tmp_path: Path) -> None:
    material = gather(write_study(tmp_path, SHORT, World(rate)), "study")
    run = material.runs[0]
    phases = (*run.manifest.phases, PhaseSpan("stop", 100.0, 102.5))
    stopped = replace(run, manifest=replace(run.manifest, phases=phases))

    told = with_figures(stopped, material.study, ())

    assert told.summaries[0].figures["stop_s"] == 2.5
    assert "stop_s" not in run.summaries[0].figures


def test_how_throughput_goes_is_a_figure_where_the_study_names_it(tmp_path: Path) -> None:
    def falling(run: PlannedRun, step: Step, second: int) -> float:
        return 400 if second < 5 else 100

    asked = SHORT.replace('metric = "throughput", better = "higher"', 'metric = "rate_held"')
    (tmp_path / "asked").mkdir()
    (tmp_path / "plain").mkdir()
    held = analyse(gather(write_study(tmp_path / "asked", asked, World(falling)), "study"))
    plain = told(tmp_path / "plain", World(falling))

    assert held.points[0].values("rate_held") == pytest.approx(
        dict.fromkeys(range(1, 4), 0.25), rel=0.02
    )
    assert "rate_held" not in plain.points[0].blocks[0].summary.figures


def test_without_samples_there_is_no_such_table(tmp_path: Path) -> None:
    assert not list(operations_tables(told(tmp_path, World(rate))))


def turns(run: PlannedRun, step: Step) -> tuple[TurnResult, ...]:
    """Two turns: load from 1.7 s to 4 s and from 7.7 s to 10 s; lead-in 0.3 s, warm-up 2 s."""
    return tuple(
        TurnResult(
            step=0,
            round=number,
            position=0,
            start_unix_ns=START_UNIX_NS + start_s * SECOND_NS,
            end_unix_ns=START_UNIX_NS + (start_s + 2) * SECOND_NS,
            drained_unix_ns=START_UNIX_NS + (start_s + 2) * SECOND_NS,
            window_s=2,
            events=800,
            statements=800,
            errors=0,
            client_cpu_us=1,
            turn_events=events,
            p50_us=1.0,
            p95_us=1.0,
            p99_us=1.0,
            max_us=1.0,
            steal_s=None,
        )
        for number, start_s, events in ((0, 3, 1000), (1, 8, 500))
    )


def at_edges(run: PlannedRun) -> tuple[Sample, ...]:
    """3 a event; what others do between the turns is none of this cell's."""
    values = ((1, 10), (5.1, 3_010), (7.6, 90_000), (10.05, 91_500), (11, 95_000))
    return tuple(
        sample(second, "process", "voluntary_switches", value, "server") for second, value in values
    )


def test_turns_count_between_their_edges(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate, turns=turns, samples=at_edges))
    figures = analysis.points[0].blocks[0].summary.figures
    # The first turn's load began at 3 − 0.3 − 2 = 0.7 s, before any sample: it is left out.
    assert figures["server_switches_per_event"] == pytest.approx(3)


def test_a_counter_that_was_reset_within_the_load_tells_nothing(tmp_path: Path) -> None:
    def is_late(one: Sample) -> bool:
        return one.metric == "syncs" and one.unix_ns > START_UNIX_NS + 6 * SECOND_NS

    def restarted(run: PlannedRun) -> tuple[Sample, ...]:
        return tuple(
            replace(one, value=one.value - 2_000) if is_late(one) else one for one in sampled(run)
        )

    figures = told(tmp_path, World(rate, samples=restarted)).points[0].blocks[0].summary.figures

    assert "syncs_per_event" not in figures and "mysql.syncs" not in figures
    assert {"server_switches_per_event", "mysql.history_list"} <= figures.keys()


def test_only_the_turn_in_which_a_counter_was_reset_is_left_out(tmp_path: Path) -> None:
    def restarted(run: PlannedRun) -> tuple[Sample, ...]:
        values = ((0.6, 10), (5.1, 3_010), (7.6, 90_000), (9, 5), (10.05, 400_000), (11, 500_000))
        return tuple(
            sample(at_s, "process", "voluntary_switches", value, "server") for at_s, value in values
        )

    analysis = told(tmp_path, World(rate, turns=turns, samples=restarted))
    figures = analysis.points[0].blocks[0].summary.figures

    assert figures["server_switches_per_event"] == pytest.approx(3)


@pytest.mark.parametrize(
    ("device", "disk", "whether"),
    [
        ("loop1", "loop1", True),
        ("loop10", "loop1", False),
        ("loop1p2", "loop1", True),
        ("sda1", "sda", True),
        ("sdaa", "sda", False),
        ("nvme0n1p2", "nvme0n1", True),
        ("nvme0n12", "nvme0n1", False),
    ],
)
def test_a_partition_is_on_its_own_disk_only(device: str, disk: str, whether: bool) -> None:
    assert is_on(device, disk) is whether


@pytest.mark.parametrize(
    ("lab", "state", "told"),
    [
        (LabCost(0.3, 50.0, 0.0), "ok", "took 0.60\u202f% of a core while the load was on (median"),
        (LabCost(0.3, 50.0, 0.15), "ok", "and their queries 0.30\u202f% in the server (median"),
        (LabCost(0.3, 50.0, 0.25), "doubtful", "at most 1.1\u202f% in all)"),
        (LabCost(0.3, 50.0), "ok", "what their queries took in the server is not known (median"),
        (LabCost(2.0, 50.0, 0.0), "doubtful", "took 4.0\u202f% of a core"),
        (None, None, ""),
    ],
)
def test_what_the_lab_took_is_told(
    tmp_path: Path, lab: LabCost | None, state: str | None, told: str
) -> None:
    analysis = analyse(gather(write_study(tmp_path, SMALL, World(rate, lab=lab)), "study"))
    found = {gate.name: gate for gate in gates(analysis)}.get("Lab")
    assert (found.state if found else None) == state
    assert told in (found.text if found else "")
