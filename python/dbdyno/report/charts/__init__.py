"""All charts of a report, as Vega-Lite through Altair; data are kept apart from the drawing.

Kinds that are drawn only if a study names them are modules in folders by what they draw:
`of_figure`, `of_metrics`, `of_load`.

Colour follows the level of the first varying factor, so a level looks the same in all charts; the
other factors are shown by shape and dash.
"""

from dataclasses import replace
from importlib import import_module

from dbdyno.model import Chart as Asked
from dbdyno.model import draws_what
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.charts.chart import Chart
from dbdyno.report.charts.effects import effects
from dbdyno.report.charts.latency import latency_curve, latency_percentiles
from dbdyno.report.charts.lead import NAME as ANSWER
from dbdyno.report.charts.lead import lead
from dbdyno.report.charts.load import by_clients
from dbdyno.report.charts.scaling import fitted_curves
from dbdyno.report.charts.search import search_chart
from dbdyno.report.charts.shares import shares
from dbdyno.report.charts.time import over_time

__all__ = ["Chart", "charts"]

PANELS = ("processor.idle_s", "disk.written_bytes")
"""Metrics shown over time by default: processor and disk use."""


def _named(analysis: Analysis, asked: Asked) -> Chart | None:
    """A chart of a kind that is drawn only where it is named; `None` for the usual ones."""
    draws = draws_what(asked.kind)
    if draws is None:
        return None
    module = import_module(f"{__name__}.{draws}.{asked.kind.replace('-', '_')}")
    drawn: Chart
    match draws:
        case "of_figure":
            groups = {"groups": asked.groups} if asked.groups else {}
            drawn = module.draw(analysis, asked.metrics[0], name=asked.name, **groups)
        case "of_metrics":
            drawn = module.draw(analysis, asked.metrics, name=asked.name)
        case "of_load":
            drawn = module.draw(analysis, name=asked.name)
    return drawn


def _usual(analysis: Analysis) -> tuple[Chart, ...]:
    """Of a load; trials have no pace of their own."""
    return (
        effects(analysis),
        by_clients(analysis, analysis.pace_name, name="throughput-by-clients", note=""),
        fitted_curves(analysis),
        search_chart(analysis),
        latency_percentiles(analysis),
        latency_curve(analysis),
        over_time(analysis, "throughput"),
        over_time(analysis, "latency"),
        by_clients(
            analysis,
            "client_cpu",
            name="client-cpu",
            note=" CPU time of the engine's process: for an in-process database, the database's "
            "CPU is included.",
        ),
        by_clients(
            analysis,
            "bytes_per_statement",
            name="bytes-per-statement",
            note=" Sent and received, as they went through the client's sockets.",
        ),
    )


def _panels(analysis: Analysis) -> Chart | None:
    """What every report of sampled runs has where its study names no such chart: a place to add
    any metric to."""
    asked = analysis.material.study.charts
    if analysis.metric.of_trials or any(draws_what(chart.kind) == "of_metrics" for chart in asked):
        return None
    sampled = {
        f"{source}.{metric}": None
        for run in analysis.material.runs
        for source, metric in run.samples.series
    }
    metrics = tuple(name for name in PANELS if name in sampled) or tuple(sampled)[:1]
    return _named(analysis, Asked("metrics-over-time", metrics=metrics)) if metrics else None


def _first_view(chart: Chart) -> Chart:
    """A chart as the answer's picture: of the views that a reader may choose, the one that is shown
    first below."""
    if chart.selector is None:
        return replace(chart, name=ANSWER, table=None)
    keys = [str(row["key"]) for row in chart.rows]
    key = max(keys, key=int) if chart.selector == "clients" else keys[0]
    rows = tuple(row for row in chart.rows if str(row["key"]) == key)
    caption = f"{rows[0]['view']}. {chart.caption}"
    return replace(
        chart, name=ANSWER, rows=rows, selector=None, caption=caption, table=None, views=()
    )


def charts(analysis: Analysis) -> tuple[Chart, ...]:
    """All charts with content: the answer's, the comparison, those the study names, the rest."""
    study = analysis.material.study
    made = (
        *((shares(analysis),) if analysis.metric.of_trials else _usual(analysis)),
        *filter(None, (_panels(analysis), *(_named(analysis, chart) for chart in study.charts))),
    )
    asked = {chart.name: chart.title for chart in study.charts}
    titled = (replace(c, title=asked.get(c.name) or c.title) for c in made if c.rows)
    order = ("effects", *asked)
    ordered = sorted(titled, key=lambda c: order.index(c.name) if c.name in order else len(order))
    chosen = next((chart.name for chart in study.charts if chart.lead), None)
    named = next((chart for chart in ordered if chart.name == chosen), None)
    first = lead(analysis) if named is None else _first_view(named)
    return (*((first,) if first else ()), *ordered)
