"""Whether throughput was even within windows."""

from __future__ import annotations

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.cycles import stalls
from dbdyno.report.gates.gate import Gate, GateState, Judge, counted_blocks
from dbdyno.report.terms.wording import sentence_case

UNEVEN = frozenset({"collapsing", "stalling", "stepping", "drifting"})
"""Words of windows whose mean hides what happened in them."""


def _stability(analysis: Analysis) -> Gate:
    words: dict[str, int] = {}
    for figures in counted_blocks(analysis):
        words[figures.stability.word.value] = words.get(figures.stability.word.value, 0) + 1
    text = sentence_case(", ".join(f"{word} in {n}" for word, n in sorted(words.items())))
    if not words:
        return Gate("Evenness", "not judged", "No step has a window.")
    if UNEVEN & words.keys():
        text = f"{text} steps: see the lines over time.{_named_stalls(analysis)}"
        return Gate("Evenness", "doubtful", text)
    state: GateState = "not judged" if set(words) == {"too short to say"} else "ok"
    return Gate("Evenness", state, f"{text} steps.")


def _named_stalls(analysis: Analysis) -> str:
    """Which of the engine's cycles they coincide with; nothing where none is known."""
    found = [stall.cycle for *_, stalled in stalls(analysis) for stall in stalled]
    cycles = dict.fromkeys(cycle for cycle in found if cycle is not None)
    texts = (f"{found.count(cycle)} coincide with {cycle}" for cycle in cycles)
    return f" Of {len(found)} stalls, {', '.join(texts)}." if cycles else ""


GATE = Judge(140, _stability)
