"""Parses sizes with units."""

from __future__ import annotations

import re

_UNITS = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_FORM = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)", re.IGNORECASE)


def parse_size(text: object) -> int:
    """Bytes in `"512 MB"`, `"2 GB"`; a kilobyte is 1,024 bytes, as in servers' settings.

    Raises `ValueError` for anything else, including a number without a unit.
    """
    found = _FORM.fullmatch(text.strip()) if isinstance(text, str) else None
    if found is None:
        raise ValueError(f'expected a size with its unit, such as "512 MB"; found {text!r}')
    return int(float(found[1]) * _UNITS[found[2].upper()])
