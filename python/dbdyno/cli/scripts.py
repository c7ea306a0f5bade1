"""`dbdyno scripts`: the workloads there are, each with its options."""

from __future__ import annotations

from dataclasses import asdict

import click

from dbdyno.cli.options import json_option
from dbdyno.cli.terminal import say, say_json
from dbdyno.cli.text import fold, width
from dbdyno.engine import find_engine
from dbdyno.engine.catalog import ScriptPage, script_pages
from dbdyno.engine.script import script_path
from dbdyno.errors import UsageError
from dbdyno.formats.nearest import nearest_hint


@click.command()
@click.argument("names", nargs=-1, metavar="[NAME]...")
@json_option
def scripts(names: tuple[str, ...], as_json: bool) -> None:
    """List the workload scripts, a line each, or those NAMEd with their options and defaults.

    Those of this folder, the bundled ones and those of Debian's sysbench.
    """
    found = script_pages(find_engine(), script_path(), options=bool(names) or as_json)
    pages = {page.name: page for page in found}
    for name in names:
        if name not in pages:
            hint = nearest_hint(name, pages) or f"there are {', '.join(pages)}"
            raise UsageError(f"there is no script `{name}`", hint=hint)
    chosen = [page for page in pages.values() if not names or page.name in names]
    if as_json:
        documents = [{**asdict(page), "file": str(page.file)} for page in chosen]
        say_json({"schema": 1, "scripts": documents})
        return
    if names:
        say("\n\n".join(_told(page) for page in chosen))
        return
    broad = max((len(page.name) for page in chosen), default=0)
    for page in chosen:
        about = f"can't be read: {page.problem}" if page.problem else page.about
        say(_cut(f"{page.name:<{broad}}  {about}".rstrip(), width()))
    say("\n`dbdyno scripts NAME` lists a script's options", err=True)


def _cut(line: str, columns: int | None) -> str:
    """The text's first line, cut to the terminal's width; whole where there is no terminal."""
    first = line.splitlines()[0]
    return first if columns is None or len(first) <= columns else f"{first[: columns - 1]}…"


def _told(page: ScriptPage) -> str:
    columns = width()
    lines = [fold(f"{page.name}: {page.about}" if page.about else page.name, columns)]
    if page.problem:
        lines.append(fold(f"  can't be read: {page.problem}", columns))
    heads = [
        f"{option.name}={option.default}" if option.default is not None else f"{option.name}=…"
        for option in page.options
    ]
    broad = max(map(len, heads), default=0)
    for head, option in zip(heads, page.options, strict=True):
        lines.append(fold(f"  --option {head:<{broad}}  {option.about}", columns))
    return "\n".join(lines)
