"""How sure the answer is, in one line of chips: whether and by how many repeats, doubts, how many
checks are fine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.formats.study import SMOKE
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.analysis.comparisons import Comparison, MainEffect
from dbdyno.report.answer.contrast import has_answer
from dbdyno.report.answer.here import compared_here
from dbdyno.report.answer.leading import leading
from dbdyno.report.gates.gate import Gate, GateState, fewest_blocks
from dbdyno.report.material.imported import imports, tools
from dbdyno.report.terms.everyday import counted
from dbdyno.stats import Verdict

SOURCES = "where-the-numbers-come-from"
"""The section that says who measured."""

MOST_DOUBTS = 5
"""Doubts with a chip of their own."""

HOW_OFTEN = ("Blocks", "Trials")
"""Gates whose chip comes first, whatever their state."""

GATE_WORDS = {
    "Censored": "events cut off at the end",
    "Data": "data not as loaded",
    "Declared": "analysis changed after the data",
    "Errors": "errors",
    "Evenness": "uneven speed",
    "Load generator": "load generator near its limit",
    "Order": "order not balanced",
    "Promotions": "metrics of a server that was replaced",
    "Replicas": "a replica fell behind",
    "Store": "stored files changed",
    "Turns": "turns set aside",
    "Warm-up": "warm-up too short",
    "A/A": "differs from itself",
}
"""Name of a gate → its chip's words, where these are always the same and not its name."""


@dataclass(frozen=True, slots=True)
class Chip:
    """A few words that link to their reason."""

    text: str
    state: GateState
    target: str
    """Id on the page."""


def anchor(title: str) -> str:
    """The id of a heading or gate."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")


def gate_anchor(gate: Gate) -> str:
    """The id of a gate on the page."""
    return f"check-{anchor(gate.name)}"


def chips(analysis: Analysis, judged: Sequence[Gate]) -> tuple[Chip, ...]:
    """Repeats first, then what failed, what is doubtful, and how many checks are fine."""
    return tuple(_chips(analysis, judged))


def _chips(analysis: Analysis, judged: Sequence[Gate]) -> Iterator[Chip]:
    by_name = {gate.name: gate for gate in judged}
    for name in HOW_OFTEN:
        if name in by_name:
            gate = by_name[name]
            yield Chip(_how_sure(gate, analysis), gate.state, gate_anchor(gate))
    if imports(analysis.material.runs):
        yield Chip(f"measured by {tools(analysis.material.runs)}", "not judged", SOURCES)
    order = {"failed": 0, "doubtful": 1}
    doubts = sorted(
        (g for g in judged if g.state in order and g.name not in HOW_OFTEN),
        key=lambda gate: order[gate.state],
    )
    for gate in doubts[:MOST_DOUBTS]:
        words = gate.brief or GATE_WORDS.get(gate.name, gate.name.lower())
        yield Chip(words, gate.state, gate_anchor(gate))
    fine = sum(gate.state == "ok" for gate in judged)
    if more := max(0, len(doubts) - MOST_DOUBTS):
        yield Chip(f"{counted(more, 'more doubt')}", "doubtful", "validity")
    beside = (
        "other "
        if doubts or any(by_name[n].state != "ok" for n in HOW_OFTEN if n in by_name)
        else ""
    )
    if fine:
        yield Chip(f"{fine} {beside}check{'' if fine == 1 else 's'} fine", "ok", "validity")


def _how_sure(gate: Gate, analysis: Analysis) -> str:
    """Whether the answer is sure, and by how much was measured."""
    words = gate.brief or counted(fewest_blocks(analysis), "repeat")
    if gate.state == "doubtful" and not gate.brief:
        words = f"only {words}"
    answered = _answered(analysis)
    if analysis.material.plan.scale == SMOKE:
        return f"not sure: a smoke run, {words}"
    if not answered:
        return f"not sure: {words}" if fewest_blocks(analysis) == 1 else words
    sure = [result for result in answered if has_answer(result)]
    if not sure:
        return f"not sure: {words}"
    if len(sure) < len(answered):
        return f"sure (95\u202f%), but for each “can't tell”; {words}"
    if any(not has_answer(pair) for pair in _averaged(answered)):
        return f"sure (95\u202f%) of the average alone: {words}"
    if all(result.judgement.verdict is Verdict.EQUIVALENT for result in sure):
        return f"sure (95\u202f%): {words}"
    return f"sure which is better (95\u202f%): {words}"


def _answered(analysis: Analysis) -> Sequence[Comparison | MainEffect]:
    """What the answer speaks of: what the study asks for, or else all comparisons at the highest
    load."""
    leads = leading(analysis)
    if leads:
        return [lead.what for lead in leads if isinstance(lead.what, Comparison | MainEffect)]
    compared = compared_here(analysis)
    top = max((comparison.point.clients for comparison in compared), default=0)
    return [comparison for comparison in compared if comparison.point.clients == top]


def _averaged(answered: Sequence[Comparison | MainEffect]) -> Iterator[Comparison]:
    """The comparisons of which means are made."""
    for result in answered:
        if isinstance(result, MainEffect):
            yield from result.pairs
