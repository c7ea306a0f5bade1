"""db_bench, RocksDB's own benchmark: reads its summary, histogram, statistics and reports.

Options other than ours are passed to db_bench: `cache_size = 10` is `--cache_size=10`. It has no
warm-up: the step's is a separate call whose figures are ignored.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from dbdyno.errors import EngineError
from dbdyno.generators.carried import Carried, needs_window, whole_seconds
from dbdyno.generators.generator import Generator, Job, ToolOutcome, call, tool_text
from dbdyno.model import Load, Metric, Option, Sample, Volume, whole

_OWN = ("benchmark", "prepare", "version", "suite")
_RESERVED = (
    "benchmarks",
    "db",
    "duration",
    "flagfile",
    "histogram",
    "report_file",
    "report_interval_seconds",
    "threads",
    "use_existing_db",
)
"""Options that dbdyno sets itself, and a file that could contain them."""
_SPARE_S = 120.0
_UNLIMITED = ("--benchmark_write_rate_limit=0", "--benchmark_read_rate_limit=0")
"""A rate is the benchmark's, not of what fills the database; the last word counts."""
_PREPARE_LIMIT_S = 24 * 3600.0
SUMMARY = re.compile(
    r"^ *(?P<name>\w+) +: +(?P<micros>[\d.]+) micros/op (?P<rate>\d+) ops/sec"
    r"(?: (?P<seconds>[\d.]+) seconds (?P<operations>\d+) operations)?"
    r"(?:.*\((?P<found>\d+) of (?P<sought>\d+) found\))?",
    re.MULTILINE,
)
_COUNT = re.compile(r"^Count: (\d+) +Average: ([\d.]+)", re.MULTILINE)
_EXTREMES = re.compile(r"^Min: [\d.]+ .*Max: *([\d.]+)", re.MULTILINE)
_PERCENTILES = re.compile(r"^Percentiles: (.*)$", re.MULTILINE)
_STATISTIC = re.compile(r"^(rocksdb\.[\w.-]+) COUNT : (\d+)", re.MULTILINE)
_WARNING = re.compile(r"^WARNING: (.+)$", re.MULTILINE)
_LEVELED = 0
_FIRST_LEVELS: Mapping[str, int] = {
    "compaction_style": _LEVELED,
    "write_buffer_size": 64 << 20,
    "level0_file_num_compaction_trigger": 4,
    "max_bytes_for_level_base": 256 << 20,
}
"""What decides the first two levels, and db_bench's defaults."""
_UNIVERSAL = 1
_SPACE, _SPACE_UNIVERSAL = 1.2, 2.0
"""Space on disk by that of all pairs."""
_IN_ORDER = ("fillseq",)
_FILL_S: Mapping[str, float] = {"fillseq": 4e-6, "fillrandom": 1e-5, "overwrite": 1e-5}
"""Seconds for a pair, as on two slow cores."""
_KEPT = ("p50", "p75", "p99", "p99.9")


class DbBench:
    """Options: `benchmark`, required; `prepare`, `version` or `suite`; others are db_bench's."""

    name: ClassVar[str] = "db_bench"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("operations_per_s", "/s", "gauge", "Operations that ended"),
    )
    instead: ClassVar[Mapping[str, str]] = {
        "arrival": "its own options: `benchmark_read_rate_limit`, `benchmark_write_rate_limit`",
        "events": "its own options: `num`, `reads`, `writes`",
    }
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {}

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """An end by time."""
        needs_window(self.name, load)
        whole_seconds(self.name, load)
        carried = {"measure": f"--duration={max(1, round(load.measure_s or 0))}"}
        if load.warm_up_s:
            carried["warm_up"] = f"a call before, --duration={round(load.warm_up_s)}"
        return carried

    def read(self, options: Mapping[str, Option]) -> None:
        """One benchmark, and none of the options by which we watch it."""
        if not re.fullmatch(r"\w+", str(options.get("benchmark", ""))):
            raise ValueError("expected `benchmark`, the name of one, such as readwhilewriting")
        for name in options:
            if name.replace("-", "_") in _RESERVED:
                raise ValueError(f"`{name}` is set by dbdyno itself")
            if not name.isidentifier():
                raise ValueError(f"`{name}` can't be an option of db_bench")
        if "version" in options and "suite" in options:
            raise ValueError("expected `version` or `suite`, not both")

    def provision(self, options: Mapping[str, Option]) -> str:
        """The newest installed one, or the release asked for."""
        if "suite" in options:
            return f"tool:rocksdb-tools@{options['suite']}"
        return tool_text("rocksdb-tools", options)

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """None: db_bench takes options only."""
        return {}

    def volume(self, options: Mapping[str, Option]) -> Volume:
        """Of its pairs, uncompressed, with what compaction keeps twice for a while. A benchmark
        that fills in order ends by the number of pairs, and each client writes all of them."""
        pairs = whole(options, "num", 1_000_000)
        pair_bytes = whole(options, "key_size", 16) + whole(options, "value_size", 100)
        twice = _SPACE_UNIVERSAL if options.get("compaction_style") == _UNIVERSAL else _SPACE
        fills = str(options.get("prepare", "")).split(",")
        counted = options["benchmark"] in _IN_ORDER
        return Volume(
            size_bytes=pairs * pair_bytes * twice,
            fill_s=pairs * sum(_FILL_S.get(fill, 0.0) for fill in fills),
            client_s=pairs * _FILL_S["fillseq"] if counted else 0.0,
        )

    def run(self, job: Job) -> ToolOutcome:
        """Fills the database in a run's first step, warms up, measures."""
        folder = (job.data_folder or job.scratch) / "rocksdb"
        given = [
            f"--{name}={_written(value)}" for name, value in job.options.items() if name not in _OWN
        ]
        base: list[str | Path] = [job.program, f"--db={folder}", *given]
        environment = dict(os.environ)
        existing = []
        if "prepare" in job.options:
            filled = [*base, f"--benchmarks={job.options['prepare']}", *_UNLIMITED]
            if not folder.exists():
                call(filled, job, limit_s=_PREPARE_LIMIT_S, environment=environment)
            existing = ["--use_existing_db=1"]
        base += [f"--benchmarks={job.options['benchmark']}", f"--threads={job.clients}", *existing]
        if job.warm_up_s >= 1:
            warm = [*base, f"--duration={round(job.warm_up_s)}"]
            call(warm, job, limit_s=job.warm_up_s + _SPARE_S, environment=environment)
        reports = job.scratch / "reports.csv"
        argv = [*base, f"--duration={max(1, round(job.measure_s))}", "--histogram=1"]
        argv += ["--report_interval_seconds=1", f"--report_file={reports}"]
        began_ns = time.time_ns()
        output = call(argv, job, limit_s=job.measure_s + _SPARE_S, environment=environment)
        ended_ns = time.time_ns()
        complaints = (job.scratch / "stderr").read_text(errors="replace")
        lines = reports.read_text().splitlines() if reports.exists() else []
        words = [Path(argv[0]).name, *(str(word) for word in argv[2:-1])]
        result = outcome(output, lines, began_ns, words)
        warnings = (*own_warnings(output + complaints), *shape_warnings(job.options))
        return replace(result, warnings=warnings, ended_unix_ns=ended_ns)


def own_warnings(output: str) -> Iterator[str]:
    """Warnings of db_bench that invalidate its figures, such as a build with assertions."""
    for text in dict.fromkeys(_WARNING.findall(output)):
        yield f"db_bench warns: {text.strip().rstrip('.').lower()}"


def shape_warnings(options: Mapping[str, Option]) -> Iterator[str]:
    """Where the first level is to hold less than the files of level 0 that start a compaction, it
    is compacted sooner than its size says, and what `level0_file_num_compaction_trigger` does is
    not what is measured."""
    sizes = {name: options.get(name, default) for name, default in _FIRST_LEVELS.items()}
    numbers = {name: int(str(size)) for name, size in sizes.items() if str(size).isdigit()}
    if len(numbers) < len(sizes) or numbers["compaction_style"] != _LEVELED:
        return
    above = numbers["write_buffer_size"] * numbers["level0_file_num_compaction_trigger"]
    if numbers["max_bytes_for_level_base"] < above:
        yield (
            f"the first level is smaller ({numbers['max_bytes_for_level_base'] / 2**20:g} MB) than "
            f"level 0 when its compaction starts ({above / 2**20:g} MB)"
        )


def _written(value: Option) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


def outcome(
    output: str, reports: Sequence[str], began_ns: int, command_line: Sequence[str]
) -> ToolOutcome:
    """Parses db_bench's output.

    Releases before 7 print only a rate: operations are then taken from the histograms, of which
    each kind of operation has its own.

    # Errors
    `EngineError` if it printed no summary.
    """
    summary = SUMMARY.search(output)
    operations = summary["operations"] if summary else None
    events = int(operations or sum(int(count) for count, _ in _COUNT.findall(output)))
    if summary is None or not events or not int(summary["rate"]):
        raise EngineError(
            "db_bench printed no summary, or nothing ended", hint=output[-500:] or None
        )
    return ToolOutcome(
        window_s=float(summary["seconds"] or events / int(summary["rate"])),
        events=events,
        latency_us=_latency(output),
        figures={_with_unit(name): float(value) for name, value in _STATISTIC.findall(output)},
        samples=tuple(_samples(reports, began_ns)),
        command_line=tuple(command_line),
    )


_UNITS = {"bytes": "bytes", "micros": "us", "nanos": "ns"}


def _with_unit(statistic: str) -> str:
    """`rocksdb.block.cache.miss_count`: RocksDB says what it counts within the name, or nowhere."""
    words = statistic.split(".")
    unit = next((unit for word, unit in _UNITS.items() if word in words), "count")
    return f"{statistic}_{unit}"


def _latency(output: str) -> Mapping[str, float]:
    """Of the only kind of operation there is; several can't be merged without their histograms."""
    percentiles, counted = _PERCENTILES.findall(output), _COUNT.findall(output)
    if len(percentiles) > 1 or len(counted) != 1:
        return {}
    ranks = re.findall(r"P([\d.]+): ([\d.]+)", percentiles[0] if percentiles else "")
    found = {f"p{rank}": float(value) for rank, value in ranks if f"p{rank}" in _KEPT}
    highest = _EXTREMES.search(output)
    extreme = {"max": float(highest[1])} if highest else {}
    return {**found, **extreme, "mean": float(counted[0][1])}


def _samples(reports: Sequence[str], began_ns: int) -> Iterator[Sample]:
    """Lines `seconds,operations`, after a heading."""
    for line in reports[1:]:
        second, _, rate = line.partition(",")
        if second.isdigit() and rate.isdigit():
            unix_ns = began_ns + int(second) * 10**9
            yield Sample(unix_ns, "db_bench", "operations_per_s", "", float(rate))


GENERATOR: Generator = DbBench()
