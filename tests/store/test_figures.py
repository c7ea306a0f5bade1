"""Which distributions a step's latency is read from."""

from __future__ import annotations

import json

import pytest

import lines
from dbdyno.formats.records import parse_record
from dbdyno.model import Summary, find_figure
from dbdyno.store import step_summary


def latency_us(*histograms: dict[str, object]) -> dict[str, float]:
    line = lines.summary(histograms=list(histograms))
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)
    return dict(step_summary(0, record, json.loads(line)).latency_us)


def test_a_closed_loop_s_response_is_its_service() -> None:
    figures = latency_us(lines.histogram([1_000_000, 3_000_000], time="service"))

    assert figures["max"] == pytest.approx(3000, rel=1e-3)


def test_an_open_loop_s_response_includes_the_wait() -> None:
    figures = latency_us(
        lines.histogram([1_000_000], time="service"), lines.histogram([9_000_000], time="response")
    )

    assert figures["p50"] == pytest.approx(9000, rel=1e-3)


def test_events_of_all_labels_are_merged() -> None:
    figures = latency_us(
        lines.histogram([1_000_000] * 99, "small", "service"),
        lines.histogram([8_000_000], "large", "service"),
    )

    assert figures["p99"] == pytest.approx(1000, rel=1e-3)
    assert figures["p99.9"] == pytest.approx(8000, rel=1e-3)


def test_nothing_measured_has_no_latency() -> None:
    assert latency_us() == {}


def test_events_are_counted_by_label() -> None:
    by_time = [
        lines.histogram([1_000, 2_000], "main/payment", time)
        for time in ("wait", "service", "response")
    ]
    line = lines.summary(histograms=[*by_time, lines.histogram([1_000], "main", "service")])
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)
    figures = step_summary(0, record, json.loads(line))

    assert figures.events_by_label == {"main/payment": 2, "main": 1}
    payment = figures.latency_by_label_us["event.main/payment.response"]
    assert (payment["min"], payment["max"]) == pytest.approx((1, 2), rel=1e-3)


def test_a_label_has_figures_of_its_own() -> None:
    payments, rest = [8_000_000] * 30, [1_000_000] * 70
    line = lines.summary(
        histograms=[
            lines.histogram(payments, "main/payment", "service"),
            lines.histogram(rest, "main", "service"),
            lines.histogram([5_000_000], "writer/payment", "service"),
        ]
    )
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)
    summary = step_summary(0, record, json.loads(line), clients=3)

    def read(name: str) -> float | None:
        return find_figure(name).read(summary)

    assert read("p50.payment") == pytest.approx(8000, rel=1e-2)
    assert read("p99.9.payment") == pytest.approx(8000, rel=1e-2)
    assert read("max.writer/payment") == pytest.approx(5000, rel=1e-2)
    assert read("mean.main") == pytest.approx(1000, rel=1e-2)
    assert read("spent_s.payment") == pytest.approx(30 * 0.008 / 3, rel=1e-2)
    assert read("throughput.payment") == pytest.approx(30 / summary.window_s)
    assert find_figure("p99.payment").events(summary) == 30
    assert read("p50.refund") is None
    assert find_figure("p50.refund").events(summary) == 0


def test_labels_that_begin_alike_have_figures_together() -> None:
    line = lines.summary(
        histograms=[
            lines.histogram([8_000_000] * 30, "main/query 1", "service"),
            lines.histogram([2_000_000] * 10, "main/query 2", "service"),
            lines.histogram([1_000_000] * 70, "main/load", "service"),
        ]
    )
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)
    summary = step_summary(0, record, json.loads(line), clients=2)

    def read(name: str) -> float | None:
        return find_figure(name).read(summary)

    assert read("spent_s.query *") == pytest.approx((30 * 0.008 + 10 * 0.002) / 2, rel=1e-2)
    assert read("mean.query *") == pytest.approx((30 * 8000 + 10 * 2000) / 40, rel=1e-2)
    assert read("throughput.query *") == pytest.approx(40 / summary.window_s)
    assert find_figure("spent_s.query *").events(summary) == 40
    assert read("spent_s.refund *") is None
    assert read("throughput.refund *") == 0


def test_labels_have_no_percentile_together() -> None:
    with pytest.raises(KeyError):
        find_figure("p95.query *")


def test_clients_that_a_script_has_ended_count() -> None:
    line = lines.summary(clients=0, histograms=[lines.histogram([2_000_000_000] * 8)])
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)

    summary = step_summary(0, record, json.loads(line), clients=4)

    assert summary.clients == 4


def test_growth_is_by_all_events_of_the_step() -> None:
    line = lines.summary()
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)

    summary = step_summary(0, record, json.loads(line), size_bytes=(1_000, 4_000))

    assert find_figure("data_bytes").read(summary) == 4_000
    assert find_figure("data_bytes_per_event").read(summary) == 3_000 / 150


@pytest.mark.parametrize(
    ("censored", "at_most_us"),
    [(0, 990.0), (4, 994.0), (10, 1000.0), (11, None)],
)
def test_censored_events_leave_the_p99_an_upper_bound(
    censored: int, at_most_us: float | None
) -> None:
    """Recorded are 1 to 1,000 µs. In truth any of the censored may be slower than all others."""
    values_ns = range(1_000, 1_001_000, 1_000)
    line = lines.summary(
        censored=censored,
        histograms=[
            lines.histogram([1_000], time="service"),
            lines.histogram(values_ns, time="response"),
        ],
    )
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)
    summary = step_summary(0, record, json.loads(line))

    assert summary.censored == censored
    assert summary.latency_us["p99"] == pytest.approx(990, rel=1e-3)
    assert summary.p99_us_at_most == (
        None if at_most_us is None else pytest.approx(at_most_us, rel=1e-3)
    )


def test_without_any_event_the_p99_has_no_bound() -> None:
    line = lines.summary(censored=3, histograms=[])
    record = parse_record(line, number=1)
    assert isinstance(record, Summary)

    assert step_summary(0, record, json.loads(line)).p99_us_at_most is None
