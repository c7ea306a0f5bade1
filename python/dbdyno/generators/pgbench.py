"""pgbench: its own scripts or the user's; reads summary, progress lines and transaction log.

If `scale` is given, each step first initialises its tables. pgbench has no warm-up: the step's is
a separate call whose figures are ignored. Response times are those of every transaction, from its
log.
"""

from __future__ import annotations

import os
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

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
from dbdyno.generators.pgbench_text import outcome
from dbdyno.model import Load, Metric, Option, Volume, whole

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_BUILT_IN = ("tpcb-like", "simple-update", "select-only")
_PROTOCOLS = ("simple", "extended", "prepared")
_FILE = "pgbench script"
_OWN = ("script", "file", "scale", "protocol", "version")
_SPARE_S = 60.0
_INITIALISE_LIMIT_S = 3600.0
_COUNTED_LIMIT_S = 24 * 3600.0
"""For a number of transactions, however long they take."""
_INITIALISE_S = 0.4
_BYTES_OF_A_SCALE = 16_000_000
_PERCENTILES = {"p50": 50, "p95": 95, "p99": 99, "p99.9": 99.9}


class Pgbench:
    """Options: `script` (built-in) or `file`; `scale`, `protocol`, `version`."""

    name: ClassVar[str] = "pgbench"
    metrics: ClassVar[tuple[Metric, ...]] = (
        Metric("transactions_per_s", "/s", "gauge", "Transactions that ended"),
        Metric("latency_mean_ms", "ms", "gauge", "Mean response time of transactions"),
    )
    instead: ClassVar[Mapping[str, str]] = {
        "statements": 'its own option: options = { protocol = "prepared" }',
        "think_time": "`\\sleep` in a script of your own (`file`)",
        "group": "scripts of your own that do both, or a study with the engine",
    }
    connects: ClassVar[Mapping[str, tuple[object, ...]]] = {
        "transport": ("unix", "tcp"),
        "tls": (True,),
    }

    def carries_out(self, load: Load, _: Mapping[str, Option]) -> Carried:
        """Poisson arrivals, a new connection for each transaction, an end by time or by number."""
        whole_seconds(self.name, load)
        carried = dict(_timed(load))
        if load.events is not None:
            carried["events"] = "--transactions"
            _check_number(load, load.events)
        if (rate := only_poisson(self.name, load)) is not None:
            carried["arrival"] = f"--rate={rate_word(rate)}"
        if load.reconnect_every == 1:
            carried["reconnect_every"] = "--connect"
        elif load.reconnect_every:
            wrong = "`reconnect_every`: `pgbench` connects for each transaction (1) or never (0)"
            raise NotCarriedOutError("reconnect_every", wrong)
        return carried

    def read(self, options: Mapping[str, Option]) -> None:
        """One script, and names that pgbench knows."""
        unknown = [name for name in options if name not in _OWN]
        if unknown:
            raise ValueError(f"expected {', '.join(_OWN)}; found `{unknown[0]}`")
        if ("script" in options) == ("file" in options):
            raise ValueError(f"expected `script` ({', '.join(_BUILT_IN)}) or `file`, one of them")
        if options.get("script", _BUILT_IN[0]) not in _BUILT_IN:
            raise ValueError(f"`script`: expected {', '.join(_BUILT_IN)}")
        if options.get("protocol", _PROTOCOLS[0]) not in _PROTOCOLS:
            raise ValueError(f"`protocol`: expected {', '.join(_PROTOCOLS)}")
        scale = options.get("scale", 1)
        if isinstance(scale, bool) or not isinstance(scale, int) or scale < 1:
            raise ValueError("`scale`: expected a whole number from 1")

    def provision(self, options: Mapping[str, Option]) -> str:
        """The newest installed one, or the version asked for."""
        return tool_text("pgbench", options)

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """A script of one's own."""
        return {str(options["file"]): _FILE} if "file" in options else {}

    def volume(self, options: Mapping[str, Option]) -> Volume:
        """100,000 accounts for each unit of `scale`, made anew before each step."""
        scale = whole(options, "scale", 0)
        return Volume(size_bytes=scale * _BYTES_OF_A_SCALE, step_s=scale * _INITIALISE_S)

    def run(self, job: Job) -> ToolOutcome:
        """Initialises, warms up, measures."""
        environment = {**os.environ, **connection(job.target())}
        if "scale" in job.options:
            made: list[str | Path] = [job.program, "-i", "-q", f"--scale={job.options['scale']}"]
            call(made, job, limit_s=_INITIALISE_LIMIT_S, environment=environment)
        argv: list[str | Path] = [job.program, *_arguments(job)]
        if job.warm_up_s >= 1:
            warm = [*argv, f"--time={round(job.warm_up_s)}"]
            call(warm, job, limit_s=job.warm_up_s + _SPARE_S, environment=environment)
        argv += [*_extent(job), "--progress=1", "--progress-timestamp"]
        argv += ["--log", f"--log-prefix={job.scratch}/transactions"]
        limit_s = _SPARE_S + (job.measure_s or _COUNTED_LIMIT_S)
        output = call(argv, job, limit_s=limit_s, environment=environment)
        ended_ns = time.time_ns()
        logs = sorted(job.scratch.glob("transactions.*"))
        try:
            times_us = times(logs)
        finally:
            for log in logs:
                log.unlink()  # A line a transaction: what is kept is their distribution.
        progress = (job.scratch / "stderr").read_text(errors="replace")
        words = [Path(str(word)).name for word in argv]
        result = outcome(output, progress, figures_of(times_us), words)
        rate = only_poisson(self.name, job.load)
        warnings = (*unreached(rate, result.window_s, result.events), *_scale_warnings(job))
        result = replace(result, warnings=(*result.warnings, *warnings))
        return replace(result, distribution=distribution_of(times_us), ended_unix_ns=ended_ns)


def _arguments(job: Job) -> list[str]:
    script = job.options.get("script")
    threads = min(job.clients, os.cpu_count() or 1)
    words = [f"--client={job.clients}", f"--jobs={threads}", "--no-vacuum"]
    words.append(f"--protocol={job.options.get('protocol', _PROTOCOLS[0])}")
    if (rate := only_poisson(Pgbench.name, job.load)) is not None:
        words.append(f"--rate={rate_word(rate)}")
    if job.load is not None and job.load.reconnect_every:
        words.append("--connect")
    if script is not None:
        return [*words, f"--builtin={script}"]
    file = find_file(str(job.options["file"]), job.folders, _FILE)
    # Of its own scripts pgbench finds the scale in the tables; of others it is 1 unless told.
    scale = [f"--scale={job.options['scale']}"] if "scale" in job.options else []
    return [*words, *scale, f"--file={file}"]


def _timed(load: Load) -> Iterator[tuple[str, str]]:
    if load.measure_s is not None:
        yield "measure", f"--time={max(1, round(load.measure_s))}"
    if load.warm_up_s:
        yield "warm_up", f"a call before, --time={round(load.warm_up_s)}"


def _check_number(load: Load, events: int) -> None:
    """Raises `NotCarriedOutError` where pgbench can't end after just so many: its clients have
    equally many transactions each."""
    if load.measure_s is not None:
        message = "`events`: `pgbench` ends by time or by number, not by whichever comes first"
        raise NotCarriedOutError("events", message, "leave out `measure` or `events`")
    for clients in load.clients:
        if events % clients:
            message = f"`events`: `pgbench` can't divide {events:,} equally among {clients} clients"
            raise NotCarriedOutError(
                "events", message, f"such as events = {events - events % clients or clients}"
            )


def _extent(job: Job) -> Sequence[str]:
    if job.events is not None and not job.measure_s:
        return [f"--transactions={job.events // job.clients}"]
    return [f"--time={max(1, round(job.measure_s))}"]


def _scale_warnings(job: Job) -> Iterator[str]:
    """A script that asks for the scale, where no option tells it."""
    if "file" in job.options and "scale" not in job.options:
        file = find_file(str(job.options["file"]), job.folders, _FILE)
        if re.search(r"(?<!:):scale\b", file.read_text(errors="replace")):
            yield f"{file.name} uses `:scale`, which is 1 without the option `scale`"


def connection(target: Mapping[str, Any]) -> Mapping[str, str]:
    """A run's target as libpq's environment variables."""
    if target.get("driver") != "postgresql":
        raise UsageError(
            f"pgbench can't load {target.get('driver')}", hint="name a PostgreSQL server"
        )
    (endpoint, *_) = target["endpoints"]
    host, port = host_and_port(endpoint)
    given = {"PGHOST": host, "PGPORT": port, "PGUSER": target["user"]}
    password = {"PGPASSWORD": target["password"]} if target.get("password") else {}
    tls = {"PGSSLMODE": str(target["tls"]["mode"])} if "tls" in target else {}
    return {**given, **password, **tls, "PGDATABASE": target["database"]}


def times(logs: Sequence[Path]) -> NDArray[np.int64]:
    """Response times of all transactions in pgbench's logs, µs; those that failed are left out."""
    import numpy as np  # Only who has measured pays for it.

    texts = (line.split()[2] for log in logs for line in log.read_text().splitlines())
    return np.fromiter((int(text) for text in texts if text.isdigit()), dtype=np.int64)


def distribution_of(times_us: NDArray[np.int64]) -> tuple[tuple[int, int], ...]:
    """As `ToolOutcome` has it."""
    import numpy as np

    values, counts = np.unique(times_us * 1000, return_counts=True)
    return tuple(zip(values.tolist(), counts.tolist(), strict=True))


def figures_of(times_us: NDArray[np.int64]) -> Mapping[str, float]:
    """Percentiles, maximum and mean of response times; empty without any."""
    import numpy as np

    if not len(times_us):
        return {}
    found = {
        name: float(np.percentile(times_us, rank, method="inverted_cdf"))
        for name, rank in _PERCENTILES.items()
    }
    return {**found, "max": float(times_us.max()), "mean": float(times_us.mean())}


GENERATOR: Generator = Pgbench()
