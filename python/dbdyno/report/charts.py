"""Every chart of a report, as Vega-Lite through Altair; data stays apart from the drawing.

A chart's rows lie in a named table (`rows`), which the page fills for the selected view, and which
the exports inline. Colour follows the level of the first factor, so a level looks the same in all
charts; the other factors show as dash and shape.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt
import numpy as np

from dbdyno.report.analyse import Analysis, Point
from dbdyno.report.wording import verdict_word, where
from dbdyno.stats import NotComparable, percentiles

Row = Mapping[str, object]

PALETTE = (
    "#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00",
    "#8C6BB1", "#A6761D", "#7A9A01", "#7F7F7F",
)  # fmt: skip
"""Okabe and Ito's colours less black and yellow, which vanish on one of the two grounds."""

DASHES = ((1, 0), (6, 3), (2, 2), (8, 2, 2, 2), (10, 4), (4, 4), (1, 3), (12, 3, 3, 3))
PERCENTILE_COLOURS = ("#4393C3", "#2166AC", "#8C6BB1", "#D6604D", "#B2182B")


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing and its rows."""

    name: str
    title: str
    caption: str
    drawing: alt.LayerChart | alt.FacetChart
    rows: tuple[Row, ...]
    selector: str | None = None
    """`clients` or `point`: the page shows the rows whose `key` is chosen there."""
    height: int = 300
    log_scale: bool = False
    """The page offers a logarithmic y axis."""

    def spec(self) -> dict[str, object]:
        """Vega-Lite without rows, as wide as the page allows."""
        drawn: dict[str, object] = self.drawing.properties(
            width="container", height=self.height
        ).to_dict()
        return drawn

    def static(self) -> dict[str, object]:
        """Vega-Lite with rows, one panel a selectable view."""
        drawing = self.drawing.copy(deep=True)
        data = alt.InlineData(values=[dict(row) for row in self.rows])
        if self.selector is None:
            whole = drawing.properties(width=640, height=self.height, title=self.title)
            whole.data = data
            return dict(whole.to_dict())
        drawing.data = alt.Undefined
        panels = drawing.properties(width=420, height=min(self.height, 240)).facet(
            facet=alt.Facet("view:N", title=None, sort=_unique(self.rows, "view")),
            columns=2,
            data=data,
            title=self.title,
        )
        return dict(panels.to_dict())


def _unique(rows: tuple[Row, ...], key: str) -> list[str]:
    return list(dict.fromkeys(str(row[key]) for row in rows))


def charts(analysis: Analysis) -> tuple[Chart, ...]:
    """All charts that have something to show, in the page's order."""
    made = [
        effects(analysis),
        by_clients(
            analysis,
            "throughput",
            name="throughput-by-clients",
            caption="Line: median over blocks. Every dot is one block; hollow ones were "
            "interrupted and are not counted.",
        ),
        latency_percentiles(analysis),
        latency_curve(analysis),
        over_time(analysis, "throughput-over-time", "events_per_s", "Events per second"),
        over_time(analysis, "latency-over-time", "p99_ms", "p99 of the interval, ms"),
        by_clients(
            analysis,
            "client_cpu",
            name="client-cpu",
            caption="CPU time of the engine's process per statement. For a database in the same "
            "process it includes the database's own.",
        ),
    ]
    return tuple(chart for chart in made if chart is not None and chart.rows)


def _levels(point: Point) -> tuple[str, str]:
    """What colour stands for, and what dash and shape stand for."""
    told = [point.cell.levels[name] for name in point.varying]
    first, *others = told or [point.label]
    return first, ", ".join(others)


def _colour(analysis: Analysis) -> alt.Color:
    domain = list(dict.fromkeys(_levels(point)[0] for point in analysis.points))
    colours = [PALETTE[index % len(PALETTE)] for index in range(len(domain))]
    return alt.Color(
        "colour:N",
        title=analysis.varying[0] if analysis.varying else None,
        scale=alt.Scale(domain=domain, range=colours),
        legend=alt.Legend(symbolType="circle") if len(domain) > 1 else None,
    )


def _variants(analysis: Analysis) -> tuple[list[str], str]:
    domain = list(dict.fromkeys(_levels(point)[1] for point in analysis.points))
    title = ", ".join(analysis.varying[1:])
    return domain, title


def _dash(analysis: Analysis) -> alt.StrokeDash:
    domain, title = _variants(analysis)
    dashes = [list(DASHES[index % len(DASHES)]) for index in range(len(domain))]
    return alt.StrokeDash(
        "variant:N",
        title=title,
        scale=alt.Scale(domain=domain, range=dashes),
        legend=alt.Legend(symbolSize=400, symbolStrokeWidth=2) if len(domain) > 1 else None,
    )


def _fade(field: str) -> tuple[alt.Parameter, alt.When]:
    """Clicking a legend entry fades all others."""
    chosen = alt.selection_point(fields=[field], bind="legend", name=f"{field}_chosen")
    return chosen, alt.when(chosen)


def _zoom() -> alt.Parameter:
    """Shift and wheel zoom, dragging moves; a plain wheel scrolls the page."""
    return alt.selection_interval(
        bind="scales",
        zoom="wheel![event.shiftKey]",
        translate="[mousedown, window:mouseup] > window:mousemove!",
        name="zoom",
    )


def _named() -> alt.NamedData:
    return alt.NamedData(name="rows")


def by_clients(analysis: Analysis, metric: str, *, name: str, caption: str) -> Chart:
    """A metric over the number of clients: medians as lines, blocks as dots."""
    rows: list[Row] = []
    for point in analysis.points:
        colour, variant = _levels(point)
        found = point.spread(metric)
        for figures in point.blocks:
            value = figures.value(metric)
            if value is None:
                continue
            rows.append(
                {
                    "cell": point.label,
                    "colour": colour,
                    "variant": variant,
                    "clients": point.clients,
                    "value": value,
                    "median": found.median if found else None,
                    "block": figures.block,
                    "run": figures.run_id,
                    "status": "counted" if figures.counted else "interrupted",
                }
            )
    unit = METRIC_UNITS[metric]
    chosen, when = _fade("colour")
    opacity = when.then(alt.value(1)).otherwise(alt.value(0.12))
    several = len(analysis.clients) > 1
    x = alt.X(
        "clients:O" if not several else "clients:Q",
        title="clients",
        scale=alt.Undefined if not several else alt.Scale(type="log", base=2, padding=12),
        axis=alt.Axis(labelAngle=0)
        if not several
        else alt.Axis(values=list(analysis.clients), format="d", labelOverlap=True),
    )
    scale = alt.Scale(zero=True, nice=True)
    colour_of = _colour(analysis)
    tooltip = [
        alt.Tooltip("cell:N"),
        alt.Tooltip("clients:Q"),
        alt.Tooltip("block:O"),
        alt.Tooltip("value:Q", title=unit, format=",.4~g"),
        alt.Tooltip("median:Q", title="median", format=",.4~g"),
        alt.Tooltip("status:N"),
        alt.Tooltip("run:N"),
    ]
    base = alt.Chart(_named())
    lines = base.mark_line(strokeWidth=2).encode(
        x=x,
        y=alt.Y("median:Q", title=unit, scale=scale, axis=alt.Axis(format="~s")),
        color=colour_of,
        strokeDash=_dash(analysis),
        detail="cell:N",
        opacity=opacity,
    )
    dots = base.mark_point(size=42, strokeWidth=1.5).encode(
        x=x,
        y=alt.Y("value:Q", title=unit, scale=scale),
        color=colour_of,
        shape=_shape(analysis),
        fillOpacity=alt.when(alt.datum.status == "counted")
        .then(alt.value(0.65))
        .otherwise(alt.value(0)),
        fill=alt.Fill("colour:N", scale=colour_of["scale"], legend=None),
        opacity=opacity,
        tooltip=tooltip,
    )
    drawing = (lines + dots).add_params(chosen, _zoom())
    title = METRIC_TITLES[metric] + " by clients"
    return Chart(name, title, caption, drawing, tuple(rows), height=340, log_scale=True)


METRIC_UNITS = {"throughput": "events/s", "client_cpu": "µs per statement"}
METRIC_TITLES = {"throughput": "Throughput", "client_cpu": "Client CPU per statement"}


def _shape(analysis: Analysis) -> alt.Shape:
    domain, title = _variants(analysis)
    names = ["circle", "square", "triangle-up", "diamond", "cross", "triangle-down"]
    shapes = [names[index % len(names)] for index in range(len(domain))]
    return alt.Shape(
        "variant:N",
        title=title,
        scale=alt.Scale(domain=domain, range=shapes),
        legend=alt.Legend() if len(domain) > 1 else None,
    )


def effects(analysis: Analysis) -> Chart | None:
    """Every comparison's ratio with its interval, against the band that doesn't matter."""
    rows: list[Row] = []
    ratios = [1.0]
    for comparison in analysis.comparisons:
        effect = comparison.judgement.effect
        if isinstance(effect, NotComparable):
            continue
        low, high = effect.ratio_interval
        ratios += [math.exp(d) for d in effect.differences]
        word = verdict_word(comparison.judgement.verdict, analysis.metric, analysis.metric_name)
        rows.append(
            {
                "point": where(comparison.point, analysis),
                "against": comparison.baseline.label,
                "ratio": effect.ratio,
                "low": low,
                "high": high,
                "blocks": effect.blocks,
                "pairs": [math.exp(d) for d in effect.differences],
                "verdict": word,
                "told": "cannot tell" if word == "cannot tell" else "told",
            }
        )
    if not rows:
        return None
    room = max(1.05, max(ratios) / min(ratios)) ** 0.35
    domain = [min(ratios) / room, max(ratios) * room]
    margin = 1 + analysis.material.study.primary.smallest_effect
    x = alt.X(
        "ratio:Q",
        title=f"{analysis.metric.title.lower()}, candidate ÷ baseline (log scale)",
        scale=alt.Scale(type="log", domain=domain, nice=False),
        axis=alt.Axis(format="~r", tickCount=8),
    )
    y = alt.Y("point:N", title=None, sort=None, axis=alt.Axis(labelLimit=420))
    words = _unique(tuple(rows), "verdict")
    colour = alt.Color(
        "verdict:N",
        scale=alt.Scale(domain=words, range=[_verdict_colour(word) for word in words]),
        title="verdict",
    )
    band_rows = alt.InlineData(values=[{"from": 1 / margin, "to": margin}])
    band = (
        alt.Chart(band_rows)
        .mark_rect(opacity=0.18, color="#888888", clip=True)
        .encode(x="from:Q", x2="to:Q")
    )
    one = alt.Chart(band_rows).mark_rule(color="#888888").encode(x=alt.datum(1.0))
    base = alt.Chart(_named())
    ranges = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=x.copy(), x2="high:Q", y=y, color=colour
    )
    ranges.encoding.x = alt.X("low:Q", scale=x["scale"], title=x["title"], axis=x["axis"])
    pairs = (
        base.transform_flatten(["pairs"])
        .mark_tick(thickness=1.5, size=10, opacity=0.7, clip=True)
        .encode(x=alt.X("pairs:Q"), y=y, color=colour)
    )
    dots = base.mark_point(size=90, filled=True, clip=True, opacity=1).encode(
        x=x,
        y=y,
        color=colour,
        tooltip=[
            alt.Tooltip("point:N"),
            alt.Tooltip("against:N"),
            alt.Tooltip("ratio:Q", format=".4~g"),
            alt.Tooltip("low:Q", title="95 % from", format=".4~g"),
            alt.Tooltip("high:Q", title="to", format=".4~g"),
            alt.Tooltip("blocks:Q"),
            alt.Tooltip("verdict:N"),
        ],
    )
    return Chart(
        "effects",
        f"{analysis.metric.title} against the baseline",
        "Dot: geometric mean of the blocks' ratios; bar: its 95 % interval (cut at the edge where "
        "it is wider); ticks: single blocks; grey band: effects too small to matter to this study.",
        band + one + ranges + pairs + dots,
        tuple(rows),
        height=max(90, 24 * len(rows)),
    )


def _verdict_colour(word: str) -> str:
    if word in ("faster", "better (lower)"):
        return "#009E73"
    if word in ("slower", "worse (higher)"):
        return "#D55E00"
    return {"equivalent": "#0072B2", "changed, but small": "#56B4E9"}.get(word, "#8A8A8A")


PERCENTILE_NAMES = ("p50", "p95", "p99", "p99.9", "max")


def latency_percentiles(analysis: Analysis) -> Chart:
    """Five percentiles of each cell on one line; one load at a time."""
    rows: list[Row] = []
    for point in analysis.points:
        if point.latency is None:
            continue
        d = point.latency
        for name, value in zip(PERCENTILE_NAMES, (d.p50, d.p95, d.p99, d.p999, d.max), strict=True):
            rows.append(
                {
                    "cell": point.label,
                    "percentile": name,
                    "ms": value / 1e6,
                    "events": d.count,
                    "key": str(point.clients),
                    "view": _clients_view(point.clients),
                }
            )
    base = alt.Chart(_named())
    x = alt.X(
        "ms:Q", title="response time, ms (log scale)", scale=alt.Scale(type="log", nice=True),
        axis=alt.Axis(format="~g", tickCount=6),
    )  # fmt: skip
    y = alt.Y("cell:N", title=None, sort=None, axis=alt.Axis(labelLimit=420))
    lines = base.mark_line(color="#999999", strokeWidth=1.5).encode(x=x, y=y, detail="cell:N")
    dots = base.mark_point(size=80, filled=True, opacity=1).encode(
        x=x,
        y=y,
        color=alt.Color(
            "percentile:N",
            title=None,
            scale=alt.Scale(domain=list(PERCENTILE_NAMES), range=list(PERCENTILE_COLOURS)),
            legend=alt.Legend(orient="top"),
        ),
        shape=alt.Shape(
            "percentile:N",
            scale=alt.Scale(
                domain=list(PERCENTILE_NAMES),
                range=["circle", "square", "diamond", "triangle-up", "cross"],
            ),
        ),
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
        height=max(80, 26 * len(analysis.cells)),
    )


def _clients_view(clients: int) -> str:
    return f"{clients} client{'s' if clients > 1 else ''}"


def latency_curve(analysis: Analysis) -> Chart:
    """The whole distribution, with the tail stretched out: x is 1/(1 − q)."""
    rows: list[Row] = []
    for point in analysis.points:
        if point.latency is None:
            continue
        colour, variant = _levels(point)
        nines = math.log10(max(10.0, point.latency.count))
        inverses = np.logspace(0, nines, max(2, int(nines * 12)))
        ranks = [100 * (1 - 1 / inverse) for inverse in inverses]
        for inverse, rank, value in zip(
            inverses, ranks, percentiles(point.histogram, ranks), strict=True
        ):
            rows.append(
                {
                    "cell": point.label,
                    "colour": colour,
                    "variant": variant,
                    "inverse": round(float(inverse), 4),
                    "rank": round(rank, 5),
                    "ms": value / 1e6,
                    "key": str(point.clients),
                    "view": _clients_view(point.clients),
                }
            )
    chosen, when = _fade("colour")
    labels = "format(100 * (1 - 1 / datum.value), '.6~g') + ' %'"
    lines = (
        alt.Chart(_named())
        .mark_line(strokeWidth=2, interpolate="step-before")
        .encode(
            x=alt.X(
                "inverse:Q",
                title="share of events at or below",
                scale=alt.Scale(type="log", nice=False),
                axis=alt.Axis(values=[2, 10, 100, 1e3, 1e4, 1e5, 1e6, 1e7], labelExpr=labels),
            ),
            y=alt.Y(
                "ms:Q",
                title="response time, ms (log scale)",
                scale=alt.Scale(type="log"),
                axis=alt.Axis(format="~g"),
            ),
            color=_colour(analysis),
            strokeDash=_dash(analysis),
            detail="cell:N",
            opacity=when.then(alt.value(1)).otherwise(alt.value(0.12)),
            tooltip=[
                alt.Tooltip("cell:N"),
                alt.Tooltip("rank:Q", title="percentile"),
                alt.Tooltip("ms:Q", format=",.4~g"),
            ],
        )
    )
    return Chart(
        "latency-curve",
        "Distribution of response times",
        "Merged over all counted blocks; each step to the right is ten times rarer.",
        alt.layer(lines).add_params(chosen, _zoom()),
        tuple(rows),
        selector="clients",
    )


def over_time(analysis: Analysis, name: str, field: str, title: str) -> Chart:
    """A series with all blocks overlaid at the beginning of the window, warm-up shaded."""
    rows: list[Row] = []
    for point in analysis.points:
        for run in analysis.material.runs:
            series = run.series.get(point.step)
            if series is None or dict(run.manifest.cell) != dict(point.cell.levels):
                continue
            values = series.events_per_s if field == "events_per_s" else series.p99_ns / 1e6
            rows.extend(
                {
                    "key": f"{point.label} · {_clients_view(point.clients)}",
                    "view": f"{point.label} · {_clients_view(point.clients)}",
                    "block": str(run.manifest.block),
                    "second": round(float(second), 3),
                    "value": None if math.isnan(value) else float(f"{value:.5g}"),
                }
                for second, value in zip(series.start_s, values, strict=True)
            )
    blocks = sorted({str(row["block"]) for row in rows}, key=int)
    chosen, when = _fade("block")
    shade = (
        alt.Chart(
            alt.InlineData(values=[{"from": -analysis.material.study.load.warm_up_s, "to": 0}])
        )
        .mark_rect(opacity=0.13, color="#888888", clip=True)
        .encode(x=alt.X("from:Q", title="seconds from the beginning of the window"), x2="to:Q")
    )
    lines = (
        alt.Chart(_named())
        .mark_line(strokeWidth=1.4, point=alt.OverlayMarkDef(size=14))
        .encode(
            x=alt.X("second:Q", scale=alt.Scale(nice=False)),
            y=alt.Y("value:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(format="~s")),
            color=alt.Color(
                "block:N",
                title="block",
                scale=alt.Scale(
                    domain=blocks,
                    range=[PALETTE[index % len(PALETTE)] for index in range(len(blocks))],
                ),
            ),
            opacity=when.then(alt.value(0.9)).otherwise(alt.value(0.08)),
            tooltip=[
                alt.Tooltip("block:N"),
                alt.Tooltip("second:Q"),
                alt.Tooltip("value:Q", title=title, format=",.4~g"),
            ],
        )
    )
    return Chart(
        name,
        title,
        "One line a block, laid over one another at the beginning of the window; the shaded part "
        "is warm-up and not counted.",
        (shade + lines).add_params(chosen, _zoom()),
        tuple(rows),
        selector="point",
        height=220,
        log_scale=True,
    )
