"""A metric over the number of clients: medians as lines, every block as a dot."""

import altair as alt

from dbdyno.model import find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    colour,
    dash,
    fade,
    far_apart,
    levels,
    log_ticks,
    named,
    number_axis,
    shape,
    zoom,
)

CAPTION = (
    "Line: median over blocks. Every dot is one block; hollow ones were cut short and are not "
    "counted."
)

FLAT_CHARACTERS = 80


def by_clients(analysis: Analysis, metric: str, *, name: str, note: str) -> Chart:
    """The chart of one metric; with a single load the cells stand side by side instead."""
    several = len(analysis.clients) > 1
    rows = _rows(analysis, metric)
    apart = far_apart(_values(rows))
    scale = alt.Scale(type="log") if apart else alt.Scale(zero=True)
    figure = find_figure(metric)
    title = figure.label + (" (log scale)" if apart else "")
    axis = number_axis(log_ticks(_values(rows)) if apart else None)
    y = alt.Y("median:Q", title=title, scale=scale, axis=axis)
    chosen, when = fade("colour")
    opacity = when.then(alt.value(1)).otherwise(alt.value(0.12))
    shade = colour(analysis)
    x = _clients_axis(analysis) if several else _cells_axis(rows)
    base = alt.Chart(named())
    lines = base.mark_line(strokeWidth=2).encode(
        x=x,
        y=y,
        color=shade,
        strokeDash=dash(analysis, beside_shapes=True),
        detail=alt.Detail("cell:N"),
        opacity=opacity,
    )
    medians = base.mark_tick(thickness=2, size=26, orient="horizontal").encode(
        x=x, y=y, color=shade
    )
    dots = base.mark_point(size=46, strokeWidth=1.5).encode(
        x=x,
        y=alt.Y("value:Q", title=title, scale=scale),
        color=shade,
        shape=shape(analysis),
        opacity=opacity,
        tooltip=[
            alt.Tooltip("cell:N"),
            alt.Tooltip("clients:Q"),
            alt.Tooltip("block:O"),
            alt.Tooltip("value:Q", title=figure.unit, format=",.4~g"),
            alt.Tooltip("median:Q", title="median", format=",.4~g"),
            alt.Tooltip("status:N"),
        ],
    )
    counted = dots.mark_point(size=46, filled=True).transform_filter("datum.counted")
    # A layer without a single row would have the page's console complain.
    whole = all(row["counted"] for row in rows)
    blocks = counted if whole else counted + dots.transform_filter("!datum.counted")
    params = (chosen, zoom()) if several else (chosen,)
    drawing = ((lines if several else medians) + blocks).add_params(*params)
    return Chart(
        name,
        f"{figure.title} by {'clients' if several else 'cell'}",
        CAPTION + note,
        drawing,
        rows,
        height=340,
        log_scale=not apart,
    )


def _values(rows: tuple[Row, ...]) -> list[float]:
    return [float(str(row["value"])) for row in rows]


def _clients_axis(analysis: Analysis) -> alt.X:
    axis = alt.Axis(values=list(analysis.clients), format="d", labelOverlap=True)
    return alt.X(
        "clients:Q",
        title="clients (log scale)",
        scale=alt.Scale(type="log", base=2, padding=14, nice=False),
        axis=axis,
    )


def _cells_axis(rows: tuple[Row, ...]) -> alt.X:
    """Names lie flat where there is room."""
    names = {str(row["cell"]) for row in rows}
    flat = len(names) * max(map(len, names), default=0) <= FLAT_CHARACTERS
    axis = alt.Axis(labelAngle=0 if flat else -30, labelLimit=260)
    return alt.X("cell:N", title=None, sort=None, axis=axis)


def _rows(analysis: Analysis, metric: str) -> tuple[Row, ...]:
    rows: list[Row] = []
    for point in analysis.points:
        first, variant = levels(point)
        found = point.spread(metric)
        for figures in point.blocks:
            value = figures.value(metric)
            if value is None:
                continue
            rows.append(
                {
                    "cell": point.label,
                    "colour": first,
                    "variant": variant,
                    "clients": point.clients,
                    "value": value,
                    "median": found.median if found else None,
                    "block": figures.block,
                    "counted": figures.counted,
                    "status": "counted" if figures.counted else "cut short",
                }
            )
    return tuple(rows)
