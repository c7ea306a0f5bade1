"""How sure the answer is, in one line: repeats, doubts and how many checks are fine, linked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dbdyno.formats.quantities import format_duration
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, counted_blocks, fewest_blocks
from dbdyno.report.material.imported import imports, tools
from dbdyno.report.terms.everyday import counted

SOURCES = "where-the-numbers-come-from"
"""The section that says who measured."""

MOST_DOUBTS = 5
"""Doubts with a chip of their own."""

HOST_WORDS = {
    "busy": "busy",
    "steal": "sharing its processors",
    "throttled": "throttled",
    "virtual-machine": "virtual",
}
"""Code of a host's red flag → the adjective of its machine, in this order."""

GATE_WORDS = {
    "Censored": "events cut off at the end",
    "Data": "data not as loaded",
    "Declared": "analysis changed after the data",
    "Errors": "errors",
    "Evenness": "uneven speed",
    "Lab": "lab took part of the machine",
    "Load generator": "load generator near its limit",
    "Order": "order not balanced",
    "Store": "stored files changed",
    "Turns": "turns set aside",
    "Warm-up": "warm-up too short",
    "A/A": "differs from itself",
}


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
    for name in ("Blocks", "Trials"):
        if name in by_name:
            gate = by_name[name]
            # Nothing is compared: what another repeat would be is open, and no verdict is wrong.
            alone = gate.state == "failed" and not analysis.comparisons
            state: GateState = "doubtful" if alone else gate.state
            yield Chip(_repeats(analysis, gate), state, gate_anchor(gate))
    order = {"failed": 0, "doubtful": 1}
    doubts = sorted(
        (g for g in judged if g.state in order and g.name not in ("Blocks", "Trials")),
        key=lambda gate: order[gate.state],
    )
    for gate in doubts[:MOST_DOUBTS]:
        yield Chip(_words(gate, analysis), gate.state, gate_anchor(gate))
    fine = sum(gate.state == "ok" for gate in judged)
    more = len(doubts) - MOST_DOUBTS
    also = f", {more} more doubtful" if more > 0 else ""
    yield Chip(f"{fine} of {len(judged)} checks fine{also}", "ok", "validity")


def _repeats(analysis: Analysis, gate: Gate) -> str:
    if gate.name == "Trials":
        return f"{gate.told.split(' ')[0]} trials"
    return counted(fewest_blocks(analysis), "repeat")


def _words(gate: Gate, analysis: Analysis) -> str:
    if gate.name == "Runs":
        return gate.told.split(",")[0].rstrip(".").replace(" planned runs are", " runs")
    if gate.name == "Window":
        shortest = min((f.summary.window_s for f in counted_blocks(analysis)), default=0.0)
        return f"windows of {format_duration(shortest)}"
    if gate.name == "Host":
        return _machine(analysis)
    return GATE_WORDS.get(gate.name, gate.name.lower())


def _machine(analysis: Analysis) -> str:
    codes = {
        flag["code"]
        for run in analysis.material.runs
        for flag in (run.facts.get("red_flags") or [])  # type: ignore[attr-defined]
    }
    words = [word for code, word in HOST_WORDS.items() if code in codes]
    return f"{', '.join(words)} machine" if words else "the machine has flags"
