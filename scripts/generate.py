"""Writes the flags into docs/reference from the code; `--check` only says whether it is current.

What stands above them on the page is written by hand and stays.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from inspect import cleandoc
from pathlib import Path

import click

from dbdyno.cli import cli

PAGE = Path(__file__).parents[1] / "docs" / "reference" / "commands.md"

MARK = "## Flags and exit codes\n"
HEAD = f"""\
{MARK}
From here on generated from the code by `make generate`; `dbdyno VERB --help` says the same.
"""


def page() -> str:
    """What is written by hand, then one section a verb in the order of `dbdyno --help`."""
    context = click.Context(cli, info_name="dbdyno")
    by_hand, _, _ = PAGE.read_text().partition(MARK)
    return by_hand + "\n".join([HEAD, *section(context)]).rstrip() + "\n"


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
    """Writes the page, or compares it."""
    wanted = page()
    if "--check" not in sys.argv[1:]:
        PAGE.write_text(wanted)
        return 0
    if PAGE.read_text() == wanted:
        return 0
    sys.stderr.write(f"error: {PAGE.name} is not what the code says\n\nhint: make generate\n")
    return 1


if __name__ == "__main__":
    raise SystemExit(main())
