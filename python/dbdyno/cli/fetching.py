"""`dbdyno fetch`: downloading servers and tools in advance, with progress."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from dbdyno.cli.options import json_option
from dbdyno.cli.terminal import error_console, harmless, say, say_json
from dbdyno.cli.text import megabytes
from dbdyno.servers import fetch


@click.command("fetch")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@json_option
def fetch_command(names: tuple[str, ...], as_json: bool) -> None:
    """Download servers and tools in advance.

    NAME is a provision text: mysql:9.7, mariadb:11.8@trixie, tool:fio:3.39. What is here already
    is not downloaded again. Prints the folder of each one's programs, where it has one.
    """
    folders = fetch_all(names)
    if as_json:
        found = [
            {"provision": name, "folder": str(folder) if folder else None}
            for name, folder in folders.items()
        ]
        say_json({"schema": 1, "fetched": found})
        return
    for folder in filter(None, folders.values()):
        say(folder)


def fetch_all(names: Iterable[str]) -> dict[str, Path | None]:
    """Gets each of the provision texts that isn't here, and shows how far that is."""
    with _Shower(error_console()) as shown:
        return {name: fetch(name, shown.progress) for name in dict.fromkeys(names)}


class _Shower:
    """A bar on a terminal; elsewhere a line when a download begins."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told: str | None = None
        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[size]}"),
            TextColumn("{task.description}", markup=False),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        )
        self._task = self._bar.add_task("", total=None, size="", visible=False)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._bar.stop()

    def progress(self, what: str, done: int, total: int | None) -> None:
        """Told by a download, twice a second."""
        if what != self._told:
            self._told = what
            size = f" ({megabytes(total)})" if total else ""
            say(f"downloading {what}{size}", err=True)
        shown = megabytes(done) + (f" of {megabytes(total)}" if total else "")
        self._bar.update(
            self._task,
            description=harmless(what),
            completed=done,
            total=total,
            size=shown,
            visible=True,
        )
