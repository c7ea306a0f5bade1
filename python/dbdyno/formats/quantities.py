"""Durations, fractions and sizes as people write them."""

from __future__ import annotations

import re

_UNITS_S = {
    "us": 1e-6,
    "µs": 1e-6,
    "ms": 0.001,
    "s": 1.0,
    "sec": 1.0,
    "second": 1.0,
    "seconds": 1.0,
    "m": 60.0,
    "min": 60.0,
    "minute": 60.0,
    "minutes": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "hours": 3600.0,
}
SECONDS_MAX = 1e9
"""Longer than any run: 31 years."""
RATE_MAX = 1e9
"""Events per second at most: more than any machine can start."""
_PART = re.compile(r"\s*(\d+(?:\.\d+)?)\s*([a-zµ]+)", re.IGNORECASE)
_SIZES = {"B": 1, "KB": 1 << 10, "MB": 1 << 20, "GB": 1 << 30, "TB": 1 << 40}
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?B)", re.IGNORECASE)


def parse_duration(text: object) -> float:
    """Seconds in `"5 s"`, `"2 min"`, `"1 h 30 min"`, `"500 ms"`.

    Raises `ValueError` for anything else, including a number without a unit.
    """
    expected = 'expected a duration with its unit, such as "5 s" or "2 min"'
    if not isinstance(text, str):
        raise ValueError(f"{expected}; found {text!r}")
    if text.lstrip().startswith("-"):
        raise ValueError(f"{expected}, and not negative; found {text!r}")
    total, position = 0.0, 0
    while position < len(text.rstrip()):
        match = _PART.match(text, position)
        if match is None or match[2].lower() not in _UNITS_S:
            raise ValueError(f"{expected}; found {text!r}")
        total += float(match[1]) * _UNITS_S[match[2].lower()]
        position = match.end()
    if position == 0:
        raise ValueError(f"{expected}; found {text!r}")
    if total > SECONDS_MAX:
        raise ValueError(f"expected a duration of 1,000,000,000 s at most; found {text!r}")
    return total


def parse_rate(text: object) -> float:
    """Events per second, above 0 and at most `RATE_MAX`. Raises `ValueError` for anything else."""
    expected = f"expected events per second, above 0 and at most {RATE_MAX:,.0f}"
    try:
        rate = float(str(text))
    except ValueError:
        raise ValueError(f"{expected}; found {text!r}") from None
    if not 0 < rate <= RATE_MAX:
        raise ValueError(f"{expected}; found {text!r}")
    return rate


def format_duration(seconds: float) -> str:
    """The shortest exact form: `350 ms`, `12 s`, `2 min 5 s`, `1 h 10 min`."""
    if 0 < seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if whole < 10 and seconds % 1 else f"{whole} s"
    minutes, rest = divmod(whole, 60)
    if minutes < 60:
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes} min" if minutes else f"{hours} h"


def format_fraction(fraction: float) -> str:
    """0.02 as `2 %`, which `parse_fraction` reads."""
    return f"{100 * fraction:g} %"


def parse_fraction(text: object) -> float:
    """`"2 %"` or `0.02` as 0.02. Raises `ValueError` outside (0, 10]."""
    expected = 'expected a share above 0, such as "2 %" or 0.02'
    if isinstance(text, bool) or not isinstance(text, (str, int, float)):
        raise ValueError(f"{expected}; found {text!r}")
    try:
        if isinstance(text, str):
            number = text.strip()
            value = float(number[:-1]) / 100 if number.endswith("%") else float(number)
        else:
            value = float(text)
    except ValueError:
        raise ValueError(f"{expected}; found {text!r}") from None
    if not 0 < value <= 10:
        raise ValueError(f"{expected}; found {text!r}")
    return value


def parse_size(text: object) -> int:
    """Bytes in `"512 MB"`, `"2 GB"`; a kilobyte is 1,024 bytes, as in servers' settings.

    Raises `ValueError` for anything else, including a number without a unit.
    """
    match = _SIZE.fullmatch(text.strip()) if isinstance(text, str) else None
    if match is None:
        raise ValueError(f'expected a size with its unit, such as "512 MB"; found {text!r}')
    return int(float(match[1]) * _SIZES[match[2].upper()])


def format_size(size_bytes: float) -> str:
    """In the same units, to three digits or the whole number: `512 MB`, `1.5 GB`, `1010 KB`."""
    unit = max((u for u in _SIZES if size_bytes >= _SIZES[u]), key=_SIZES.__getitem__, default="B")
    number = size_bytes / _SIZES[unit]
    return f"{number:.0f} {unit}" if number >= 100 else f"{number:.3g} {unit}"


_SETTING_SIZE = re.compile(r"(\d+)\s*([kmgt]?)b?", re.IGNORECASE)


def size_of_setting(text: str) -> int:
    """Bytes of a server's setting: `512M`, `64GB`, `4096`; 0 of anything else."""
    size = _SETTING_SIZE.fullmatch(text.strip())
    return int(size[1]) << (10 * " kmgt".find(size[2].lower())) if size else 0


_RATE = re.compile(r"(\d+(?:\.\d+)?)\s*([kMG]?)bit(?:/s)?")
_BIT_S = {"": 1, "k": 10**3, "M": 10**6, "G": 10**9}
_SLOWEST_BIT_S = 8000


def parse_bit_rate(value: object) -> int:
    """Bits per second of "1 Gbit/s". Raises `ValueError` without a unit."""
    match = _RATE.fullmatch(value.strip()) if isinstance(value, str) else None
    rate = 0 if match is None else round(float(match[1]) * _BIT_S[match[2]])
    if rate < _SLOWEST_BIT_S:
        raise ValueError(
            f'expected a rate of at least 8 kbit/s, such as "1 Gbit/s"; found {value!r}'
        )
    return rate
