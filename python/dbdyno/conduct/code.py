"""A study's code: what a run of it would execute that is neither dbdyno's nor a package's.

A study from elsewhere is a program. `check` and `report` only read it: they name its code, and
execute none unless that is asked for.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from dbdyno.conduct.opening import study_script_path, study_scripts
from dbdyno.conduct.proxy import program_of_proxy
from dbdyno.conduct.tool import tool_of
from dbdyno.design import cells
from dbdyno.engine.script import is_shipped
from dbdyno.formats.study import StudyFile
from dbdyno.generators.generator import find_file
from dbdyno.generators.registry import find_generator
from dbdyno.servers import at_path


@dataclass(frozen=True, slots=True)
class Code:
    """One piece of it."""

    what: str
    """`script`, `collector`, …"""
    name: str
    """The file; of a command its words."""


def code_of(loaded: StudyFile) -> tuple[Code, ...]:
    """All that the study names itself, each once."""
    return tuple(dict.fromkeys(_code(loaded)))


def own_scripts(loaded: StudyFile) -> Mapping[str, Path]:
    """Scripts that did not come with dbdyno or sysbench."""
    return {name: file for name, file in study_scripts(loaded).items() if not is_shipped(file)}


def _code(loaded: StudyFile) -> Iterator[Code]:
    folders = study_script_path(loaded)
    for file in own_scripts(loaded).values():
        yield Code("script", str(file))
    for name in loaded.study.collect:
        if "/" in name or "." in name:
            yield Code("collector", str(find_file(name, folders, "collector")))
    for cell in cells(loaded.study):
        for name in cell.c_functions:
            yield Code("functions in C", str(find_file(name, folders, "file in C")))
        if (folder := at_path(cell.provision)) is not None:
            yield Code("programs of a server", str(folder))
        for what, tool in (("tool", tool_of(cell)), ("proxy", program_of_proxy(cell))):
            if tool is not None and (folder := at_path(tool)) is not None:
                yield Code(f"programs of a {what}", str(folder))
        if not cell.abilities.takes_script:
            for name, what in find_generator(cell.generator).files(cell.options).items():
                yield Code(what, str(find_file(name, folders, what)))
            if isinstance(program := cell.options.get("program"), tuple | list):
                yield Code("command", " ".join(map(str, program)))
        command = cell.host.get("command")
        if isinstance(command, Mapping):
            for key in ("apply", "undo"):
                yield Code(f"command to {key}", " ".join(map(str, command.get(key, ()))))
