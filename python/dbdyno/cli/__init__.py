"""The command line: one module a verb. The only room that prints or exits.

Data goes to standard output, everything else to standard error.
"""

from __future__ import annotations

import signal
import sys
from collections.abc import Sequence
from types import FrameType

import click

from dbdyno import __version__
from dbdyno.cli.bench import bench
from dbdyno.cli.check import check
from dbdyno.cli.doctor import doctor
from dbdyno.cli.listing import list_command
from dbdyno.cli.report import report
from dbdyno.cli.run import quickstart, resume, run
from dbdyno.cli.servers import servers
from dbdyno.cli.sysbench import sysbench
from dbdyno.cli.text import fold, width
from dbdyno.errors import InterruptedRunError, LabError, ScriptError

_EXIT_CODES = """\b
Exit codes:
  0    done
  1    measured, but not valid: some runs failed
  2    usage: a flag, a name, a study file
  3    a workload script
  4    a server can't be provisioned, reached or kept running
  5    a server's answer to a statement stopped the run
  6    this machine lacks something
  7    the store can't be read or written, or is in use
  70   a fault of dbdyno itself
  130  interrupted; what was measured is kept
"""


@click.group(epilog=_EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="dbdyno")
def cli() -> None:
    """A dynamometer for databases: ask a question in a file, get a number you can defend."""


_COMMANDS = (bench, check, doctor, list_command, quickstart, report, resume, run, servers, sysbench)
for _command in _COMMANDS:
    cli.add_command(_command)


def main() -> None:
    """The console script."""
    sys.exit(call(sys.argv[1:]))


def call(arguments: Sequence[str]) -> int:
    """Runs one verb and answers its exit code; anything but a `LabError` is a bug and escapes."""
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _interrupt)
    try:
        cli.main(list(arguments), prog_name="dbdyno", standalone_mode=False)
    except LabError as error:
        _complain(error)
        return error.exit_code
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        _complain(InterruptedRunError("interrupted"))
        return InterruptedRunError.exit_code
    except click.exceptions.Exit as ending:
        return ending.exit_code
    return 0


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    """A polite end asked for by another process is treated like Ctrl-C."""
    raise KeyboardInterrupt


def _complain(error: LabError) -> None:
    columns = width(of_errors=True)
    click.echo(fold(f"error: {error.message}", columns), err=True)
    if isinstance(error, ScriptError) and error.traceback:
        click.echo(error.traceback, err=True)
    if error.hint:
        click.echo(fold(f"\nhint: {error.hint}", columns), err=True)
