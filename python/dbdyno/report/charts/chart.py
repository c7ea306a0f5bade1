"""A chart: a drawing and its rows, for the page and for pictures."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import altair as alt
from altair.utils import schemapi

from dbdyno.report.terms.table import Table

# Validating what we draw ourselves against the schema took a third of a report's time: tests do it.
schemapi.disable_debug_mode()

MOST_IN_PICTURE = 240
"""Values of one line over time: a view of a picture is 420 pixels wide."""

Row = Mapping[str, object]
Drawing = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart


def vega_lite(drawing: Drawing) -> dict[str, Any]:
    """The specification of a drawing, not validated."""
    return dict(drawing.to_dict(validate=False))


@dataclass(frozen=True)
class Chart:
    """A drawing over the named table `rows`, which the page fills and a picture inlines."""

    name: str
    title: str
    caption: str
    drawing: Drawing
    rows: tuple[Row, ...]
    selector: str | None = None
    """`clients` or `point`: the page shows the rows with the selected `key`."""
    height: int = 300
    log_scale: bool = False
    """The page offers a logarithmic y axis."""
    line_by: tuple[str, ...] = ()
    """Columns that distinguish lines over time; for long ones a picture shows lowest and highest
    values."""
    panels: tuple[str, ...] = ()
    """Lines that the page takes from its store of lines (`panels.py`), where the reader may add
    others; `rows` are then of the first view alone."""
    views: tuple[str, ...] = ()
    """All selectable views, if `rows` do not contain them."""
    section: str = ""
    """Its section of the page; empty: that of its kind."""
    table: Table | None = None
    """The same as figures, shown when asked for; its name is that of its file."""

    @cached_property
    def spec(self) -> Mapping[str, Any]:
        """Vega-Lite without rows, as wide as the page allows; panels the page widens by itself."""
        if isinstance(self.drawing, alt.VConcatChart):
            return vega_lite(self.drawing)
        drawn = self.drawing.properties(width="container", height=self.height)
        return vega_lite(drawn)

    def picture(self, *, width: int = 640) -> dict[str, object]:
        """Vega-Lite with rows, one panel a selectable view; `width` in pixels is that of a chart
        without views. Rows are put in behind Altair, which would hold each of them against its
        schema."""
        if isinstance(self.drawing, alt.VConcatChart):
            return self._first_view()
        if self.selector is None:
            return self._filled({**self.spec, "width": width, "title": self.title}, self.rows)
        drawing = self.drawing.copy(deep=True)
        drawing.data = alt.Undefined
        views = list(dict.fromkeys(str(row["view"]) for row in self.rows))
        panels = drawing.properties(width=420, height=self.height).facet(
            facet=alt.Facet("view:N", title=None, sort=views),
            columns=2,
            data=alt.NamedData(name="rows"),
            title=self.title,
        )
        spec = vega_lite(panels)
        for layer in spec["spec"].get("layer", ()):
            # A layer that names its table would show the rows of all views in each.
            if layer.get("data") == {"name": "rows"}:
                del layer["data"]
        return self._filled(spec, self.rows)

    def _first_view(self) -> dict[str, object]:
        """Stacked panels can't stand beside one another: a picture shows one selectable view."""
        view = self.rows[0]["view"]
        rows = [row for row in self.rows if row["view"] == view]
        return self._filled({**self.spec, "title": f"{self.title}: {view}"}, rows)

    def _filled(self, spec: Mapping[str, Any], rows: Sequence[Row]) -> dict[str, object]:
        """The picture's drawing with its rows beside the tables that it has of its own."""
        shown = [dict(row) for row in self._drawn(rows)]
        return {**spec, "datasets": {**spec.get("datasets", {}), "rows": shown}}

    def _drawn(self, rows: Sequence[Row]) -> Sequence[Row]:
        """Those of a picture."""
        if not self.line_by:
            return rows
        lines: dict[tuple[object, ...], list[Row]] = {}
        for row in rows:
            lines.setdefault(tuple(row[name] for name in self.line_by), []).append(row)
        return [row for line in lines.values() for row in fewer(line, MOST_IN_PICTURE)]


def fewer(line: Sequence[Row], most: int) -> Sequence[Row]:
    """At most `most` rows of a line: the lowest and the highest `value` of each stretch of it.
    A line without values, such as the marks, stays as it is."""
    known = [row for row in line if row["value"] is not None]
    if len(known) <= most:
        return line
    length = math.ceil(2 * len(known) / most)
    parts = (known[start : start + length] for start in range(0, len(known), length))
    kept = [sorted({_lowest(part), _highest(part)}) for part in parts]
    return [known[length * place + at] for place, ats in enumerate(kept) for at in ats]


def _lowest(rows: Sequence[Row]) -> int:
    return min(range(len(rows)), key=lambda at: float(str(rows[at]["value"])))


def _highest(rows: Sequence[Row]) -> int:
    return max(range(len(rows)), key=lambda at: float(str(rows[at]["value"])))
