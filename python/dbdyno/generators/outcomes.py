"""Classifies the outcome of damage, from observations of the server. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

OUTCOMES = ("refused", "reported", "repaired", "crashed", "silently wrong", "harmless")
"""`refused`: it did not start. `reported`: a statement failed, or the log tells of damage.
`repaired`: the log tells of a repair, and every row is right. `crashed`: the server or the session
died. `silently wrong`: wrong rows, and not a word. `harmless`: every row is right."""

_TELLS = re.compile(
    r"corrupt|checksum|\bcrc|damage|invalid page|repair|crashed|mismatch|\btorn\b|inconsisten"
    r"|\b(ERROR|WARNING|FATAL|PANIC)\b|\[(ERROR|Warning)\]",
    re.IGNORECASE,
)
_REPAIRS = re.compile(
    r"\brepair(ed|ing)\b|\brecover(ed|ing) (the )?(page|table)\b"
    r"|\brestor(ed|ing) (the )?(page|possible)\b|\brebuilt\b|\brebuilding\b",
    re.IGNORECASE,
)
"""A deed, not advice to repair."""
_STARTING = re.compile(r"starting up|not yet accepting|Aborted connection|shutting down")
"""What a log says of the lab's own attempts to connect, and of its end."""
_DIES = re.compile(r"terminated by signal|got (signal|exception)|Assertion failure")
_PANICS = re.compile(r"\bPANIC\b")
_CHANGES = re.compile(r"0x[0-9a-fA-F]+|\d+")


@dataclass(frozen=True, slots=True)
class Seen:
    """What was seen in one trial."""

    started: bool
    by_signal: bool = False
    """Its process was killed by a signal, not by ours."""
    lost: bool = False
    """A session ended while it was asked, or nothing answered in time."""
    errors: tuple[str, ...] = ()
    """Statements that were refused."""
    wrong: bool = False
    """A statement gave other rows than there are."""
    logged: tuple[str, ...] = ()
    """Lines of the log that a sound start does not write."""


def outcome_of(seen: Seen) -> str:
    """One of `OUTCOMES`."""
    dies = seen.by_signal or any(map(_DIES.search, seen.logged))
    if not seen.started:
        # PostgreSQL ends itself by a signal once it has said why it can't start.
        said_why = any(map(_PANICS.search, seen.logged))
        return "crashed" if dies and not said_why else "refused"
    if seen.lost or dies:
        return "crashed"
    if seen.errors:
        return "reported"
    if seen.logged:
        repaired = not seen.wrong and any(map(_REPAIRS.search, seen.logged))
        return "repaired" if repaired else "reported"
    return "silently wrong" if seen.wrong else "harmless"


def unusual(lines: Iterable[str], usual: Collection[str]) -> tuple[str, ...]:
    """Lines that tell of trouble, but for those that a sound start writes too."""
    return tuple(
        line
        for line in lines
        if _tells(line) and not _STARTING.search(line) and shape(line) not in usual
    )


def _tells(line: str) -> bool:
    return bool(_TELLS.search(line) or _DIES.search(line))


def shape(line: str) -> str:
    """A line without its time and numbers."""
    return _CHANGES.sub("#", line)
