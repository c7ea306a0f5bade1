"""How sure the answer is, in one line of chips: repeats, doubts, how many checks are fine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, fewest_blocks
from dbdyno.report.material.imported import imports, tools
from dbdyno.report.terms.everyday import counted

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
    if imports(analysis.material.runs):
        yield Chip(f"measured by {tools(analysis.material.runs)}", "not judged", SOURCES)
    by_name = {gate.name: gate for gate in judged}
    for name in HOW_OFTEN:
        if name in by_name:
            gate = by_name[name]
            blocks = fewest_blocks(analysis)
            intervals = ", 95 % intervals" if blocks > 1 else ""
            words = gate.brief or f"{counted(blocks, 'repeat')}{intervals}"
            if gate.state == "doubtful" and not gate.brief:
                words = f"only {words}"
            yield Chip(words, gate.state, gate_anchor(gate))
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
