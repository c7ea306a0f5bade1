"""The table that says who did the work, of runs with several servers alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL
from test_sampled import sample

from dbdyno.model import PlannedRun, Sample, Step
from dbdyno.report.analysis.analyse import analyse
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.work import work_tables
from dbdyno.report.terms.table import Table

RATE = 400
BUSY = {
    ("process", "client"): 0.1,
    ("process", "proxy"): 0.2,
    ("member", "primary"): 0.4,
    ("member", "replica-1"): 0.3,
}
"""Source and instance → processors that are kept busy, half of it in the kernel."""


def rate(_run: PlannedRun, _step: Step, _second: int) -> float:
    return RATE


def written(folder: Path, sources: set[str]) -> Path:
    """A store of runs with these sources."""

    def samples(_run: PlannedRun) -> tuple[Sample, ...]:
        return tuple(
            sample(second, source, metric, busy * second / 2, instance)
            for second in range(60)
            for (source, instance), busy in BUSY.items()
            for metric in ("user_s", "system_s")
            if source in sources
        )

    return write_study(folder, SMALL, World(rate, samples=samples))


def tables(store: Path) -> list[Table]:
    return list(work_tables(analyse(gather(store, "study"))))


def test_each_party_has_its_share_of_the_processor_time(tmp_path: Path) -> None:
    store = written(tmp_path, {"process", "member"})
    (table,) = tables(store)

    rows = [
        dict(zip((column.name for column in table.columns), row, strict=True))
        for row in table.values
    ]
    first = [row for row in rows if row["cell"] == rows[0]["cell"]]
    first = [row for row in first if row["clients"] == rows[0]["clients"]]
    assert [row["who"] for row in first] == ["clients", "proxies", "primary", "replica-1"]
    assert [row["share"] for row in first] == pytest.approx([0.1, 0.2, 0.4, 0.3])
    assert [row["processors"] for row in first] == pytest.approx([0.1, 0.2, 0.4, 0.3], rel=1e-3)
    assert table.title in page_of(store)


def test_a_single_server_has_no_such_table(tmp_path: Path) -> None:
    assert tables(written(tmp_path, {"process"})) == []


def test_what_parties_were_allowed_stands_beside_what_they_took(tmp_path: Path) -> None:
    material = gather(written(tmp_path, {"process", "member"}), "study")
    limits = {
        "limits": {"after": {"client_cpus": 0.15}},
        "proxy: limits": {"after": {"cpus": 0.25}},
        "primary: limits": {"after": {"cpus": 1, "memory_bytes": 1 << 30}},
    }
    runs = tuple(replace(run, facts={**run.facts, "host_change": limits}) for run in material.runs)
    (table,) = work_tables(analyse(replace(material, runs=runs)))

    assert table.columns[-1].title == "Processors allowed"
    allowed = {row[2]: row[-1] for row in table.values}
    assert allowed == {"clients": 0.15, "proxies": 0.25, "primary": 1.0, "replica-1": None}
