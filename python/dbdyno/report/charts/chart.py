"""What a chart is: a drawing and its rows, for the page and for pictures."""

from collections.abc import Mapping
from dataclasses import dataclass

import altair as alt

from dbdyno.report.table import Table

Row = Mapping[str, object]
Drawing = alt.Chart | alt.LayerChart | alt.FacetChart | alt.VConcatChart


@dataclass(frozen=True, slots=True)
class Chart:
    """A drawing over the named table `rows`, which the page fills and a picture inlines."""

    name: str
    title: str
    caption: str
    drawing: Drawing
    rows: tuple[Row, ...]
    selector: str | None = None
    """`clients` or `point`: the page shows the rows whose `key` is chosen there."""
    height: int = 300
    log_scale: bool = False
    """The page offers a logarithmic y axis."""
    panels: tuple[str, ...] = ()
    """Lines that the page takes from its store of lines (`panels.py`), where the reader may add
    others; `rows` are then of the first view alone."""
    views: tuple[str, ...] = ()
    """All that can be selected, where `rows` do not say it."""
    section: str = ""
    """The part of the page where it stands; empty: that of its kind."""
    table: Table | None = None
    """The same as figures, shown when asked for; its name is that of its file."""

    def spec(self) -> dict[str, object]:
        """Vega-Lite without rows, as wide as the page allows; panels the page widens by itself."""
        if isinstance(self.drawing, alt.VConcatChart):
            return dict(self.drawing.to_dict())
        drawn = self.drawing.properties(width="container", height=self.height)
        return dict(drawn.to_dict())

    def picture(self) -> dict[str, object]:
        """Vega-Lite with rows, one panel a selectable view."""
        if isinstance(self.drawing, alt.VConcatChart):
            return self._first_view()
        drawing = self.drawing.copy(deep=True)
        data = alt.InlineData(values=[dict(row) for row in self.rows])
        if self.selector is None:
            whole = drawing.properties(width=640, height=self.height, title=self.title)
            whole.data = data
            return dict(whole.to_dict())
        drawing.data = alt.Undefined
        views = list(dict.fromkeys(str(row["view"]) for row in self.rows))
        panels = drawing.properties(width=420, height=self.height).facet(
            facet=alt.Facet("view:N", title=None, sort=views),
            columns=2,
            data=data,
            title=self.title,
        )
        return dict(panels.to_dict())

    def _first_view(self) -> dict[str, object]:
        """Stacked panels can't stand beside one another: a picture shows one selectable view."""
        view = self.rows[0]["view"]
        drawn = dict(self.drawing.properties(title=f"{self.title}: {view}").to_dict())
        return {**drawn, "datasets": {"rows": [dict(r) for r in self.rows if r["view"] == view]}}
