"""Settings as MySQL's option files have them, and which of them the server adjusted."""

from __future__ import annotations

import re
from collections.abc import Mapping


def quoted_value(value: str) -> str:
    """A value as an option file takes it, whatever characters it has."""
    escaped = value.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def adjusted(
    asked: Mapping[str, str], effective: Mapping[str, str]
) -> Mapping[str, Mapping[str, str]]:
    """Numbers that the server silently adjusted to its limits."""
    return {
        name: {"asked": value, "effective": effective[name]}
        for name, value in sorted(asked.items())
        if name in effective
        and (number := _number(value)) is not None
        and (_number(effective[name]) or 0) != number
    }


def _number(text: str) -> float | None:
    """A number as option files have it, with the suffixes for powers of 1024."""
    parts = re.fullmatch(r"(-?\d+(?:\.\d+)?)([KMGTPE]?)", text.strip(), re.IGNORECASE)
    if parts is None:
        return None
    power = "KMGTPE".find(parts[2].upper()) + 1 if parts[2] else 0
    return float(parts[1]) * 1024.0**power
