"""Results under YCSB's names, beside what its own client printed."""

from __future__ import annotations

from pathlib import Path

import pytest

from dbdyno.bridges.bridge import Text
from dbdyno.bridges.ycsb import BRIDGE
from dbdyno.errors import UsageError
from dbdyno.formats.records import parse_record
from dbdyno.formats.ycsb import java_double, ycsb_text
from dbdyno.model import StepSummary, Summary
from dbdyno.store.figures import step_summary
from lines import histogram, summary
from ycsb_names import names_of

PRINTED = Path(__file__).parent / "ycsb-0.17.0.txt"
"""The results of YCSB 0.17.0, as `site.ycsb.Client -t -db site.ycsb.BasicDB` printed them of
operations of all five kinds."""
KINDS = ("INSERT", "READ", "READ-MODIFY-WRITE", "SCAN", "UPDATE")
TIMES_NS = [1_000, 2_000, 1_500, 1_800]
"""Each exact in a histogram of three digits but for half a nanosecond of its mean."""


def measured(*labels: str, times: tuple[str, ...] = ("service",)) -> StepSummary:
    histograms = [histogram(TIMES_NS, label, time) for label in labels for time in times]
    record = parse_record(summary(histograms=histograms), number=1)
    assert isinstance(record, Summary)
    return step_summary(0, record, {})


def test_names_order_and_units_are_those_that_ycsb_prints() -> None:
    ours = ycsb_text(measured(*(f"main/{kind}" for kind in KINDS)))
    assert all(line.startswith("[") for line in ours.splitlines())
    assert names_of(ours) == names_of(PRINTED.read_text())


def test_figures_are_those_of_the_label_in_whole_microseconds() -> None:
    assert ycsb_text(measured("main/READ")).splitlines() == [
        "[OVERALL], RunTime(ms), 2000",
        "[OVERALL], Throughput(ops/sec), 50.0",
        "[READ], Operations, 4",
        "[READ], AverageLatency(us), 1.5755",
        "[READ], MinLatency(us), 1",
        "[READ], MaxLatency(us), 2",
        "[READ], 95thPercentileLatency(us), 2",
        "[READ], 99thPercentileLatency(us), 2",
        "[READ], Return=OK, 4",
    ]


def test_with_intended_starts_both_times_are_there() -> None:
    text = ycsb_text(measured("main/READ", times=("wait", "service", "response")))
    kinds = dict.fromkeys(kind for kind, _, _ in names_of(text))
    assert list(kinds) == ["OVERALL", "READ", "Intended-READ"]


def test_what_is_printed_is_read_by_the_import() -> None:
    text = ycsb_text(measured("main/READ", "main/UPDATE"))
    read = BRIDGE.read([Text(Path("x"), text)])
    assert (read.outcome.events, read.outcome.window_s) == (8, 2.0)
    assert read.outcome.figures["read_us_p99"] == 2


@pytest.mark.parametrize(
    ("labels", "why"),
    [(("main",), "no labels"), (("a/READ", "b/READ"), "two groups of clients have events `READ`")],
)
def test_what_ycsb_has_no_name_for_is_an_error(labels: tuple[str, ...], why: str) -> None:
    with pytest.raises(UsageError, match=why):
        ycsb_text(measured(*labels))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (100.0, "100.0"),
        (0.1, "0.1"),
        (0.001, "0.001"),
        (0.00025, "2.5E-4"),
        (9999999.5, "9999999.5"),
        (1e7, "1.0E7"),
        (12345678.9, "1.23456789E7"),
        (1e16, "1.0E16"),
        (1 / 3, "0.3333333333333333"),
    ],
)
def test_numbers_are_written_as_java_writes_them(value: float, text: str) -> None:
    assert java_double(value) == text
