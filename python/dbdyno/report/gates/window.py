"""Whether windows are long enough for slow cycles."""

from __future__ import annotations

from dbdyno.formats.quantities import format_duration
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge, counted_blocks

FAIR_WINDOW_S = 300.0


def _window(analysis: Analysis) -> Gate:
    if analysis.metric.of_trials:
        return Gate("Window", "not judged", "Trials are counted; no time was measured.")
    blocks = counted_blocks(analysis)
    shortest = min((figures.summary.window_s for figures in blocks), default=0.0)
    short = shortest < FAIR_WINDOW_S
    each = " each" if len(blocks) > 1 else ""
    brief = f"{'only ' if short else ''}{format_duration(shortest)}{each}"
    if any(figures.turns for figures in blocks):
        turn_s = min(turn.window_s for f in blocks for turn in f.turns.values())
        text = (
            f"The shortest is {format_duration(shortest)}, in turns of {format_duration(turn_s)}: "
            "what a server does while the others have their turns is not seen, and slow cycles "
            '(checkpoints, vacuum, compaction) need `order = "runs"` to show.'
        )
        return Gate("Window", "doubtful" if short else "ok", text, brief)
    if not short:
        return Gate("Window", "ok", f"At least {format_duration(shortest)}.")
    text = (
        f"The shortest is {format_duration(shortest)}: effects of slow cycles (checkpoints, "
        f"vacuum, compaction) need {format_duration(FAIR_WINDOW_S)} or more to show."
    )
    return Gate("Window", "doubtful", text, brief)


GATE = Judge(100, _window)
