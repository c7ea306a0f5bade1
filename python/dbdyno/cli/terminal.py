"""The only place where the lab writes to standard output and error: what others have written is
made harmless on the way.

Servers, scripts, studies, files and other tools' texts end up in what we say. On a terminal their
control characters would move the cursor, rename the window, hide lines or answer for the user;
characters that turn the direction of writing let a text look like another one.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import click

from dbdyno.errors import StoreError

if TYPE_CHECKING:
    from rich.console import Console

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls but line feed and tab
    "\u061c\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb"  # direction, invisible
    "\ud800-\udfff"  # bytes of a name that are no text
    "\U000e0000-\U000e0fff]"  # tags
)


def harmless(text: str) -> str:
    """The text with what a terminal would obey written out: `\\x1b`, `\\u202e`."""
    return _HARMFUL.sub(lambda found: _written_out(found[0]), text)


def _written_out(character: str) -> str:
    number = ord(character)
    if 0xDC80 <= number <= 0xDCFF:  # a byte that is no text, as Python keeps it in names of files
        number -= 0xDC00
    if number <= 0xFF:
        return f"\\x{number:02x}"
    return f"\\u{number:04x}" if number <= 0xFFFF else f"\\U{number:08x}"


def say(what: object = "", *, err: bool = False, nl: bool = True) -> None:
    """Prints for people: to standard output, or to standard error, whose lines are dropped if it
    takes none.

    Raises `StoreError` if standard output can't be written.
    """
    with _dropped() if err else standard_output():
        click.echo(harmless(str(what)), err=err, nl=nl)


def say_exactly(text: str) -> None:
    """Prints for programs: byte by byte, unless it is a terminal that reads it.

    Raises `StoreError` if standard output can't be written.
    """
    if sys.stdout.isatty():
        text = harmless(text)
    with standard_output():
        click.echo(text.encode("utf-8", "surrogateescape"), nl=False)


def say_json(document: object) -> None:
    """One document on standard output; what is harmful is escaped as JSON has it.

    Raises `StoreError` if standard output can't be written.
    """
    text = json.dumps(document, indent=2, ensure_ascii=False)
    with standard_output():
        click.echo(_HARMFUL.sub(lambda found: json.dumps(found[0])[1:-1], text))


def say_complaint(error: click.ClickException) -> None:
    """What is wrong with the command line, with the usage. An argument that has no place may be a
    server's URL."""
    from dbdyno.formats.passwords import urls_without_passwords

    output = io.StringIO()
    error.show(file=output)
    say(urls_without_passwords(output.getvalue()), err=True, nl=False)


@contextlib.contextmanager
def standard_output() -> Iterator[None]:
    """Raises `StoreError` if standard output can't be written, as on a full disk. That nobody reads
    it (`| head`) stays a `BrokenPipeError`."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        # What is left in its buffer would fail once more at the end of the program.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise StoreError(f"standard output can't be written: {error.strerror}") from error


@contextlib.contextmanager
def _dropped() -> Iterator[None]:
    """Nothing is left to tell it to if standard error can't be written."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stderr.fileno())


def error_console() -> Console:
    """Standard error for lines above a bar; whoever prints to it calls `harmless`."""
    # Rich takes a while to import: only who shows progress pays for it.
    from rich.console import Console

    return Console(stderr=True)
