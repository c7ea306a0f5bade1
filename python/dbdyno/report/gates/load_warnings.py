"""What loading warned of; what tables lack, the gate on data says."""

from __future__ import annotations

from collections.abc import Iterable

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.gates.warned import warned

OF_DATA = ("rows", "not-verified")
"""Warnings of a load that the data gate says better."""


def _load_warnings(analysis: Analysis) -> Iterable[Gate]:
    """Of loaders; what tables lack, the data gate says."""
    runs = [run.manifest for run in analysis.material.runs]
    return warned(
        (f"Load: {warning['code']}", warning)
        for run in runs
        for warning in run.load_warnings
        if warning["code"] not in OF_DATA
    )


GATE = Judge(170, _load_warnings)
