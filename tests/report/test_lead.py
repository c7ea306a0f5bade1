"""The picture of the answer: every cell labelled, its baseline marked, nothing invented."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import pytest
from made_up_answers import Case, analysed

from dbdyno.report.charts import charts
from dbdyno.report.charts.effects import COLOURS
from dbdyno.report.charts.encoding import PALETTE
from dbdyno.report.charts.lead import MOST_ROWS, lead
from dbdyno.report.charts.lead_lines import GAP, HEIGHT

JOURNAL = {"journal": ("delete", "wal", "memory")}
DELETE = {"journal": "delete"}
RATES = {"delete": 400.0, "wal": 4000.0, "memory": 410.0}


def test_a_row_a_cell_with_its_figure_ratio_and_baseline(tmp_path: Path) -> None:
    case = Case(JOURNAL, lambda levels, _: RATES[levels["journal"]], baseline=DELETE)
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    rows = {str(row["cell"]): row for row in chart.rows}
    assert [row["side"] for row in rows.values()] == ["baseline", "candidate", "open"]
    assert "· baseline" in str(rows["delete"]["text"])
    assert "times as many" in str(rows["wal"]["text"])
    assert "can't tell" in str(rows["memory"]["text"])
    for row in rows.values():
        assert float(str(row["low"])) < float(str(row["value"])) < float(str(row["high"]))


def test_with_three_loads_a_line_a_cell_and_names_that_do_not_overlap(tmp_path: Path) -> None:
    case = Case(
        JOURNAL,
        lambda levels, clients: (400 + len(levels["journal"])) * clients**0.5,
        baseline=DELETE,
        clients=(1, 4, 16),
    )
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    ends = [row for row in chart.rows if row["short"]]
    assert {row["short"] for row in ends} == set(JOURNAL["journal"])
    assert {row["clients"] for row in ends} == {16}
    top = 1.1 * max(float(str(row["value"])) for row in chart.rows)
    places = sorted(float(str(row["place"])) for row in ends)
    gaps = [(b - a) / top * HEIGHT for a, b in pairwise(places)]
    assert min(gaps) >= GAP - 0.1


def test_a_cell_by_itself_is_shown_over_time(tmp_path: Path) -> None:
    case = Case({"journal": ("wal",)}, lambda levels, clients: 400.0, blocks=1)
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    assert chart.selector is None
    assert [row["second"] for row in chart.rows] == [-1, 0, 1, 2, 3]


def test_of_many_cells_the_baseline_and_both_ends_are_shown(tmp_path: Path) -> None:
    levels = tuple(f"level{number:02}" for number in range(14))
    case = Case(
        {"size": levels},
        lambda cell, _: 100.0 + 10 * int(cell["size"][-2:]),
        baseline={"size": "level06"},
    )
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    shown = [str(row["cell"]) for row in chart.rows]
    assert len(shown) == MOST_ROWS
    assert {"level00", "level06", "level13"} <= set(shown)
    assert "; 11 of 14 shown, the rest in the tables below." in chart.caption


@pytest.mark.parametrize(("settings", "shown"), [(3, 6), (6, 10)])
def test_each_cell_stands_below_the_one_that_it_is_compared_with(
    tmp_path: Path, settings: int, shown: int
) -> None:
    case = Case(
        {"version": ("old", "new"), "flush": tuple(f"f{n}" for n in range(settings))},
        lambda cell, _: 100.0 + 50 * int(cell["flush"][1:]) + 20 * (cell["version"] == "new"),
        baseline={"version": "old"},
    )
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    cells = [f"{version}, f{n}" for n in range(shown // 2) for version in ("old", "new")]
    assert [row["cell"] for row in chart.rows] == cells
    assert [row["side"] == "baseline" for row in chart.rows] == [True, False] * (shown // 2)
    assert "; each blue bar is compared with the grey one above it" in chart.caption


def test_nothing_measured_has_no_picture(tmp_path: Path) -> None:
    case = Case(JOURNAL, lambda *_: 1.0, failed=JOURNAL["journal"])
    assert lead(analysed(tmp_path, case)) is None


@pytest.mark.parametrize("colour", sorted({*PALETTE, *COLOURS.values()}))
@pytest.mark.parametrize("ground", ["#ffffff", "#14171b"])
def test_marks_stand_out_on_both_grounds(colour: str, ground: str) -> None:
    lighter, darker = sorted((luminance(colour), luminance(ground)), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2."""
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [p / 12.92 if p <= 0.03928 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("kind", ["latency-percentiles", "throughput-by-clients"])
def test_a_study_chooses_the_first_picture(tmp_path: Path, kind: str) -> None:
    lines = f'[[chart]]\nkind = "{kind}"\nlead = true\ntitle = "Ours"'
    case = Case(JOURNAL, lambda *_: 400.0, clients=(1, 4), baseline=DELETE, lines=lines)
    first, *others = charts(analysed(tmp_path, case))
    assert (first.name, first.title, first.selector) == ("answer", "Ours", None)
    below = next(chart for chart in others if chart.name == kind)
    assert below.title == "Ours"
    if below.selector == "clients":
        assert {row["key"] for row in first.rows} == {"4"}
        assert {row["key"] for row in below.rows} == {"1", "4"}
        assert first.caption.startswith("4\N{NO-BREAK SPACE}clients. ")


def test_a_chosen_picture_without_content_leaves_the_usual_one(tmp_path: Path) -> None:
    lines = '[[chart]]\nkind = "last-minutes"\nlead = true\ntitle = "Ours"'
    case = Case(JOURNAL, lambda *_: 400.0, baseline=DELETE, lines=lines)
    first = charts(analysed(tmp_path, case))[0]
    assert (first.name, first.title) == ("answer", "Throughput, events/s")


def test_names_that_would_take_two_lines_go_without_their_factors(tmp_path: Path) -> None:
    levels = tuple(f"a-rather-long-level-{number}" for number in range(2))
    case = Case(
        {"first-factor": levels, "second-factor": ("on", "off")},
        lambda cell, _: 100.0 + 10 * int(cell["first-factor"][-1]),
        baseline={"first-factor": levels[0], "second-factor": "on"},
    )
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    assert chart.rows[0]["name"] == "a-rather-long-level-0, on"


def test_times_have_their_unit_on_the_axis(tmp_path: Path) -> None:
    case = Case(
        JOURNAL,
        lambda cell, _: 400.0,
        baseline={"journal": JOURNAL["journal"][0]},
        primary='metric = "p95", better = "lower"',
    )
    chart = lead(analysed(tmp_path, case))
    assert chart is not None
    drawn = json.dumps(chart.spec)
    assert '"title": "ms"' in drawn
    assert "datum.value / 1000" in drawn
