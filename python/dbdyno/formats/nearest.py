"""The known name that is nearest to a word: what somebody may have meant."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

_OTHER_TOOLS_WORDS = {
    "connections": "clients",
    "duration": "measure",
    "iterations": "blocks",
    "repeats": "blocks",
    "repetitions": "blocks",
    "runs": "blocks",
    "threads": "clients",
    "time": "measure",
    "users": "clients",
}
"""A word of sysbench, pgbench and others → ours, which similar spelling does not find."""


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known name that other tools call `word`, or that is most similar to it."""
    names = list(known)
    ours = _OTHER_TOOLS_WORDS.get(word)
    if ours in names:
        return ours
    matches = get_close_matches(word, names, n=1, cutoff=0.5)
    return matches[0] if matches else None


def nearest_hint(word: str, known: Iterable[str]) -> str | None:
    """Suggests it; `None` if no known name is similar."""
    match = nearest(word, known)
    return f"did you mean `{match}`?" if match else None
