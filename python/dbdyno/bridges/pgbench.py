"""pgbench's text, releases 9.4 to 18, with the progress lines of `-P` if they are there, and its
logs of `-l`.

A log alone is enough: it has every transaction, or an aggregated one every interval. Logs beside
the text give it percentiles and a distribution; they are sampled where pgbench was told so, and the
result then says it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from dbdyno.bridges.bridge import (
    Arrival,
    Bridge,
    Result,
    Text,
    absent,
    first,
    holding,
    unread,
    whole,
)
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.bridges.pgbench_logs import (
    Log,
    interval_samples,
    is_aggregated,
    is_log,
    of_intervals,
    of_log,
    read_intervals,
    read_log,
)
from dbdyno.errors import EngineError
from dbdyno.generators.pgbench import (
    GENERATOR,
    distribution_of,
    figures_of,
)
from dbdyno.generators.pgbench_text import outcome, stated_per_s, without_connecting_per_s
from dbdyno.model import Metric, Option

_BANNER = re.compile(r"^pgbench \((?:PostgreSQL\) )?(\d[\w.~+]*)", re.MULTILINE)
_SERVER = re.compile(r"^pgbench \(.*, server (\d[\w.~+]*)", re.MULTILINE)
_HEAD = re.compile(r"^transaction type: (.+)$", re.MULTILINE)
_SUMMARY = re.compile(r"^number of transactions actually processed: ", re.MULTILINE)
_NOTHING = re.compile(r"^number of transactions actually processed: 0\b", re.MULTILINE)
_RATES = re.compile(r"^tps = ", re.MULTILINE)
_LAST_RATE = re.compile(r"^tps = [\d.]+(?: \((?!including connections establishing).*)?$", re.M)
_PROGRESS = re.compile(r"^progress: \S+ s, \S+ tps", re.MULTILINE)
_SHAPE = Shape(
    mark=_HEAD,
    opening=re.compile(r"pgbench \(|starting vacuum|progress: |transaction type: |pghost: "),
    over=_LAST_RATE,
    begun=re.compile(r"^(?:starting vacuum|progress: |number of clients: )", re.MULTILINE),
)
_HEADLESS = replace(
    _SHAPE,
    mark=_SUMMARY,
    opening=re.compile(rf"{_SHAPE.opening.pattern}|scaling factor: |number of "),
)
"""Where a summary was copied without its first lines."""
_CLIENTS = re.compile(r"^number of clients: (\d+)", re.MULTILINE)
_DURATION = re.compile(r"^duration: (\d+) s", re.MULTILINE)
_COUNTED = re.compile(r"^number of transactions per client: (\d+)", re.MULTILINE)
_MEAN_MS = re.compile(r"^latency average(?: =|:) ([\d.]+) ms", re.MULTILINE)
_BUILT_IN = re.compile(r"<builtin: (.+)>")
_ONE_OF_SEVERAL = re.compile(r"^SQL script \d+: (.+)\n *- weight: (\d+)", re.MULTILINE)
_OPTIONS = {
    "scale": re.compile(r"^scaling factor: (\d+)", re.MULTILINE),
    "protocol": re.compile(r"^query mode: (\S+)", re.MULTILINE),
    "threads": re.compile(r"^number of threads: (\d+)", re.MULTILINE),
    "partitions": re.compile(r"^partitions: (\d+)", re.MULTILINE),
    "partition_method": re.compile(r"^partition method: (\S+)", re.MULTILINE),
    "latency_limit_ms": re.compile(r"^number of .* above the ([\d.]+) ms", re.MULTILINE),
    "server_version": _SERVER,
}
_LIMIT: Mapping[str, type[float]] = {"latency_limit_ms": float}
_TRIES = re.compile(r"^maximum number of tries: (\d+)", re.MULTILINE)
_RECONNECTS = re.compile(
    r"^(?:average connection time = |tps = .*\(including reconnection times\))", re.MULTILINE
)
_WITH_CONNECTING = re.compile(
    r"^tps = ([\d.]+) \(including connections establishing\)", re.MULTILINE
)
_LAG = re.compile(r"^rate limit schedule lag: ", re.MULTILINE)
_FAILED = re.compile(r"^number of failed transactions: ", re.MULTILINE)
_WITH_FAILURES = re.compile(r"^latency average = .*\(including failures\)", re.MULTILINE)
_USUAL = {
    "transaction type": _HEAD,
    "scaling factor": _OPTIONS["scale"],
    "query mode": _OPTIONS["protocol"],
    "number of clients": _CLIENTS,
    "number of threads": _OPTIONS["threads"],
    "duration or transactions per client": re.compile(
        rf"{_DURATION.pattern}|{_COUNTED.pattern}", re.MULTILINE
    ),
    "latency average": _MEAN_MS,
}
_SINCE_14 = {
    "pgbench (VERSION)": _BANNER,
    "connection time": re.compile(r"^(?:initial|average) connection time = ", re.MULTILINE),
}
_SINCE_15 = {"maximum number of tries": _TRIES, "number of failed transactions": _FAILED}
_KNOWN = re.compile(
    r"transaction type: |scaling factor: |query mode: |partition method: |partitions: |duration: |"
    r"number of (?:clients|threads|transactions per client|transactions actually processed|"
    r"failed transactions|serialization failures|deadlock failures|transactions retried|"
    r"transactions skipped): |number of transactions above the |maximum number of tries: |"
    r"total number of retries: |latency (?:average|stddev)(?: =|:) |rate limit schedule lag: |"
    r"(?:initial|average) connection time = |tps = |progress: |pgbench\b|"
    r"SQL script \d+: | - weight: |- weight: |client \d+ |DETAIL: |HINT: "
)
_BEHIND = {
    "statement latencies (-r)": re.compile(r"^(?: - )?statement latencies", re.MULTILINE),
    "figures by script": re.compile(r"^ *- \d+ transactions \(", re.MULTILINE),
}
"""What may follow the rate and isn't read."""
_SHORT = 0.1
"""Share of its duration by which a run may be shorter or longer than it says."""


class Pgbench:
    """Reads the text of one run of pgbench."""

    tool: ClassVar[str] = "pgbench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By lines of its summary, its progress lines, or lines of a log."""
        marks = (_BANNER, _HEAD, _PROGRESS, _SUMMARY)
        return is_log(content) or any(mark.search(content) for mark in marks)

    def parts(self, text: Text) -> Sequence[Text]:
        """Loops over clients, scripts or versions write one text behind another."""
        if is_log(text.content):
            return [text]
        heads, summaries = (len(p.findall(text.content)) for p in (_HEAD, _SUMMARY))
        return results_in(text, _SHAPE if heads >= summaries else _HEADLESS)

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary, times of the logs."""
        logs = [text for text in texts if is_log(text.content)]
        printed = [text for text in texts if text not in logs]
        aggregated = bool(logs) and is_aggregated(logs[0].content)
        if aggregated and not printed:
            return of_intervals(read_intervals(logs), logs[0])
        log = read_log(logs) if logs and not aggregated else None
        if not printed:
            assert log is not None
            return of_log(log, logs[0])
        main = holding(printed, _SUMMARY, self.tool) or printed[0]
        content = "\n".join(text.content for text in printed)
        result = _of_text(main, content, log)
        return _with_intervals(result, logs) if aggregated else result


def _of_text(main: Text, content: str, log: Log | None) -> Result:
    times = figures_of(log.took_us) if log else {}
    mean_ms = first(_MEAN_MS, content)
    if not times and mean_ms and float(mean_ms):  # 9.4 tells 0 where it took none.
        times = {"mean": float(mean_ms) * 1000}
    try:
        measured = outcome(content, content, times, ())
    except EngineError as error:
        if _NOTHING.search(content):
            raise main.nothing("no transaction ended") from error
        raise main.cut(Pgbench.tool, "a summary with `tps = …`") from error
    return Result(
        outcome=replace(
            measured,
            warnings=tuple(_warnings(content, log, measured.events, measured.window_s)),
            ended_unix_ns=int(log.ended_us.max()) * 1000 if times and log else None,
            distribution=distribution_of(log.took_us) if log else (),
        ),
        clients=whole(_CLIENTS, content),
        version=first(_BANNER, content) or "",
        script=_script(content),
        options=dict(_options(content)),
        not_known=() if _FAILED.search(content) else ("errors",),
        arrival=_arrival(content),
        stated_per_s=stated_per_s(content),
        absent=tuple(_absent(content)),
        unread=tuple(_unread(content)),
    )


def _with_intervals(result: Result, logs: Sequence[Text]) -> Result:
    """The result with the greatest time and the lines over time of its aggregated log."""
    intervals = read_intervals(logs)
    measured = result.outcome
    most = {"max": float(max(entry.max_us for entry in intervals))}
    lengths = [b.start_s - a.start_s for a, b in pairwise(intervals)]
    samples = tuple(interval_samples(intervals[1:-1], min(lengths, default=1)))
    return replace(
        result,
        outcome=replace(
            measured,
            latency_us={**measured.latency_us, **most},
            samples=measured.samples or samples,
        ),
    )


def _script(content: str) -> str:
    """Of several, each with its weight."""
    several = [f"{_plain(name)}@{weight}" for name, weight in _ONE_OF_SEVERAL.findall(content)]
    return "+".join(several) or _plain(first(_HEAD, content) or "")


def _plain(name: str) -> str:
    return first(_BUILT_IN, name) or name.strip()


def _options(content: str) -> Iterator[tuple[str, Option]]:
    for name, pattern in _OPTIONS.items():
        matched = first(pattern, content)
        if matched:
            yield name, int(matched) if matched.isdigit() else _LIMIT.get(name, str)(matched)
    seconds, counted, tries = (whole(p, content) for p in (_DURATION, _COUNTED, _TRIES))
    if seconds is not None:
        yield "duration_s", seconds
    if counted is not None:
        yield "events_of_a_client", counted
    if tries is not None and tries != 1:
        yield "max_tries", str(tries)
    if _RECONNECTS.search(content):
        yield "reconnect", "each transaction"


def _arrival(content: str) -> Arrival:
    """A rate makes it print a lag; without one the rest of its summary says that there was none."""
    if _LAG.search(content):
        return "open"
    return "closed" if _HEAD.search(content) else "unknown"


def _absent(content: str) -> Iterator[str]:
    """Of the release that its banner or the wording of its rate tells."""
    usual = dict(_USUAL)
    version = whole(re.compile(r"^pgbench \((?:PostgreSQL\) )?(\d+)", re.MULTILINE), content)
    newer = _FAILED.search(content) or _TRIES.search(content)
    if "connections establishing)" not in content:
        usual |= _SINCE_14
        usual |= _SINCE_15 if newer or (version or 0) >= 15 else {}
    yield from absent(usual, content)


def _unread(content: str) -> Iterator[str]:
    """Lines between the first of the summary and its rate, and what follows it."""
    begin = _HEAD.search(content) or _SUMMARY.search(content)
    rates = list(_RATES.finditer(content))
    if begin and rates:
        yield from unread(content[begin.start() : rates[-1].start()].splitlines(), _KNOWN)
    yield from (name for name, pattern in _BEHIND.items() if pattern.search(content))


def _warnings(content: str, log: Log | None, events: int, window_s: float) -> Iterator[str]:
    if "Run was aborted" in content:
        yield "pgbench says of itself: run was aborted, the results are incomplete"
    if _WITH_FAILURES.search(content):
        yield "its mean response time is of failed transactions too"
    without = without_connecting_per_s(content)
    if without and without > (stated_per_s(content) or without):
        yield (
            f"without the time to connect it states {without:.6g}/s; most of its time was that, as "
            "if it connected for each transaction (-C), and the rate with it is taken"
        )
    with_connecting = first(_WITH_CONNECTING, content)
    if with_connecting and float(with_connecting) < (1 - _SHORT) * events / window_s:
        yield (
            f"with the time to connect its rate is {float(with_connecting):.6g}/s: it connected "
            "for each transaction (-C), or ran for a short time"
        )
    seconds = whole(_DURATION, content)
    if seconds and abs(window_s - seconds) > _SHORT * seconds + 1:
        yield f"{events} transactions at its rate took {window_s:.3g} s of {seconds} s"
    kept = len(log.took_us) if log else events
    if kept < 0.99 * events:
        yield (
            f"the logs hold {kept} of {events} transactions: percentiles are of these "
            "(--sampling-rate, or a log of another thread is missing)"
        )


BRIDGE: Bridge = Pgbench()
