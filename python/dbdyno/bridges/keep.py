"""Stores results of other tools as a study: a cell per name, a step per number of clients, a block
per repeat."""

from __future__ import annotations

import hashlib
import json
import platform
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from dbdyno import __version__
from dbdyno.bridges.bridge import ALWAYS_UNKNOWN
from dbdyno.bridges.sources import Source
from dbdyno.design import plan as make_plan
from dbdyno.errors import UsageError
from dbdyno.formats.passwords import without_passwords
from dbdyno.formats.stored_study import IMPORTED, Declared
from dbdyno.generators.generator import step_summary
from dbdyno.model import (
    Design,
    ErrorPolicy,
    Factor,
    Imported,
    Level,
    Load,
    Plan,
    PlannedRun,
    RunManifest,
    Step,
    StepResult,
    Study,
    Workload,
)
from dbdyno.store import RunWriter, Store, event_record, open_study_folder

PROVISION = "imported"
"""In place of a server's provision: only the person who measured knows it."""

FACTOR = "result"

Steps = Mapping[Step, Source]

NONE: Mapping[str, float] = {}
"""No error is expected."""


@dataclass(frozen=True, slots=True)
class Kept:
    """The outcome of an import."""

    study: str
    """Its name in the store."""
    runs: int
    new: bool
    """False: the store already had exactly these files, under this name."""


def keep(
    store: Store,
    name: str,
    sources: Sequence[Source],
    command_line: str,
    *,
    title: str = "",
    expected: Mapping[str, float] = NONE,
) -> Kept:
    """Puts the results into the store as the study `name`, or `name.2` … if that is another. The
    first cell is the baseline of the others; the study's question begins with `title`. `expected`:
    errors that belong to the load, code → share of operations.

    Raises `UsageError` where results of one cell are of different loads, `StoreError`.
    """
    study = _study(name, sources, command_line, title, expected)
    runs = _runs(study, sources)
    plan = Plan(
        study=name,
        scale=study.scale,
        seed=0,
        runs=tuple(run for run, _ in runs),
        fingerprint=_fingerprint(name, sources, expected),
    )
    with open_study_folder(store, Declared(study, plan), whole=True) as folder:
        new = not folder.has_runs()
        missing = {run.id for run in folder.missing([[run] for run in plan.runs])}
        for run, steps in runs:
            if run.id in missing:
                with folder.writer(run, attempt=folder.next_attempt([run])) as writer:
                    _write(writer, plan, run, steps, command_line)
        return Kept(folder.stored.name, len(runs), new)


def _study(
    name: str,
    sources: Sequence[Source],
    command_line: str,
    title: str,
    expected: Mapping[str, float],
) -> Study:
    cells: dict[str, list[Source]] = defaultdict(list)
    for source in sources:
        cells[source.cell].append(source)
    levels = tuple(_level(cell, matched) for cell, matched in cells.items())
    tools = " and ".join(dict.fromkeys(source.bridge.tool for source in sources))
    first, *others = cells
    against = f": {', '.join(others)} against {first}" if others else ""
    return Study(
        name=name,
        question=f"{title}{against}" if title else f"What did {tools} measure?",
        factors=(Factor(FACTOR, levels),),
        workload=Workload(None, generator=sources[0].bridge.tool),
        load=Load(
            clients=tuple(sorted({source.clients for source in sources})),
            warm_up_s=0.0,
            measure_s=None,
            errors=ErrorPolicy(expected=expected),
        ),
        design=Design(
            blocks=max(len(matched) for matched in cells.values()),
            seed=0,
            order="runs",
            baseline={FACTOR: first} if others else {},
        ),
        text=f"{IMPORTED}{command_line.removeprefix('dbdyno import').strip()}\n",
    )


def _level(cell: str, sources: Sequence[Source]) -> Level:
    """A cell; raises `UsageError` where its results are of different loads."""
    first, *others = sources
    for other in others:
        for what, ours, theirs in (
            ("tool", first.bridge.tool, other.bridge.tool),
            ("version", first.result.version, other.result.version),
            ("script", first.result.script, other.result.script),
            *_options(first, other),
        ):
            if ours != theirs:
                raise UsageError(
                    f"{other.place} and {first.place} are not repeats of one another: {what} "
                    f"{ours or 'not told'} → {theirs or 'not told'}",
                    hint=f"name two cells: `a={first.path}` `b={other.path}`",
                )
    result = first.result
    return Level(
        cell,
        provision=PROVISION,
        script=result.script or None,
        options=result.options,
        generator=first.bridge.tool,
    )


def _options(a: Source, b: Source) -> list[tuple[str, object, object]]:
    """Of two clients' numbers the number of threads may differ too."""
    names = dict.fromkeys((*a.result.options, *b.result.options))
    if a.clients != b.clients:
        names.pop("threads", None)
    return [(name, a.result.options.get(name), b.result.options.get(name)) for name in names]


def _runs(study: Study, sources: Sequence[Source]) -> list[tuple[PlannedRun, Steps]]:
    """The runs there are files for, each with its steps: of the files of a cell with as many
    clients, the first is of block 1, the second of block 2."""
    matched: dict[tuple[str, int], dict[int, Source]] = defaultdict(dict)
    ordered = sorted(sources, key=lambda entry: (entry.cell, entry.clients))
    for (cell, clients), repeats in groupby(ordered, key=lambda entry: (entry.cell, entry.clients)):
        for block, source in enumerate(repeats, 1):
            matched[cell, block][clients] = source
    runs: list[tuple[PlannedRun, Steps]] = []
    for run in make_plan(study, seed=0).runs:
        here = matched.get((run.cell.levels[FACTOR], run.block), {})
        steps = {step: here[step.clients] for step in run.steps if step.clients in here}
        if steps:
            runs.append((replace(run, position=len(runs) + 1, steps=tuple(steps)), steps))
    return runs


def _fingerprint(name: str, sources: Sequence[Source], expected: Mapping[str, float]) -> str:
    """Of the files and of the expected errors: the same files with others are another study."""
    shape = [
        name,
        *([sorted(expected.items())] if expected else []),
        *(
            [
                entry.cell,
                entry.clients,
                [file.sha256 for file in entry.files],
                *([entry.line] if entry.line else []),
            ]
            for entry in sources
        ),
    ]
    return hashlib.sha256(json.dumps(shape).encode()).hexdigest()[:16]


def _write(writer: RunWriter, plan: Plan, run: PlannedRun, steps: Steps, command_line: str) -> None:
    summaries, results, samples, spans = [], [], [], []
    for step, source in steps.items():
        measured = source.result.outcome
        ended_ns = measured.ended_unix_ns or round(source.modified_unix_s * 1e9)
        began_ns = ended_ns - round(measured.window_s * 1e9)
        spans += [began_ns, ended_ns]
        kept = event_record(measured.distribution)
        if kept is not None:
            writer.distribution(
                step.index, kept, start_unix_s=began_ns / 1e9, length_s=measured.window_s
            )
        summaries.append(step_summary(step.index, step.clients, source.bridge.tool, measured, kept))
        results.append(_step_result(step, source, ended_ns))
        samples += [
            entry if entry.unix_ns > _EARLY_NS else replace(entry, unix_ns=began_ns + entry.unix_ns)
            for entry in measured.samples
        ]
    if samples:
        tools = {source.bridge.tool: source.bridge.metrics for source in steps.values()}
        writer.metrics(samples, tools)
    manifest = _manifest(
        plan, run, list(steps.values()), results, spans_ns=spans, command_line=command_line
    )
    writer.commit(manifest, tuple(summaries))


_EARLY_NS = 10**17
"""Of before 1973: seconds since the tool began."""


def _step_result(step: Step, source: Source, ended_ns: int) -> StepResult:
    outcome = source.result.outcome
    measured = without_passwords("; ".join((*outcome.against, *outcome.warnings)))
    return StepResult(
        index=step.index,
        clients=step.clients,
        seed=step.seed,
        status="complete",
        engine_start_unix_ns=None,
        reactor=None,
        shards=None,
        warnings=({"code": source.bridge.tool, "message": measured},) if measured else (),
        ended_unix_ns=ended_ns,
    )


def _manifest(
    plan: Plan,
    run: PlannedRun,
    sources: Sequence[Source],
    steps: Sequence[StepResult],
    *,
    spans_ns: Sequence[int],
    command_line: str,
) -> RunManifest:
    cell, (first, *_) = run.cell, sources
    results = [entry.result for entry in sources]
    unknown = (*ALWAYS_UNKNOWN, *(word for entry in results for word in entry.not_known))
    arrivals = {entry.arrival for entry in results}
    if "unknown" in arrivals:
        unknown = (*unknown, "arrival")
    dated = all(entry.result.outcome.ended_unix_ns is not None for entry in sources)
    return RunManifest(
        id=run.id,
        study=plan.study,
        scale=plan.scale,
        plan=plan.fingerprint,
        status="complete",
        cell=cell.levels,
        provision=cell.provision,
        settings={},
        script=cell.script,
        options=cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=min(spans_ns) / 1e9,
        ended_unix_s=max(spans_ns) / 1e9,
        command_lines=(command_line,),
        versions={
            "dbdyno": __version__,
            "python": platform.python_version(),
            cell.generator: first.result.version,
        },
        environment_id="",
        phases=(),
        steps=tuple(steps),
        server={},
        generator=cell.generator,
        imported=Imported(
            tool=cell.generator,
            version=first.result.version,
            files=tuple(file for entry in sources for file in entry.files),
            dated_by="tool" if dated else "file",
            not_known=tuple(dict.fromkeys(unknown)),
            arrival=arrivals.pop() if len(arrivals) == 1 else "unknown",
            absent=tuple(dict.fromkeys(line for entry in results for line in entry.absent)),
            unread=tuple(dict.fromkeys(line for entry in results for line in entry.unread)),
        ),
    )
