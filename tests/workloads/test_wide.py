"""Integers of 64 bits arrive as the script has them; what doesn't fit is an error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from dbdyno.model import Option
from driven import Driven

pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).parent / "wide.lua"
OPTIONS = {"whole": "9007199254740993", "typed": "-9223372036854775807", "size": "9007199254740993"}
STORED = {
    "fraction": "1",
    "hex": "16",
    "negative": "-9223372036854775808",
    "spaced": "12",
    "text": "9007199254740993",
    "whole": "9007199254740993",
    "wide": "9007199254740993",
    "typed": "-9223372036854775807",
    "size": "9007199254740993",
    "byte": "-128",
    "hex_least": "-9223372036854775808",
    "hex_most": "9223372036854775807",
    "hex_wide": "9007199254740993",
    "minus_point": "-9007199254740993",
    "point": "9007199254740993",
    "pointer": "9007199254740993",
    "product": "9223372030926249001",
    "shifted": "4611686018427387905",
    "text_least": "-9223372036854775808",
    "zeros": "9007199254740993",
    "power": "9007199254740993",
    "power_cut": "-2",
    "power_least": "-9223372036854775808",
    "power_most": "9223372036854775807",
    "power_point": "9007199254740993",
    "power_small": "0",
    "power_ten": "1000000000000000000",
    "power_zero": "0",
    "power_zeros": "1",
}
NOT_INTEGERS = {"infinite", "many", "nan", "nothing", "table", "truth", "word"} | {
    "below",
    "bits_65",
    "suffix",
    "power_many",
    "power_wide",
    "power_nothing",
    "power_dot",
    "power_half",
}
BEYOND = ("beyond", "cast", "double", "hex_beyond", "largest", "power_beyond")
TOO_LARGE = {
    "pgsql": "out of range for type bigint",
    "mysql": "Out of range value for column 'v' at row 1",
    "sqlite": "is above 9223372036854775807",
}
TEXTS = ["9007199254740993", "9007199254740992", "-12", "1234567890123"]


def test_integers_keep_all_their_digits(driven: Driven) -> None:
    command = driven.call(str(SCRIPT), "prepare", clients=1, **OPTIONS)
    assert command.complaint == ""
    lines = [line.split(" ", 1) for line in command.lines]
    words_of = {name: words for name, words in lines[::-1] if name in STORED}
    assert words_of == STORED
    for name in NOT_INTEGERS:
        assert "param:set() of an integer parameter needs" in dict(lines)[name]
    for name in BEYOND:
        assert TOO_LARGE[driven.driver] in dict(lines)[name]
    texts = [words for name, words in lines if name == "text"][1:]
    assert [words for words in texts if words.isdigit() or words == "-12"][:3] == TEXTS[:3]
    assert texts[-1] == TEXTS[3]
    assert dict(lines)["option"] == "9007199254740993 9007199254740993 -9223372036854775807 " + (
        "9007199254740993"
    )
    assert dict(lines)["printf"] == "9007199254740993 18446744073709551615"


def test_a_column_without_a_sign_takes_what_fits_it(driven: Driven) -> None:
    columns = {"pgsql": "numeric(20)", "mysql": "bigint unsigned"}
    if driven.driver not in columns:
        return
    command = driven.call(str(SCRIPT), "prepare", column=columns[driven.driver])
    assert command.complaint == ""
    words_of = dict(line.split(" ", 1) for line in command.lines)
    for name in ("cast", "hex_beyond", "largest", "text_most"):
        assert words_of[name] == "18446744073709551615"
    assert words_of["beyond"] == words_of["double"] == "9223372036854775808"


REFUSED: Mapping[str, Sequence[Option]] = {
    "whole": (
        "nan",
        "-nan",
        "9223372036854775808",
        "0xffffffffffffffff",
        "-9223372036854775809",
        2**64,
        10**30,
    ),
    "typed": (
        *("9223372036854775808", "0x8000000000000000", "18446744073709551615", 2**64, "2.5"),
        *("25e-1", "1e19", "1.8446744073709551615e19", "-9.3e18", "1e400"),
    ),
    "size": ("9223372036854775808", "9007199254740993K", "8388608T", 2**64, "-1"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_an_option_that_64_bits_can_t_hold_is_refused(driven: Driven, name: str) -> None:
    for value in REFUSED[name]:
        command = driven.call(str(SCRIPT), "prepare", clients=1, **{name: value})
        assert f"option `{name}` is `{value}`" in command.complaint


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("whole", 2**63 - 1, "9223372036854775807"),
        ("whole", -(2**63), "-9223372036854775808"),
        ("whole", "0x20000000000001", "9007199254740993"),
        ("typed", "0x7fffffffffffffff", "9223372036854775807"),
        ("typed", " +9007199254740993 ", "9007199254740993"),
        ("whole", "9.007199254740993e15", "9007199254740993"),
        ("wide", "-9.223372036854775807e18", "-9223372036854775807"),
        ("typed", "9.223372036854775807E+18", "9223372036854775807"),
        ("typed", "3e2", "300"),
        ("whole", "9007199254740993.0", "9007199254740993"),
        ("whole", "-9007199254740993.", "-9007199254740993"),
        ("typed", "9223372036854775807.00", "9223372036854775807"),
        ("wide", "5.0", "5"),
        ("size", 2**63 - 1, "9223372036854775807"),
        ("size", "9223372036854775807B", "9223372036854775807"),
        ("size", "4503599627370497K", "4611686018427388928"),
        ("size", "8388607T", "9223370937343148032"),
        ("size", "1.5K", "1536"),
    ],
)
def test_an_option_keeps_all_its_digits(
    driven: Driven, name: str, value: str | int, read: str
) -> None:
    command = driven.call(str(SCRIPT), "prepare", clients=1, **{name: value})
    assert command.complaint == ""
    words = dict(line.split(" ", 1) for line in command.lines)["option"].split()
    assert words[("whole", "wide", "typed", "size").index(name)] == read
