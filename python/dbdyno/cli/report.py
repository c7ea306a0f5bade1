"""`dbdyno report`: a page from what is in the store, without measuring anything."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.options import pictures_option, store_option
from dbdyno.cli.terminal import say
from dbdyno.cli.text import fold, width
from dbdyno.errors import StoreError
from dbdyno.model import Study
from dbdyno.store import Store, recover_study
from dbdyno.store.study_journal import keep_answer

if TYPE_CHECKING:
    from dbdyno.report import Written


@click.command()
@click.argument("study")
@store_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The report's file.  [default: report.html in the study's folder of the store]",
)
@pictures_option
def report(study: str, store: Path, out: Path | None, pictures: bool) -> None:
    """Write the report of STUDY from what is in the store.

    STUDY is a name in the store or a study's file. By its name, everything is as it was when the
    study was run. By its file, baseline, primary figure, prices, charts and wording are the file's
    as it is now, and what was measured comes from the store. Prints the report's path;
    the answer, and what differs, on standard error.
    """
    if Path(study).suffix != ".toml":
        say(write_report(Store(store), study, out, pictures=pictures).page)
        return
    # Reading studies takes as long to import as drawing does.
    from dbdyno.conduct.resume import open_measured

    found = open_measured(study, Store(store))
    written = write_report(Store(store), found.folder, out, asked=found.study, pictures=pictures)
    say(written.page)


def default_report(store: Store, study: str) -> Path:
    """Default place of a study's report."""
    return store.root / study / "report.html"


def write_report(
    store: Store,
    study: str,
    out: Path | None,
    *,
    asked: Study | None = None,
    pictures: bool = True,
) -> Written:
    """Writes the report and prints its answer. Raises `LabError`."""
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno import report as reports

    for run in recover_study(store, study):
        say(f"note: {run.id}: {run.error.message if run.error else run.status}", err=True)
    place = out or default_report(store, study)
    written = reports.write(store.root, study, place, asked=asked, pictures=pictures)
    _keep(store, study, written)
    columns = width(of_errors=True)
    for remark in written.remarks:
        say(fold(f"note: {remark}", columns), err=True)
    say(fold(written.first, columns), err=True)
    say(fold(f"in full: {written.headline}", columns), err=True)
    return written


def _keep(store: Store, study: str, written: Written) -> None:
    """The answer, for lists of studies; a store that can't be written has none."""
    if written.so_far is not None:
        final = written.so_far.is_final
        with suppress(StoreError):
            keep_answer(store.root / study, {**asdict(written.so_far), "final": final})
