"""Whether all runs were measured on the same rows."""

from __future__ import annotations

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, Judge
from dbdyno.report.sections.fills import differences, found_fills, otherwise
from dbdyno.report.terms.wording import count, sentence_case


def _data(analysis: Analysis) -> Gate:
    found = found_fills(analysis)
    sent = [table for table in found if table.fill.sent is not None]
    differ = list(differences(sent))
    others = list(differences(table for table in found if table.fill.sent is None))
    fewer = list(otherwise(sent, lambda rows, all_sent: rows < all_sent))
    more = list(otherwise(sent, lambda rows, all_sent: rows > all_sent))
    problems = dict.fromkeys(table.fill.problem for table in found if table.fill.problem)
    if texts := [*differ, *fewer, *others, *more, *problems]:
        state: GateState = "failed" if differ or fewer else "doubtful"
        return Gate("Data", state, sentence_case("; ".join(map(str, texts))) + ".")
    if not found:
        return Gate("Data", "not judged", "No table was looked at after it was loaded.")
    runs = count(len({table.run.id for table in found}))
    told_rows = f"All {count(len(sent))} tables, over {runs} runs, have as many rows as were sent"
    if unsent := len(found) - len(sent):
        told_unsent = f"{count(unsent)} tables that no bulk insert filled were looked at"
        told_rows = f"{told_rows}; {told_unsent}" if sent else told_unsent
    if all(table.fill.checksum for table in found):
        same = "the same seed, script and options made the same rows in all of them"
        return Gate("Data", "ok", f"{told_rows}; {same}.")
    told_only = 'contents were not compared (`verify = "checksums"` does)'
    return Gate("Data", "ok", f"{told_rows}; {told_only}.")


GATE = Judge(150, _data, needs="data")
