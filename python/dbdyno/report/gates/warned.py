"""Warnings as gates, each once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from dbdyno.report.gates.gate import Gate
from dbdyno.report.terms.wording import sentence_case


def warned(named: Iterable[tuple[str, Mapping[str, object]]]) -> Iterable[Gate]:
    """One gate for each name: the first warning's message, how often it came, what to do."""
    found: dict[str, list[Mapping[str, object]]] = {}
    for name, warning in named:
        found.setdefault(name, []).append(warning)
    for name, warnings in found.items():
        first, times = warnings[0], len(warnings)
        text = f"{sentence_case(str(first['message']))} ({times} time{'' if times == 1 else 's'})."
        hint = first.get("hint")
        yield Gate(name, "doubtful", f"{text} {sentence_case(str(hint))}." if hint else text)
