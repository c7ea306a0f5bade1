"""fio: runs the user's job file unchanged, and reads fio's JSON and per-second logs.

The job file gets the study's values from its environment, as fio allows: `${DIRECTORY}`,
`${CLIENTS}`, `${RUNTIME}` and `${RAMP}` (seconds), `${LOG}` (for `write_iops_log`), and every
option of the study in capitals. Events are reads and writes that ended in the window.
"""

from __future__ import annotations

import errno
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
_DIRECTIONS = ("read", "write", "trim")
_LOGGED = ("read", "write")
_MIXED = "mixed"
"""In place of them with `unified_rw_reporting=1`; beside them with `both`, which counts twice."""
_COMPLETION, _TOTAL = "clat", "lat"
"""The times that it may tell: from submission to completion, and with the time to submit."""
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
        carried = {"measure": "${RUNTIME}"}
        return {**carried, "warm_up": "${RAMP}"} if load.warm_up_s else carried

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
        output = call(argv, job, limit_s=limit_s, environment={**os.environ, **variables})
        over_ns = time.time_ns()
        report = document(output)
        started_ns = int(report.get("timestamp_ms", began_ns // 10**6)) * 10**6
        ended_ns = max((started_ns, began_ns + round(limit_s - _SPARE_S) * 10**9))
        words = map(str, (Path(argv[0]).name, *argv[1:-1], file.name))
        samples = tuple(rates_by_second(log, ended_ns - _lasted_ns(log), _threads(report)))
        result = replace(outcome(report, tuple(words)), samples=samples)
        return replace(result, ended_unix_ns=over_ns)


def outcome(report: Mapping[str, Any], command_line: Sequence[str]) -> ToolOutcome:
    """Parses fio's JSON. Raises `KeyError` if something is missing."""
    jobs: Sequence[Mapping[str, Any]] = report["jobs"]
    kinds = [direction for job in jobs for _, direction in _directions(job)]
    done = [kind for kind in kinds if _ios(kind)]
    only = done[0] if len(done) == 1 else None
    return ToolOutcome(
        window_s=max(kind["runtime"] for kind in kinds) / 1000,
        events=sum(_ios(kind) for kind in kinds),
        errors=sum(int(job.get("total_err", 0)) for job in jobs),
        latency_us=_latency(only) if only else {},
        distribution=_bins(only) if only else (),
        figures=dict(_figures(jobs)),
        command_line=tuple(command_line),
        warnings=tuple(_warnings(jobs, done)),
        against=tuple(_against(jobs)),
    )


def _directions(job: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """What a job did, by direction or mixed."""
    found = [(way, job[way]) for way in _DIRECTIONS if way in job]
    if found:
        return found
    return [(_MIXED, job[_MIXED])]


def _ios(direction: Mapping[str, Any]) -> int:
    """Those that ended; the first releases of 2 print their rate alone."""
    if "total_ios" in direction:
        return int(direction["total_ios"])
    return round(float(direction["iops"]) * float(direction["runtime"]) / 1000)


def _times(direction: Mapping[str, Any]) -> tuple[str, Mapping[str, Any], float]:
    """The times to take, their name and how many of their units are a microsecond: completion
    times, unless only total ones were taken or have percentiles (`lat_percentiles=1`)."""
    found = []
    for name in (_COMPLETION, _TOTAL):
        for key, units in ((f"{name}_ns", 1000.0), (name, 1.0)):  # Releases 3 and 2.
            if direction.get(key, {}).get("max"):
                found.append((name, direction[key], units))
    with_ranks = [log for log in found if log[1].get("percentile")]
    return (with_ranks or found or [("", {}, 1.0)])[0]


def _warnings(
    jobs: Sequence[Mapping[str, Any]], done: Sequence[Mapping[str, Any]]
) -> Iterator[str]:
    """How it measured, where that is not as usual."""
    if any(way == _MIXED for job in jobs for way, _ in _directions(job)):
        yield "fio told reads, writes and trims together (unified_rw_reporting)"
    names = {_times(direction)[0] for direction in done}
    if "" in names:
        yield "fio took no response times (gtod_reduce, disable_clat)"
    if _TOTAL in names:
        yield "response times are fio's total ones (lat: with the time to submit), not completion"
    dropped = sum(int(direction.get("drop_ios", 0)) for direction in done)
    if dropped:
        yield f"fio dropped {dropped} reads and writes that ended outside of its window"


def _against(jobs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Why its figures are none to judge by."""
    for job in jobs:
        code = int(job.get("error", 0))
        if code:
            name = errno.errorcode.get(code, "unknown")
            yield f"job `{job['jobname']}` ended with error {code} ({name}: {os.strerror(code)})"


def document(output: str) -> Mapping[str, Any]:
    """fio may print warnings before its JSON."""
    start = output.find("{")
    try:
        found: Mapping[str, Any] = json.loads(output[start:])
    except ValueError as error:
        raise EngineError(f"fio printed no JSON: {error}", hint=output[:500] or None) from error
    return found


def _figures(jobs: Sequence[Mapping[str, Any]]) -> Iterator[tuple[str, float]]:
    """Rates over all jobs, and of each: `read_iops`, `read_iops.<job>`, `read_us_p99.<job>`."""
    by_way = [
        (way, direction, str(job["jobname"])) for job in jobs for way, direction in _directions(job)
    ]
    ways = dict.fromkeys(way for way, direction, _ in by_way if way in _LOGGED or _ios(direction))
    for way in ways:
        of_way = [(direction, name) for its, direction, name in by_way if its == way]
        yield f"{way}_iops", sum(float(direction["iops"]) for direction, _ in of_way)
        yield f"{way}_bytes_per_s", sum(_bytes_per_s(direction) for direction, _ in of_way)
        for direction, name in of_way:
            if not _ios(direction):
                continue
            yield f"{way}_iops.{name}", float(direction["iops"])
            for what, value in _latency(direction).items():
                yield f"{way}_us_{what}.{name}", value
    for job in jobs:
        syncs = job.get("sync", {}).get("total_ios", 0)
        if syncs:
            yield f"sync_iops.{job['jobname']}", syncs / (max(1, job["job_runtime"]) / 1000)


def _bytes_per_s(direction: Mapping[str, Any]) -> float:
    """Earlier releases tell KiB."""
    if "bw_bytes" in direction:
        return float(direction["bw_bytes"])
    return float(direction["bw"]) * 1024


def _bins(direction: Mapping[str, Any]) -> tuple[tuple[int, int], ...]:
    """The times' distribution; of fio's bins 64 lie between a value and its double."""
    _, times, units = _times(direction)
    bins = times.get("bins", {}) if units == 1000 else {}
    return tuple(sorted((int(value), int(count)) for value, count in bins.items()))


def _latency(direction: Mapping[str, Any]) -> dict[str, float]:
    """Empty where fio took none: its zeros stand for that."""
    _, times, units = _times(direction)
    if not times:
        return {}
    ranks = times.get("percentile", {})
    found = {name: ranks[rank] / units for name, rank in _PERCENTILES.items() if ranks.get(rank)}
    return {**found, "max": times["max"] / units, "mean": times["mean"] / units}


def _lasted_ns(log: Path) -> int:
    """How long the logs reach."""
    return max((row[0] for _, row in _rows(log)), default=0) * 10**6


def _threads(report: Mapping[str, Any]) -> list[str]:
    """The job of each of fio's threads, in its order: a job may have several (`numjobs`)."""
    shared = report.get("global options", {}).get("numjobs", 1)
    jobs = [(str(job["jobname"]), job.get("job options", {})) for job in report["jobs"]]
    return [name for name, own in jobs for _ in range(int(own.get("numjobs", shared)))]


def rates_by_second(log: Path, origin_ns: int, threads: Sequence[str]) -> Iterator[Sample]:
    """The rate of each job by second: the sum over its threads, of each the mean of what it told
    of that second. A line tells of the time since the one before, and counts for the second in
    which the middle of that time lies: fio writes lines up to 1 ms early, and late ones. Logs are
    named `<LOG>_iops.<N>.log`, N the number of the thread, from 1."""
    sums: dict[tuple[str, str, int], dict[int, list[int]]] = {}
    before: dict[tuple[int, int], int] = {}
    for number, (ms, value, way) in _rows(log):
        job = threads[number - 1] if 0 < number <= len(threads) else ""
        if way < len(_LOGGED):
            middle_ms = (before.get((number, way), 0) + ms) // 2
            before[number, way] = ms
            key = job, f"{_LOGGED[way]}_iops", middle_ms // 1000 + 1
            sums.setdefault(key, {}).setdefault(number, []).append(value)
    for (job, metric, second), values in sorted(sums.items()):
        rate = sum(sum(of_thread) / len(of_thread) for of_thread in values.values())
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
