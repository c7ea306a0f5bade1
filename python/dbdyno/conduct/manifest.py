"""The manifest at the head of a run folder: plan and outcome, for studies and `bench` alike."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict

from dbdyno import __version__, collect
from dbdyno.conduct.ending import failure_of, status_of
from dbdyno.engine import Engine
from dbdyno.errors import LabError
from dbdyno.formats.records import SCHEMA
from dbdyno.model import (
    EngineWarning,
    LabCost,
    PhaseSpan,
    Plan,
    PlannedRun,
    RunManifest,
    StepResult,
    TableLoad,
)


def manifest_of(
    plan: Plan,
    run: PlannedRun,
    engine: Engine,
    *,
    luajit: str,
    host_facts: Mapping[str, object],
    server_facts: Mapping[str, object],
    size_bytes: Mapping[str, int],
    counters: Sequence[Mapping[str, object]],
    started_unix_s: float,
    command_lines: Sequence[str],
    phases: Sequence[PhaseSpan],
    steps: Sequence[StepResult],
    loads: Sequence[TableLoad],
    load_warnings: Sequence[EngineWarning] = (),
    failure: LabError | None = None,
    interrupted: bool = False,
    batch: Sequence[str] = (),
    collected: Mapping[str, Mapping[str, object]] | None = None,
    lab: LabCost | None = None,
    attempt: int = 1,
) -> RunManifest:
    """The manifest of a run that ends now. `counters` has one entry per step."""
    cell = run.cell
    return RunManifest(
        id=run.id,
        study=plan.study,
        scale=plan.scale,
        plan=plan.fingerprint,
        status=status_of(failure, interrupted=interrupted),
        cell=cell.levels,
        provision=cell.provision,
        settings=cell.settings,
        script=cell.script,
        options=cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=started_unix_s,
        ended_unix_s=time.time(),
        command_lines=tuple(command_lines),
        versions={
            "dbdyno": __version__,
            "engine": engine.version,
            "engine_schema": str(SCHEMA),
            "luajit": luajit,
            "python": platform.python_version(),
            "server": str(server_facts.get("version", "")),
        },
        environment_id=collect.environment_id(host_facts),
        phases=tuple(phases),
        steps=tuple(steps),
        server={"facts": server_facts, "size_bytes": size_bytes, "counters": counters},
        loads=tuple(loads),
        load_warnings=tuple(map(asdict, load_warnings)),
        error=failure_of(failure),
        host=cell.host,
        generator=cell.generator,
        connection=cell.connection,
        proxy=cell.proxy,
        batch=tuple(batch),
        collected=collected or {},
        lab=lab,
        attempt=attempt,
    )
