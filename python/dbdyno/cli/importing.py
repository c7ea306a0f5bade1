"""`dbdyno import`: results of other tools into the store."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from dbdyno.cli.options import store_option
from dbdyno.cli.terminal import say
from dbdyno.errors import UsageError
from dbdyno.store import Store

if TYPE_CHECKING:
    from dbdyno.bridges.sources import Source

TOOLS = (
    "sysbench",
    "pgbench",
    "hammerdb",
    "ycsb",
    "db_bench",
    "fio",
    "benchbase",
    "memtier",
    "redis-benchmark",
)

_LONGEST_NAME = 200


@click.command("import")
@click.argument("results", nargs=-1, required=True, metavar="[CELL=]FILE[+FILE]...")
@click.option("--tool", type=click.Choice(TOOLS), help="Whose output it is.  [default: found out]")
@click.option(
    "--as",
    "name",
    help="The study's name and title.  [default: the first file's name]",
)
@click.option(
    "--clients",
    type=click.IntRange(min=1),
    help="How many there were, where the output does not say.",
)
@click.option(
    "--events",
    type=click.IntRange(min=1),
    help="How many each result has, where the output tells a rate alone.",
)
@click.option(
    "--expected-errors",
    "expected",
    multiple=True,
    metavar="CODE=SHARE",
    help="Errors that belong to the load, such as `all=1%` for the rollbacks of TPC-C.",
)
@store_option
def import_command(
    results: tuple[str, ...],
    tool: str | None,
    name: str | None,
    clients: int | None,
    events: int | None,
    expected: tuple[str, ...],
    store: Path,
) -> None:
    """Put what another tool has printed into the store.

    Each FILE holds results of sysbench, pgbench (its text, or a log of -l), HammerDB, YCSB,
    db_bench, fio (JSON), BenchBase (its summary), memtier_benchmark (JSON) or redis-benchmark.
    Results of one CELL with as many clients are repeats: its blocks; of a file with several,
    another load is a cell of its own. The first CELL is the baseline of the others. A result in
    several files (pgbench's text and its logs) is FILE+FILE. Prints the study's name; `report`,
    `compare` and `export` take it like any other, and say what is not known of it.
    """
    # numpy and Arrow take a second to import: only who imports pays for it.
    from dbdyno.bridges.keep import keep
    from dbdyno.bridges.sources import read_sources

    sources = read_sources(results, tool=tool, clients=clients, events=events)
    called = shlex.join(["dbdyno", "import", *results])
    study = _name(sources[0].path) if name is None else _checked(name)
    declared = _expected(expected)
    kept = keep(Store(store), study, sources, called, title=name or "", expected=declared)
    for note, places in _told(sources).items():
        more = f" and {len(places) - 1} more" if len(places) > 1 else ""
        say(f"note: {places[0]}{more}: {note}", err=True)
    tools = " and ".join(dict.fromkeys(source.bridge.tool for source in sources))
    cells = list(dict.fromkeys(source.cell for source in sources))
    what = f"{len(sources)} result{'' if len(sources) == 1 else 's'} of {tools}"
    if len(cells) > 1:
        what += f" in {len(cells)} cells ({', '.join(cells)})"
    done = "imported" if kept.new else "the store has these files already"
    say(f"{what}: {done}", err=True)
    say(kept.study)


def _told(sources: Sequence[Source]) -> Mapping[str, Sequence[str]]:
    """Each note once, with the results it is about."""
    matched: dict[str, list[str]] = {}
    for source in sources:
        for note in source.notes:
            matched.setdefault(note, []).append(source.place)
    return matched


def _expected(given: Sequence[str]) -> Mapping[str, float]:
    """Code → share; raises `UsageError` for what is neither."""
    from dbdyno.formats.load_schema import check_code, share_of_errors

    declared: dict[str, float] = {}
    for text in given:
        code, equals, share = text.partition("=")
        try:
            if not equals:
                raise ValueError("expected CODE=SHARE, such as `all=1%` or `40001=5%`")
            if code.strip() in declared:
                raise ValueError("the code is named twice")
            declared[check_code(code.strip())] = share_of_errors(share)
        except ValueError as error:
            raise UsageError(f"--expected-errors: `{text}`: {error}") from None
    return declared


def _checked(name: str) -> str:
    from dbdyno.formats.load_schema import NAME

    if not re.fullmatch(NAME, name) or len(name) > _LONGEST_NAME:
        raise UsageError(
            f"--as: `{name}` is not a name a folder can have",
            hint="use letters, digits, `.`, `_`, `+` and `-`, 200 at most",
        )
    return name


def _name(path: Path) -> str:
    name = re.sub(r"[^A-Za-z0-9._+-]", "-", path.stem).strip(".+-_")[:_LONGEST_NAME]
    if not name:
        raise UsageError(f"{path} gives no name for a study", hint="name it with --as")
    return name
