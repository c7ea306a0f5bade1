"""Of which server metrics are where a replica took the primary's place."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dbdyno.model.fault import FaultResult
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge, all_blocks
from dbdyno.report.terms.wording import count

_OF_SERVERS = ("postgresql", "mysql")
"""Sources that ask each member."""


def _promoted(analysis: Analysis) -> Iterator[Gate]:
    gate = promoted_gate(
        [figures.summary.faults for figures in all_blocks(analysis)],
        analysis.material.study.primary.metric,
    )
    if gate is not None:
        yield gate


def promoted_gate(windows: Sequence[Sequence[FaultResult]], metric: str) -> Gate | None:
    """`windows`: the faults of each; `metric`: by which the study is judged. Counters stay those of
    one server, so that they can be compared with themselves."""
    changes = [[fault for fault in faults if fault.promoted] for faults in windows]
    firsts = sorted({faults[0].member for faults in changes if faults})
    if not firsts:
        return None
    times = count(sum(map(len, changes)))
    text = (
        f"A replica took the primary's place {times} times. Metrics and counters of a server that "
        f"name no member are those of {', '.join(firsts)} throughout, whatever its place was."
    )
    names = [fault.promoted for faults in changes for fault in faults]
    source, dot, rest = metric.partition(".")
    of_member = rest.rpartition(".")[2] in (*firsts, *names)
    if not dot or of_member or source not in _OF_SERVERS:
        return Gate("Promotions", "ok", text)
    return Gate("Promotions", "doubtful", f"{text} `{metric}` is one of them.")


GATE = Judge(157, _promoted)
