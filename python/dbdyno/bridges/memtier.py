"""memtier_benchmark's JSON (`--json-out-file`), release 2, and files with its rates alone."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dbdyno.bridges.bridge import Arrival, Bridge, Result, Text, other_length, single
from dbdyno.bridges.parts import documents
from dbdyno.generators.generator import ToolOutcome
from dbdyno.model import Metric, Option, Sample

_STATS = "ALL STATS"
_EACH = re.compile(r"RUN #\d+ RESULTS")
_AVERAGE = re.compile(r"AGGREGATED AVERAGE RESULTS \((\d+) runs\)")
_MARK = re.compile(r'"(?:ALL STATS|RUN #\d+ RESULTS|AGGREGATED AVERAGE RESULTS[^"]*)"\s*:\s*\{')
_PLAIN = re.compile(r"^\d+ +Connections per thread$|^Type +Ops/sec +", re.MULTILINE)
_CONFIGURATION, _RUN = "configuration", "run information"
_NO_KIND = ("Totals", "Runtime", "CPU", "Waits")
_RANK = re.compile(r"p(\d+(?:\.\d+)?)")
_RANKS = ("p50", "p95", "p99", "p99.9")
_TOLD = ("protocol", "ratio", "pipeline", "data_size", "key_pattern", "key_maximum", "requests")


class Memtier:
    """Reads the figures of one run."""

    tool: ClassVar[str] = "memtier"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("operations_per_s", "/s", "gauge", "Operations that ended"),
    )

    def recognises(self, content: str) -> bool:
        """By the key of its figures; its text for people is recognised to be refused."""
        return bool(_MARK.search(content) or _PLAIN.search(content))

    def parts(self, text: Text) -> Sequence[Text]:
        """Several documents, and of one with several runs each, where all were printed."""
        text = _valid(text)
        parts = [
            part for own, document in documents(text, _is_ours) for part in _runs(own, document)
        ]
        return parts if len(parts) > 1 else [text]

    def read(self, texts: Sequence[Text]) -> Result:
        """Clients are connections: those of each thread, times threads."""
        text = _valid(single(texts, self.tool))
        matched = documents(text, _is_ours)
        if not matched and not _MARK.search(text.content):
            raise text.error(
                "is memtier_benchmark's text for people",
                line=1,
                hint="run memtier_benchmark with --json-out-file",
            )
        if not matched:
            raise text.cut(self.tool, "the end of its JSON")
        report = matched[0][1]
        try:
            name = _stats_of(report)
            return _result(text, report, report[name], name)
        except (AttributeError, KeyError, TypeError, ValueError, ZeroDivisionError) as error:
            raise text.error(f"memtier_benchmark's JSON has no {error}") from error


def _valid(text: Text) -> Text:
    """Releases up to 2.1 print no JSON of a string that is empty or of a mean over nothing."""
    content = _EMPTY.sub(r"\1 null", _NO_NUMBER.sub(r"\1 0", text.content))
    return text if content == text.content else replace(text, content=content)


_EMPTY = re.compile(r'^(\s*,?"[^"\n]+"\s*:)[ \t]*$(?!\n\s*[{\["])', re.MULTILINE)
_NO_NUMBER = re.compile(r'("[^"\n]+"\s*:)\s*-?nan\b', re.IGNORECASE)


def _is_ours(document: Any) -> bool:
    return isinstance(document, dict) and any(map(_is_stats, document))


def _is_stats(name: str) -> bool:
    return name == _STATS or bool(_EACH.fullmatch(name) or _AVERAGE.fullmatch(name))


def _stats_of(report: Mapping[str, Any]) -> str:
    """The only run's, or the average over several."""
    names = [name for name in report if _is_stats(name)]
    return _STATS if _STATS in names else next(filter(_AVERAGE.fullmatch, names), names[0])


def _runs(text: Text, report: Mapping[str, Any]) -> Iterator[Text]:
    member = [name for name in report if _EACH.fullmatch(name)]
    if len(member) < 2:
        yield text
        return
    others = {name: value for name, value in report.items() if not _is_stats(name)}
    for name in member:
        yield replace(text, content=json.dumps({**others, _STATS: report[name]}))


def _result(text: Text, report: Mapping[str, Any], stats: Mapping[str, Any], name: str) -> Result:
    asked, run = report.get(_CONFIGURATION, {}), report.get(_RUN, {})
    totals = stats["Totals"]
    threads = int(run.get("Threads", asked.get("threads", 0)))
    clients = threads * int(run.get("Connections per thread", asked.get("clients", 0)))
    rate = float(totals["Ops/sec"])
    length_s = _length_s(report, stats)
    events = _events(report, stats, rate * length_s, clients)
    window_s = events / rate if rate else length_s
    if not events and not rate:
        took = any(name == "mean" and us for name, us in _times({**totals, "Count": 1}))
        raise text.nothing(
            "memtier_benchmark states response times and a rate of 0"
            if took
            else "no operation of memtier_benchmark ended"
        )
    whole_ms, mean_us = _mean_of_kinds(stats)
    averaged = _AVERAGE.fullmatch(name)
    started_ms = stats.get("Runtime", {}).get("Start time")
    return Result(
        outcome=ToolOutcome(
            window_s=window_s,
            events=events,
            errors=round(float(totals.get("Connection Errors", 0))),
            latency_us={
                **{n: us for n, us in _times(totals) if n in (*_RANKS, "mean", "max")},
                **({"mean": mean_us} if mean_us else {}),
            },
            figures=dict(_figures(stats)),
            samples=tuple(_samples(totals)),
            ended_unix_ns=round(started_ms * 10**6 + window_s * 1e9) if started_ms else None,
            warnings=(
                *_warnings(averaged and averaged[1], window_s, length_s),
                *_cut_mean(whole_ms, mean_us),
            ),
            against=tuple(_against(report, stats)),
        ),
        clients=clients or None,
        script=f"ratio {asked['ratio']}" if asked.get("ratio") else "",
        options=dict(_options(asked, threads, clients)),
        not_known=() if "Connection Errors" in totals else ("errors",),
        arrival=_arrival(asked),
        stated_per_s=rate or None,
        absent=tuple(_absent(report, stats)),
    )


def _length_s(report: Mapping[str, Any], stats: Mapping[str, Any]) -> float:
    asked, run = report.get(_CONFIGURATION, {}), report.get(_RUN, {})
    lengths = (
        float(stats.get("Runtime", {}).get("Total duration", 0)) / 1000,
        float(report.get("benchmark_completion", {}).get("actual_duration_ms", 0)) / 1000,
        float(run.get("Actual benchmark duration (seconds)", 0)),
        float(asked.get("test_time", 0)),
    )
    return next((seconds for seconds in lengths if seconds > 0), 0.0)


def _events(
    report: Mapping[str, Any], stats: Mapping[str, Any], by_rate: float, clients: int
) -> int:
    """Early releases count none: there they are the requests that each connection was asked for,
    or the rate times the seconds."""
    events = round(float(stats["Totals"].get("Count", 0)))
    requests = int(report.get(_CONFIGURATION, {}).get("requests", 0) or 0)
    return events or (requests * clients if requests > 0 else round(by_rate))


def _warnings(averaged: str | None, window_s: float, length_s: float) -> Iterator[str]:
    if averaged:
        yield f"it tells the average of {averaged} runs, and none by itself"
    else:
        yield from other_length("operations", window_s, length_s)


def _times(measured: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """In microseconds; where no operation of a kind was done its zeros stand for nothing."""
    if not float(measured.get("Ops/sec", 0)) and not measured.get("Count"):
        return
    for name, keys in (("mean", ("Average Latency", "Latency")), ("max", ("Max Latency",))):
        matched = next((float(measured[key]) for key in keys if measured.get(key)), 0.0)
        if matched:
            yield name, matched * 1000
    for name, value in measured.get("Percentile Latencies", {}).items():
        rank = _RANK.fullmatch(name)
        if rank and value:
            yield f"p{float(rank[1]):g}", float(value) * 1000


def _cut_mean(whole_ms: float, mean_us: float) -> Iterator[str]:
    if mean_us:
        yield f"its mean of {whole_ms:g} ms was cut to whole ones; that of its kinds is taken"


def _mean_of_kinds(stats: Mapping[str, Any]) -> tuple[float, float]:
    """The mean of the totals, ms, and that of all kinds of commands, µs, or 0 where the former
    will do: some releases cut it to whole milliseconds."""
    stated = next((ms for name, ms in _times(_counted(stats["Totals"])) if name == "mean"), 0.0)
    kinds = [
        (float(measured["Count"]), dict(_times(measured)).get("mean", 0.0))
        for kind, measured in stats.items()
        if kind not in _NO_KIND and isinstance(measured, Mapping) and measured.get("Count")
    ]
    counted = sum(count for count, _ in kinds)
    total = float(stats["Totals"].get("Count", 0))
    if stated % 1000 or not kinds or abs(counted - total) > 0.01 * total:
        return stated / 1000, 0.0
    mean_us = sum(count * us for count, us in kinds) / counted
    return stated / 1000, mean_us if abs(mean_us - stated) > 0.02 * mean_us else 0.0


def _counted(totals: Mapping[str, Any]) -> Mapping[str, Any]:
    return {**totals, "Count": totals.get("Count") or 1}


def _figures(stats: Mapping[str, Any]) -> Iterator[tuple[str, float]]:
    """Rates and times by kind of command; of reads how many found nothing, as `miss_share`."""
    for kind, measured in stats.items():
        if kind in _NO_KIND or not isinstance(measured, Mapping) or not measured.get("Ops/sec"):
            continue
        name = re.sub(r"\W+", "_", kind).lower()
        yield f"{name}_per_s", float(measured["Ops/sec"])
        for what, value in _times(measured):
            yield f"{name}_us_{what}", value
    totals = stats["Totals"]
    hits, misses = (float(totals.get(f"{what}/sec", 0)) for what in ("Hits", "Misses"))
    if hits or misses:
        yield "miss_share", misses / (hits + misses)
    for what, value in _times(totals):
        if what not in (*_RANKS, "mean", "max"):
            yield f"event_us_{what}", value


def _samples(totals: Mapping[str, Any]) -> Iterator[Sample]:
    for second, measured in totals.get("Time-Serie", {}).items():
        ended_ns = (int(second) + 1) * 10**9
        yield Sample(ended_ns, "memtier", "operations_per_s", "", float(measured.get("Count", 0)))


def _options(asked: Mapping[str, Any], threads: int, clients: int) -> Iterator[tuple[str, Option]]:
    for name in _TOLD:
        if asked.get(name) not in (None, "", 0):
            yield name, asked[name] if isinstance(asked[name], int) else str(asked[name])
    if threads:
        yield "threads", threads
    if asked.get("test_time"):
        yield "duration_s", int(asked["test_time"])
    if asked.get("rate_limit"):
        yield "rate_per_s", int(asked["rate_limit"]) * clients
    if asked.get("reconnect_interval"):
        yield "reconnect", f"every {asked['reconnect_interval']} operations"


def _arrival(asked: Mapping[str, Any]) -> Arrival:
    """Releases that can keep a rate print it, zero if there is none."""
    if "rate_limit" not in asked:
        return "unknown"
    return "open" if asked["rate_limit"] else "closed"


def _against(report: Mapping[str, Any], stats: Mapping[str, Any]) -> Iterator[str]:
    """Why its figures are none to judge by: somebody stopped it."""
    status = str(report.get(_RUN, {}).get("Benchmark completion status", ""))
    stopped = str(stats.get("Runtime", {}).get("Interrupted", "")).lower() == "true"
    full = report.get("benchmark_completion", {}).get("full_run", True)
    if stopped or not full or status.upper().startswith("INTERRUPTED"):
        yield "the run was interrupted"


def _absent(report: Mapping[str, Any], stats: Mapping[str, Any]) -> Iterator[str]:
    yield from (name for name in (_CONFIGURATION, _RUN) if name not in report)
    totals = stats["Totals"]
    yield from (name for name in ("Count", "Percentile Latencies") if name not in totals)
    if "Runtime" not in stats:
        yield "Runtime"


BRIDGE: Bridge = Memtier()
