"""The ratio of two figures of one run: two labels compared with each other."""

from __future__ import annotations

import pytest

from dbdyno.formats.histograms import encode
from dbdyno.model import StepSummary, TimeKind, find_figure
from dbdyno.model.measurement import Counters, CpuTime, HistogramRecord, Summary
from dbdyno.report.terms.everyday import figure_name
from dbdyno.stats.histogram import histogram_of
from dbdyno.store import step_summary


def summary_of(times: dict[str, list[tuple[int, int]]]) -> StepSummary:
    records = []
    for label, counts in times.items():
        time: TimeKind
        for time in ("response", "service"):
            nothing = HistogramRecord("event", label, time, count=0, out_of_range=0, hdr="")
            records.append(encode(histogram_of(counts), nothing, out_of_range=0))
    events = sum(number for counts in times.values() for _, number in counts)
    counters = Counters(events, events, 0, 0, 0, 0, 0, 0, 0)
    summary = Summary(
        interrupted=False,
        start_ns=0,
        end_ns=10**9,
        measured=counters,
        total=counters,
        errors={},
        cpu=CpuTime(1, 1),
        rss_peak_kb=1,
        rss_kb=1,
        clients=1,
        histograms=tuple(records),
    )
    return step_summary(0, summary, {})


def test_two_labels_of_a_run_are_compared() -> None:
    summary = summary_of({"main/first": [(3_000_000, 10)], "main/later": [(1_000_000, 990)]})

    figure = find_figure("mean.first over mean.later")
    assert figure.read(summary) == pytest.approx(3.0, rel=0.01)
    assert figure.unit == ""
    assert figure_name(figure) == "mean response time of first over later"
    assert not figure.higher_is_better
    assert figure.events(summary) == 10


def test_two_metrics_of_a_source_have_a_ratio_without_its_name() -> None:
    figure = find_figure("tables.hot_updates over tables.updates")

    assert figure.title == "Hot updates over updates"
    assert find_figure("disk.reads over tables.updates").title == "disk.reads over tables.updates"


def test_a_label_that_never_occurred_leaves_no_ratio() -> None:
    summary = summary_of({"main/later": [(1_000_000, 990)]})

    assert find_figure("mean.first over mean.later").read(summary) is None


@pytest.mark.parametrize(
    "name", ["mean.first over throughput", "mean.a over mean.b over mean.c", "mean over nothing"]
)
def test_only_figures_of_one_unit_have_a_ratio(name: str) -> None:
    with pytest.raises(KeyError):
        find_figure(name)
