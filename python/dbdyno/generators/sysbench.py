"""sysbench itself: its own scripts or the user's; reads its output.

Each step drops and recreates its tables, unless `prepare = false`. Release 1.0 has no warm-up: the
step's is a separate call whose figures are ignored. Response times are those of its own histogram,
whose buckets are 2 % wide. To run the same script on the engine, omit the generator.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from dbdyno.errors import UsageError
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
from dbdyno.generators.sysbench_text import SAMPLED, outcome
from dbdyno.model import (
    SYSBENCH_ROW_BYTES,
    Load,
    Metric,
    Option,
    Volume,
    sysbench_rows,
)

_FILE = "sysbench script"
_OWN = ("script", "prepare", "version")
_OF_SYSBENCH_1 = {
    "rate": 'arrival = { kind = "poisson", rate = … }',
    "events": "events = …",
    "warmup_time": 'warm_up = "…"',
    "time": 'measure = "…"',
    "threads": "clients = …",
}
_OLDER = {
    "max_requests": "events",
    "max_time": "time",
    "num_threads": "threads",
    "tx_rate": "rate",
}
"""Names of releases before 1.0, which 1.0 takes as well."""
_OF_LOAD = {**_OF_SYSBENCH_1, **{older: _OF_SYSBENCH_1[name] for older, name in _OLDER.items()}}
"""Options that are keys of `[load]`."""
_RESERVED = (
    "config_file",
    "db_driver",
    "help",
    "histogram",
    "percentile",
    "rand_seed",
    "report_checkpoints",
    "report_interval",
    *_OF_LOAD,
)
"""Options that dbdyno sets itself, and a file that could contain them."""
_COUNTED_LIMIT_S = 24 * 3600.0
"""For a number of events, however long they take."""
_SPARE_S = 60.0
_PREPARE_LIMIT_S = 24 * 3600.0
_ROWS_PER_S = 60_000
"""That it loads, on two slow cores."""


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
            for rank in SAMPLED
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
        carried = {}
        if load.measure_s is not None:
            carried["measure"] = f"--time={max(1, round(load.measure_s))}"
        if load.warm_up_s:
            carried["warm_up"] = f"a call before, --time={round(load.warm_up_s)}"
        if load.events is not None:
            carried["events"] = f"--events={load.events}"
        if (rate := only_poisson(self.name, load)) is not None:
            if rate != int(rate):
                wrong = f"`arrival`: `sysbench` has whole rates only; found {rate:g} events/s"
                raise NotCarriedOutError("arrival", wrong)
            carried["arrival"] = f"--rate={rate_word(rate)}"
        return carried

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
        output = call(argv, job, limit_s=limit_s, environment=environment)
        ended_ns = time.time_ns()
        shown = [Path(str(argv[0])).name, *(str(word) for word in argv[1:] if _may_show(word))]
        result = outcome(output, began_ns, shown)
        rate = only_poisson(self.name, job.load)
        warnings = (*result.warnings, *unreached(rate, result.window_s, result.events))
        return replace(result, warnings=warnings, ended_unix_ns=ended_ns)


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
            text = ("on" if value else "off") if isinstance(value, bool) else value
            yield f"--{name.replace('_', '-')}={text}"


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
    words = {**place, **account, "db": target["database"]}
    return [f"--db-driver={family}", *(f"--{family}-{n}={v}" for n, v in words.items())]


GENERATOR: Generator = Sysbench()
