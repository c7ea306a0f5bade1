"""db_bench's text, of one test or a list, with `--histogram` and `--report_file` or without."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import ClassVar

from dbdyno.bridges.bridge import Arrival, Bridge, Result, Text, absent, first, holding, unread
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.errors import EngineError
from dbdyno.generators.db_bench import GENERATOR, SUMMARY, outcome, own_warnings
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric

_VERSION = re.compile(r"^RocksDB: +version (\d[\w.]*)", re.MULTILINE)
_HEAD = re.compile(r"^(?:RocksDB: +version|Keys: +\d+ bytes each)", re.MULTILINE)
_REPORT = "secs_elapsed,interval_qps"
_SIZES = {
    "keys": re.compile(r"^Keys: +(\d+) bytes each", re.MULTILINE),
    "values": re.compile(r"^Values: +(\d+) bytes each", re.MULTILINE),
    "entries": re.compile(r"^Entries: +(\d+)", re.MULTILINE),
}
_LIMITS = re.compile(r"^(?:Write|Read) rate: (\d+) (?:bytes|ops)/second", re.MULTILINE)
_WRITE_LIMIT = re.compile(r"^Write rate: (\d+) bytes/second", re.MULTILINE)
_READ_LIMIT = re.compile(r"^Read rate: (\d+) ops/second", re.MULTILINE)
_SHAPE = Shape(
    mark=SUMMARY,
    opening=re.compile(r"DB path: |RocksDB: +version|Initializing RocksDB|Running benchmark for"),
    over=SUMMARY,
    begun=re.compile(r"^Keys: +\d+ bytes each", re.MULTILINE),
)
_STATISTICS = re.compile(r"^STATISTICS:\n(?:.*\n?)*", re.MULTILINE)
_USUAL = {
    "RocksDB: version": _VERSION,
    **{name.capitalize(): pattern for name, pattern in _SIZES.items()},
    "Write rate": _WRITE_LIMIT,
    "Read rate": _READ_LIMIT,
}
_HISTOGRAM = re.compile(r"^Count: \d+ +Average: ", re.MULTILINE)
_PERCENTILES = re.compile(r"^Percentiles: ", re.MULTILINE)
_OF_KIND = re.compile(
    r"^Microseconds per (\w+):\nCount: \d+ +Average: ([\d.]+).*\nMin: .*Max: *([\d.]+)"
    r"(?:\nPercentiles: (.*))?",
    re.MULTILINE,
)
_MESSAGE = re.compile(r"^\w+ +: .* ops/sec.*?(\( ?(?!\d+ of \d+ found\))\S.*\))$", re.MULTILINE)
"""What a test says besides of what it did, such as how many reads and writes."""
_RANKS = ("50", "99", "99.9")
_KNOWN = re.compile(
    r"RocksDB: |Date: |CPU:|CPUCache:|\.\.\. finished |Initializing RocksDB|Keys: |Values: |"
    r"Entries: |Prefix: |Keys per prefix: |RawSize: |FileSize: |Write rate: |Read rate: |"
    r"Memtablerep: |Perf Level: |WARNING: |-+$|Integrated BlobDB|DB path: |Set seed to |"
    r"Running benchmark for|Warming up benchmark|Compression: |Compression sampling rate: "
)


class DbBench:
    """Reads one test."""

    tool: ClassVar[str] = "db_bench"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By its head, its summary line, or a report's heading."""
        return content.startswith(_REPORT) or any(mark.search(content) for mark in (_HEAD, SUMMARY))

    def parts(self, text: Text) -> Sequence[Text]:
        """`--benchmarks` may list several, below one head; each has a line of its own."""
        if text.content.startswith(_REPORT):
            return [text]
        matched = results_in(text, _SHAPE)
        head, parts = "", []
        for part in matched:
            begin, summary = _HEAD.search(part.content), SUMMARY.search(part.content)
            if begin:
                head = part.content[: summary.start()] if summary else part.content
                parts.append(part)
            else:
                parts.append(replace(part, head=head))
        if len(parts) > 1:  # They are of all tests together.
            parts = [replace(p, content=_STATISTICS.sub("", p.content)) for p in parts]
        return parts

    def read(self, texts: Sequence[Text]) -> Result:
        """Figures of the summary and the histogram; lines over time of the report."""
        reports = [text for text in texts if text.content.startswith(_REPORT)]
        printed = [text for text in texts if text not in reports]
        if not printed:
            raise texts[0].error(
                "is a report over time, without the figures of the run",
                hint="name it with the text that db_bench printed: TEXT+REPORT",
            )
        main = holding(printed, SUMMARY, self.tool) or printed[0]
        content = "\n".join(text.content for text in printed)
        whole = "\n".join(text.head for text in printed) + content
        lines = [line for text in reports for line in text.content.splitlines()]
        summary = SUMMARY.search(content)
        if summary is None or not int(summary["rate"]):
            raise main.cut(self.tool, "a line `… micros/op … ops/sec`")
        sizes = {name: first(pattern, whole) for name, pattern in _SIZES.items()}
        limits = {
            name: first(pattern, whole)
            for name, pattern in (
                ("write_bytes_per_s_limit", _WRITE_LIMIT),
                ("reads_per_s_limit", _READ_LIMIT),
            )
        }
        measured = _outcome(content, lines, int(summary["rate"]))
        return Result(
            outcome=replace(
                measured,
                figures={
                    **measured.figures,
                    **_found_share(summary),
                    **dict(_by_kind(content)),
                },
                warnings=tuple(own_warnings(whole)),
            ),
            clients=None,
            version=first(_VERSION, whole) or "",
            script=summary["name"],
            options={
                **{name: int(size) for name, size in sizes.items() if size},
                **{name: int(rate) for name, rate in limits.items() if rate and int(rate)},
            },
            not_known=("errors",),
            arrival=_arrival(whole),
            stated_per_s=float(summary["rate"]),
            absent=tuple(_absent(whole, content)),
            unread=(
                *unread(whole[: whole.rfind(summary[0])].splitlines(), _KNOWN),
                *_MESSAGE.findall(content),
            ),
        )


def _outcome(content: str, reports: Sequence[str], rate: int) -> ToolOutcome:
    """Releases before 7 don't say how many operations there were, but in a histogram."""
    try:
        measured = outcome(content, reports, 0, ())
    except EngineError:
        return ToolOutcome(window_s=0.0, events=0)
    by_rate = measured.events / rate
    near = abs(by_rate - measured.window_s) <= _ROUNDED * by_rate
    return replace(measured, window_s=by_rate) if near else measured


_ROUNDED = 0.02
"""Share by which its seconds, of three decimals, may differ from operations by rate; of slow
operations the rate has a digit or two, and the seconds are taken."""


def _by_kind(content: str) -> Iterator[tuple[str, float]]:
    """`read_us_p99`, where reads and writes have a histogram each: they can't be merged."""
    kinds = _OF_KIND.findall(content)
    if len(kinds) < 2:
        return
    for kind, mean, most, ranks in kinds:
        yield f"{kind}_us_mean", float(mean)
        yield f"{kind}_us_max", float(most)
        for rank, value in re.findall(r"P([\d.]+): ([\d.]+)", ranks):
            if rank in _RANKS:
                yield f"{kind}_us_p{rank}", float(value)


def _found_share(summary: re.Match[str]) -> Mapping[str, float]:
    """Of the keys that one of its threads looked for, those it found: others are read faster."""
    if not summary["sought"] or not int(summary["sought"]):
        return {}
    return {"found_share": int(summary["found"]) / int(summary["sought"])}


def _arrival(content: str) -> Arrival:
    limits = [int(rate) for rate in _LIMITS.findall(content)]
    if any(limits):
        return "open"
    return "closed" if len(limits) > 1 else "unknown"


def _absent(whole: str, content: str) -> Iterator[str]:
    yield from absent(_USUAL, whole)
    if not _HISTOGRAM.search(content):
        yield "histogram (--histogram)"
    elif not _PERCENTILES.search(content):
        yield "Percentiles"


BRIDGE: Bridge = DbBench()
