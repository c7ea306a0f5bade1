"""`dbdyno fetch`: downloading servers and tools in advance, with progress."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from types import TracebackType
from typing import Self

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

from dbdyno.cli.options import json_option
from dbdyno.cli.terminal import error_console, harmless, say, say_json
from dbdyno.cli.text import count, megabytes
from dbdyno.servers import fetch
from dbdyno.servers.sources.client import Stage


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
    """A bar on a terminal, with the time left; elsewhere a line when a download begins, and some
    while a build lasts."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._shown: tuple[str, bool] | None = None
        self._tenths = 0
        self._bar = Progress(
            BarColumn(bar_width=24),
            TextColumn("{task.fields[size]}"),
            TimeRemainingColumn(),
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

    def progress(self, stage: Stage) -> None:
        """Called by a download or a build, twice a second."""
        shown = (stage.what, stage.is_build)
        if shown != self._shown:
            self._shown, self._tenths = shown, 0
            self._bar.reset(self._task)
            verb = "building" if stage.is_build else "downloading"
            total = f" ({_amount(stage.total, stage)})" if stage.total else ""
            say(f"{verb} {stage.what}{total}", err=True)
        self._say_tenth(stage)
        self._bar.update(
            self._task,
            description=harmless(stage.what),
            completed=stage.done,
            total=stage.total,
            size=_far(stage),
            visible=True,
        )

    def _say_tenth(self, stage: Stage) -> None:
        """A build takes minutes: where there is no bar, each tenth of it has a line."""
        tenths = 10 * stage.done // stage.total if stage.is_build and stage.total else 0
        if tenths > self._tenths and self._bar.disable:
            say(f"{10 * tenths} % of its packages are built", err=True)
        self._tenths = max(self._tenths, tenths)


def _far(stage: Stage) -> str:
    if not stage.total:
        return _amount(stage.done, stage)
    done = count(stage.done) if stage.is_build else megabytes(stage.done)
    return f"{done} of {_amount(stage.total, stage)}"


def _amount(value: int, stage: Stage) -> str:
    return f"{count(value)} packages" if stage.is_build else megabytes(value)
