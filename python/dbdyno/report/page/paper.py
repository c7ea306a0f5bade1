"""Parts common to all pages: templates, style, the drawing script, chart rows."""

import base64
import gzip
import json
import pickle
from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path

import altair as alt
import jinja2

from dbdyno.cache import cache_folder
from dbdyno.report.charts.chart import Chart

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.removeprefix("v").split(".")[:2])
"""The release whose rules Altair writes by."""


@cache
class _Compiled(jinja2.FileSystemBytecodeCache):
    """Compiled templates in the cache: compiling them takes a tenth of a report's time. A cache
    that can't be written only costs that time."""

    def load_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        try:
            super().load_bytecode(bucket)
        except (OSError, ValueError, EOFError, pickle.UnpicklingError):
            bucket.reset()  # damaged: compiled and written anew

    def dump_bytecode(self, bucket: jinja2.bccache.Bucket) -> None:
        with suppress(OSError):
            Path(self.directory).mkdir(parents=True, exist_ok=True)
            super().dump_bytecode(bucket)


def environment() -> jinja2.Environment:
    """Of the templates; a name that is missing is an error."""
    return jinja2.Environment(
        loader=jinja2.PackageLoader("dbdyno.report"),
        bytecode_cache=_Compiled(str(cache_folder() / "report"), "%s.jinja"),
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
            "spec": chart.spec,
            "selector": chart.selector,
            "panels": chart.panels,
            "columns": {name: [row[name] for row in chart.rows] for name in names},
        }
    text = json.dumps(drawn, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(gzip.compress(text.encode(), mtime=0)).decode()
