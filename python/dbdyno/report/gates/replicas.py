"""Whether replicas kept up with the primary's load."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, Judge
from dbdyno.report.material.material import Column, RunMaterial, SampleSeries
from dbdyno.report.material.sampled import LAG, Stretch, stretches_of
from dbdyno.report.terms.wording import count

LATE_S = 1.0
"""A replica fell behind if it is this late when the load ends, and more than twice as late as when
the load began."""


@dataclass(frozen=True, slots=True)
class Lag:
    """How late a replica was while a step's load ran, in seconds."""

    run: str
    replica: str
    begin_s: float
    end_s: float

    @property
    def grew(self) -> bool:
        return self.end_s >= LATE_S and self.end_s > 2 * self.begin_s


def _replicas(analysis: Analysis) -> Iterator[Gate]:
    lags = [lag for run in analysis.material.runs for lag in _lags(analysis, run)]
    if not lags:
        return
    worst = max(lags, key=lambda lag: lag.end_s)
    behind = [lag for lag in lags if lag.grew]
    if not behind:
        yield Gate("Replicas", "ok", f"All kept up: at most {worst.end_s:.2g} s late at an end.")
        return
    runs = count(len({lag.run for lag in behind}))
    worst = max(behind, key=lambda lag: lag.end_s)
    yield Gate(
        "Replicas",
        "doubtful",
        f"In {runs} of {count(len({lag.run for lag in lags}))} runs a replica fell behind: "
        f"{worst.replica} was {worst.begin_s:.2g} s late when the load began and "
        f"{worst.end_s:.3g} s when it ended ({worst.run}). The primary's rate is more than the "
        "replicas can apply.",
    )


def _lags(analysis: Analysis, run: RunMaterial) -> Iterator[Lag]:
    source, metric = LAG.split(".")
    for summary in run.summaries.values():
        stretches = stretches_of(run, analysis.material.study, summary)
        if not stretches:
            continue
        for replica, series in run.samples.series.get((source, metric), {}).items():
            during = _during(series, stretches)
            if quarter := during.size // 4:
                begin_s, end_s = during[:quarter].mean(), during[-quarter:].mean()
                yield Lag(run.manifest.id, replica, float(begin_s), float(end_s))


def _during(series: SampleSeries, stretches: tuple[Stretch, ...]) -> Column:
    begin_ns, end_ns = stretches[0].begin_ns, stretches[-1].end_ns
    return series.values[(series.unix_ns >= begin_ns) & (series.unix_ns <= end_ns)]


GATE = Judge(155, _replicas)
