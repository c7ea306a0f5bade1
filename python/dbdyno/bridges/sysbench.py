"""sysbench's text, releases 0.4 to 1.1: `run` of any test, with or without `--histogram`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import ClassVar

from dbdyno.bridges.bridge import (
    Arrival,
    Bridge,
    CutError,
    Result,
    Text,
    absent,
    first,
    holding,
    single,
    unread,
    whole,
)
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.bridges.sysbench_tests import (
    READ,
    file_events_per_s,
    name_of_test,
    options_of_test,
    rates_of_test,
)
from dbdyno.errors import EngineError
from dbdyno.generators.generator import ToolOutcome
from dbdyno.generators.sysbench import GENERATOR
from dbdyno.generators.sysbench_text import (
    impossible_rates,
    outcome,
    response_times,
    stated_per_s,
)
from dbdyno.model import Metric, Option

_BANNER = re.compile(r"^sysbench (\d[\w.-]*)", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d+)", re.MULTILINE)
_SUMMARY = re.compile(r"^ *total number of events: +\d+", re.MULTILINE)
_FAIRNESS = re.compile(r"^ *execution time \(avg/stddev\): ", re.MULTILINE)
_FILES = re.compile(r"^ *fsync: IOPS=", re.MULTILINE)
"""Of files since 1.1, in place of the number of events; no fairness follows."""
_SUM = re.compile(r"^ *sum: ", re.MULTILINE)
_CHECKPOINT = re.compile(r"^\[ *\d+s *\] Checkpoint report:", re.MULTILINE)
_TOTAL = re.compile(r"^ *(?:total time|time elapsed): +([\d.]+)s", re.MULTILINE)
_FATAL = re.compile(r"^(FATAL: .+)", re.MULTILINE)
_LONGEST = 120
_STARTED = re.compile(r"^Threads started!", re.MULTILINE)
_SHAPE = Shape(
    mark=re.compile(rf"{_SUMMARY.pattern}|{_FILES.pattern}", re.MULTILINE),
    opening=re.compile(
        r"sysbench \d|Running the test with following|\[ *\d+s *\] |SQL statistics:|"
        r"OLTP test statistics:|(?:General|Throughput|Latency histogram).*:$|"
        r"Test execution summary|(?:CPU speed|File operations):$"
    ),
    over=re.compile(rf"{_FAIRNESS.pattern}|{_SUM.pattern}"),
    begun=re.compile(r"^(?:Threads started!|Number of threads: |\[ *\d+s *\] )", re.MULTILINE),
)
_TARGET = re.compile(r"^Target transaction rate: ([\d.]+)/sec", re.MULTILINE)
_WARM_UP = re.compile(r"^Warmup time: (\d+)", re.MULTILINE)
_OLD_FAILURES = re.compile(r"^ *deadlocks: ", re.MULTILINE)
_FAILURES = re.compile(r"^ *ignored errors: ", re.MULTILINE)
_USUAL = {
    "sysbench VERSION": _BANNER,
    "Number of threads": _THREADS,
    "min": re.compile(r"^ *min: ", re.MULTILINE),
    "avg": re.compile(r"^ *avg: ", re.MULTILINE),
    "max": re.compile(r"^ *max: ", re.MULTILINE),
    "percentile": re.compile(r"percentile(?: stats)?: ", re.MULTILINE),
}
_OF_SQL = {
    "queries performed": re.compile(r"^ *queries performed:", re.MULTILINE),
    "transactions": re.compile(r"^ *transactions: ", re.MULTILINE),
}
_OVER_TIME = re.compile(r"^\[ *\d+s *\] (?:thds|threads): \d+,? tps: [\d.]+", re.MULTILINE)
_RECONNECTS = {"reconnects": re.compile(r"^ *reconnects: ", re.MULTILINE)}
_KNOWN = re.compile(
    r"sysbench \d|Running the test with following|Number of threads: |Target transaction rate: |"
    r"Report intermediate results|Report checkpoint|Initializing |Random number generator seed|"
    r"Seeding random number generator|Prime numbers limit|Maximum prime number|Threads started!|"
    r"\(last message repeated|"
    r"Warmup time: |WARNING: |Debug mode|DEBUG: |No DB drivers|"
    r"Doing .* (?:test|benchmark)|Running .* test|"
    rf"Creating table|Inserting \d|Creating a? ?secondary|Dropping table|{READ}"
)
"""Before the load."""
_KNOWN_FIGURES = re.compile(
    r"(?:SQL|OLTP test|General) statistics:|Test execution summary:|queries performed:|"
    r"(?:read|write|other|total): +\d+$|transactions: |queries: |ignored errors: |deadlocks: |"
    r"reconnects: |read/write requests: |other operations: |total time: |time elapsed: |"
    r"total number of events: |total time taken by event execution: |response time:$|"
    r"per-request statistics:$|Latency \(ms\):|(?:min|avg|max|sum): |.*percentile|Throughput:|"
    r"events/s \(eps\): |CPU speed:|events per second: |File operations:|reads/s: |writes/s: |"
    r"fsyncs/s: |read, MiB/s: |written, MiB/s: |Total operations: |.* M(?:iB|B) transferred|DEBUG:|"
    r"(?:read|write|fsync): +IOPS=|Operations performed: |Read [\d.]+\w+ +Written |"
    r"[\d.]+ Requests/sec executed|"
    r"\[ *\d+s *\] |Threads fairness:|events \(avg/stddev\): |execution time \(avg/stddev\): |"
    r"Latency histogram|value +-+|[\d.]+ \||Time limit exceeded|\(last message|Done\.|"
    r"Doing CPU performance|Maximum prime number|"
    r"Threads started!|Initializing worker"
)
_NOTHING = re.compile(r"^ *total number of events: +0$", re.MULTILINE)


class Sysbench:
    """Reads one `run`."""

    tool: ClassVar[str] = "sysbench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its banner, or by its summary or lines over time where the banner was left out."""
        marks = (_BANNER, _FILES, _OVER_TIME)
        return any(mark.search(content) for mark in marks) or bool(
            _SUMMARY.search(content) and _TOTAL.search(content)
        )

    def parts(self, text: Text) -> Sequence[Text]:
        """Loops write one text behind another; `--report-checkpoints` has a run's reports one
        after another below one head, each of the time since the one before."""
        matched = results_in(text, _SHAPE)
        parts: list[Text] = []
        head = ""
        for part, after in pairwise([*matched, None]):
            assert part is not None
            own = _STARTED.search(part.content)
            if own or _BANNER.search(part.content):
                head = part.content[: own.end()] if own else ""
            else:
                part = replace(part, head=head)
            of_one_run = part.head or (after and not _BANNER.search(after.content))
            if of_one_run and _CHECKPOINT.search(text.content):
                part = replace(part, name=f"to-{first(_TOTAL, part.content)}s")
            parts.append(part)
        return parts

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary; percentiles of the histogram, or those it shows."""
        text = single(texts, self.tool)
        holding(texts, _SUMMARY, self.tool)
        measured = _outcome(text)
        content = f"{text.head}\n{text.content}" if text.head else text.content
        errors = any(mark.search(content) for mark in (_FAILURES, _OLD_FAILURES))
        stated = stated_per_s(text.content)
        return Result(
            outcome=replace(measured, figures={**measured.figures, **dict(rates_of_test(content))}),
            clients=whole(_THREADS, content),
            version=(first(_BANNER, content) or "").rstrip(".-"),
            script=name_of_test(content),
            options=dict(_options(content)),
            not_known=() if errors else ("errors",),
            arrival=_arrival(content),
            stated_per_s=file_events_per_s(content) if stated is None else stated,
            absent=tuple(_absent(content)),
            unread=tuple(_unread(content)),
        )


def _outcome(text: Text) -> ToolOutcome:
    """What it measured; without a number of events where it tells rates of files alone."""
    if _FILES.search(text.content) and not _SUMMARY.search(text.content):
        if not _SUM.search(text.content):
            raise text.cut(Sysbench.tool, "`sum: …`, the last line of its latencies")
        latency_us, figures = response_times(text.content)
        return ToolOutcome(window_s=0.0, events=0, latency_us=latency_us, figures=figures)
    try:
        measured = outcome(text.content, 0, ())
    except EngineError as error:
        raise _without_figures(text) from error
    if not _FAIRNESS.search(text.content):
        raise text.cut(Sysbench.tool, "`Threads fairness`, its last paragraph")
    return replace(measured, warnings=tuple(_warnings(text, measured.window_s)))


def _without_figures(text: Text) -> CutError:
    """Why there are none: by its own words, if it has some."""
    if _NOTHING.search(text.content):
        return text.nothing("no event ended")
    fatal = first(_FATAL, text.content)
    if fatal is not None:
        return text.nothing(f"sysbench failed and printed no figures: {fatal[:_LONGEST]}")
    return text.cut(Sysbench.tool, "`General statistics` of events that ended")


def _asked(content: str) -> str:
    """What it prints before the load, of the run alone: what prepared it may stand before."""
    started = _STARTED.search(content)
    heads = list(_BANNER.finditer(content, 0, started.start())) if started else []
    return content[heads[-1].start() : started.start()] if started and heads else ""


def _options(content: str) -> Iterator[tuple[str, Option]]:
    rate, warm_up = (first(p, content) for p in (_TARGET, _WARM_UP))
    if rate is not None:
        yield "rate_per_s", float(rate)
    if warm_up is not None:
        yield "warm_up_s", int(warm_up)
    yield from options_of_test(_asked(content) or content)


def _arrival(content: str) -> Arrival:
    """It names a rate among the options of the run, where these were printed."""
    if _TARGET.search(content):
        return "open"
    return "closed" if _THREADS.search(content) else "unknown"


def _absent(content: str) -> Iterator[str]:
    """Of the release that the layout tells. Of SQL only where no other test is named."""
    yield from absent(_USUAL, content)
    test = name_of_test(content)
    if test and not test.startswith("oltp"):
        return
    missing = absent(_OF_SQL, content)
    if len(missing) == len(_OF_SQL):
        yield "SQL statistics (threads and mutex have none)"
        return
    yield from missing
    old = "Test execution summary:" in content or bool(_OLD_FAILURES.search(content))
    if not (_OLD_FAILURES if old else _FAILURES).search(content):
        yield "deadlocks" if old else "ignored errors"
    if not old:
        yield from absent(_RECONNECTS, content)


def _unread(content: str) -> Iterator[str]:
    """Before the load what was asked for, behind it what came out. Tests of other things than SQL
    name what they do in lines of their own, which stand for their options."""
    started = _STARTED.search(content)
    yield from unread(_asked(content).splitlines(), _KNOWN)
    ends = [*_FAIRNESS.finditer(content)] or [*_SUM.finditer(content)]
    last = ends[-1].start()
    where = started.end() if started else 0
    yield from unread(content[where:last].splitlines(), _KNOWN_FIGURES)
    yield from unread(_FATAL.findall(content[last:]), _KNOWN_FIGURES)


def _warnings(text: Text, window_s: float) -> Iterator[str]:
    total_s = float(first(_TOTAL, text.content) or 0)
    if not text.name and abs(total_s - window_s) > 0.02 * total_s:
        yield f"its rates are of {window_s:.4g} s, its total time is {total_s:g} s"
    if wrong := impossible_rates(text.content):
        lines = "a line" if wrong == 1 else f"{wrong} lines"
        yield f"left out: {lines} over time with a rate that nothing reaches"


BRIDGE: Bridge = Sysbench()
