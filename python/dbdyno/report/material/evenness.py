"""Figures of how throughput changes within a step's window: `rate_held` and `rate_cv`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from dbdyno.model import OF_SERIES
from dbdyno.report.material.material import RunMaterial, StepSeries
from dbdyno.stats import rate_cv, rate_held


def with_evenness(run: RunMaterial, names: Sequence[str]) -> RunMaterial:
    """The run with those of `names` among its summaries' figures that its series give."""
    wanted = [name for name in names if name in OF_SERIES]
    if not wanted:
        return run
    summaries = {
        step: replace(summary, figures={**summary.figures, **dict(_figures(series, wanted))})
        if (series := run.series.get(step)) is not None
        else summary
        for step, summary in run.summaries.items()
    }
    return replace(run, summaries=summaries)


def _figures(series: StepSeries, wanted: Sequence[str]) -> Iterator[tuple[str, float]]:
    lengths_s, rates = series.length_s[series.measured], series.events_per_s[series.measured]
    worked_out = {"rate_held": rate_held(lengths_s, rates), "rate_cv": rate_cv(rates)}
    for name in wanted:
        value = worked_out[name]
        if value is not None:
            yield name, value
