"""URLs of databases: checked as the argument of a command, and written without their password."""

from __future__ import annotations

from urllib.parse import SplitResult, urlsplit, urlunsplit

from dbdyno.errors import UsageError
from dbdyno.servers.sqlite.running import names_file


def check_url(url: str) -> None:
    """Raises `UsageError` for what is no URL, or names no file where it must name one."""
    parts = _split(url)
    if not parts.scheme:
        raise UsageError(f"`{url}` is not a URL", hint=_EXAMPLES)
    if parts.scheme == "sqlite" and not names_file(parts):
        raise UsageError(f"`{url}` names no file", hint=_EXAMPLES)


def without_password(url: str) -> str:
    """The URL without its password."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if parts.password is None:
        return url
    user, _, place = parts.netloc.rpartition("@")
    return urlunsplit(parts._replace(netloc=f"{user.partition(':')[0]}@{place}"))


def _split(url: str) -> SplitResult:
    try:
        return urlsplit(url)
    except ValueError as error:
        raise UsageError(f"`{url}` is not a URL: {error}", hint=_EXAMPLES) from error


_EXAMPLES = "such as postgresql://user@host/db, mysql://user@host/db, sqlite:///path/to.db or null:"
