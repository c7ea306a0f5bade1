"""A search probe by probe: rate against the objective's percentile, with the limit as a line."""

from collections.abc import Iterator

import altair as alt

from dbdyno.model import FindMax
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    SHAPE_LEGEND,
    colour,
    fade,
    levels,
    log_ticks,
    named,
    zoom,
)
from dbdyno.report.sections.searches import result_words, searches

CAPTION = (
    "Every dot is one probe: a window at one rate. Circles met the objective, crosses missed it; "
    "a cross below the line was missed for another reason, which stands in the table. Dashed: the "
    "limit."
)


def search_chart(analysis: Analysis) -> Chart:
    """Nothing to show where no study searches."""
    asked = analysis.material.study.load.find_max
    rows = tuple(_rows(analysis, asked)) if asked else ()
    percentile = asked.percentile if asked else ""
    base = alt.Chart(named())
    x = alt.X(
        "rate:Q",
        title="rate, events/s (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=12),
        axis=alt.Axis(format="~s", values=log_ticks(_column(rows, "rate"))),
    )
    scale = alt.Scale(type="log", nice=False, padding=12)
    axis = alt.Axis(format="~r", values=log_ticks(_column(rows, "ms")))
    y = alt.Y("ms:Q", title=f"{percentile}, ms (log scale)", scale=scale, axis=axis)
    chosen, when = fade("colour")
    dots = base.mark_point(size=60, strokeWidth=2).encode(
        x=x,
        y=y,
        color=colour(analysis),
        shape=alt.Shape(
            "result:N",
            title=None,
            scale=alt.Scale(domain=["met", "missed"], range=["circle", "cross"]),
            legend=SHAPE_LEGEND,
        ),
        opacity=when.then(alt.value(1)).otherwise(alt.value(0.12)),
        tooltip=[
            alt.Tooltip("cell:N"),
            alt.Tooltip("block:O"),
            alt.Tooltip("probe:O"),
            alt.Tooltip("rate:Q", format=",.4~g"),
            alt.Tooltip("ms:Q", title=percentile, format=",.4~g"),
            alt.Tooltip("why:N", title="result"),
        ],
    )
    limit = base.mark_rule(strokeDash=[5, 4], color="#7F7F7F", strokeWidth=1.5).encode(
        y=alt.Y("min(limit_ms):Q", title=f"{percentile}, ms (log scale)", scale=scale, axis=axis)
    )
    title = f"The search for the highest rate with {asked.objective}" if asked else ""
    drawing = limit + dots.add_params(chosen, zoom())
    return Chart("search", title, CAPTION, drawing, rows, height=340)


def _column(rows: tuple[Row, ...], name: str) -> Iterator[float]:
    return (float(str(row[name])) for row in rows)


def _rows(analysis: Analysis, asked: FindMax) -> Iterator[Row]:
    for point in analysis.points:
        first, variant = levels(point)
        for figures, search in searches(point):
            for place, probe in enumerate(search.probes, 1):
                told_us = probe.latency_us.get(asked.percentile)
                if told_us is not None:
                    yield {
                        "cell": point.label,
                        "colour": first,
                        "variant": variant,
                        "block": figures.block,
                        "probe": place,
                        "rate": probe.rate_per_s,
                        "ms": told_us / 1000,
                        "limit_ms": 1000 * asked.limit_s,
                        "result": "missed" if probe.missed else "met",
                        "why": result_words(probe),
                    }
