"""`dbdyno sysbench`: sysbench's command line, run by the engine."""

from __future__ import annotations

import os

import click

from dbdyno.engine import find_engine
from dbdyno.engine.drop_in import with_bundled


@click.command(
    "sysbench",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def sysbench(arguments: tuple[str, ...]) -> None:
    """Run sysbench's command line with dbdyno's engine.

    Its exit codes, too: 0 done, 1 failed, 2 not ready in time or given up, 130 interrupted.
    """
    engine = str(find_engine().path)
    os.execv(engine, (engine, "sysbench", *with_bundled(arguments)))
