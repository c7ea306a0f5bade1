"""Whether servers were warm when windows began."""

from __future__ import annotations

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge, counted_blocks


def _warm_up(analysis: Analysis) -> Gate:
    blocks = counted_blocks(analysis)
    judged = [figures for figures in blocks if figures.warm_up.warmed is not None]
    total = len(blocks)
    cold = [
        figures
        for figures in judged
        if not figures.warm_up.warmed or figures.warm_up.discard > figures.warm_up_intervals
    ]
    if not judged:
        text = "Too few intervals to judge (MSER-5 needs 100 of warm-up and window together)."
        return Gate("Warm-up", "not judged", text)
    if cold:
        text = (
            f"By MSER-5 {len(cold)} of {len(judged)} steps judged were still warming up when "
            "their window began."
        )
        return Gate("Warm-up", "doubtful", text)
    text = f"Long enough by MSER-5 in all {len(judged)} steps judged, of {total}."
    return Gate("Warm-up", "ok", text)


GATE = Judge(90, _warm_up, needs="warm-up")
