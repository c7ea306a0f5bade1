"""What to tell whoever asked for a report, beside the answer."""

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.declared import declared_gate
from dbdyno.report.gates.script import script_gate
from dbdyno.report.gates.stored import store_gate


def remarks(analysis: Analysis) -> tuple[str, ...]:
    """What to tell whoever asked for a report, beside the answer."""
    gates = (*store_gate(analysis), *script_gate(analysis), *declared_gate(analysis))
    return tuple(gate.text for gate in gates)
