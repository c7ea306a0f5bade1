"""`dbdyno export`: what is stored, for other programs."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import click

from dbdyno.cli.options import store_option
from dbdyno.cli.terminal import say, say_exactly
from dbdyno.errors import StoreError, UsageError

FORMATS = ("benchfmt", "csv", "json", "hlog", "ycsb", "elle")


@click.command("export")
@click.argument("study")
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    required=True,
    help="benchfmt: Go's benchmark format, for benchstat. hlog: HdrHistogram's logs, a file a run. "
    "ycsb: what YCSB's client prints, a result a step. "
    "elle: histories of ledgers beside faults, for the consistency checker Elle.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="File to write, or folder for hlog and elle.  [default: standard output, or the current "
    "folder]",
)
@store_option
def export_command(study: str, form: str, out: Path | None, store: Path) -> None:
    """Write what is stored of STUDY in a format of other programs.

    STUDY may be STUDY/CELL or STUDY/RUN, as for `compare`. A row is one step of one run: its
    figures as they were measured, nothing averaged. The tables and charts of a report lie beside
    the report.
    """
    # Statistics and Arrow take a second to import: only who exports pays for it.
    from dbdyno.report.page.interchange import WRITERS, exported, hlogs

    found = exported(store, study)
    if not found.rows:
        raise UsageError(f"`{study}` holds no step that was measured")
    if form == "elle":
        _write_histories(
            found.store, found.study, dict.fromkeys(row.run for row in found.rows), out
        )
        return
    if form != "hlog":
        text = WRITERS[form](found)
        if out is None:
            say_exactly(text)
        else:
            _write(out, text)
        return
    logs = hlogs(found)
    if not logs:
        raise UsageError(
            f"no run of `{study}` holds a distribution of response times",
            hint="tools tell percentiles only, but for pgbench's logs (-l) and sysbench's "
            "--histogram: import these",
        )
    for run, log in logs.items():
        file = (out or Path()) / f"{run}.hlog"
        _write(file, log)
        say(file)


def _write_histories(store: Path, study: str, runs: Iterable[str], out: Path | None) -> None:
    from dbdyno.report.page.elle import histories

    texts = histories(store, study, runs)
    if not texts:
        raise UsageError(
            f"no run of `{study}` has a ledger", hint="`[load] ledger = 2` beside faults"
        )
    for name, text in texts.items():
        file = (out or Path()) / f"{name}.edn"
        _write(file, text)
        say(file)


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")
    except OSError as error:
        raise StoreError(f"{file} can't be written: {error.strerror}") from error
