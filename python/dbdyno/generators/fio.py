"""fio: runs the user's job file unchanged, and reads fio's JSON and per-second logs.

The job file gets the study's values from its environment, as fio allows: `${DIRECTORY}`,
`${CLIENTS}`, `${RUNTIME}` and `${RAMP}` (seconds), `${LOG}` (for `write_iops_log`), and every
option of the study in capitals. Events are reads and writes that ended in the window.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.errors import EngineError
from dbdyno.generators.carried import Carried, needs_window, whole_seconds
from dbdyno.generators.generator import (
    Generator,
    Job,
    ToolOutcome,
    call,
    clash,
    find_file,
    tool_text,
)
from dbdyno.model import Load, Metric, Option, Sample, Volume

_FILE = "job file"
_VARIABLES = ("DIRECTORY", "CLIENTS", "RUNTIME", "RAMP", "LOG")
_DIRECTIONS = ("read", "write")
_SPARE_S = 120.0
"""Time allowed besides ramp and window: laying out files takes a while."""
_PERCENTILES = {
    "p50": "50.000000",
    "p95": "95.000000",
    "p99": "99.000000",
    "p99.9": "99.900000",
}


class Fio:
    """Options: `jobfile`, required; `version`; others go to the job file."""

    name: ClassVar[str] = "fio"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("read_iops", "/s", "gauge", "Reads that ended, by job"),
        Metric("write_iops", "/s", "gauge", "Writes that ended, by job"),
    )
    instead: ClassVar[Mapping[str, str]] = {
        "arrival": "`rate_iops=${RATE}` in the job file, and options = { rate = 50 }",
        "think_time": "`thinktime` in the job file",
        "events": "`number_ios` in the job file",
        "group": "another job in the job file",
    }
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """What the job file reads of its environment."""
        needs_window(self.name, load)
        whole_seconds(self.name, load)
        told = {"measure": "${RUNTIME}"}
        return {**told, "warm_up": "${RAMP}"} if load.warm_up_s else told

    def read(self, options: Mapping[str, Option]) -> None:
        """`jobfile` is required, and every name must be a valid variable."""
        if not isinstance(options.get("jobfile"), str):
            raise ValueError("expected `jobfile`, the name of a fio job file beside the study")
        for name in options:
            if not name.isidentifier():
                raise ValueError(f"`{name}` can't be a variable of the job file; use letters and _")
        clash(options, _VARIABLES, "what the step asks for")

    def provision(self, options: Mapping[str, Option]) -> str:
        """The newest installed one, or the version asked for."""
        return tool_text("fio", options)

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """The job file that the study names."""
        return {str(options["jobfile"]): _FILE}

    def volume(self, _: Mapping[str, Option]) -> Volume | None:
        """The job file's own affair; a study gives its file system a size."""
        return None

    def run(self, job: Job) -> ToolOutcome:
        """One call of fio."""
        file = find_file(str(job.options["jobfile"]), job.folders, _FILE)
        log = job.scratch / "fio"
        argv: list[str | Path] = [job.program, "--output-format=json+", "--group_reporting", file]
        variables = {name.upper(): str(value) for name, value in job.options.items()} | {
            "DIRECTORY": str(job.data_folder),
            "CLIENTS": str(job.clients),
            "RUNTIME": str(max(1, round(job.measure_s))),
            "RAMP": str(round(job.warm_up_s)),
            "LOG": str(log),
        }
        limit_s = job.warm_up_s + job.measure_s + _SPARE_S
        began_ns = time.time_ns()
        said = call(argv, job, limit_s=limit_s, environment={**os.environ, **variables})
        over_ns = time.time_ns()
        report = document(said)
        started_ns = int(report.get("timestamp_ms", began_ns // 10**6)) * 10**6
        ended_ns = max((started_ns, began_ns + round(limit_s - _SPARE_S) * 10**9))
        words = map(str, (Path(argv[0]).name, *argv[1:-1], file.name))
        samples = tuple(rates_by_second(log, ended_ns - _lasted_ns(log), _threads(report)))
        told = replace(outcome(report, tuple(words)), samples=samples)
        return replace(told, ended_unix_ns=over_ns)


def outcome(report: Mapping[str, Any], command_line: Sequence[str]) -> ToolOutcome:
    """Parses fio's JSON. Raises `KeyError` if something is missing."""
    jobs: Sequence[Mapping[str, Any]] = report["jobs"]
    only = _only(jobs)
    return ToolOutcome(
        window_s=max(one[way]["runtime"] for one in jobs for way in _DIRECTIONS) / 1000,
        events=sum(one[way]["total_ios"] for one in jobs for way in _DIRECTIONS),
        errors=sum(one["error"] != 0 for one in jobs),
        latency_us=_latency(only) if only else {},
        distribution=_bins(only) if only else (),
        figures=dict(_figures(jobs)),
        command_line=tuple(command_line),
    )


def document(said: str) -> Mapping[str, Any]:
    """fio may print warnings before its JSON."""
    start = said.find("{")
    try:
        found: Mapping[str, Any] = json.loads(said[start:])
    except ValueError as error:
        raise EngineError(f"fio printed no JSON: {error}", hint=said[:500] or None) from error
    return found


def _figures(jobs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Rates over all jobs, and of each: `read_iops`, `read_iops.<job>`, `read_us_p99.<job>`."""
    for way in _DIRECTIONS:
        yield f"{way}_iops", sum(float(one[way]["iops"]) for one in jobs)
        yield f"{way}_bytes_per_s", sum(float(one[way]["bw_bytes"]) for one in jobs)
        for one in jobs:
            if not one[way]["total_ios"]:
                continue
            yield f"{way}_iops.{one['jobname']}", float(one[way]["iops"])
            for name, value in _latency(one[way]).items():
                yield f"{way}_us_{name}.{one['jobname']}", value
    for one in jobs:
        if one["sync"]["total_ios"]:
            yield (
                f"sync_iops.{one['jobname']}",
                one["sync"]["total_ios"] / (max(1, one["job_runtime"]) / 1000),
            )


def _only(jobs: Sequence[Mapping[str, Any]]) -> Mapping[str, Any] | None:
    """The only kind of operation there is; `None` where there are several, whose times say nothing
    together."""
    kinds = [one[way] for one in jobs for way in _DIRECTIONS if one[way]["total_ios"]]
    return kinds[0] if len(kinds) == 1 else None


def _bins(direction: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """Completion times; of fio's bins 64 lie between a value and its double."""
    bins = direction["clat_ns"].get("bins", {})
    return tuple(sorted((int(value), int(count)) for value, count in bins.items()))


def _latency(direction: Mapping[str, Any]) -> dict[str, float]:
    times = direction["clat_ns"]
    found = {
        name: times["percentile"][rank] / 1000
        for name, rank in _PERCENTILES.items()
        if rank in times.get("percentile", {})
    }
    return {**found, "max": times["max"] / 1000, "mean": times["mean"] / 1000}


def _lasted_ns(log: Path) -> int:
    """How long the logs reach."""
    return max((row[0] for _, row in _rows(log)), default=0) * 10**6


def _threads(report: Mapping[str, Any]) -> list[str]:
    """The job of each of fio's threads, in its order: a job may have several (`numjobs`)."""
    shared = report.get("global options", {}).get("numjobs", 1)
    jobs = [(str(one["jobname"]), one.get("job options", {})) for one in report["jobs"]]
    return [name for name, own in jobs for _ in range(int(own.get("numjobs", shared)))]


def rates_by_second(log: Path, origin_ns: int, threads: Sequence[str]) -> Iterator[Sample]:
    """The rate of each job by second: the sum over its threads, of each the mean of what it told
    of that second. A line tells of the time since the one before, and counts for the second in
    which the middle of that time lies: fio writes lines up to 1 ms early, and late ones. Logs are
    named `<LOG>_iops.<N>.log`, N the number of the thread, from 1."""
    told: dict[tuple[str, str, int], dict[int, list[int]]] = {}
    before: dict[tuple[int, int], int] = {}
    for number, (ms, value, way) in _rows(log):
        job = threads[number - 1] if 0 < number <= len(threads) else ""
        if way < len(_DIRECTIONS):
            middle_ms = (before.get((number, way), 0) + ms) // 2
            before[number, way] = ms
            key = job, f"{_DIRECTIONS[way]}_iops", middle_ms // 1000 + 1
            told.setdefault(key, {}).setdefault(number, []).append(value)
    for (job, metric, second), values in sorted(told.items()):
        rate = sum(sum(each) / len(each) for each in values.values())
        yield Sample(origin_ns + second * 10**9, "fio", metric, job, rate)


def _rows(log: Path) -> Iterator[tuple[int, tuple[int, int, int]]]:
    for file in sorted(log.parent.glob(f"{log.name}_iops*.log")):
        middle = file.name.removeprefix(f"{log.name}_iops").removesuffix(".log").strip(".")
        for line in file.read_text().splitlines():
            fields = [field.strip() for field in line.split(",")]
            if len(fields) >= 3:
                number = int(middle) if middle.isdigit() else 0
                yield number, (int(fields[0]), int(fields[1]), int(fields[2]))


GENERATOR: Generator = Fio()
