"""The names, order and units of YCSB's results."""

from __future__ import annotations

import re

_LINE = re.compile(r"\[([\w%-]+)\], ([^,]+), (\S+)")
_OWN = re.compile(r"TOTAL_|CLEANUP$")
"""What only YCSB's client has: its garbage collector, and the closing of its connections."""


def names_of(text: str) -> list[tuple[str, str, str]]:
    """Kind of operation, what is said of it, and the shape of its value, of each result."""
    names = []
    for line in text.splitlines():
        if not line.startswith("["):
            continue
        matched = _LINE.fullmatch(line)
        assert matched is not None, line
        kind, what, value = matched.groups()
        if not _OWN.match(kind):
            names.append((kind, what, _shape(value)))
    return names


def _shape(value: str) -> str:
    if re.fullmatch(r"\d+", value):
        return "whole"
    assert re.fullmatch(r"\d+\.\d+(E-?\d+)?", value), value
    return "number"
