"""The page: one HTML file that needs nothing but itself."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dbdyno.model import chart_kinds
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.answer.absent import absent_words
from dbdyno.report.answer.answer import answers, headline
from dbdyno.report.answer.first import first_answer
from dbdyno.report.answer.limits import limits
from dbdyno.report.answer.measured import credit, measured_words
from dbdyno.report.answer.trust import anchor, chips, gate_anchor
from dbdyno.report.charts import Chart
from dbdyno.report.gates.registry import gates
from dbdyno.report.page.paper import environment, payload, template_text
from dbdyno.report.sections.comparison_tables import comparisons_shown
from dbdyno.report.sections.fills import fills_table
from dbdyno.report.sections.provenance import (
    command_lines,
    data_to_cache,
    notes_table,
    rerun_lines,
)
from dbdyno.report.sections.published import agreement
from dbdyno.report.terms.table import Table


@dataclass(frozen=True, slots=True)
class Selector:
    """A selector shared by several charts."""

    name: str
    label: str
    options: tuple[str, ...]
    texts: tuple[str, ...]
    chosen: str


@dataclass(frozen=True, slots=True)
class Section:
    """One part of the page that the study can ask to see first: charts over their tables."""

    title: str
    charts: tuple[str, ...]
    selector: str = ""
    """The choice that all its charts follow."""
    table: str = ""
    more: tuple[str, ...] = ()
    """Tables shown when asked for, where they have rows."""
    note: str = ""
    """How to read those."""


SECTIONS = (
    Section(
        "Throughput",
        ("throughput-by-clients", "scaling", "search"),
        table="cells",
        more=("scaling", "search", "probes"),
    ),
    Section(
        "Response time",
        ("latency-percentiles", "latency-curve"),
        selector="clients",
        table="latency",
        more=("open-loop", "labels", "statements"),
    ),
    Section(
        "Second by second",
        ("throughput-over-time", "latency-over-time"),
        selector="point",
        more=("stability", "stalls", "seconds-below"),
        note="Dip: below 80 % of the median for 3 s; stall: below 50 % for 1 s; stop: below 5 % "
        "for 1 s. Work lost: seconds of the median rate that seconds below 95 % of it cost. Drift "
        "and step: where they are more than chance. P1 / median: the rate reached in 99 % of the "
        "seconds, over the median. A stall coincides with one of the engine's cycles if most of it "
        "falls into the cycle, and all stalls of the window together do so more than chance would.",
    ),
)


def sections(charts: Sequence[Chart]) -> tuple[Section, ...]:
    """Those with the charts that the study asks for come first, since `charts` has these first."""
    places = {chart.name: place for place, chart in enumerate(charts)}

    def place(name: str) -> int:
        return places.get(name, len(places))

    over_time = tuple(name for name in places if name.startswith(chart_kinds("of_metrics")))
    kinds = tuple(f"{kind}-" for kind in chart_kinds("of_figure"))
    generic = tuple(name for name in places if name.startswith(kinds))
    own = {chart.name: chart.section for chart in charts}
    besides = {"Second by second": list(over_time)}
    for name in (name for name in places if name in chart_kinds("of_load")):
        besides.setdefault(own[name] or "Throughput", []).append(name)
    every = [
        replace(section, charts=(*section.charts, *besides.get(section.title, ())))
        for section in SECTIONS
    ]
    every += [Section("More figures", generic, selector="clients")] if generic else []
    ordered = (replace(s, charts=tuple(sorted(s.charts, key=place))) for s in every)
    return tuple(sorted(ordered, key=lambda section: place(section.charts[0])))


def selectors(charts: Sequence[Chart]) -> dict[str, Selector]:
    """What the reader may choose, from the charts' rows; the last load is shown first."""
    labels = {"clients": "Clients", "point": "Cell and clients"}
    found: dict[str, dict[str, str]] = {}
    for chart in charts:
        if chart.selector is not None:
            views = {str(row["key"]): str(row["view"]) for row in chart.rows}
            views |= {view: view for view in chart.views}
            found[chart.selector] = views | found.get(chart.selector, {})
    resolved: dict[str, Selector] = {}
    for name, views in found.items():
        keys = sorted(views, key=int) if name == "clients" else list(views)
        texts = tuple(views[key] for key in keys)
        chosen = keys[-1] if name == "clients" else keys[0]
        resolved[name] = Selector(name, labels[name], tuple(keys), texts, chosen)
    return resolved


def render(
    filled: Mapping[str, object],
    charts: Sequence[Chart],
    *,
    folder: str,
    bundle: str,
    lines: str = "",
) -> str:
    """The whole page, from its `context`. `folder` is where the exports lie, relative to it;
    `bundle` is the script that draws, `lines` are what its panels are drawn from (`panels.py`)."""
    template = environment().get_template("report.html.j2")
    return template.render(
        **filled,
        folder=folder,
        style=template_text("style.css"),
        script=template_text("page.js"),
        panels=template_text("panels.js"),
        lines=lines,
        bundle=bundle,
        payload=payload(charts),
    )


def render_summary(filled: Mapping[str, object]) -> str:
    """The same in Markdown, with the exported pictures."""
    return environment().get_template("summary.md.j2").render(**filled)


def context(
    analysis: Analysis,
    charts: Sequence[Chart],
    tables: Sequence[Table],
    sources: Mapping[str, Table],
    *,
    pictures: bool = True,
) -> dict[str, object]:
    """What both templates say; `sources` is the study's `provenance`. Charts are linked to their
    `pictures` where these are written."""
    judged = gates(analysis)
    named = {table.name: table for table in tables}
    return {
        **sources,
        "first": first_answer(analysis),
        "chips": chips(analysis, judged),
        "measured": measured_words(analysis),
        "absent": absent_words(analysis),
        "credit": credit(analysis.material.study),
        "agreement": agreement(analysis),
        "compared": comparisons_shown(named["comparisons"]),
        "anchor": anchor,
        "gate_anchor": gate_anchor,
        "contents": [],  # Title and id of each part, which the template adds as it comes to it.
        "pictures": pictures,
        "analysis": analysis,
        "study": analysis.material.study,
        "plan": analysis.material.plan,
        "headline": headline(analysis),
        "answers": answers(analysis),
        "limits": limits(analysis),
        "gates": judged,
        "charts": {chart.name: chart for chart in charts},
        "sections": sections(charts),
        "selectors": selectors(charts),
        "tables": named,
        "data_to_cache": data_to_cache(analysis),
        "loads": fills_table(analysis),
        "commands": command_lines(analysis),
        "notes": notes_table(analysis),
        "rerun": rerun_lines(analysis),
    }
