"""The gate *Lab*: whether the instrument was out of the way while it measured."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import median

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.terms.wording import percent

LAB_SHARE = 0.01
"""From this share of a core on, the lab and its queries are no longer out of the way."""


def _lab_gate(analysis: Analysis) -> Iterable[Gate]:
    """What the lab and its collectors took while steps were driven, where it was counted: of this
    machine, and of the servers for their queries."""
    costs = {run.manifest.id: run.manifest.lab for run in analysis.material.runs}
    counted = {name: lab for name, lab in costs.items() if lab is not None and lab.wall_s > 0}
    if not counted:
        return
    own = [lab.cpu_s / lab.wall_s for lab in counted.values()]
    queries = {
        name: None if lab.server_cpu_s is None else lab.server_cpu_s / lab.wall_s
        for name, lab in counted.items()
    }
    # What the lab took is of all runs that were up together, queries are of each server.
    beside = {run.manifest.id: run.manifest.batch for run in analysis.material.runs}
    shares = sorted(
        share + sum(queries.get(other) or 0.0 for other in {name, *beside[name]})
        for name, share in zip(counted, own, strict=True)
    )
    known = [share for share in queries.values() if share is not None]
    asked, in_all = "", ""
    if len(known) < len(queries):
        asked = ", and what their queries took in the server is not known"
    elif any(known):
        asked, in_all = f", and their queries {percent(median(known))} in the server", " in all"
    text = (
        f"The lab and its collectors took {percent(median(own))} of a core while the load was on"
        f"{asked} (median of {len(shares)} runs; at most {percent(shares[-1])}{in_all})."
    )
    brief = f"measuring itself took {percent(median(shares))} of a processor"
    yield Gate("Lab", "doubtful" if median(shares) > LAB_SHARE else "ok", text, brief)


GATE = Judge(130, _lab_gate)
