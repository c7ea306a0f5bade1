"""The command line: one module per verb. The only room that prints or exits.

Data go to standard output, everything else to standard error.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from importlib import import_module
from types import FrameType

import click

from dbdyno import __version__
from dbdyno.cli.fault import tell_fault, watch_threads
from dbdyno.cli.interruption import end_at_second_signal
from dbdyno.cli.surroundings import check_processes_visible, open_missing_streams
from dbdyno.cli.terminal import say, say_complaint, standard_output
from dbdyno.errors import InterruptedRunError, LabError, ScriptError, StoreError

VERBS: Mapping[str, tuple[str, str]] = {
    "bench": (
        "bench.bench",
        "Measure a running server given by its URL, or compare two.",
    ),
    "calibrate": (
        "calibrate.calibrate",
        "Measure this machine's noise for the workload of STUDY.",
    ),
    "check": (
        "check.check",
        "Validate STUDY and show what it would run and take: cells, order, machine, disk, time.",
    ),
    "classics": ("classics.classics", "Run the published benchmarks, one after another."),
    "cleanup": ("bench.cleanup", "Drop a script's tables from the server at URL."),
    "compare": (
        "compare.compare",
        "Compare B with A, each a cell of a study in the store, or each a whole study.",
    ),
    "doctor": (
        "doctor.doctor",
        "Report what distorts measurements on this machine or limits a run.",
    ),
    "export": (
        "exporting.export_command",
        "Write what is stored of STUDY in a format of other programs.",
    ),
    "fetch": ("fetching.fetch_command", "Download servers and tools in advance."),
    "gallery": (
        "gallery.gallery",
        "Write a static site of the studies in STOREs that have a complete run.",
    ),
    "history": (
        "history.history",
        "Show METRIC over versions or dates, and where its level changed.",
    ),
    "import": (
        "importing.import_command",
        "Put what another tool has printed into the store.",
    ),
    "list": ("listing.list_command", "List the bundled studies, and what the store holds."),
    "note": ("note.note", "Add the note TEXT to the running study, at this moment."),
    "prepare": ("bench.prepare", "Load a script's tables into the server at URL."),
    "publish": ("publish.publish", "Write a stored STUDY as one file that anybody may read."),
    "quickstart": ("run.quickstart", "Measure what SQLite's settings cost, in two minutes."),
    "report": (
        "report.report",
        "Write the report of STUDY from what is in the store.",
    ),
    "resume": ("run.resume", "Resume STUDY where it stopped."),
    "run": ("run.run", "Run STUDY and write its report."),
    "scripts": (
        "scripts.scripts",
        "List the workload scripts, a line each, or those NAMEd with their options and defaults.",
    ),
    "serve": ("serve.serve", "Show the studies of STORE in a browser, running ones live."),
    "servers": ("servers.servers", "List the servers and tools a study can name."),
    "sysbench": ("sysbench.sysbench", "Run sysbench's command line with dbdyno's engine."),
}
"""Verb → where it is, and its first line, so that a list of verbs needs none of them."""

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    measured, but not valid: some runs failed
  2    usage: a flag, a name, a study file
  3    a workload script, or an outside program
  4    a server can't be provisioned, reached or kept running
  5    a server's answer to a statement stopped the run
  6    this machine lacks something, or a process of ours was killed on it
  7    the store can't be read or written, or is in use
  70   a bug in dbdyno
  130  interrupted; what was measured is kept
"""


class _Verbs(click.Group):
    """Imports only the verb that is called, which keeps start-up fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in VERBS:
            return None
        file, _, name = VERBS[cmd_name][0].partition(".")
        found: click.Command = getattr(import_module(f"{__name__}.{file}"), name)
        return found

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        with formatter.section("Commands"):
            formatter.write_dl([(verb, summary) for verb, (_, summary) in VERBS.items()])


@click.group(
    cls=_Verbs, epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, prog_name="dbdyno")
def cli() -> None:
    """A dynamometer for databases: ask a question in a file, get a number you can defend."""


_NEED_PROC = frozenset(
    (
        *("bench", "calibrate", "check", "classics", "doctor", "gallery"),
        *("history", "publish", "quickstart", "report", "resume", "run"),
    )
)
"""Verbs that read what processes do in /proc, or start the drawing program, which needs it."""

_ONLY_PRINT = frozenset(("--help", "--version"))
"""Options with which any verb prints, and does nothing else."""


def main() -> None:
    """The console script."""
    open_missing_streams()
    end_at_second_signal()
    watch_threads()
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Runs one verb and returns its exit code; any exception but `LabError` is a bug, which is
    told in one line."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        if _NEED_PROC.intersection(arguments[:1]):
            check_processes_visible()
        only_prints = not _ONLY_PRINT.isdisjoint(arguments)
        with standard_output() if only_prints else nullcontext():
            cli.main(list(arguments), prog_name="dbdyno", standalone_mode=False)
        with standard_output():
            sys.stdout.flush()
    except LabError as error:
        _complain(error)
        return error.exit_code
    except click.ClickException as error:
        say_complaint(error)
        return 2
    except BrokenPipeError:
        return _nobody_reads()
    except (click.Abort, KeyboardInterrupt):
        _complain(InterruptedRunError("interrupted"))
        return InterruptedRunError.exit_code
    except click.exceptions.Exit as ending:
        return ending.exit_code
    except Exception as error:  # noqa: BLE001 — nobody foresaw it; the last resort tells it
        return tell_fault(error, arguments)
    return 0


def _nobody_reads() -> int:
    """The reader of standard output has gone (`| head`): what is left goes nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return StoreError.exit_code


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """SIGTERM is treated like Ctrl-C."""
    raise KeyboardInterrupt


def _complain(error: LabError) -> None:
    from dbdyno.cli.text import fold, width
    from dbdyno.formats.passwords import urls_without_passwords

    columns = width(of_errors=True)
    say(fold(urls_without_passwords(f"error: {error.message}"), columns), err=True)
    if isinstance(error, ScriptError) and error.traceback:
        say(error.traceback, err=True)
    if error.hint:
        say(fold(f"\nhint: {error.hint}", columns), err=True)
