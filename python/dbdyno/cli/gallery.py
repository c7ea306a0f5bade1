"""`dbdyno gallery`: a static site of stored studies."""

from __future__ import annotations

import re
from pathlib import Path

import click

from dbdyno.cli.terminal import say
from dbdyno.errors import UsageError


@click.command()
@click.argument(
    "stores", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="STORE…"
)
@click.option(
    "--out",
    required=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The site's folder: new, empty, or of a gallery before.",
)
@click.option("--title", default="Studies", show_default=True, help="Heading of its front page.")
@click.option(
    "--url", default="", help="Where the site will be: links to its pages then show their cards."
)
@click.option("--list", "only_list", is_flag=True, help="List what would be redacted, only.")
def gallery(stores: tuple[Path, ...], out: Path, title: str, url: str, only_list: bool) -> None:
    """Write a static site of the studies in STOREs that have a complete run.

    Its front page has a card a study: question, answer, picture, date and machine, how it compares
    with what was published, a search, and the history of a study that was measured several times.
    Behind each card is its page as `dbdyno publish` writes it: addresses, paths and names are taken
    out, and what was is listed on standard error before anything is written. The site opens from a
    disk and fits any static host. Prints the front page's path.
    """
    if url and not re.match(r"https?://", url):
        raise UsageError(f"--url {url}: expected an address that begins with https://")
    for store in stores:
        if not store.is_dir():
            raise UsageError(f"there is no store {store}")
    # Drawing takes half a second to import: only who draws pays for it.
    from dbdyno.report.page.gallery import INDEX, files_before, write_gallery
    from dbdyno.report.page.gallery import gallery as make

    if not only_list:
        files_before(out)  # It is refused before all the work, not after.
    made = make(stores, title=title, url=url, tell=lambda name: say(name, err=True))
    for place, why in made.left_out.items():
        say(f"left out: {place}: {why}", err=True)
    for text, times in sorted(made.replaced.items()):
        say(f"redacted: {text}{f' ({times} times)' if times > 1 else ''}", err=True)
    if only_list:
        return
    write_gallery(made, out)
    say(str(out / INDEX))
