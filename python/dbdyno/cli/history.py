"""`dbdyno history`: a metric over versions or dates, and where it changed."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.options import fraction, json_option, store_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import fold, width
from dbdyno.errors import LabError, NotValidError, StoreError, UsageError
from dbdyno.formats.study import read_study
from dbdyno.model import FIGURES, Primary, find_figure
from dbdyno.store import Store

if TYPE_CHECKING:
    from dbdyno.report.analysis.history_series import Histories, Place, Series
    from dbdyno.stats import Change

FAIL_ON = ("change", "slower")


@click.command()
@click.argument("metric")
@click.argument("studies", nargs=-1, metavar="[STUDY]...")
@store_option
@click.option(
    "--by",
    type=click.Choice(["version", "date"]),
    help="What the points follow.  [default: date of several studies, version within one]",
)
@click.option(
    "--anchor",
    metavar="LEVEL",
    help="The cell measured beside each point that all are relative to, by its levels; `none`: "
    "as measured.  [default: the study's baseline]",
)
@click.option("--cell", metavar="LEVEL", help="Only cells with these levels (after commas).")
@click.option("--clients", type=click.IntRange(1), help="Only this load.")
@click.option("--last", type=click.IntRange(1), help="Only so many of the newest points.")
@click.option(
    "--smallest-effect",
    callback=fraction,
    default="2 %",
    show_default=True,
    help="The smallest change that matters.",
)
@click.option("--out", type=click.Path(path_type=Path), help="Also write a page (HTML).")
@click.option(
    "--study-out",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Write the study that compares the neighbours of each change; FILE-2.toml and so on "
    "where there are several.",
)
@click.option(
    "--fail-on",
    type=click.Choice(FAIL_ON),
    help="Exit with 1 if there is a change, or one that is slower (worse).",
)
@json_option
def history(
    metric: str,
    studies: tuple[str, ...],
    store: Path,
    by: str | None,
    anchor: str | None,
    cell: str | None,
    clients: int | None,
    last: int | None,
    smallest_effect: float,
    out: Path | None,
    study_out: Path | None,
    fail_on: str | None,
    as_json: bool,
) -> None:
    """Show METRIC over versions or dates, and where its level changed.

    A point is one cell as one study measured it. STUDY is a name in the store, with its repeats
    (NAME.2, …), or the folder of a study in another store; left out where the store holds one
    study only. The store's runs may have been made by `run --again`, by several studies, or by one
    study of many versions. A level is written LEVEL or FACTOR=LEVEL.

    Changes of level are found by E-divisive with permutation tests; one point far off is an
    outlier and no change. Eight points are the least.
    """
    _check_metric(metric)
    # Statistics and Arrow take a second to import: only who asks pays for it.
    from dbdyno.report.analysis.history import histories
    from dbdyno.report.analysis.history_series import Asked
    from dbdyno.report.analysis.study_points import study_points

    asked = Asked(metric, by, anchor, cell, clients, last, smallest_effect)
    computed = histories(study_points(Store(store), studies, metric), asked)
    if out is not None:
        from dbdyno.report.page.history_page import write_history

        write_history(computed, out)
    written = None if study_out is None else _write_studies(computed, study_out)
    if as_json:
        say_json(_document(computed, written or {}))
    else:
        _tell(computed, written)
        if out is not None:
            say(str(out))
    if fail_on is not None:
        _fail(computed, fail_on)


def _check_metric(metric: str) -> None:
    try:
        find_figure(metric)
    except KeyError:
        raise UsageError(
            f"there is no figure `{metric}`",
            hint=f"figures are {', '.join(FIGURES)}, those of one label (p95.payment) and what "
            "was sampled (docs/reference/metrics.md)",
        ) from None


def _tell(computed: Histories, written: dict[tuple[int, int], str] | None) -> None:
    from dbdyno.report.answer.history_words import change_text, headline, notes, table, title

    columns = width()
    say(fold(headline(computed), columns))
    for place, series in enumerate(computed.series):
        say(f"\n{title(series)}")
        if series.places:
            _print_table(table(series, computed))
        for note in notes(series, computed):
            say(fold(f"  note: {note}", columns))
        for change in series.found.changes:
            say(fold(f"  change {change_text(series, change, computed)}", columns))
            if written is not None:
                say(f"    {written[place, change.index]}")
    if written is None and any(series.found.changes for series in computed.series):
        say(
            "\nhint: --study-out FILE.toml writes the study that confirms a change: its two "
            "neighbours against each other",
            err=True,
        )


def _print_table(table: object) -> None:
    from dbdyno.report.terms.table import Table

    assert isinstance(table, Table)
    shown = table.without_empty()
    rows = [tuple(column.title for column in shown.columns), *shown.rows]
    widths = [max(len(row[place]) for row in rows) for place in range(len(shown.columns))]
    for row in rows:
        cells = [
            text.rjust(wide) if column.figure else text.ljust(wide)
            for text, wide, column in zip(row, widths, shown.columns, strict=True)
        ]
        say(f"  {'  '.join(cells)}".rstrip())


def _write_studies(computed: Histories, file: Path) -> dict[tuple[int, int], str]:
    """(Series, place of the change) → the command that confirms it, or why there is none."""
    from dbdyno.report.analysis.confirmation import confirmation

    if file.suffix != ".toml":
        raise UsageError(f"`{file}` is no study's file", hint="its name ends in .toml")
    primary = Primary(
        computed.asked.metric,
        "higher" if computed.figure.higher_is_better else "lower",
        computed.asked.smallest_effect,
    )
    written: dict[tuple[int, int], str] = {}
    files = 0
    for place, series, change in _changes(computed):
        neighbours = [series.places[change.index + step].entry for step in (-1, 0)]
        made = confirmation(neighbours[0], neighbours[1], primary)
        if isinstance(made, str):
            written[place, change.index] = f"no study to confirm it: {made}"
            continue
        files += 1
        target = file if files == 1 else file.with_name(f"{file.stem}-{files}.toml")
        _write_study(target, made.text)
        written[place, change.index] = f"confirm it: dbdyno run {shlex.quote(str(target))}"
    return written


def _write_study(file: Path, text: str) -> None:
    if file.exists():
        raise UsageError(f"{file} is there already", hint="name another file with --study-out")
    try:
        file.write_text(text, "utf-8")
        read_study(file)
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}") from error
    except LabError:
        file.unlink()
        raise


def _changes(computed: Histories) -> list[tuple[int, Series, Change]]:
    return [
        (place, series, change)
        for place, series in enumerate(computed.series)
        for change in series.found.changes
    ]


def _document(computed: Histories, written: dict[tuple[int, int], str]) -> dict[str, object]:
    from dbdyno.report.analysis.history import SEED
    from dbdyno.report.answer.history_words import direction, names, notes

    series: list[dict[str, object]] = []
    for place, drawn in enumerate(computed.series):
        points = [
            _point(name, series, index in drawn.found.outliers)
            for index, (name, series) in enumerate(
                zip(names(drawn, computed.by), drawn.places, strict=True)
            )
        ]
        changes = [
            {
                "index": change.index,
                "before": change.before,
                "after": change.after,
                "ratio": change.after / change.before,
                "p": change.p,
                "direction": direction(change, computed.figure),
                "confirm": written.get((place, change.index)),
            }
            for change in drawn.found.changes
        ]
        series.append(
            {
                "name": drawn.name,
                "clients": drawn.clients,
                "anchor": drawn.anchor,
                "points": points,
                "changes": changes,
                "not_searched": drawn.not_searched,
                "notes": list(notes(drawn, computed)),
            }
        )
    return {
        "schema": 1,
        "metric": computed.asked.metric,
        "by": computed.by,
        "level": computed.level,
        "smallest_effect": computed.asked.smallest_effect,
        "seed": SEED,
        "series": series,
    }


def _point(name: str, place: Place, outlier: bool) -> dict[str, object]:
    entry = place.entry
    return {
        "point": name,
        "study": entry.side.name,
        "cell": dict(entry.levels),
        "server": entry.kind,
        "version": entry.version,
        "began_unix_s": entry.began_unix_s,
        "value": place.value,
        "value_95": None if place.low is None else [place.low, place.high],
        "blocks": place.blocks,
        "outlier": outlier,
        "differs_besides": [
            {
                "group": difference.group,
                "what": difference.what,
                "before": difference.a,
                "after": difference.b,
            }
            for difference in place.besides
        ],
    }


def _fail(computed: Histories, fail_on: str) -> None:
    from dbdyno.report.answer.history_words import change_text, direction, title

    for _, series, change in _changes(computed):
        worse = direction(change, computed.figure) in ("slower", "worse")
        if fail_on == "change" or worse:
            raise NotValidError(
                f"{title(series)}: {change_text(series, change, computed)} (--fail-on {fail_on})",
                hint="the points stand above; --last N looks at the newest ones only",
            )
