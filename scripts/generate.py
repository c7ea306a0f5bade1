"""Writes flags, metrics and the catalogue of studies into docs from the code; `--check` only says
whether they are current.

What stands above the flags on their page is written by hand and stays.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import catalogue
import click

from dbdyno.cli import cli
from dbdyno.collect import Collector, sources
from dbdyno.collect.registry import all_collectors

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"
METRICS = PAGE.with_name("metrics.md")

MARK = "## Flags and exit codes\n"
HEAD = f"""\
{MARK}
From here on generated from the code by `make generate`; `dbdyno VERB --help` says the same.
"""

METRICS_HEAD = """\
# Metrics

What is sampled beside the load, once a second and at the edges of every turn, and kept in each \
run's `metrics.parquet`. A **counter** only grows: differences of two samples mean something. \
Where one falls, the server was restarted or its statistics were reset; figures leave that load or \
turn out, and the time axis of the report is marked. A **gauge** is true at the instant of its \
sample. A source whose samples cost more than 0.4 % of a core, in lab and server together, is \
sampled more rarely, at most every 10 s (`period_s` in the manifest's `collected`), and so are \
those of a server while other cells are driven. A sample that was due and failed, or came a second \
late, is a gap: where the gaps are stands in `missed_unix_s`, and the time axis of the report is \
marked there. What a machine \
or server does not have is left out, and the run's manifest says why. Generated from the code by \
`make generate`.

## A collector of one's own

`dbdyno run STUDY --collector FILE`, or `collect = ["./FILE"]` in the study's file: what it reads \
is kept like any other metric under the file's name as its source, and can be a chart's or the \
primary figure (`run_queue.runnable`). `check` reads it, so that what is wrong with it is told \
with its line before anything runs. The run's manifest keeps the file's SHA-256. What fails later \
is a gap.

A file in Python (`run_queue.py`) looks like those of `python/dbdyno/collect/sources/`:

```python
{python}```

`watched` has what a collector may look at. Of a collector with the scope `"run"`, \
`watched.ask()` opens a session with the run's server, whose cost is accounted, and \
`watched.inside()` one in the database under load (PostgreSQL, MySQL, MariaDB); both are `None` \
where nobody can be asked. `watched.url` is where the load connects. `session.rows(statement)` \
gives rows as dictionaries:

```python
class Locks:
    def __init__(self, session):
        self.session = session

    def sample(self):
        for row in self.session.rows("SELECT count(*) AS n FROM pg_locks WHERE NOT granted"):
            yield Reading("waiting", float(row["n"]))

    def close(self):
        self.session.close()


COLLECTOR = Collector(
    "locks",
    "run",
    (Metric("waiting", "", "gauge", "Locks that are waited for"),),
    lambda watched: Locks(watched.inside()),
)
```

Any program that may be run can be one too. It is run once a second, and prints lines:

```text
# lines like this are for people
name value
name{{instance}} value
name value unit
```

A name that ends in `_total` is a counter, any other a gauge. What it prints when it is checked \
are all the names there are. It has 5 s, and finds what it may look at in `DBDYNO_SERVER` (the \
kind), `DBDYNO_SERVER_URL` (where the load connects, with its password if it has one), \
`DBDYNO_SERVER_PIDS`, `DBDYNO_CLIENT_PIDS` and `DBDYNO_DATA_FOLDER`.
"""
EXAMPLE = Path(__file__).parents[1] / "tests" / "collect" / "run_queue.py"
"""A collector of one's own, as the page shows it and the tests sample it."""


def page() -> str:
    """What is written by hand, then one section a verb in the order of `dbdyno --help`."""
    context = click.Context(cli, info_name="dbdyno")
    by_hand, _, _ = PAGE.read_text().partition(MARK)
    return by_hand + "\n".join([HEAD, *section(context)]).rstrip() + "\n"


def metrics_page() -> str:
    """One table a collector, by the name of its source."""
    head = METRICS_HEAD.format(python=EXAMPLE.read_text())
    return head + "\n".join(line for collector in all_collectors() for line in source(collector))


def source(collector: Collector) -> Iterator[str]:
    """A collector's heading and table."""
    module = importlib.import_module(f"{sources.__name__}.{collector.source}")
    yield f"\n## `{collector.source}`\n"
    yield from prose(module.__doc__)
    yield "| metric | unit | kind | meaning |\n|---|---|---|---|"
    for metric in collector.metrics:
        unit = metric.unit or "–"
        yield f"| `{metric.name}` | {unit} | {metric.kind} | {cell(metric.text)} |"


def section(context: click.Context) -> Iterator[str]:
    """Usage, help and options of a command, then of the commands below it."""
    command = context.command
    yield f"{'#' * min(3 + depth(context), 4)} `{context.command_path}`\n"
    yield from prose(command.help)
    yield f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```\n"
    options = [p for p in command.get_params(context) if isinstance(p, click.Option)]
    if rows := [record for option in options if (record := option.get_help_record(context))]:
        yield "| option | meaning |\n|---|---|"
        yield from (f"| `{cell(flag)}` | {cell(meaning)} |" for flag, meaning in rows)
        yield ""
    yield from prose(command.epilog)
    if isinstance(command, click.Group):
        for name in command.list_commands(context):
            if (inner := command.get_command(context, name)) and not inner.hidden:
                yield from section(click.Context(inner, info_name=name, parent=context))


def prose(text: str | None) -> Iterator[str]:
    """The paragraphs of a help text; one that click may not wrap keeps its lines."""
    for paragraph in cleandoc(text or "").split("\n\n"):
        if paragraph.startswith("\b"):
            yield f"```text\n{paragraph.removeprefix(chr(8)).strip(chr(10))}\n```\n"
        elif paragraph:
            yield " ".join(paragraph.split()) + "\n"


def depth(context: click.Context) -> int:
    """How many commands stand above this one."""
    return 0 if context.parent is None else 1 + depth(context.parent)


def cell(text: str) -> str:
    """The text as a cell of a table."""
    return " ".join(text.split()).replace("|", "\\|")


def main() -> int:
    """Writes the pages, or compares them."""
    wanted = {
        PAGE: page(),
        METRICS: metrics_page().rstrip() + "\n",
        catalogue.PAGE: catalogue.page(),
        catalogue.GALLERY: catalogue.gallery(),
    }
    if "--check" not in sys.argv[1:]:
        for file, text in wanted.items():
            file.write_text(text)
        return 0
    stale = [
        file.name for file, text in wanted.items() if not file.exists() or file.read_text() != text
    ]
    for name in stale:
        sys.stderr.write(f"error: {name} is not what the code says\n\nhint: make generate\n")
    return 1 if stale else 0


if __name__ == "__main__":
    raise SystemExit(main())
