"""`dbdyno publish`: a stored study as one file for everybody."""

from __future__ import annotations

import re
from pathlib import Path

import click

from dbdyno.cli.options import store_option
from dbdyno.cli.terminal import say
from dbdyno.errors import StoreError, UsageError


@click.command()
@click.argument("study")
@store_option
@click.option(
    "--out",
    type=click.Path(path_type=Path),
    help="The page; its card is the PNG of the same name beside it.  [default: STUDY.html here]",
)
@click.option(
    "--url",
    default="",
    help="Where the page will be: links to it then show its card, and it can be embedded.",
)
@click.option("--list", "only_list", is_flag=True, help="List what would be redacted, only.")
def publish(study: str, store: Path, out: Path | None, url: str, only_list: bool) -> None:
    """Write a stored STUDY as one file that anybody may read.

    The page holds its pictures and tables, a citation, and the digest of the stored runs. Addresses
    of servers, paths, and names of users and hosts are redacted; what was is listed on standard
    error before anything is written: read it. Prints the page's path.
    """
    if url and not re.match(r"https?://", url):
        raise UsageError(f"--url {url}: expected an address that begins with https://")
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno.report.page.publish import publish as make

    made = make(store, study, url=url)
    for text, times in sorted(made.replaced.items()):
        say(f"redacted: {text}{f' ({times} times)' if times > 1 else ''}", err=True)
    say(f"{len(made.replaced)} texts redacted; pictures and words are as measured", err=True)
    if only_list:
        return
    page = out or Path(f"{study}.html")
    try:
        page.write_text(made.html, "utf-8")
        page.with_suffix(".png").write_bytes(made.card)
    except OSError as error:
        raise StoreError(
            f"{page} can't be written: {error.strerror}", hint="name another place with --out"
        ) from error
    say(str(page))
