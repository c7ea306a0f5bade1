"""`dbdyno bench`: one measurement of a running server, without a study file."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from dbdyno.cli.bench_progress import BenchProgress
from dbdyno.cli.bench_text import (
    error_codes,
    fills_text,
    print_document,
    print_run,
    print_sides,
    print_warnings,
    print_ycsb,
)
from dbdyno.cli.live import watched
from dbdyno.cli.load_options import load_of, load_options
from dbdyno.cli.options import (
    collector_option,
    json_option,
    pictures_option,
    store_option,
)
from dbdyno.cli.terminal import say
from dbdyno.cli.text import count, fold, width
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
from dbdyno.errors import InterruptedRunError, NotValidError, UsageError
from dbdyno.formats.passwords import words_without_passwords
from dbdyno.formats.quantities import format_duration
from dbdyno.model import (
    Load,
    Option,
    StepSummary,
    Verify,
)
from dbdyno.store import Store

_F = TypeVar("_F", bound=Callable[..., Any])

_COMPARED = 5
"""Repeats of a comparison: fewer leave most differences open."""
_SETTING = re.compile(r"[A-Za-z_][\w.]*")
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


def _settings(
    _context: click.Context, _parameter: click.Parameter, values: tuple[str, ...]
) -> dict[str, str]:
    settings: dict[str, str] = {}
    for text in values:
        name, equals, value = text.partition("=")
        if not equals or not _SETTING.fullmatch(name.strip()):
            raise click.BadParameter(f"expected NAME=VALUE, such as work_mem=64MB; found `{text}`")
        settings[name.strip()] = value.strip()
    return settings


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
@click.option(
    "--repeat",
    type=click.IntRange(1, 1000),
    help="Measure so many times.  [default: 1; 5 with --against or --with]",
)
@click.option(
    "--against",
    metavar="URL",
    help="The baseline: another database, driven in turns with URL.",
)
@click.option(
    "--with",
    "settings",
    multiple=True,
    callback=_settings,
    metavar="NAME=VALUE",
    help="A setting of each client's session at URL, which the baseline goes without; can be "
    "repeated.",
)
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
@click.option(
    "--ycsb",
    "as_ycsb",
    is_flag=True,
    help="Print the result as YCSB's client does: a kind of operation for each label.",
)
def bench(
    url: str,
    script: str,
    options: dict[str, Option],
    prepare: Prepare,
    cleanup: bool,
    repeat: int | None,
    against: str | None,
    settings: dict[str, str],
    seed: int,
    limits: tuple[Threshold, ...],
    collect: tuple[str, ...],
    store: Path,
    pictures: bool,
    discard: bool,
    as_json: bool,
    as_ycsb: bool,
    **pace: Any,
) -> None:
    """Measure a running server given by its URL, or compare two.

    \b
    postgresql://user:password@host:port/database
    postgresql://user@/database?host=/socket/folder&port=5432
    mysql://user:password@host1,host2:port/database
    mysql://user@/database?socket=/path/to/mysql.sock
    sqlite:///path/to/file.db?journal_mode=wal
    redis://:password@host:port/0 (valkey:// likewise); mongodb://user:password@host:port/database
    clickhouse://user:password@host:9000/database?http_port=8123; null:

    With --against or --with it is compared with a baseline in turns of two seconds, five times
    unless --repeat says otherwise. The result is kept in the store as a study of its own, with its
    report beside it; with --json or --ycsb `dbdyno report` writes that.
    """
    compared = against is not None or bool(settings)
    _check_form(as_ycsb, several=as_json or compared or (repeat or 1) > 1)
    bench_plan = BenchPlan(
        url=url,
        script=script,
        options=options,
        load=load_of(**pace),
        seed=seed,
        prepare=prepare,
        cleanup=cleanup,
        collect=collect,
        command_line=_command_line(),
        repeat=repeat or (_COMPARED if compared else 1),
        against=against,
        settings=settings,
    )
    keep = None if discard else Store(store)
    results = _measured(bench_plan, keep, answers=compared or bench_plan.repeat > 1)
    broken = [text for run in results for text in _broken(run.summary, limits)]
    alone = bench_plan.repeat == 1 and not compared
    if as_json:
        print_document(bench_plan, results, broken, alone=alone)
    elif as_ycsb:
        print_ycsb(results[0])
    else:
        print_run(results[0]) if alone else print_sides(results)
        _report(keep, results[0].kept, pictures, answered=not alone)
    failure = results[-1].failure
    if isinstance(failure, InterruptedRunError):
        raise InterruptedRunError("interrupted; the figures cover what was measured until then")
    if failure is not None:
        raise failure
    for run in results:
        _judge(run.summary)
    if broken:
        raise NotValidError("not good enough: " + "; ".join(dict.fromkeys(broken)))


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
    loads, warnings = prepare_tables(plan, find_engine(), observe=BenchProgress(load).show)
    say(f"tables         {fills_text(loads)}" if loads else "done; no table to verify")
    print_warnings(warnings)


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
    cleanup_tables(plan, find_engine(), observe=BenchProgress(load).show)
    say("done")


def _measured(
    bench_plan: BenchPlan, keep: Store | None, *, answers: bool
) -> tuple[BenchResult, ...]:
    """Its progress goes to standard error, and if it is kept to its live log."""
    progress = BenchProgress(bench_plan.load)
    if keep is None:
        return measure(bench_plan, find_engine(), observe=progress.show)
    with watched(keep, progress, blocks=bench_plan.repeat, answers=answers) as live:
        return measure(bench_plan, find_engine(), observe=live.show, store=keep)


def _check_form(as_ycsb: bool, *, several: bool) -> None:
    if as_ycsb and several:
        raise UsageError(
            "--ycsb prints one result: without --json, --against, --with and --repeat",
            hint="`dbdyno export STUDY --format ycsb` prints all results of a study",
        )


def _command_line() -> str:
    return shlex.join(["dbdyno", *words_without_passwords(sys.argv[1:])])


def _report(store: Store | None, kept: str | None, pictures: bool, *, answered: bool) -> None:
    if store is None or kept is None:
        return
    say("writing the report", err=True)
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno.report import write

    page = store.root / kept / "report.html"
    written = write(store.root, kept, page, pictures=pictures)
    if answered:
        say(fold(f"{'answer':<14} {written.first}", width()))
    say(f"{'report':<14} {written.page}")


def _broken(summary: StepSummary, limits: Sequence[Threshold]) -> list[str]:
    return [breach for limit in limits if (breach := limit.broken_by(summary)) is not None]


def _judge(summary: StepSummary) -> None:
    """Raises `NotValidError` if nothing was measured."""
    if summary.events == 0:
        window, codes = format_duration(summary.window_s), error_codes(summary)
        raise NotValidError(
            f"no event was completed in the window of {window}; errors: {codes or 'none'}",
            hint="fix what the errors report first: `--on-error all=stop` stops at the "
            "first and shows it in full"
            if codes
            else "an event may take longer than the window: a longer --time, or see where the "
            "script's event waits",
        )
    if summary.statements == 0 and summary.errors:
        raise NotValidError(
            f"all {count(summary.errors)} statements failed ({error_codes(summary)})",
            hint="fix the errors above, or use `--on-error all=stop` for the full message",
        )
