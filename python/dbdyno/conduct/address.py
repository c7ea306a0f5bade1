"""URLs of databases, checked as the argument of a command."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit

from dbdyno.errors import UsageError
from dbdyno.formats.passwords import BADLY_ENCODED, ENCODE, is_badly_encoded, without_password
from dbdyno.servers.databases.sqlite.running import names_file


def check_url(url: str) -> None:
    """Raises `UsageError` for what is no URL, or names no file where it must name one."""
    text = without_password(url)
    if is_badly_encoded(url):
        raise UsageError(f"`{text}`: {BADLY_ENCODED}", hint=ENCODE)
    parts = _split(url)
    if not parts.scheme:
        raise UsageError(f"`{text}` is not a URL", hint=_EXAMPLES)
    if parts.scheme == "sqlite" and not names_file(parts):
        raise UsageError(f"`{text}` names no file", hint=_EXAMPLES)


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(
            f"`{without_password(url)}` is not a URL: {error}", hint=_EXAMPLES
        ) from None


_EXAMPLES = "such as postgresql://user@host/db, mysql://user@host/db, sqlite:///path/to.db or null:"
