"""What a report says of the load generator."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from made_up_runs import World, write_study
from made_up_studies import SMALL

from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.gates.registry import gates
from dbdyno.report.material.gather import gather


def test_how_long_statements_and_replies_lay_is_told_in_units_that_suit(tmp_path: Path) -> None:
    analysis = analyse(gather(write_study(tmp_path, SMALL, World(lambda *_: 500.0)), "study"))
    runs = tuple(
        replace(
            run,
            summaries={
                index: replace(summary, queued_us={"p99": 12.0}, unread_us={"p99": 270_533.0})
                for index, summary in run.summaries.items()
            },
        )
        for run in analysis.material.runs
    )
    slow = replace(analysis, material=replace(analysis.material, runs=runs))

    (gate,) = [gate for gate in gates(slow) if gate.name == "Load generator"]

    assert gate.text.endswith(
        "1 % of statements lay ready for 12.0 µs or longer before they were sent, "
        "and 1 % of replies unread for 271 ms or longer."
    )
