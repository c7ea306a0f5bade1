"""Separates analysis from measurement: which parts of a study may change after its runs, and what
the report then says.

The deciding figure, its baseline, charts and wording may be changed for existing runs. A figure
chosen after the data makes the answer exploratory, not confirmed; the report says so. What the
headline speaks of is wording: verdicts are adjusted for all comparisons, whichever comes first.
"""

from __future__ import annotations

import json
from dataclasses import asdict, fields, is_dataclass, replace

from dbdyno.model import Study
from dbdyno.report.material.material import Change

ANALYSIS = frozenset(
    {
        "question",
        "source",
        "primary",
        "charts",
        "answer",
        "leads",
        "prices",
        "published",
        "published_note",
    }
)
"""Fields of a study that don't affect its runs; `baseline` of its design is another."""

EXPECTED = "load.errors.expected"
"""Errors that belong to the load: they decide which runs enter verdicts."""


def asked_now(stored: Study, now: Study) -> tuple[Study, tuple[Change, ...]]:
    """The study as it was run, with the analysis of its file as it is now, and what differs."""
    names = [field.name for field in fields(Study) if field.name in ANALYSIS]
    design = replace(stored.design, baseline=now.design.baseline)
    then, later = stored.load.errors, now.load.errors
    load = replace(stored.load, errors=replace(then, expected=later.expected))
    parts = {name: getattr(now, name) for name in names}
    analysed = replace(stored, design=design, load=load, **parts)
    pairs = [(name, getattr(stored, name), getattr(now, name)) for name in names]
    pairs.append(("design.baseline", stored.design.baseline, now.design.baseline))
    pairs.append((EXPECTED, then.expected, later.expected))
    changes = tuple(
        Change(name, _shown(before), _shown(after))
        for name, before, after in pairs
        if before != after
    )
    return analysed, changes


def is_exploratory(changes: tuple[Change, ...]) -> bool:
    """Whether the deciding figure, direction, limit, baseline or the errors that count as expected
    were chosen after the data."""
    return any(change.what in ("primary", "design.baseline", EXPECTED) for change in changes)


_UNSAID: tuple[object, ...] = (None, False, "", (), {})
"""What a key has that is not in the file."""


def _shown(value: object) -> str:
    """A value in a line, near to what stands in the file."""
    if value is None or value in ((), {}):
        return "nothing"
    if isinstance(value, str):
        return value
    if is_dataclass(value) and not isinstance(value, type):
        value = asdict(value)
    if isinstance(value, dict):
        stated = {name: inner for name, inner in value.items() if inner not in _UNSAID}
        return ", ".join(f"{name} = {inner}" for name, inner in stated.items())
    if isinstance(value, tuple):
        return "; ".join(map(_shown, value))
    return json.dumps(value, default=str)
