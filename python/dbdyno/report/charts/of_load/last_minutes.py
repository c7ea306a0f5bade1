"""Throughput in the last ten minutes of a long window, where data are largest: dips that a chart of
hours can't show apart, and how often they come."""

from collections.abc import Iterator

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import view_key
from dbdyno.report.charts.time import lines_by_block, series_rows
from dbdyno.report.terms.wording import number

SHOWN_S = 600.0
"""Seconds that it shows."""
SHOWN_FROM_S = 3 * SHOWN_S
"""Of windows shorter than this the chart over all of it shows as much."""
CAPTION = "One line a block: the last ten minutes of the window."


def draw(analysis: Analysis, *, name: str) -> Chart:
    """One point at a time; nothing of windows that are shorter than half an hour."""
    rows = tuple(_rows(analysis))
    return Chart(
        name,
        "Events per second in the last ten minutes",
        " ".join((CAPTION, *(_periods(analysis) if rows else ()))),
        alt.layer(*lines_by_block(analysis, "throughput", rows)),
        rows,
        selector="point",
        height=220,
        log_scale=True,
        line_by=("view", "block"),
        section="Second by second",
    )


def _rows(analysis: Analysis) -> Iterator[Row]:
    """Without averages, which would hide the dips."""
    lengths = {
        view_key(point): max((f.summary.window_s for f in point.counted), default=0.0)
        for point in analysis.points
    }
    for row in series_rows(analysis, "throughput"):
        length_s = lengths[str(row["view"])]
        if length_s >= SHOWN_FROM_S and float(str(row["second"])) >= length_s - SHOWN_S:
            yield {name: value for name, value in row.items() if name != "average"}


def _periods(analysis: Analysis) -> Iterator[str]:
    """Where throughput of whole windows has a period, its length."""
    for point in analysis.points:
        found = sorted(
            figures.stability.period.intervals * run.series[point.step].interval_s
            for figures in point.counted
            for run in analysis.material.runs
            if figures.stability.period is not None
            and run.manifest.id == figures.run_id
            and point.step in run.series
        )
        if found:
            text = " to ".join(dict.fromkeys((number(found[0]), number(found[-1]))))
            blocks = f"{len(found)} of {len(point.counted)} blocks"
            yield f"{view_key(point)}: a period of {text} s in {blocks}."
