"""Parts common to all pages: templates, style, the drawing script, chart rows."""

import base64
import gzip
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources

import altair as alt
import jinja2

from dbdyno.report.charts.chart import Chart

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The release whose rules Altair writes by."""


@cache
def environment() -> jinja2.Environment:
    """Of the templates; a name that is missing is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("dbdyno.report"),
        autoescape=jinja2.select_autoescape(["html", "html.j2"]),
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=jinja2.StrictUndefined,
    )


def template_text(name: str) -> str:
    """A file beside the templates, as it is."""
    return (resources.files("dbdyno.report") / "templates" / name).read_text("utf-8")


def payload(charts: Sequence[Chart]) -> str:
    """Drawings and rows, the rows by column, as gzip in base64; panels have theirs elsewhere."""
    drawn = {}
    for chart in charts:
        names = () if chart.panels else tuple(chart.rows[0])
        drawn[chart.name] = {
            "spec": chart.spec(),
            "selector": chart.selector,
            "panels": chart.panels,
            "columns": {name: [row[name] for row in chart.rows] for name in names},
        }
    text = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
