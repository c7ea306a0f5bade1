"""Results as YCSB's client prints them: the text exporter of 0.17.0 with its default measurements.

Left out is what only that client has: its garbage collector (`TOTAL_GC…`) and the closing of its
connections (`CLEANUP`). Operations that failed are no part of any kind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from decimal import Decimal

from dbdyno.errors import UsageError
from dbdyno.model import StepSummary

_BINS = 16
"""Of the table that YCSB keeps its kinds of operations in."""
_COMPOSITE = "READ-MODIFY-WRITE"
"""Only its read and its update return something."""
_PLAIN = (1e-3, 1e7)
"""Java writes numbers outside of this range with an exponent."""


def ycsb_text(summary: StepSummary) -> str:
    """Lines of `[OVERALL]`, then of each kind of operation, which are the labels of events.

    Times are those from an operation's start; where events had intended starts, `[Intended-…]`
    has those from there. Raises `UsageError` where events have no labels, or several groups the
    same.
    """
    kinds = _kinds(summary)
    milliseconds = round(summary.window_s * 1000)
    lines = [
        f"[OVERALL], RunTime(ms), {milliseconds}",
        f"[OVERALL], Throughput(ops/sec), {java_double(summary.events_per_s)}",
    ]
    for prefix, time in (("", "service"), ("Intended-", "response")):
        for name in sorted(kinds, key=_place):
            times = summary.latency_by_label_us.get(f"event.{kinds[name]}.{time}")
            if times and (time == "service" or summary.wait_us):
                events = summary.events_by_label[kinds[name]]
                lines += _of_kind(f"{prefix}{name}", events, times)
    return "\n".join(lines) + "\n"


def _kinds(summary: StepSummary) -> Mapping[str, str]:
    """Name of an operation → the label with its group."""
    kinds: dict[str, str] = {}
    for label, events in summary.events_by_label.items():
        name = label.partition("/")[2]
        if not name or not events:
            continue
        if name in kinds:
            raise UsageError(
                f"two groups of clients have events `{name}`: YCSB's names know no groups",
                hint="--format json has the figures of each group",
            )
        kinds[name] = label
    if not kinds:
        raise UsageError(
            "the script's events have no labels, which are YCSB's operations",
            hint="the script `ycsb` labels them; dbdyno.label() does it in a script of your own",
        )
    return kinds


def _of_kind(name: str, events: int, times: Mapping[str, float]) -> Iterator[str]:
    """Whole microseconds, cut off, but for the mean."""
    yield f"[{name}], Operations, {events}"
    yield f"[{name}], AverageLatency(us), {java_double(times['mean'])}"
    for what, figure in (
        ("Min", "min"),
        ("Max", "max"),
        ("95thPercentile", "p95"),
        ("99thPercentile", "p99"),
    ):
        yield f"[{name}], {what}Latency(us), {int(times[figure])}"
    if not name.endswith(_COMPOSITE):
        yield f"[{name}], Return=OK, {events}"


def _place(name: str) -> tuple[int, str]:
    """Where Java's concurrent hash table has a name: YCSB prints in that order,
    and two in one place (an update, an insert) in the order of their first operations."""
    number = 0
    for character in name:
        number = (number * 31 + ord(character)) & 0xFFFFFFFF
    return (number ^ number >> 16) % _BINS, name


def java_double(value: float) -> str:
    """A number as `Double.toString` writes it: `0.5`, `100.0`, `1.2345E7`."""
    low, high = _PLAIN
    if value == 0 or low <= abs(value) < high:
        text = format(Decimal(repr(value)), "f")
        return text if "." in text else f"{text}.0"
    digits = Decimal(repr(value)).normalize()
    mantissa = digits.scaleb(-digits.adjusted())
    text = format(mantissa, "f")
    return f"{text if '.' in text else f'{text}.0'}E{digits.adjusted()}"
