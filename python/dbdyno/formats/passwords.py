"""Keeps passwords out of what is shown or kept: of URLs, and of any text that may hold some."""

from __future__ import annotations

import re
from collections.abc import Mapping
from urllib.parse import unquote, urlsplit

BADLY_ENCODED = "its password holds a character that must be percent-encoded"
ENCODE = (
    "write it percent-encoded (`/` as %2F, `?` as %3F, `#` as %23, `@` as %40), or leave the "
    "password out and give it by environment or file (docs/guides/passwords.md)"
)
"""What to do about a password that `is_badly_encoded`."""

_SECRET = frozenset({"password", "passwd", "pwd", "sslpassword", "oauth_client_secret"})
"""Parameters of a URL whose value is a secret."""
_USER = r"(?P<user>[a-z][a-z0-9+.-]*://[^\s:/@?#\"'`]*)"
# Up to the last `@`: a password that is not percent-encoded may hold anything.
_IN_URL = re.compile(rf"{_USER}:.*@", re.IGNORECASE | re.DOTALL)
_IN_TEXT = re.compile(rf"{_USER}:[^\s\"'`]*@", re.IGNORECASE)
_QUERY = re.compile(r"\?(?P<query>[^\s\"'`#?]*=[^\s\"'`#?]*)")
_ASSIGNED = re.compile(r"(?P<name>(?<![?&\w%])[\w-]*passw(?:or)?d)=(?:'[^']*'|[^\s\"'`&]+)", re.I)


def without_password(url: str, *, mark: str = "") -> str:
    """The URL without its password, whatever characters that has; `mark` stands in its place."""
    return _in_query(_IN_URL.sub(lambda found: f"{_marked(found['user'], mark)}@", url), mark)


def without_passwords(text: str) -> str:
    """A text without the passwords of the URLs in it, and of `password=…`."""
    text = _in_query(_IN_TEXT.sub(lambda found: f"{found['user']}@", text), "")
    return _ASSIGNED.sub(lambda found: f"{found['name']}=***", text)


def is_badly_encoded(url: str) -> bool:
    """Whether a password holds a character that ends the place of passwords in a URL."""
    found = _IN_URL.match(url)
    if found is None:
        return False
    try:
        parts = urlsplit(url)
        listed = parts.netloc.rpartition("@")[2].split(",")
        _ = [urlsplit(f"//{place}").port for place in listed]
    except ValueError:
        # It may as well be the host that is wrong: `[::1`.
        return not set(url[found.end("user") + 1 : found.end() - 1]).isdisjoint("/?#[]@:")
    return parts.password is None


def has_password(document: object) -> bool:
    """Whether a text in nested tables and lists is a URL with a password."""
    if isinstance(document, str):
        return without_password(document) != document
    if isinstance(document, Mapping):
        return any(map(has_password, document.values()))
    return isinstance(document, list | tuple) and any(map(has_password, document))


def _in_query(text: str, mark: str) -> str:
    return _QUERY.sub(lambda found: _parameters(found["query"], mark), text)


def _parameters(query: str, mark: str) -> str:
    """The parameters that are no secret, each as it was written."""
    pairs = [(pair, pair.partition("=")[0]) for pair in query.split("&")]
    kept = [
        f"{name}={mark}" if unquote(name).lower() in _SECRET else pair
        for pair, name in pairs
        if mark or unquote(name).lower() not in _SECRET
    ]
    return f"?{'&'.join(kept)}" if kept else ""


def _marked(user: str, mark: str) -> str:
    return f"{user}:{mark}" if mark else user
