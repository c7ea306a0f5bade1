"""What a report says of searches for a rate: verdicts, brackets, every probe."""

from __future__ import annotations

from pathlib import Path

import pytest
from made_up_runs import World, page_of, write_study
from made_up_studies import SMALL

from dbdyno.design.search import begin, joined, next_rate
from dbdyno.model import FindMax, Miss, PlannedRun, Probe, RateSearch, Step
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.answer.answer import headline
from dbdyno.report.charts import charts
from dbdyno.report.material.gather import gather
from dbdyno.report.sections.tables import tables
from dbdyno.stats import Verdict

SEARCH = (
    SMALL.replace("clients = [1, 4]", 'clients = 4\nfind_max = { p99 = "10 ms", to = 8000 }')
    .replace('metric = "throughput", ', "")
    .replace("blocks = 3", "blocks = 4")
)
CAN = {"delete": 1000.0, "wal": 2000.0}


def search_up_to(truth: float, *, seed: int = 1, client_busy: float = 0.1) -> RateSearch:
    """As it goes where `truth` is met and nothing above it."""
    search = begin(FindMax("p99", 0.01, 100, 8000), seed)
    while (rate := next_rate(search)) is not None:
        missed: tuple[Miss, ...] = () if rate <= truth else ("percentile", "backlog")
        p99_us = 5_000.0 if not missed else 50_000.0
        place = len(search.probes)
        probe = Probe(
            rate, place, 0, 30.0, round(30 * rate), {"p99": p99_us}, 0, 0, client_busy, missed
        )
        search = joined(search, probe)
    return search


def of_a_cell(run: PlannedRun) -> RateSearch:
    return search_up_to(CAN[run.cell.levels["journal"]], seed=run.seed)


def rate(_run: PlannedRun, _step: Step, _second: int) -> float:
    return 500.0


def analysis_of(folder: Path, world: World) -> Analysis:
    return analyse(gather(write_study(folder, SEARCH, world), "study"))


def test_cells_are_compared_by_what_their_searches_found(tmp_path: Path) -> None:
    analysis = analysis_of(tmp_path, World(rate, search=of_a_cell))

    assert analysis.metric_name == "max_rate"
    found = {c.point.label: c.judgement for c in analysis.comparisons}
    assert found["wal, full"].verdict is Verdict.BETTER
    assert "faster" in headline(analysis)
    every = {table.name: table for table in tables(analysis)}
    rows = {str(row[0]): row for row in every["search"].values}
    sure = rows["wal, full"][2]
    assert isinstance(sure, tuple)
    assert sure[1] < sure[0] < sure[2] and sure[0] == pytest.approx(2000, rel=0.05)
    searches = [f.summary.search for point in analysis.points for f in point.blocks]
    probes = sum(len(search.probes) for search in searches if search)
    assert len(every["probes"].values) == probes
    (chart,) = (one for one in charts(analysis) if one.name == "search")
    assert len(chart.rows) == probes
    assert {row["limit_ms"] for row in chart.rows} == {10}


@pytest.mark.parametrize(
    ("search", "why"),
    [
        (search_up_to(50), "missed p99 ≤ 10 ms already"),
        (search_up_to(9000), "every rate up to 8,000/s met p99 ≤ 10 ms"),
        (search_up_to(1000, client_busy=0.99), "the client was saturated"),
    ],
)
def test_a_search_without_an_end_of_the_server_s_enters_no_verdict(
    tmp_path: Path, search: RateSearch, why: str
) -> None:
    analysis = analysis_of(tmp_path, World(rate, search=lambda _run: search))

    point = analysis.points[0]
    assert point.judged("max_rate") == {}
    assert why in point.why_left_out()[1]
    verdicts = {c.judgement.verdict for c in analysis.comparisons}
    assert verdicts == {Verdict.CANNOT_TELL}


def test_the_page_has_the_search(tmp_path: Path) -> None:
    page = page_of(write_study(tmp_path, SEARCH, World(rate, search=of_a_cell)))

    assert "The search for the highest rate with p99 ≤ 10 ms" in page
    assert "Every probe for p99 ≤ 10 ms, in order" in page
    assert "above the limit and the rate was not kept" in page
