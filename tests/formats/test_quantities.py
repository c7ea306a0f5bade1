"""Durations and shares as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dbdyno.formats.quantities import format_duration, parse_duration, parse_fraction


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("5 s", 5),
        ("5s", 5),
        ("2 min", 120),
        ("1.5 h", 5400),
        ("1 h 30 min", 5400),
        ("250 ms", 0.25),
        ("0s", 0),
    ],
)
def test_durations_are_read(text: str, seconds: float) -> None:
    assert parse_duration(text) == seconds


@pytest.mark.parametrize("text", ["", " ", "5", 5, "s", "5 parsecs", "-1 s", "1 s x", None, True])
def test_what_is_no_duration_is_refused(text: object) -> None:
    with pytest.raises(ValueError, match="expected a duration"):
        parse_duration(text)


@given(st.integers(0, 500_000).filter(lambda seconds: seconds < 3600 or seconds % 60 == 0))
def test_a_written_duration_reads_back(seconds: int) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


def test_shares_are_read() -> None:
    assert parse_fraction("2 %") == 0.02
    assert parse_fraction(0.02) == 0.02
    for wrong in ("two", -1, "-2 %", "0 %", 0, True, None, [1]):
        with pytest.raises(ValueError, match="expected a share"):
            parse_fraction(wrong)
