"""Finds a study and checks what depends on this machine: servers and scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from dbdyno.conduct.bundled import BUNDLED, SUFFIX, bundled_studies
from dbdyno.conduct.connection import check_connections
from dbdyno.conduct.error_codes import check_error_codes
from dbdyno.conduct.fault_rules import check_faults
from dbdyno.conduct.features import check_features
from dbdyno.conduct.host import check_host
from dbdyno.conduct.level_loads import check_level_loads, load_path
from dbdyno.conduct.needs import this_machine
from dbdyno.conduct.proxy import check_proxies
from dbdyno.conduct.sampling import check_metrics, check_sources
from dbdyno.conduct.tool import check_tools
from dbdyno.conduct.topology import check_entries, check_topologies
from dbdyno.design import cells
from dbdyno.design.batches import why_not_turns
from dbdyno.engine import find_script
from dbdyno.engine.script import script_path
from dbdyno.errors import ScriptError, ServerError, StudyError, UsageError
from dbdyno.formats.key_path import KeyPath, level_path
from dbdyno.formats.nearest import nearest_hint
from dbdyno.formats.study import PAPER, StudyFile, read_study
from dbdyno.generators.generator import find_file
from dbdyno.model import GROUPS, Cell, Study, load_of
from dbdyno.servers import parse_provision, programs_not_asked

SMALL = "small"


_LARGE_CORES = 16
_LONGEST_NAME = 200
"""Longest folder name (of 255 characters): block, attempt and the mark of a partial run need the
rest."""

_LARGE_MEMORY_BYTES = 60 * 2**30


def open_study(
    name: str,
    *,
    scale: str | None = None,
    called: str | None = None,
    collect: Sequence[str] = (),
    folder: Path | None = None,
    run_code: bool = False,
) -> StudyFile:
    """A study by its file or bundled name, read and checked.

    Without a scale, a small machine uses the study's `small` one if it has one; `called` overrides
    the file's name as study name; `collect` adds sources to the study's own; `folder` is where the
    file was that this is a copy of. Of the study's own code nothing is executed unless `run_code`.
    Raises `StudyError`, or `UsageError` if there is no such study.
    """
    file = study_file(name)
    loaded = read_study(file, scale=scale, name=called, folder=folder)
    if scale is None and SMALL in loaded.study.scales and _is_small_machine():
        loaded = read_study(file, scale=SMALL, name=called, folder=folder)
    asked = tuple(dict.fromkeys((*loaded.study.collect, *collect)))
    loaded = replace(loaded, study=replace(loaded.study, collect=asked))
    with nullcontext() if run_code else programs_not_asked():
        _check(loaded, run_code=run_code)
    return loaded


def _check(loaded: StudyFile, *, run_code: bool) -> None:
    _check_names(loaded)
    _check_order(loaded)
    _check_servers(loaded)
    check_host(loaded)
    check_connections(loaded)
    check_features(loaded)
    check_error_codes(loaded)
    check_level_loads(loaded)
    check_proxies(loaded)
    check_topologies(loaded)
    check_entries(loaded)
    check_faults(loaded)
    folders = study_script_path(loaded)
    check_tools(loaded, folders)
    _check_c_functions(loaded)
    check_metrics(loaded, check_sources(loaded, folders, run_code=run_code))
    _check_scripts(loaded)


def study_file(name: str) -> Path:
    """The file of a study given by its path or its bundled name; raises `UsageError`."""
    file = Path(name)
    if file.is_dir():
        raise UsageError(f"{name} is a folder; expected a study's file or a bundled name")
    if file.suffix == SUFFIX or len(file.parts) > 1:
        return file
    bundled = bundled_studies()
    if name in bundled:
        return bundled[name]
    raise UsageError(
        f"there is no study `{name}`; bundled are {', '.join(bundled)}",
        hint=nearest_hint(name, bundled) or f"a file of your own: path/to/{name}.toml",
    )


def study_script_path(loaded: StudyFile) -> tuple[Path, ...]:
    """The folders searched for a study's scripts; its own folder comes first. What a bundled study
    names is never looked for in the current folder, where a file may have the same name."""
    folder = loaded.folder
    return script_path((folder, folder / "workloads"), here=folder.resolve() != BUNDLED)


def scale_reason(study: Study, asked: str | None) -> str | None:
    """Why the scale was chosen, if it was not requested."""
    if asked is None and study.scale != PAPER:
        return f"scale `{study.scale}`, since this is a small machine; --scale {PAPER} for the full"
    return None


def _is_small_machine() -> bool:
    machine = this_machine()
    return machine.cores < _LARGE_CORES or machine.memory_bytes < _LARGE_MEMORY_BYTES


def _check_names(loaded: StudyFile) -> None:
    """A run's folder is named after its levels, and file names have a maximum length."""
    factors = [factor for factor in loaded.study.factors if len(factor.levels) > 1]
    longest = sum(max(len(level.name) for level in factor.levels) + 1 for factor in factors)
    if longest > _LONGEST_NAME:
        factor = max(
            factors, key=lambda candidate: max(len(level.name) for level in candidate.levels)
        )
        raise loaded.error(
            ("factor", factor.name),
            f"the names of a cell's levels have {longest} characters together; a run's folder is "
            f"named after them, which allows {_LONGEST_NAME} at most",
            hint="use shorter level names; explain them in a comment",
        )


def _check_order(loaded: StudyFile) -> None:
    """Raises instead of silently giving runs to a study that asks for turns."""
    reason = why_not_turns(loaded.study) if loaded.study.design.order == "turns" else None
    if reason is not None:
        raise loaded.error(
            ("design", "order"),
            f"the cells can't be driven in turns: {reason}",
            hint='leave `order` out, or say `order = "runs"`',
        )


def _check_servers(loaded: StudyFile) -> None:
    for factor in loaded.study.factors:
        for level in factor.levels:
            if level.provision is None:
                continue
            try:
                parse_provision(level.provision)
            except ServerError as error:
                path = (*level_path(factor.name, level.name), "provision")
                raise loaded.error(path, error.message, hint=error.hint) from error


def c_function_files(cell: Cell, folders: Sequence[Path]) -> tuple[Path, ...]:
    """The C files that a cell's server needs, searched like scripts; raises `UsageError`."""
    return tuple(find_file(name, folders, "file in C") for name in cell.c_functions)


def _check_c_functions(loaded: StudyFile) -> None:
    folders = study_script_path(loaded)
    for factor in loaded.study.factors:
        for level in factor.levels:
            for name in level.c_functions:
                try:
                    find_file(name, folders, "file in C")
                except UsageError as error:
                    path = (*level_path(factor.name, level.name), "c_functions")
                    raise loaded.error(path, error.message, hint=error.hint) from error


def study_scripts(loaded: StudyFile) -> Mapping[str, Path]:
    """Name → file of every script that a study names. Raises `ScriptError`."""
    folders = study_script_path(loaded)
    return {script: find_script(script, folders) for script in _named_scripts(loaded)}


def _check_scripts(loaded: StudyFile) -> None:
    folders = study_script_path(loaded)
    for script, path in _named_scripts(loaded).items():
        try:
            find_script(script, folders)
        except ScriptError as error:
            line = loaded.error(path, "").line
            place = StudyError("", file=loaded.file, line=line).message.rstrip(": ")
            raise ScriptError(f"{place}: {error.message}", hint=error.hint) from error


def _named_scripts(loaded: StudyFile) -> Mapping[str, KeyPath]:
    """Each with the first place in the file where it is named."""
    named = {cell.script: () for cell in cells(loaded.study) if cell.abilities.takes_script}
    scripts = {script: _script_key(loaded, script) for script in named}
    if loaded.study.workload.tables is not None:
        scripts.setdefault(loaded.study.workload.tables.script, ("workload", "tables", "script"))
    for group in loaded.study.load.groups:
        if group.script is not None:
            scripts.setdefault(group.script, ("load", "group", group.name, "script"))
    for cell in cells(loaded.study):
        for group in load_of(loaded.study.load, cell).groups:
            if group.script is not None and group.script not in scripts:
                path = (*load_path(loaded, cell, GROUPS), "group", group.name, "script")
                scripts[group.script] = path
    return scripts


def _script_key(loaded: StudyFile, script: str) -> tuple[str, ...]:
    for factor in loaded.study.factors:
        for level in factor.levels:
            if level.script == script and factor.name != "script":
                return (*level_path(factor.name, level.name), "script")
    return ("workload", "script")
