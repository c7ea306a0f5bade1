"""Gates of a load that came from several hosts: their clocks, and whether they measured alike."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import median

from dbdyno.model import LoadHost, StepSummary
from dbdyno.report.analysis.analyse import Analysis
from dbdyno.report.gates.gate import Gate, GateState, Judge
from dbdyno.report.terms.wording import percent, quantity

DOUBTFUL_US = 1000.0
FAILED_US = 5000.0
"""Limits of how far a host's clock may be wrong."""
OF_P50 = 0.1
"""Of the median response time: up to this share an uncertain clock is no doubt, below `FAILED_US`.
No response time depends on it, which a host's own clock measures; common start and series do."""

FAR_ERRORS = 4.0
"""Hosts differ more than chance from so many standard errors on: once in 16,000 comparisons."""
FAR = 0.1
"""Smaller differences change no answer."""


@dataclass(frozen=True, slots=True)
class _Step:
    """A step with what its hosts have measured."""

    hosts: Sequence[LoadHost]
    p50_us: float


def _judge(analysis: Analysis) -> Iterable[Gate]:
    steps = [
        _Step(step.hosts, _p50_us(run.summaries.get(step.index)))
        for run in analysis.material.runs
        for step in run.manifest.steps
        if step.hosts
    ]
    if steps:
        yield _clocks(steps)
        yield _alike(steps)


def _clocks(steps: Sequence[_Step]) -> Gate:
    states: list[GateState] = ["ok", "doubtful", "failed"]
    worst, host, state = 0.0, steps[0].hosts[0], states[0]
    for step in steps:
        for measured in step.hosts:
            judged = clock_state(measured.clock_uncertainty_us, step.p50_us)
            state = max(state, judged, key=states.index)
            if measured.clock_uncertainty_us > worst:
                worst, host = measured.clock_uncertainty_us, measured
    drift = max(abs(measured.clock_drift_ppm) for step in steps for measured in step.hosts)
    text = (
        f"Clocks of load hosts are known to {quantity(worst, 'µs')} at worst ({host.name}), "
        f"and drift by {drift:.0f} µs a second at most; times are the lab's."
    )
    return Gate("Clocks of load hosts", state, text, brief="load hosts' clocks are uncertain")


def _p50_us(summary: StepSummary | None) -> float:
    return 0.0 if summary is None else summary.latency_us.get("p50", 0.0)


def clock_state(uncertainty_us: float, p50_us: float) -> GateState:
    """How an uncertain clock is judged beside the step's median response time."""
    if uncertainty_us > FAILED_US:
        return "failed"
    return "doubtful" if uncertainty_us > max(DOUBTFUL_US, OF_P50 * p50_us) else "ok"


def _alike(steps: Sequence[_Step]) -> Gate:
    """A slow host hides in a mean: its clients end fewer events, or wait longer."""
    named: dict[str, str] = {}
    for step in steps:
        for words in differences(step.hosts):
            named.setdefault(*words)
    lost = {host.name for step in steps for host in step.hosts if host.lost}
    hosts = len({host.name for step in steps for host in step.hosts})
    if lost:
        text = f"Lost while it measured: {', '.join(sorted(lost))}."
        return Gate("Load hosts", "failed", text, brief="load hosts were lost")
    if named:
        text = f"Load hosts differ by more than chance: {'; '.join(named.values())}."
        return Gate("Load hosts", "doubtful", text, brief="load hosts differ")
    return Gate("Load hosts", "ok", f"{hosts} load hosts measured alike.")


def differences(hosts: Sequence[LoadHost]) -> Iterator[tuple[str, str]]:
    """Hosts that differ from the median of all, each with how."""
    loaded = [host for host in hosts if host.clients]
    for host in loaded if len(loaded) > 1 else ():
        pairs = (
            ("events a client", _by_client(host), [_by_client(other) for other in loaded]),
            ("response time", _response(host), [_response(other) for other in loaded]),
        )
        for what, own, every in pairs:
            ratio = _far(own, every)
            if ratio is not None:
                more = "more" if ratio > 1 else "less"
                yield host.name, f"{host.name} has {percent(abs(ratio - 1))} {more} {what}"
                break


_Figure = tuple[float | None, float | None]
"""A value and its standard error."""


def _by_client(host: LoadHost) -> _Figure:
    error = host.events_per_s_error
    return host.events_per_s / host.clients, None if error is None else error / host.clients


def _response(host: LoadHost) -> _Figure:
    return host.response_us, host.response_us_error


def _far(own: _Figure, every: Sequence[_Figure]) -> float | None:
    """The ratio to the median, if it is far from 1 by itself and by its errors."""
    value, error = own
    values = [other for other, _ in every if other is not None]
    errors = [other for _, other in every if other is not None]
    if value is None or error is None or len(errors) < len(every) or len(values) < len(every):
        return None
    middle = median(values)
    error_of_mean = math.hypot(*errors) / len(errors)
    apart = abs(value - middle)
    if middle <= 0 or apart / middle < FAR or apart < FAR_ERRORS * math.hypot(error, error_of_mean):
        return None
    return value / middle


GATE = Judge(125, _judge)
