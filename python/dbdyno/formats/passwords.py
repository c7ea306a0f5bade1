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

_NAME = r"(?:pass(?:word|wd|phrase)|(?<![a-z])pwd|secret|(?:client|server)_?key)"
_SECRET = re.compile(rf"(?!.*(?:file|dir|path)$).*{_NAME}", re.IGNORECASE)
"""Names of what is a secret; `passfile` names where one is."""
_PASSWORD_NAME = re.compile(r"(?:.*[-_.])?(?:pg|ssl)?(?:password|passwd|pwd)", re.IGNORECASE)
_USER = r"(?P<user>[a-z][a-z0-9+.-]{0,30}://[^\s:/@?#\"'`]*)"
# Up to the last `@`: a password that is not percent-encoded may hold anything.
_IN_URL = re.compile(rf"{_USER}:.*@", re.IGNORECASE | re.DOTALL)
_IN_TEXT = re.compile(rf"{_USER}:[^\s\"`]*@", re.IGNORECASE)
_AT_IN_USER = re.compile(
    r"(?P<user>[a-z][a-z0-9+.-]{0,30}://[^\s:/?#@\"'`]*@[^\s:/?#@\"'`]*):[^\s:/?#@\"'`]*@",
    re.IGNORECASE,
)
"""A user that is not percent-encoded: its `@` is none before a host."""
_QUERY = re.compile(r"(?P<mark>[?;])(?P<query>[^\s\"'`#?]*=[^\s\"'`#?]*)")
_DOUBLE, _SINGLE = r"\"(?:[^\"\\]|\\.|\"\")*\"", r"'(?:[^'\\]|\\.|'')*'"
_ASSIGNED = re.compile(
    rf"(?P<name>(?<![?&;\w%])[\w.-]{{0,60}}{_NAME}(?:\"|')?\s*[=:]\s*|--[\w-]{{0,60}}{_NAME}\s+"
    rf"|\b(?:identified\s+by|password)\s+(?=['\"]))"
    rf"(?P<value>{_DOUBLE}|{_SINGLE}|(?:\\.|[^\s\"'`&;\\])+)",
    re.IGNORECASE,
)


def without_password(url: str, *, mark: str = "") -> str:
    """The URL without its password, whatever characters that has; `mark` stands in its place."""
    for place in (_AT_IN_USER, _IN_URL):
        url = place.sub(lambda found: f"{_marked(found['user'], mark)}@", url)
    return _in_query(url, mark)


def without_passwords(text: str) -> str:
    """A text without the passwords of the URLs in it, and of `password=…` and the like."""
    for place in (_AT_IN_USER, _IN_TEXT):
        text = place.sub(lambda found: f"{found['user']}@", text)
    return _ASSIGNED.sub(_starred, _in_query(text, ""))


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


def is_password_named(name: str, value: object) -> bool:
    """Whether an option is a password by its name."""
    return isinstance(value, str) and value != "" and bool(_PASSWORD_NAME.fullmatch(name))


def has_password(document: object) -> bool:
    """Whether a text in nested tables and lists is a URL with a password."""
    if isinstance(document, str):
        return without_password(document) != document
    if isinstance(document, Mapping):
        return any(map(has_password, document.values()))
    return isinstance(document, list | tuple) and any(map(has_password, document))


def _starred(found: re.Match[str]) -> str:
    """In its quotes, so that what holds the text can still be read."""
    value = found["value"]
    quote = value[0] if value[0] in "\"'" else ""
    return f"{found['name']}{quote}***{quote}"


def _in_query(text: str, mark: str) -> str:
    return _QUERY.sub(lambda found: _parameters(found["mark"], found["query"], mark), text)


def _parameters(before: str, query: str, mark: str) -> str:
    """The parameters that are no secret, each as it was written."""
    kept = []
    for pair in re.findall(r"[^&;]+[&;]?", query):
        name, _, between = pair.partition("=")
        if not between or not _SECRET.match(unquote(name)):
            kept.append(pair)
        elif mark:
            kept.append(f"{name}={mark}{pair[-1] if pair[-1] in '&;' else ''}")
    left = "".join(kept)
    if left and query[-1] not in "&;":
        left = left.rstrip("&;")
    return f"{before}{left}" if left else ""


def _marked(user: str, mark: str) -> str:
    return f"{user}:{mark}" if mark else user
