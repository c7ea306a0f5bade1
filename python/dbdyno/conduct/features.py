"""Settings and connections that need features a cell's server was built without."""

from __future__ import annotations

from functools import partial

from dbdyno.design.cells import cells
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import Level
from dbdyno.servers.registry import lacking


def check_features(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the file's line, if a cell needs a feature its server lacks."""
    for cell in cells(loaded.study):
        for name, message, hint in lacking(cell.provision, cell.settings, cell.connection):
            table = "connection" if name == "tls" else "settings"
            level = deciding_level(loaded.study, cell, partial(_says, name))
            raise loaded.error((*_place(level, table), name), message, hint=hint)


def _says(name: str, level: Level) -> bool:
    return name in (level.connection if name == "tls" else level.settings)


def _place(level: tuple[str, ...] | None, table: str) -> tuple[str, ...]:
    """A level of the factor `settings` is itself the table."""
    if level is None:
        return (table,)
    if level[:2] == ("factor", "settings"):
        return ("settings", level[2])
    return (*level, table)
