"""Beside the page and its pictures: every table as CSV, a summary in Markdown."""

from collections.abc import Sequence
from pathlib import Path

from dbdyno.report.terms.table import Table


def export(folder: Path, *, tables: Sequence[Table], summary: str) -> None:
    """Write all exports into `folder`."""
    for table in tables:
        (folder / f"{table.name}.csv").write_text(table.csv(), "utf-8")
    (folder / "summary.md").write_text(summary, "utf-8")
