"""Whether all runs of a script were of the same file."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.terms.wording import enumerated

_SHOWN = 8
"""Characters of a digest."""


def script_gate(analysis: Analysis) -> Iterator[Gate]:
    """Where runs of one script name had different files; earlier versions did not note the file."""
    files: dict[str, list[str]] = {}
    for run in analysis.material.runs:
        file = run.manifest.script_file
        if file is not None:
            named = files.setdefault(run.manifest.script, [])
            words = f"{file.origin} {file.sha256[:_SHOWN]}"
            if words not in named:
                named.append(words)
    for script, named in files.items():
        if len(named) > 1:
            text = f"Runs of `{script}` had different files: {enumerated(named)}."
            yield Gate("Script", "doubtful", text, "script changed between runs")


GATE = Judge(25, script_gate)
