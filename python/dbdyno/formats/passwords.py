"""Keeps passwords out of what is shown or kept: of URLs, and of any text that may hold some."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise
from urllib.parse import unquote, urlsplit

BADLY_ENCODED = "its password holds a character that must be percent-encoded"
ENCODE = (
    "write it percent-encoded (`/` as %2F, `?` as %3F, `#` as %23, `@` as %40), or leave the "
    "password out and give it by environment or file (docs/guides/passwords.md)"
)
"""What to do about a password that `is_badly_encoded`."""

_NAME = (
    r"(?:pass(?:word|wd|phrase)|(?<![a-z])pwd|secret|(?:client|server|api|access)[_-]?key"
    r"|(?<![a-z])token)"
)
_SECRET = re.compile(rf"(?!.*(?:file|dir|path)$).*{_NAME}", re.IGNORECASE)
"""Names of what is a secret; `passfile` names where one is."""
_PASSWORD_NAME = re.compile(r"(?:.*[-_.])?(?:pg|ssl)?(?:password|passwd|pwd)", re.IGNORECASE)
# A URL that was taken for a path has one slash.
_USER = r"(?P<user>[a-z][a-z0-9+.-]{0,30}:/{1,2}[^\s:/@?#\"'`]*)"
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
_VALUE = rf"{_DOUBLE}|{_SINGLE}|(?:\\.|[^\s\"'`&;\\])+"
_IN_COMMANDS = rf"(?:{_NAME}|[-_](?:superuser)?pass|rediscli_auth|authenticate)"
_ASSIGNED = re.compile(
    rf"(?P<name>(?<![?&;\w%])[\w.-]{{0,60}}{_IN_COMMANDS}(?:\"|')?\s*[=:]\s*"
    rf"|--[\w-]{{0,60}}{_IN_COMMANDS}\s+"
    rf"|\b(?:identified\s+(?:with\s+\S+\s+)?(?:by|as)(?:\s+password)?|password)\s+(?=['\"])"
    rf"|\bpassword\(\s*(?=['\"])|\bbearer\s+|\bdiset\s+\w+\s+\w{{0,60}}pass(?:word)?\s+)"
    rf"(?P<value>{_VALUE})",
    re.IGNORECASE,
)
_SAYS_WHETHER = re.compile(r"(?:YES|NO)\b")
"""MySQL's `using password: YES` tells whether there was one."""
_CALL = re.compile(
    r"(?<![\w.-])(?P<program>[\w.-]{0,60}(?:mysql|maria|percona|mydumper|myloader|tpcc_|pt-|mongo"
    r"|redis|valkey|memtier|curl|wget)[\w.-]{0,60})(?P<arguments>[^\n;|]*)"
)
"""A program that takes a password by a short option, up to the end of its command."""
_TIGHT = re.compile(rf"(?P<name>(?<!\S)-p)(?P<value>(?:{_VALUE})+)")
_APART = re.compile(rf"(?P<name>(?<!\S)-p=?\s*)(?P<value>{_VALUE})")
_AUTH = re.compile(rf"(?P<name>(?<!\S)(?:-a|--pass)[\s=]+)(?P<value>{_VALUE})")
_USER_AND = re.compile(rf"(?P<name>(?<!\S)(?:-u|--user)[\s=]*)(?P<value>{_VALUE})")
_SHORT = (
    (re.compile(r"redis|valkey|memtier"), _AUTH),
    (re.compile(r"curl|wget"), _USER_AND),
    (re.compile(r"mongo|tpcc_|mydumper|myloader|pt-"), _APART),
    (re.compile("mysql|maria|percona"), _TIGHT),
)
"""The first whose program it is; with MySQL's `-p`, what stands apart is the database."""


def without_password(url: str, *, mark: str = "") -> str:
    """The URL without its password, whatever characters that has; `mark` stands in its place."""
    for place in (_AT_IN_USER, _IN_URL):
        url = place.sub(lambda found: f"{_marked(found['user'], mark)}@", url)
    return _in_query(url, mark)


def without_passwords(text: str) -> str:
    """A text without the passwords of the URLs in it, and of `password=…` and the like."""
    return _CALL.sub(_of_program, _ASSIGNED.sub(_starred, urls_without_passwords(text)))


def urls_without_passwords(text: str) -> str:
    """A text without the passwords of the URLs in it."""
    for place in (_AT_IN_USER, _IN_TEXT):
        text = place.sub(lambda found: f"{found['user']}@", text)
    return _in_query(text, "")


def words_without_passwords(words: Sequence[str]) -> list[str]:
    """The words of a command line without passwords: those that follow their option, and those of
    short options that programs in the line have for them, included."""
    shown = list(map(without_passwords, words))
    short: re.Pattern[str] | None = None
    for index, (option, value) in enumerate(pairwise((*words, "")), start=1):
        if not option.startswith("-"):
            short = next((how for whose, how in _SHORT if whose.search(option)), short)
        elif short and (tight := short.match(option)):
            shown[index - 1] = f"{tight['name']}***"
        elif value and not value.startswith("-"):
            alone = f"{option} x"
            apart = short is not None and short.match(alone)
            if apart or without_passwords(alone) == f"{option} ***":
                shown[index] = "***"
    return shown


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


def _of_program(call: re.Match[str]) -> str:
    pattern = next(how for whose, how in _SHORT if whose.search(call["program"]))
    return call["program"] + pattern.sub(_starred, call["arguments"])


def _starred(found: re.Match[str]) -> str:
    """In its quotes, so that what holds the text can still be read."""
    value, before = found["value"], found.string[: found.start()]
    if before.endswith("using ") and _SAYS_WHETHER.match(value):
        return found[0]
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
