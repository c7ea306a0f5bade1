"""Outside tools in a study: generator, options and the files these name are checked with a line."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest

from dbdyno.conduct.examine import examine
from dbdyno.conduct.opening import open_study
from dbdyno.conduct.planning import plan_study
from dbdyno.conduct.tool import ToolStep, provisions_of, tool_result
from dbdyno.engine import find_engine
from dbdyno.errors import StudyError
from dbdyno.formats.histograms import decode
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import HistogramRecord, Step
from dbdyno.store import Store


def study(folder: Path, workload: str) -> Path:
    file = folder / "tool.toml"
    file.write_text(
        f"""\
question = "Does it matter?"

[server.folder]
provision = "files"

[workload]
{workload}

[load]
clients = 1
measure = "1 s"
"""
    )
    return file


@pytest.mark.parametrize(
    ("workload", "line", "told"),
    [
        ('generator = "foi"', 7, "did you mean `fio`"),
        ('generator = "fio"', 6, "expected `jobfile`"),
        ('generator = "fio"\noptions = { jobfile = "none.fio" }', 8, "no job file `none.fio`"),
        ('generator = "pgbench"\noptions = { file = "x.sql" }', 8, "no pgbench script `x.sql`"),
    ],
)
def test_what_is_wrong_with_a_tool_is_told_with_its_line(
    tmp_path: Path, workload: str, line: int, told: str
) -> None:
    with pytest.raises(StudyError) as caught:
        open_study(str(study(tmp_path, workload)))

    assert caught.value.line == line
    assert told in caught.value.message


def test_a_job_file_beside_the_study_is_found(tmp_path: Path) -> None:
    (tmp_path / "mine.fio").write_text("[job]\n")

    open_study(str(study(tmp_path, 'generator = "fio"\noptions = { jobfile = "mine.fio" }')))


def test_options_of_a_tool_may_come_from_several_levels(tmp_path: Path) -> None:
    factors = (
        '[factor.a.fill]\noptions = { benchmark = "fillseq" }\n'
        "[factor.b.many]\noptions = { num = 10 }\n[workload]"
    )
    file = study(tmp_path, 'generator = "db_bench"')
    file.write_text(file.read_text().replace("[workload]", factors))

    open_study(str(file))


def test_a_release_that_nobody_has_stops_a_study_before_it_is_run(tmp_path: Path) -> None:
    options = '{ benchmark = "fillseq", version = "5.99" }'
    file = study(tmp_path, f'generator = "db_bench"\noptions = {options}')
    loaded = open_study(str(file))
    _, plan = plan_study(loaded.study, Store(tmp_path / "store"))

    (told,) = examine(loaded, plan, find_engine())

    assert "rocksdb-tools:5.99" in told.message


def test_a_plan_needs_its_servers_and_its_tools(tmp_path: Path) -> None:
    options = '{ benchmark = "fillseq", suite = "trixie" }'
    file = study(tmp_path, f'generator = "db_bench"\noptions = {options}')
    _, plan = plan_study(open_study(str(file)).study, Store(tmp_path / "store"))

    assert provisions_of(plan) == ("files", "tool:rocksdb-tools@trixie")


def test_what_a_tool_warns_of_stands_with_its_step() -> None:
    outcome = ToolOutcome(window_s=1.0, events=1, warnings=("made for debugging", "too small"))
    told = tool_result(Step(index=0, clients=1, seed=1), ToolStep("db_bench", outcome, {}))

    assert told.warnings == ({"code": "db_bench", "message": "made for debugging; too small"},)


def test_the_distribution_that_a_tool_tells_stands_with_its_figures() -> None:
    outcome = ToolOutcome(window_s=1.0, events=3, distribution=((1000, 2), (5000, 1)))
    told = ToolStep("pgbench", outcome, {})
    summary = told.summary(Step(index=0, clients=1, seed=1), told.distribution())

    (record,) = cast("list[dict[str, Any]]", summary.record["histograms"])
    kept = decode(HistogramRecord(**record))
    assert (kept.get_total_count(), kept.get_min_value()) == (3, 1000)
    assert kept.get_max_value() == pytest.approx(5000, rel=1e-3)


def test_a_source_that_nobody_has_is_told_with_its_line(tmp_path: Path) -> None:
    file = study(tmp_path, 'generator = "db_bench"\noptions = { benchmark = "fillseq" }')
    file.write_text(f'collect = ["tlb"]\n{file.read_text()}')

    with pytest.raises(
        StudyError,
        match=r"expected `execution_latency`, `hardware`, .*, or a file; found `tlb`",
    ) as caught:
        open_study(str(file))
    assert caught.value.line == 1
