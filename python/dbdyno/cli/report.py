"""`dbdyno report`: a page from what is in the store, without measuring anything."""

from __future__ import annotations

from pathlib import Path

import click

from dbdyno.cli.options import store_option
from dbdyno.cli.text import fold, width
from dbdyno.store import Store


@click.command()
@click.argument("study")
@store_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The report's file.  [default: report.html in the study's folder of the store]",
)
def report(study: str, store: Path, out: Path | None) -> None:
    """Write the report of STUDY, a name in the store.

    Prints its path, and the answer on standard error.
    """
    Store(store).study(study)
    click.echo(write_report(Store(store), study, out))


def default_report(store: Store, study: str) -> Path:
    """Where a study's report is unless somebody wants it elsewhere."""
    return store.root / study / "report.html"


def write_report(store: Store, study: str, out: Path | None) -> Path:
    """Writes the report, tells its answer and returns its place. Raises `LabError`."""
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno import report as reports

    written = reports.write(store.root, study, out or default_report(store, study))
    click.echo(fold(written.headline, width(of_errors=True)), err=True)
    return written.page
