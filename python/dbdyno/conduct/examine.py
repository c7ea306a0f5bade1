"""Checks whether a study would run, without measuring anything.

The engine reads each script and its options as in a run, and stops at a database that does not
exist; SQLite tries its pragmas on an empty file. Only settings of a server process need the
server: `examine_servers` starts each one and measures nothing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, replace
from pathlib import Path

from dbdyno.collect import machine_limits
from dbdyno.conduct.cell_server import open_cell_server
from dbdyno.conduct.code import own_scripts
from dbdyno.conduct.connection import missing_for_connections, run_target, wants_tls
from dbdyno.conduct.left_out import lacking_cells, why_nothing_to_run
from dbdyno.conduct.level_loads import load_path
from dbdyno.conduct.load_hosts import refused_hosts
from dbdyno.conduct.opening import study_script_path, study_scripts
from dbdyno.conduct.preflight import limits, require
from dbdyno.conduct.proxy import program_of_proxy
from dbdyno.conduct.room import most_clients, require_room
from dbdyno.conduct.tool import tool_of
from dbdyno.conduct.volume import refusals, scripts_asked
from dbdyno.design.cells import cells
from dbdyno.engine import Engine, plan_engine, run_engine, run_spec
from dbdyno.engine.plan import plans_remembered
from dbdyno.errors import ConnectError, LabError, MachineError, StudyError
from dbdyno.formats.study import StudyFile
from dbdyno.guard.scratch import scratch_folder
from dbdyno.model import Arrival, Cell, Option, Plan, Replay, Tables, load_of
from dbdyno.servers import (
    Capacity,
    Server,
    Source,
    absent_target,
    at_path,
    open_tool,
    parse_provision,
    require_available,
)

_EXAMINED = "the load is examined, not run"
"""The error of the script that stands in for one that is not executed."""


@dataclass(frozen=True, slots=True)
class Started:
    """A server that started with its settings, or a tool that is available."""

    label: str
    provision: str
    version: str


@dataclass(frozen=True, slots=True)
class _StudyFiles:
    """A study, the folders of its scripts, and the scripts by name: found once for all cells."""

    loaded: StudyFile
    folders: tuple[Path, ...]
    scripts: Mapping[str, Path]


def _study_files(loaded: StudyFile) -> _StudyFiles:
    return _StudyFiles(loaded, study_script_path(loaded), study_scripts(loaded))


def examine(
    loaded: StudyFile, plan: Plan, engine: Engine, *, run_code: bool = False
) -> Iterator[LabError]:
    """All problems for which `run` would refuse the study, each once and named with the first cell
    that has it, without starting a server process. The study's own code is executed only with
    `run_code`; what only it can tell is not asked without."""
    reported: set[str] = set()
    with (
        scratch_folder("check") as folder,
        plans_remembered(),
        scripts_asked(loaded, run_code=run_code),
    ):
        for error, cell in _complaints(
            _study_files(loaded), plan, engine, folder, run_code=run_code
        ):
            if error.message not in reported:
                reported.add(error.message)
                yield error if cell is None else _placed(loaded, error, cell)


def examine_servers(loaded: StudyFile, plan: Plan, engine: Engine) -> Iterator[Started | LabError]:
    """Starts each server of the study once with each set of its settings, and stops it; asks each
    tool for its version."""
    for tool, cell in _tools(plan).items():
        try:
            yield Started(cell.label, tool, open_tool(tool).version)
        except LabError as error:
            yield _placed(loaded, error, cell)
    files = _study_files(loaded)
    for cell in _distinct(plan, _server_of):
        source = parse_provision(cell.provision).source
        if source is Source.EMBEDDED:
            continue
        with scratch_folder("check") as folder:
            try:
                with open_cell_server(
                    cell, files.folders, folder, secrets=loaded.secrets
                ) as server:
                    server.start()
                    yield Started(cell.label, cell.provision, str(server.facts().get("version")))
                    clients = most_clients(cell, loaded.study.load)
                    if cell.abilities.takes_script:
                        spec = _spec(files, cell, "run", run_target(server, cell), clients)
                        _require(loaded, engine, spec, server)
            except LabError as error:
                yield _placed(loaded, error, cell)


def _require(loaded: StudyFile, engine: Engine, spec: Mapping[str, object], server: Server) -> None:
    """Raises for limits; a study's own scripts are not executed to ask what they need."""
    asked = not own_scripts(loaded)
    load = loaded.study.load
    require(engine, (spec,), server, load.processes, scripts=asked, elsewhere=bool(load.hosts))


def _complaints(
    files: _StudyFiles, plan: Plan, engine: Engine, scratch: Path, *, run_code: bool
) -> Iterator[tuple[LabError, Cell | None]]:
    """Problems, each with the cell that has it, if it is one cell's."""
    machine, loaded = machine_limits(), files.loaded
    own = {} if run_code else own_scripts(loaded)
    for cell in _distinct(plan, _server_of):
        if not run_code and at_path(cell.provision) is not None:
            continue  # Only its programs could say what they are.
        try:
            load = load_of(loaded.study.load, cell)
            require_room(cell, load, machine, engine, loaded.study.needs)
            _try_settings(files, cell, engine, scratch)
            require_available(cell.provision)
        except LabError as error:
            yield error, cell
    for tool, cell in _tools(plan).items():
        try:
            require_available(tool)
        except LabError as error:
            yield error, cell
    refusal = why_nothing_to_run(plan, loaded.study.design.baseline, lacking_cells(plan))
    if refusal is not None:
        yield refusal, None
    for missing in missing_for_connections(loaded.study):
        yield MachineError(missing.what, hint=missing.cure), None
    yield from ((refused, None) for refused in refused_hosts(loaded.study))
    yield from ((empty, None) for empty in _empty_replays(loaded))
    yield from _complaints_of_scripts(files, plan, engine, scratch, own)


def _complaints_of_scripts(
    files: _StudyFiles, plan: Plan, engine: Engine, scratch: Path, own: Mapping[str, Path]
) -> Iterator[tuple[LabError, Cell]]:
    """What the engine says of each script with each set of options, all of them in one call; and
    of a load that begins, several at a time, where numbers count as amounts: one call stands for
    all of them. A script in `own` is not executed: one that ends the run when its first client
    begins stands in for it, since the load is examined with it."""
    yield from refusals(_distinct(plan, _script_key))
    stand_in = scratch / "stand_in.lua"
    stand_in.write_text(f"function thread_init() error('{_EXAMINED}') end\nfunction event() end\n")
    calls = {
        (
            parse_provision(cell.provision).kind,
            cell.script,
            "" if cell.script in own else _text(_without_amounts(cell.options)),
        ): cell
        for cell in reversed(list(_distinct(plan, _script_key)))
        if cell.abilities.takes_script
    }

    def complaint(number: int, cell: Cell) -> LabError | None:
        try:
            spec = _spec(files, cell, "run", absent_target(cell.provision, scratch), 1)
            spec = _with(spec, own.values(), stand_in)
            _try_script(spec, engine, scratch / f"engine-{number}.log")
        except LabError as error:
            return None if _EXAMINED in error.message else error
        return None

    pool = ThreadPoolExecutor(max_workers=os.cpu_count())
    try:
        answers = [
            # What may be executed is a matter of the context, which threads do not inherit.
            (cell, pool.submit(copy_context().run, complaint, number, cell))
            for number, cell in enumerate(reversed(calls.values()))
        ]
        for cell, answer in answers:
            if (error := answer.result()) is not None:
                yield error, cell
    finally:
        pool.shutdown(cancel_futures=True)


def _without_amounts(options: Mapping[str, Option]) -> Mapping[str, Option]:
    return {name: value if isinstance(value, str | bool) else 0 for name, value in options.items()}


def _run_of(cell: Cell) -> Tables:
    return Tables(cell.script, cell.options)


def _with(
    spec: Mapping[str, object], own: Collection[Path], stand_in: Path
) -> Mapping[str, object]:
    """The spec with another script in place of each of these."""
    groups = spec["groups"]
    assert isinstance(groups, list)
    instead = {"script": str(stand_in), "script_path": [], "options": {}}
    replaced = [{**group, **instead} if Path(group["script"]) in own else group for group in groups]
    return {**spec, "groups": replaced}


def _empty_replays(loaded: StudyFile) -> Iterator[LabError]:
    """Problems of a file of times, as reported by the engine."""
    load = loaded.study.load
    paces: list[tuple[tuple[str, ...], Arrival]] = [(("load", "arrival"), load.arrival)]
    paces += [(("load", "group", g.name, "arrival"), g.arrival) for g in load.groups]
    for cell in cells(loaded.study):
        of_cell = load_of(load, cell)
        arrivals = (of_cell.arrival, *(group.arrival for group in of_cell.groups))
        if cell.load:
            paces += [((*load_path(loaded, cell), "arrival"), arrival) for arrival in arrivals]
    for path, arrival in paces:
        if isinstance(arrival, Replay):
            with suppress(OSError, UnicodeDecodeError):
                with arrival.file.open() as opened:
                    empty = not opened.read(1 << 20).strip()
                if empty:
                    yield loaded.error(path, f"{arrival.file} contains no time to replay")


def _script_key(cell: Cell) -> tuple[str, str]:
    """A script may take other options, or none, depending on the kind of server."""
    kind = "" if not cell.abilities.takes_script else parse_provision(cell.provision).kind
    return f"{kind} {cell.script}", _text(cell.options)


def _distinct(plan: Plan, key: Callable[[Cell], tuple[str, str]]) -> Iterator[Cell]:
    yield from {key(run.cell): run.cell for run in plan.runs}.values()


def _server_of(cell: Cell) -> tuple[str, str]:
    """Cells with equal keys have the same server."""
    besides = {"tls": str(wants_tls(cell)), "c_functions": " ".join(cell.c_functions)}
    besides["proxy"] = json.dumps(dict(cell.proxy), sort_keys=True)
    besides["topology"] = json.dumps(dict(cell.topology), sort_keys=True)
    return cell.provision, _text({**cell.settings, **besides})


def _tools(plan: Plan) -> Mapping[str, Cell]:
    """Provision text of each tool → a cell that needs it."""
    asked = (
        (tool, run.cell)
        for run in plan.runs
        for tool in (tool_of(run.cell), program_of_proxy(run.cell))
    )
    return {tool: cell for tool, cell in asked if tool is not None}


def _text(values: Mapping[str, Option] | Mapping[str, str]) -> str:
    return json.dumps(dict(values), sort_keys=True)


def _try_settings(files: _StudyFiles, cell: Cell, engine: Engine, scratch: Path) -> None:
    loaded, secrets = files.loaded, files.loaded.secrets
    with open_cell_server(cell, files.folders, scratch, secrets=secrets, only_tried=True) as server:
        if parse_provision(cell.provision).source is not Source.EMBEDDED:
            return
        server.start()
        if not cell.abilities.takes_script:
            return
        spec = _spec(
            files, cell, "run", server.entry.target(), most_clients(cell, loaded.study.load)
        )
        needs = limits(spec, plan_engine(engine, spec), machine_limits(), Capacity())
        missed = [need for need in needs if not need.is_met]
        if missed:
            raise MachineError(
                "this study does not fit: " + "; ".join(map(str, missed)),
                hint="; ".join(limit.cure for limit in missed),
            )


def _try_script(spec: Mapping[str, object], engine: Engine, log: Path) -> None:
    """Raises errors that the engine finds before it connects."""
    outcome = run_engine(
        engine,
        spec,
        listener=lambda _line, _record, _call: None,
        log=log,
        processes=1,
    )
    if outcome.failure is not None and not isinstance(outcome.failure, ConnectError):
        raise outcome.failure


def _spec(
    files: _StudyFiles,
    cell: Cell,
    command: str,
    target: Mapping[str, object],
    clients: int,
) -> Mapping[str, object]:
    """As in a run, but with one client per group, since none will connect."""
    load = load_of(files.loaded.study.load, cell)
    if clients == 1:
        groups = tuple(replace(group, clients=1) for group in load.groups)
        load = replace(load, groups=groups, errors=replace(load.errors, reconnect_s=0.0))
    runs = command == "run"
    called = _run_of(cell) if runs else cell.preparing
    return run_spec(
        command=command,
        target=target,
        script=files.scripts[called.script],
        script_path=files.folders,
        options=called.options,
        clients=clients,
        seed=1,
        loaders=None if runs else load.loaders,
        load=load if runs else None,
    )


def _placed(loaded: StudyFile, error: LabError, cell: Cell) -> LabError:
    """The error with the line of the file it concerns, or the cell in which it occurred."""
    for word in re.findall(r"`([^`]+)`", error.message):
        for path, line in loaded.lines.items():
            if path[-1] == word and {"options", "settings"}.intersection(path[:-1]):
                place = StudyError("", file=loaded.file, line=line).message.rstrip(": ")
                return error.reworded(f"{place}: {error.message}", hint=error.hint)
    return error.reworded(f"{loaded.file}, cell `{cell.label}`: {error.message}", hint=error.hint)
