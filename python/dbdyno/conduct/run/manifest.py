"""The manifest at the head of a run's folder: plan and outcome, for studies and `bench` alike."""

from __future__ import annotations

import platform
import time
from collections.abc import Mapping
from dataclasses import asdict

from dbdyno import __version__, collect
from dbdyno.conduct.ending import failure_of, status_of
from dbdyno.conduct.run.identity import Identity
from dbdyno.conduct.run.inspected import Inspected
from dbdyno.conduct.run.load import LoadAccount
from dbdyno.conduct.run.measured import Measured
from dbdyno.engine.script import script_file
from dbdyno.errors import LabError
from dbdyno.formats.record_schema import SCHEMA
from dbdyno.model import ENGINE, LabCost, RunManifest, ScriptFile

TRIALS_OF_LAB = frozenset(("damage", "ledger"))
"""Generators whose statements the lab sends itself, to SQLite by its own library."""


def manifest_of(
    identity: Identity,
    measured: Measured,
    inspected: Inspected,
    account: LoadAccount,
    *,
    command_line: str,
    collected: Mapping[str, Mapping[str, object]],
    lab: LabCost | None,
    failure: LabError | None,
) -> RunManifest:
    """The manifest of a run that ends now."""
    plan, run, cell = identity.setting.plan, identity.planned, identity.cell
    server = {
        "facts": inspected.server_facts,
        "size_bytes": inspected.size_bytes,
        "counters": measured.counters,
    }
    return RunManifest(
        id=run.id,
        study=plan.study,
        scale=plan.scale,
        plan=plan.fingerprint,
        status=status_of(failure),
        cell=cell.levels,
        provision=cell.provision,
        settings=cell.settings,
        script=cell.script,
        options=cell.options,
        block=run.block,
        position=run.position,
        seed=run.seed,
        data_seed=run.data_seed,
        started_unix_s=identity.started_unix_s,
        ended_unix_s=time.time(),
        command_lines=(command_line, *account.command_lines),
        versions={
            "dbdyno": __version__,
            "engine": identity.setting.engine.version,
            "engine_schema": str(SCHEMA),
            "luajit": account.luajit,
            "python": platform.python_version(),
            "server": _server_version(inspected.server_facts, identity),
        },
        environment_id=collect.environment_id(inspected.host_facts),
        phases=tuple(measured.phases),
        steps=tuple(measured.steps),
        server=server,
        loads=account.tables,
        load_warnings=tuple(map(asdict, account.warnings)),
        error=failure_of(failure),
        host=cell.host,
        generator=cell.generator,
        connection=cell.connection,
        proxy=cell.proxy,
        topology=cell.topology,
        batch=identity.batch,
        collected=collected,
        lab=lab,
        attempt=identity.attempt,
        script_file=_script_file(identity),
    )


def _server_version(facts: Mapping[str, object], identity: Identity) -> str:
    """Its own, or that of the library that was used where it is no server."""
    generator = identity.cell.generator
    if "version" in facts or generator not in (ENGINE, *TRIALS_OF_LAB):
        return str(facts.get("version", ""))
    if generator in TRIALS_OF_LAB:
        return str(facts.get("library_of_lab", ""))
    return identity.setting.engine.embedded.get(str(facts.get("kind")), "")


def _script_file(identity: Identity) -> ScriptFile | None:
    file = identity.setting.scripts.get(identity.cell.script)
    return None if file is None else script_file(file)
