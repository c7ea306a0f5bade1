"""BenchBase's (and OLTPBench's) summary of a run, `*.summary.json`."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, other_length, single
from dbdyno.bridges.parts import documents
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option

_MARK = re.compile(r'"Throughput \(requests/second\)"\s*:')
_TIMES = "latency distribution"
_RATE, _GOOD = "throughput (requests/second)", "goodput (requests/second)"
_COUNT, _ELAPSED = "measured requests", "elapsed time (nanoseconds)"
_RANK = re.compile(r"(\d+)th percentile latency \(microseconds\)")
_NAMES = {
    "median latency (microseconds)": "p50",
    "maximum latency (microseconds)": "max",
    "average latency (microseconds)": "mean",
}
_ENDED = ("exit", "done", "latency_complete")
_USUAL = (_COUNT, _ELAPSED, _GOOD, "terminals", "final state", "dbms version", "isolation")
_READ = (
    *_USUAL,
    _TIMES,
    _RATE,
    "start timestamp (milliseconds)",
    "current timestamp (milliseconds)",
    "dbms type",
    "benchmark type",
    "scalefactor",
)


class BenchBase:
    """Reads one run's summary."""

    tool: ClassVar[str] = "benchbase"
    metrics: ClassVar[tuple[Metric, ...]] = ()

    def recognises(self, content: str) -> bool:
        """By the key of its throughput."""
        return bool(_MARK.search(content))

    def parts(self, text: Text) -> Sequence[Text]:
        """Several summaries, one behind another."""
        matched = [part for part, _ in documents(text, _is_summary)]
        return matched if len(matched) > 1 else [text]

    def read(self, texts: Sequence[Text]) -> Result:
        """Events are requests, good or not: those that its throughput counts. What it counts and
        doesn't call good is errors."""
        text = single(texts, self.tool)
        matched = documents(text, _is_summary)
        if not matched:
            raise text.cut(self.tool, "the end of its JSON")
        measured = {name.lower(): value for name, value in matched[0][1].items()}
        try:
            rate = float(measured[_RATE])
            if rate <= 0 or measured.get(_COUNT) == 0:
                raise text.nothing("no request of BenchBase ended")
            window_s, events = _extent(measured, rate)
            ended_ms = measured.get("current timestamp (milliseconds)")
            times = {name.lower(): value for name, value in measured.get(_TIMES, {}).items()}
            good = float(measured[_GOOD]) if _GOOD in measured else None
            ended_ns = int(ended_ms) * 10**6 if ended_ms else None
            terminals = int(measured["terminals"]) if measured.get("terminals") else None
            latency_us = dict(_latency(times))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise text.error(f"a summary of BenchBase that holds no {error}") from error
        meant = good is not None and _as_specified(measured, 1 - good / rate, events)
        named = {name: us for name, us in latency_us.items() if name in _RANKS}
        outcome = ToolOutcome(
            window_s=window_s,
            events=events,
            errors=0 if good is None or meant else max(0, round((rate - good) * window_s)),
            latency_us=named,
            figures={
                **({} if good is None else {"goodput_per_s": good}),
                **{f"event_us_{n}": us for n, us in latency_us.items() if n not in _RANKS},
            },
            ended_unix_ns=ended_ns,
            warnings=tuple(_warnings(measured, good, rate, window_s, meant=meant)),
            against=tuple(_against(measured)),
        )
        return Result(
            outcome=outcome if events else replace(outcome, window_s=0.0),
            clients=terminals,
            script=str(measured.get("benchmark type") or ""),
            options=dict(_options(measured)),
            not_known=() if good is not None and good <= rate and not meant else ("errors",),
            stated_per_s=rate,
            absent=tuple(name for name in _USUAL if measured.get(name) in (None, "")),
            unread=tuple(name for name in measured if name not in _READ),
        )


_RANKS = ("p50", "p95", "p99", "max", "mean")


def _is_summary(document: Any) -> bool:
    return isinstance(document, dict) and any(name.lower() == _RATE for name in document)


def _extent(measured: Mapping[str, Any], rate: float) -> tuple[float, int]:
    """Seconds and number of events; OLTPBench's first summaries tell neither."""
    elapsed_s = float(measured.get(_ELAPSED) or 0) / 1e9
    count = int(measured.get(_COUNT) or 0)
    if count:
        by_rate = count / rate
        near = elapsed_s and abs(elapsed_s - by_rate) < 0.01 * by_rate
        return (elapsed_s if near else by_rate), count
    return elapsed_s, round(rate * elapsed_s)


def _latency(times: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Negative where no request ended."""
    for what, value in times.items():
        rank = _RANK.fullmatch(what)
        name = f"p{rank[1]}" if rank else _NAMES.get(what)
        if name and value is not None and float(value) > 0:
            yield name, float(value)


def _options(measured: Mapping[str, Any]) -> Iterator[tuple[str, Option]]:
    for ours, its in (
        ("server", "dbms type"),
        ("server_version", "dbms version"),
        ("isolation", "isolation"),
        ("scale", "scalefactor"),
    ):
        if measured.get(its) not in (None, ""):
            yield ours, str(measured[its])
    if measured.get(_ELAPSED):
        yield "duration_s", round(float(measured[_ELAPSED]) / 1e9)


def _as_specified(measured: Mapping[str, Any], share: float, events: int) -> bool:
    """Whether requests that were not good are no more than TPC-C has rolled back: one of a hundred
    new orders, and by chance some more."""
    tpcc = "tpcc" in str(measured.get("benchmark type", "")).lower()
    return tpcc and 0 < share <= _ROLLED_BACK + 3 * math.sqrt(_ROLLED_BACK / max(events, 1))


_ROLLED_BACK = 0.01


def _against(measured: Mapping[str, Any]) -> Iterator[str]:
    state = measured.get("final state")
    if state and str(state).lower() not in _ENDED:
        yield f"BenchBase ended in state {json.dumps(state)}"


def _warnings(
    measured: Mapping[str, Any], good: float | None, rate: float, window_s: float, *, meant: bool
) -> Iterator[str]:
    elapsed_s = float(measured.get(_ELAPSED) or 0) / 1e9
    yield from other_length("requests", window_s, elapsed_s)
    if good is not None and good > rate:
        yield (
            f"its goodput {good:.6g}/s is above its throughput {rate:.6g}/s: they count different "
            "requests, and how many failed is not known"
        )
    if good is not None and good < rate:
        yield (
            f"{100 * (rate - good) / rate:.3g} % of its requests were not good (goodput "
            f"{good:.6g}/s): "
            + (
                "no more than TPC-C has rolled back; whether others failed is not known"
                if meant
                else "rolled back, refused or repeated"
            )
        )


BRIDGE: Bridge = BenchBase()
