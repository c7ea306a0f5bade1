"""YCSB's exporters, text and JSON, releases 0.1 to 0.17, and the status lines of `-s`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath
from typing import ClassVar

from dbdyno.bridges.bridge import Arrival, Bridge, Result, Text, absent, first, holding
from dbdyno.bridges.parts import Shape, results_in
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option, Sample

_RUNTIME = re.compile(r"^\[OVERALL\], RunTime\(ms\), ([\d.]+)", re.MULTILINE)
_STATED = re.compile(r"^\[OVERALL\], Throughput\(ops/sec\), ([\d.eE+-]+)", re.MULTILINE)
_BANNER = re.compile(r"^YCSB Client (\d\S*)", re.MULTILINE)
_COMMAND = re.compile(r"^Command line: *(.*)$", re.MULTILINE)
_LINE = re.compile(r"^\[([\w%-]+)\], ([^,\n]+), (\S+)$", re.MULTILINE)
_OBJECT = re.compile(
    r'[\[,\s]*\{\s*"metric"\s*:\s*"([^"]*)"\s*,\s*"measurement"\s*:\s*"([^"]*)"\s*,'
    r'\s*"value"\s*:\s*([-\d.eE+]+)\s*\}\s*\]?'
)
"""A line's worth in JSON: one document each, or an array of all."""
_STATUS = re.compile(
    r"^(?:\d{4}-\d\d-\d\d \S+)? *(\d+) sec: \d+ operations; ([\d.,]+) current ops/sec",
    re.MULTILINE,
)
_SHAPE = Shape(
    mark=_RUNTIME,
    opening=re.compile(r"YCSB Client |Command line: |Loading workload|Starting test|\S*java "),
    over=_RUNTIME,
    begun=re.compile(r"^(?:Starting test|.*\b\d+ sec: \d+ operations; )", re.MULTILINE),
)
_TIME = re.compile(r"(Average|Min|Max|([\d.]+)(?:st|nd|rd|th)?Percentile)Latency\((us|ms)\)")
_MICROSECONDS = {"us": 1.0, "ms": 1000.0}
_NAMES = {"Average": "mean", "Max": "max"}
_FINE = ("0", "OK", "BATCHED_OK")
"""The first releases return a number."""
_COMPOSITE = "READ-MODIFY-WRITE"
"""Its read and its update are counted as such, too."""
_INTENDED = "Intended-"
"""The same operations, their times from when they should have begun."""
_RANKS = ("50", "95", "99", "99.9")
_OF_RUN = ("Operations", "RunTime(ms)", "Throughput(ops/sec)", "Count", "Time(ms)", "Time(%)")
_USUAL_LINES = {
    "YCSB Client VERSION": _BANNER,
    "Command line": _COMMAND,
    "[OVERALL], Throughput(ops/sec)": _STATED,
}
_USUAL = ("AverageLatency", "MaxLatency", "95thPercentileLatency", "99thPercentileLatency")


class Ycsb:
    """Reads one `load` or `run`."""

    tool: ClassVar[str] = "ycsb"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("operations_per_s", "/s", "gauge", "Operations that ended"),
    )

    def recognises(self, content: str) -> bool:
        """By its figures, its banner, or its status lines."""
        marks = (_RUNTIME, _BANNER, _STATUS)
        return any(mark.search(content) for mark in marks) or (
            '"RunTime(ms)"' in content and bool(_OBJECT.search(content))
        )

    def parts(self, text: Text) -> Sequence[Text]:
        """A load and its runs, or several runs."""
        return results_in(_as_lines(text), _SHAPE)

    def read(self, texts: Sequence[Text]) -> Result:
        """Events are operations that succeeded, one that reads, modifies and writes once; the mean
        is over all kinds of them."""
        texts = [_as_lines(text) for text in texts]
        main = holding(texts, _RUNTIME, self.tool)
        if main is None:
            raise texts[0].cut(self.tool, "`[OVERALL], RunTime(ms)`")
        content = "\n".join(text.content for text in texts)
        kinds = _kinds(main.content)
        done = {
            kind: float(reported["Operations"])
            for kind, reported in kinds.items()
            if _is_measured(kind) and "Operations" in reported
        }
        single = {kind: number for kind, number in done.items() if kind != _COMPOSITE}
        events = round(sum(single.values()) - (done.get(_COMPOSITE, 0.0) if single else 0.0))
        stated = first(_STATED, main.content)
        if events <= 0 and stated is not None and not float(stated):
            raise main.nothing("no operation of YCSB ended")
        if events <= 0 and (failed := _errors(kinds)):
            raise main.nothing(f"all {failed} operations of YCSB failed")
        if events <= 0:
            raise main.cut(self.tool, "operations that ended")
        window_s = float(first(_RUNTIME, main.content) or 0) / 1000
        times = {kind: dict(_times(kinds[kind])) for kind in kinds if _has_times(kind)}
        command = first(_COMMAND, content)
        clients, script, options = _called(command or "")
        return Result(
            outcome=ToolOutcome(
                window_s=window_s,
                events=events,
                errors=_errors(kinds),
                latency_us=_overall(done, times, events),
                figures=dict(_figures(done, times, window_s)),
                samples=tuple(_samples(content)),
                warnings=tuple(_warnings(kinds)),
            ),
            version=first(_BANNER, content) or "",
            clients=clients,
            script=script,
            options=options,
            arrival=_arrival(command, options),
            stated_per_s=float(stated) if stated else None,
            absent=tuple(_absent(content, kinds, single)),
            unread=tuple(_unread(kinds)),
        )


def _as_lines(text: Text) -> Text:
    """What the JSON exporters wrote, as the text exporter has it."""
    if '"measurement"' not in text.content:
        return text
    content = _OBJECT.sub(
        lambda matched: f"\n[{matched[1]}], {matched[2]}, {matched[3]}\n", text.content
    )
    return replace(text, content=re.sub(r"\n{2,}", "\n", content).lstrip("\n"))


def _kinds(content: str) -> Mapping[str, Mapping[str, str]]:
    """Kind of operation → what is told of it. Lines of histograms are there too."""
    matched: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, what, value in _LINE.findall(content):
        matched[kind][what] = value
    return matched


def _is_measured(kind: str) -> bool:
    """Neither overhead nor failures, nor the same operations counted from intended starts."""
    return _has_times(kind) and not kind.startswith(_INTENDED)


def _has_times(kind: str) -> bool:
    kind = kind.removeprefix(_INTENDED)
    return not (
        kind in ("OVERALL", "CLEANUP") or kind.startswith("TOTAL_") or kind.endswith("-FAILED")
    )


def _errors(kinds: Mapping[str, Mapping[str, str]]) -> int:
    """Operations that returned anything but OK; of old releases those in `…-FAILED`."""
    returned = [
        round(float(number))
        for kind, reported in kinds.items()
        for what, number in reported.items()
        if not kind.startswith(_INTENDED)
        and what.startswith("Return=")
        and what.removeprefix("Return=") not in _FINE
    ]
    failed = [
        round(float(reported.get("Operations", 0)))
        for kind, reported in kinds.items()
        if kind.endswith("-FAILED") and not kind.startswith(_INTENDED)
    ]
    return max(sum(returned), sum(failed))


def _times(reported: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    """In microseconds, whatever the release. A percentile of 0 lies somewhere below its unit."""
    for what, value in reported.items():
        matched = _TIME.fullmatch(what)
        if matched is None or (matched[2] and not float(value)):
            continue
        name = f"p{matched[2]}" if matched[2] else _NAMES.get(matched[1])
        if name:
            yield name, float(value) * _MICROSECONDS[matched[3]]


def _overall(
    done: Mapping[str, float], times: Mapping[str, Mapping[str, float]], events: int
) -> Mapping[str, float]:
    """Percentiles of several kinds can't be merged without their histograms. The time of an
    operation that reads, modifies and writes is in that of its read and its update already."""
    alone = _COMPOSITE if round(done.get(_COMPOSITE, 0)) == events else next(iter(done))
    if len(done) == 1 or alone == _COMPOSITE:
        ranks = {name: us for name, us in times[alone].items() if name[1:] in _RANKS}
        return {**ranks, **{n: us for n, us in times[alone].items() if n in ("mean", "max")}}
    if not all({"mean", "max"} <= times[kind].keys() for kind in done):
        return {}
    spent = sum(times[kind]["mean"] * n for kind, n in done.items() if kind != _COMPOSITE)
    return {"mean": spent / events, "max": max(times[kind]["max"] for kind in done)}


def _figures(
    done: Mapping[str, float], times: Mapping[str, Mapping[str, float]], window_s: float
) -> Iterator[tuple[str, float]]:
    """`read_per_s`, `read_us_p99`, `intended_read_us_p99`."""
    for kind, member in times.items():
        name = kind.lower().replace("-", "_")
        if kind in done:
            yield f"{name}_per_s", done[kind] / window_s if window_s else 0.0
        for what, value in member.items():
            yield f"{name}_us_{what}", value


def _samples(content: str) -> Iterator[Sample]:
    """Its rates are in the manner of the country: with a comma or a point."""
    for second, rate in _STATUS.findall(content):
        yield Sample(
            int(second) * 10**9, "ycsb", "operations_per_s", "", float(rate.replace(",", "."))
        )


def _warnings(kinds: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    if _COMPOSITE in kinds and _errors(kinds):
        yield (
            "how many of its read-modify-writes failed is not known: there were no fewer events "
            "than are imported, and their mean was no longer"
        )
    measured = [reported for kind, reported in kinds.items() if _has_times(kind)]
    ranks = [
        (what, value) for reported in measured for what, value in reported.items() if "Perc" in what
    ]
    if any("(ms)" in what for what, _ in ranks):
        yield "its percentiles are whole milliseconds; those below 1 ms are left out"
    elif any(not float(value) for _, value in ranks):
        yield "percentiles below 1 µs, which it tells as 0, are left out"


def _arrival(command: str | None, options: Mapping[str, Option]) -> Arrival:
    if command is None:
        return "unknown"
    return "open" if "target_per_s" in options else "closed"


def _absent(
    content: str, kinds: Mapping[str, Mapping[str, str]], single: Mapping[str, float]
) -> Iterator[str]:
    yield from absent(_USUAL_LINES, content)
    for kind in single:
        for what in _USUAL:
            if not any(name.startswith(what) for name in kinds[kind]):
                yield f"[{kind}], {what}"


def _unread(kinds: Mapping[str, Mapping[str, str]]) -> Iterator[str]:
    """Histograms and series are numbers by millisecond; of the rest each line."""
    for kind, reported in kinds.items():
        if not _has_times(kind):
            continue
        strange = [
            what
            for what in reported
            if what not in _OF_RUN and not what.startswith("Return=") and not _TIME.fullmatch(what)
        ]
        numbers = [what for what in strange if what.lstrip(">").isdigit()]
        if numbers:
            yield f"[{kind}], {numbers[0]}, … (a histogram or a series)"
        yield from (f"[{kind}], {what}" for what in strange if what not in numbers)


def _called(command: str) -> tuple[int | None, str, Mapping[str, Option]]:
    """Clients, workload and options of the command line, where it was printed."""
    words = command.split()
    pairs = list(pairwise(words))
    given = {flag: value for flag, value in pairs if flag in ("-threads", "-target", "-db")}
    properties = dict(v.split("=", 1) for flag, v in pairs if flag == "-p" and "=" in v)
    threads = given.get("-threads", properties.get("threadcount", ""))
    target = given.get("-target", properties.get("target", ""))
    files = [PurePosixPath(value).name for flag, value in pairs if flag == "-P"]
    options: dict[str, Option] = {}
    if "-db" in given:
        options["db"] = given["-db"].rpartition(".")[2]
    if target.isdigit() and int(target):
        options["target_per_s"] = int(target)
    for name in ("recordcount", "operationcount", "maxexecutiontime"):
        if properties.get(name, "").isdigit():
            options[name] = int(properties[name])
    script = "+".join((["load"] if "-load" in words else []) + files)
    clients = int(threads) if threads.isdigit() else None
    return clients, script, options


BRIDGE: Bridge = Ycsb()
