"""`dbdyno note`: a note in a running study."""

from __future__ import annotations

from pathlib import Path

import click

from dbdyno.cli.options import store_option
from dbdyno.cli.terminal import say
from dbdyno.errors import UsageError
from dbdyno.formats.passwords import without_passwords
from dbdyno.store import Store, add_note, running
from dbdyno.store.study_journal import MOST_OF_A_NOTE


@click.command()
@click.argument("text")
@click.option("--study", help="The study's name in the store.  [default: the running one]")
@store_option
def note(text: str, study: str | None, store: Path) -> None:
    """Add the note TEXT to the running study, at this moment.

    `dbdyno note "vacuum started"`: the panels of the live page and of the report mark it.
    """
    words = " ".join(text.split())
    if not words:
        raise UsageError("an empty note says nothing")
    if len(words) > MOST_OF_A_NOTE:
        raise UsageError(f"a note has at most {MOST_OF_A_NOTE} characters; this has {len(words)}")
    name = study or _running(store)
    folder = Store(store).study(name).path
    kept = add_note(folder, without_passwords(words))
    say(f"{name}: {kept.text}")


def _running(store: Path) -> str:
    """The name of the running study. Raises `UsageError` if none or several run."""
    names = list(running(store))
    if len(names) == 1:
        return names[0]
    if names:
        raise UsageError(f"several studies run: {', '.join(names)}", hint="name one with --study")
    raise UsageError(
        f"no study runs in {store}",
        hint="name its store with --store, or a study that has ended with --study",
    )
