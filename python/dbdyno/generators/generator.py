"""The interface of generators: a job in, figures and per-second samples out.

A generator is an outside program, or trials that the lab itself makes on a server. It is started
for one step, and reports and ends by itself; figures that mean the same as the engine's have the
same names.
"""

from __future__ import annotations

import signal
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol

from dbdyno.errors import (
    InterruptedRunError,
    NotStartedError,
    ScriptError,
    ServerError,
    UsageError,
)
from dbdyno.generators.carried import Carried
from dbdyno.generators.failing import failure, telling_line
from dbdyno.guard.family import children_of
from dbdyno.guard.guarded import Guarded
from dbdyno.guard.launch import Launch
from dbdyno.model import HistogramRecord, Load, Metric, Option, Sample, Session, StepSummary, Volume

_GRACE_S = 10.0


class ServedDatabase(Protocol):
    """What a generator may ask of a database (see `servers/protocol.py`)."""

    def inside(self) -> Session:
        """A session in the database under load."""

    def table_files(self, table: str) -> Sequence[Path]:
        """The files that hold a table."""


class ServedNode(Protocol):
    """What a generator may do to the process that serves it."""

    def log_files(self) -> Sequence[Path]:
        """What it writes about itself."""

    def processes(self) -> Sequence[int]:
        """Pids of its processes."""

    def alive(self) -> bool:
        """Whether it runs."""

    def ended_with(self) -> int | None:
        """How its process ended."""

    def stop(self) -> None:
        """Stops it in good order."""

    def kill(self) -> None:
        """Kills it as a crash would."""

    def drop(self) -> None:
        """Ends it at once, leaving its data as they are."""

    def restart(self, limit_s: float) -> None:
        """Starts it again; raises `ServerError`."""


class Served(Protocol):
    """The run's server, for generators that make trials of their own."""

    @property
    def node(self) -> ServedNode:
        """The process that serves it."""

    @property
    def database(self) -> ServedDatabase:
        """What its tables are asked by."""


@dataclass(frozen=True, slots=True)
class Start:
    """How a generator's program is started."""

    launch: Launch
    watch: Callable[[int], None]
    """Called with the program's pid."""


@dataclass(frozen=True, slots=True)
class Job:
    """One step for a generator."""

    program: Path
    """What to execute; unused by a generator without a program."""
    options: Mapping[str, Option]
    clients: int
    warm_up_s: float
    measure_s: float
    data_folder: Path | None
    """The server's data folder, or the folder to put load on."""
    scratch: Path
    """An empty folder for the program's files; kept with the run's logs."""
    folders: Sequence[Path]
    """Where files that options name are searched."""
    start: Start
    target: Callable[[], Mapping[str, object]] = dict
    """Where a client connects, as in the engine's spec; raises `ServerError` if it can't."""
    server: Served | None = None
    """The run's server, for generators that make trials of their own; `None`: there is none."""
    kind: str = ""
    """Kind of the server: `postgresql`."""
    events: int | None = None
    """Number of events that ends the step, if the study sets one."""
    seed: int = 0
    """Seed of the step's random draws."""
    load: Load | None = None
    """The whole load, of which `carries_out` has said what it does; `None`: clients and times."""


@dataclass(frozen=True, slots=True)
class ToolOutcome:
    """A program's measurements; rates are per second of its own window."""

    window_s: float
    events: int
    statements: int = 0
    errors: int = 0
    latency_us: Mapping[str, float] = field(default_factory=dict)
    """Response time of events: `p50`, `p95`, `p99`, `p99.9`, `max`, `mean`, if reported."""
    distribution: tuple[tuple[int, int], ...] = ()
    """Response times of events, (nanoseconds, how many), ascending, if it tells them to some 2 %
    or better."""
    figures: Mapping[str, float] = field(default_factory=dict)
    """Its other figures, by name with the unit last."""
    samples: tuple[Sample, ...] = ()
    """Under the generator's name as their source."""
    command_line: tuple[str, ...] = ()
    """Its command line."""
    warnings: tuple[str, ...] = ()
    """Warnings about its figures, a clause each."""
    ended_unix_ns: int | None = None
    """When its window ended by the wall clock; approximately when the program ended."""
    outcomes: Mapping[str, int] = field(default_factory=dict)
    """Events by outcome, if it classifies them: all classes."""
    reconnects: int = 0
    against: tuple[str, ...] = ()
    """What it says against its own figures, such as events it skipped: why verdicts leave the
    step out, a few words each."""


def shares(outcomes: Mapping[str, int], events: int) -> Mapping[str, float]:
    """Figure → share of the events with that outcome; figures are named like `lost_share`."""
    return {f"{name.replace(' ', '_')}_share": n / events for name, n in outcomes.items()}


def step_summary(
    index: int,
    clients: int,
    generator: str,
    outcome: ToolOutcome,
    distribution: HistogramRecord | None = None,
) -> StepSummary:
    """A step's figures under the engine's names where they mean the same; `distribution`, of its
    events' response times, is stored beside them."""
    window_s = outcome.window_s
    return StepSummary(
        step=index,
        clients=clients,
        interrupted=False,
        window_s=window_s,
        events=outcome.events,
        statements=outcome.statements,
        events_per_s=outcome.events / window_s if window_s > 0 else 0.0,
        statements_per_s=outcome.statements / window_s if window_s > 0 else 0.0,
        errors=outcome.errors,
        errors_by_code={},
        restarts=0,
        reconnects=outcome.reconnects,
        latency_us=outcome.latency_us,
        latency_by_label_us={},
        client_cpu_us_per_statement=None,
        client_rss_kb=0,
        client_rss_peak_kb=0,
        total_statements=outcome.statements,
        total_events=outcome.events,
        record={} if distribution is None else {"histograms": [asdict(distribution)]},
        generator=generator,
        figures=outcome.figures,
        outcomes=outcome.outcomes,
        against=outcome.against,
    )


class Generator(Protocol):
    """A load generator."""

    name: ClassVar[str]
    metrics: ClassVar[tuple[Metric, ...]]
    """Metrics that it samples."""
    instead: ClassVar[Mapping[str, str]]
    """Key of `[load]` that it does not carry out → what to write in its place."""
    connects: ClassVar[Mapping[str, tuple[object, ...]]]
    """Key of `[connection]` → the values that it carries out."""

    def carries_out(self, load: Load, options: Mapping[str, Option]) -> Carried:
        """The keys of `[load]` that it carries out besides `clients`, and how. Raises
        `NotCarriedOutError` for a value that it can't carry out."""

    def read(self, options: Mapping[str, Option]) -> None:
        """Checks a study's options. Raises `ValueError`: what was expected and found."""

    def provision(self, options: Mapping[str, Option]) -> str | None:
        """The tool it needs: `tool:fio`, `tool:fio:3.39@debian`; `None`: none."""

    def files(self, options: Mapping[str, Option]) -> Mapping[str, str]:
        """Files that the options name, and what each is called in messages."""

    def volume(self, options: Mapping[str, Option]) -> Volume | None:
        """The data it makes, roughly; `None`: its options don't tell."""

    def run(self, job: Job) -> ToolOutcome:
        """Runs one step. Raises `LabError`; leaves nothing running."""


def tool_text(name: str, options: Mapping[str, Option]) -> str:
    """The provision text of a tool: the installed one or the newest, or the option `version`."""
    version = options.get("version")
    return f"tool:{name}:{version}" if version else f"tool:{name}"


def host_and_port(endpoint: Mapping[str, Any]) -> tuple[str, str]:
    """Of an endpoint of a target; the host of a PostgreSQL socket is its folder, as for libpq."""
    if "unix" in endpoint:
        folder, _, port = str(endpoint["unix"]).rpartition("/.s.PGSQL.")
        return folder, port
    return str(endpoint["tcp"]["host"]), str(endpoint["tcp"]["port"])


def clash(options: Mapping[str, Option], taken: Collection[str], message: str) -> None:
    """Raises `ValueError` for an option whose variable the step has already."""
    for name in options:
        if name.upper() in taken:
            raise ValueError(f"`{name}` would be {name.upper()}, which tells the program {message}")


def find_file(name: str, folders: Sequence[Path], what: str) -> Path:
    """A file that an option names, in one of these folders. Raises `UsageError`."""
    searched = tuple(dict.fromkeys(folder.absolute() for folder in folders))
    for folder in searched:
        if (folder / name).is_file():
            return folder / name
    raise UsageError(
        f"there is no {what} `{name}`", hint=f"looked for it in: {', '.join(map(str, searched))}"
    )


def call(
    argv: Sequence[str | Path], job: Job, *, limit_s: float, environment: Mapping[str, str]
) -> str:
    """Runs a program to its end and returns its standard output; standard error is stored beside
    it. It ends, with all that it has started, whoever dies: the lab, its guard or itself.

    # Errors
    `InterruptedRunError` on Ctrl-C; if it fails, what it says that went wrong (`failing.py`);
    `ScriptError` if it can't be started or takes longer than `limit_s`; `ServerError` if its guard
    was killed.
    """
    program = Path(str(argv[0])).name
    kept = f"{job.scratch.parent.name}/{job.scratch.name} of the run's folder"
    output, error = job.scratch / "stdout", job.scratch / "stderr"
    for file in (output, error):
        file.write_bytes(b"")  # Of an earlier call of this step.
    with Guarded() as guarded:
        try:
            pid = guarded.spawn(
                argv,
                output=output,
                error=error,
                cwd=job.scratch,
                env=environment,
                launch=job.start.launch,
                kept=True,
            )
        except NotStartedError as refusal:
            raise ScriptError(
                f"{program} can't be started: {refusal.message}",
                hint="is it a program for this machine, and is the interpreter there that its "
                "first line names?",
            ) from refusal
        job.start.watch(next(iter(children_of(pid)), pid))
        try:
            code = guarded.wait(pid, limit_s)
        except KeyboardInterrupt:
            _ask_to_end(guarded, pid)
            raise InterruptedRunError(f"interrupted while {program} ran") from None
        if code is None:
            _ask_to_end(guarded, pid)
            last = telling_line(_text(error)) or "nothing"
            raise ScriptError(
                f"{program} did not end within {limit_s:.0f} s; it said: {last}",
                hint=f"all that it said is in {kept}",
            )
    if code != 0:
        raise failure(program, code, f"{_text(error)}\n{_text(output)}", kept)
    return output.read_text(errors="replace")


def _ask_to_end(guarded: Guarded, pid: int) -> None:
    """A tool that is asked may still remove its files; otherwise its guard kills it."""
    with suppress(ServerError):  # The guard is gone, and the tool with it.
        guarded.signal(pid, signal.SIGINT)
        guarded.wait(pid, _GRACE_S)


def _text(file: Path) -> str:
    return file.read_text(errors="replace")
