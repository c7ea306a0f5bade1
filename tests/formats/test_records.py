"""The engine's stream, line by line."""

from __future__ import annotations

import json

import pytest

import lines
from dbdyno.errors import EngineError
from dbdyno.formats.histograms import decode
from dbdyno.formats.records import parse_record
from dbdyno.model import Fatal, Hello, HistogramRecord, Interval, Phase, Summary


def test_each_kind_becomes_its_own_value() -> None:
    read = [
        parse_record(line, number=number)
        for number, line in enumerate(
            (
                lines.hello(),
                lines.phase("warm-up"),
                lines.interval(),
                lines.fatal("script", "no event"),
                lines.summary(),
            ),
            1,
        )
    ]

    assert [type(record) for record in read] == [Hello, Phase, Interval, Fatal, Summary]
    measured = read[2]
    assert isinstance(measured, Interval)
    assert measured.counters.statements == 600
    assert measured.cpu.total_us == 4000
    assert measured.histograms[0].label == "main"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (b"nonsense\n", "record 3 of the engine's stream is not one"),
        (b"[1]\n", "is not one"),
        (b'{"record": "news"}\n', "is not one"),
        (b"\xff\xfe\n", "is not one"),
        (lines.interval(phase="lunch"), "`interval` has a wrong `phase`"),
        (lines.interval(counters={"events": 1}), "`interval` has a wrong `counters.reads`"),
        (lines.hello().replace(b'"schema": 2', b'"schema": 3'), "speaks record schema 3"),
    ],
)
def test_what_the_contract_does_not_know_is_refused(line: bytes, said: str) -> None:
    with pytest.raises(EngineError, match=said) as caught:
        parse_record(line, number=3)
    assert caught.value.hint


def test_damaged_and_miscounted_histograms_are_refused() -> None:
    whole = json.loads(lines.interval())["histograms"][0]
    for change in (
        {"hdr": whole["hdr"][:-9]},
        {"hdr": "HISTF!"},
        {"hdr": ""},
        {"hdr": "é"},
        {"count": 4},
    ):
        with pytest.raises(EngineError, match=r"event\.main\.response"):
            decode(HistogramRecord(**{**whole, **change}))
