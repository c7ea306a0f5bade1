"""A figure of each level as a share of the baseline's, all else alike: throughput of every release
against the first (relative QPS), or of every build, statement by statement.

The levels are those of the factor that the baseline names first, along the axis in the study's
order; a line is what the other factors make of it. Lines may be put together in groups, which share
a colour and have a mean of their own in the table.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import altair as alt

from dbdyno.model import find_figure
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import effect_between, mean_effect
from dbdyno.report.analysis.points import Point, label
from dbdyno.report.analysis.turns_effect import Found
from dbdyno.report.charts.chart import Chart, Drawing, Row
from dbdyno.report.charts.encoding import (
    PALETTE,
    clients_text,
    fade,
    named,
    number_axis,
)
from dbdyno.report.terms.table import Column, Table, Value
from dbdyno.report.terms.wording import count, ratio
from dbdyno.stats import PairedEffect

CAPTION = (
    "Dot: geometric mean of the blocks' ratios; bar: its 95 % interval. The baseline's level is 1 "
    "by definition."
)
ALONE = "all"
"""The line of a study in which nothing else varies, and the group of what no group names."""


@dataclass(frozen=True, slots=True)
class _Ratio:
    """A level against the baseline's, at one load."""

    group: str
    line: str
    """The levels of the other factors."""
    level: str
    clients: int
    found: Found
    ratio: float
    low: float | None
    """Of the 95 % interval; `None` for a single block."""
    high: float | None
    is_mean: bool = False
    """Of all lines of the group."""


def draw(
    analysis: Analysis,
    metric: str,
    *,
    name: str,
    groups: Mapping[str, Sequence[str]] | None = None,
) -> Chart:
    """One load at a time; nothing where no level can be held against the baseline's."""
    factor = compared_factor(analysis)
    ratios = tuple(_ratios(analysis, metric, factor, groups or {}))
    rows = tuple(_rows(analysis, factor, ratios))
    title = find_figure(metric).title
    order = [level.name for level in analysis.material.study.factor(factor).levels]
    base = baseline_level(analysis, factor)
    drawing = _drawing(rows, order, factor, f"{title} ÷ that of {base}", grouped=bool(groups))
    return Chart(
        name,
        f"{title} against {base}",
        CAPTION,
        drawing,
        rows,
        "clients",
        height=340,
        table=_table(name, f"{title} against {base}", factor, ratios, groups or {}),
    )


def compared_factor(analysis: Analysis) -> str:
    """The first factor that the baseline names and of which several levels were run, else the
    first that varies."""
    named_first = [
        name for name in analysis.material.study.design.baseline if name in analysis.varying
    ]
    return (*named_first, *analysis.varying, analysis.material.study.factors[0].name)[0]


def baseline_level(analysis: Analysis, factor: str) -> str:
    """What the others are held against."""
    study = analysis.material.study
    return study.design.baseline.get(factor, study.factor(factor).levels[0].name)


def _ratios(
    analysis: Analysis, metric: str, factor: str, groups: Mapping[str, Sequence[str]]
) -> Iterator[_Ratio]:
    base = baseline_level(analysis, factor)
    known = {(_others(point, factor), point.step): point for point in _at(analysis, factor, base)}
    varying = tuple(name for name in analysis.varying if name != factor)
    for point in analysis.points:
        reference = known.get((_others(point, factor), point.step))
        level = point.cell.levels[factor]
        if reference is None or level == base:
            continue
        line = label(point.cell.levels, varying) if varying else ALONE
        found = effect_between(point, reference, metric)
        text = _told(point, reference, metric, found)
        if text is not None:
            group = _group(point, factor, groups)
            yield _Ratio(group, line, level, point.clients, found, *text)


def _at(analysis: Analysis, factor: str, level: str) -> Iterator[Point]:
    return (point for point in analysis.points if point.cell.levels[factor] == level)


def _others(point: Point, factor: str) -> tuple[tuple[str, str], ...]:
    return tuple(sorted(pair for pair in point.cell.levels.items() if pair[0] != factor))


def _group(point: Point, factor: str, groups: Mapping[str, Sequence[str]]) -> str:
    levels = {level for name, level in point.cell.levels.items() if name != factor}
    return next((name for name, members in groups.items() if levels & set(members)), ALONE)


def _told(
    point: Point, reference: Point, metric: str, found: Found
) -> tuple[float, float | None, float | None] | None:
    """The ratio with its interval, or without where a single block has none."""
    if isinstance(found.effect, PairedEffect):
        return found.effect.ratio, *found.effect.ratio_interval
    ours, theirs = point.values(metric), reference.values(metric)
    logs = [
        math.log(ours[block] / theirs[block])
        for block in ours.keys() & theirs.keys()
        if ours[block] * theirs[block] > 0
    ]
    return (math.exp(sum(logs) / len(logs)), None, None) if logs else None


def _rows(analysis: Analysis, factor: str, ratios: Sequence[_Ratio]) -> Iterator[Row]:
    base = baseline_level(analysis, factor)
    for line, clients in dict.fromkeys((drawn.line, drawn.clients) for drawn in ratios):
        members = [drawn for drawn in ratios if (drawn.line, drawn.clients) == (line, clients)]
        yield _row(replace(members[0], level=base, ratio=1.0, low=None, high=None))
        yield from map(_row, members)


def _row(drawn: _Ratio) -> Row:
    return {
        "line": drawn.line,
        "group": drawn.group,
        "level": drawn.level,
        "ratio": drawn.ratio,
        "low": drawn.ratio if drawn.low is None else drawn.low,
        "high": drawn.ratio if drawn.high is None else drawn.high,
        "key": str(drawn.clients),
        "view": clients_text(drawn.clients),
    }


def _drawing(
    rows: Sequence[Row], order: Sequence[str], factor: str, title: str, *, grouped: bool
) -> Drawing:
    by = "group" if grouped else "line"
    domain = list(dict.fromkeys(str(row[by]) for row in rows))
    colours = [PALETTE[place % len(PALETTE)] for place in range(len(domain))]
    shade = alt.Color(
        f"{by}:N",
        title=None,
        scale=alt.Scale(domain=domain, range=colours),
        legend=alt.Legend(labelLimit=0) if len(domain) > 1 else None,
    )
    chosen, when = fade(by)
    opacity = when.then(alt.value(1)).otherwise(alt.value(0.12))
    x = alt.X("level:N", title=factor, sort=list(order), axis=alt.Axis(labelAngle=0))
    y = alt.Y("ratio:Q", title=title, axis=number_axis(), scale=alt.Scale(zero=False))
    base = alt.Chart(named())
    lines = base.mark_line(strokeWidth=2).encode(
        x=x, y=y, color=shade, detail=alt.Detail("line:N"), opacity=opacity
    )
    reach = base.mark_rule(strokeWidth=1.5).encode(
        x=x, y=alt.Y("low:Q", title=title), y2=alt.Y2("high:Q"), color=shade, opacity=opacity
    )
    dots = base.mark_point(size=50, filled=True).encode(
        x=x,
        y=y,
        color=shade,
        opacity=opacity,
        tooltip=[
            alt.Tooltip("line:N"),
            alt.Tooltip("level:N"),
            alt.Tooltip("ratio:Q", format=".4~g"),
            alt.Tooltip("low:Q", title="95 % from", format=".4~g"),
            alt.Tooltip("high:Q", title="to", format=".4~g"),
        ],
    )
    parity = alt.Chart(alt.InlineData(values=[{"one": 1}]))
    rule = parity.mark_rule(strokeDash=[4, 4], color="#888888").encode(
        y=alt.Y("one:Q", title=title)
    )
    return alt.layer(rule, lines, reach, dots.add_params(chosen))


def _table(
    name: str,
    title: str,
    factor: str,
    ratios: Sequence[_Ratio],
    groups: Mapping[str, Sequence[str]],
) -> Table:
    """Group by group, each with its mean where it has several lines."""
    place = {group: number for number, group in enumerate((*groups, ALONE))}
    every = sorted((*ratios, *_means(ratios, groups)), key=lambda r: (place[r.group], r.is_mean))
    values: tuple[tuple[Value, ...], ...] = tuple(
        (
            drawn.group if groups else None,
            drawn.line,
            drawn.level,
            drawn.clients,
            drawn.ratio,
            None if drawn.low is None or drawn.high is None else (drawn.low, drawn.high),
        )
        for drawn in every
    )
    columns = (
        Column("Group", "group"),
        Column("Of", "line"),
        Column(factor, "level"),
        Column("Clients", "clients", count),
        Column("Ratio", "ratio", ratio),
        Column("95 % interval", "ratio_95", ratio, pair=True),
    )
    return Table(name, title, columns, values).without_empty()


def _means(ratios: Sequence[_Ratio], groups: Mapping[str, Sequence[str]]) -> Iterator[_Ratio]:
    """Of the groups that the study names and that have more than one line."""
    for group in groups:
        members = [drawn for drawn in ratios if drawn.group == group]
        for level, clients in dict.fromkeys((member.level, member.clients) for member in members):
            alike = [
                member for member in members if (member.level, member.clients) == (level, clients)
            ]
            effect = mean_effect([drawn.found for drawn in alike])
            if len(alike) > 1 and isinstance(effect, PairedEffect):
                mean = f"mean of {len(alike)}"
                bounds = (effect.ratio, *effect.ratio_interval)
                yield _Ratio(group, mean, level, clients, Found(effect, ()), *bounds, is_mean=True)
