"""Whether the machine was one, and at rest."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.material import RunMaterial
from dbdyno.report.terms.wording import sentence_case

ADJECTIVES = {
    "busy": "busy",
    "steal": "shared",
    "throttled": "throttled",
    "virtual-machine": "virtual",
}
"""Code of a red flag → what such a machine is, in this order."""


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
    raised = _red_flags(analysis)
    texts = list(_messages(raised, len(analysis.material.runs)))
    if len(environments) > 1:
        texts.insert(0, f"runs come from {len(environments)} different environments")
    if texts:
        words = [word for code, word in ADJECTIVES.items() if code in raised]
        brief = f"{', '.join(words)} machine" if words else "the machine has flags"
        return Gate("Host", "doubtful", sentence_case("; ".join(texts)) + ".", brief)
    return Gate("Host", "ok", "One environment; the host raised no red flag.")


def _by_host(runs: Iterable[RunMaterial]) -> Mapping[str, Sequence[RunMaterial]]:
    """Runs by the state of the host that their cell asks for."""
    found: dict[str, list[RunMaterial]] = {}
    for run in runs:
        found.setdefault(json.dumps(run.manifest.host, sort_keys=True), []).append(run)
    return found


def _red_flags(analysis: Analysis) -> Mapping[str, Sequence[str]]:
    """Code of a flag → its message in each run that raised it."""
    raised: dict[str, list[str]] = {}
    for run in analysis.material.runs:
        found = run.facts.get("red_flags")
        for flag in found if isinstance(found, list) else []:
            raised.setdefault(flag["code"], []).append(flag["message"])
    return raised


def _messages(raised: Mapping[str, Sequence[str]], runs: int) -> Iterable[str]:
    """Each flag once, in the words of the run that raised it first."""
    for messages in raised.values():
        seen = "" if len(messages) == runs else f" ({len(messages)} of {runs} runs)"
        yield messages[0] + seen


GATE = Judge(160, _host, needs="host")
