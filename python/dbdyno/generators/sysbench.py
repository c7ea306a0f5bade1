"""sysbench itself: its own scripts or the user's; reads its output.

Each step drops and recreates its tables, unless `prepare = false`. Release 1.0 has no warm-up: the
step's is a separate call whose figures are ignored. Response times are those of its own histogram,
whose buckets are 2 % wide. To run the same script on the engine, omit the generator.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.errors import EngineError, UsageError
from dbdyno.generators.carried import (
    Carried,
    NotCarriedOutError,
    only_poisson,
    rate_word,
    unreached,
    whole_seconds,
)
from dbdyno.generators.generator import (
    Generator,
    Job,
    ToolOutcome,
    call,
    find_file,
    host_and_port,
    tool_text,
)
from dbdyno.model import (
    SYSBENCH_ROW_BYTES,
    Load,
    Metric,
    Option,
    Sample,
    Volume,
    sysbench_rows,
)
from dbdyno.model.limits import too_far_behind

_FILE = "sysbench script"
_OWN = ("script", "prepare", "version")
_RESERVED = (
    "db_driver",
    "events",
    "histogram",
    "percentile",
    "rand_seed",
    "rate",
    "report_checkpoints",
    "report_interval",
    "threads",
    "time",
    "warmup_time",
)
"""Options that dbdyno sets itself."""
_OF_LOAD = {
    "rate": 'arrival = { kind = "poisson", rate = … }',
    "events": "events = …",
    "warmup_time": 'warm_up = "…"',
    "time": 'measure = "…"',
    "threads": "clients = …",
}
"""Options that are keys of `[load]`."""
_COUNTED_LIMIT_S = 24 * 3600.0
"""For a number of events, however long they take."""
_SPARE_S = 60.0
_PREPARE_LIMIT_S = 24 * 3600.0
_ROWS_PER_S = 60_000
"""That it loads, on two slow cores."""
_RANKS = {"p50": 50.0, "p95": 95.0, "p99": 99.0, "p99.9": 99.9}
_WINDOW = re.compile(r"^ *(?:total time|time elapsed): +([\d.]+)s", re.M)
_EVENTS = re.compile(r"^ *total number of events: +(\d+)", re.M)
_COUNTED = re.compile(
    r"^ *(?P<what>transactions|queries|deadlocks|ignored errors|reconnects): +"
    r"(?P<count>\d+) +\((?P<rate>[\d.]+) per sec\.\)",
    re.M,
)
_ALL_QUERIES = re.compile(r"queries performed:\n(?:.+\n)*? +total: +(\d+)$", re.M)
"""Releases before 1.0 count them without a rate."""
_STATED = (
    re.compile(r"^ *events/s \(eps\): +([\d.]+)", re.M),
    re.compile(r"^ *transactions: +\d+ +\(([\d.]+) per sec", re.M),
    re.compile(r"^ *events per second: +([\d.]+)", re.M),
    re.compile(r"^Total operations: \d+ \( *([\d.]+) (?:per second|ops/sec)", re.M),
)
_TIME = re.compile(r"^ +(min|avg|max): +([\d.]+)(ms|s)?$", re.M)
_SUM = re.compile(r"^ +sum: +([\d.]+)$", re.M)
_SHOWN = re.compile(
    r"^ *(?:approx\. +(?P<old>[\d.]+) percentile|(?P<rank>[\d.]+)(?:st|nd|rd|th) percentile): +"
    r"(?P<time>[\d.]+)(?P<unit>ms|s)?$",
    re.M,
)
_BUCKET = re.compile(r"^ *([\d.]+) \|\** +(\d+)$", re.MULTILINE)
_PROGRESS = re.compile(
    r"^\[ *(?P<second>\d+)s *\] (?:thds: \d+ |threads: \d+, )(?:tps|eps): (?P<rate>[\d.]+)"
    r"(?:.*?lat \(ms,(?P<ranks>[\d.%/]+)\): (?P<times>[\d./]+)"
    r"|.*?response time: (?P<old>[\d.]+)ms \((?P<old_rank>[\d.]+)%\))?",
    re.MULTILINE,
)
_QUEUE = re.compile(r"^\[ *\d+s *\] queue length: (\d+)", re.MULTILINE)
_SAMPLED = ("50", "75", "90", "95", "99", "99.9")
"""Percentiles whose lines over time are kept."""
_SAME = 0.02
"""Share by which its time may differ from its count by its rate: both are rounded."""


class Sysbench:
    """Options: `script`, required; `prepare`, `version`; others are sysbench's and the script's."""

    name: ClassVar[str] = "sysbench"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("events_per_s", "/s", "gauge", "Events that ended"),
        *(
            Metric(
                f"latency_p{rank.replace('.', '_')}_ms",
                "ms",
                "gauge",
                f"Response time of events, {rank}th percentile",
            )
            for rank in _SAMPLED
        ),
    )
    instead: ClassVar[Mapping[str, str]] = {
        "statements": 'its own option: options = { db_ps_mode = "disable" }',
        "reconnect_every": "an option of the script, where it has one (`reconnect` in 1.1)",
    }
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "transport": ("unix", "tcp"),
        "compression": ("zlib",),
    }

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """Poisson arrivals, an end by time or by number, whichever comes first."""
        whole_seconds(self.name, load)
        told = {}
        if load.measure_s is not None:
            told["measure"] = f"--time={max(1, round(load.measure_s))}"
        if load.warm_up_s:
            told["warm_up"] = f"a call before, --time={round(load.warm_up_s)}"
        if load.events is not None:
            told["events"] = f"--events={load.events}"
        if (rate := only_poisson(self.name, load)) is not None:
            if rate != int(rate):
                wrong = f"`arrival`: `sysbench` has whole rates only; found {rate:g} events/s"
                raise NotCarriedOutError("arrival", wrong)
            told["arrival"] = f"--rate={rate_word(rate)}"
        return told

    def read(self, options: Mapping[str, Option]) -> None:
        """A script, and none of the options by which we watch it."""
        if not isinstance(options.get("script"), str):
            raise ValueError("expected `script`, such as oltp_read_only, or a file `mine.lua`")
        if not isinstance(options.get("prepare", True), bool):
            raise ValueError("`prepare`: expected true or false")
        for name in options:
            ours = name.replace("-", "_")
            if ours in _RESERVED or name.startswith(("mysql", "pgsql")):
                key = f"; in [load] it is {_OF_LOAD[ours]}" if ours in _OF_LOAD else ""
                raise ValueError(f"`{name}` is set by dbdyno itself{key}")

    def provision(self, options: Mapping[str, Option]) -> str:
        """The newest installed one, or the version asked for."""
        return tool_text("sysbench", options)

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """A script of one's own."""
        script = str(options["script"])
        return {script: _FILE} if script.endswith(".lua") else {}

    def volume(self, options: Mapping[str, Option]) -> Volume | None:
        """Of its own scripts; their tables are made anew before each step."""
        if str(options["script"]).endswith(".lua"):
            return None
        rows = sysbench_rows(options)
        made_s = rows / _ROWS_PER_S if options.get("prepare", True) else 0.0
        return Volume(size_bytes=rows * SYSBENCH_ROW_BYTES, step_s=made_s)

    def run(self, job: Job) -> ToolOutcome:
        """Makes tables, warms up, measures."""
        environment = {**os.environ, "LUA_PATH": f"{_scripts(job)}/?.lua;;"}
        script = _script(job)
        argv: list[str | Path] = [
            job.program,
            *connection(job.target()),
            *_own_options(job.options),
        ]
        argv += [f"--threads={job.clients}"]
        if job.options.get("prepare", True):
            for command in ("cleanup", "prepare"):
                words = [*argv, script, command]
                call(words, job, limit_s=_PREPARE_LIMIT_S, environment=environment)
        if job.warm_up_s >= 1:
            words = [*argv, *_rate(job), "--events=0", f"--time={round(job.warm_up_s)}"]
            words += [script, "run"]
            call(words, job, limit_s=job.warm_up_s + _SPARE_S, environment=environment)
        counted = job.events is not None and not job.measure_s
        argv += [*_rate(job), f"--events={job.events or 0}"]
        argv += [f"--time={0 if counted else max(1, round(job.measure_s))}"]
        argv += [f"--rand-seed={job.seed % 2**31}"]
        argv += ["--report-interval=1", "--percentile=95", "--histogram=on", script, "run"]
        began_ns = time.time_ns()
        limit_s = _SPARE_S + (_COUNTED_LIMIT_S if counted else job.measure_s)
        said = call(argv, job, limit_s=limit_s, environment=environment)
        ended_ns = time.time_ns()
        shown = [Path(str(argv[0])).name, *(str(word) for word in argv[1:] if _may_show(word))]
        told = outcome(said, began_ns, shown)
        rate = only_poisson(self.name, job.load)
        warnings = (*told.warnings, *unreached(rate, told.window_s, told.events))
        return replace(told, warnings=warnings, ended_unix_ns=ended_ns)


def _rate(job: Job) -> Sequence[str]:
    rate = only_poisson(Sysbench.name, job.load)
    return [f"--rate={rate_word(rate)}"] if rate else []


def _scripts(job: Job) -> Path:
    """The folder of scripts that came with the program."""
    return job.program.resolve().parent.parent / "share" / "sysbench"


def _script(job: Job) -> str:
    """A file of the user's, or a script of sysbench's by its file, wherever that was unpacked."""
    name = str(job.options["script"])
    if name.endswith(".lua"):
        return str(find_file(name, job.folders, _FILE))
    shipped = _scripts(job) / f"{name}.lua"
    return str(shipped) if shipped.exists() else name


def _own_options(options: Mapping[str, Option]) -> Iterator[str]:
    for name, value in options.items():
        if name not in _OWN:
            told = ("on" if value else "off") if isinstance(value, bool) else value
            yield f"--{name.replace('_', '-')}={told}"


def _may_show(word: object) -> bool:
    return "-password=" not in str(word)


def connection(target: Mapping[str, Any]) -> Sequence[str]:
    """A run's target as sysbench's options."""
    family = {"mysql": "mysql", "postgresql": "pgsql"}.get(str(target.get("driver")))
    if family is None:
        raise UsageError(
            f"sysbench can't load {target.get('driver')}", hint="name a MySQL or PostgreSQL server"
        )
    if target.get("tls", {}).get("mode", "disable") not in ("disable", "prefer"):
        raise UsageError(
            "sysbench 1.0 has no TLS without files of its own", hint="leave `generator` out"
        )
    (endpoint, *_) = target["endpoints"]
    if "unix" in endpoint and family == "mysql":
        place = {"socket": endpoint["unix"]}
    else:
        host, port = host_and_port(endpoint)
        place = {"host": host, "port": port}
    account = {"user": target["user"], "password": target.get("password", "")}
    if target.get("compression"):
        place["compression"] = "on"
    told = {**place, **account, "db": target["database"]}
    return [f"--db-driver={family}", *(f"--{family}-{n}={v}" for n, v in told.items())]


def latencies(said: str) -> Mapping[str, float]:
    """Percentiles of its histogram, µs: the values of the buckets in which they lie."""
    counts = buckets(said)
    whole = sum(count for _, count in counts)
    found: dict[str, float] = {}
    for name, rank in _RANKS.items():
        passed = 0
        for value, count in counts:
            passed += count
            if passed >= whole * rank / 100:
                found[name] = value
                break
    return found


def buckets(said: str) -> list[tuple[float, int]]:
    """Of the histogram it printed, if it did: value in µs, and how many events."""
    return [(float(value) * 1000, int(count)) for value, count in _BUCKET.findall(said)]


def outcome(said: str, began_ns: int, command_line: Sequence[str]) -> ToolOutcome:
    """What sysbench printed, understood.

    # Errors
    `EngineError` when it printed no summary.
    """
    total, events = _WINDOW.search(said), _EVENTS.search(said)
    if total is None or events is None or not int(events[1]):
        raise EngineError("sysbench printed no summary, or nothing ended", hint=said[-500:] or None)
    counts = {found["what"]: int(found["count"]) for found in _COUNTED.finditer(said)}
    queries = _ALL_QUERIES.search(said)
    times = {what: _us(value, unit) for what, value, unit in _TIME.findall(said)}
    if not times.get("avg", 1.0) and (summed := _SUM.search(said)):
        times["avg"] = float(summed[1]) * 1000 / int(events[1])  # Less than it prints.
    shown = {found["old"] or found["rank"]: _shown_us(found) for found in _SHOWN.finditer(said)}
    times, shown = ({what: us for what, us in each.items() if us} for each in (times, shown))
    named = {f"p{rank}": us for rank, us in shown.items() if f"p{rank}" in _RANKS}
    extremes = {ours: times[its] for ours, its in (("mean", "avg"), ("max", "max")) if its in times}
    return ToolOutcome(
        window_s=_window_s(said, float(total[1])),
        events=int(events[1]),
        statements=counts.get("queries", int(queries[1]) if queries else 0),
        errors=counts.get("ignored errors", 0) + counts.get("deadlocks", 0),
        latency_us={**named, **latencies(said), **extremes},
        figures={f"event_us_p{rank}": us for rank, us in shown.items() if f"p{rank}" not in _RANKS},
        distribution=tuple((round(us * 1000), count) for us, count in buckets(said)),
        samples=tuple(_samples(said, began_ns)),
        command_line=tuple(command_line),
        reconnects=counts.get("reconnects", 0),
        against=tuple(_against(said, int(events[1]))),
    )


def stated_per_s(said: str) -> float | None:
    """The rate of events that it printed."""
    found = (pattern.search(said) for pattern in _STATED)
    return next((float(rate[1]) for rate in found if rate), None)


def _window_s(said: str, total_s: float) -> float:
    """The time that its rates are of: of a report at a checkpoint, that since the one before,
    whereas its total time counts from the beginning."""
    most = max(_COUNTED.finditer(said), key=lambda found: int(found["count"]), default=None)
    if most is None or not float(most["rate"]) or float(most["rate"]) < 1:
        return total_s
    window_s = int(most["count"]) / float(most["rate"])
    return window_s if window_s < (1 - _SAME) * total_s else total_s


def _us(value: str, unit: str | None) -> float:
    """Milliseconds, unless an old release says seconds."""
    return float(value) * (10**6 if unit == "s" else 1000)


def _shown_us(found: re.Match[str]) -> float:
    return _us(found["time"], found["unit"])


def _against(said: str, events: int) -> Iterator[str]:
    """Why its figures are none to judge by: it was to keep a rate and fell behind."""
    queued = _QUEUE.findall(said)
    if queued and too_far_behind(int(queued[-1]), events):
        yield f"{queued[-1]} events were due and not yet begun"


def _samples(said: str, began_ns: int) -> Iterator[Sample]:
    for found in _PROGRESS.finditer(said):
        unix_ns = began_ns + int(found["second"]) * 10**9
        yield Sample(unix_ns, "sysbench", "events_per_s", "", float(found["rate"]))
        ranks = (found["ranks"] or found["old_rank"] or "").replace("%", "").split("/")
        times = (found["times"] or found["old"] or "").split("/")
        for rank, time_ms in zip(ranks, times, strict=False):
            rank = rank.removesuffix(".00").removesuffix(".0")
            if rank in _SAMPLED:
                metric = f"latency_p{rank.replace('.', '_')}_ms"
                yield Sample(unix_ns, "sysbench", metric, "", float(time_ms))


GENERATOR: Generator = Sysbench()
