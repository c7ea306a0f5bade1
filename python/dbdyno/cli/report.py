"""`dbdyno report`: a page from what is in the store, without measuring anything."""

from __future__ import annotations

from pathlib import Path

import click

from dbdyno import report as reports
from dbdyno.cli.options import store_option
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
    """Write the report of STUDY, a name in the store, and print its path."""
    Store(store).study(study)
    click.echo(reports.write(store, study, out or store / study / "report.html"))
