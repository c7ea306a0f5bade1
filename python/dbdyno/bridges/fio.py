"""fio's JSON (`--output-format=json` or `json+`), releases 2.1 to 3.41, with or without
`--group_reporting`."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar

from dbdyno.bridges.bridge import Arrival, Bridge, Result, Text, single
from dbdyno.bridges.parts import documents
from dbdyno.generators.fio import GENERATOR, outcome
from dbdyno.model import Metric, Option

_JSON = re.compile(r'"fio version" ?:')
_PLAIN = re.compile(
    r"^fio-\d\S*$\n^Starting \d+ (?:process|thread)|^.+: \(groupid=\d+, jobs=\d+\): err=|"
    r"^Run status group \d+ \(all jobs\):",
    re.MULTILINE,
)
_TERSE = re.compile(r"^[2-5];(?:fio-)?\d+\.\d[^;\n]*;", re.MULTILINE)
_TOLD = ("rw", "bs", "iodepth", "ioengine", "direct", "rate_iops", "rate")
"""Options of jobs that say what load it was."""
_PACED = ("rate", "rate_iops", "rate_min", "rate_iops_min", "thinktime", "flow")
_TELLING = ("lat_percentiles", "gtod_reduce", "unified_rw_reporting", "disable_clat")
"""Options that say how the others were measured: results that differ in them aren't repeats."""
_RUNTIME = re.compile(r"(\d+)(|s|m|h)")
_SECONDS = {"": 1, "s": 1, "m": 60, "h": 3600}


class Fio:
    """Reads one run, or of jobs that run one after another each group."""

    tool: ClassVar[str] = "fio"
    metrics: ClassVar[tuple[Metric, ...]] = GENERATOR.metrics

    def recognises(self, content: str) -> bool:
        """By the key of its version; its text for people and its terse lines are recognised to be
        refused."""
        return any(mark.search(content) for mark in (_JSON, _PLAIN, _TERSE))

    def parts(self, text: Text) -> Sequence[Text]:
        """Several documents, and in one the groups that waited for one another (`stonewall`)."""
        matched = documents(text, _is_report)
        parts = [part for own, report in matched for part in _groups(own, report)]
        last = matched[-1][0] if matched else None
        rest = text.content.rpartition(last.content)[2] if last is not None else ""
        if last is not None and _JSON.search(rest):
            before = text.before + text.content.rpartition(last.content)[0].count("\n")
            parts.append(replace(text, content=rest, before=before + last.content.count("\n")))
        return parts if len(parts) > 1 else [text]

    def read(self, texts: Sequence[Text]) -> Result:
        """Clients are jobs: `numjobs`, added up. Its date is fio's own."""
        text = single(texts, self.tool)
        report = _document(text)
        if not report.get("jobs"):
            raise text.error("fio ran no job")
        try:
            jobs: Sequence[Mapping[str, Any]] = report["jobs"]
            measured = outcome(report, ())
            names = [str(entry["jobname"]) for entry in jobs]
            clients, options = _clients(report, names), dict(_options(report, measured.window_s))
            arrival = _arrival(report)
            stated = _stated_per_s(measured.figures)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise text.error(
                f"fio's JSON has no {error}: it is of another release than 2.1 to 3, or was altered"
            ) from error
        if not measured.events:
            why = "".join(f": {reason}" for reason in measured.against)
            raise text.nothing(f"no read and no write of fio ended{why}")
        several = {name for name, number in Counter(names).items() if number > 1}
        figures = {
            name: value
            for name, value in measured.figures.items()
            if name.partition(".")[2] not in several
        }
        return Result(
            outcome=replace(measured, figures=figures, ended_unix_ns=_ended_ns(report)),
            clients=clients,
            version=str(report.get("fio version", "")).removeprefix("fio-"),
            script="+".join(dict.fromkeys(names)),
            options=options,
            arrival=arrival,
            stated_per_s=stated,
            absent=tuple(_absent(report, measured.latency_us, names)),
        )


def _is_report(document: Any) -> bool:
    return isinstance(document, dict) and "fio version" in document


def _groups(text: Text, report: Mapping[str, Any]) -> Iterator[Text]:
    """A report for each group of jobs, if the groups ran one after another."""
    jobs = _by_job(report).get("jobs")
    if not isinstance(jobs, list) or not all(isinstance(job, dict) for job in jobs):
        yield text
        return
    groups: dict[int, list[Mapping[str, Any]]] = {}
    for job in jobs:
        groups.setdefault(int(job.get("groupid", 0)), []).append(job)
    if len(groups) < 2 or not _one_after_another(report, list(groups.values())):
        yield text
        return
    for entry in groups.values():
        yield replace(text, content=json.dumps({**report, "jobs": entry}))


def _one_after_another(
    report: Mapping[str, Any], groups: Sequence[Sequence[Mapping[str, Any]]]
) -> bool:
    """Whether each group began when those before it had ended: as its jobs were asked to, or as
    the times say. Releases before 3.33 tell no beginning, and those before 3 no options; there,
    `elapsed` has to hold all of them."""
    firsts = [group[0] for group in groups]
    shared = report.get("global options", {})
    asked = [{**shared, **job.get("job options", {})} for job in firsts]
    if all(any(name in entry for name in _WAITING) for entry in asked[1:]):
        return True
    took_s = [
        max((entry["runtime"] for job in group for entry in _ways(job)), default=0) / 1000
        for group in groups
    ]
    if all("job_start" in job for job in firsts):
        begins = [job["job_start"] / 1000 for job in firsts]
        ends = [begin + length for begin, length in zip(begins, took_s, strict=True)]
        return all(begin >= end - 0.1 for begin, end in zip(begins[1:], ends, strict=False))
    ramps = [_RUNTIME.fullmatch(str(entry.get("ramp_time", "0"))) for entry in asked]
    ramp_s = sum(int(entry[1]) * _SECONDS[entry[2]] for entry in ramps if entry)
    elapsed_s = min(float(job.get("elapsed", 0)) for group in groups for job in group)
    return elapsed_s >= sum(took_s) + ramp_s


_WAITING = ("stonewall", "wait_for_previous", "wait_for")


def _ways(job: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    return [job[way] for way in ("read", "write", "trim", "mixed") if way in job]


def _document(text: Text) -> Mapping[str, Any]:
    """fio may print warnings before its JSON."""
    if not _JSON.search(text.content):
        what = "terse output" if _TERSE.search(text.content) else "text for people"
        raise text.error(f"is fio's {what}", line=1, hint="run fio with --output-format=json")
    whole = documents(text, _is_report)
    if whole:
        return _by_job(whole[0][1])
    start = text.content.find("{")
    try:
        matched, _ = json.JSONDecoder().raw_decode(text.content, start)
    except json.JSONDecodeError as error:
        line = text.line_of(error.pos)
        raise text.broken(
            f"fio's JSON ends or breaks here: {error.msg}",
            line=line,
            hint="import the whole of what fio printed",
        ) from error
    raise text.error(
        f"holds parts of fio's JSON and no whole of it: no `fio version` in {str(matched)[:40]!r}",
        hint="import the whole of what fio printed",
    )


def _by_job(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """Of several machines (`--client`) the sum that fio makes, if it does."""
    measured = report.get("client_stats")
    if "jobs" in report or not isinstance(measured, list):
        return report
    return {
        **report,
        "jobs": [entry for entry in measured if entry.get("jobname") == _SUM] or measured,
    }


_SUM = "All clients"


def _ended_ns(report: Mapping[str, Any]) -> int | None:
    """Older releases tell seconds, and the first ones nothing."""
    if "timestamp_ms" in report:
        return int(report["timestamp_ms"]) * 10**6
    return int(report["timestamp"]) * 10**9 if "timestamp" in report else None


def _stated_per_s(figures: Mapping[str, float]) -> float:
    return sum(value for name, value in figures.items() if name.endswith("_iops"))


def _asked(report: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The options of each job; before release 2.10 none are printed."""
    shared = report.get("global options", {})
    return [{**shared, **entry.get("job options", {})} for entry in report["jobs"]]


def _clients(report: Mapping[str, Any], names: Sequence[str]) -> int | None:
    """Of grouped jobs there is one entry, of others one a job. Without options nobody knows
    whether they are grouped."""
    if not any("job options" in entry for entry in report["jobs"]):
        return None
    entries = Counter(names)
    asked = {
        name: int(entry.get("numjobs", 1))
        for name, entry in zip(names, _asked(report), strict=True)
    }
    return sum(max(entries[name], number) for name, number in asked.items())


def _options(report: Mapping[str, Any], window_s: float) -> Iterator[tuple[str, Option]]:
    """Those that all jobs share; how long, if time ended them and not the size of their data."""
    jobs = _asked(report)
    limits = [_RUNTIME.fullmatch(str(job.get("runtime", ""))) for job in jobs]
    known = [int(limit[1]) * _SECONDS[limit[2]] for limit in limits if limit]
    if known and len(known) == len(jobs) and window_s > 0.98 * max(known):
        yield "duration_s", max(known)
    for name in (*_TOLD, *_TELLING):
        values = {str(job[name]) for job in jobs if name in job}
        if len(values) == 1:
            yield name, values.pop()


def _arrival(report: Mapping[str, Any]) -> Arrival:
    """By the jobs' options, where they are printed. Each job keeps `iodepth` in flight."""
    if not any("job options" in entry for entry in report["jobs"]):
        return "unknown"
    paced = any(str(job.get(name, "0")) != "0" for job in _asked(report) for name in _PACED)
    return "open" if paced else "closed"


def _absent(
    report: Mapping[str, Any], latency_us: Mapping[str, float], names: Sequence[str]
) -> Iterator[str]:
    if not any("job options" in entry for entry in report["jobs"]):
        yield "job options"
    if any("total_ios" not in entry for job in report["jobs"] for entry in _ways(job)):
        yield "total_ios"
    if len(names) == 1 and latency_us and not any(name.startswith("p") for name in latency_us):
        yield "percentile"


BRIDGE: Bridge = Fio()
