"""Beside the page: every chart as PNG and SVG, every table as CSV, a summary in Markdown."""

import json
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import vl_convert

from dbdyno.report.charts import Chart
from dbdyno.report.paper import VEGA_LITE
from dbdyno.report.table import Table

DRAWN_AT_ONCE = 2
"""Limit of parallel drawing: each process holds its chart's rows twice."""


def export(folder: Path, *, charts: Sequence[Chart], tables: Sequence[Table], summary: str) -> None:
    """Write all exports into `folder`, which is made if missing."""
    folder.mkdir(parents=True, exist_ok=True)
    for table in tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), "utf-8")
    with ThreadPoolExecutor(DRAWN_AT_ONCE) as pool:
        for _ in pool.map(partial(_pictures, folder), charts):
            pass
    (folder / "summary.md").write_text(summary, "utf-8")


def _pictures(folder: Path, chart: Chart) -> None:
    spec = json.dumps(chart.picture(), allow_nan=False)
    svg = vl_convert.vegalite_to_svg(spec, vl_version=VEGA_LITE)
    (folder / f"{chart.name}.svg").write_text(svg, "utf-8")
    # A picture of many panels is large already; at double size it takes a minute to draw.
    scale = 2 if chart.selector is None else 1
    (folder / f"{chart.name}.png").write_bytes(vl_convert.svg_to_png(svg, scale=scale))
