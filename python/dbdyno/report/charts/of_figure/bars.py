"""Any figure by levels: bars with their intervals over blocks, one load at a time."""

import altair as alt

from dbdyno.model import find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    clients_text,
    colour,
    label_axis,
    label_height,
    levels,
    named,
    number_axis,
    wrapped,
)
from dbdyno.stats import estimate

CAPTION = (
    "Bar: mean over blocks; line: its 95 % interval, cut where it is wider than the chart; dots: "
    "single blocks."
)


def draw(analysis: Analysis, metric: str, *, name: str) -> Chart:
    """A bar a cell; what no run has measured has none."""
    title = analysis.material.words_of(metric) or find_figure(metric).label
    rows = _rows(analysis, metric)
    base = alt.Chart(named())
    x = alt.X("value:Q", title=title, axis=number_axis(), scale=alt.Scale(zero=True))
    y = label_axis()
    shade = colour(analysis)
    tips = [
        alt.Tooltip("cell:N"),
        alt.Tooltip("value:Q", title="mean", format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]
    drawn = base.mark_bar(opacity=0.5, size=14).encode(x=x, y=y, color=shade, tooltip=tips)
    reach = base.mark_rule(strokeWidth=2, color="#777777").encode(
        x=alt.X("low:Q"), x2=alt.X2("high:Q"), y=y
    )
    blocks = (
        base.transform_flatten(["blocks"])
        .mark_point(size=34, strokeWidth=1.5)
        .encode(x=alt.X("blocks:Q"), y=y, color=shade)
    )
    layers = drawn + reach + blocks
    return Chart(name, title, CAPTION, layers, rows, "clients", label_height(rows))


def _rows(analysis: Analysis, metric: str) -> tuple[Row, ...]:
    values = [(point, list(point.values(metric).values())) for point in analysis.points]
    most = 1.3 * max((max(blocks) for _, blocks in values if blocks), default=0.0)
    rows: list[Row] = []
    for point, blocks in values:
        if not blocks:
            continue
        found = estimate(blocks)
        rows.append(
            {
                "cell": point.label,
                "label": wrapped(point.label),
                "colour": levels(point)[0],
                "value": found.value,
                "low": found.value if found.low is None else max(found.low, 0.0),
                "high": found.value if found.high is None else min(found.high, most),
                "blocks": blocks,
                "key": str(point.clients),
                "view": clients_text(point.clients),
            }
        )
    return tuple(rows)
