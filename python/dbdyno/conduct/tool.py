"""One step whose load comes from an outside program, with its figures under common names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from dbdyno import __version__
from dbdyno.conduct.connection import run_target
from dbdyno.conduct.load_keys import check_keys
from dbdyno.conduct.proxy import program_of_proxy
from dbdyno.design.cells import cells
from dbdyno.errors import EngineError, LabError, ScriptError, UsageError
from dbdyno.formats.key_path import KeyPath
from dbdyno.formats.passwords import words_without_passwords
from dbdyno.formats.study import StudyFile, deciding_level
from dbdyno.generators.generator import Job, Start, ToolOutcome, find_file, step_summary
from dbdyno.generators.registry import find_generator
from dbdyno.model import (
    Cell,
    HistogramRecord,
    Load,
    Metric,
    Option,
    Plan,
    Step,
    StepResult,
    StepSummary,
    abilities,
)
from dbdyno.servers import Server, open_tool, parse_provision


@dataclass(frozen=True, slots=True)
class ToolStep:
    """The result of a program's step."""

    generator: str
    outcome: ToolOutcome
    tool: Mapping[str, object]
    """The program, as the manifest has it."""

    def summary(self, step: Step, distribution: HistogramRecord | None) -> StepSummary:
        """Its figures, under the engine's names if they mean the same."""
        return step_summary(step.index, step.clients, self.generator, self.outcome, distribution)

    def distribution(self) -> HistogramRecord | None:
        """Its events' response times, if it told their distribution."""
        from dbdyno.store import event_record  # Needs numpy, which only who measures should load.

        return event_record(self.outcome.distribution)


def drive_tool(
    cell: Cell,
    step: Step,
    load: Load,
    *,
    server: Server,
    scratch: Path,
    folders: Sequence[Path],
    start: Start,
) -> ToolStep:
    """Carries out one step. Raises `LabError`; leaves nothing running."""
    generator = find_generator(cell.generator)
    wanted = generator.provision(cell.options)
    tool = None if wanted is None else open_tool(wanted)
    scratch = scratch.absolute()  # The program's working directory.
    scratch.mkdir(parents=True, exist_ok=True)
    job = Job(
        program=tool.path if tool else Path(),
        options=cell.options,
        clients=step.clients,
        warm_up_s=load.warm_up_s,
        measure_s=load.measure_s or 0.0,
        data_folder=server.node.data_folder(),
        scratch=scratch,
        folders=folders,
        start=start,
        target=partial(run_target, server, cell),
        server=server,
        kind=parse_provision(cell.provision).kind,
        events=load.events,
        seed=step.seed,
        load=load,
    )
    try:
        outcome = generator.run(job)
    except EngineError as error:  # A program whose output can't be read is no fault of ours.
        raise ScriptError(error.message, hint=error.hint) from error
    facts = {**tool.facts, "version": tool.version} if tool else {"version": __version__}
    facts = {**facts, "command_line": words_without_passwords(outcome.command_line)}
    return ToolStep(cell.generator, outcome, facts)


def tool_of(cell: Cell) -> str | None:
    """The provision text of the program that generates a cell's load; `None`: the engine does."""
    if cell.abilities.takes_script:
        return None
    return find_generator(cell.generator).provision(cell.options)


def provisions_of(plan: Plan) -> Sequence[str]:
    """The servers and tools a plan needs, each once."""
    asked = [
        text
        for run in plan.runs
        for text in (run.cell.provision, tool_of(run.cell), program_of_proxy(run.cell))
        if text
    ]
    return tuple(dict.fromkeys(asked))


def tool_result(step: Step, result: ToolStep) -> StepResult:
    """A step without an engine."""
    warnings = "; ".join((*result.outcome.against, *result.outcome.warnings))
    return StepResult(
        index=step.index,
        clients=step.clients,
        seed=step.seed,
        status="complete",
        engine_start_unix_ns=None,
        reactor=None,
        shards=None,
        warnings=({"code": result.generator, "message": warnings},) if warnings else (),
        ended_unix_ns=result.outcome.ended_unix_ns,
    )


def tool_metrics(generator: str) -> Mapping[str, Sequence[Metric]]:
    """What a generator samples; nothing for the engine, whose series are its own."""
    if abilities(generator).keeps_series:
        return {}
    return {generator: find_generator(generator).metrics}


def check_tools(loaded: StudyFile, folders: Sequence[Path]) -> None:
    """Raises `StudyError`, with the file's line, for an unknown generator or its options; files
    that they name are searched in `folders`."""
    checked: set[tuple[str, str]] = set()
    for cell in cells(loaded.study):
        key = (cell.generator, repr(sorted(cell.options.items())))
        if not cell.abilities.takes_script and key not in checked:
            checked.add(key)
            table = deciding_level(loaded.study, cell, lambda level: level.generator)
            _check(loaded, table or ("workload",), cell.generator, cell.options, folders)
    check_keys(loaded)


def _check(
    loaded: StudyFile,
    path: KeyPath,
    name: str,
    options: Mapping[str, Option],
    folders: Sequence[Path],
) -> None:
    try:
        generator = find_generator(name)
    except UsageError as error:
        raise loaded.error((*path, "generator"), error.message, hint=error.hint) from error
    try:
        generator.read(options)
        generator.provision(options)
        for file, what in generator.files(options).items():
            find_file(file, folders, what)
    except ValueError as error:
        raise loaded.error((*path, "options"), f"options of `{name}`: {error}") from error
    except LabError as error:
        raise loaded.error((*path, "options"), error.message, hint=error.hint) from error
