"""Every comparison's ratio with its interval, against the band that doesn't matter."""

import math

import altair as alt

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.sentences import where
from dbdyno.report.charts.chart import Chart, Row
from dbdyno.report.charts.encoding import label_axis, label_height, log_ticks, named, wrapped
from dbdyno.report.terms.wording import verdict_word
from dbdyno.stats import PairedEffect

CAPTION = (
    "Dot: geometric mean of the blocks' ratios; bar: its 95 % interval, cut at the edge where it "
    "is wider; ticks: single blocks; grey band: effects too small to matter to this study."
)

COLOURS = {
    "faster": "#009E73",
    "better (lower)": "#009E73",
    "slower": "#D55E00",
    "worse (higher)": "#D55E00",
    "equivalent": "#0072B2",
    "changed, but small": "#3195C9",
    "suggestive": "#8E7F3F",
    "cannot tell": "#8A8A8A",
}


def effects(analysis: Analysis) -> Chart:
    """The forest of effects; no rows where nothing can be compared."""
    rows = _rows(analysis)
    words = list(dict.fromkeys(str(row["verdict"]) for row in rows))
    shade = alt.Color(
        "verdict:N",
        title="verdict",
        scale=alt.Scale(domain=words, range=[COLOURS[word] for word in words]),
    )
    domain = _domain(rows)
    scale = alt.Scale(type="log", domain=domain, nice=False)
    title = "÷ baseline (log scale)"
    axis = alt.Axis(labelExpr=AS_EFFECT, values=effect_ticks(domain))
    y = label_axis()
    base = alt.Chart(named())
    ranges = base.mark_rule(strokeWidth=2.5, clip=True).encode(
        x=alt.X("low:Q", scale=scale, title=title, axis=axis), x2=alt.X2("high:Q"), y=y, color=shade
    )
    pairs = (
        base.transform_flatten(["pairs"])
        .mark_tick(thickness=1.5, size=10, opacity=0.7, clip=True)
        .encode(x=alt.X("pairs:Q"), y=y, color=shade)
    )
    dots = base.mark_point(size=90, filled=True, clip=True, opacity=1).encode(
        x=alt.X("ratio:Q"),
        y=y,
        color=shade,
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
        CAPTION,
        _band(analysis.material.study.primary.smallest_effect) + ranges + pairs + dots,
        rows,
        height=label_height(rows),
    )


AS_EFFECT = (
    "datum.value >= 2 || datum.value <= 0.5 ? '×' + format(datum.value, '~r') : "
    "(datum.value > 1.00001 ? '+' : datum.value < 0.99999 ? '−' : '±') + "
    "format(abs(datum.value - 1) * 100, '.3~r') + ' %'"
)
"""A ratio as in sentences: `+2 %`, `−10 %`, `×2.5`."""

_STEPS = (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50)
"""Percent between ticks."""


def effect_ticks(domain: list[float]) -> list[float]:
    """Round ratios where the effects lie: 4 to 9 of them, no change always among them."""
    low, high = domain
    if high / low > 4:
        wide = [tick for tick in log_ticks(domain) if _inside(tick, domain)]
        return sorted({*wide, 1.0})
    width = 100 * (high - low)
    step = next((step for step in _STEPS if width / step <= 8), 50)
    first, last = math.ceil(100 * (low - 1) / step), math.floor(100 * (high - 1) / step)
    return [1 + step * place / 100 for place in range(first, last + 1)]


def _band(smallest_effect: float) -> alt.LayerChart | alt.FacetChart:
    margin = 1 + smallest_effect
    data = alt.InlineData(values=[{"from": 1 / margin, "to": margin, "one": 1}])
    base = alt.Chart(data)
    band = base.mark_rect(opacity=0.18, color="#888888", clip=True).encode(
        x=alt.X("from:Q"), x2=alt.X2("to:Q")
    )
    parity = base.mark_rule(color="#888888").encode(x=alt.X("one:Q"))
    drawn: alt.LayerChart | alt.FacetChart = alt.layer(band, parity)
    return drawn


def _domain(rows: tuple[Row, ...]) -> list[float]:
    """All single blocks, and some room for intervals; these may be wider than any chart."""
    ratios = [1.0]
    for row in rows:
        pairs = row["pairs"]
        ratios += pairs if isinstance(pairs, list) else []
    room = max(1.02, max(ratios) / min(ratios)) ** 0.35
    return [min(ratios) / room, max(ratios) * room]


def _inside(tick: float, domain: list[float]) -> bool:
    return domain[0] <= tick <= domain[1]


def _rows(analysis: Analysis) -> tuple[Row, ...]:
    rows: list[Row] = []
    for comparison in analysis.comparisons:
        effect = comparison.judgement.effect
        if not isinstance(effect, PairedEffect):
            continue
        low, high = effect.ratio_interval
        verdict = comparison.judgement.verdict
        rows.append(
            {
                "point": where(comparison.point, analysis),
                "label": wrapped(where(comparison.point, analysis)),
                "against": comparison.baseline.label,
                "ratio": effect.ratio,
                "low": low,
                "high": high,
                "blocks": effect.blocks,
                "pairs": [math.exp(d) for d in effect.differences],
                "verdict": verdict_word(verdict, analysis.metric),
            }
        )
    return tuple(rows)
