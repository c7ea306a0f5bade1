"""`dbdyno bench`: one measurement of a running server, without a study file."""

from __future__ import annotations

import re
import shlex
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from dbdyno.cli.load_options import load_of, load_options
from dbdyno.cli.options import (
    collector_option,
    json_option,
    pictures_option,
    store_option,
)
from dbdyno.cli.pace import Pace
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import count, latency
from dbdyno.cli.thresholds import FIGURES, Threshold, thresholds
from dbdyno.conduct.bench import (
    BenchPlan,
    BenchResult,
    cleanup_tables,
    prepare_tables,
)
from dbdyno.conduct.bench import bench as measure
from dbdyno.conduct.tables import Prepare
from dbdyno.engine import find_engine
from dbdyno.errors import InterruptedRunError, NotValidError
from dbdyno.formats.passwords import without_password, words_without_passwords
from dbdyno.formats.quantities import format_duration
from dbdyno.model import (
    EngineWarning,
    Interval,
    Load,
    Option,
    Output,
    Progress,
    Record,
    StepSummary,
    Summary,
    TableLoad,
    Verify,
    named_shards,
)
from dbdyno.store import Store

_F = TypeVar("_F", bound=Callable[..., Any])

_PROGRESS_S = 1.0


_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,18}")
"""The largest integer that is exact in 64 bits; longer ones are passed to the script as text."""


def _options(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, Option]:
    options: dict[str, Option] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not name:
            raise click.BadParameter(f"expected NAME=VALUE; found `{text}`")
        key = name.strip().replace("-", "_")
        options[key] = int(value) if _WHOLE_NUMBER.fullmatch(value) else value
    return options


def _script_options(function: _F) -> _F:
    """Options for the script and its own options."""
    script = click.option("--script", required=True, help="A file, or the name of a script.")
    option = click.option(
        "--option",
        "options",
        multiple=True,
        callback=_options,
        metavar="NAME=VALUE",
        help="An option of the script; can be repeated. `dbdyno scripts` lists them.",
    )
    return script(option(function))


_SEED = click.option("--seed", type=click.IntRange(0, 2**48 - 1), default=1, show_default=True)


@click.command()
@click.argument("url")
@_script_options
@click.option(
    "--prepare",
    is_flag=False,
    flag_value="new",
    default="no",
    type=click.Choice(["no", "new", "replace"]),
    help="Load the script's tables first; `--prepare=replace` drops existing ones before.",
)
@click.option("--cleanup", is_flag=True, help="Drop the script's tables at the end.")
@load_options
@_SEED
@click.option(
    "--fail-if",
    "limits",
    multiple=True,
    callback=thresholds,
    metavar="CONDITION",
    help="Exit with 1 if this holds: 'p99 > 10ms', 'errors > 0'; can be repeated. "
    f"Figures: {', '.join(FIGURES)}.",
)
@collector_option
@store_option
@pictures_option
@click.option("--discard", is_flag=True, help="Do not keep the result in the store.")
@json_option
def bench(
    url: str,
    script: str,
    options: dict[str, Option],
    prepare: Prepare,
    cleanup: bool,
    seed: int,
    limits: tuple[Threshold, ...],
    collect: tuple[str, ...],
    store: Path,
    pictures: bool,
    discard: bool,
    as_json: bool,
    **pace: Any,
) -> None:
    """Measure a server that is already running, given by its URL.

    \b
    postgresql://user:password@host:port/database
    postgresql://user@/database?host=/socket/folder&port=5432
    mysql://user:password@host1,host2:port/database
    mysql://user@/database?socket=/path/to/mysql.sock
    sqlite:///path/to/file.db?journal_mode=wal
    null:

    The result is kept in the store as a study of one run, with its report beside it; with --json
    `dbdyno report` writes that.
    """
    load = load_of(**pace)
    bench_plan = BenchPlan(
        url=url,
        script=script,
        options=options,
        load=load,
        seed=seed,
        prepare=prepare,
        cleanup=cleanup,
        collect=collect,
        command_line=_command_line(),
    )
    keep = None if discard else Store(store)
    result = measure(bench_plan, find_engine(), observe=_Teller().show, store=keep)
    broken = _broken(result.summary, limits)
    if as_json:
        say_json({**_document(bench_plan, result), "kept": result.kept, "broken": broken})
    else:
        _print(result)
        if keep is not None and result.kept is not None:
            say(f"{'report':<14} {_report(keep, result.kept, pictures)}")
    if result.interrupted:
        raise InterruptedRunError("interrupted; the figures cover what was measured until then")
    if result.failure is not None:
        raise result.failure
    _judge(result.summary, broken)


@click.command()
@click.argument("url")
@_script_options
@click.option("--replace", is_flag=True, help="Drop existing tables first.")
@click.option(
    "--loaders",
    type=click.IntRange(0, 1024),
    help="Connections that load rows; 0: the script's own only.  [default: two a core, 16 at most]",
)
@click.option(
    "--verify",
    type=click.Choice(get_args(Verify)),
    default="counts",
    show_default=True,
    help="`counts` the rows of what was loaded, `checksums` digests them as well.",
)
@_SEED
def prepare(
    url: str,
    script: str,
    options: dict[str, Option],
    replace: bool,
    loaders: int | None,
    verify: Verify,
    seed: int,
) -> None:
    """Load a script's tables into the server at URL.

    Nothing is measured. URL is one of those that `dbdyno bench` takes; the same seed makes
    the same rows.
    """
    load = Load(clients=(1,), warm_up_s=0.0, measure_s=None, loaders=loaders, verify=verify)
    wanted: Prepare = "replace" if replace else "new"
    plan = BenchPlan(url, script, options, load, seed, prepare=wanted)
    loads, warnings = prepare_tables(plan, find_engine(), observe=_Teller().show)
    say(f"tables         {_loads(loads)}" if loads else "done; no table to verify")
    _tell_warnings(warnings)


@click.command()
@click.argument("url")
@_script_options
def cleanup(url: str, script: str, options: dict[str, Option]) -> None:
    """Drop a script's tables from the server at URL.

    Nothing is measured. URL is one of those that `dbdyno bench` takes; the options are those
    they were made with.
    """
    load = Load(clients=(1,), warm_up_s=0.0, measure_s=None)
    plan = BenchPlan(url, script, options, load, seed=1)
    cleanup_tables(plan, find_engine(), observe=_Teller().show)
    say("done")


def _command_line() -> str:
    return shlex.join(["dbdyno", *words_without_passwords(sys.argv[1:])])


def _report(store: Store, kept: str, pictures: bool) -> Path:
    say("writing the report", err=True)
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno.report import write

    page = store.root / kept / "report.html"
    return write(store.root, kept, page, pictures=pictures).page


def _broken(summary: StepSummary, limits: Sequence[Threshold]) -> list[str]:
    return [told for limit in limits if (told := limit.broken_by(summary)) is not None]


def _judge(summary: StepSummary, broken: Sequence[str]) -> None:
    """Raises `NotValidError` if nothing was measured, or a threshold failed."""
    if summary.events == 0:
        window, codes = format_duration(summary.window_s), _codes(summary)
        raise NotValidError(
            f"no event was completed in the window of {window}; errors: {codes or 'none'}",
            hint="what the errors say must be mended first: `--on-error all=stop` stops at the "
            "first one and tells it whole"
            if codes
            else "an event may take longer than the window: a longer --time, or see where the "
            "script's event waits",
        )
    if summary.statements == 0 and summary.errors:
        raise NotValidError(
            f"all {count(summary.errors)} statements failed ({_codes(summary)})",
            hint="fix the errors above, or use `--on-error all=stop` for the full message",
        )
    if broken:
        raise NotValidError("not good enough: " + "; ".join(broken))


def _codes(summary: StepSummary) -> str:
    """Errors by code, the most frequent first."""
    ordered = sorted(summary.errors_by_code.items(), key=lambda pair: (-pair[1], pair[0]))
    return ", ".join(f"{code} × {count(times)}" for code, times in ordered)


class _Teller:
    """Shows progress on standard error, once a second."""

    def __init__(self) -> None:
        self._next = time.monotonic() + _PROGRESS_S
        self._pace = Pace()
        self._untold = ""
        """The number of rows loaded, until it has been printed."""

    def show(self, command: str, record: Record) -> None:
        """One record of a command."""
        match record:
            case Interval() if command == "run" and record.phase in ("warm-up", "measure"):
                length_s = (record.end_ns - record.start_ns) / 1e9
                rate = record.counters.events / length_s if length_s > 0 else 0.0
                at = format_duration(round(record.end_ns / 1e9))
                say(f"{record.phase:>8} {at:>8}  {count(rate)} events/s", err=True)
            case Progress() if command == "run" or record.what == "rows":
                line = f"{command:>8}  {self._pace.text(record)}"
                due = time.monotonic() >= self._next
                if due:
                    self._next = time.monotonic() + _PROGRESS_S
                    say(line, err=True)
                self._untold = line if record.what == "rows" and not due else ""
            case Summary() if self._untold:
                say(self._untold, err=True)
                self._untold = ""
            case Output():
                say(record.text, err=True)
            case EngineWarning(code="connecting"):
                say(f"{command:>8}  {record.message}", err=True)
            case _:
                pass


def _print(result: BenchResult) -> None:
    summary = result.summary
    lines = [
        ("statements", f"{count(summary.statements)} ({count(summary.statements_per_s)}/s)"),
        ("events", f"{count(summary.events)} ({count(summary.events_per_s)}/s)"),
        ("errors", f"{count(summary.errors)}{f' ({codes})' if (codes := _codes(summary)) else ''}"),
        ("window", format_duration(summary.window_s)),
        *((f"latency {name}", latency(value)) for name, value in summary.latency_us.items()),
        *_open_loop(summary),
        *_labels(summary),
    ]
    if summary.client_cpu_us_per_statement is not None:
        cpu = f"{summary.client_cpu_us_per_statement:.2f} µs a statement"
        lines.append(("client CPU", cpu))
    lines.append(("client memory", f"{summary.client_rss_kb:,} KiB"))
    processes = "1 process" if result.processes == 1 else f"{result.processes} processes"
    shards = named_shards(result.shards, bound=result.shards_bound)
    lines.append(("engine", f"{processes}, {shards}, {result.reactor}"))
    if result.loads:
        lines.insert(0, ("tables", _loads(result.loads)))
    for name, value in lines:
        say(f"{name:<14} {value}")
    _tell_warnings(result.warnings)


def _tell_warnings(warnings: Sequence[EngineWarning]) -> None:
    for warning in warnings:
        say(f"warning: {warning.message}", err=True)
        if warning.hint:
            say(f"hint: {warning.hint}", err=True)


def _loads(loads: Sequence[TableLoad]) -> str:
    """Tables that arrived as sent; the others are warnings."""
    fine = [load for load in loads if load.rows == load.sent]
    rows = sum(load.sent or 0 for load in fine)
    took = format_duration(sum(load.took_s for load in loads))
    return f"{count(len(fine))} of {count(len(loads))} have the {count(rows)} rows sent ({took})"


def _open_loop(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """Figures of an open loop."""
    if summary.wait_us:
        yield "wait p99", latency(summary.wait_us["p99"])
        yield "service p99", latency(summary.service_us["p99"])
        backlog = summary.backlog
        yield "backlog", f"{count(backlog.at_end)}, max {count(backlog.highest)}"
        if summary.censored:
            yield "not ended", f"{count(summary.censored)}: their times are lower bounds"


def _labels(summary: StepSummary) -> Iterator[tuple[str, str]]:
    """Events by label, if the script labels them."""
    for label, events in sorted(summary.events_by_label.items()):
        name = label.partition("/")[2]
        if name:
            times = summary.latency_by_label_us
            response = f"event.{label}.response"
            found = times.get(response) or times[f"event.{label}.service"]
            rate = events / summary.window_s
            yield name, f"{count(events)} ({count(rate)}/s), p99 {latency(found['p99'])}"


def _document(bench_plan: BenchPlan, result: BenchResult) -> dict[str, object]:
    summary = result.summary
    return {
        "schema": 1,
        "statements": summary.statements,
        "statements_per_s": summary.statements_per_s,
        "events": summary.events,
        "events_per_s": summary.events_per_s,
        "errors": summary.errors,
        "errors_by_code": dict(summary.errors_by_code),
        "restarts": summary.restarts,
        "reconnects": summary.reconnects,
        "latency_us": dict(summary.latency_us),
        "events_by_label": dict(summary.events_by_label),
        "latency_by_label_us": {
            label: dict(figures) for label, figures in summary.latency_by_label_us.items()
        },
        "wait_us": dict(summary.wait_us),
        "service_us": dict(summary.service_us),
        "lag_us": dict(summary.lag_us),
        "queued_us": dict(summary.queued_us),
        "unread_us": dict(summary.unread_us),
        "backlog": summary.backlog.at_end,
        "backlog_highest": summary.backlog.highest,
        "censored": summary.censored,
        "p99_us_at_most": summary.p99_us_at_most,
        "client_cpu_us_per_statement": summary.client_cpu_us_per_statement,
        "client_rss_kb": summary.client_rss_kb,
        "client_rss_peak_kb": summary.client_rss_peak_kb,
        "window_s": summary.window_s,
        "clients": summary.clients,
        "total_statements": summary.total_statements,
        "total_events": summary.total_events,
        "url": without_password(bench_plan.url),
        "script": str(result.script),
        "options": dict(bench_plan.options),
        "seed": bench_plan.seed,
        "reactor": result.reactor,
        "scheduling": result.scheduling,
        "clock": result.clock,
        "processes": result.processes,
        "shards": result.shards,
        "shards_bound": result.shards_bound,
        "lab": None if result.lab is None else asdict(result.lab),
        "versions": dict(result.versions),
        "command_line": bench_plan.command_line,
        "interrupted": result.interrupted,
        "loads": [asdict(load) for load in result.loads],
        "warnings": [
            {"code": warning.code, "message": warning.message} for warning in result.warnings
        ],
    }
