"""Checks what levels change of the load, cell by cell."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.design.cells import cells
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.model import GROUPS, MAIN, Cell, Closed, Level, Study, load_of
from dbdyno.model.cell_load import FAULTS

KEYS = {
    "think_time_s": "think_time",
    "prepared_statements": "statements",
    GROUPS: "group",
    FAULTS: "fault",
}
"""What a level changes of the load → its key in the file, where that is another."""


def check_level_loads(loaded: StudyFile) -> None:
    """Raises `StudyError`, with the level's line, for a contradictory load."""
    study = loaded.study
    for cell in cells(study):
        if not cell.load:
            continue
        path = load_path(loaded, cell)
        if study.load.find_max is not None:
            raise loaded.error(path, "a level can't change the load where `find_max` searches")
        for name, message in _wrong(loaded, cell):
            raise loaded.error((*path, name), message)


def load_path(loaded: StudyFile, cell: Cell, key: str = "") -> KeyPath:
    """The path of table `load` in the cell's last level that has one, or has `key` in it."""
    table = deciding_level(loaded.study, cell, lambda level: _has(level, key))
    return (*(table or ()), "load")


def changed_loads(study: Study) -> Iterator[tuple[str, str]]:
    """Factor and level of each that changes the load, and the keys that it changes."""
    for factor in study.factors:
        for level in factor.levels:
            if level.load:
                keys = (KEYS.get(key, key) for key in level.load)
                yield f"{factor.name} {level.name}", ", ".join(keys)


def _has(level: Level, key: str) -> bool:
    return key in level.load if key else bool(level.load)


def _wrong(loaded: StudyFile, cell: Cell) -> Iterator[tuple[str, str]]:
    load = load_of(loaded.study.load, cell)
    if not isinstance(load.arrival, Closed) and load.think_time_s:
        yield "arrival", "`think_time` is a pause of a closed loop; here the arrival says when"
    for group in load.groups:
        if group.name == MAIN:
            yield "group", f"`{MAIN}` are the step's own clients; another name"
        if not isinstance(group.arrival, Closed) and group.think_time_s:
            yield "group", f"`{group.name}` has an arrival and a `think_time`; expected one of them"
