"""`make bench`: its judgement on made-up figures, and one quick run of every row."""

import math
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NoReturn

import pytest

from bench import place
from bench.child import run_child
from bench.conduct import Measured, Measurement
from bench.earlier import built
from bench.judge import Verdict, judge
from bench.options import ROOT, Options, read_options
from bench.page import write_page
from bench.results import Run, read_results, write_results
from bench.row import Budget, Cell, Row
from bench.rows import ALL_ROWS, OURS, ROWS, chosen_rows
from bench.service import page as service_page
from bench.service import results as service_results
from dbdyno.engine import Engine
from dbdyno.errors import MachineError, StoreError, UsageError

OTHER = "other"
QUICK: Mapping[str, str] = {
    "BENCH_SECONDS": "1",
    "BENCH_REPEATS": "1",
    "BENCH_TABLE_ROWS": "100000",
    "BENCH_LOAD_ROWS": "20000",
    "BENCH_SCRIPTS": "bulk_insert,oltp_write_only",
    "BENCH_SCRIPT_SECONDS": "1",
    "BENCH_SCRIPT_ROWS": "5000",
    "BENCH_MOST_CLIENTS": "16",
    "BENCH_REPORT_SECONDS": "20",
    "BENCH_SEED": "7",
}


def measured(
    ours: Sequence[float], theirs: Sequence[float], *budgets: Budget, metric: str = "cpu_us"
) -> Measured:
    """Figures of two contenders with one client, block by block."""
    row = Row("row", "Row", "How.", ROWS[0].place, (metric,), {}, budgets)
    return Measured(
        row,
        [
            Measurement("row", Cell(name, 1), block, 0, {metric: value})
            for name, column in ((OURS, ours), (OTHER, theirs))
            for block, value in enumerate(column)
        ],
        {},
    )


AT_MOST_HALF = Budget("cpu_us", Cell(OURS, 1), Cell(OTHER, 1), at_most=0.5)
AT_LEAST_TWICE = Budget("cpu_us", Cell(OURS, 1), Cell(OTHER, 1), at_least=2.0)
AT_MOST_20 = Budget("cpu_us", Cell(OURS, 1), at_most=20.0)


@pytest.mark.parametrize(
    ("ours", "budget", "verdict"),
    [
        ([4.0, 4.1, 3.9, 4.0, 4.05], AT_MOST_HALF, Verdict.MET),
        ([6.0, 6.1, 5.9, 6.0, 6.05], AT_MOST_HALF, Verdict.MISSED),
        ([5.0, 5.2, 4.8, 5.0, 5.05], AT_MOST_HALF, Verdict.UNCLEAR),
        ([4.0, 4.1], AT_MOST_HALF, Verdict.UNCLEAR),
        ([30.0, 31.0, 29.0, 30.5, 30.0], AT_LEAST_TWICE, Verdict.MET),
        ([15.0, 16.0, 14.0, 15.5, 15.0], AT_LEAST_TWICE, Verdict.MISSED),
        ([15.0, 16.0, 14.0, 15.5, 15.0], AT_MOST_20, Verdict.MET),
        ([15.0, 16.0, 21.0, 15.5, 15.0], AT_MOST_20, Verdict.UNCLEAR),
        ([25.0, 26.0, 21.0, 25.5, 25.0], AT_MOST_20, Verdict.MISSED),
    ],
)
def test_a_budget_is_met_or_missed_only_by_the_whole_interval(
    ours: Sequence[float], budget: Budget, verdict: Verdict
) -> None:
    (found,) = judge(measured(ours, [10.0] * len(ours), budget))

    assert found.verdict == verdict


def test_a_ratio_is_taken_block_by_block() -> None:
    drifting = [10.0, 20.0, 40.0, 80.0, 160.0]
    (found,) = judge(
        measured(
            [v * w for v, w in zip(drifting, (0.39, 0.4, 0.41, 0.4, 0.4), strict=True)],
            drifting,
            AT_MOST_HALF,
        )
    )

    assert math.isclose(found.value, 0.4, rel_tol=0.01)
    assert found.high < 0.45


def test_a_budget_of_cells_not_measured_is_not_judged() -> None:
    assert judge(measured([], [1.0, 2.0, 3.0], AT_MOST_HALF, AT_MOST_20)) == []


def test_every_budget_speaks_of_a_cell_and_a_figure_of_its_row() -> None:
    for row in ALL_ROWS:
        for budget in row.budgets:
            assert budget.candidate in row.cells
            assert budget.baseline is None or budget.baseline in row.cells
            assert budget.metric in row.metrics


def test_rows_are_chosen_by_name() -> None:
    assert [row.name for row in chosen_rows(["empty-event"])] == ["empty-event"]
    assert chosen_rows([]) == ROWS
    with pytest.raises(UsageError, match="there is no row `nothing`"):
        chosen_rows(["nothing"])
    with pytest.raises(UsageError, match="there is no script `oltp`"):
        chosen_rows([], ["oltp", "bulk_insert"])


def test_a_server_apart_has_processors_of_its_own() -> None:
    every = os.sched_getaffinity(0)
    seen = {}

    @contextmanager
    def where(engine: Engine, _options: Options) -> Iterator[place.Place]:
        seen["server"] = os.sched_getaffinity(0)
        yield place.Place(engine, Path())

    with place.apart(where)(Engine(Path("engine"), ""), Options()):
        seen["client"] = os.sched_getaffinity(0)

    assert os.sched_getaffinity(0) == every
    assert seen["server"] | seen["client"] == every
    assert len(every) == 1 or not seen["server"] & seen["client"]


def test_a_program_reads_what_it_is_given(tmp_path: Path) -> None:
    file = tmp_path / "rows"
    file.write_text("a\nb\n")

    assert [run_child(["cat"], stdin=given).output for given in (file, "c\n", "")] == [
        "a\nb\n",
        "c\n",
        "",
    ]


def test_an_earlier_engine_must_be_in_the_repository() -> None:
    with pytest.raises(MachineError, match=r"git rev-parse .*nothing-of-this-name") as caught:
        built("nothing-of-this-name")
    assert caught.value.hint is not None
    assert "BENCH_BEFORE" in caught.value.hint


def test_options_come_from_the_environment() -> None:
    options = read_options({"ROWS": "a,b c", "BENCH_SECONDS": "0.5", "BENCH_REPEATS": "7"})

    assert (options.rows, options.window_s, options.repeats) == (("a", "b", "c"), 0.5, 7)
    with pytest.raises(UsageError, match="BENCH_REPEATS is `many`; expected a number above 0"):
        read_options({"BENCH_REPEATS": "many"})


def test_a_run_of_some_rows_keeps_the_others(tmp_path: Path) -> None:
    def run(started: str, value: float, *rows: Row) -> Run:
        found = [
            Measured(
                row,
                [
                    Measurement(row.name, cell, 0, 0, dict.fromkeys(row.metrics, value))
                    for cell in row.cells
                ],
                {},
            )
            for row in rows
        ]
        one = Run(started, {}, {})
        write_results(tmp_path, read_results(tmp_path).with_run(one, found))
        return one

    first = run("monday", 1.0, *ROWS)
    second = run("tuesday", 2.0, ROWS[1])

    results = read_results(tmp_path).rows
    assert [by for by, _ in results] == [first, second, *[first] * (len(ROWS) - 2)]
    assert [row.row for _, row in results] == list(ROWS)
    (again,) = {one.figures["cpu_us"] for one in results[1][1].measurements}
    assert again == 2.0


def test_only_what_the_page_prints_is_kept(tmp_path: Path) -> None:
    row = ROWS[0]
    kept = dict.fromkeys(row.metrics, 1.23456789012)
    cell = next(iter(row.cells))
    changed = {"fsync": {"value": "off", "default": "on"}}
    server = {"kind": "sqlite", "settings_changed": changed, "unused": 1}
    figures = {**kept, "not_a_figure_of_the_row": 1.0}
    flags = [{"code": "virtual-machine", "message": "a virtual machine", "hint": "none"}]
    run = Run("monday", {"seed": 1, "scripts": []}, {"red_flags": flags, "versions": {"a": "1"}})
    measured = Measured(row, [Measurement(row.name, cell, 2, 5, figures)], server)
    write_results(tmp_path, read_results(tmp_path).with_run(run, [measured]))

    ((by, found),) = read_results(tmp_path).rows
    assert by.options == {"seed": 1}
    assert by.facts == {"red_flags": [{"message": "a virtual machine"}], "versions": {"a": "1"}}
    assert found.server == {"kind": "sqlite", "settings_changed": {"fsync": {"value": "off"}}}
    (one,) = found.measurements
    assert (one.cell, one.block, one.position) == (cell, 2, 5)
    assert one.figures == dict.fromkeys(row.metrics, 1.23456789)


@pytest.mark.parametrize("page", ["", "service"])
def test_the_pages_are_what_their_results_say(page: str, tmp_path: Path) -> None:
    folder = ROOT / "bench" / page
    if page:
        service_page.write_page(tmp_path, service_results.read_results(folder))
    else:
        write_page(tmp_path, read_results(folder))

    assert (tmp_path / "README.md").read_text() == (folder / "README.md").read_text()


def test_results_of_another_kind_are_refused(tmp_path: Path) -> None:
    (tmp_path / "results.json").write_text('{"schema": 0}')

    with pytest.raises(StoreError, match="schema 0, expected 2"):
        read_results(tmp_path)


@pytest.mark.nightly  # Builds an earlier engine: minutes.
def test_a_quick_run_measures_every_cell_and_writes_the_page(tmp_path: Path) -> None:
    if not Path("/usr/include/liburing.h").exists():
        pytest.skip("liburing-dev is missing, without which the raw loops can't be built")
    most = int(QUICK["BENCH_MOST_CLIENTS"])
    done = subprocess.run(
        [sys.executable, "-m", "bench"],
        cwd=ROOT,
        env={**os.environ, **QUICK, "BENCH_FOLDER": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr

    page = (tmp_path / "README.md").read_text()
    rows = {measured.row.name: measured for _, measured in read_results(tmp_path).rows}
    for row in ROWS:
        cells = [
            cell
            for cell in row.cells
            if cell.clients <= most and cell.script in ("", *QUICK["BENCH_SCRIPTS"].split(","))
        ]
        assert (row.name in rows) == (f"`{row.name}`" in page) == bool(cells)
        if not cells:
            continue
        found = rows[row.name].measurements
        figures = {one.cell: one.figures for one in found}
        assert set(figures) == set(cells)
        assert all(one[row.metrics[0]] > 0 for one in figures.values())
        positions = sorted(one.position for one in found)
        assert positions == list(range(len(cells)))
    assert re.search(r"environment `[0-9a-f]{16}`", page)
    assert "can't tell" in page, "one block decides nothing"


def test_what_is_to_be_downloaded_is_so_before_the_network_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    order: list[str] = []

    def leave() -> NoReturn:
        order.append("network")
        raise MachineError("far enough")

    monkeypatch.setattr(place, "fetch", order.append)
    monkeypatch.setattr(place, "own_network", leave)
    engine = Engine(Path("nowhere"), "0.1.0")
    with (
        pytest.raises(MachineError, match="far enough"),
        place.postgresql_pooled(engine, read_options({})),
    ):
        pass
    assert order == [place.POSTGRESQL, "network"]
