"""What sysbench prints, releases 0.4 to 1.1, understood."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence

from dbdyno.errors import EngineError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Sample
from dbdyno.model.limits import too_far_behind

_RANKS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
_WINDOW = re.compile(r"^ *(?:total time|time elapsed): +([\d.]+)s", re.M)
_EVENTS = re.compile(r"^ *total number of events: +(\d+)", re.M)
_COUNTED = re.compile(
    r"^ *(?P<what>transactions|queries|deadlocks|ignored errors|reconnects): +"
    r"(?P<count>\d+) +\((?P<rate>[\d.]+) per sec\.\)",
    re.M,
)
_ALL_QUERIES = re.compile(r"queries performed:\n(?:.+\n)*? +total: +(\d+)$", re.M)
"""Releases before 1.0 count them without a rate."""
_STATED = (
    re.compile(r"^ *events/s \(eps\): +([\d.]+)", re.M),
    re.compile(r"^ *transactions: +\d+ +\(([\d.]+) per sec", re.M),
    re.compile(r"^ *events per second: +([\d.]+)", re.M),
    re.compile(
        r"^(?:Total operations|Operations performed): \d+ \( *([\d.]+) (?:per second|ops/sec)", re.M
    ),
    re.compile(r"^ *([\d.]+) +Requests/sec executed", re.M),
)
_TIME = re.compile(r"^ *(min|avg|max): +([\d.]+)(ms|s)?$", re.M)
_SUM = re.compile(r"^ *sum: +([\d.]+)$", re.M)
_SHOWN = re.compile(
    r"^ *(?:approx\. +(?P<old>[\d.]+) percentile|(?P<rank>[\d.]+)(?:st|nd|rd|th) percentile): +"
    r"(?P<time>[\d.]+)(?P<unit>ms|s)?$",
    re.M,
)
_BUCKET = re.compile(r"^ *([\d.]+) \|\** +(\d+)$", re.MULTILINE)
_PROGRESS = re.compile(
    r"^\[ *(?P<second>\d+)s *\] (?:thds: \d+ |threads: \d+, )(?:tps|eps): (?P<rate>[\d.]+)"
    r"(?:.*?lat \(ms,(?P<ranks>[\d.%/]+)\): (?P<times>[\d./]+)"
    r"|.*?response time: (?P<old>[\d.]+)ms \((?P<old_rank>[\d.]+)%\))?",
    re.MULTILINE,
)
_TARGET = re.compile(r"^Target transaction rate: ([\d.]+)/sec", re.MULTILINE)
_QUEUE = re.compile(r"^\[ *\d+s *\] queue length: (\d+)", re.MULTILINE)
_MOST_PER_S = 1e12
"""A rate over time above it is a counter of 0.5 that went below 0."""
SAMPLED = ("50", "75", "90", "95", "99", "99.9")
"""Percentiles whose lines over time are kept."""
_SAME = 0.02
"""Share by which its time may differ from its count by its rate: both are rounded."""


def latencies(printed: str) -> Mapping[str, float]:
    """Percentiles of its histogram, µs: the values of the buckets in which they lie."""
    counts = buckets(printed)
    whole = sum(count for _, count in counts)
    matched: dict[str, float] = {}
    for name, rank in _RANKS.items():
        passed = 0
        for value, count in counts:
            passed += count
            if passed >= whole * rank / 100:
                matched[name] = value
                break
    return matched


def buckets(printed: str) -> list[tuple[float, int]]:
    """Of the histogram it printed, if it did: value in µs, and how many events."""
    return [(float(value) * 1000, int(count)) for value, count in _BUCKET.findall(printed)]


def outcome(printed: str, began_ns: int, command_line: Sequence[str]) -> ToolOutcome:
    """What sysbench printed, understood.

    # Errors
    `EngineError` when it printed no summary.
    """
    total, events = _WINDOW.search(printed), _EVENTS.search(printed)
    if total is None or events is None or not int(events[1]):
        raise EngineError(
            "sysbench printed no summary, or nothing ended", hint=printed[-500:] or None
        )
    counts = {matched["what"]: int(matched["count"]) for matched in _COUNTED.finditer(printed)}
    queries = _ALL_QUERIES.search(printed)
    latency_us, figures = response_times(printed, int(events[1]))
    return ToolOutcome(
        window_s=_window_s(printed, float(total[1])),
        events=int(events[1]),
        statements=counts.get("queries", int(queries[1]) if queries else 0),
        errors=counts.get("ignored errors", 0) + counts.get("deadlocks", 0),
        latency_us=latency_us,
        figures=figures,
        distribution=tuple((round(us * 1000), count) for us, count in buckets(printed)),
        samples=tuple(_samples(printed, began_ns)),
        command_line=tuple(command_line),
        reconnects=counts.get("reconnects", 0),
        against=tuple(_against(printed, int(events[1]))),
    )


def response_times(
    printed: str, events: int | None = None
) -> tuple[Mapping[str, float], Mapping[str, float]]:
    """Mean, greatest and percentiles, µs, and other ranks that were asked for. A time of 0 is less
    than it prints; of so many `events` the sum tells the mean."""
    times = {what: _us(value, unit) for what, value, unit in _TIME.findall(printed)}
    if events and not times.get("avg", 1.0) and (summed := _SUM.search(printed)):
        times["avg"] = float(summed[1]) * 1000 / events
    shown = {
        matched["old"] or matched["rank"]: _shown_us(matched)
        for matched in _SHOWN.finditer(printed)
    }
    times, shown = ({what: us for what, us in member.items() if us} for member in (times, shown))
    named = {f"p{rank}": us for rank, us in shown.items() if f"p{rank}" in _RANKS}
    extremes = {ours: times[its] for ours, its in (("mean", "avg"), ("max", "max")) if its in times}
    others = {f"event_us_p{rank}": us for rank, us in shown.items() if f"p{rank}" not in _RANKS}
    return {**named, **latencies(printed), **extremes}, others


def stated_per_s(printed: str) -> float | None:
    """The rate of events that it printed."""
    matched = (pattern.search(printed) for pattern in _STATED)
    return next((float(rate[1]) for rate in matched if rate), None)


def _window_s(printed: str, total_s: float) -> float:
    """The time that its rates are of: of a report at a checkpoint, that since the one before,
    whereas its total time counts from the beginning."""
    most = max(_COUNTED.finditer(printed), key=lambda matched: int(matched["count"]), default=None)
    if most is None or not float(most["rate"]) or float(most["rate"]) < 1:
        return total_s
    window_s = int(most["count"]) / float(most["rate"])
    return window_s if window_s < (1 - _SAME) * total_s else total_s


def _us(value: str, unit: str | None) -> float:
    """Milliseconds, unless an old release says seconds."""
    return float(value) * (10**6 if unit == "s" else 1000)


def _shown_us(matched: re.Match[str]) -> float:
    return _us(matched["time"], matched["unit"])


def _against(printed: str, events: int) -> Iterator[str]:
    """Why its figures are none to judge by: it was to keep a rate and fell behind. Without lines
    over time it says so by its number of events alone: as random (Poisson) starts make it, with
    three standard deviations to spare."""
    queued, target, total = (pattern.findall(printed) for pattern in (_QUEUE, _TARGET, _WINDOW))
    if queued:
        if too_far_behind(int(queued[-1]), events):
            yield f"{queued[-1]} events were due and not yet begun"
    elif target and total:
        due = float(target[-1]) * _window_s(printed, float(total[-1]))
        if too_far_behind(round(due - 3 * math.sqrt(due)) - events, events):
            yield f"{events} events ended where its rate asked for some {due:.0f}"


def impossible_rates(printed: str) -> int:
    """How many lines over time have a rate that nothing reaches; they are no samples."""
    return sum(float(matched["rate"]) > _MOST_PER_S for matched in _PROGRESS.finditer(printed))


def _samples(printed: str, began_ns: int) -> Iterator[Sample]:
    for matched in _PROGRESS.finditer(printed):
        if float(matched["rate"]) > _MOST_PER_S:
            continue
        unix_ns = began_ns + int(matched["second"]) * 10**9
        yield Sample(unix_ns, "sysbench", "events_per_s", "", float(matched["rate"]))
        ranks = (matched["ranks"] or matched["old_rank"] or "").replace("%", "").split("/")
        times = (matched["times"] or matched["old"] or "").split("/")
        for rank, time_ms in zip(ranks, times, strict=False):
            rank = rank.removesuffix(".00").removesuffix(".0")
            if rank in SAMPLED:
                metric = f"latency_p{rank.replace('.', '_')}_ms"
                yield Sample(unix_ns, "sysbench", metric, "", float(time_ms))
