"""Keys of a study's load, connection and workload where a program other than the engine drives it:
each is passed on to the program in force, or refused with its line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial

from dbdyno.conduct.level_loads import KEYS, load_path
from dbdyno.design.cells import cells
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.generators.carried import OF_THE_ENGINE, NotCarriedOutError, is_neutral
from dbdyno.generators.generator import Generator
from dbdyno.generators.registry import find_generator
from dbdyno.model import Cell, Level, Study, load_of
from dbdyno.servers import parse_provision

_CLIENTS = "clients"
_ENGINE_DOES = "leave it out; the engine carries it out (no `generator`)"


def passed_on(study: Study) -> Mapping[str, Mapping[str, str]]:
    """Program → key of `[load]` → the words by which it gets it; of a study that was checked."""
    return {
        cell.generator: find_generator(cell.generator).carries_out(
            load_of(study.load, cell), cell.options
        )
        for cell in cells(study)
        if not cell.abilities.takes_every_key
    }


def check_keys(loaded: StudyFile) -> None:
    """Raises `StudyError` for a key that a cell's program does not carry out."""
    by_engine = any(cell.abilities.takes_every_key for cell in cells(loaded.study))
    for cell in cells(loaded.study):
        if cell.abilities.takes_every_key:
            continue
        generator = find_generator(cell.generator)
        wrong = (
            *_of_load(loaded, cell, generator, by_engine=by_engine),
            *_of_connection(loaded, cell, generator),
            *_of_workload(loaded, cell, by_engine=by_engine),
        )
        for path, message, hint in wrong:
            raise loaded.error(path, message, hint=hint)


_Wrong = Iterator[tuple[KeyPath, str, str | None]]


def _of_load(loaded: StudyFile, cell: Cell, generator: Generator, *, by_engine: bool) -> _Wrong:
    load, name = load_of(loaded.study.load, cell), cell.generator
    changed = {KEYS.get(key, key): key for key in cell.load}
    by_level = {key: (*load_path(loaded, cell, name), key) for key, name in changed.items()}
    stated = {**_stated(loaded, ("load",)), **by_level}
    try:
        carried = generator.carries_out(load, cell.options)
    except NotCarriedOutError as refusal:
        place = by_level.get(refusal.key, ("load", refusal.key))
        yield place, refusal.message, refusal.hint
        return
    for key, path in stated.items():
        if key == _CLIENTS or key in carried or is_neutral(key, load):
            continue
        if key in OF_THE_ENGINE and by_engine:
            continue
        message = f"`{key}` is not carried out by generator `{name}`"
        hint = generator.instead.get(key)
        yield path, message, f"in its place: {hint}" if hint else _ENGINE_DOES


def _of_connection(loaded: StudyFile, cell: Cell, generator: Generator) -> _Wrong:
    name = cell.generator
    for key, value in cell.connection.items():
        of_mysql = name == "command" and key == "tls" and not _is_postgresql(cell)
        if value is False or (value in generator.connects.get(key, ()) and not of_mysql):
            continue
        table = deciding_level(loaded.study, cell, partial(_connects, key))
        message = f"`{key} = {_toml(value)}` is not carried out by generator `{name}`"
        yield (*(table or ()), "connection", key), message, _ENGINE_DOES
    processes = cell.proxy.get("processes", 1)
    if isinstance(processes, int) and processes > 1:
        table = deciding_level(loaded.study, cell, lambda level: level.proxy) or ()
        message = f"`processes`: generator `{name}` connects to one address, not to {processes}"
        yield (*table, "proxy", "processes"), message, "processes = 1"


def _connects(key: str, level: Level) -> bool:
    return key in level.connection


def _of_workload(loaded: StudyFile, cell: Cell, *, by_engine: bool) -> _Wrong:
    name = cell.generator
    hint = "its own script stands in `options`"
    for factor in loaded.study.factors:
        for level in factor.levels:
            if level.script is None or level.name != cell.levels[factor.name]:
                continue
            message = f"`script` is the engine's; generator `{name}` does not run it"
            path = (*level_path(factor.name, level.name), "script")
            yield path if factor.name != "script" else ("workload", "script"), message, hint
    for key in ("script", "tables"):
        if (stated := _stated(loaded, ("workload",)).get(key)) and not by_engine:
            message = f"`{key}` is the engine's; generator `{name}` does not use it"
            yield stated, message, hint if key == "script" else _ENGINE_DOES


def _stated(loaded: StudyFile, table: KeyPath) -> Mapping[str, KeyPath]:
    """The keys that the file states in a table, at the scale in force, each with the first of its
    places: `load.group.w` is one of `group`."""
    scale = ("scale", loaded.study.scale)
    found: dict[str, KeyPath] = {}
    for path in sorted(loaded.lines, key=len):
        plain = path[2:] if path[:2] == scale else path
        if plain[: len(table)] == table and len(plain) > len(table):
            found.setdefault(plain[len(table)], plain)
    return found


def _is_postgresql(cell: Cell) -> bool:
    """Its URLs can say that a connection is encrypted; MySQL's have no common word for it."""
    return parse_provision(cell.provision).kind == "postgresql"


def _toml(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'
