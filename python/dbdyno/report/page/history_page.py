"""The page of a history: one HTML file that needs nothing but itself."""

from __future__ import annotations

from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.report.analysis.history_series import Histories
from dbdyno.report.answer.history_words import change_text, headline, notes, table, title
from dbdyno.report.charts.history import history_chart
from dbdyno.report.page.drawing_program import script
from dbdyno.report.page.paper import VEGA_LITE, environment, payload, template_text


def write_history(computed: Histories, out: Path) -> None:
    """Writes the page to `out`. Raises `StoreError` if it can't be written."""
    try:
        out.write_text(render_history(computed), "utf-8")
    except OSError as error:
        raise StoreError(
            f"the page {out} can't be written: {error.strerror}",
            hint="name another place with --out",
        ) from error


def render_history(computed: Histories) -> str:
    """The page's text."""
    drawn = {
        place: history_chart(series, computed, name=f"history-{place}")
        for place, series in enumerate(computed.series)
        if series.places
    }
    parts = [
        {
            "title": title(series),
            "chart": drawn.get(place),
            "table": table(series, computed),
            "changes": [change_text(series, change, computed) for change in series.found.changes],
            "notes": list(notes(series, computed)),
        }
        for place, series in enumerate(computed.series)
    ]
    return (
        environment()
        .get_template("history.html.j2")
        .render(
            history=computed,
            headline=headline(computed),
            parts=parts,
            style=template_text("style.css"),
            script=template_text("page.js"),
            bundle=script(VEGA_LITE),
            payload=payload(list(drawn.values())),
        )
    )
