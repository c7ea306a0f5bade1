"""Ratios, intervals and amounts in everyday words."""

from __future__ import annotations

import pytest

from dbdyno.model import find_figure
from dbdyno.report.terms.everyday import (
    amount,
    brief_size,
    figure_name,
    open_words,
    size_words,
)


@pytest.mark.parametrize(
    ("ratio", "many", "words"),
    [
        ((1.12, 1.08, 1.16), True, "12 % more (8.0 to 16 %)"),
        ((0.88, 0.84, 0.92), True, "12 % fewer (8.0 to 16 %)"),
        ((0.88, 0.84, 0.92), False, "12 % lower (8.0 to 16 %)"),
        ((1.99, 1.1, 4.0), True, "99 % more (10 to 300 %)"),
        ((2.5, 0.9, 7.0), True, "2.5 times as many (0.90 to 7.0)"),
        ((80.1, 22.7, 283.0), True, "about 80 times as many (23 to 280)"),
        ((0.2, 0.18, 0.22), True, "5.0 times fewer (4.5 to 5.6)"),
        ((4.0, 3.8, 4.2), False, "4.0 times as high (3.8 to 4.2)"),
        ((0.01, 1e-9, 0.22), False, "about 100 times lower (4.5 to over 1 000)"),
        ((1.01, 0.999, 1.021), True, "1.0 % more (−0.10 % to +2.1 %)"),
    ],
)
def test_a_ratio_and_its_interval_have_one_unit(
    ratio: tuple[float, float, float], many: bool, words: str
) -> None:
    assert size_words(*ratio, many=many).replace("\u202f", " ") == words


@pytest.mark.parametrize(
    ("ends", "words"),
    [
        ((0.75, 1.4), "anything from 25 % fewer to 40 % more"),
        ((0.173, 4.33), "anything from 0.17 to 4.3 times as many"),
        ((0.01, 50.0), "with noise of more than a factor of ten"),
        ((1.01, 1.05), "anything from 1.0 % more to 5.0 % more"),
    ],
)
def test_an_open_ratio_has_one_unit(ends: tuple[float, float], words: str) -> None:
    assert open_words(*ends, many=True).replace("\u202f", " ") == words


@pytest.mark.parametrize(
    ("ratio", "many", "words"),
    [
        (7.1, True, "7.1 times as many"),
        (7.1, False, "7.1 times as high"),
        (0.48, True, "2.1 times fewer"),
        (0.48, False, "2.1 times lower"),
        (0.51, False, "49 % lower"),
    ],
)
def test_a_ratio_by_itself(ratio: float, many: bool, words: str) -> None:
    assert brief_size(ratio, many=many).replace("\u202f", " ") == words


def test_amounts_have_the_unit_that_suits_them() -> None:
    wanted = {"430 µs": 430.0, "12.0 ms": 12_000.0, "5.40 s": 5.4e6}
    assert {amount(value, "µs"): value for value in wanted.values()} == wanted
    assert amount(34_700.0, "events/s") == "34\u202f700 events a second"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("p99", "p99 response time"),
        ("mean.query 1", "mean response time of query 1"),
        ("spent_s", "time spent by a client"),
        ("spent_s.load", "time spent on load"),
        ("spent_s.query *", "time spent on all query events"),
    ],
)
def test_a_figure_s_name_stands_within_a_sentence(name: str, words: str) -> None:
    figure = find_figure(name)

    assert figure is not None
    assert figure_name(figure) == words
