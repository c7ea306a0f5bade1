"""Integers of 64 bits arrive as the script has them; what doesn't fit is an error."""

from __future__ import annotations

from pathlib import Path

import pytest

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
}
NOT_INTEGERS = {"infinite", "many", "nan", "nothing", "table", "truth", "word"}
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
    for name in ("beyond", "double", "largest"):
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
    assert words_of["largest"] == "18446744073709551615"
    assert words_of["beyond"] == words_of["double"] == "9223372036854775808"


@pytest.mark.parametrize("name", ["whole", "typed", "size"])
def test_an_option_that_64_bits_can_t_hold_is_refused(driven: Driven, name: str) -> None:
    command = driven.call(str(SCRIPT), "prepare", clients=1, **{name: "9223372036854775808"})
    assert f"option `{name}` is `9223372036854775808`" in command.complaint
