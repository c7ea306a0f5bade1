"""The deciding figure of every cell over the number of clients: a line a cell with its intervals,
named at its end."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison
from dbdyno.report.analysis.points import Point
from dbdyno.report.answer.contrast import metric_words
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import (
    PALETTE,
    far_apart,
    log_ticks,
    mean_tips,
    named,
    number_axis,
)
from dbdyno.report.terms.wording import sentence_case
from dbdyno.stats import PairedEffect

HEIGHT, MOST_HEIGHT = 330, 360
"""Pixels; higher where names need it."""

MOST_LINES = 8
"""Lines that are labelled and coloured; of more the first ones."""

LABEL = 17
"""Characters of a line of a label at the end of a line."""

GAP = 15
"""Pixels between labels."""

GREY = "#7F7F7F"


def by_load(analysis: Analysis, points: Sequence[Point], *, name: str) -> Chart:
    """A line a cell; the baseline is grey and dashed."""
    measured = _rows(analysis, points)
    labels = list(dict.fromkeys(str(row["line"]) for row in measured))
    values = [_value(row) for row in measured]
    apart = far_apart(values)
    domain = [min(values) / 1.3, max(values) * 1.15] if apart else [0.0, max(values) * 1.1]
    height = max(HEIGHT, 20 + sum(map(_label_height, labels)))
    rows = _with_labels(measured, domain, height, apart=apart)
    words, unit = sentence_case(metric_words(analysis)), analysis.metric.unit
    title = f"{words}, {unit}" if unit else words
    axis = number_axis(
        [t for t in log_ticks(values) if domain[0] <= t <= domain[1]] if apart else None
    )
    y_scale = alt.Scale(type="log" if apart else "linear", domain=domain, nice=False, clamp=True)
    y = alt.Y("value:Q", title=title + (" (log scale)" if apart else ""), scale=y_scale, axis=axis)
    x = alt.X(
        "clients:Q",
        title="clients (log scale)",
        scale=alt.Scale(
            type="log",
            base=2,
            nice=False,
            range=[8, alt.ExprRef("width - 8 - max(132, min(170, width * 0.4))")],
        ),
        axis=alt.Axis(values=list(analysis.clients), format="d", labelOverlap=True, grid=False),
    )
    shade = alt.Color(
        "line:N",
        legend=None,
        scale=alt.Scale(domain=labels, range=_colours(labels, measured)),
    )
    drawing = _drawing(x, y, y_scale, shade)
    total = len({p.label for p in points})
    caption = "Means over repeats with their 95 % intervals"
    if len(labels) < total:
        caption += f"; {len(labels)} of {total} shown, the rest in the tables below"
    return Chart(name, f"{words} by clients", f"{caption}.", drawing, rows, height=height)


def _drawing(
    x: alt.X, y: alt.Y, y_scale: alt.Scale, shade: alt.Color
) -> alt.LayerChart | alt.FacetChart:
    """Lines, intervals, dots and names."""
    base = alt.Chart(named())
    lines = base.mark_line(strokeWidth=2.2).encode(
        x=x,
        y=y,
        color=shade,
        strokeDash=alt.StrokeDash(
            "side:N",
            legend=None,
            scale=alt.Scale(domain=["candidate", "baseline"], range=[[1, 0], [5, 4]]),
        ),
    )
    reach = base.mark_rule(strokeWidth=1.6).encode(
        x=x, y=alt.Y("low:Q", scale=y_scale), y2=alt.Y2("high:Q"), color=shade
    )
    dots = base.mark_point(size=40, filled=True, opacity=1).encode(
        x=x, y=y, color=shade, tooltip=mean_tips(alt.Tooltip("line:N", title="cell"))
    )
    ends = (
        base.mark_text(
            align="left",
            baseline="middle",
            dx=9,
            fontSize=12,
            fontWeight=600,
            lineBreak="\n",
            lineHeight=GAP,
        )
        .transform_filter("datum.short")
        .encode(x=x, y=alt.Y("place:Q", scale=y_scale), text=alt.Text("short:N"), color=shade)
    )
    layered: alt.LayerChart | alt.FacetChart = alt.layer(lines, reach, dots, ends)
    return layered


def _colours(labels: Sequence[str], rows: Sequence[Row]) -> list[str]:
    baselines = {row["line"] for row in rows if row["side"] == "baseline"}
    hues = iter(PALETTE)
    return [GREY if label in baselines else next(hues) for label in labels]


def _rows(analysis: Analysis, points: Sequence[Point]) -> list[Row]:
    baselines = {id(c.baseline) for c in analysis.comparisons}
    kept = _kept(analysis, points)
    rows: list[Row] = []
    for point in points:
        mean = point.estimate(analysis.metric_name)
        if mean is None or point.label not in kept:
            continue
        rows.append(
            {
                "line": point.label,
                "side": "baseline" if id(point) in baselines else "candidate",
                "clients": point.clients,
                "value": mean.value,
                "low": mean.value if mean.low is None else mean.low,
                "high": mean.value if mean.high is None else mean.high,
            }
        )
    return rows


def _kept(analysis: Analysis, points: Sequence[Point]) -> set[str]:
    """The cells of the largest effects beside their baselines, then the first ones: as many as have
    names that fit beside one another."""
    compared = sorted(analysis.comparisons, key=_size, reverse=True)
    telling = [
        side.label for comparison in compared for side in (comparison.baseline, comparison.point)
    ]
    kept: set[str] = set()
    used = 0
    cells = dict.fromkeys(point.label for point in points)
    for cell in dict.fromkeys([*telling, *cells]):
        height = _label_height(cell) if cell in cells else 0
        fits = len(kept) < MOST_LINES and used + height <= MOST_HEIGHT - 20
        if height and (len(kept) < 2 or fits):
            kept.add(cell)
            used += height
    return kept


def _size(comparison: Comparison) -> float:
    effect = comparison.judgement.effect
    return abs(effect.log_effect) if isinstance(effect, PairedEffect) else 0.0


def _with_labels(
    rows: Sequence[Row], domain: Sequence[float], height: int, *, apart: bool
) -> tuple[Row, ...]:
    """Each line's name at its last load, moved so that no two names overlap."""
    low, high = (math.log(end) if apart else end for end in domain)

    def pixel(value: float) -> float:
        at = math.log(value) if apart else value
        return height * (high - at) / (high - low)

    def back(place: float) -> float:
        at = high - place / height * (high - low)
        return math.exp(at) if apart else at

    last: dict[str, Row] = {}
    for row in rows:
        if str(row["line"]) not in last or _clients(row) > _clients(last[str(row["line"])]):
            last[str(row["line"])] = row
    places: dict[str, float] = {}
    lowest = -math.inf
    for label, row in sorted(last.items(), key=lambda entry: pixel(_value(entry[1]))):
        wanted = pixel(_value(row))
        half = _label_height(label) / 2
        places[label] = max(wanted, lowest + half)
        lowest = places[label] + half
    over = max(0.0, max(places.values(), default=0.0) - (height - 8))
    drawn: list[Row] = []
    for row in rows:
        label = str(row["line"])
        ends = last[label] is row
        place = back(max(8.0, places[label] - over)) if ends else _value(row)
        clipped = {
            end: min(max(float(str(row[end])), domain[0]), domain[1]) for end in ("low", "high")
        }
        drawn.append({**row, **clipped, "short": _label(label) if ends else "", "place": place})
    return tuple(drawn)


def _label(name: str) -> str:
    return "\n".join(textwrap.wrap(name, LABEL)) or name


def _label_height(name: str) -> int:
    """Pixels that a name needs."""
    return GAP * (_label(name).count("\n") + 1)


def _value(row: Row) -> float:
    return float(str(row["value"]))


def _clients(row: Row) -> int:
    return int(str(row["clients"]))
