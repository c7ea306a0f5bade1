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
from dbdyno.errors import EngineError
from dbdyno.generators.sysbench import GENERATOR
from dbdyno.generators.sysbench_text import outcome, stated_per_s
from dbdyno.model import Metric, Option

_BANNER = re.compile(r"^sysbench (\d[\w.-]*)", re.MULTILINE)
_THREADS = re.compile(r"^Number of threads: (\d+)", re.MULTILINE)
_SUMMARY = re.compile(r"^ *total number of events: +\d+", re.MULTILINE)
_FAIRNESS = re.compile(r"^ *execution time \(avg/stddev\): ", re.MULTILINE)
_CHECKPOINT = re.compile(r"^\[ *\d+s *\] Checkpoint report:", re.MULTILINE)
_TOTAL = re.compile(r"^ *(?:total time|time elapsed): +([\d.]+)s", re.MULTILINE)
_STARTED = re.compile(r"^Threads started!", re.MULTILINE)
_SHAPE = Shape(
    mark=_SUMMARY,
    opening=re.compile(
        r"sysbench \d|Running the test with following|\[ *\d+s *\] |SQL statistics:|"
        r"OLTP test statistics:|(?:General|Throughput|Latency histogram).*:$|Test execution summary"
    ),
    over=_FAIRNESS,
    begun=re.compile(r"^(?:Threads started!|Number of threads: |\[ *\d+s *\] )", re.MULTILINE),
)
_TARGET = re.compile(r"^Target transaction rate: ([\d.]+)/sec", re.MULTILINE)
_WARM_UP = re.compile(r"^Warmup time: (\d+)", re.MULTILINE)
_PRIMES = re.compile(
    r"^(?:Prime numbers limit|Maximum prime number checked in CPU test): (\d+)", re.MULTILINE
)
_TESTS = (
    (re.compile(r"^Running mixed OLTP test", re.MULTILINE), "oltp"),
    (re.compile(r"^Doing read-only test|^Running.* read-only", re.MULTILINE), "oltp read-only"),
    (_PRIMES, "cpu"),
    (re.compile(r"memory (?:operations )?speed test|^Total operations: ", re.MULTILINE), "memory"),
    (re.compile(r"^Doing (?:sequential|random) (.+) test", re.MULTILINE), "fileio"),
)
_FILES = {
    "reads_per_s": re.compile(r"^ *reads/s: +([\d.]+)", re.MULTILINE),
    "writes_per_s": re.compile(r"^ *writes/s: +([\d.]+)", re.MULTILINE),
    "fsyncs_per_s": re.compile(r"^ *fsyncs/s: +([\d.]+)", re.MULTILINE),
}
_SIZES = {
    "read_bytes_per_s": re.compile(r"^ *read, MiB/s: +([\d.]+)", re.MULTILINE),
    "written_bytes_per_s": re.compile(r"^ *written, MiB/s: +([\d.]+)", re.MULTILINE),
    "transferred_bytes_per_s": re.compile(r"transferred \(([\d.]+) MiB/sec\)"),
}
_OLD_FAILURES = re.compile(r"^ *deadlocks: ", re.MULTILINE)
_FAILURES = re.compile(r"^ *ignored errors: ", re.MULTILINE)
_USUAL = {
    "sysbench VERSION": _BANNER,
    "Number of threads": _THREADS,
    "min": re.compile(r"^ +min: ", re.MULTILINE),
    "avg": re.compile(r"^ +avg: ", re.MULTILINE),
    "max": re.compile(r"^ +max: ", re.MULTILINE),
    "percentile": re.compile(r"percentile(?: stats)?: ", re.MULTILINE),
}
_OF_SQL = {
    "queries performed": re.compile(r"^ *queries performed:", re.MULTILINE),
    "transactions": re.compile(r"^ *transactions: ", re.MULTILINE),
}
_RECONNECTS = {"reconnects": re.compile(r"^ *reconnects: ", re.MULTILINE)}
_KNOWN = re.compile(
    r"sysbench \d|Running the test with following|Number of threads: |Target transaction rate: |"
    r"Report intermediate results|Report checkpoint|Initializing |Random number generator seed|"
    r"Seeding random number generator|Prime numbers limit|Maximum prime number|Threads started!|"
    r"Warmup time: |WARNING: |Debug mode|DEBUG: |No DB drivers|"
    r"Doing .* (?:test|benchmark)|Running .* test|"
    r"Creating table|Inserting \d|Creating a? ?secondary|Dropping table"
)
"""Before the load."""
_KNOWN_FIGURES = re.compile(
    r"(?:SQL|OLTP test|General) statistics:|Test execution summary:|queries performed:|"
    r"(?:read|write|other|total): +\d+$|transactions: |queries: |ignored errors: |deadlocks: |"
    r"reconnects: |read/write requests: |other operations: |total time: |time elapsed: |"
    r"total number of events: |total time taken by event execution: |response time:$|"
    r"per-request statistics:$|Latency \(ms\):|(?:min|avg|max|sum): |.*percentile|Throughput:|"
    r"events/s \(eps\): |CPU speed:|events per second: |File operations:|reads/s: |writes/s: |"
    r"fsyncs/s: |read, MiB/s: |written, MiB/s: |Total operations: |.* MiB transferred|DEBUG:|"
    r"\[ *\d+s *\] |Threads fairness:|events \(avg/stddev\): |execution time \(avg/stddev\): |"
    r"Latency histogram|value +-+|[\d.]+ \||Time limit exceeded|\(last message|Done\.|"
    r"Doing CPU performance|Maximum prime number|"
    r"Threads started!|Initializing worker"
)
_NOTHING = re.compile(r"^ *total number of events: +0$", re.MULTILINE)
_FATAL = re.compile(r"^FATAL: .+$", re.MULTILINE)
_MIB = 1 << 20


class Sysbench:
    """Reads one `run`."""

    tool: ClassVar[str] = "sysbench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its banner, or by its summary where the banner was left out."""
        return bool(_BANNER.search(content)) or bool(
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
        try:
            measured = outcome(text.content, 0, ())
        except EngineError as error:
            raise _without_figures(text) from error
        if not _FAIRNESS.search(text.content):
            raise text.cut(self.tool, "`Threads fairness`, its last paragraph")
        content = f"{text.head}\n{text.content}" if text.head else text.content
        errors = any(mark.search(content) for mark in (_FAILURES, _OLD_FAILURES))
        return Result(
            outcome=replace(
                measured,
                figures={**measured.figures, **dict(_figures(content))},
                warnings=tuple(_warnings(text, measured.window_s)),
            ),
            clients=whole(_THREADS, content),
            version=(first(_BANNER, content) or "").rstrip(".-"),
            script=next((name for mark, name in _TESTS if mark.search(content)), ""),
            options=dict(_options(content)),
            not_known=() if errors else ("errors",),
            arrival=_arrival(content),
            stated_per_s=stated_per_s(text.content),
            absent=tuple(_absent(content)),
            unread=tuple(_unread(content)),
        )


def _without_figures(text: Text) -> CutError:
    """Why there are none: by its own words, if it has some."""
    if _NOTHING.search(text.content):
        return text.nothing("no event ended")
    if fatal := _FATAL.search(text.content):
        line = text.line_of(fatal.start())
        return text.broken(
            f"sysbench ended without its figures: {fatal[0]}", line=line, hint="repeat the run"
        )
    return text.cut(Sysbench.tool, "`General statistics`")


def _figures(content: str) -> Iterator[tuple[str, float]]:
    """Of files and memory."""
    for matched, factor in ((_FILES, 1), (_SIZES, _MIB)):
        for name, pattern in matched.items():
            value = first(pattern, content)
            if value is not None:
                yield name, float(value) * factor


def _options(content: str) -> Iterator[tuple[str, Option]]:
    rate, warm_up, primes = (first(p, content) for p in (_TARGET, _WARM_UP, _PRIMES))
    if rate is not None:
        yield "rate_per_s", float(rate)
    if warm_up is not None:
        yield "warm_up_s", int(warm_up)
    if primes is not None:
        yield "prime_limit", int(primes)


def _arrival(content: str) -> Arrival:
    """It names a rate among the options of the run, where these were printed."""
    if _TARGET.search(content):
        return "open"
    return "closed" if _THREADS.search(content) else "unknown"


def _absent(content: str) -> Iterator[str]:
    """Of the release that the layout tells. Of SQL only where no other test is named."""
    yield from absent(_USUAL, content)
    if any(mark.search(content) for mark, name in _TESTS if not name.startswith("oltp")):
        return
    yield from absent(_OF_SQL, content)
    old = "Test execution summary:" in content
    if not (_OLD_FAILURES if old else _FAILURES).search(content):
        yield "deadlocks" if old else "ignored errors"
    if not old:
        yield from absent(_RECONNECTS, content)


def _unread(content: str) -> Iterator[str]:
    """Before the load what was asked for, behind it what came out. Tests of other things than SQL
    name what they do in lines of their own, which stand for their options."""
    started = _STARTED.search(content)
    begin = _BANNER.search(content)
    if started and begin:
        yield from unread(content[begin.start() : started.start()].splitlines(), _KNOWN)
    last = list(_FAIRNESS.finditer(content))[-1].start()
    where = started.end() if started else 0
    yield from unread(content[where:last].splitlines(), _KNOWN_FIGURES)
    yield from unread(_FATAL.findall(content[last:]), _KNOWN_FIGURES)


def _warnings(text: Text, window_s: float) -> Iterator[str]:
    total_s = float(first(_TOTAL, text.content) or 0)
    if not text.name and abs(total_s - window_s) > 0.02 * total_s:
        yield f"its rates are of {window_s:.4g} s, its total time is {total_s:g} s"


BRIDGE: Bridge = Sysbench()
