"""Writes the report of a study: its page, and its exports beside it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from dbdyno.errors import StoreError
from dbdyno.model import Study
from dbdyno.report.analysis.analyse import Analysis, analyse
from dbdyno.report.analysis.unmeasured import NotMeasured, not_measured
from dbdyno.report.answer.answer import tally
from dbdyno.report.answer.first import first_answer
from dbdyno.report.answer.measured import measured_words
from dbdyno.report.answer.remarks import remarks
from dbdyno.report.answer.so_far import SoFar, so_far
from dbdyno.report.charts import Chart, charts
from dbdyno.report.charts.panels import packed_lines
from dbdyno.report.material.gather import gather
from dbdyno.report.page.drawing import Drawing, remove_pictures
from dbdyno.report.page.export import export
from dbdyno.report.page.page import context, render, render_summary
from dbdyno.report.sections.fills import fills_table
from dbdyno.report.sections.provenance import provenance
from dbdyno.report.sections.published import agreement
from dbdyno.report.sections.tables import tables


@dataclass(frozen=True, slots=True)
class Written:
    """A report on disk."""

    page: Path
    first: str
    """The answer at first sight, in at most 45 words."""
    headline: str
    """The answer in full, with its reservations."""
    remarks: tuple[str, ...] = ()
    """Further messages: changes since the runs, and damaged files."""
    verdicts: Mapping[str, int] = field(default_factory=dict)
    """Verdict → number of comparisons with the baseline; empty without a baseline."""
    not_measured: tuple[NotMeasured, ...] = ()
    """Cells, or blocks of cells, that the answer does not speak of."""
    so_far: SoFar | None = None
    """The same answer as data."""
    measured: tuple[str, ...] = ()
    """When and on what it was measured; the day first, where it is known."""
    ended_unix_s: float = 0.0
    """The end of the last run; 0: there is none."""
    agreement: str = ""
    """How many published comparisons are seen again; empty without any."""
    picture: Path | None = None
    """The first chart that the study names, or otherwise the first, as SVG; `None` without
    pictures."""


def write(
    store: Path,
    study: str,
    out: Path,
    *,
    asked: Study | None = None,
    pictures: bool = True,
    only_answer: bool = False,
    card_room: Callable[[str], tuple[int, int]] | None = None,
    drawing: Drawing | None = None,
) -> Written:
    """Write the report of `study` to the HTML file `out` and its exports into a folder beside it.

    `out` may be a folder too: then the page is `<study>.html` in it. `asked` is the study's file as
    it is now, where its analysis is to be used; what was measured comes from the store. Without
    `pictures`, no chart is written as SVG and PNG, which takes most of a report's time; with
    `only_answer`, the first alone is. `card_room` says how wide and high a picture of the answer
    beside these words may be, and makes `card.svg` of those proportions. `drawing` draws for
    several reports, which saves its start for all but the first.
    Raises `StoreError` if the study can't be read or the page can't be written.
    """
    with Drawing(pictures=pictures) if drawing is None else nullcontext(drawing) as drawer:
        analysis = analyse(gather(store, study, asked=asked, every_sample=True))
        drawn = charts(analysis)
        page = out if out.suffix == ".html" else out / f"{study}.html"
        wanted = len(drawn[:1] if only_answer else drawn) if pictures else 0
        if card_room is not None and drawn:
            folder = page.with_suffix("")
            folder.mkdir(parents=True, exist_ok=True)
            room = card_room(first_answer(analysis).text)
            drawer.picture(drawn[0], folder, name="card", room=room)
        return _write(analysis, drawn, page, drawer, wanted=wanted)


def _write(
    analysis: Analysis, drawn: Sequence[Chart], page: Path, drawing: Drawing, *, wanted: int
) -> Written:
    """The first `wanted` charts become pictures; the page links to them if all do."""
    folder = page.with_suffix("")
    pictures = bool(wanted) and wanted == len(drawn)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        drawing.pictures(drawn[:wanted], folder)
        remove_pictures(drawn[wanted:], folder)
        figures, sources = tables(analysis), provenance(analysis)
        lines = packed_lines(analysis, {name for chart in drawn for name in chart.panels})
        head = context(analysis, drawn, figures, sources, pictures=pictures)
        export(
            folder,
            tables=(
                *figures,
                *sources.values(),
                fills_table(analysis),
                *(c.table for c in drawn if c.table),
            ),
            summary=render_summary(head),
        )
        script = drawing.finished()
        page.write_text(
            render(head, drawn, folder=folder.name, bundle=script, lines=lines), "utf-8"
        )
    except OSError as error:
        raise StoreError(
            f"the report {page} can't be written: {error.strerror}",
            hint="name another place with --out",
        ) from error
    kinds = tuple(chart.kind for chart in analysis.material.study.charts)
    shown = [chart.name for chart in drawn[:wanted]]
    shown = [name for name in shown if name.startswith(kinds)] or shown
    picture = folder / f"{shown[0]}.svg" if shown else None
    return Written(
        page=page,
        first=first_answer(analysis).text,
        headline=str(head["headline"]),
        remarks=remarks(analysis),
        verdicts=tally(analysis),
        not_measured=not_measured(analysis),
        so_far=so_far(analysis),
        measured=measured_words(analysis),
        ended_unix_s=max((run.manifest.ended_unix_s for run in analysis.material.runs), default=0),
        agreement=agreement(analysis) or "",
        picture=picture,
    )
