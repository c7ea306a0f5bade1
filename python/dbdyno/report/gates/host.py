"""Whether the machine was one, and at rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.terms.wording import sentence_case


def _host(analysis: Analysis) -> Gate:
    # What levels change about the host on purpose is no other environment.
    environments = max(
        (
            {run.manifest.environment_id for run in runs}
            for runs in _by_host(analysis.material.runs).values()
        ),
        key=len,
        default=set(),
    )
    told = list(_red_flags(analysis))
    if len(environments) > 1:
        told.insert(0, f"runs come from {len(environments)} different environments")
    if told:
        return Gate("Host", "doubtful", sentence_case("; ".join(told)) + ".")
    return Gate("Host", "ok", "One environment; the host raised no red flag.")


def _by_host(runs: Iterable[RunMaterial]) -> Mapping[str, Sequence[RunMaterial]]:
    """Runs by the state of the host that their cell asks for."""
    found: dict[str, list[RunMaterial]] = {}
    for run in runs:
        found.setdefault(json.dumps(run.manifest.host, sort_keys=True), []).append(run)
    return found


def _red_flags(analysis: Analysis) -> Iterable[str]:
    """Each flag once, in the words of the run that raised it first."""
    runs = analysis.material.runs
    raised: dict[str, list[str]] = {}
    for run in runs:
        found = run.facts.get("red_flags")
        for flag in found if isinstance(found, list) else []:
            raised.setdefault(flag["code"], []).append(flag["message"])
    for messages in raised.values():
        seen = "" if len(messages) == len(runs) else f" ({len(messages)} of {len(runs)} runs)"
        yield messages[0] + seen


GATE = Judge(160, _host, needs="host")
