"""YCSB's text exporter, releases 0.1 to 0.17, and the status lines of `-s`."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import ClassVar

from dbdyno.bridges.bridge import Bridge, Result, Text, first, holding
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option, Sample

_RUNTIME = re.compile(r"^\[OVERALL\], RunTime\(ms\), ([\d.]+)", re.MULTILINE)
_BANNER = re.compile(r"^YCSB Client (\S+)", re.MULTILINE)
_COMMAND = re.compile(r"^Command line: (.*)$", re.MULTILINE)
_LINE = re.compile(r"^\[([\w-]+)\], ([^,\n]+), (\S+)$", re.MULTILINE)
_STATUS = re.compile(
    r"^\d{4}-\d\d-\d\d \S+ (\d+) sec: \d+ operations; ([\d.]+) current ops/sec", re.MULTILINE
)
_STARTED = re.compile(r"^(?:Loading workload|Starting test)", re.MULTILINE)
_PERCENTILE = re.compile(r"([\d.]+)(?:st|nd|rd|th)?PercentileLatency\(us\)")
_FINE = ("OK", "BATCHED_OK")
_TIMES = {"AverageLatency(us)": "mean", "MaxLatency(us)": "max"}
_RANKS = ("50", "95", "99", "99.9")


class Ycsb:
    """Reads one `load` or `run`."""

    tool: ClassVar[str] = "ycsb"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("operations_per_s", "/s", "gauge", "Operations that ended"),
    )

    def recognises(self, content: str) -> bool:
        """By its figures, its banner, or its status lines."""
        return any(mark.search(content) for mark in (_RUNTIME, _BANNER, _STATUS))

    def read(self, texts: Sequence[Text]) -> Result:
        """Events are operations that succeeded; the mean is over all kinds of them."""
        main = holding(texts, _RUNTIME, self.tool)
        if main is None:
            raise texts[0].cut(self.tool, "`[OVERALL], RunTime(ms)`")
        content = "\n".join(text.content for text in texts)
        kinds = _kinds(main.content)
        done = {
            kind: float(told["Operations"])
            for kind, told in kinds.items()
            if _is_measured(kind) and "Operations" in told
        }
        events = round(sum(done.values()))
        if not events:
            raise main.cut(self.tool, "operations that ended")
        window_s = float(first(_RUNTIME, main.content) or 0) / 1000
        times = {kind: dict(_times(kinds[kind])) for kind in done}
        clients, script, options = _called(first(_COMMAND, content) or "")
        return Result(
            outcome=ToolOutcome(
                window_s=window_s,
                events=events,
                errors=_errors(kinds),
                latency_us=_overall(done, times),
                figures=dict(_figures(done, times, window_s)),
                samples=tuple(_samples(content)),
            ),
            version=first(_BANNER, content) or "",
            clients=clients,
            script=script,
            options=options,
        )


def _kinds(content: str) -> Mapping[str, Mapping[str, str]]:
    """Kind of operation → what is told of it. Lines of histograms are there too."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    for kind, what, value in _LINE.findall(content):
        found[kind][what] = value
    return found


def _is_measured(kind: str) -> bool:
    """Neither overhead nor failures, nor the same operations counted from intended starts."""
    return not (
        kind in ("OVERALL", "CLEANUP")
        or kind.startswith(("TOTAL_", "Intended-"))
        or kind.endswith("-FAILED")
    )


def _errors(kinds: Mapping[str, Mapping[str, str]]) -> int:
    """Operations that returned anything but OK; of old releases those in `…-FAILED`."""
    returned = [
        round(float(number))
        for told in kinds.values()
        for what, number in told.items()
        if what.startswith("Return=") and what.removeprefix("Return=") not in _FINE
    ]
    failed = [
        round(float(told.get("Operations", 0)))
        for kind, told in kinds.items()
        if kind.endswith("-FAILED")
    ]
    return max(sum(returned), sum(failed))


def _times(told: Mapping[str, str]) -> Iterator[tuple[str, float]]:
    for what, value in told.items():
        rank = _PERCENTILE.fullmatch(what)
        if what in _TIMES:
            yield _TIMES[what], float(value)
        elif rank and rank[1] in _RANKS:
            yield f"p{rank[1]}", float(value)


def _overall(
    done: Mapping[str, float], times: Mapping[str, Mapping[str, float]]
) -> Mapping[str, float]:
    """Percentiles of several kinds can't be merged without their histograms."""
    if len(done) == 1:
        return next(iter(times.values()))
    if not all({"mean", "max"} <= times[kind].keys() for kind in done):
        return {}
    mean = sum(times[kind]["mean"] * number for kind, number in done.items()) / sum(done.values())
    return {"mean": mean, "max": max(one["max"] for one in times.values())}


def _figures(
    done: Mapping[str, float], times: Mapping[str, Mapping[str, float]], window_s: float
) -> Iterator[tuple[str, float]]:
    """`read_per_s`, `read_us_p99`."""
    for kind, number in done.items():
        name = kind.lower().replace("-", "_")
        yield f"{name}_per_s", number / window_s if window_s else 0.0
        for what, value in times[kind].items():
            yield f"{name}_us_{what}", value


def _samples(content: str) -> Iterator[Sample]:
    for second, rate in _STATUS.findall(content):
        yield Sample(int(second) * 10**9, "ycsb", "operations_per_s", "", float(rate))


def _called(command: str) -> tuple[int | None, str, Mapping[str, Option]]:
    """Clients, workload and options of the command line, where it was printed."""
    words = command.split()
    pairs = list(pairwise(words))
    given = {flag: value for flag, value in pairs if flag in ("-threads", "-target", "-db")}
    properties = dict(v.split("=", 1) for flag, v in pairs if flag == "-p" and "=" in v)
    threads = given.get("-threads", properties.get("threadcount", ""))
    files = [PurePosixPath(value).name for flag, value in pairs if flag == "-P"]
    options: dict[str, Option] = {}
    if "-db" in given:
        options["db"] = given["-db"].rpartition(".")[2]
    if given.get("-target", "").isdigit():
        options["target_per_s"] = int(given["-target"])
    for name in ("recordcount", "operationcount", "maxexecutiontime"):
        if properties.get(name, "").isdigit():
            options[name] = int(properties[name])
    script = "+".join((["load"] if "-load" in words else []) + files)
    clients = int(threads) if threads.isdigit() else None
    return clients, script, options


BRIDGE: Bridge = Ycsb()
