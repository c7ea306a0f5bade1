"""Whether all runs of a script were of the same file."""

from __future__ import annotations

from collections.abc import Iterator

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.script_files import brief_file, script_files
from dbdyno.report.terms.wording import enumerated


def script_gate(analysis: Analysis) -> Iterator[Gate]:
    """Where runs of one script name had different files."""
    for script, files in script_files(analysis.material.runs).items():
        if len(files) > 1:
            named = enumerated([*map(brief_file, files)])
            text = f"Runs of `{script}` had different files: {named}."
            yield Gate("Script", "doubtful", text, "script changed between runs")


GATE = Judge(25, script_gate)
