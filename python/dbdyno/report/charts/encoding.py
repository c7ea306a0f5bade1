"""Encodings shared by all charts: a colour per level, shapes, fading by legend, zoom.

Charts make channels by their classes (`alt.X2("high:Q")`): for a plain text Altair finds the class
by hashing all its 570 schemas, each time.
"""

import math
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.points import Point

PALETTE = (
    "#0072B2", "#BF7600", "#009E73", "#C46A9B", "#3195C9", "#D55E00",
    "#8C6BB1", "#A6761D", "#768F0A", "#7F7F7F",
)  # fmt: skip
"""Okabe and Ito's colours less black and yellow, the light ones darkened: each has a contrast of 3
to 1 at least with both grounds."""

SHAPES = ("circle", "square", "triangle-up", "diamond", "cross", "triangle-down")
DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (10, 4), (1, 4))


SHAPE_LEGEND = alt.Legend(symbolSize=90)

LABEL_WIDTH = 44
"""Characters per line of a label."""

LINE_HEIGHT = 13


def named() -> alt.NamedData:
    """The table the page fills."""
    return alt.NamedData(name="rows")


def levels(point: Point) -> tuple[str, str]:
    """The factors shown by colour, and by shape and dash."""
    shown = [point.cell.levels[name] for name in point.varying]
    first, *others = shown or [point.label]
    return first, ", ".join(others)


def colour_scale(analysis: Analysis) -> tuple[list[str], list[str]]:
    """Levels of the first factor and their colours."""
    domain = list(dict.fromkeys(levels(point)[0] for point in analysis.points))
    return domain, [PALETTE[index % len(PALETTE)] for index in range(len(domain))]


def colour(analysis: Analysis) -> alt.Color:
    """By the level of the first factor that varies."""
    domain, colours = colour_scale(analysis)
    return alt.Color(
        "colour:N",
        title=analysis.varying[0] if analysis.varying else None,
        scale=alt.Scale(domain=domain, range=colours),
        legend=alt.Legend(symbolType="circle", symbolStrokeWidth=3, symbolSize=70)
        if len(domain) > 1
        else None,
    )


def curves(
    analysis: Analysis,
    x: alt.X,
    y: alt.Y,
    interpolate: Literal["step-after", "step-before"],
    beside: Sequence[alt.Tooltip],
) -> alt.Chart:
    """A line a cell, in the order of `x` unless the caller says another; `beside` is told of a
    place on it, behind its cell."""
    chosen, when = fade("colour")
    drawn: alt.Chart = (
        alt.Chart(named())
        .mark_line(strokeWidth=2, interpolate=interpolate)
        .encode(
            x=x,
            y=y,
            color=colour(analysis),
            strokeDash=dash(analysis),
            detail=alt.Detail("cell:N"),
            opacity=when.then(alt.value(1)).otherwise(alt.value(0.12)),
            tooltip=[alt.Tooltip("cell:N"), *beside],
        )
        .add_params(chosen, zoom())
    )
    return drawn


def wrapped(text: str) -> str:
    """A label on as many lines as it takes not to be cut; the page wraps again where narrow."""
    return "\n".join(textwrap.wrap(text, LABEL_WIDTH)) or text


def label_axis(title: str | None = None) -> alt.Y:
    """The rows of a chart of labels, in the order of its data."""
    axis = alt.Axis(labelLimit=0, labelExpr=r"split(datum.label, '\n')", labelLineHeight=12)
    return alt.Y("label:N", title=title, sort=None, axis=axis)


def number_axis(values: Sequence[float] | None = None, *, per: float = 1.0) -> alt.Axis:
    """Thousands and more are shortened (40k), fractions are not (0.16, not 160m); in units of
    `per`."""
    value = "datum.value" if per == 1.0 else f"datum.value / {per:g}"
    shown = f"format({value}, abs({value}) < 1 ? '~r' : '~s')"
    return alt.Axis(labelExpr=shown, values=alt.Undefined if values is None else list(values))


def label_height(rows: Sequence[Mapping[str, object]]) -> int:
    """Pixels a chart of labels needs."""
    labels = {str(row["label"]) for row in rows}
    lines = max((label.count("\n") + 1 for label in labels), default=1)
    return max(80, (LINE_HEIGHT * lines + 12) * len(labels))


def _variants(analysis: Analysis) -> tuple[list[str], str]:
    domain = list(dict.fromkeys(levels(point)[1] for point in analysis.points))
    return domain, ", ".join(analysis.varying[1:])


def shape(analysis: Analysis) -> alt.Shape:
    """By the levels of the other factors."""
    domain, title = _variants(analysis)
    shapes = [SHAPES[index % len(SHAPES)] for index in range(len(domain))]
    return alt.Shape(
        "variant:N",
        title=title,
        scale=alt.Scale(domain=domain, range=shapes),
        legend=SHAPE_LEGEND if len(domain) > 1 else None,
    )


def dash(analysis: Analysis, *, beside_shapes: bool = False) -> alt.StrokeDash:
    """By the levels of the other factors; beside shapes it shares their legend."""
    domain, title = _variants(analysis)
    dashes = [list(DASHES[index % len(DASHES)]) for index in range(len(domain))]
    legend = SHAPE_LEGEND if beside_shapes else alt.Legend(symbolSize=500, symbolStrokeWidth=2)
    return alt.StrokeDash(
        "variant:N",
        title=title,
        scale=alt.Scale(domain=domain, range=dashes),
        legend=legend if len(domain) > 1 else None,
    )


FAR_APART = 30


def far_apart(values: Sequence[float]) -> bool:
    """The greatest value dwarfs the least: on a linear axis the small ones look alike."""
    return bool(values) and min(values) > 0 and max(values) / min(values) > FAR_APART


def mean_tips(cell: alt.Tooltip) -> list[alt.Tooltip]:
    """What the pointer shows of a mean: its `cell`, its load, the ends of its interval."""
    return [
        cell,
        alt.Tooltip("clients:Q"),
        alt.Tooltip("value:Q", title="mean", format=",.4~g"),
        alt.Tooltip("low:Q", title="95 % from", format=",.4~g"),
        alt.Tooltip("high:Q", title="to", format=",.4~g"),
    ]


def log_ticks(values: Iterable[float]) -> list[float]:
    """1, 2 and 5 of each decade the values cross; only the decades if these are many."""
    above = [value for value in values if value > 0]
    if not above:
        return []
    low, high = math.floor(math.log10(min(above))), math.ceil(math.log10(max(above)))
    steps = (1, 2, 5) if high - low <= 4 else (1,)
    return [step * 10.0**power for power in range(low, high + 1) for step in steps]


def fade(field: str, *, by_legend: bool = True) -> tuple[alt.Parameter, alt.When]:
    """Clicking a legend entry, or a line where there is no legend, fades all others."""
    bind: Literal["legend"] | alt.UndefinedType = "legend" if by_legend else alt.Undefined
    chosen = alt.selection_point(fields=[field], bind=bind, name=f"{field}_chosen")
    return chosen, alt.when(chosen)


def zoom() -> alt.Parameter:
    """Shift and wheel zoom, dragging moves; a plain wheel scrolls the page."""
    return alt.selection_interval(
        bind="scales",
        zoom="wheel![event.shiftKey]",
        translate="[mousedown, window:mouseup] > window:mousemove!",
        name="zoom",
    )


def clients_text(clients: int) -> str:
    """`1 client`, `16 clients`, on one line."""
    return f"{clients}\u00a0client{'s' if clients > 1 else ''}"


MOST_DOTS = 150
"""Intervals of a line above which dots on it are only a thicker line, and take long to draw."""


def longest(analysis: Analysis) -> int:
    """Intervals of the longest load."""
    steps = (series for run in analysis.material.runs for series in run.series.values())
    return max((series.start_s.size for series in steps), default=0)


def dots(intervals: int, size: int) -> alt.OverlayMarkDef | bool:
    """For a line with this many intervals."""
    return alt.OverlayMarkDef(size=size) if intervals <= MOST_DOTS else False


def view_key(point: Point) -> str:
    """A cell at a load, as the page's selector calls it."""
    return f"{point.label} · {clients_text(point.clients)}"
