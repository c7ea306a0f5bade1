"""Phases and faults on the axis of time, and the lines below them."""

from __future__ import annotations

import base64
import gzip
import json
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
from made_up_runs import SECOND_NS, START_UNIX_NS, World, page_of, write_study
from test_sampled import SHORT, at_edges, rate, sample, sampled, turns

from dbdyno.model import Failure, PlannedRun, Sample, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.marks import Mark, gap_marks
from dbdyno.report.charts.panels import packed_lines, timeline
from dbdyno.report.material.gather import gather
from dbdyno.report.material.lines import lines_of

ONE_BLOCK = SHORT.replace("blocks = 3", "blocks = 1")


def told(folder: Path, world: World, text: str = ONE_BLOCK) -> Analysis:
    return analyse(gather(write_study(folder, text, world), "study", every_sample=True))


def marks(analysis: Analysis, run: str = "b1-delete,full") -> list[tuple[str, float, float, str]]:
    """Of a run: kind, seconds since the engine's start, text."""
    return [
        (mark.kind, _second(mark.begin_ns), _second(mark.end_ns), mark.text)
        for mark in timeline(analysis).marks[run]
    ]


def _second(at_ns: int) -> float:
    return round((at_ns - START_UNIX_NS) / SECOND_NS, 3)


def test_warm_up_and_window_are_marked_where_they_were(tmp_path: Path) -> None:
    assert marks(told(tmp_path, World(rate))) == [
        ("warm-up", 0, 2, "warm-up, 1 client, 2 s"),
        ("measured", 2, 12, "window, 1 client, 10 s"),
    ]


def test_turns_are_marked_with_their_lead_ins(tmp_path: Path) -> None:
    found = marks(told(tmp_path, World(rate, turns=turns, samples=at_edges)))

    assert found == [
        ("warm-up", 0.7, 3, "warm-up, 1 client, 2.3 s"),
        ("measured", 3, 5, "turn 1 of 2, 1 client, 2 s"),
        ("lead-in", 7.7, 8, "lead-in of turn 2, 1 client"),
        ("measured", 8, 10, "turn 2 of 2, 1 client, 2 s"),
    ]


def test_a_stall_is_marked(tmp_path: Path) -> None:
    def stalling(run: PlannedRun, step: Step, second: int) -> float:
        return 20 if second in (4, 5) else 400

    found = marks(told(tmp_path, World(stalling)))

    ((_, begin_s, end_s, text),) = [mark for mark in found if mark[0] == "stall"]
    assert (begin_s, end_s) == (6, 8)
    assert text.startswith("stall of 2 s: 9")
    assert text.endswith(" % below the median")


def test_errors_and_lost_connections_are_marked_by_stretch(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate))
    run = next(r for r in analysis.material.runs if r.manifest.id == "b1-delete,full")
    errors = np.zeros(12)
    errors[[3, 4, 9]] = 600, 650, 1
    series = replace(run.series[0], errors=errors, reconnects=np.where(errors == 1, 16.0, 0))
    broken = replace(run, series={0: series})
    material = replace(analysis.material, runs=(broken,))

    found = marks(replace(analysis, material=material))

    assert [mark for mark in found if mark[0] in ("errors", "reconnects")] == [
        ("errors", 3, 5, "1\u202f250 errors"),
        ("errors", 9, 10, "1 error"),
        ("reconnects", 9, 10, "16 reconnects"),
    ]


def test_only_samples_that_were_due_and_did_not_come_are_gaps(tmp_path: Path) -> None:
    def rare(run: PlannedRun) -> tuple[Sample, ...]:
        return tuple(sample(second, "mysql", "syncs", 9.0) for second in (1, 6, 11))

    analysis = told(tmp_path, World(rate, samples=rare))
    assert "collector gap" not in [kind for kind, *_ in marks(analysis)]

    run = next(r for r in analysis.material.runs if r.manifest.id == "b1-delete,full")
    begun_s = START_UNIX_NS / 1e9
    late, in_another_run = ((begun_s + 4.3, begun_s + 9.3), (begun_s + 14, begun_s + 16))
    collected: dict[str, dict[str, object]] = {
        "mysql": {"missed_unix_s": [late, in_another_run]},
        "disk": {"what": "no disk"},
    }
    manifest = replace(
        run.manifest, collected=collected, started_unix_s=begun_s, ended_unix_s=begun_s + 13
    )

    (gap,) = gap_marks(replace(run, manifest=manifest))

    assert (gap.kind, _second(gap.begin_ns), _second(gap.end_ns), gap.text) == (
        "collector gap", 4.3, 9.3, "no sample of mysql for 5 s",
    )  # fmt: skip


def test_counters_that_fall_are_marked_and_have_no_rate_there(tmp_path: Path) -> None:
    def restarted(run: PlannedRun) -> tuple[Sample, ...]:
        return tuple(
            replace(one, value=one.value % 3_000) if one.metric == "syncs" else one
            for one in sampled(run)
        )

    analysis = told(tmp_path, World(rate, samples=restarted))
    found = [mark for mark in marks(analysis) if mark[0] == "counter reset"]
    (syncs,) = [
        values
        for lines in lines_of(analysis.material.runs[0])
        for name, values in zip(lines.names, lines.values, strict=True)
        if name == "mysql.syncs"
    ]

    assert [mark[1:3] for mark in found] == [(7.3, 8.3)]
    assert found[0][3] == "1 counter of mysql fell: it restarted, or its statistics were reset"
    assert list(np.flatnonzero(np.isnan(syncs))) == [7]


def test_a_run_that_was_cut_short_has_its_line_and_says_so(tmp_path: Path) -> None:
    cut = World(rate, status={"b1-delete,full": "interrupted"}, samples=sampled)
    found = timeline(told(tmp_path, cut, SHORT))

    (view, *_) = found.views
    assert [span.block for span in found.views[view]] == ["1 (cut short)", "2", "3"]


def test_what_ended_a_run_is_marked_at_the_end_of_its_load(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate))
    run = next(r for r in analysis.material.runs if r.manifest.id == "b1-delete,full")
    error = Failure("ServerError", "the server ended", 4)
    died = replace(run, manifest=replace(run.manifest, error=error))

    found = marks(replace(analysis, material=replace(analysis.material, runs=(died,))))

    ended_s = run.manifest.phases[-1].end_unix_s - START_UNIX_NS / SECOND_NS
    assert found[-1] == ("failure", ended_s, ended_s, "ServerError: the server ended")


def test_kinds_stand_in_the_order_of_a_run(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate))
    run = analysis.material.runs[0].manifest.id
    found = timeline(analysis)
    more = (Mark("stall", 1, 2, ""), Mark("load", 0, 1, ""), *found.marks[run])

    assert replace(found, marks={run: more}).kinds == ("load", "warm-up", "measured", "stall")


def test_lines_are_counters_by_second_and_instances_summed_and_apart(tmp_path: Path) -> None:
    def cores(run: PlannedRun) -> tuple[Sample, ...]:
        return tuple(
            sample(second, "mysql", metric, value * second if metric == "syncs" else value, core)
            for second in range(14)
            for core, value in (("0", 3.0), ("1", 5.0))
            for metric in ("syncs", "history_list")
        )

    analysis = told(tmp_path, World(rate, samples=cores))
    found = {
        name: (lines.unix_ns.size, set(values))
        for lines in lines_of(analysis.material.runs[0])
        for name, values in zip(lines.names, lines.values, strict=True)
    }

    assert found == {
        "mysql.syncs": (13, {8.0}),
        "mysql.syncs.0": (13, {3.0}),
        "mysql.syncs.1": (13, {5.0}),
        "mysql.history_list": (14, {8.0}),
        "mysql.history_list.0": (14, {3.0}),
        "mysql.history_list.1": (14, {5.0}),
    }


def test_every_metric_is_in_the_page(tmp_path: Path) -> None:
    page = page_of(write_study(tmp_path, ONE_BLOCK, World(rate, samples=sampled)))
    (packed,) = re.findall(r'id="lines">([^<]+)<', page)
    text = gzip.decompress(base64.b64decode(packed))
    head = json.loads(text[4 : 4 + int.from_bytes(text[:4], "little")])

    assert head["metrics"] == {
        "disk.writes": ["Writes", "", "counter"],
        "disk.writes.loop3": ["Writes", "", "counter"],
        "disk.writes.vda": ["Writes", "", "counter"],
        "mysql.history_list": ["Transactions not purged", "", "gauge"],
        "mysql.syncs": ["Syncs", "", "counter"],
        "process.voluntary_switches": ["Context switches", "", "counter"],
        "process.voluntary_switches.client": ["Context switches", "", "counter"],
        "process.voluntary_switches.server": ["Context switches", "", "counter"],
    }
    assert set(head["names"]) == {"throughput", "p99", *head["metrics"]}


def test_a_page_without_samples_has_no_store_of_lines(tmp_path: Path) -> None:
    analysis = told(tmp_path, World(rate))

    assert packed_lines(analysis, ()) == ""
