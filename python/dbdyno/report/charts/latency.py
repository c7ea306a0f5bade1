"""Response times from merged histograms: five percentiles a cell, and whole distributions."""

import math
from collections.abc import Iterable

import altair as alt
import numpy as np

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    clients_text,
    curves,
    label_axis,
    label_height,
    levels,
    log_ticks,
    named,
    wrapped,
)
from dbdyno.stats import percentiles

NAMES = ("p50", "p95", "p99", "p99.9", "max")
COLOURS = ("#4393C3", "#3B6FB6", "#8C6BB1", "#E08214", "#C51B2B")
SHAPES = ("circle", "square", "diamond", "triangle-up", "cross")
POINTS_A_DECADE = 12
LOG_START = math.log10(1 / 0.9)
"""The curve begins at the 10th percentile."""


def latency_percentiles(analysis: Analysis) -> Chart:
    """Five percentiles of each cell on one line; one load at a time."""
    rows = [row for point in analysis.points for row in _percentile_rows(point)]
    ticks = log_ticks(_ms(rows))
    base = alt.Chart(named())
    x = alt.X(
        "ms:Q",
        title="response time, ms (log scale)",
        scale=alt.Scale(type="log", nice=False, padding=16),
        axis=alt.Axis(format="~r", values=ticks),
    )
    y = label_axis()
    lines = base.mark_line(color="#999999", strokeWidth=1.5).encode(
        x=x, y=y, detail=alt.Detail("cell:N")
    )
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            "percentile:N",
            title=None,
            scale=alt.Scale(domain=list(NAMES), range=list(COLOURS)),
            legend=alt.Legend(orient="top", columns=len(NAMES)),
        ),
        shape=alt.Shape("percentile:N", scale=alt.Scale(domain=list(NAMES), range=list(SHAPES))),
        tooltip=[
            alt.Tooltip("cell:N"),
            alt.Tooltip("percentile:N"),
            alt.Tooltip("ms:Q", format=",.4~g"),
            alt.Tooltip("events:Q", format=","),
        ],
    )
    return Chart(
        "latency-percentiles",
        "Response time of events",
        "Read from histograms merged over all counted blocks; percentiles are never averaged.",
        lines + dots,
        tuple(rows),
        selector="clients",
        height=label_height(rows),
    )


def _percentile_rows(point: Point) -> Iterable[Row]:
    d = point.latency
    times = (d.p50, d.p95, d.p99, d.p999, d.max) if d else ()
    for name, time in zip(NAMES, times, strict=False):
        yield {
            "cell": point.label,
            "label": wrapped(point.label),
            "percentile": name,
            "ms": time / 1e6,
            "events": d.count if d else 0,
            "key": str(point.clients),
            "view": clients_text(point.clients),
        }


def latency_curve(analysis: Analysis) -> Chart:
    """The whole distribution, with the tail stretched out: x is 1/(1 − q)."""
    rows = [row for point in analysis.points for row in _curve_rows(point)]
    labels = "format(100 * (1 - 1 / datum.value), '.6~g') + ' %'"
    powers = [2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7]
    lines = curves(
        analysis,
        alt.X(
            "inverse:Q",
            title="share of events at or below",
            scale=alt.Scale(type="log", nice=False),
            axis=alt.Axis(values=powers, labelExpr=labels, labelSeparation=6),
        ),
        alt.Y(
            "ms:Q",
            title="response time, ms (log scale)",
            scale=alt.Scale(type="log", nice=False, padding=8),
            axis=alt.Axis(format="~r", values=log_ticks(_ms(rows))),
        ),
        "step-before",
        [
            alt.Tooltip("rank:Q", title="percentile"),
            alt.Tooltip("ms:Q", format=",.4~g"),
        ],
    )
    return Chart(
        "latency-curve",
        "Distribution of response times",
        "Merged over all counted blocks; each mark to the right is ten times rarer.",
        lines,
        tuple(rows),
        selector="clients",
    )


def _ms(rows: list[Row]) -> list[float]:
    return [float(str(row["ms"])) for row in rows]


def _curve_rows(point: Point) -> Iterable[Row]:
    if point.latency is None:
        return
    first, variant = levels(point)
    nines = math.log10(max(10.0, point.latency.count))
    inverses = np.logspace(LOG_START, nines, max(2, int(nines * POINTS_A_DECADE)))
    ranks = [100 * (1 - 1 / float(inverse)) for inverse in inverses]
    times = percentiles(point.histogram, ranks)
    for inverse, rank, time in zip(inverses, ranks, times, strict=True):
        yield {
            "cell": point.label,
            "colour": first,
            "variant": variant,
            "inverse": round(float(inverse), 4),
            "rank": round(rank, 5),
            "ms": time / 1e6,
            "key": str(point.clients),
            "view": clients_text(point.clients),
        }
